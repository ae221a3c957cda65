"""The hooks that watch, stop and feed a training loop, and write no files.

None of them runs anything of its own in an ordinary step: the global step is read where it is stored or, on a cluster,
fetched in the user's run, and so is whatever else they look at.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.common.timeouts import STEP_LOG_SECONDS, STEP_POLL_SECONDS
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.graph import Graph
from graphflow.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    StepReader,
)
from graphflow.train.hooks.timers import ExpectedTimer, ThisRun
from graphflow.train.steps import get_global_step

_log = logging.getLogger(__name__)

_NEAR_THE_END: Final = 100
"""Steps before the last in which it is asked for after each run, so that no worker begins one too many."""
_STILL_RUNS: Final = 1000


class NanLossDuringTrainingError(RuntimeError):
    """The loss is not a number (tf.train.NanLossDuringTrainingError)."""

    def __str__(self) -> str:
        return self.args[0] if self.args else "NaN loss during training."


class StopAtStepHook(SessionRunHook):
    """Asks to stop at a global step, or after a number of steps (tf.train.StopAtStepHook).

    Args:
        num_steps: Steps from the one at which the first session of the program begins.
        last_step: The step itself.

    Raises:
        ValueError: Unless exactly one is given; RuntimeError in `begin` if the graph has no global step.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step
        self._seen = -1
        self._still = 0

    @property
    def last_step(self) -> int | None:
        """The step to stop at; None before the first session if only a number of steps was given."""
        return self._last_step

    def begin(self) -> None:
        """Looks for the global step."""
        self._step = StepReader.of_graph("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Settles the last step; a recovery does not move it.

        Args:
            session: The session, without hooks.
            coord: The coordinator of its threads.
        """
        if self._last_step is None:
            assert self._num_steps is not None
            self._last_step = self._step(session) + self._num_steps

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Asks to stop if the step is reached.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
            run_values: What the run gave: results, options and metadata.
        """
        assert self._last_step is not None
        step = self._step.near(run_context.session)
        if step >= self._last_step - _NEAR_THE_END:
            step = self._step(run_context.session)
        if step >= self._last_step:
            run_context.request_stop()
        elif step != self._seen:
            self._seen, self._still = step, 0
        else:
            self._still += 1
            if self._still == _STILL_RUNS:
                _log.warning(
                    "The global step stayed at %d for %d runs, and StopAtStepHook waits for %d: nothing moves it. Give "
                    "it to the optimizer: minimize(loss, global_step=gf.train.get_global_step()).",
                    step, _STILL_RUNS, self._last_step,
                )  # fmt: skip


class NanTensorHook(SessionRunHook):
    """Watches a loss, and raises or stops when it is not a number (tf.train.NanTensorHook).

    Args:
        loss_tensor: The loss.
        fail_on_nan_loss: Raise NanLossDuringTrainingError, the default; otherwise log the fact and ask to
            stop.
    """

    def __init__(self, loss_tensor: Tensor | str, fail_on_nan_loss: bool = True) -> None:
        self.loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the loss.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
        """
        return SessionRunArgs(self.loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Looks at the loss.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
            run_values: What the run gave: results, options and metadata.
        """
        value = run_values.results
        bad = math.isnan(value) if np.ndim(value) == 0 else bool(np.isnan(value).any())
        if not bad:
            return
        step = get_global_step(run_context.session.graph)
        where = "" if step is None else f" at global step {StepReader(step)(run_context.session)}"
        name = getattr(self.loss_tensor, "name", self.loss_tensor)
        message = (
            f"Model diverged: the loss {name!r} is NaN{where}. ConfigProto(check_numerics=True) names the first "
            "operation whose result is not finite."
        )
        if self._fail_on_nan_loss:
            _log.error("%s", message)
            raise NanLossDuringTrainingError(message)
        _log.warning("%s", message)
        run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors every so many steps or seconds, at level INFO (tf.train.LoggingTensorHook).

    Args:
        tensors: A dictionary from tag to tensor or name, or a list of them.
        every_n_iter: Period in global steps, in runs if there is no global step.
        every_n_secs: The period in seconds.
        at_end: Also when the session ends.
        formatter: A function from the dictionary of values to a string.

    Raises:
        ValueError: If neither a period nor at_end is given, or both periods.
    """

    def __init__(
        self,
        tensors: Mapping[str, Any] | Sequence[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[str, Any]], str] | None = None,
    ) -> None:
        if (
            every_n_iter is not None
            and every_n_secs is not None
            or (every_n_iter is None and every_n_secs is None and not at_end)
        ):
            raise ValueError(
                "Give exactly one of every_n_iter and every_n_secs, or at_end=True; got "
                f"every_n_iter={every_n_iter!r}, every_n_secs={every_n_secs!r}, at_end={at_end!r}."
            )
        self._tensors: dict[str, Any] = (
            dict(tensors)
            if isinstance(tensors, Mapping)
            else {t if isinstance(t, str) else t.name: t for t in tensors}
        )
        periodic = every_n_iter is not None or every_n_secs is not None
        self._timer = ExpectedTimer(every_n_secs, every_n_iter) if periodic else None
        self._at_end = at_end
        self._formatter = formatter

    @property
    def tensors(self) -> Mapping[str, Any]:
        """The tensors that are logged, by tag."""
        return self._tensors

    def begin(self) -> None:
        """Looks for the tensors and the global step."""
        graph = get_default_graph()
        self._tensors = {tag: graph.as_graph_element(t) for tag, t in self._tensors.items()}
        self._args = SessionRunArgs(self._tensors)
        step = get_global_step()
        self._step = None if step is None else StepReader(step)
        self._runs = 0
        self._run = ThisRun()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Begins to count at the step of the session.

        Args:
            session: The session, without hooks.
            coord: The coordinator of its threads.
        """
        if self._timer is not None:
            self._timer.start(self._position(session))

    def _position(self, session: Any) -> int:
        return self._runs if self._step is None else self._step(session)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the tensors if they are to be logged.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
        """
        if self._timer is None:
            return None
        self._run.before = self._runs if self._step is None else self._step.near(run_context.session)
        self._run.asked = self._timer.due(self._run.before + 1)
        return self._args if self._run.asked else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs them.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
            run_values: What the run gave: results, options and metadata.
        """
        self._runs += 1
        if self._run.asked:
            assert self._timer is not None
            elapsed = self._timer.acted(self._run.before, self._position(run_context.session))
            self._write(run_values.results, None if elapsed is None else elapsed[0])

    def end(self, session: Any) -> None:
        """Logs the values at the end, if asked for.

        Args:
            session: The session, without hooks.
        """
        if self._at_end:
            self._write(session.run(self._tensors), None)

    def _write(self, values: dict[str, Any], seconds: float | None) -> None:
        if self._formatter is not None:
            text = self._formatter(values)
        else:
            with np.printoptions(suppress=True):
                text = ", ".join(f"{tag} = {value}" for tag, value in values.items())
            if seconds is not None:
                text += f" ({seconds:.3f} sec)"
        _log.info("%s", text)


class FinalOpsHook(SessionRunHook):
    """Runs tensors once, when the session ends, and keeps their values (tf.train.FinalOpsHook).

    Args:
        final_ops: What is run at the end.
        final_ops_feed_dict: Its feeds.
    """

    def __init__(self, final_ops: Any, final_ops_feed_dict: Mapping[Any, Any] | None = None) -> None:
        self._final_ops = final_ops
        self._feed_dict = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        """The values, once the session has ended."""
        return self._values

    def end(self, session: Any) -> None:
        """Runs them.

        Args:
            session: The session, without hooks.
        """
        if self._final_ops is not None:
            self._values = session.run(self._final_ops, feed_dict=self._feed_dict)


class FeedFnHook(SessionRunHook):
    """Feeds every run with what a function returns (tf.train.FeedFnHook).

    Args:
        feed_fn: A function without arguments that gives {tensor: value}.
    """

    def __init__(self, feed_fn: Callable[[], Mapping[Any, Any]]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Calls the function.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
        """
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())


class GlobalStepWaiterHook(SessionRunHook):
    """Holds a worker back until the global step, moved by others, reaches a value (tf.train.GlobalStepWaiterHook).

    Args:
        wait_until_step: The step.
    """

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        """Looks for the global step."""
        self._reached = self._wait_until_step <= 0
        self._step = StepReader.of_graph("GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        """Waits, in the first run.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
        """
        if self._reached:
            return
        logged = -math.inf
        while (step := self._step.read(run_context.session)) < self._wait_until_step:
            if time.monotonic() - logged >= STEP_LOG_SECONDS:
                logged = time.monotonic()
                _log.warning("Waiting for global step %d; it is at %d.", self._wait_until_step, step)
            time.sleep(STEP_POLL_SECONDS)
        self._reached = True


def watched_losses(graph: Graph, hooks: Sequence[Any]) -> list[Any]:
    """The losses that hooks watch or log."""
    found: list[Any] = []
    for hook in hooks:
        if isinstance(hook, NanTensorHook):
            found.append(graph.as_graph_element(hook.loss_tensor))
        elif isinstance(hook, LoggingTensorHook):
            found += [tensor for tag, tensor in hook.tensors.items() if "loss" in tag.lower()]
    return found


def step_to_stop_at(hooks: Sequence[Any]) -> int | None:
    """The first step at which one of the hooks stops, None if none does."""
    found = [h.last_step for h in hooks if isinstance(h, StopAtStepHook) and h.last_step is not None]
    return min(found, default=None)
