"""Evaluating checkpoints: one, or each that training writes (tf.contrib.training).

The number of evaluations is a local variable, `eval_step`, which a hook reads to end the session.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import SessionLike, TensorLike
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Zeros
from graphflow._core.ops.state.state import assign_add
from graphflow.config import ConfigProto
from graphflow.summary.writer import FileWriterCache
from graphflow.train.hooks.basic_hooks import FinalOpsHook
from graphflow.train.hooks.session_run_hook import SessionRunArgs, SessionRunHook
from graphflow.train.saving.checkpoint_management import latest_checkpoint
from graphflow.train.sessions.monitored_session import MonitoredSession
from graphflow.train.sessions.scaffold import Scaffold, default_summary_op
from graphflow.train.sessions.session_creators import ChiefSessionCreator
from graphflow.train.steps import get_or_create_global_step, global_step

if TYPE_CHECKING:
    from graphflow.summary.writer import FileWriter
    from graphflow.train.coordinator import Coordinator
    from graphflow.train.hooks.session_run_hook import SessionRunContext

_log = logging.getLogger(__name__)


def get_or_create_eval_step() -> Any:
    """The local variable that counts evaluations, made if there is none.

    TensorFlow: tf.contrib.training.get_or_create_eval_step.

    Raises:
        ValueError: If there are several.
    """
    found = get_default_graph().get_collection(GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise ValueError(f"Multiple tensors added to the collection {GraphKeys.EVAL_STEP!r}.")
    if found:
        return found[0]
    return get_variable(
        "eval_step", [], dtypes.int64, Zeros(), trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )  # fmt: skip


class StopAfterNEvalsHook(SessionRunHook):
    """Ends the session after so many evaluations, None for never (tf.contrib.training.StopAfterNEvalsHook).

    Args:
        num_evals: How many; None for no end.
        log_progress: Whether each is told of.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._number = num_evals
        self._logs = log_progress
        self.completed: Any = None
        """The tensor with the number of evaluations; evaluate_once and evaluate_repeatedly set it."""

    def before_run(self, run_context: SessionRunContext) -> Any:
        """Asks for the number of evaluations.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
        """
        return None if self.completed is None else SessionRunArgs({"completed": self.completed})

    def after_run(self, run_context: SessionRunContext, run_values: Any) -> None:
        """Ends the session if it is reached.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
            run_values: What the run gave: results, options and metadata.
        """
        if self.completed is None:
            return
        done = run_values.results["completed"]
        if self._logs:
            _log.info("Evaluation [%d%s]", done, "" if self._number is None else f"/{self._number}")
        if self._number is not None and done >= self._number:
            run_context.request_stop()


class SummaryAtEndHook(SessionRunHook):
    """Writes a summary when the session ends, at the global step (tf.contrib.training.SummaryAtEndHook).

    log_dir or summary_writer: where to; ValueError without either.

    Args:
        log_dir: Where it is written.
        summary_writer: Another writer.
        summary_op: By default all summaries.
        feed_dict: {tensor: value}: values that take the place of tensors.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        summary_writer: FileWriter | None = None,
        summary_op: TensorLike | None = None,
        feed_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._directory = log_dir
        self._writer = summary_writer
        self._summary_op = summary_op
        self._feeds = feed_dict

    def begin(self) -> None:
        """Merges the summaries."""
        if self._summary_op is None:
            self._summary_op = default_summary_op()
        self._step = get_or_create_global_step()

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Opens the event file.

        Args:
            session: The session, without hooks.
            coord: The coordinator of its threads.
        """
        if self._writer is None and self._summary_op is not None:
            folder: Any = self._directory  # Given, as there is no writer.
            self._writer = FileWriterCache.get(folder)

    def end(self, session: SessionLike) -> None:
        """Computes and writes the summary.

        Args:
            session: The session, without hooks.
        """
        if self._summary_op is not None and self._writer is not None:
            step = global_step(session, self._step)
            self._writer.add_summary(session.run(self._summary_op, self._feeds), step)
            self._writer.flush()


def wait_for_new_checkpoint(
    checkpoint_dir: str,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1,
    timeout: float | None = None,
) -> str | None:
    """The latest checkpoint of a folder, once it is not last_checkpoint; None after `timeout` seconds.

    TensorFlow: tf.contrib.training.wait_for_new_checkpoint.

    Args:
        checkpoint_dir: The folder.
        last_checkpoint: The one that is known, or None.
        seconds_to_sleep: How often to look.
        timeout: The longest wait in seconds; None for no end.

    Returns:
        The prefix, or None.
    """
    _log.info("Waiting for a new checkpoint in %s", checkpoint_dir)
    limit = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            _log.info("Found the new checkpoint %s", found)
            return found
        if limit is not None and time.monotonic() + seconds_to_sleep > limit:
            return None
        time.sleep(seconds_to_sleep)


def checkpoints_iterator(
    checkpoint_dir: str,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], Any] | None = None,
) -> Iterator[str]:
    """Each new latest checkpoint of a folder, min_interval_secs apart (tf.contrib.training.checkpoints_iterator).

    Ends if none comes for `timeout` seconds, unless timeout_fn() then says with False that more may come.

    Args:
        checkpoint_dir: The folder.
        min_interval_secs: The least seconds from one to the next.
        timeout: The longest wait in seconds; None for no end.
        timeout_fn: Called after the longest wait; the wait goes on unless it gives True.

    Returns:
        An iterator of prefixes.
    """
    last: str | None = None
    while True:
        found = wait_for_new_checkpoint(checkpoint_dir, last, timeout=timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                _log.info("No new checkpoint has come in time.")
                return
            continue
        began = time.monotonic()
        last = found
        yield found
        time.sleep(max(0.0, began + min_interval_secs - time.monotonic()))


def _counted(eval_ops: Any, hooks: Sequence[Any]) -> Any:
    """The evaluation, which counts itself; the hooks know the count."""
    update = assign_add(get_or_create_eval_step(), 1)
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook.completed = update
    if isinstance(eval_ops, Mapping):
        return {**eval_ops, "update_eval_step": update}
    return [*(eval_ops if isinstance(eval_ops, list | tuple) else [eval_ops]), update]


def _evaluate(creator: ChiefSessionCreator, hooks: Sequence[Any], eval_ops: Any, feeds: Any) -> None:
    with MonitoredSession(creator, hooks) as session:
        while eval_ops is not None and not session.should_stop():
            session.run(eval_ops, feeds)


def evaluate_once(
    checkpoint_path: str,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: Mapping[Any, Any] | None = None,
    final_ops: Any = None,
    final_ops_feed_dict: Mapping[Any, Any] | None = None,
    hooks: Sequence[Any] | None = None,
    config: ConfigProto | None = None,
) -> Any:
    """Restores a checkpoint, runs eval_ops until a hook ends that, then final_ops, whose values it returns.

    TensorFlow: tf.contrib.training.evaluate_once.

    Args:
        checkpoint_path: Where the checkpoints are, or which one it is.
        master: The target of the session.
        scaffold: A gf.train.Scaffold.
        eval_ops: What is run, before, in each step, or at the end; None for nothing.
        feed_dict: {tensor: value}: values that take the place of tensors.
        final_ops: What is run, before, in each step, or at the end; None for nothing.
        final_ops_feed_dict: Its feeds.
        hooks: A StopAfterNEvalsHook says how many times eval_ops run.
        config: A gf.ConfigProto.
    """
    given = list(hooks or ())
    counted = None if eval_ops is None else _counted(eval_ops, given)
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    creator = ChiefSessionCreator(
        scaffold, checkpoint_filename_with_path=checkpoint_path, master=master, config=config
    )
    _evaluate(creator, [*given, final], counted, feed_dict)
    return final.final_ops_values


def evaluate_repeatedly(
    checkpoint_dir: str,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: Mapping[Any, Any] | None = None,
    final_ops: Any = None,
    final_ops_feed_dict: Mapping[Any, Any] | None = None,
    eval_interval_secs: float = 60,
    hooks: Sequence[Any] | None = None,
    config: ConfigProto | None = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], Any] | None = None,
) -> Any:
    """evaluate_once for each new checkpoint of a folder; the last values of final_ops.

    TensorFlow: tf.contrib.training.evaluate_repeatedly. Ends after max_number_of_evaluations, or as
    checkpoints_iterator does.

    Args:
        checkpoint_dir: Where the checkpoints are, or which one it is.
        master: The target of the session.
        scaffold: A gf.train.Scaffold.
        eval_ops: What is run, before, in each step, or at the end; None for nothing.
        feed_dict: {tensor: value}: values that take the place of tensors.
        final_ops: What is run, before, in each step, or at the end; None for nothing.
        final_ops_feed_dict: Its feeds.
        eval_interval_secs: The least seconds from one evaluation to the next.
        hooks: Hooks of the session's runs.
        config: A gf.ConfigProto.
        max_number_of_evaluations: After how many it ends; None for no end.
        timeout: The longest wait for a checkpoint, in seconds; None for no end.
        timeout_fn: Called after the longest wait; the wait goes on unless it gives True.
    """
    given = list(hooks or ())
    counted = None if eval_ops is None else _counted(eval_ops, given)
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for evaluations, path in enumerate(paths, 1):
        creator = ChiefSessionCreator(
            scaffold, checkpoint_filename_with_path=path, master=master, config=config
        )
        _evaluate(creator, [*given, final], counted, feed_dict)
        if max_number_of_evaluations is not None and evaluations >= max_number_of_evaluations:
            break
    return final.final_ops_values
