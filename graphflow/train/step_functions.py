"""What belongs to a run of a monitored session: step functions, and the numbers by which it is known when repeated."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from graphflow.cluster.once import MOST_ATTEMPTS, Attempt
from graphflow.config import RunMetadata, RunOptions


class StepContext:
    """What a step function gets: the session without hooks, and a run with hooks (StepContext of run_step_fn)."""

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
    """ValueError where a step function does not take one argument."""
    try:
        inspect.signature(step_fn).bind(None)
    except TypeError as error:
        raise ValueError(
            f"step_fn takes one argument, a StepContext, but {step_fn!r} cannot be called so: {error}."
        ) from None


class Attempts:
    """The attempts of one call of the user's, which may have several runs; they are numbered in their order.

    A later attempt has the same numbers, so that the tasks of a cluster can tell what was done (cluster/once.py).
    """

    def __init__(self, trainer: str, numbers: Iterator[int]) -> None:
        self._trainer = trainer
        self._source = numbers
        self._numbers: list[int] = []
        self._place = 0
        self._attempt = 0

    def next_run(self) -> list[Any]:
        """The number of the next run of this attempt, for Session.numbered."""
        if self._place == len(self._numbers):
            self._numbers.append(next(self._source))
        self._place += 1
        return Attempt(self._trainer, self._numbers[self._place - 1], self._attempt).details()

    def again(self) -> None:
        """A later attempt begins."""
        self._place = 0
        self._attempt = min(self._attempt + 1, MOST_ATTEMPTS)
