"""Loops over arrays that run: the body as a compiled plan of its own, repeated from Python.

In each iteration only operations without a native form run on NumPy, such as lists of arrays, stacks and Python
functions. An iteration whose values have other shapes than the observed ones runs on NumPy as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from graphflow._core.compiler.compile_job import CompileJob, LoopJob
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Plan
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.assemble import assemble, operand
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Compiled, Unusable


class CompiledLoop:
    """A While that can be called: (run, initial values, captured values) gives the values after the loop."""

    def __init__(
        self,
        loop: LoopJob,
        build: Callable[[CompileJob], Compiled],
        store: ResourceStore,
        kernels: KernelTable,
    ) -> None:
        self._count = len(loop.instruction.bodies[1].feeds)
        self._inputs = [loop.instruction.inputs.index(n) for n in loop.body.feeds[self._count :]]
        self._condition = assemble(loop.condition, store, kernels).function
        self._body = _Body(loop.body, loop.job, build(loop.job), store, kernels)

    def __call__(self, run: RunContext, *values: Any) -> tuple[Any, ...]:
        """Runs the loop; `values` are the instruction's inputs, None for variables."""
        variables = tuple(values[: self._count])
        captured = tuple(values[k] for k in self._inputs)
        while True:
            run.check()
            if not self._condition(run, *variables, *captured)[0]:
                return variables
            variables = tuple(map(operand, self._body.run(run, variables + captured)))


class _Body:
    """The body of a loop, in both tiers."""

    def __init__(
        self, plan: Plan, job: CompileJob, compiled: Compiled, store: ResourceStore, kernels: KernelTable
    ) -> None:
        self._base = assemble(plan, store, kernels).function
        self._compiled = compiled
        self._shapes = [
            (position, job.lowering.known[name][0])
            for position, name in enumerate(plan.feeds)
            if name in job.lowering.known and job.lowering.known[name][1] != "object"
        ]

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """One iteration; in the NumPy tier if a shape is another than the compiled plan is made for."""
        for position, shape in self._shapes:
            if feeds[position].shape != shape:
                break
        else:
            try:
                return self._compiled.run(run, feeds)
            except Unusable:
                pass
        result: tuple[Any, ...] = self._base(run, *feeds)
        return result


def with_loops(plan: Plan, loops: Mapping[str, Callable[..., Any]]) -> Plan:
    """The plan whose While instructions call compiled loops, if there are any."""
    return plan.with_instructions(
        [
            replace(i, attrs={**i.attrs, "compiled": loops[i.name]}) if i.name in loops else i
            for i in plan.instructions
        ]
    )
