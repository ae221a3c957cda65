"""Readers: ops that take names of files from a queue and give their records (tf.TextLineReader and its kin).

They stay for programs that have them; gf.data reads files with less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, op_def
from graphflow._core.graph.types import IntTensorLike
from graphflow._core.ops.array.joining import unstack
from graphflow._core.ops.core import apply, op_scope
from graphflow._core.ops.rules import no_outputs, scalar_of

if TYPE_CHECKING:
    from graphflow._core.ops.io.queues import QueueBase


def _make(kind: str) -> OpDef:
    return op_def(
        f"{kind}ReaderV2", (), infer=scalar_of(dtypes.resource), gradient=NOT_DIFFERENTIABLE, stateful=True,
        outputs=("reader_handle",),
    )  # fmt: skip


WHOLE_FILE, TEXT_LINE, FIXED_LENGTH_RECORD, TF_RECORD, IDENTITY = map(
    _make, ("WholeFile", "TextLine", "FixedLengthRecord", "TFRecord", "Identity")
)
READ = op_def(
    "ReaderReadV2", ("reader_handle: resource", "queue_handle: resource"),
    infer=lambda op: [(dtypes.string, ()), (dtypes.string, ())], gradient=NOT_DIFFERENTIABLE, stateful=True,
    outputs=("key", "value"), blocks=True,
)  # fmt: skip
READ_UP_TO = op_def(
    "ReaderReadUpToV2", ("reader_handle: resource", "queue_handle: resource", "num_records: int64"),
    infer=lambda op: [(dtypes.string, (None,)), (dtypes.string, (None,))], gradient=NOT_DIFFERENTIABLE, stateful=True,
    dynamic_shape=True, outputs=("keys", "values"), blocks=True,
)  # fmt: skip
RECORDS_PRODUCED, WORK_UNITS_COMPLETED = (
    op_def(
        f"ReaderNum{what}V2", ("reader_handle: resource",), infer=scalar_of(dtypes.int64),
        gradient=NOT_DIFFERENTIABLE, stateful=True,
    )
    for what in ("RecordsProduced", "WorkUnitsCompleted")
)  # fmt: skip
RESET = op_def(
    "ReaderResetV2",
    ("reader_handle: resource",),
    infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)


class ReaderBase:
    """A reader, whatever it reads (tf.ReaderBase). It reads a file of the queue to its end, then the next one.

    Args:
        reader_ref: The tensor that stands for the reader.
        supports_serialize: Whether its state can be written.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The handle."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether it is one of those whose state TensorFlow can write; here a checkpoint holds the state of all."""
        return self._supports_serialize

    def read(self, queue: QueueBase | Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Key and value of the next record, two strings.

        Args:
            queue: A queue of strings, or its handle, with the names of the files; it waits for one if the
                last is read.
            name: A name for the operation.

        Raises:
            OutOfRangeError: When the queue is closed and empty, NotFoundError and DataLossError of a file.
        """
        key, value = apply(READ, (self._reader_ref, _handle(queue)), {}, name).outputs
        return key, value

    def read_up_to(
        self, queue: QueueBase | Tensor, num_records: IntTensorLike, name: str | None = None
    ) -> tuple[Tensor, Tensor]:
        """Keys and values of up to `num_records` records of one file, fewer at its end; see read.

        Args:
            queue: The queue of the files' names.
            num_records: How many at most, an int64 scalar.
            name: A name for the operation.

        Returns:
            The keys and the values, two vectors of strings.
        """
        keys, values = apply(READ_UP_TO, (self._reader_ref, _handle(queue), num_records), {}, name).outputs
        return keys, values

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """How many records were read, an int64 scalar.

        Args:
            name: A name for the operation.
        """
        return apply(RECORDS_PRODUCED, (self._reader_ref,), {}, name).outputs[0]

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """How many files were read to their end, an int64 scalar.

        Args:
            name: A name for the operation.
        """
        return apply(WORK_UNITS_COMPLETED, (self._reader_ref,), {}, name).outputs[0]

    def reset(self, name: str | None = None) -> Operation:
        """The operation that begins again, with nothing read.

        Args:
            name: A name for the operation.
        """
        return apply(RESET, (self._reader_ref,), {}, name)


def _handle(queue: Any) -> Any:
    return getattr(queue, "queue_ref", queue)


def _ref(definition: OpDef, attrs: dict[str, Any], name: str | None) -> Tensor:
    return apply(definition, (), {"container": "", "shared_name": ""} | attrs, name).outputs[0]


class WholeFileReader(ReaderBase):
    """Gives whole files: the name as key, the content as value (tf.WholeFileReader).

    Args:
        name: A name for the operation.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(_ref(WHOLE_FILE, {}, name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """Gives the lines of texts without their ends; the key is name:number, from 1 on (tf.TextLineReader).

    Args:
        skip_header_lines: Lines at the beginning of each file that are left out.
        name: A name for the operation.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(_ref(TEXT_LINE, {"skip_header_lines": int(skip_header_lines or 0)}, name))


class FixedLengthRecordReader(ReaderBase):
    """Gives blocks of record_bytes bytes; the key is name:number, from 0 on (tf.FixedLengthRecordReader).

    Args:
        record_bytes: How many bytes a record has.
        header_bytes: With `footer_bytes`: left out at the beginning and end of a file.
        footer_bytes: See `header_bytes`.
        hop_bytes: From one block to the next, record_bytes if it is 0.
        name: A name for the operation.
        encoding: "GZIP" or "ZLIB" for compressed files.

    Raises:
        ValueError: For impossible sizes.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        attrs = {
            "header_bytes": int(header_bytes or 0),
            "record_bytes": int(record_bytes),
            "footer_bytes": int(footer_bytes or 0),
            "hop_bytes": int(hop_bytes or 0),
        }
        if attrs["record_bytes"] < 1 or min(attrs.values()) < 0:
            raise ValueError(f"record_bytes must be > 0 and the others >= 0, got {attrs}.")
        super().__init__(_ref(FIXED_LENGTH_RECORD, attrs | {"encoding": _compression(encoding)}, name))


class TFRecordReader(ReaderBase):
    """Gives the records of TFRecord files; the key is name:byte (tf.TFRecordReader).

    Args:
        name: A name for the operation.
        options: gf.python_io.TFRecordOptions of compressed files.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        kind = None if options is None else type(options).get_compression_type_string(options)
        super().__init__(_ref(TF_RECORD, {"compression_type": _compression(kind)}, name))


class IdentityReader(ReaderBase):
    """Gives the names themselves, as key and as value (tf.IdentityReader).

    Args:
        name: A name for the operation.
    """

    def __init__(self, name: str | None = None) -> None:
        super().__init__(_ref(IDENTITY, {}, name), supports_serialize=True)


def _compression(kind: str | None) -> str:
    if kind not in (None, "", "GZIP", "ZLIB"):
        raise ValueError(f'A file is compressed as "GZIP", "ZLIB" or "", not as {kind!r}.')
    return kind or ""


RECORD_INPUT = op_def(
    "RecordInput", (), infer=lambda op: [(dtypes.string, (op.attrs["batch_size"],))], gradient=NOT_DIFFERENTIABLE,
    stateful=True, outputs=("records",),
)  # fmt: skip


class RecordInput:
    """Records of TFRecord files, epoch after epoch, at random out of a buffer (data_flow_ops.RecordInput).

    Args:
        file_pattern: The pattern of the files.
        batch_size: How many records are given at a time, in each batch.
        buffer_size: How many records the buffer holds.
        parallelism: Has no effect: files are read as records are asked for.
        shift_ratio: The part of the files by which the first one moves in each epoch, from 0 to below 1.
        seed: Decides the order.
        name: A name for the operation.
        batches: How many batches are given at a time, as a list; by default one, as a vector.
        compression_type: A value of gf.python_io.TFRecordCompressionType.

    Raises:
        ValueError: If a size is not positive, or shift_ratio not in [0, 1).
    """

    def __init__(
        self,
        file_pattern: str,
        batch_size: int = 1,
        buffer_size: int = 1,
        parallelism: int = 1,
        shift_ratio: float = 0,
        seed: int = 0,
        name: str | None = None,
        batches: int | None = None,
        compression_type: int | None = None,
    ) -> None:
        for what, size in (
            ("batch_size", batch_size),
            ("buffer_size", buffer_size),
            ("batches", batches or 1),
        ):
            if size < 1:
                raise ValueError(f"{what} must be positive, got {size}.")
        if not 0 <= shift_ratio < 1:
            raise ValueError(f"shift_ratio must be in [0, 1), got {shift_ratio}.")
        self._batches = batches
        self._name = name
        self._attrs = {
            "file_pattern": file_pattern,
            "file_random_seed": int(seed),
            "file_shuffle_shift_ratio": float(shift_ratio),
            "file_buffer_size": int(buffer_size),
            "file_parallelism": int(parallelism),
            "batch_size": int(batch_size) * (batches or 1),
            "compression_type": ("", "ZLIB", "GZIP")[int(compression_type or 0)],
        }

    def get_yield_op(self) -> Any:
        """The next records.

        Returns:
            A vector of strings; or, if `batches` was given, a list of as many lists of scalars.
        """
        records = apply(RECORD_INPUT, (), self._attrs, self._name).outputs[0]
        if self._batches is None:
            return records
        with op_scope(self._name, "RecordInput", [records]):
            single = unstack(records)
            return [single[first :: self._batches] for first in range(self._batches)]
