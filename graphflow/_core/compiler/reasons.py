"""Why a plan, or a plan for some shapes, stays on NumPy.

Each reason is a class, so that they can be counted: `StaysOnNumpy` is what a plan is given up with. Those that are
somebody's mistake are told as warnings, the others as information; each once, in one line.
"""

from __future__ import annotations

import logging
import os
import traceback
from typing import Final

from graphflow._core.plan.ir import Plan

_LOG: Final = logging.getLogger("graphflow")
_PROGRESS_LOG: Final = logging.getLogger("graphflow.compiler")
"""What a program that shows messages of level INFO may leave out by itself: when plans become compiled."""
_MOST_NAMES: Final = 4


class StaysOnNumpy(Exception):
    """Why a plan stays on NumPy; the text is a part of a sentence, after "stays on NumPy: "."""

    is_a_fault = False
    """Whether it is a mistake of graphflow's, or of the machine it runs on, rather than of the plan's nature."""


class NothingNative(StaysOnNumpy):
    """No operation of the plan has a native form."""

    def __init__(self) -> None:
        super().__init__("no operation of it has a native form")


class NoValue(StaysOnNumpy):
    """A variable of the plan has no value, or one that is no array."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} has no value whose shape is known before the run")


class MayReshape(StaysOnNumpy):
    """A run of the plan may give a variable another shape."""

    def __init__(self, name: str = "") -> None:
        variable = f"the variable {name!r}" if name else "a variable"
        super().__init__(f"it may give {variable} another shape")


class ManyShapes(StaysOnNumpy):
    """The plan is fed more combinations of shapes than are compiled."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"it was fed more than {most} combinations of shapes; those that are new run on NumPy"
        )


class WorthCutting(StaysOnNumpy):
    """The plan is better run in stages.

    after: the names of the instructions after which to cut. due: the run of its own at which each stage goes over at
    the latest if bits are fixed; None before it is cut.
    """

    def __init__(self, after: frozenset[str]) -> None:
        super().__init__("sizes that follow from values cut it into stages, each of which becomes compiled")
        self.after = after
        self.due: int | None = None


class Declines(StaysOnNumpy):
    """The compiled plan could not take the runs that it was tried on, such as when a variable changes its layout."""

    def __init__(self) -> None:
        super().__init__("its compiled form could not take the runs that it was tried on")


class NotLowered(StaysOnNumpy):
    """The compiler failed at the plan."""

    is_a_fault = True

    def __init__(self, error: Exception) -> None:
        super().__init__(f"it could not be lowered: {_where(error)}")


class NoKernels(StaysOnNumpy):
    """The plan's kernels could not be made or laid out."""

    is_a_fault = True

    def __init__(self, error: Exception) -> None:
        super().__init__(f"its kernels could not be made: {_where(error)}")


class Disagrees(StaysOnNumpy):
    """What compiled code computes is not what NumPy computes (runtime/agreement)."""

    is_a_fault = True


class NotVerified(Exception):
    """The comparison of compiled code with NumPy failed itself; the plan is used all the same."""

    is_a_fault = True

    def __init__(self, error: Exception) -> None:
        super().__init__(_where(error))
        self.__cause__ = error


def tell_unverified(plan: Plan, reason: NotVerified) -> None:
    """Says in one line that compiled code is used though it could not be compared."""
    _LOG.warning(
        "The compiled plan of %s could not be compared with NumPy: %s.",
        label(plan),
        reason,
        extra={"reason": reason},
    )


def tell(plan: Plan, reason: StaysOnNumpy) -> None:
    """Says in one line why a plan stays on NumPy, at the level that the reason has."""
    level = logging.WARNING if reason.is_a_fault else logging.INFO
    text = str(reason).rstrip(".")
    _LOG.log(level, "The plan of %s stays on NumPy: %s.", label(plan), text, extra={"reason": reason})
    if reason.__cause__ is not None:
        _LOG.debug("The cause:", exc_info=reason.__cause__)


def tell_compiling(plan: Plan, kernels: int) -> None:
    """Says that the compiler has kernels of a plan to make, if it has."""
    if kernels:
        _PROGRESS_LOG.info(
            "The plan of %s runs on NumPy while %d kernels of it are compiled.", label(plan), kernels
        )


def tell_compiled(plan: Plan, pieces: int, on_numpy: int) -> None:
    """Says that a plan has gone over to compiled code, and how much of it."""
    _PROGRESS_LOG.info(
        "The plan of %s runs compiled from now on: %d pieces, of which NumPy computes %d.",
        label(plan),
        pieces,
        on_numpy,
    )


def label(plan: Plan) -> str:
    """A plan by what it is run for."""
    names = [*plan.fetches, *plan.targets]
    return ", ".join([*names[:_MOST_NAMES], *(["..."] if len(names) > _MOST_NAMES else [])]) or "nothing"


def _where(error: Exception) -> str:
    """An error in a line, with the place that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}{place}"
