"""Datasets of what files hold: lines of text, records (tf.data.TextLineDataset, tf.data.TFRecordDataset and others)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.random_seed import counted_as
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array.shaping import reshape
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.io import datasets as ops
from graphflow.data.dataset import AUTOTUNE, Dataset, built


def _of_files(
    make: Callable[[Tensor], Dataset], filenames: Any, num_parallel_reads: IntTensorLike | None
) -> Dataset:
    """What files hold, one after the other, or element by element of several in turns.

    make: the dataset of some files, of a tensor of their names. TypeError if the names are a dataset of anything else.
    """
    if isinstance(filenames, Dataset):
        if filenames._output_types is not dtypes.string:
            raise TypeError("`filenames` must be a `gf.data.Dataset` of `gf.string` elements.")
        if not filenames._output_shapes.is_compatible_with(TensorShape([])):
            raise TypeError("`filenames` must be a `gf.data.Dataset` of scalar `gf.string` elements.")
        files = filenames
    else:
        names = convert_to_tensor(filenames, dtype=dtypes.string, name="filenames")
        if num_parallel_reads is None:
            return make(names)
        files = Dataset.from_tensor_slices(reshape(names, [-1], name="flat_filenames"))
    if num_parallel_reads is None:
        return files.flat_map(make)
    return files.interleave(make, num_parallel_reads, 1, AUTOTUNE)


def _operations(filenames: Any, in_turns: bool) -> int:
    """How many operations TensorFlow builds for what files hold: always a dataset of their names, mapped."""
    given, few, many = (0, 1, 6) if isinstance(filenames, Dataset) else (isinstance(filenames, Tensor), 5, 10)
    return (many if in_turns else few) - given


class TextLineDataset(Dataset):
    """The lines of text files, without their ends (tf.data.TextLineDataset).

    NotFoundError, when an element is taken, if there is no such file.

    Args:
        filenames: A string or list of strings, or a tensor or a dataset of them.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size: Accepted, and not needed.
        num_parallel_reads: From how many files lines are taken in turns; None for one file after the other.
    """

    _definition = ops.TEXT_LINE

    def __init__(
        self,
        filenames: Any,
        compression_type: TensorLike | None = None,
        buffer_size: IntTensorLike | None = None,
        num_parallel_reads: IntTensorLike | None = None,
    ) -> None:
        with counted_as(_operations(filenames, num_parallel_reads is not None)):
            compression = convert_to_tensor(
                compression_type or "", dtype=dtypes.string, name="compression_type"
            )
            size = convert_to_tensor(buffer_size or 0, dtype=dtypes.int64, name="buffer_size")

            def make(names: Tensor) -> Dataset:
                return built(self._definition, (names, compression, size), dtypes.string, TensorShape([]))

            dataset = _of_files(make, filenames, num_parallel_reads)
        super().__init__(dataset._variant_tensor, dtypes.string, TensorShape([]))


class TFRecordDataset(TextLineDataset):
    """The records of TFRecord files, file after file (tf.data.TFRecordDataset).

    Args:
        filenames: A string or list of strings, or a tensor or a dataset of them.
        compression_type: "", "ZLIB" or "GZIP".
        buffer_size: Accepted, and not needed.
        num_parallel_reads: From how many files records are taken in turns; None for one file after the other.

    Raises:
        DataLossError: If one is damaged.
    """

    _definition = ops.TF_RECORD


class FixedLengthRecordDataset(Dataset):
    """Blocks of bytes of files, file after file (tf.data.FixedLengthRecordDataset).

    Args:
        filenames: A string or list of strings, or a tensor or a dataset of them.
        record_bytes: The bytes of a block.
        header_bytes: The bytes at the beginning of each file that are passed over.
        footer_bytes: Those at its end.
        buffer_size: Accepted, and not needed.
        compression_type: "", "ZLIB" or "GZIP".
        num_parallel_reads: From how many files blocks are taken in turns; None for one file after the other.

    Raises:
        InvalidArgumentError: When an element is taken, if a file has a part of a block.
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: IntTensorLike,
        header_bytes: IntTensorLike | None = None,
        footer_bytes: IntTensorLike | None = None,
        buffer_size: IntTensorLike | None = None,
        compression_type: TensorLike | None = None,
        num_parallel_reads: IntTensorLike | None = None,
    ) -> None:
        def size(value: IntTensorLike | None, name: str) -> Tensor:
            return convert_to_tensor(0 if value is None else value, dtype=dtypes.int64, name=name)

        with counted_as(_operations(filenames, num_parallel_reads is not None)):
            sizes = (
                size(header_bytes, "header_bytes"),
                size(record_bytes, "record_bytes"),
                size(footer_bytes, "footer_bytes"),
                size(buffer_size, "buffer_size"),
                convert_to_tensor(compression_type or "", dtype=dtypes.string, name="compression_type"),
            )

            def make(names: Tensor) -> Dataset:
                return built(ops.FIXED_LENGTH_RECORD, (names, *sizes), dtypes.string, TensorShape([]))

            dataset = _of_files(make, filenames, num_parallel_reads)
        super().__init__(dataset._variant_tensor, dtypes.string, TensorShape([]))
