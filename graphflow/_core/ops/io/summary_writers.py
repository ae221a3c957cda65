"""Summaries that the graph itself writes into event files (tf.contrib.summary).

A writer is opened by an operation of its own and lives in the session, under its shared name. What is written in a step
depends on the writer and on the condition that are the default ones of the thread which builds the graph.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, Final

import graphflow._core.ops.io.summaries as summaries
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, op_def
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.control_flow.flow_basics import no_op
from graphflow._core.ops.control_flow.smart_cond import smart_cond
from graphflow._core.ops.core import apply, constant, convert_to_tensor
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import equal
from graphflow._core.ops.rules import no_outputs, scalar_of
from graphflow._core.ops.state.scopes import control_dependencies, device, name_scope

INITIALIZERS: Final = "_SUMMARY_WRITER_V2"
"""The collection of the operations that open writers."""
WRITES: Final = "_SUMMARY_V2"
"""The collection of what writes summaries."""


def _define(name: str, *inputs: str) -> Any:
    return op_def(
        name, ("writer: resource", *inputs), infer=no_outputs, gradient=NOT_DIFFERENTIABLE, stateful=True
    )


WRITER = op_def(
    "SummaryWriter", (), infer=scalar_of(dtypes.resource), gradient=NOT_DIFFERENTIABLE, stateful=True,
    outputs=("writer",),
)  # fmt: skip
OPEN = _define(
    "CreateSummaryFileWriter", "logdir: string", "max_queue: int32", "flush_millis: int32",
    "filename_suffix: string",
)  # fmt: skip
FLUSH = _define("FlushSummaryWriter")
CLOSE = _define("CloseSummaryWriter")
WRITE = _define("WriteRawProtoSummary", "step: int64", "tensor: string")
WRITE_GRAPH = _define("WriteGraphSummary", "step: int64", "tensor: string")
IMPORT = _define("ImportEvent", "event: string")


class _Current(threading.local):
    """What summaries of this thread are written to, and when."""

    def __init__(self) -> None:
        self.writer: SummaryWriter | None = None
        self.recording: Any = False


_current = _Current()


class SummaryWriter:
    """A writer of summaries that does nothing, as of create_file_writer(None) (tf.contrib.summary.SummaryWriter)."""

    @contextmanager
    def as_default(self) -> Iterator[SummaryWriter]:
        """A context in which summaries go to this writer."""
        yield self

    def set_as_default(self) -> None:
        """Has summaries of this thread go to this writer from now on."""

    def init(self) -> Operation:
        """The operation that opens the file."""
        return no_op()

    def flush(self) -> Operation:
        """The operation that waits until what was written is in the file."""
        return no_op()

    def close(self) -> Operation:
        """The operation that closes the file."""
        return no_op()


class FileWriter(SummaryWriter):
    """A writer to an event file, which create_file_writer makes."""

    def __init__(self, shared_name: str, open_file: Callable[[Tensor], Operation]) -> None:
        attrs = {"shared_name": shared_name, "container": ""}
        self.resource: Tensor = apply(WRITER, (), attrs, "SummaryWriter").outputs[0]
        """The handle of what the session holds."""
        self._open_file = open_file
        get_default_graph().add_to_collection(INITIALIZERS, open_file(self.resource))

    @contextmanager
    def as_default(self) -> Iterator[SummaryWriter]:
        """A context in which summaries go to this writer; flushes at its end."""
        before, _current.writer = _current.writer, self
        try:
            yield self
            self.flush()
        finally:
            _current.writer = before

    def set_as_default(self) -> None:
        """Has summaries of this thread go to this writer from now on."""
        _current.writer = self

    def init(self) -> Operation:
        """Another operation that opens the file."""
        return self._open_file(self.resource)

    def flush(self) -> Operation:
        """The operation that waits until what was written is in the file."""
        return flush(self)

    def close(self) -> Operation:
        """The operation that closes the file."""
        with control_dependencies([self.flush()]), device("cpu:0"):
            return apply(CLOSE, (self.resource,))


def create_file_writer(
    logdir: str | None,
    max_queue: TensorLike | None = None,
    flush_millis: TensorLike | None = None,
    filename_suffix: TensorLike | None = None,
    name: str | None = None,
) -> SummaryWriter:
    """A writer of summaries that the graph itself writes (tf.contrib.summary.create_file_writer).

    Args:
        logdir: The folder of the event file; None for a writer that does nothing.
        max_queue: How many events may wait to be written; 10 by default.
        flush_millis: Milliseconds that an event waits at most; two minutes by default.
        filename_suffix: What the file's name ends with; ".v2" by default.
        name: The name that writers of the same file share; by default made of the folder.

    Returns:
        The writer. summary_writer_initializer_op() opens its file.
    """
    if logdir is None:
        return SummaryWriter()
    folder = str(logdir)
    with device("cpu:0"):
        given = (
            convert_to_tensor(folder, dtypes.string),
            convert_to_tensor(10 if max_queue is None else max_queue, dtypes.int32),
            convert_to_tensor(120_000 if flush_millis is None else flush_millis, dtypes.int32),
            convert_to_tensor(".v2" if filename_suffix is None else filename_suffix, dtypes.string),
        )
        return FileWriter(f"logdir:{folder}" if name is None else name, partial(_open, given))


def _open(given: tuple[Tensor, ...], resource: Tensor) -> Operation:
    return apply(OPEN, (resource, *given))


def summary_writer_initializer_op() -> list[Operation]:
    """The operations that open all writers of the graph (tf.contrib.summary.summary_writer_initializer_op).

    Returns:
        A list of operations.
    """
    return list(get_default_graph().get_collection(INITIALIZERS))


def all_summary_ops() -> list[Tensor]:
    """What writes the summaries of the graph, to be run in a step (tf.contrib.summary.all_summary_ops).

    Returns:
        A list of tensors.
    """
    return list(get_default_graph().get_collection(WRITES))


@contextmanager
def record_if(condition: Any) -> Iterator[None]:
    """A context in which summaries are written if a condition holds (tf.contrib.summary's record_if).

    Args:
        condition: A bool, a scalar tensor, or a function that gives one.
    """
    before, _current.recording = _current.recording, condition
    try:
        yield
    finally:
        _current.recording = before


def always_record_summaries() -> AbstractContextManager[None]:
    """A context in which summaries are written in each step (tf.contrib.summary.always_record_summaries)."""
    return record_if(True)


def never_record_summaries() -> AbstractContextManager[None]:
    """A context in which no summaries are written (tf.contrib.summary.never_record_summaries)."""
    return record_if(False)


def should_record_summaries() -> Tensor:
    """Whether summaries are written in a step, a bool (tf.contrib.summary.should_record_summaries)."""
    condition = _current.recording() if callable(_current.recording) else _current.recording
    return convert_to_tensor(condition, dtypes.bool_)


def record_every(n: int, global_step: Any) -> AbstractContextManager[None]:
    """A context in which summaries are written in every n-th step of a variable that counts them."""
    with device("cpu:0"):
        step = convert_to_tensor(global_step)
        return record_if(equal(step % convert_to_tensor(n, step.dtype), convert_to_tensor(0, step.dtype)))


def _written(name: str, make: Callable[[], Tensor], step: Any) -> Any:
    """A bool tensor: whether a summary was written to the default writer; no_op if there is none."""
    writer = _current.writer
    if not isinstance(writer, FileWriter):
        return no_op()
    around = get_default_graph().get_name_scope()

    def record() -> Tensor:
        with name_scope(f"{around}/" if around else ""):
            done = apply(WRITE, (writer.resource, cast(step, dtypes.int64), make()))
            with control_dependencies([done]):
                return constant(True)

    def leave() -> Tensor:
        return constant(False)

    with device("cpu:0"):
        written = smart_cond(should_record_summaries(), record, leave, name="")
    get_default_graph().add_to_collection(WRITES, written)
    return written


def scalar(name: str, tensor: TensorLike, step: Any, family: str | None = None) -> Any:
    """Writes a number, under the name and what scope it stands in."""
    return _written(name, lambda: summaries.scalar(name, tensor, [], family), step)


def histogram(name: str, tensor: TensorLike, step: Any, family: str | None = None) -> Any:
    """Writes the distribution of a tensor's elements."""
    return _written(name, lambda: summaries.histogram(name, tensor, [], family), step)


def image(name: str, tensor: TensorLike, max_images: int, step: Any, family: str | None = None) -> Any:
    """Writes images of a batch."""
    return _written(name, lambda: summaries.image(name, tensor, max_images, [], family), step)


def audio(
    name: str, tensor: TensorLike, sample_rate: TensorLike, max_outputs: int, step: Any, family: str | None = None
) -> Any:  # fmt: skip
    """Writes sounds of a batch."""
    return _written(name, lambda: summaries.audio(name, tensor, sample_rate, max_outputs, [], family), step)


def generic(name: str, tensor: TensorLike, metadata: Any, step: Any, family: str | None = None) -> Any:
    """Writes a whole tensor, for a plugin of TensorBoard."""

    def make() -> Tensor:
        return summaries.tensor_summary(
            name, tensor, collections=[], summary_metadata=metadata, family=family
        )

    return _written(name, make, step)


def graph(param: Tensor, step: Any, name: str | None = None) -> Operation:
    """Writes a serialized GraphDef, a scalar string; TypeError for anything else than a tensor."""
    if not isinstance(param, Tensor):
        raise TypeError(f"graph() needs a tensor, such as a placeholder that is fed, got {param!r}.")
    writer = _current.writer
    if not isinstance(writer, FileWriter):
        return no_op()
    with device("cpu:0"):
        return apply(WRITE_GRAPH, (writer.resource, cast(step, dtypes.int64), param), name=name)


def import_event(tensor: TensorLike, name: str | None = None) -> Operation:
    """Writes an Event message as it is (tf.contrib.summary.import_event).

    Args:
        tensor: A scalar string, the serialized message.
        name: A name for the operation.

    Returns:
        The operation; one that does nothing if no writer is the default one.
    """
    writer = _current.writer
    if not isinstance(writer, FileWriter):
        return no_op()
    return apply(IMPORT, (writer.resource, tensor), name=name)


def flush(writer: SummaryWriter | Tensor | None = None, name: str | None = None) -> Operation:
    """The operation that waits until what was written is in the file (tf.contrib.summary.flush).

    Args:
        writer: A writer, or its handle; by default the default writer.
        name: A name for the operation.

    Returns:
        The operation; one that does nothing if there is no writer.
    """
    found = _current.writer if writer is None else writer
    resource = found.resource if isinstance(found, FileWriter) else found
    if not isinstance(resource, Tensor):
        return no_op()
    with device("cpu:0"):
        return apply(FLUSH, (resource,), name=name)


def default_writer() -> SummaryWriter | None:
    """The writer to which summaries of this thread go."""
    return _current.writer
