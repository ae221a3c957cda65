"""Files of records, written and read by Python (tf.python_io): the format in which training data is kept.

The files are TensorFlow's TFRecord files, byte for byte; see graphflow._core.resources.records.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final

import graphflow.errors as errors
from graphflow._core.checkpoint.atomic import os_error
from graphflow._core.common.files.paths import user_path
from graphflow._core.common.namespaces import missing as _missing
from graphflow._core.resources.compressed import KINDS, open_to_read, open_to_write, reading_errors
from graphflow._core.resources.records import read_records, write_record

if TYPE_CHECKING:
    from os import PathLike


class TFRecordCompressionType:
    """How a file of records is compressed as a whole (tf.python_io.TFRecordCompressionType)."""

    NONE: ClassVar[int] = 0
    ZLIB: ClassVar[int] = 1
    GZIP: ClassVar[int] = 2


_NAMES: Final = {
    TFRecordCompressionType.NONE: "",
    TFRecordCompressionType.ZLIB: "ZLIB",
    TFRecordCompressionType.GZIP: "GZIP",
}


class TFRecordOptions:
    """Options of files of records (tf.python_io.TFRecordOptions).

    The others are accepted and not needed.

    Args:
        compression_type: "GZIP", "ZLIB", "" or None, or a value of TFRecordCompressionType.
        flush_mode: Not needed.
        input_buffer_size: Not needed.
        output_buffer_size: Not needed.
        window_bits: Not needed.
        compression_level: 0 to 9.
        compression_method: Not needed.
        mem_level: Not needed.
        compression_strategy: Not needed.
    """

    compression_type_map = _NAMES

    def __init__(
        self,
        compression_type: int | None = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.compression_type = compression_type
        self.compression_level = compression_level
        self.get_compression_type_string(compression_type)

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """The name "GZIP", "ZLIB" or "" of options, a compression type or None.

        Args:
            options: TFRecordOptions, a compression type or None.

        Returns:
            The name.

        Raises:
            ValueError: For anything else.
        """
        if isinstance(options, TFRecordOptions):
            options = options.compression_type
        name = "" if not options else _NAMES.get(options, options) if isinstance(options, int) else options
        if name not in KINDS:
            raise ValueError(f'Not a valid compression type: "{options}". It is "", "GZIP" or "ZLIB".')
        return str(name)


class TFRecordWriter:
    """Writes records to a new file (tf.python_io.TFRecordWriter); a context manager that closes it.

    Not for use by several threads at once.

    Args:
        path: Of the file, which is replaced.
        options: TFRecordOptions or a compression type.

    Examples:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "data.tfrecords")
        ...     with gf.python_io.TFRecordWriter(path) as writer:
        ...         writer.write(b"one")
        ...         writer.write(b"two")
        ...     print(list(gf.python_io.tf_record_iterator(path)))
        [b'one', b'two']
    """

    def __init__(self, path: str | PathLike[str], options: TFRecordOptions | None = None) -> None:
        level = options.compression_level if isinstance(options, TFRecordOptions) else None
        compression = TFRecordOptions.get_compression_type_string(options)
        self._path = user_path(path)
        self._file = open_to_write(self._path, compression, -1 if level is None else level)

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def write(self, record: bytes) -> None:
        """Appends a record.

        Args:
            record: The bytes.

        Raises:
            FailedPreconditionError: After close().
            ResourceExhaustedError: The disk is full. Of what waits to be written only flush() and close() know.
        """
        if self._file.closed:
            raise errors.FailedPreconditionError(None, None, f"The writer of {self._path} is closed.")
        with self._writing():
            write_record(self._file, record)

    def flush(self) -> None:
        """Hands what was written to the operating system."""
        if not self._file.closed:
            with self._writing():
                self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        with self._writing():
            self._file.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise os_error(error, self._path, "Cannot write") from error


def tf_record_iterator(path: str | PathLike[str], options: TFRecordOptions | None = None) -> Iterator[bytes]:
    """The records of a file, one after the other (tf.python_io.tf_record_iterator).

    Args:
        path: The file.
        options: TFRecordOptions, or None.

    Returns:
        An iterator of bytes.

    Raises:
        NotFoundError: If there is no file.
        DataLossError: If it is damaged or cut off.
    """
    name = user_path(path)
    with open_to_read(name, TFRecordOptions.get_compression_type_string(options)) as file:
        try:
            yield from read_records(file, name)
        except reading_errors as error:
            raise errors.DataLossError(
                None, None, f"{name}: the file is damaged or cut off: {error}"
            ) from error


if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.python_io", globals())

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]
