"""What everybody knows of values on GPUs: that they are there, and how they come to the host.

The rest, which makes, lays out and launches, is loaded by a program that has a GPU (`planning.py`): most have none.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.plan.ir import Plan
from graphflow._core.runtime.assemble import operand


class HeldValue:
    """A value in memory of a GPU."""

    __slots__ = ()

    def numpy(self) -> Any:
        """It as an array of the host."""
        raise NotImplementedError


def host(value: Any) -> Any:
    """The value as a NumPy array, copied from the device if it is on one."""
    return value.numpy() if isinstance(value, HeldValue) else value


def for_host(value: Any) -> Any:
    """A value as kernels of the CPU take it, for a stage whose inputs may come from a GPU."""
    return operand(host(value))


def gpu_of(plan: Plan) -> str | None:
    """The GPU that a part of a plan was placed on, by its full name; None for a part of the CPU."""
    for i in plan.instructions:
        if DeviceSpec.from_string(i.device).device_type == "GPU":
            return i.device
    return None
