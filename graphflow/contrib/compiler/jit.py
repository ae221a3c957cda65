"""The scope that asked for TensorFlow's other compiler (tf.contrib.compiler.jit)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["experimental_jit_scope"]


@contextmanager
def experimental_jit_scope(
    compile_ops: Any = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """A block as any other: plans that are hot are compiled anyway (tf.contrib.compiler.jit.experimental_jit_scope).

    Args:
        compile_ops: Has no effect.
        separate_compiled_gradients: Has no effect.
    """
    yield
