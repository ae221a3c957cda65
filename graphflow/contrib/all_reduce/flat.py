"""Towers' tensors reduced over all devices at once.

TensorFlow's rings and halvings say in which order pieces travel. What they have in common is that each device reduces a
piece of the tensor and then has the pieces of the others; that is what is built here, and a run moves the pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod

from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import concat, reshape, split
from graphflow._core.ops.math.math import add
from graphflow._core.ops.state.scopes import device
from graphflow.contrib.nccl.collectives import all_reduced

Binary = Callable[[Tensor, Tensor], Tensor]
Many = Callable[[Sequence[Tensor]], Tensor]
Unary = Callable[[Tensor], Tensor]


def common_shape(tensors: Sequence[Tensor]) -> list[int]:
    """The shape of all tensors.

    Args:
        tensors: Tensors of one static shape.

    Returns:
        A list of sizes.

    Raises:
        ValueError: If there is none, a size is not known, or the shapes differ.
    """
    if not tensors:
        raise ValueError("tensors cannot be empty")
    shape = tensors[0].shape
    for tensor in tensors[1:]:
        shape = shape.merge_with(tensor.shape)
    if not shape.is_fully_defined():
        raise ValueError(f"Tensors must have statically known shape: {tensors[0].name} has {shape}.")
    return list(shape.as_list())


def reduced_in_pieces(
    tensors: Sequence[Tensor], devices: Sequence[str], red_op: Many, un_op: Unary | None
) -> list[Tensor]:
    """All tensors reduced, a piece on each of some devices, and put together on the device of each tensor.

    Args:
        tensors: Tensors of one static shape and dtype.
        devices: Where a piece is reduced.
        red_op: The function of a list of tensors.
        un_op: A function that each reduced piece goes through, or None.

    Returns:
        A list as long as `tensors`.
    """
    shape = common_shape(tensors)
    size = prod(shape)
    count = max(1, min(len(devices), size))
    sizes = [size // count + (number < size % count) for number in range(count)]
    by_tensor = []
    for tensor in tensors:
        with device(tensor.device):
            by_tensor.append(split(reshape(tensor, [-1]), sizes))
    pieces = []
    for where, parts in zip(devices, zip(*by_tensor, strict=True), strict=False):
        with device(where):
            piece = red_op(parts)
            pieces.append(un_op(piece) if un_op else piece)
    found = []
    for tensor in tensors:
        with device(tensor.device):
            found.append(reshape(concat(pieces, 0), shape))
    return found


def through(tensors: Sequence[Tensor], un_op: Unary | None) -> list[Tensor]:
    """Each tensor after a function of it, on its device; as it is if there is no function."""
    if un_op is None:
        return list(tensors)
    found = []
    for tensor in tensors:
        with device(tensor.device):
            found.append(un_op(tensor))
    return found


def _on_each_device(tensors: Sequence[Tensor], red_op: Binary, un_op: Unary | None) -> list[Tensor]:
    devices = [tensor.device for tensor in tensors]
    return reduced_in_pieces(tensors, devices, lambda parts: reduce(red_op, parts), un_op)


def build_ring_all_reduce(
    input_tensors: Sequence[Tensor],
    num_workers: int,
    num_subchunks: int,
    gpu_perm: Sequence[int],
    red_op: Binary,
    un_op: Unary | None = None,
) -> list[Tensor]:
    """All tensors reduced, each device doing a piece (tf.contrib.all_reduce's build_ring_all_reduce).

    Args:
        input_tensors: Two tensors or more, of one static shape and dtype.
        num_workers: How many workers they lie on.
        num_subchunks: Has no effect: how many pieces of a device travel on their own.
        gpu_perm: The order of a worker's devices; as many as it has.
        red_op: The function of two tensors, such as gf.add.
        un_op: A function that each reduced piece goes through.

    Returns:
        A list of the reduced tensor on the device of each.

    Raises:
        ValueError: For fewer than two tensors.
    """
    if len(input_tensors) < 2:
        raise ValueError(f"input_tensors must be length 2 or longer, and has {len(input_tensors)}.")
    return _on_each_device(input_tensors, red_op, un_op)


def build_recursive_hd_all_reduce(
    input_tensors: Sequence[Tensor], red_op: Binary, un_op: Unary | None = None
) -> list[Tensor]:
    """All tensors reduced, each device doing a piece (tf.contrib.all_reduce's build_recursive_hd_all_reduce).

    Args:
        input_tensors: Tensors of one static shape and dtype; their number is a power of two.
        red_op: The function of two tensors, such as gf.add.
        un_op: A function that each reduced piece goes through.

    Returns:
        A list of the reduced tensor on the device of each.

    Raises:
        ValueError: For another number of tensors.
    """
    count = len(input_tensors)
    if count & (count - 1):
        raise ValueError(f"num_devices must be a power of 2, and is {count}.")
    return _on_each_device(input_tensors, red_op, un_op)


def build_shuffle_all_reduce(
    input_tensors: Sequence[Tensor], gather_devices: Sequence[str], red_op: Many, un_op: Unary | None = None
) -> list[Tensor]:
    """All tensors reduced, some devices doing a piece each (tf.contrib.all_reduce's build_shuffle_all_reduce).

    Args:
        input_tensors: Tensors of one static shape and dtype.
        gather_devices: The devices that reduce.
        red_op: The function of a list of tensors, such as gf.add_n.
        un_op: A function that each reduced piece goes through.

    Returns:
        A list of the reduced tensor on the device of each.

    Raises:
        ValueError: If there is no device.
    """
    if not gather_devices:
        raise ValueError("gather_devices cannot be empty: name the devices that reduce.")
    return reduced_in_pieces(input_tensors, gather_devices, red_op, un_op)


def build_nccl_all_reduce(
    input_tensors: Sequence[Tensor], red_op: Binary, un_op: Unary | None = None
) -> list[Tensor]:
    """The sum of all tensors on the device of each (tf.contrib.all_reduce's build_nccl_all_reduce).

    Args:
        input_tensors: Tensors of one shape and dtype.
        red_op: gf.add.
        un_op: A function that each result goes through, on its device.

    Returns:
        A list of the sum on the device of each.

    Raises:
        ValueError: For another `red_op`.
    """
    if red_op is not add:
        raise ValueError(f"red_op not supported by NCCL all-reduce: {red_op!r}; it takes gf.add.")
    return through(all_reduced(input_tensors, red_op), un_op)
