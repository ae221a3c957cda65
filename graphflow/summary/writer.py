"""FileWriter: what a program writes for TensorBoard, one event after the other."""

from __future__ import annotations

import logging
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

import graphflow.protos as protos
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.graph.attributes import TooLargeError
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.this_process import OfThisProcess
from graphflow._core.resources.event_files import EventFile, as_bytes
from graphflow._core.resources.records import read_records
from graphflow.config import RunMetadata
from graphflow.errors import DataLossError, InvalidArgumentError, NotFoundError
from graphflow.protos.run_metadata import run_metadata_message

if TYPE_CHECKING:
    from os import PathLike

    import numpy as np

_log = logging.getLogger(__name__)


class FileWriter(OfThisProcess):
    """Writes events to a new event file in a folder (tf.summary.FileWriter).

    Any thread may use it. What was added is written to its end when the writer is dropped, when an exception ends
    the program and at exit; after a fork it is the parent's alone. Errors of writing, such as
    ResourceExhaustedError for a full disk, are raised by the next call.

    Args:
        logdir: The folder, made if it is missing.
        graph: A Graph to write at once.
        max_queue: How many events may wait for the thread that writes before an `add_` call does, unless they are
            less than a megabyte together.
        flush_secs: The seconds that an event waits at most, never more than one.
        graph_def: A GraphDef to write instead of a graph.
        filename_suffix: What the file's name ends in.
        session: Changes nothing.

    Raises:
        ModuleNotFoundError: The tensorboard package is not installed.

    Examples:
        >>> import tempfile
        >>> text = gf.Session().run(gf.summary.scalar("loss", 0.5))
        >>> with tempfile.TemporaryDirectory() as folder, gf.summary.FileWriter(folder) as writer:
        ...     writer.add_summary(text, global_step=1)
        ...     writer.flush()
        ...     print(len(gf.gfile.Glob(f"{folder}/events.out.tfevents.*")))
        1
    """

    _instead = "Send its folder, get_logdir(), and open a writer there."

    def __init__(
        self,
        logdir: str | PathLike[str],
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self._logdir = user_path(logdir)
        self._options = max_queue, flush_secs, filename_suffix or ""
        self._described: set[str] = set()
        self._run_tags: set[str] = set()
        self._closed = False
        self._file = EventFile(self._logdir, *self._options)
        if graph is not None or graph_def is not None:
            self.add_graph(graph=graph, graph_def=graph_def)

    def get_logdir(self) -> str:
        """The folder."""
        return self._logdir

    def add_summary(self, summary: Any, global_step: int | np.integer[Any] | None = None) -> None:
        """Adds a Summary, or the bytes that a summary operation gave.

        Args:
            summary: A Summary, or its bytes.
            global_step: The step, an int.

        Raises:
            InvalidArgumentError: For bytes that are no Summary.
        """
        event = protos.event_pb2.Event()
        _parse(summary, event.summary)
        for value in event.summary.value:
            # What describes a tag is written once: TensorBoard keeps it.
            if value.HasField("metadata"):
                if value.tag in self._described:
                    value.ClearField("metadata")
                self._described.add(value.tag)
        self._add(event, global_step)

    def add_event(self, event: Any) -> None:
        """Adds an Event as it is.

        Args:
            event: An Event.
        """
        self._warn_if_closed()
        if not self._closed:
            self._file.write(as_bytes(event))

    def add_session_log(self, session_log: Any, global_step: int | np.integer[Any] | None = None) -> None:
        """Adds a SessionLog.

        START with the step at which training goes on drops from TensorBoard's curves what was written at that step and
        after it, before the interruption.

        Args:
            session_log: A SessionLog.
            global_step: The step, an int.
        """
        self._add(protos.event_pb2.Event(session_log=session_log), global_step)

    def add_graph(
        self, graph: Graph | None, global_step: int | np.integer[Any] | None = None, graph_def: Any = None
    ) -> None:
        """Adds a Graph, with its devices and shapes, for TensorBoard's page of graphs; or a GraphDef.

        A graph with more than 2 GB of constants, which no message can hold, is left out with a warning in the log.

        Args:
            graph: A gf.Graph.
            global_step: The step, an int.
            graph_def: A GraphDef; not together with `graph`.

        Raises:
            ValueError: If both are given, or neither.
            TypeError: For anything else.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        given = graph_def if graph is None else graph
        if isinstance(given, Graph):
            try:
                given = given.as_graph_def(add_shapes=True)
            except TooLargeError as error:  # Training goes on without a picture of its graph.
                _log.warning("The graph is not written to %s: %s", self.get_logdir(), error)
                return
        if not isinstance(given, protos.graph_pb2.GraphDef):
            raise TypeError(f"The passed graph must be an instance of `Graph` or a GraphDef, got {given!r}.")
        self._add(protos.event_pb2.Event(graph_def=given.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def: Any, global_step: int | np.integer[Any] | None = None) -> None:
        """Adds a MetaGraphDef.

        Args:
            meta_graph_def: A MetaGraphDef.
            global_step: The step, an int.

        Raises:
            TypeError: For anything else.
        """
        if not isinstance(meta_graph_def, protos.meta_graph_pb2.MetaGraphDef):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        self._add(protos.event_pb2.Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(
        self, run_metadata: Any, tag: str, global_step: int | np.integer[Any] | None = None
    ) -> None:
        """Adds what a traced run recorded: TensorBoard's page of graphs offers it under the tag.

        Args:
            run_metadata: A gf.RunMetadata or the protobuf message.
            tag: The name under which it is offered.
            global_step: The step, an int.

        Raises:
            ValueError: If the tag was used before.
        """
        if tag in self._run_tags:
            raise ValueError(f"The provided tag was already used for this event type: {tag!r}.")
        message = (
            run_metadata_message(run_metadata) if isinstance(run_metadata, RunMetadata) else run_metadata
        )
        event = protos.event_pb2.Event()
        event.tagged_run_metadata.tag = tag
        event.tagged_run_metadata.run_metadata = as_bytes(message)
        self._run_tags.add(tag)
        self._add(event, global_step)

    def flush(self) -> None:
        """Waits until all that was added is in the file."""
        self._warn_if_closed()
        if not self._closed:
            self._file.flush()

    def close(self) -> None:
        """Writes all that was added and closes the file; more calls do nothing."""
        self._closed = True
        self._file.close()

    def reopen(self) -> None:
        """Goes on in a new file after `close`; does nothing to a writer that is open."""
        if self._closed:
            self._file = EventFile(self._logdir, *self._options)
            self._described.clear()
            self._closed = False

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _add(self, event: Any, global_step: Any) -> None:
        event.wall_time = time.time()
        if global_step is not None:
            event.step = int(global_step)
        self.add_event(event)

    def _warn_if_closed(self) -> None:
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is "
                "explicitly reopened.",
                stacklevel=3,
            )


def _parse(summary: Any, message: Any) -> None:
    """Sets a Summary message to another, or to what bytes say."""
    from google.protobuf.message import DecodeError

    try:
        message.ParseFromString(as_bytes(summary.item() if hasattr(summary, "item") else summary))
    except DecodeError:
        raise InvalidArgumentError(
            None,
            None,
            "add_summary takes a Summary, or the bytes that a summary operation gave; these bytes are no Summary.",
        ) from None
    message.SetInParent()


class FileWriterCache:
    """One FileWriter a folder, shared by all who ask for it (tf.summary.FileWriterCache). Thread-safe."""

    maker: ClassVar[Callable[..., Any]] = FileWriter
    """What makes a writer of a folder and a graph; tests of programs put another here."""
    _writers: ClassVar[dict[str, FileWriter]] = {}
    _lock: ClassVar[threading.RLock] = threading.RLock()

    @staticmethod
    def get(logdir: str | PathLike[str]) -> FileWriter:
        """The writer of that folder; the first call makes it, with the default graph.

        Args:
            logdir: The folder.

        Returns:
            The writer.
        """
        folder = os.fspath(logdir)
        with FileWriterCache._lock:
            if folder not in FileWriterCache._writers:
                FileWriterCache._writers[folder] = FileWriterCache.maker(folder, graph=get_default_graph())
            return FileWriterCache._writers[folder]

    @staticmethod
    def clear() -> None:
        """Closes all writers and forgets them."""
        with FileWriterCache._lock:
            writers = list(FileWriterCache._writers.values())
            FileWriterCache._writers.clear()
        for writer in writers:
            writer.close()


def summary_iterator(path: str | PathLike[str]) -> Iterator[Any]:
    """The events of an event file, one after the other (tf.train.summary_iterator).

    DataLossError, after the events before it, if a record is damaged, cut off, or no Event.

    Args:
        path: The file.

    Returns:
        An iterator of Event messages.

    Raises:
        NotFoundError: If there is no such file.
    """
    from google.protobuf.message import DecodeError

    name = user_path(path)
    try:
        file = storage.opened(name)
    except FileNotFoundError:
        raise NotFoundError(None, None, f"{name}: there is no such file.") from None
    with file:
        for data in read_records(file, name):
            try:
                event = protos.event_pb2.Event.FromString(data)
            except DecodeError:
                raise DataLossError(
                    None, None, f"{name} holds a record of {len(data)} bytes that is no Event."
                ) from None
            yield event
