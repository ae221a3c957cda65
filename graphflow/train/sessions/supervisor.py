"""Supervisor: the older way of TensorFlow's to look after a session, with threads rather than hooks.

Its threads save and summarise by the clock, beside the training loop. So what they see of the variables is not tied to
a step; MonitoredTrainingSession is the better choice for a new program.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import graphflow.errors as errors
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import VariableLike
from graphflow._core.ops.state.variable_collections import global_variables
from graphflow.config import ConfigProto, RunOptions
from graphflow.summary.writer import FileWriterCache
from graphflow.train.coordinator import Coordinator, LooperThread
from graphflow.train.hooks.saving_hooks import events_can_be_written, log_rate, log_session, write_graph
from graphflow.train.hooks.session_run_hook import StepReader
from graphflow.train.saving.saver import Saver
from graphflow.train.sessions import scaffold
from graphflow.train.sessions.session_manager import SessionManager
from graphflow.train.steps import find_global_step

if TYPE_CHECKING:
    from graphflow._core.session import BaseSession
    from graphflow.summary.writer import FileWriter

_log = logging.getLogger(__name__)


class Supervisor:
    """Prepares a session, and runs the threads that save and summarise (tf.train.Supervisor).

    Args:
        graph: The default graph unless given; it is finalized.
        ready_op: With `ready_for_local_init_op` and `init_op` and `init_feed_dict` and `local_init_op` and
            `summary_op` and `saver` and `global_step` and `init_fn`: as in Scaffold; USE_DEFAULT takes the
            graph's own or makes one, None does without.
        ready_for_local_init_op: See `ready_op`.
        is_chief: Whether it initialises and saves; others wait for the chief.
        init_op: See `ready_op`.
        init_feed_dict: See `ready_op`.
        local_init_op: See `ready_op`.
        logdir: Of checkpoints and events.
        summary_op: See `ready_op`.
        saver: See `ready_op`.
        global_step: See `ready_op`.
        save_summaries_secs: With `save_model_secs`: periods, 0 for never.
        save_model_secs: See `save_summaries_secs`.
        recovery_wait_secs: With `stop_grace_secs` and `checkpoint_basename` and `session_manager` and
            `summary_writer` and `local_init_run_options`: as their names say.
        stop_grace_secs: See `recovery_wait_secs`.
        checkpoint_basename: See `recovery_wait_secs`.
        session_manager: See `recovery_wait_secs`.
        summary_writer: See `recovery_wait_secs`.
        init_fn: See `ready_op`.
        local_init_run_options: See `recovery_wait_secs`.

    Raises:
        ValueError: If it is not the chief, and a variable has no device.
    """

    USE_DEFAULT: ClassVar[Any] = 0

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Mapping[Any, Any] | None = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: RunOptions | None = None,
    ) -> None:
        self._graph = graph or get_default_graph()
        self.is_chief = is_chief
        """Whether it initialises and saves."""
        self.init_feed_dict = init_feed_dict
        """The feeds of init_op."""
        self._init_fn = init_fn
        self._stop_grace_secs = stop_grace_secs
        self._logdir = logdir
        with self._graph.as_default():
            self._check_devices()
            self.ready_op: Tensor | None = _given(ready_op, GraphKeys.READY_OP, scaffold.default_ready_op)
            """The names of variables without a value."""
            self.ready_for_local_init_op: Tensor | None = _given(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            """The names of variables that local_init_op needs and that have no value."""
            self.init_op: Any = _given(init_op, GraphKeys.INIT_OP, scaffold.default_init_op)
            """Initialises the variables."""
            self._local_init_op = _given(
                local_init_op, GraphKeys.LOCAL_INIT_OP, scaffold.Scaffold.default_local_init_op
            )
            self.saver: Saver | None = _given(saver, GraphKeys.SAVERS, _default_saver)
            """The saver of checkpoints."""
            self.summary_op: Tensor | None = _given(
                summary_op, GraphKeys.SUMMARY_OP, scaffold.default_summary_op
            )
            """The merged summaries."""
            self.global_step: VariableLike | Tensor | None = (
                _default_global_step() if _is_default(global_step) else global_step
            )
            """The global step."""
        self.coord: Coordinator = Coordinator()
        """The coordinator of its threads."""
        self.save_model_secs: float | None = save_model_secs if is_chief and logdir else None
        """The period of checkpoints, None if none are saved."""
        self.save_summaries_secs: float | None = save_summaries_secs if is_chief and logdir else None
        """The period of summaries, None if none are written."""
        self.save_path: str | None = (
            os.path.join(logdir, checkpoint_basename) if is_chief and logdir else None
        )
        """The prefix of checkpoints; None for others than the chief, and without a logdir."""
        self.summary_writer: FileWriter | None = (
            self._default_writer() if _is_default(summary_writer) else summary_writer
        )
        """The writer of events, or None."""
        self._graph_is_written = False
        self._step_reader = None if self.global_step is None else StepReader(self.global_step)
        self.session_manager: SessionManager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self.ready_op,
            ready_for_local_init_op=None if self._local_init_op is None else self.ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        """The SessionManager that makes the session ready."""
        self._graph.finalize()

    def _check_devices(self) -> None:
        if self.is_chief:
            return
        without = [op.name for op in self._graph.get_operations() if op.op_def.is_variable and not op.device]
        if without:
            raise ValueError(
                f"When using replicas, all Variables must have their device set: {', '.join(without)} have none. "
                "Build them inside `with gf.device(gf.train.replica_device_setter(...)):`."
            )

    def _default_writer(self) -> Any:
        if not (self.is_chief and self._logdir and events_can_be_written()):
            return None
        return FileWriterCache.maker(self._logdir)

    # ---- sessions -------------------------------------------------------------------------------------------------

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: ConfigProto | None = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """A session that is ready, its threads running; at the end of the block everything is stopped.

        OutOfRangeError ends the block cleanly; what else is raised in it or in a thread is raised at its end.

        Args:
            master: The target of the session, such as "" or "zmq://host:port".
            config: A gf.ConfigProto for the session.
            start_standard_services: Whether to start the threads that save and summarise.
            close_summary_writer: Whether the writer is closed at the end.
        """
        session = self.prepare_or_wait_for_session(
            master, config, start_standard_services=start_standard_services
        )
        try:
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                session.close()

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: ConfigProto | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> BaseSession:
        """A session that is ready: the chief makes it so, others wait for that, at most max_wait_secs.

        Args:
            master: The target of the session, such as "" or "zmq://host:port".
            config: A gf.ConfigProto for the session.
            wait_for_checkpoint: Whether to wait until there is a checkpoint.
            max_wait_secs: The longest wait, in seconds.
            start_standard_services: Whether to start the threads that save and summarise.

        Returns:
            The session.
        """
        self.coord.clear_stop()
        if self.summary_writer is not None:
            self.summary_writer.reopen()
        if not self.is_chief:
            session = self.session_manager.wait_for_session(master, config, max_wait_secs)
            if start_standard_services:
                self.start_queue_runners(session)
            return session
        session = self.session_manager.prepare_session(
            master,
            init_op=self.init_op,
            saver=self.saver,
            checkpoint_dir=self._logdir,
            wait_for_checkpoint=wait_for_checkpoint,
            max_wait_secs=max_wait_secs,
            config=config,
            init_feed_dict=self.init_feed_dict,
            init_fn=self._init_fn,
        )
        if self.summary_writer is not None and not self._graph_is_written:
            write_graph(self.summary_writer, self._graph, self.saver, self._logdir)
            self._graph_is_written = True
        if start_standard_services:
            self.start_standard_services(session)
            self.start_queue_runners(session)
        return session

    # ---- threads --------------------------------------------------------------------------------------------------

    def start_standard_services(self, sess: Any) -> Sequence[Any] | None:
        """Starts the threads that save and summarise, and returns them; None, with a warning, without a logdir.

        Args:
            sess: The session.

        Returns:
            The threads.

        Raises:
            RuntimeError: If it is not the chief.
        """
        if not self.is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services, because only chief supervisors write events."
            )
        if not self._logdir:
            _log.warning("Standard services need a logdir: nothing is saved and no summaries are written.")
            return None
        if self._step_reader is not None and self.summary_writer is not None:
            log_session(self.summary_writer, "START", self._step_reader(sess))
        threads: list[Any] = []
        if self.save_summaries_secs and self.summary_writer is not None:
            if self.summary_op is not None:
                threads.append(self._looper(self.save_summaries_secs, self._summarise, sess))
            if self._step_reader is not None:
                last = [time.monotonic(), self._step_reader(sess)]
                threads.append(self._looper(self.save_summaries_secs, self._count_steps, sess, last))
        if self.saver is not None and self.save_model_secs:
            threads.append(self._looper(self.save_model_secs, self._save, sess))
        for thread in threads:
            thread.start()
        return threads

    def _looper(self, seconds: float, target: Callable[..., None], *args: Any) -> Any:
        return LooperThread(self.coord, seconds, target=target, args=args)

    def _summarise(self, session: Any) -> None:
        fetches = self.summary_op if self.global_step is None else [self.summary_op, self.global_step]
        values = session.run(fetches)
        summary, step = (values, None) if self.global_step is None else values
        assert self.summary_writer is not None
        self.summary_writer.add_summary(summary, None if step is None else int(step))

    def _count_steps(self, session: Any, last: list[Any]) -> None:
        assert self._step_reader is not None and self.global_step is not None
        now, step = time.monotonic(), self._step_reader(session)
        seconds, steps = now - last[0], step - last[1]
        last[:] = now, step
        if steps > 0 and seconds > 0:
            log_rate(self.summary_writer, f"{self.global_step.op.name}/sec", steps / seconds, step)

    def _save(self, session: Any) -> None:
        if self.saver is None or self.save_path is None:
            return
        self.saver.save(session, self.save_path, global_step=self.global_step)
        if self.summary_writer is not None and self._step_reader is not None:
            log_session(self.summary_writer, "CHECKPOINT", self._step_reader(session), self.save_path or "")

    def start_queue_runners(self, sess: Any, queue_runners: Sequence[Any] | None = None) -> list[Any]:
        """Starts the threads of queue runners, by default the graph's, and returns them.

        Args:
            sess: The session.
            queue_runners: By default those of the graph.

        Returns:
            The threads.
        """
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        threads: list[Any] = []
        for runner in queue_runners:
            threads.extend(runner.create_threads(sess, coord=self.coord, daemon=True, start=True))
        return threads

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Starts a thread that calls target(*args, **kwargs) every timer_interval_secs, or without a pause for None.

        Args:
            timer_interval_secs: The period in seconds, or None.
            target: The function.
            args: Its arguments.
            kwargs: Its arguments by name.

        Returns:
            The thread.
        """
        thread = LooperThread(self.coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        thread.start()
        return thread

    def summary_computed(self, sess: Any, summary: Any, global_step: int | None = None) -> None:
        """Writes a summary that the program has computed; RuntimeError without a writer.

        Args:
            sess: The session.
            summary: A Summary, or its bytes.
            global_step: The step; by default that of the session.
        """
        if self.summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer: give Supervisor a logdir.")
        if global_step is None and self._step_reader is not None:
            global_step = self._step_reader(sess)
        self.summary_writer.add_summary(summary, global_step)

    # ---- the end --------------------------------------------------------------------------------------------------

    def should_stop(self) -> bool:
        """Whether the training loop and the threads should end."""
        return bool(self.coord.should_stop())

    def request_stop(self, ex: Any = None) -> None:
        """Asks the training loop and the threads to end; `ex` is raised at the end.

        Args:
            ex: An exception, or what sys.exc_info() gives.
        """
        self.coord.request_stop(ex)

    def wait_for_stop(self) -> None:
        """Waits until somebody asks for the end."""
        self.coord.wait_for_stop()

    def stop_on_exception(self) -> AbstractContextManager[Any]:
        """A context manager that asks for the end if its block raises."""
        manager: AbstractContextManager[Any] = self.coord.stop_on_exception()
        return manager

    def stop(
        self,
        threads: Sequence[Any] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stops the threads, raises what one of them failed with, and closes the writer.

        Args:
            threads: The threads; by default all that it started.
            close_summary_writer: Whether the writer is closed.
            ignore_live_threads: Whether threads that live on are no error.
        """
        self.coord.request_stop()
        try:
            self.coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self.summary_writer is not None:
                log_session(self.summary_writer, "STOP", 0)
                self.summary_writer.close()
                self._graph_is_written = False

    PrepareSession = prepare_or_wait_for_session
    StartStandardServices = start_standard_services
    StartQueueRunners = start_queue_runners
    SummaryComputed = summary_computed
    Loop = loop
    ShouldStop = should_stop
    RequestStop = request_stop
    WaitForStop = wait_for_stop
    StopOnException = stop_on_exception
    Stop = stop


def _default_global_step() -> Any:
    step = find_global_step(get_default_graph())
    if step is None or step.dtype.is_integer:
        return step
    _log.warning("global_step is %s and no integer: this Supervisor goes without it.", step.dtype.name)
    return None


def _is_default(value: Any) -> bool:
    return isinstance(value, int) and value == Supervisor.USE_DEFAULT


def _given(value: Any, collection: str, default: Callable[[], Any]) -> Any:
    """The given value, or the collection's first item, or the default, which is then added to the collection."""
    if not _is_default(value):
        return value
    graph = get_default_graph()
    found = graph.get_collection(collection)
    if found:
        return found[0]
    made = default()
    if made is not None:
        graph.add_to_collection(collection, made)
    return made


def _default_saver() -> Any:
    return scaffold.default_saver() if global_variables() else None


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Calls a function with a session until the supervisor is asked to stop (tf.train.basic_train_loop).

    It begins again, with a new session, if a task of the cluster was begun anew.

    Args:
        supervisor: The supervisor, which makes the sessions.
        train_step_fn: Called as train_step_fn(session, *args, **kwargs), for one step each time.
        args: More arguments, or None.
        kwargs: More arguments by name, or None.
        master: The target of the sessions.
    """
    while True:
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
            return
        except errors.AbortedError:
            _log.warning("A task of the cluster was begun anew: training goes on with a new session.")
