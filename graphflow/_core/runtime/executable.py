"""Executable: the interface of everything that runs a plan, whatever the tier, the device or the task; and carry_out.

An executable may hand a run with some shapes to a Compiled plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from graphflow._core.compiler.reasons import StaysOnNumpy
from graphflow._core.runtime.context import RunContext


class Unusable(Exception):
    """A compiled plan cannot do this run, and has not begun it: NumPy has to do it."""


class Compiled(Protocol):
    """A plan that is compiled, or laid out on a GPU, for one combination of fed shapes."""

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values. Unusable, before anything has happened, if the run does not fit what was compiled."""


class Executable(Protocol):
    """Runs a plan, or a part of one, again and again. Thread-safe.

    uses_variables: whether a run has to count as active in its store. takes_device_arrays: whether fed values may lie
    on a GPU.
    """

    uses_variables: bool
    takes_device_arrays: bool = False

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, in order. Raises the error of the operation that fails.

        The caller makes the run count as active if need be, and cleans up after a failure: see carry_out().
        """

    def parts(self) -> Sequence[Executable]:
        """What runs the plan's stages now, in their order; itself if it has none."""
        return (self,)

    def describe(self) -> str:
        """The parts that are compiled or run on a GPU, as lines that end in a newline; "" if there are none."""
        return ""

    def reasons(self) -> Sequence[StaysOnNumpy]:
        """Why parts of it stay on NumPy, once for each combination of fed shapes for which they do."""
        return ()

    def compiled(self) -> Sequence[Compiled]:
        """The plans that are compiled or laid out on a GPU, in the order of `describe`."""
        return ()


def carry_out(executable: Executable, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
    """One whole run: it counts as active if it uses variables, and its cleanups are called if it fails.

    Sessions, tasks and functions all run their executables through this.
    """
    if executable.uses_variables:
        run.pausable = True
        return run.store.running(run, executable.run, feeds)
    try:
        return executable.run(run, feeds)
    except BaseException as error:
        run.failed(error)
        raise
