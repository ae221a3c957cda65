"""LoweredFunction: a function of a dataset as a plan, which needs no graph and so can travel to a task."""

from __future__ import annotations

from graphflow._core.common.records import dataclass
from graphflow._core.plan.ir import Plan


@dataclass(frozen=True, eq=False)
class LoweredFunction:
    """A function whose operations are a plan, before any pass.

    arguments: how many of the plan's feeds are arguments; the rest is captured. seeded: see
    random_seed.gives_the_same.
    """

    name: str
    plan: Plan
    arguments: int
    seeded: bool
