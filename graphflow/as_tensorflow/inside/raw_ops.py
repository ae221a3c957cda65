"""The functions of tf.raw_ops, which take their arguments by name: MaxPoolGrad makes an operation MaxPoolGrad."""

from __future__ import annotations

from typing import Any

from graphflow.as_tensorflow.inside.generated import function_of

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    function = function_of(name)

    def make(**kwargs: Any) -> Any:
        __tracebackhide__ = True
        return function(**kwargs)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = function.__doc__
    return make
