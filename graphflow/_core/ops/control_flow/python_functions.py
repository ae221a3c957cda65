"""py_function: a Python function that gets arrays which say numpy(), as those of TensorFlow's eager tensors do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.control_flow.checking import py_func


class EagerArray(np.ndarray[Any, Any]):
    """An array that a Python function reads as it would an eager tensor of TensorFlow."""

    def numpy(self) -> Any:
        """The array itself; of a scalar, the number or the bytes."""
        return np.array(self)[()] if self.ndim == 0 else np.array(self)


def py_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: DTypeLike | list[Any] | tuple[Any, ...],
    name: str | None = None,
) -> Any:
    """Calls a Python function with values that are arrays and have numpy(), at each run (tf.py_function).

    There is no eager execution: the function computes with NumPy. A tensor that it returns is an error, since the
    graph to which it belongs is not run; and nothing is differentiated, gf.gradients gives None for `inp`.

    Args:
        func: A function of arrays. What it returns is converted to `Tout`.
        inp: The list of tensors.
        Tout: The dtype, or list of dtypes, of what it returns; an empty list if it returns None.
        name: A name for the operation.

    Returns:
        A tensor; a list of tensors if `Tout` is a list, or the operation if that is empty.

    Raises:
        ValueError: `func` is no function.
        InvalidArgumentError: At the run, if it returns something else; other exceptions of its own become
            UnknownError.

    Examples:
        >>> y = gf.py_function(lambda x: x.numpy().sum(), [[1.0, 2.0]], gf.float32)
        >>> print(gf.Session().run(y))
        3.0
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got {func!r}")
    types = [dtypes.as_dtype(t) for t in (Tout if isinstance(Tout, list | tuple) else [Tout])]

    def call(*arguments: Any) -> list[Any]:
        found = func(*[np.asarray(a).view(EagerArray) for a in arguments])
        if found is None:
            return []
        values = found if isinstance(found, list | tuple) else [found]
        # As in TensorFlow, what is more than was said is left out.
        return [_converted(v, t) for v, t in zip(values, types, strict=False)]

    return py_func(call, inp, Tout, True, name or "EagerPyFunc")


def _converted(value: Any, dtype: dtypes.DType) -> Any:
    """What a function returned, as an array of a dtype."""
    if isinstance(value, Tensor):
        raise TypeError(
            f"the function of py_function returned {value!r}, a part of a graph that is not run: there is no eager "
            "execution, compute with NumPy inside of it, or with the graph outside"
        )
    array = np.asarray(value)
    if dtype is dtypes.string or array.dtype.kind in "OSUV":
        return value
    kind = np.dtype(dtype.as_numpy_dtype)
    if not np.can_cast(array.dtype, kind, "same_kind") and not (
        isinstance(value, int | list | tuple) and array.dtype.kind in "iu"
    ):
        raise TypeError(f"Cannot convert {value!r} to an array of dtype {dtype.name}")
    return array.astype(kind)
