"""Variables over parameter servers by bytes: large ones in slices, and how many bytes each task has, in the log.

A parameter server that holds most of the bytes sends and takes most of what a step moves, and all workers wait for it.
Whole variables cannot be balanced if one is larger than a server's share; slices can.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from graphflow._core.graph import devices, dtypes, shapes
from graphflow._core.graph.devices import DeviceSpec, short_task
from graphflow._core.graph.elements import Operation
from graphflow._core.ops.state.partitioning import Partitioner, min_max_variable_partitioner

_LOG: Final = logging.getLogger("graphflow")
_MIN_SLICE_BYTES: Final = 64 << 10
_HOT: Final = 1.5
_HOT_BYTES: Final = 1 << 20
"""A task that has less above the mean is not worth a warning."""


class ByteBalancedStrategy:
    """Gives each variable to the task with the fewest bytes so far; its `partitioner` has slices made of large ones.

    For replica_device_setter's ps_strategy, with `partitioner` as that of a variable scope.

    Of tasks that are even the one with fewer variables is taken. Every process that builds the same graph
    decides alike.

    Args:
        num_tasks: The number of parameter servers.
        min_slice_bytes: Variables are cut into slices of at least so many bytes, at most one a task.

    Raises:
        ValueError: For numbers below one.
    """

    def __init__(self, num_tasks: int, min_slice_bytes: int = _MIN_SLICE_BYTES) -> None:
        if num_tasks < 1 or min_slice_bytes < 1:
            raise ValueError(
                f"num_tasks and min_slice_bytes must be at least 1, got {num_tasks} and {min_slice_bytes}."
            )
        self._loads = [(0, 0)] * num_tasks
        self._min_slice_bytes = min_slice_bytes

    @property
    def bytes(self) -> Sequence[int]:
        """The bytes of the variables that each task was given."""
        return [size for size, _ in self._loads]

    @property
    def partitioner(self) -> Partitioner:
        """Cuts a variable along its first axis, or the longest if the first is shorter than there are tasks."""

        def partition(shape: Any, dtype: Any) -> Sequence[int]:
            sizes = [n or 0 for n in shapes.as_shape(shape).as_list()]
            axis = 0 if sizes[0] >= len(self._loads) else sizes.index(max(sizes))
            return min_max_variable_partitioner(len(self._loads), axis, self._min_slice_bytes)(shape, dtype)

        return partition

    def __call__(self, op: Operation) -> int:
        """The task for an operation.

        Args:
            op: The operation.

        Returns:
            The index of its task.
        """
        task = self._loads.index(min(self._loads))
        size, count = self._loads[task]
        self._loads[task] = (size + sum(map(_bytes, op.outputs)), count + 1)
        return task


def _bytes(output: Any) -> int:
    """The bytes of a value; those of a scalar if its shape is not known, and nothing for strings and handles."""
    size = shapes.size_of(output.dims)
    known = output.dtype.is_numpy_compatible and output.dtype is not dtypes.string
    return (1 if size is None else size) * output.dtype.size if known else 0


def bytes_by_task(variables: Iterable[Any], tasks: Sequence[str] = ()) -> dict[str, dict[str, int]]:
    """For each job the bytes of the variables that are on each of its tasks, by the task's name as in /job:ps/task:1.

    tasks: further tasks, which may hold none. Variables without a task are left out.
    """
    found: dict[str, dict[str, int]] = {}
    for name in tasks:
        spec = DeviceSpec.from_string(name)
        found.setdefault(str(spec.job), {}).setdefault(_short(spec), 0)
    for variable in variables:
        spec = DeviceSpec.from_string(devices.name_of(variable.device))
        if spec.job is not None and spec.task is not None:
            job = found.setdefault(spec.job, {})
            job[_short(spec)] = job.get(_short(spec), 0) + _bytes(variable.op.outputs[0])
    return {job: sizes for job, sizes in found.items() if any(sizes.values())}


def _short(spec: DeviceSpec) -> str:
    return short_task(DeviceSpec(job=spec.job, task=spec.task).to_string())


def imbalance(sizes: Mapping[str, int]) -> float:
    """The most bytes of a task over the mean: 1 if all have the same."""
    return max(sizes.values()) * len(sizes) / max(1, sum(sizes.values()))


def log_balance(variables: Iterable[Any], device_names: Sequence[str]) -> None:
    """Logs how many bytes of variables each task of a job with several has; warns if one has most of them.

    device_names: all devices of the session.
    """
    for job, sizes in bytes_by_task(variables, device_names).items():
        if len(sizes) < 2:
            continue
        ratio = imbalance(sizes)
        mean = sum(sizes.values()) / len(sizes)
        shown = ", ".join(f"{task} {size:,}" for task, size in sizes.items())
        hot = ratio > _HOT and max(sizes.values()) - mean > _HOT_BYTES
        hint = " gf.train.ByteBalancedStrategy spreads variables by bytes." if hot and job == "ps" else ""
        level = logging.WARNING if hint else logging.INFO
        _LOG.log(level, "Bytes of variables: %s; the most is %.2f times the mean.%s", shown, ratio, hint)
