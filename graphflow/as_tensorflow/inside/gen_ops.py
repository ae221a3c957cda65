"""The functions of tensorflow.python.ops.gen_*_ops: max_pool_grad makes an operation MaxPoolGrad."""

from __future__ import annotations

from typing import Any

from graphflow.as_tensorflow.inside.generated import by_snake_case

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    return by_snake_case(name)
