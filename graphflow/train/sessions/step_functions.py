"""Step functions of monitored sessions, and the numbers by which a run is known when it is repeated."""

from __future__ import annotations

import inspect
import secrets
import threading
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, NoReturn

import graphflow.errors as errors
from graphflow._core.common.request_ids import MOST_RUNS, RequestId
from graphflow.config import RunMetadata, RunOptions


class StepContext:
    """The argument of a step function: the session without hooks, and a run with hooks (StepContext of run_step_fn)."""

    def __init__(self, session: Any, run_with_hooks: Callable[..., Any]) -> None:
        self._session = session
        self._run_with_hooks = run_with_hooks

    @property
    def session(self) -> Any:
        """The session itself: its runs trigger no hooks."""
        return self._session

    def run_with_hooks(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """A run with hooks; takes and returns what Session.run does."""
        return self._run_with_hooks(fetches, feed_dict, options, run_metadata)

    def request_stop(self) -> NoReturn:
        """Ends the step function here, and asks the training loop to end."""
        raise StopIteration("step_fn has requested the iterations to stop.")


def check_step_fn(step_fn: Callable[..., Any]) -> None:
    """ValueError if a step function does not take one argument."""
    try:
        inspect.signature(step_fn).bind(None)
    except TypeError as error:
        raise ValueError(
            "step_fn takes one argument: `step_fn` may either have one `step_context` argument, a StepContext, or be a "
            f"method that has it besides `self`; {step_fn!r} cannot be called so: {error}."
        ) from None


class Attempts:
    """The attempts of one call of the user's, which may have several runs; they are numbered in their order.

    A later attempt has the same numbers, so that the tasks of a cluster can tell what was done
    (cluster/protocol/deduplication.py). One thread makes the runs.
    """

    def __init__(self, line: str) -> None:
        self._line = line
        self._call = 0
        self._index = 0
        self._attempt = 0

    def next_call(self) -> None:
        """Another call begins, of which the tasks remember what they did for this one so far."""
        self._call += 1
        self._index = self._attempt = 0

    def next_run(self) -> list[Any]:
        """The number of the next run of this attempt, for Session.numbered.

        ResourceExhaustedError if the call has more runs than the tasks remember.
        """
        if self._index == MOST_RUNS:
            raise errors.ResourceExhaustedError(
                None, None,
                f"A call has at most {MOST_RUNS} runs with hooks, which can be repeated after a fault so that each "
                "counts once: let the step function do less at a time.",
            )  # fmt: skip
        self._index += 1
        return RequestId(self._line, self._call, self._index - 1, self._attempt).details()

    def again(self) -> None:
        """A later attempt begins."""
        self._index = 0
        self._attempt += 1


class Calls:
    """Numbers the calls of a program, those of each thread in a line of their own. Thread-safe.

    In a line the calls follow each other, so that a task need remember the last one alone (common/last_runs.py).
    """

    def __init__(self) -> None:
        self._program = secrets.token_hex(8)
        self._lines = count()
        self._free: list[Attempts] = []

    def begin(self) -> Attempts:
        """A call begins, in a line in which there is none."""
        try:
            found = self._free.pop()
        except IndexError:
            found = Attempts(f"{self._program}.{next(self._lines)}")
        found.next_call()
        return found

    def end(self, attempts: Attempts) -> None:
        """The call is over, and is not repeated any more."""
        self._free.append(attempts)


class Calling(threading.local):
    """The call of the user that a thread is inside of, and the numbers of its runs if these are numbered."""

    active = False
    attempts: Attempts | None = None
    recovering = False
    """Whether the session is made anew in it: then there is no step whose end one could wait for."""
    ending = False
    """Whether the thread ends the session."""

    @property
    def busy(self) -> bool:
        """Whether this thread is in the midst of a step, or of the end."""
        return (self.active and not self.recovering) or self.ending
