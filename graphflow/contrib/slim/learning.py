"""Training a model, from the operation of a step to the loop around it (tf.contrib.slim.learning).

The loop is that of a Supervisor: checkpoints and summaries are written by the clock, and training goes on where a
checkpoint in the log's folder ends.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.types import TensorLike, VariableLike
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import constant
from graphflow._core.ops.math import math
from graphflow._core.ops.state.variable_collections import (
    global_variables_initializer,
    report_uninitialized_variables,
)
from graphflow._core.session import BaseSession
from graphflow.config import ConfigProto, RunMetadata, RunOptions
from graphflow.contrib import train_op as training
from graphflow.contrib.train_op import Pairs, clip_gradient_norms, multiply_gradients
from graphflow.errors import AbortedError, OutOfRangeError
from graphflow.train.optimizers.optimizer import Optimizer
from graphflow.train.optimizers.sync_replicas import SyncReplicasOptimizer
from graphflow.train.saving.saver import Saver
from graphflow.train.sessions.scaffold import Scaffold, default_summary_op
from graphflow.train.sessions.supervisor import Supervisor
from graphflow.train.steps import get_or_create_global_step
from graphflow.train.steps import global_step as value_of

_log = logging.getLogger(__name__)

_USE_DEFAULT: Final = Supervisor.USE_DEFAULT
_SECONDS_BETWEEN_LOOKS: Final = 1.0


def add_gradients_summaries(grads_and_vars: Pairs) -> list[Tensor]:
    """Summaries of gradients: NAME/gradient, its distribution, and NAME/gradient_norm.

    TensorFlow: tf.contrib.slim.learning.add_gradients_summaries.

    Args:
        grads_and_vars: Pairs (gradient, variable).
    """
    return training.add_gradients_summaries(grads_and_vars, "/")


def create_train_op(
    total_loss: Tensor,
    optimizer: Optimizer,
    global_step: Any = training.USE_GLOBAL_STEP,
    update_ops: Sequence[Any] | None = None,
    variables_to_train: Sequence[Any] | None = None,
    clip_gradient_norm: float = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: int | None = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    check_numerics: bool = True,
) -> Tensor:
    """The loss, as a tensor that makes a step of training when it runs (tf.contrib.slim.learning.create_train_op).

    For the rest see gf.contrib.training.create_train_op.

    Args:
        total_loss: A scalar.
        optimizer: A gf.train.Optimizer.
        global_step: The step that grows; None for none.
        update_ops: Run before the loss; by default those of GraphKeys.UPDATE_OPS.
        variables_to_train: By default the trainable variables.
        clip_gradient_norm: The largest norm of each gradient, 0 for no limit.
        summarize_gradients: Whether gradients are summarised.
        gate_gradients: Whether updates wait until all gradients are there.
        aggregation_method: How gradients of several uses are added, of gf.AggregationMethod.
        colocate_gradients_with_ops: Whether gradients are placed with the operations they belong to.
        gradient_multipliers: {variable or its name: factor}; gradients are multiplied first.
        check_numerics: Whether a loss that is not finite is an error.
    """
    graph = get_default_graph()

    def transformed(pairs: Pairs) -> Pairs:
        if gradient_multipliers:
            with graph.name_scope("multiply_grads"):
                pairs = multiply_gradients(pairs, gradient_multipliers)
        if clip_gradient_norm > 0:
            with graph.name_scope("clip_grads"):
                pairs = clip_gradient_norms(pairs, clip_gradient_norm)
        return pairs

    return training.create_train_op(
        total_loss, optimizer, global_step, update_ops, variables_to_train, transformed, summarize_gradients,
        gate_gradients, aggregation_method, colocate_gradients_with_ops, check_numerics,
    )  # fmt: skip


def train_step(
    sess: BaseSession,
    train_op: TensorLike | Operation,
    global_step: Any,
    train_step_kwargs: Mapping[str, Any],
) -> Any:
    """Runs a step; (loss, whether to stop) (tf.contrib.slim.learning.train_step).

    Args:
        sess: The session.
        train_op: What create_train_op gave.
        global_step: The step.
        train_step_kwargs: Tensors "should_stop", "should_log" and "should_trace", of which each may be
            missing; with the last "logdir", a folder for timelines, and "summary_writer", which takes them,
            too.
    """
    began = time.monotonic()
    options = metadata = None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError("logdir must be present in train_step_kwargs when should_trace is present")
        if sess.run(train_step_kwargs["should_trace"]):
            options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    loss = sess.run(train_op, options=options, run_metadata=metadata)
    elapsed = time.monotonic() - began
    if metadata is not None:
        step = value_of(sess, global_step)
        path = os.path.join(user_path(train_step_kwargs["logdir"]), f"tf_trace-{step}.json")
        _log.info("Writing trace to %s", path)
        with storage.opened(path, "wb") as file:
            file.write(metadata.chrome_trace().encode())
        if train_step_kwargs.get("summary_writer") is not None:
            train_step_kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        step = value_of(sess, global_step)
        _log.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, elapsed)
    should_stop = sess.run(train_step_kwargs["should_stop"]) if "should_stop" in train_step_kwargs else False
    return loss, should_stop


def train(
    train_op: TensorLike | Operation,
    logdir: str | None,
    train_step_fn: Callable[[Any, Any, Any, Any], tuple[Any, Any]] = train_step,
    train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: Graph | None = None,
    master: str = "",
    is_chief: bool = True,
    global_step: VariableLike | Tensor | None = None,
    number_of_steps: int | None = None,
    init_op: Any = _USE_DEFAULT,
    init_feed_dict: Mapping[Any, Any] | None = None,
    local_init_op: Any = _USE_DEFAULT,
    init_fn: Callable[[Any], Any] | None = None,
    ready_op: Any = _USE_DEFAULT,
    summary_op: Any = _USE_DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: Saver | None = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: ConfigProto | None = None,
    session_wrapper: Callable[[Any], Any] | None = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Runs steps of training until the global step is number_of_steps; the last loss (tf.contrib.slim.learning.train).

    For the rest see Supervisor. The graph is finalized. Ends also if an input raises OutOfRangeError; after
    AbortedError it begins again from the latest checkpoint.

    Args:
        train_op: Of create_train_op.
        logdir: Of checkpoints and events, None for none; the chief saves at the end, too.
        train_step_fn: Is called as train_step for each step.
        train_step_kwargs: Arguments of `train_step_fn`.
        log_every_n_steps: How often the loss is logged.
        graph: The graph; by default that of `train_op`.
        master: The target of the session.
        is_chief: Whether this task initialises and saves.
        global_step: The step; by default the graph's.
        number_of_steps: The step to end at; None for no end.
        init_op: Initialises the variables.
        init_feed_dict: Feeds of init_op.
        local_init_op: Initialises local variables.
        init_fn: Is called with the session behind init_op, if no checkpoint is restored.
        ready_op: The names of variables without a value.
        summary_op: The merged summaries; None for none.
        save_summaries_secs: The period of summaries in seconds.
        summary_writer: The writer of summaries.
        startup_delay_steps: The global step that others than the chief wait for.
        saver: The saver of checkpoints.
        save_interval_secs: The period of checkpoints in seconds.
        sync_optimizer: a SyncReplicasOptimizer or a list of them.
        session_config: A gf.ConfigProto.
        session_wrapper: From a session to the one that is used.
        trace_every_n_steps: Writes timelines into logdir.
        ignore_live_threads: Ends although threads go on.

    Returns:
        The last loss.

    Raises:
        ValueError: If arguments disagree.
    """
    optimizers = _optimizers(sync_optimizer)
    _check(
        train_op,
        logdir,
        summary_op,
        saver,
        trace_every_n_steps,
        optimizers,
        startup_delay_steps,
        number_of_steps,
    )
    graph = graph or get_default_graph()
    with graph.as_default():
        step = get_or_create_global_step() if global_step is None else global_step
        kept = saver or Saver()
        with graph.name_scope("init_ops"):
            if init_op is _USE_DEFAULT:
                init_op = global_variables_initializer()
            if ready_op is _USE_DEFAULT:
                ready_op = report_uninitialized_variables()
            if local_init_op is _USE_DEFAULT:
                local_init_op = Scaffold.default_local_init_op()
            ready_for_local = None
            if optimizers:
                with graph.control_dependencies([] if local_init_op is None else [local_init_op]):
                    local_init_op = group(
                        *[opt.chief_init_op if is_chief else opt.local_step_init_op for opt in optimizers]
                    )
                ready_for_local = group(*[opt.ready_for_local_init_op for opt in optimizers])
        if summary_op is _USE_DEFAULT:
            summary_op = default_summary_op()
        tokens = [opt.get_init_tokens_op() for opt in optimizers if is_chief]
        runners = [opt.get_chief_queue_runner() for opt in optimizers if is_chief]
        if train_step_kwargs is _USE_DEFAULT:
            tracing = trace_every_n_steps if is_chief else None
            train_step_kwargs = _step_arguments(step, number_of_steps, log_every_n_steps, tracing, logdir)
    supervisor = Supervisor(
        graph=graph,
        is_chief=is_chief,
        logdir=logdir,
        init_op=init_op,
        init_feed_dict=init_feed_dict,
        local_init_op=local_init_op,
        ready_for_local_init_op=ready_for_local,
        ready_op=ready_op,
        summary_op=summary_op,
        summary_writer=summary_writer,
        global_step=step,
        saver=kept,
        save_summaries_secs=save_summaries_secs,
        save_model_secs=save_interval_secs,
        init_fn=init_fn,
    )
    if summary_writer is not None:
        train_step_kwargs = {**train_step_kwargs, "summary_writer": supervisor.summary_writer}
    delay = 0 if is_chief else min(startup_delay_steps, number_of_steps or sys.maxsize)
    loss = None
    while True:
        try:
            managed = supervisor.managed_session(master, config=session_config, start_standard_services=False)
            with managed as session:
                if session_wrapper is not None:
                    session = session_wrapper(session)
                if is_chief and logdir:
                    supervisor.start_standard_services(session)
                while value_of(session, step) < delay:
                    time.sleep(_SECONDS_BETWEEN_LOOKS)
                threads = supervisor.start_queue_runners(session)
                if tokens:
                    supervisor.start_queue_runners(session, runners)
                    session.run(tokens)
                try:
                    while not supervisor.should_stop():
                        loss, should_stop = train_step_fn(session, train_op, step, train_step_kwargs)
                        if should_stop:
                            _log.info("Stopping Training.")
                            supervisor.request_stop()
                except OutOfRangeError as error:
                    _log.info("The input is used up: stopping training. %s", error)
                if logdir and is_chief:
                    _log.info("Finished training! Saving model to disk.")
                    # The thread that saves by the clock ends first, else an earlier step could become the latest.
                    try:
                        supervisor.stop(threads, False, ignore_live_threads)
                    finally:
                        if supervisor.saver is not None and supervisor.save_path is not None:
                            supervisor.saver.save(session, supervisor.save_path, global_step=step)
            return loss
        except AbortedError:
            _log.info("A server was started anew: retrying training!")


def _optimizers(sync_optimizer: Any) -> list[SyncReplicasOptimizer]:
    given = [sync_optimizer] if isinstance(sync_optimizer, SyncReplicasOptimizer) else sync_optimizer or []
    for optimizer in given:
        if not isinstance(optimizer, SyncReplicasOptimizer):
            raise ValueError(
                f"`sync_optimizer` must be a gf.train.SyncReplicasOptimizer or a list of them, got {optimizer!r}."
            )
    return list(given)


def _check(
    train_op: Any,
    logdir: str | None,
    summary_op: Any,
    saver: Any,
    trace_every_n_steps: int | None,
    optimizers: list[Any],
    startup_delay_steps: int,
    number_of_steps: int | None,
) -> None:
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None:
        for argument, is_given in (
            ("summary_op", summary_op is not _USE_DEFAULT), ("saver", saver is not None),
            ("trace_every_n_steps", trace_every_n_steps is not None),
        ):  # fmt: skip
            if is_given:
                raise ValueError(f"Cannot provide {argument} because logdir=None")
    if optimizers and startup_delay_steps > 0:
        raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError(
            f"`number_of_steps` must be either None or a positive number, got {number_of_steps}."
        )


def _step_arguments(
    step: Any,
    number_of_steps: int | None,
    log_every_n_steps: int,
    trace_every_n_steps: int | None,
    logdir: str | None,
) -> dict[str, Any]:
    """The arguments of train_step: tensors that say what it has to do."""
    with get_default_graph().name_scope("train_step"):
        stop = math.greater_equal(step, number_of_steps) if number_of_steps else constant(False)
        arguments: dict[str, Any] = {"should_stop": stop}
        if log_every_n_steps > 0:
            arguments["should_log"] = math.equal(math.floormod(step, log_every_n_steps), 0)
        if trace_every_n_steps is not None:
            arguments["should_trace"] = math.equal(math.floormod(step, trace_every_n_steps), 0)
            arguments["logdir"] = logdir
    return arguments
