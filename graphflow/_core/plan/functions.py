"""LoweredFunction: a function of a dataset as a plan, which needs no graph and so can travel to a task."""

from __future__ import annotations

from dataclasses import dataclass

from graphflow._core.graph.function import GraphFunction
from graphflow._core.graph.random_seed import gives_the_same
from graphflow._core.plan.ir import Plan
from graphflow._core.plan.lower import lower


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


def lowered(function: GraphFunction | LoweredFunction) -> LoweredFunction:
    """The function as a plan."""
    if isinstance(function, LoweredFunction):
        return function
    return LoweredFunction(
        function.name,
        lower(function.outputs, [], function.inputs),
        len(function.inputs) - len(function.captures),
        gives_the_same(function.graph),
    )
