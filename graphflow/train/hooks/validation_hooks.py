"""Hooks that look at data the training has not seen: validation, early stopping, and the best checkpoints.

One hook validates and keeps the history of what it found; the two others listen to it, so that a measure is computed
once however many go by it, and the order of the hooks is of no importance. All that they decide follows from the
history. It is a file beside the training, and what is newer than the checkpoint that a restarted program goes on from
is dropped: a program that was killed stops at the same step, with the same best checkpoint, as one that was not.

TensorFlow 1 has the like for its Estimators alone (tf.estimator.experimental.stop_if_no_decrease_hook, BestExporter).
"""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from graphflow._core.checkpoint.atomic import write_atomically
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph.defaults import SessionLike, get_default_graph
from graphflow._core.graph.keys import GraphKeys
from graphflow.summary.writer import FileWriterCache
from graphflow.train.coordinator import Coordinator
from graphflow.train.hooks.saving_hooks import events_can_be_written, write_numbers
from graphflow.train.hooks.session_run_hook import (
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    StepReader,
)
from graphflow.train.hooks.timers import ReachedTimer
from graphflow.train.saving.checkpoint_management import (
    checkpoint_exists,
    remove_checkpoint,
    update_checkpoint_state,
)

if TYPE_CHECKING:
    from graphflow.train.saving.saver import Saver

_log = logging.getLogger(__name__)

_HISTORY: Final = "validation.json"


class Validation(NamedTuple):
    """What one validation found: the global `step` and the `metrics` by name."""

    step: int
    metrics: Mapping[str, float]


_Listener = Callable[[Any, Validation], bool | None]


class ValidationHook(SessionRunHook):
    """Calls a function every so many steps or seconds, and at the end, and keeps the metrics that it returns.

    On a cluster it is one of the chief's hooks (`chief_only_hooks`).

    Args:
        validate: Takes the session, whose runs trigger no hooks, and returns the metrics: numbers by name.
        every_n_steps: The period in global steps.
        every_n_secs: The period in seconds; exactly one of both is given.
        output_dir: A folder for the history, and for summaries of the metrics where TensorBoard is installed. It is
            made if it is not there. None keeps the history in this process alone.

    Raises:
        ValueError: Unless exactly one period is given, and it is positive. By the run, if `validate` returns no
            metrics, or what is no number.
        RuntimeError: By `begin`, if the graph has no global step.
    """

    def __init__(
        self,
        validate: Callable[[Any], Mapping[str, Any]],
        every_n_steps: int | None = None,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
    ) -> None:
        self._validate = validate
        self._timer = ReachedTimer(every_n_secs, every_n_steps)
        self._directory = None if output_dir is None else user_path(output_dir)
        self._history: list[Validation] = []
        self._listeners: list[_Listener] = []
        self._writer: Any = None

    @property
    def history(self) -> tuple[Validation, ...]:
        """What was found so far, in the order of the steps; with `output_dir`, by earlier processes too."""
        return tuple(self._history)

    def listen(self, listener: Callable[[Any, Validation], bool | None]) -> None:
        """Has a function called with the session and the Validation after each; True asks to stop training.

        Args:
            listener: Called after each validation.
        """
        self._listeners.append(listener)

    def begin(self) -> None:
        """Looks for the global step, and reads the history."""
        self._step = StepReader.of_graph("ValidationHook")
        if self._directory is None:
            return
        storage.make_folders(self._directory)
        self._history = _read(os.path.join(self._directory, _HISTORY))
        if events_can_be_written():
            self._writer = FileWriterCache.get(self._directory)

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Forgets what lies after the step of the session: the training went back and comes by again.

        Args:
            session: The session, without hooks.
            coord: The coordinator of its threads.
        """
        step = self._step(session)
        self._history = [found for found in self._history if found.step <= step]
        self._timer.start(step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Validates, if it is time.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
            run_values: What the run gave: results, options and metadata.
        """
        if not self._timer.due(self._step.near(run_context.session)):
            return
        step = self._step(run_context.session)
        if self._timer.due(step):
            self._timer.note(step)
            if self._find(run_context.session, step):
                run_context.request_stop()

    def end(self, session: SessionLike) -> None:
        """Validates the last step, if that is not done yet.

        Args:
            session: The session, without hooks.
        """
        step = self._step.read(session)
        if not self._history or self._history[-1].step != step:
            self._find(session, step)
        if self._writer is not None:
            self._writer.flush()

    def on_exception(self, exception: BaseException) -> None:
        """Writes out the summaries.

        Args:
            exception: What the run raised.
        """
        if self._writer is not None:
            self._writer.flush()

    def _find(self, session: Any, step: int) -> bool:
        """Validates; whether a listener asks to stop."""
        found = Validation(step, _numbers(self._validate(session)))
        self._history.append(found)
        if self._directory is not None:
            text = json.dumps([[v.step, dict(v.metrics)] for v in self._history])
            write_atomically(os.path.join(self._directory, _HISTORY), text.encode())
        _log.info(
            "Validation at step %d: %s", step, ", ".join(f"{k} = {v:g}" for k, v in found.metrics.items())
        )
        if self._writer is not None:
            write_numbers(self._writer, found.metrics, step)
        answers = [listener(session, found) for listener in self._listeners]
        return any(answers)


def _numbers(metrics: Any) -> dict[str, float]:
    """The metrics that a function returned, as numbers."""
    if not isinstance(metrics, Mapping) or not metrics:
        raise ValueError(
            f"The function of a ValidationHook returns a dictionary of numbers by name, such as {{'loss': 0.3}}; it "
            f"returned {metrics!r}."
        )
    try:
        return {str(name): float(value) for name, value in metrics.items()}
    except (TypeError, ValueError) as error:
        raise ValueError(f"The metrics of a ValidationHook are numbers; got {metrics!r}: {error}.") from error


def _read(path: str) -> list[Validation]:
    """A history that was written before; none if there is no such file, ValueError if it is something else."""
    try:
        content = json.loads(storage.read(path))
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise ValueError(
            f"{path} is no history of validations: {error}. Remove it, or name another folder."
        ) from None
    try:
        return [Validation(int(step), _numbers(metrics)) for step, metrics in content]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is no history of validations: {error}. Remove it, or name another folder."
        ) from None


class _Measure:
    """A metric of a validation, and which of two values is the better; what is no number is the worst."""

    def __init__(self, validation: ValidationHook, metric: str, mode: str, min_delta: float = 0.0) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode is 'min' if less is better, such as for a loss, or 'max'; got {mode!r}.")
        if min_delta < 0:
            raise ValueError(f"min_delta must not be negative, got {min_delta!r}.")
        self._validation, self.metric, self._mode, self._delta = validation, metric, mode, min_delta

    def of(self, found: Validation) -> float:
        """The value; ValueError if there is no such metric."""
        if self.metric not in found.metrics:
            raise ValueError(
                f"There is no metric {self.metric!r} in the validation: it has {sorted(found.metrics)}."
            )
        return found.metrics[self.metric]

    def better(self, value: float, than: float) -> bool:
        """Whether a value is better, by more than the delta."""
        if math.isnan(value) or math.isnan(than):
            return not math.isnan(value)
        return value < than - self._delta if self._mode == "min" else value > than + self._delta

    def ranked(self) -> list[Validation]:
        """The history, the best first and of equals the earlier one."""
        ranked: list[Validation] = []
        for found in self._validation.history:
            value = self.of(found)
            place = next((i for i, r in enumerate(ranked) if self.better(value, self.of(r))), len(ranked))
            ranked.insert(place, found)
        return ranked


class EarlyStoppingHook(SessionRunHook):
    """Asks to stop if a metric of a validation has not become better for a number of steps.

    Args:
        validation: The hook that validates; it is given to the session, too.
        metric: The name of the metric.
        max_steps_without_improvement: Global steps from the best validation after which to stop.
        mode: "min" if less is better, such as for a loss, or "max". A NaN is never better.
        min_delta: By more than so much it must be better than the best so far.
        min_steps: The training does not stop before this global step.

    Raises:
        ValueError: If an argument is out of its range. By the run, if the validation has no such metric.
    """

    def __init__(
        self,
        validation: ValidationHook,
        metric: str,
        max_steps_without_improvement: int,
        mode: str = "min",
        min_delta: float = 0.0,
        min_steps: int = 0,
    ) -> None:
        if max_steps_without_improvement <= 0:
            raise ValueError(
                f"max_steps_without_improvement must be positive, got {max_steps_without_improvement!r}."
            )
        self._validation = validation
        self._measure = _Measure(validation, metric, mode, min_delta)
        self._most = max_steps_without_improvement
        self._min_steps = min_steps
        self._best: Validation | None = None
        validation.listen(self._validated)

    @property
    def best(self) -> Validation | None:
        """The best validation so far, None before the first."""
        return self._best

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Looks at the history anew: the training may have gone back.

        Args:
            session: The session, without hooks.
            coord: The coordinator of its threads.
        """
        self._best = None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Asks to stop, if the last validation of an earlier process said so.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
            run_values: What the run gave: results, options and metadata.
        """
        if self._best is None and self._validation.history and self._look():
            run_context.request_stop()

    def _validated(self, session: Any, found: Validation) -> bool:
        return self._look()

    def _look(self) -> bool:
        history, measure = self._validation.history, self._measure
        best = history[0]
        for found in history:
            if measure.better(measure.of(found), measure.of(best)):
                best = found
        self._best, last = best, history[-1].step
        over = last >= self._min_steps and last - best.step >= self._most
        if over:
            _log.info(
                "Early stopping at step %d: %s was best at step %d, %g, and is %g.",
                last, measure.metric, best.step, measure.of(best), measure.of(history[-1]),
            )  # fmt: skip
        return over


class BestCheckpointHook(SessionRunHook):
    """Keeps the checkpoints of the best validations in a folder, whatever the training keeps beside.

    `gf.train.latest_checkpoint(directory)` is the best of them; a session with that `checkpoint_dir` restores it.

    Args:
        validation: The hook that validates; it is given to the session, too. With its `output_dir` the best are known
            to a program that is started again.
        metric: The name of the metric.
        directory: The folder, which is made if it is not there. It must not be that of the training.
        mode: "min" if less is better, such as for a loss, or "max". A NaN is never better than a number.
        keep: How many are kept.
        saver: What saves; otherwise the saver of the session's scaffold.
        checkpoint_basename: Of the files, `best.ckpt` gives `best.ckpt-100`.

    Raises:
        ValueError: If an argument is out of its range. By the run, if the validation has no such metric.
    """

    def __init__(
        self,
        validation: ValidationHook,
        metric: str,
        directory: str,
        mode: str = "min",
        keep: int = 1,
        saver: Saver | None = None,
        checkpoint_basename: str = "best.ckpt",
    ) -> None:
        if keep < 1:
            raise ValueError(f"keep must be at least 1, got {keep!r}.")
        self._measure = _Measure(validation, metric, mode)
        self._directory = user_path(directory)
        self._path = os.path.join(self._directory, checkpoint_basename)
        self._keep = keep
        self._saver = saver
        validation.listen(self._validated)

    @property
    def best_checkpoint(self) -> str | None:
        """The prefix of the best checkpoint that is there, None if there is none."""
        return next(iter(self._kept()), None)

    def _prefix(self, step: int) -> str:
        return f"{self._path}-{step}"

    def _kept(self) -> list[str]:
        """Those that are there, the best first."""
        prefixes = [self._prefix(found.step) for found in self._measure.ranked()]
        return [prefix for prefix in prefixes if checkpoint_exists(prefix)]

    def _validated(self, session: Any, found: Validation) -> None:
        best = self._measure.ranked()[: self._keep]
        if found not in best:
            return
        before = self._kept()
        storage.make_folders(self._directory)
        prefix = self._get_saver().save(session, self._path, global_step=found.step, write_state=False)
        if prefix is None:  # There are no variables.
            return
        kept = self._kept()
        _log.info(
            "%s is %g at step %d: saved %s.",
            self._measure.metric,
            self._measure.of(found),
            found.step,
            prefix,
        )
        update_checkpoint_state(self._directory, kept[0], kept[: self._keep][::-1])
        for old in {*before, *kept} - {*kept[: self._keep]}:
            remove_checkpoint(old)

    def _get_saver(self) -> Any:
        if self._saver is None:
            found = get_default_graph().get_collection(GraphKeys.SAVERS)
            if len(found) != 1:
                raise RuntimeError(
                    f"BestCheckpointHook looks for one saver in the collection {GraphKeys.SAVERS!r} and finds "
                    f"{len(found)}: give it a saver."
                )
            self._saver = found[0]
        return self._saver
