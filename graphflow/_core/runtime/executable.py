"""Executable: what runs a plan or a part of one, whichever tier, device or task that is on; and one way to run it.

A run of some shapes may be done by a Compiled plan; whether it is, the executable decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from graphflow._core.compiler.reasons import StaysOnNumpy
from graphflow._core.runtime.context import RunContext


class Unusable(Exception):
    """A compiled plan cannot do this run, and has done nothing of it: NumPy is to do it."""


class Compiled(Protocol):
    """A plan that is compiled, or laid out on a GPU, for one combination of fed shapes."""

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values. Unusable, before anything has happened, if the run does not fit what was compiled."""


class Executable(Protocol):
    """What runs a plan, or a part of one, again and again. Thread-safe.

    uses_variables: whether a run has to count as active in its store. takes_device_arrays: whether what is fed may lie
    on a GPU.
    """

    uses_variables: bool
    takes_device_arrays: bool = False

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, in order. Raises the error of the operation that fails.

        Whoever calls it sees to it that the run counts as active if need be, and is told if it fails: carry_out().
        """

    def describe(self) -> str:
        """What has become compiled or runs on a GPU, as lines that end in a newline; "" if nothing has."""
        return ""

    def reasons(self) -> Sequence[StaysOnNumpy]:
        """Why parts of it stay on NumPy, once for each combination of fed shapes for which they do."""
        return ()

    def compiled(self) -> Sequence[Compiled]:
        """The plans that are compiled or laid out on a GPU, in the order of `describe`."""
        return ()


def carry_out(executable: Executable, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
    """One whole run: it counts as active if it uses variables, and its cleanups are called if it fails.

    This is the way of sessions, tasks and functions alike.
    """
    if executable.uses_variables:
        run.pausable = True
        return run.store.running(run, executable.run, feeds)
    try:
        return executable.run(run, feeds)
    except BaseException as error:
        run.failed(error)
        raise
