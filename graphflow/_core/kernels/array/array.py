"""What the kernels of arrays share: their errors, axes counted from the front, elements of arrays of strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.registry import Kernel
from graphflow.errors import InvalidArgumentError


def invalid(message: str) -> InvalidArgumentError:
    """The error for a value that an op cannot use; the executor adds the op and the user's line."""
    return InvalidArgumentError(None, None, message)


def normalized(axis: Any, rank: int, what: str = "axis") -> int:
    """An axis counted from the front; InvalidArgumentError if there is no such axis."""
    position = int(axis)
    if not -rank <= position < rank:
        raise invalid(
            f"{what} = {position} not in [{-rank}, {rank}): it is out of range for a tensor of rank {rank}."
        )
    return position + rank if position < 0 else position


def boxed(value: Any) -> Any:
    """An element of an array of strings as a scalar array: NumPy gives the bytes object itself."""
    return value if isinstance(value, np.ndarray | np.generic) else np.array(value, object)


def checked(function: Kernel, *errors: type[Exception]) -> Kernel:
    """A kernel whose NumPy errors about values become InvalidArgumentError."""
    expected = errors or (ValueError,)

    def run(*inputs: Any) -> Any:
        try:
            return function(*inputs)
        except expected as error:
            shapes = ", ".join(str(np.shape(x)) for x in inputs)
            raise invalid(f"{error} (shapes of the inputs: {shapes})") from None

    return run
