"""Evaluating checkpoints, with summaries of each (tf.contrib.slim.evaluation)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from graphflow._core.graph.elements import Operation, Tensor
from graphflow.config import ConfigProto
from graphflow.contrib import evaluation
from graphflow.contrib.evaluation import checkpoints_iterator as checkpoints_iterator
from graphflow.contrib.evaluation import wait_for_new_checkpoint as wait_for_new_checkpoint
from graphflow.train.saving.saver import Saver
from graphflow.train.sessions.scaffold import Scaffold, default_summary_op

_USE_DEFAULT: Final = 0


def _hooks(
    num_evals: int, logdir: str, summary_op: Any, feeds: Any, hooks: Sequence[Any] | None
) -> list[Any]:
    if summary_op is _USE_DEFAULT:
        summary_op = default_summary_op()
    made: list[Any] = [evaluation.StopAfterNEvalsHook(num_evals)]
    if summary_op is not None:
        made.append(evaluation.SummaryAtEndHook(logdir, summary_op=summary_op, feed_dict=feeds))
    return [*made, *(hooks or ())]


def _saver(variables_to_restore: Any) -> Saver | None:
    return None if variables_to_restore is None else Saver(variables_to_restore)


def evaluate_once(
    master: str,
    checkpoint_path: str,
    logdir: str,
    num_evals: int = 1,
    initial_op: Operation | Tensor | None = None,
    initial_op_feed_dict: Mapping[Any, Any] | None = None,
    eval_op: Any = None,
    eval_op_feed_dict: Mapping[Any, Any] | None = None,
    final_op: Any = None,
    final_op_feed_dict: Mapping[Any, Any] | None = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Mapping[Any, Any] | None = None,
    variables_to_restore: Any = None,
    session_config: ConfigProto | None = None,
    hooks: Sequence[Any] | None = None,
) -> Any:
    """Restores a checkpoint, runs eval_op num_evals times, then final_op, whose value it returns.

    TensorFlow: tf.contrib.slim.evaluation.evaluate_once.

    Args:
        master: The target of the session.
        checkpoint_path: Where the checkpoints are, or which one it is.
        logdir: Where summary_op's value is written, by default all summaries.
        num_evals: How many steps there are.
        initial_op: What is run, before, in each step, or at the end; None for nothing.
        initial_op_feed_dict: Its feeds.
        eval_op: What is run, before, in each step, or at the end; None for nothing.
        eval_op_feed_dict: Its feeds.
        final_op: What is run, before, in each step, or at the end; None for nothing.
        final_op_feed_dict: Its feeds.
        summary_op: What is run, before, in each step, or at the end; None for nothing.
        summary_op_feed_dict: Its feeds.
        variables_to_restore: Variables, or {name in the checkpoint: variable}; by default all.
        session_config: A gf.ConfigProto.
        hooks: Hooks of the session's runs.
    """
    return evaluation.evaluate_once(
        checkpoint_path,
        master,
        Scaffold(initial_op, initial_op_feed_dict, saver=_saver(variables_to_restore)),
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
        session_config,
    )


def evaluation_loop(
    master: str,
    checkpoint_dir: str,
    logdir: str,
    num_evals: int = 1,
    initial_op: Operation | Tensor | None = None,
    initial_op_feed_dict: Mapping[Any, Any] | None = None,
    init_fn: Callable[[Any, Any], None] | None = None,
    eval_op: Any = None,
    eval_op_feed_dict: Mapping[Any, Any] | None = None,
    final_op: Any = None,
    final_op_feed_dict: Mapping[Any, Any] | None = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Mapping[Any, Any] | None = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: ConfigProto | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], Any] | None = None,
    hooks: Sequence[Any] | None = None,
) -> Any:
    """evaluate_once for each new checkpoint of a folder; the last value of final_op.

    TensorFlow: tf.contrib.slim.evaluation.evaluation_loop.

    Ends after max_number_of_evaluations, or if no checkpoint comes for `timeout` seconds, unless timeout_fn()
    then is false.

    Args:
        master: The target of the session.
        checkpoint_dir: Where the checkpoints are, or which one it is.
        logdir: Where summaries are written.
        num_evals: How many steps there are.
        initial_op: What is run, before, in each step, or at the end; None for nothing.
        initial_op_feed_dict: Its feeds.
        init_fn: As a Scaffold's.
        eval_op: What is run, before, in each step, or at the end; None for nothing.
        eval_op_feed_dict: Its feeds.
        final_op: What is run, before, in each step, or at the end; None for nothing.
        final_op_feed_dict: Its feeds.
        summary_op: What is run, before, in each step, or at the end; None for nothing.
        summary_op_feed_dict: Its feeds.
        variables_to_restore: What to restore; by default the variables of the graph.
        eval_interval_secs: The least seconds from one evaluation to the next.
        max_number_of_evaluations: After how many it ends; None for no end.
        session_config: A gf.ConfigProto.
        timeout: The longest wait for a checkpoint, in seconds; None for no end.
        timeout_fn: Called after the longest wait; the wait goes on unless it gives True.
        hooks: Hooks of the session's runs.
    """
    return evaluation.evaluate_repeatedly(
        checkpoint_dir,
        master,
        Scaffold(initial_op, initial_op_feed_dict, init_fn, saver=_saver(variables_to_restore)),
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        eval_interval_secs,
        _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
        session_config,
        max_number_of_evaluations,
        timeout,
        timeout_fn,
    )
