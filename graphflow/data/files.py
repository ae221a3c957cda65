"""Datasets of what files hold: lines of text, records (tf.data.TextLineDataset, tf.data.TFRecordDataset and others)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.io import datasets as ops
from graphflow.data.dataset import Dataset, built


class TextLineDataset(Dataset):
    """The lines of text files, without their ends (tf.data.TextLineDataset).

    NotFoundError, when an element is taken, if there is no such file.

    Args:
        filenames: A string or list of strings, or a tensor of them.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size: Accepted, and not needed.
    """

    _definition = ops.TEXT_LINE

    def __init__(
        self,
        filenames: Any,
        compression_type: TensorLike | None = None,
        buffer_size: IntTensorLike | None = None,
    ) -> None:
        dataset = built(
            self._definition,
            (
                convert_to_tensor(filenames, dtype=dtypes.string, name="filenames"),
                convert_to_tensor(compression_type or "", dtype=dtypes.string, name="compression_type"),
                convert_to_tensor(buffer_size or 0, dtype=dtypes.int64, name="buffer_size"),
            ),
            dtypes.string,
            TensorShape([]),
        )
        super().__init__(dataset._variant_tensor, dtypes.string, TensorShape([]))


class TFRecordDataset(TextLineDataset):
    """The records of TFRecord files, file after file (tf.data.TFRecordDataset).

    Args:
        filenames: A string or list of strings, or a tensor of them.
        compression_type: "", "ZLIB" or "GZIP".
        buffer_size: Accepted, and not needed.
        num_parallel_reads: Accepted: the order is always that of the files.

    Raises:
        DataLossError: If one is damaged.
    """

    _definition = ops.TF_RECORD

    def __init__(
        self,
        filenames: Any,
        compression_type: TensorLike | None = None,
        buffer_size: IntTensorLike | None = None,
        num_parallel_reads: IntTensorLike | None = None,
    ) -> None:
        super().__init__(filenames, compression_type, buffer_size)


class FixedLengthRecordDataset(Dataset):
    """Blocks of bytes of files, file after file (tf.data.FixedLengthRecordDataset).

    Args:
        filenames: A string or list of strings, or a tensor of them.
        record_bytes: The bytes of a block.
        header_bytes: The bytes at the beginning of each file that are passed over.
        footer_bytes: Those at its end.
        buffer_size: Accepted, and not needed.
        compression_type: "", "ZLIB" or "GZIP".
        num_parallel_reads: Accepted: the order is always that of the files.

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

        dataset = built(
            ops.FIXED_LENGTH_RECORD,
            (
                convert_to_tensor(filenames, dtype=dtypes.string, name="filenames"),
                size(header_bytes, "header_bytes"),
                size(record_bytes, "record_bytes"),
                size(footer_bytes, "footer_bytes"),
                size(buffer_size, "buffer_size"),
                convert_to_tensor(compression_type or "", dtype=dtypes.string, name="compression_type"),
            ),
            dtypes.string,
            TensorShape([]),
        )
        super().__init__(dataset._variant_tensor, dtypes.string, TensorShape([]))
