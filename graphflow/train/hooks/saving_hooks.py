"""The hooks that leave something on disk: checkpoints, summaries, the rate of steps, timelines.

They act at global steps that do not depend on when the process began (timers.py). An event file that a session begins
opens with a START entry at the first step that it will write, from which TensorBoard knows to drop what an earlier,
killed process wrote beyond the checkpoint.
"""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import graphflow.protos as protos
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph import dtypes
from graphflow._core.graph.attributes import TooLargeError
from graphflow._core.graph.defaults import SessionLike, get_default_graph
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.interop.tensor_protos import make_tensor_proto
from graphflow.config import RunOptions
from graphflow.summary.writer import FileWriterCache
from graphflow.train.coordinator import Coordinator
from graphflow.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    StepReader,
)
from graphflow.train.hooks.timers import ExpectedTimer, ReachedTimer, ThisRun, check_period
from graphflow.train.saving.bare_savers import is_for_tensorflow, without_state
from graphflow.train.saving.checkpoint_management import checkpoint_exists
from graphflow.train.saving.meta_graph import export_meta_graph
from graphflow.train.saving.meta_graph import write_graph as write_graph_file

if TYPE_CHECKING:
    from graphflow.train.saving.saver import Saver
    from graphflow.train.sessions.scaffold import Scaffold

_log = logging.getLogger(__name__)
_GRAPH_FILE = "graph.pbtxt"


def events_can_be_written() -> bool:
    """Whether the package that event files need is installed."""
    return importlib.util.find_spec("tensorboard") is not None


def _writer_of(directory: str) -> Any:
    """The one writer of this process for a directory's event file."""
    return FileWriterCache.get(directory)


def write_graph(writer: Any, graph: Graph, saver: Saver | None, directory: str | None) -> None:
    """Writes a graph: as it is, as a meta graph with its collections and its saver, and as text to graph.pbtxt.

    A graph that is too large for a message is left out, with a warning by the writer.
    """
    writer.add_graph(graph)
    with suppress(TooLargeError):
        graph_def = graph.as_graph_def(add_shapes=True)
        if is_for_tensorflow(graph):
            without_state(graph_def)
        if directory:
            write_graph_file(graph_def, directory, _GRAPH_FILE)
        definition = None if saver is None else saver.saver_def
        writer.add_meta_graph(export_meta_graph(graph=graph, graph_def=graph_def, saver_def=definition))


def log_session(writer: Any, status: str, step: int, path: str = "") -> None:
    """Writes a SessionLog event: "START" or "STOP" of a session, or "CHECKPOINT"."""
    log = protos.event_pb2.SessionLog(
        status=getattr(protos.event_pb2.SessionLog, status), checkpoint_path=path
    )
    writer.add_session_log(log, step)


def write_numbers(writer: Any, numbers: Mapping[str, float], step: int) -> None:
    """Writes numbers by tag as scalar summaries."""
    value = protos.summary_pb2.Summary.Value
    values = [value(tag=tag, simple_value=number) for tag, number in numbers.items()]
    writer.add_summary(protos.summary_pb2.Summary(value=values), step)


def write_text(writer: Any, tag: str, text: str, step: int) -> None:
    """Writes a text as a summary that TensorBoard shows among the texts."""
    kind = protos.summary_pb2.SummaryMetadata
    value = protos.summary_pb2.Summary.Value(
        tag=tag,
        metadata=kind(plugin_data=kind.PluginData(plugin_name="text")),
        tensor=make_tensor_proto(text, dtype=dtypes.string),
    )
    writer.add_summary(protos.summary_pb2.Summary(value=[value]), step)


def write_summary(writer: Any, key: str, serialized: bytes, step: int) -> None:
    """Writes the summary that a result is, named by the result and numbered; a result that is none is left out."""
    from google.protobuf.message import DecodeError

    found = protos.summary_pb2.Summary()
    try:
        found.ParseFromString(serialized)
    except DecodeError:
        _log.warning("The result %r is no summary and is not written.", key)
        return
    for number, value in enumerate(found.value):
        value.tag = f"{key}/{number}"
    writer.add_summary(found, step)


def log_rate(writer: Any, tag: str, rate: float, step: int) -> None:
    """Logs the rate of steps, and writes it as a scalar summary."""
    _log.info("%s: %g", tag, rate)
    if writer is not None:
        write_numbers(writer, {tag: rate}, step)


class CheckpointSaverListener:
    """Is told before and after each checkpoint is saved (tf.train.CheckpointSaverListener)."""

    def begin(self) -> None:
        """Called once, before the graph is finalized."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Called before a checkpoint is written.

        Args:
            session: The session.
            global_step_value: The step that the run reached.
        """

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Called after a checkpoint was written; True asks to stop training.

        Args:
            session: The session.
            global_step_value: The step that the run reached.
        """

    def end(self, session: Any, global_step_value: int) -> None:
        """Called when the session ends, after the last checkpoint.

        Args:
            session: The session.
            global_step_value: The step that the run reached.
        """


class CheckpointSaverHook(SessionRunHook):
    """Saves checkpoints: at the begin of a session, every so many steps or seconds, and at the end.

    (tf.train.CheckpointSaverHook.) With `save_steps` it saves at the multiples of it. At a session's begin nothing
    is saved if the checkpoint of that step is there.

    Args:
        checkpoint_dir: The folder of the checkpoints.
        save_secs: The period in seconds, or None.
        save_steps: The period in steps, or None.
        saver: The saver; by default the scaffold's.
        checkpoint_basename: Of the files, `model.ckpt` gives `model.ckpt-100`.
        scaffold: The parts of the graph that a session needs; by default those of a gf.train.Scaffold.
        listeners: Of CheckpointSaverListener.

    Raises:
        ValueError: If both saver and scaffold are given, or not exactly one period.
    """

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Scaffold | None = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._directory = user_path(checkpoint_dir)
        self._path = os.path.join(self._directory, checkpoint_basename)
        self._saver = saver
        self._scaffold = scaffold
        self._timer = ReachedTimer(save_secs, save_steps)
        self._listeners = list(listeners or ())
        self._writer: Any = None
        self._is_started = False

    def add_listeners(self, listeners: Sequence[CheckpointSaverListener]) -> None:
        """Tells more listeners of every checkpoint, before the session begins.

        Args:
            listeners: Of CheckpointSaverListener; those that it tells already are told once.
        """
        self._listeners += [listener for listener in listeners if listener not in self._listeners]

    def begin(self) -> None:
        """Looks for the global step, and opens the event file in which checkpoints are noted."""
        self._step = StepReader.of_graph("CheckpointSaverHook")
        if events_can_be_written():
            self._writer = _writer_of(self._directory)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Writes the graph, and the checkpoint of the session's first step if it is not there.

        Args:
            session: The session, without hooks.
            coord: The coordinator of its threads.
        """
        step = self._step(session)
        if self._writer is not None:
            write_graph(self._writer, get_default_graph(), self._get_saver(), self._directory)
        if not checkpoint_exists(f"{self._path}-{step}"):
            self._save(session, step)
        self._timer.start(step)
        self._is_started = True

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Saves, if it is time.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
            run_values: What the run gave: results, options and metadata.
        """
        if self._is_started and not self._timer.due(self._step.near(run_context.session)):
            return
        step = self._step(run_context.session)
        if not self._is_started:  # In a loop that calls hooks itself, and not that method.
            self._timer.count_from(step)
            self._is_started = True
        elif not self._timer.due(step):
            return
        else:
            self._timer.note(step)
        if self._save(run_context.session, step):
            run_context.request_stop()

    def end(self, session: SessionLike) -> None:
        """Saves the last step, if it is not saved yet: others may have trained since the last run here.

        Args:
            session: The session, without hooks.
        """
        step = self._step.read(session)
        if step != self._timer.last_step:
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def on_interrupt(self, session: SessionLike) -> None:
        """Saves the step that was reached, if it is not saved yet.

        Args:
            session: The session, without hooks.
        """
        step = self._step.read(session)
        if step != self._timer.last_step:
            self._timer.note(step)
            self._save(session, step)

    def on_exception(self, exception: BaseException) -> None:
        """Writes out the events; no checkpoint, since the state may be what caused the error.

        Args:
            exception: What the run raised.
        """
        if self._writer is not None:
            self._writer.flush()

    def _save(self, session: Any, step: int) -> bool:
        """Saves; whether a listener asks to stop."""
        _log.info("Saving checkpoints for %d into %s.", step, self._path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._path, global_step=step)
        if self._writer is not None:
            log_session(self._writer, "CHECKPOINT", step, self._path)
        stops = [listener for listener in self._listeners if listener.after_save(session, step)]
        for listener in stops:
            _log.info("%r asks to stop after the checkpoint of step %d.", listener, step)
        return bool(stops)

    def _get_saver(self) -> Any:
        if self._saver is None:
            if self._scaffold is not None:
                return self._scaffold.saver
            found = get_default_graph().get_collection(GraphKeys.SAVERS)
            if len(found) != 1:
                raise RuntimeError(
                    f"CheckpointSaverHook looks for one saver in the collection {GraphKeys.SAVERS!r} and finds "
                    f"{len(found)}: give it a saver or a scaffold."
                )
            self._saver = found[0]
        return self._saver


class SummarySaverHook(SessionRunHook):
    """Writes summaries every so many steps or seconds (tf.train.SummarySaverHook).

    With `save_steps` of N it writes at steps 1, N + 1, 2 N + 1, ...

    Args:
        save_steps: The period in steps, or None.
        save_secs: The period in seconds, or None.
        output_dir: Where events are written.
        summary_writer: Another writer.
        scaffold: The parts of the graph that a session needs; by default those of a gf.train.Scaffold.
        summary_op: a summary or a list of them; otherwise the scaffold's.

    Raises:
        ValueError: Unless exactly one of summary_op and scaffold is given, and exactly one period.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
        scaffold: Scaffold | None = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._scaffold = scaffold
        self._directory = output_dir
        self._writer = summary_writer
        self._timer = ExpectedTimer(save_secs, save_steps)
        self._is_started = False
        self._args: SessionRunArgs | None = None
        self._run = ThisRun()

    def begin(self) -> None:
        """Looks for the global step and opens the event file."""
        self._step = StepReader.of_graph("SummarySaverHook")
        if self._writer is None and self._directory:
            self._writer = _writer_of(self._directory)

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Notes in the event file where the session begins.

        Args:
            session: The session, without hooks.
            coord: The coordinator of its threads.
        """
        step = self._start(session)
        if self._writer is not None:
            log_session(self._writer, "START", step + 1)

    def _start(self, session: Any) -> int:
        """Begins to count at the session's step, which it gives."""
        scaffold: Any = self._scaffold  # Given, if there is no summary_op.
        op = scaffold.summary_op if self._summary_op is None else self._summary_op
        if op is not None:
            self._args = SessionRunArgs(list(op) if isinstance(op, list | tuple) else [op])
        step = self._step(session)
        self._timer.start(step)
        self._run.asked, self._is_started = False, True
        return step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Fetches the summaries if it is time.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
        """
        if not self._is_started:  # In a loop that calls hooks itself, and not that method.
            self._start(run_context.session)
        self._run.before = self._step.near(run_context.session)
        self._run.asked = self._args is not None and self._timer.due(self._run.before + 1)
        return self._args if self._run.asked else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes them at the step that the run reached.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
            run_values: What the run gave: results, options and metadata.
        """
        if not self._run.asked:
            return
        step = self._step(run_context.session)
        self._timer.acted(self._run.before, step)
        if self._writer is not None:
            for summary in run_values.results:
                self._writer.add_summary(summary, step)

    def end(self, session: Any = None) -> None:
        """Writes out what is buffered.

        Args:
            session: The session, without hooks.
        """
        if self._writer is not None:
            self._writer.flush()

    def on_exception(self, exception: BaseException) -> None:
        """Writes out what is buffered: the curve before the error is what one wants to see.

        Args:
            exception: What the run raised.
        """
        self.end()


class StepCounterHook(SessionRunHook):
    """Logs and writes how many global steps a second are made (tf.train.StepCounterHook).

    The summary's tag is `global_step/sec`, after TensorFlow.

    Args:
        every_n_steps: The period in steps, or None.
        every_n_secs: The period in seconds, or None.
        output_dir: Where events are written.
        summary_writer: Another writer.

    Raises:
        ValueError: Unless exactly one period is given.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | None = None,
        summary_writer: Any = None,
    ) -> None:
        check_period(every_n_secs, every_n_steps)
        self._timer = ReachedTimer(every_n_secs, every_n_steps, offset=1)
        self._writer = summary_writer
        self._directory = output_dir

    def begin(self) -> None:
        """Looks for the global step and opens the event file."""
        self._step = StepReader.of_graph("StepCounterHook")
        if self._writer is None and self._directory:
            self._writer = _writer_of(self._directory)
        self._tag = f"{self._step.tensor.op.name}/sec"
        self._first = True

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Begins to count.

        Args:
            session: The session, without hooks.
            coord: The coordinator of its threads.
        """
        self._timer.start(self._step(session))
        self._first = True

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs and writes the rate, if it is time.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
            run_values: What the run gave: results, options and metadata.
        """
        if not self._timer.due(self._step.near(run_context.session)):
            return
        step = self._step(run_context.session)
        if not self._timer.due(step):
            return
        seconds, steps = self._timer.note(step)
        if self._first:  # what the first step took is mostly planning
            self._first = False
            return
        if seconds > 0:
            log_rate(self._writer, self._tag, steps / seconds, step)

    def on_exception(self, exception: BaseException) -> None:
        """Writes out what is buffered.

        Args:
            exception: What the run raised.
        """
        if self._writer is not None:
            self._writer.flush()


class ProfilerHook(SessionRunHook):
    """Records a run every so many steps or seconds as a timeline for chrome://tracing (tf.train.ProfilerHook).

    The files are `timeline-STEP.json` in output_dir; with `save_steps` of N the runs that reach N, 2 N, ... are
    recorded, but not the first of all, which would show planning. Recorded runs are not compiled. The timeline has one
    line a device and thread; show_dataflow and show_memory are accepted and add nothing to it.

    Args:
        save_steps: The period in steps, or None.
        save_secs: The period in seconds, or None.
        output_dir: Where the timelines are written.
        show_dataflow: Accepted, and not needed.
        show_memory: Accepted, and not needed.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._directory = user_path(output_dir)
        self._timer = ExpectedTimer(save_secs, save_steps, offset=0)
        self._args = SessionRunArgs(None, None, RunOptions(trace_level=RunOptions.FULL_TRACE))
        self._run = ThisRun()
        self._writer: Any = None

    def begin(self) -> None:
        """Looks for the global step, and makes the directory."""
        self._step = StepReader.of_graph("ProfilerHook")
        storage.make_folders(self._directory)
        if events_can_be_written():
            self._writer = _writer_of(self._directory or ".")

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Begins to count at the step of the session.

        Args:
            session: The session, without hooks.
            coord: The coordinator of its threads.
        """
        self._timer.start(self._step(session))
        self._run.asked = False

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Asks for a traced run if it is time.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
        """
        self._run.before = self._step.near(run_context.session)
        self._run.asked = self._run.before > 0 and self._timer.due(self._run.before + 1)
        return self._args if self._run.asked else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the timeline.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
            run_values: What the run gave: results, options and metadata.
        """
        if not self._run.asked:
            return
        step = self._step(run_context.session)
        self._timer.acted(self._run.before, step)
        path = os.path.join(self._directory, f"timeline-{step}.json")
        with storage.opened(path, "wb") as file:
            file.write(run_values.run_metadata.chrome_trace().encode())
        _log.info("Saving timeline for %d into '%s'.", step, path)
        if self._writer is not None:
            try:
                self._writer.add_run_metadata(run_values.run_metadata, f"step_{step}")
            except ValueError:  # training went back and comes by again: TensorBoard keeps what it has
                _log.info("The event file has a recording of step %d already.", step)

    def end(self, session: Any) -> None:
        """Writes out what is buffered.

        Args:
            session: The session, without hooks.
        """
        if self._writer is not None:
            self._writer.flush()

    def on_exception(self, exception: BaseException) -> None:
        """Writes out what is buffered.

        Args:
            exception: What the run raised.
        """
        self.end(None)
