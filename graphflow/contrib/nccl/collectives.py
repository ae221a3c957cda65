"""What one tensor on each of several devices gives together, by ordinary operations, which a run moves as it does any.

TensorFlow's wait for each other on the GPUs; here a result is computed once, on the first device, and each device reads
it. All have gradients, so that a sum's is the sum of its results' gradients, as there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import identity
from graphflow._core.ops.math.math import add, maximum, minimum, multiply
from graphflow._core.ops.state.scopes import device


def _require_devices(tensors: Sequence[Tensor], what: str) -> None:
    if not tensors:
        raise ValueError(f"Must pass >0 tensors to {what} operations")
    for tensor in tensors:
        if not tensor.device:
            raise ValueError(
                f"Device assignment required for nccl collective ops: {tensor.name} has none; make it in a "
                "`with gf.device(...)`."
            )


def all_reduced(tensors: Sequence[Tensor], combine: Callable[[Tensor, Tensor], Tensor]) -> list[Tensor]:
    """All tensors combined, on the device of each.

    Args:
        tensors: Tensors of one shape and dtype.
        combine: The function of two of them.

    Returns:
        A list as long as `tensors`.
    """
    with device(tensors[0].device):
        whole = reduce(combine, tensors)
    found = []
    for tensor in tensors:
        with device(tensor.device):
            found.append(identity(whole))
    return found


def all_sum(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The sum of all tensors, on the device of each (tf.contrib.nccl.all_sum).

    Args:
        tensors: Tensors of one shape and dtype, each with a device.

    Returns:
        A list as long as `tensors`.

    Raises:
        ValueError: If there is none, or one has no device.
    """
    _require_devices(tensors, "all reduce")
    return all_reduced(tensors, add)


def all_prod(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The product of all tensors, on the device of each (tf.contrib.nccl.all_prod).

    Args:
        tensors: Tensors of one shape and dtype, each with a device.

    Returns:
        A list as long as `tensors`.

    Raises:
        ValueError: If there is none, or one has no device.
    """
    _require_devices(tensors, "all reduce")
    return all_reduced(tensors, multiply)


def all_min(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The smallest of all tensors' elements at each place, on the device of each (tf.contrib.nccl.all_min).

    Args:
        tensors: Tensors of one shape and dtype, each with a device.

    Returns:
        A list as long as `tensors`.

    Raises:
        ValueError: If there is none, or one has no device.
    """
    _require_devices(tensors, "all reduce")
    return all_reduced(tensors, minimum)


def all_max(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The largest of all tensors' elements at each place, on the device of each (tf.contrib.nccl.all_max).

    Args:
        tensors: Tensors of one shape and dtype, each with a device.

    Returns:
        A list as long as `tensors`.

    Raises:
        ValueError: If there is none, or one has no device.
    """
    _require_devices(tensors, "all reduce")
    return all_reduced(tensors, maximum)


def reduce_sum(tensors: Sequence[Tensor]) -> Tensor:
    """The sum of all tensors, on the device of the scope that is open (tf.contrib.nccl.reduce_sum).

    Args:
        tensors: Tensors of one shape and dtype, each with a device.

    Returns:
        A tensor of their shape and dtype.

    Raises:
        ValueError: If there is none, or one has no device.
    """
    _require_devices(tensors, "reduce")
    return identity(reduce(add, tensors))


def broadcast(tensor: Tensor) -> Tensor:
    """The tensor, to be read by other devices (tf.contrib.nccl.broadcast).

    Args:
        tensor: A tensor with a device.

    Returns:
        A tensor of its shape and dtype, on its device.

    Raises:
        ValueError: If it has no device.
    """
    _require_devices([tensor], "broadcast")
    with device(tensor.device):
        return identity(tensor)
