"""Device names: parsing, merging, and the functions that a device scope applies to each new op.

A name is `/job:worker/replica:0/task:1/device:CPU:0`, any part of which may be left out. Merging fills the parts
that an inner scope left open from the outer one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, TypeAlias

DeviceFunction: TypeAlias = Callable[[Any], Any]

_PART = re.compile(r"^(job|replica|task):(.+)$")
_JOB = re.compile(r"^[A-Za-z][A-Za-z0-9_]*$")
_TYPE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")


class DeviceSpec:
    """A device name in parts, each None if it is left open.

    `job` str, `replica` int, `task` int, `device_type` str such as "CPU", `device_index` int. Immutable in meaning;
    `merge_from` changes this object, as TensorFlow 1's does.

    Args:
        job: The name of the job.
        replica: The index of the replica.
        task: The index of the task.
        device_type: "CPU" or "GPU".
        device_index: The index of the device.
    """

    __slots__ = ("device_index", "device_type", "job", "replica", "task")

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self.job = job
        self.replica = replica
        self.task = task
        self.device_type = device_type.upper() if device_type in ("cpu", "gpu") else device_type
        self.device_index = device_index

    @staticmethod
    def from_string(spec: str) -> DeviceSpec:
        """The parts of a device name.

        Args:
            spec: Such as "/job:worker/task:0/device:CPU:0".

        Returns:
            A DeviceSpec.

        Raises:
            ValueError: If it is none.
        """
        return DeviceSpec(*_parse(spec))

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Takes the parts of a device name over into this object, and returns it.

        Args:
            spec: Such as "/job:worker/task:0/device:CPU:0".

        Returns:
            The DeviceSpec itself.
        """
        self.job, self.replica, self.task, self.device_type, self.device_index = _parse(spec)
        return self

    def merge_from(self, dev: DeviceSpec) -> None:
        """Overwrites the parts that `dev` says.

        Args:
            dev: The other one.
        """
        for part in ("job", "replica", "task", "device_type", "device_index"):
            value = getattr(dev, part)
            if value is not None:
                setattr(self, part, value)

    def to_string(self) -> str:
        """The canonical device name."""
        text = ""
        if self.job is not None:
            text += f"/job:{self.job}"
        if self.replica is not None:
            text += f"/replica:{self.replica}"
        if self.task is not None:
            text += f"/task:{self.task}"
        if self.device_type is not None:
            index = "*" if self.device_index is None else str(self.device_index)
            text += f"/device:{self.device_type}:{index}"
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"DeviceSpec({self.to_string()!r})"


DeviceLike: TypeAlias = DeviceSpec | str | Callable[[Any], DeviceSpec | str | None]
"""A device: its name, such as "/job:ps/task:0" or "/cpu:0", a DeviceSpec, or a function from an operation to one."""

Parts: TypeAlias = tuple[str | None, int | None, int | None, str | None, int | None]


@functools.lru_cache(maxsize=4096)
def _parse(spec: str) -> Parts:
    job = replica = task = device_type = device_index = None
    types = 0
    for part in spec.split("/"):
        if not part:
            continue
        try:
            name, _, value = part.partition(":")
            if name == "job" and _JOB.match(value):
                job = value
            elif name == "replica":
                replica = int(value)
            elif name == "task":
                task = int(value)
            elif name == "device":
                kind, _, index = value.partition(":")
                if not _TYPE.match(kind):
                    raise ValueError
                device_type = kind.upper() if kind in ("cpu", "gpu") else kind
                device_index = None if index in ("", "*") else int(index)
            elif name.upper() in ("CPU", "GPU"):
                device_type = name.upper()
                device_index = None if value in ("", "*") else int(value)
            else:
                raise ValueError
            if name not in ("job", "replica", "task"):
                types += 1
        except ValueError:
            raise ValueError(
                f"Unknown attribute {part!r} in the device name {spec!r}. "
                "Write it as /job:NAME/replica:N/task:N/device:TYPE:N, leaving out what does not matter."
            ) from None
    if types > 1:
        raise ValueError(f"Cannot specify multiple device types: {spec!r} names {types}.")
    return job, replica, task, device_type, device_index


@functools.lru_cache(maxsize=4096)
def canonical(spec: str) -> str:
    """The canonical form of a device name."""
    return DeviceSpec(*_parse(spec)).to_string()


@functools.lru_cache(maxsize=4096)
def merge(outer: str, inner: str) -> str:
    """The device name `inner`, completed from `outer`."""
    spec = DeviceSpec(*_parse(outer))
    spec.merge_from(DeviceSpec(*_parse(inner)))
    return spec.to_string()


def short_task(name: str) -> str:
    """The name of a task or device without the replica, which is always 0 in a cluster, as people write it."""
    return name.replace("/replica:0", "")


def of_scope(asked: DeviceLike | None) -> Any:
    """What a device scope keeps of what was asked for: a device's name, a function of an operation, or None."""
    return asked if asked is None or callable(asked) else name_of(asked)


def name_of(spec: Any) -> str:
    """The canonical name of what may be given as a device: None, a string or a DeviceSpec."""
    if spec is None:
        return ""
    if isinstance(spec, DeviceSpec):
        return spec.to_string()
    if isinstance(spec, str):
        return canonical(spec)
    if isinstance(spec, bytes):
        return canonical(spec.decode())
    raise TypeError(f"A device is None, a string, a DeviceSpec or a function of an operation, not {spec!r}.")


def merge_device(spec: Any) -> DeviceFunction:
    """A device function that completes an operation's device from `spec` (TensorFlow's device.merge_device)."""
    outer = name_of(spec)
    return lambda op: merge(outer, name_of(op.device))


def task_of(device: str) -> str:
    """The task that a full device name is on, as "/job:worker/replica:0/task:1"."""
    return device.rpartition("/device:")[0]
