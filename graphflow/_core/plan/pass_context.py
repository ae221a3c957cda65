"""What every pass may ask for, so that a pass is a pure function of a plan and of this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from graphflow._core.common.records import dataclass
from graphflow._core.plan.ir import Instruction, Plan


@dataclass(frozen=True)
class PassContext:
    """The surroundings of a plan.

    devices: full names of the devices there are, the first being the default.
    soft_placement: whether an op whose device does not exist here may go to another one.
    has_kernel: whether a device type ("CPU") can run an op type.
    evaluate: computes a stateless instruction from NumPy arrays, or None if folding is switched off.
    default_task: the task that a device name without a job means, as "/job:localhost/replica:0/task:0".
    moved: told of an instruction that runs elsewhere than it was placed, and where; None if nobody asks.
    """

    devices: Sequence[str]
    has_kernel: Callable[[str, str], bool]
    soft_placement: bool = False
    evaluate: Callable[[Instruction, Sequence[Any]], Sequence[Any]] | None = None
    default_task: str = "/job:localhost/replica:0/task:0"
    moved: Callable[[Instruction, str], None] | None = None


Pass: TypeAlias = Callable[[Plan, PassContext], Plan]
