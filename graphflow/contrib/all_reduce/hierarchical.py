"""Towers' tensors reduced in each task first, then over the tasks, so that each task's network moves one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import identity
from graphflow._core.ops.math.math import add
from graphflow._core.ops.state.scopes import device
from graphflow.contrib.all_reduce.flat import (
    Binary,
    Many,
    Unary,
    build_nccl_all_reduce,
    build_recursive_hd_all_reduce,
    build_ring_all_reduce,
    build_shuffle_all_reduce,
    through,
)


def _task(name: str) -> tuple[str | None, int | None, int | None]:
    spec = DeviceSpec.from_string(name)
    return spec.job, spec.replica, spec.task


def _by_task(
    tensors: Sequence[Tensor],
    inside: Callable[[int, list[Tensor]], Tensor],
    between: Callable[[list[Tensor]], list[Tensor]],
) -> list[Tensor]:
    """What `between` makes of what `inside` makes of each task's tensors, on the device of each tensor."""
    groups: dict[tuple[str | None, int | None, int | None], list[Tensor]] = {}
    for tensor in tensors:
        groups.setdefault(_task(tensor.device), []).append(tensor)
    reduced = [inside(number, group) for number, group in enumerate(groups.values())]
    results = dict(zip(groups, between(reduced), strict=True))
    found = []
    for tensor in tensors:
        with device(tensor.device):
            found.append(identity(results[_task(tensor.device)]))
    return found


def _nccl_sum(_number: int, tensors: list[Tensor]) -> Tensor:
    return build_nccl_all_reduce(tensors, add)[0]


def _ring(tensors: list[Tensor], subdiv: int, red_op: Binary, un_op: Unary | None) -> list[Tensor]:
    if len(tensors) == 1:
        return through(tensors, un_op)
    return build_ring_all_reduce(tensors, len(tensors), subdiv, [0], red_op, un_op)


def build_nccl_then_ring(
    input_tensors: Sequence[Tensor], subdiv: int, red_op: Binary, un_op: Unary | None = None
) -> list[Tensor]:
    """Sums in each task, which a ring of the tasks reduces (tf.contrib.all_reduce's build_nccl_then_ring).

    Args:
        input_tensors: Tensors of one static shape and dtype.
        subdiv: Has no effect: how many pieces of a device travel on their own.
        red_op: gf.add.
        un_op: A function that each reduced piece goes through.

    Returns:
        A list of the reduced tensor on the device of each.
    """
    return _by_task(input_tensors, _nccl_sum, lambda sums: _ring(sums, subdiv, red_op, un_op))


def build_nccl_then_recursive_hd(
    input_tensors: Sequence[Tensor], red_op: Binary, un_op: Unary | None = None
) -> list[Tensor]:
    """Sums in each task, reduced over a power of two of tasks (tf.contrib.all_reduce's build_nccl_then_recursive_hd).

    Args:
        input_tensors: Tensors of one static shape and dtype.
        red_op: gf.add.
        un_op: A function that each reduced piece goes through.

    Returns:
        A list of the reduced tensor on the device of each.
    """
    return _by_task(input_tensors, _nccl_sum, lambda sums: build_recursive_hd_all_reduce(sums, red_op, un_op))


def build_nccl_then_shuffle(
    input_tensors: Sequence[Tensor],
    gather_devices: Sequence[str],
    nccl_red_op: Binary,
    shuffle_red_op: Many,
    un_op: Unary | None = None,
) -> list[Tensor]:
    """Sums in each task, reduced by some devices (tf.contrib.all_reduce's build_nccl_then_shuffle).

    Args:
        input_tensors: Tensors of one static shape and dtype.
        gather_devices: The devices that reduce over the tasks.
        nccl_red_op: gf.add, in a task.
        shuffle_red_op: The function of a list of tensors, such as gf.add_n, over the tasks.
        un_op: A function that each reduced piece goes through.

    Returns:
        A list of the reduced tensor on the device of each.
    """

    def inside(_number: int, tensors: list[Tensor]) -> Tensor:
        return build_nccl_all_reduce(tensors, nccl_red_op)[0]

    return _by_task(
        input_tensors,
        inside,
        lambda sums: build_shuffle_all_reduce(sums, gather_devices, shuffle_red_op, un_op),
    )


def _shuffled(
    tensors: Sequence[Tensor],
    gather_devices: Sequence[str],
    red_op: Many,
    between: Callable[[list[Tensor]], list[Tensor]],
) -> list[Tensor]:
    """Reduced in each task by a device of it, then over the tasks."""
    tasks = dict.fromkeys(_task(tensor.device) for tensor in tensors)
    if len(gather_devices) != len(tasks):
        raise ValueError(
            f"For shuffle hybrid, gather_devices must contain one device per worker: {len(tasks)} tasks have "
            f"tensors, and there are {len(gather_devices)} devices."
        )

    def inside(number: int, group: list[Tensor]) -> Tensor:
        return build_shuffle_all_reduce(group, [gather_devices[number]], red_op)[0]

    return _by_task(tensors, inside, between)


def build_shuffle_then_ring(
    input_tensors: Sequence[Tensor],
    gather_devices: Sequence[str],
    subdiv: int,
    red_n_op: Many,
    red_op: Binary,
    un_op: Unary | None = None,
) -> list[Tensor]:
    """Reduced in each task by some devices, then by a ring (tf.contrib.all_reduce's build_shuffle_then_ring).

    Args:
        input_tensors: Tensors of one static shape and dtype.
        gather_devices: The devices that reduce, one of each task.
        subdiv: Has no effect: how many pieces of a device travel on their own.
        red_n_op: The function of a list of tensors, such as gf.add_n, in a task.
        red_op: The function of two tensors over the tasks.
        un_op: A function that each reduced piece goes through.

    Returns:
        A list of the reduced tensor on the device of each.

    Raises:
        ValueError: If there is not one for each task.
    """
    return _shuffled(input_tensors, gather_devices, red_n_op, lambda sums: _ring(sums, subdiv, red_op, un_op))


def build_shuffle_then_shuffle(
    input_tensors: Sequence[Tensor],
    first_gather_devices: Sequence[str],
    second_gather_devices: Sequence[str],
    red_op: Many,
    un_op: Unary | None = None,
) -> list[Tensor]:
    """Reduced in each task by some devices, then by others (tf.contrib.all_reduce's build_shuffle_then_shuffle).

    Args:
        input_tensors: Tensors of one static shape and dtype.
        first_gather_devices: The devices that reduce in the tasks, one of each.
        second_gather_devices: The devices that reduce over the tasks.
        red_op: The function of a list of tensors, such as gf.add_n.
        un_op: A function that each reduced piece goes through.

    Returns:
        A list of the reduced tensor on the device of each.

    Raises:
        ValueError: If there is not one for each task.
    """
    return _shuffled(
        input_tensors,
        first_gather_devices,
        red_op,
        lambda sums: build_shuffle_all_reduce(sums, second_gather_devices, red_op, un_op),
    )
