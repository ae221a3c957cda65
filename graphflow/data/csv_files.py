"""Datasets of files of comma-separated values (tf.data.experimental.CsvDataset, make_csv_dataset)."""

from __future__ import annotations

import csv
import gzip
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np

from graphflow import gfile
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.core import constant, constant_value, convert_to_tensor
from graphflow._core.ops.io import datasets as ops
from graphflow._core.ops.io.csv import check_columns, check_default
from graphflow.data.dataset import Dataset, built
from graphflow.data.transformations import parallel_interleave

_TYPES: Final = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string)
"""What a column may be, the narrowest first."""


_BUFFER: Final = 4 * 1024 * 1024
"""What TensorFlow reads at once; nothing here depends on it."""


def _default(value: Any) -> Tensor:
    """What stands for an empty field: a tensor of one element, or of none if the field must be there."""
    if isinstance(value, DType | type):
        dtype = as_dtype(value)
        if dtype not in _TYPES:
            raise TypeError(f"A column is one of {', '.join(t.name for t in _TYPES)}, not {dtype.name}.")
        return constant([], dtype)
    return convert_to_tensor(value)


class CsvDataset(Dataset):
    """The records of files of comma-separated values, a tuple of scalars each (tf.data.experimental.CsvDataset).

    A field may be in double quotes, and then hold the delimiter, quotes that are doubled, and ends of lines.

    Args:
        filenames: A string or list of strings, or a tensor of them.
        record_defaults: For each column a value that stands for an empty field and gives the dtype, or a dtype if the
            field must be there: int32, int64, float32, float64 or string.
        compression_type: "", "GZIP" or "ZLIB".
        buffer_size: Has no effect; it must be positive.
        header: Whether the first record of each file is passed over.
        field_delim: The character between fields.
        use_quote_delim: Whether fields may be in quotes.
        na_value: A text that counts as an empty field.
        select_cols: The columns that are wanted, in order; record_defaults are theirs.

    Raises:
        TypeError: For a column of another dtype.
        ValueError: If select_cols are not as many increasing numbers as record_defaults.
    """

    def __init__(
        self, filenames: Any, record_defaults: Sequence[Any], compression_type: TensorLike | None = None,
        buffer_size: IntTensorLike | None = None, header: bool = False, field_delim: str = ",",
        use_quote_delim: bool = True, na_value: str = "", select_cols: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        defaults = [_default(value) for value in record_defaults]
        for default in defaults:
            check_default(default.dims)
        columns = [int(column) for column in select_cols or ()]
        if columns:
            check_columns(columns, len(defaults))
        types = tuple(default.dtype for default in defaults)
        shapes = tuple(TensorShape([]) for _ in defaults)
        inputs = (
            convert_to_tensor(filenames, dtype=dtypes.string, name="filenames"),
            convert_to_tensor(compression_type or "", dtype=dtypes.string, name="compression_type"),
            convert_to_tensor(
                _BUFFER if buffer_size is None else buffer_size, dtype=dtypes.int64, name="buffer_size"
            ),
            convert_to_tensor(header, dtype=dtypes.bool_, name="header"),
            convert_to_tensor(field_delim, dtype=dtypes.string, name="field_delim"),
            convert_to_tensor(use_quote_delim, dtype=dtypes.bool_, name="use_quote_delim"),
            convert_to_tensor(na_value, dtype=dtypes.string, name="na_value"),
            convert_to_tensor(columns, dtype=dtypes.int64, name="select_cols"),
            defaults,
        )
        super().__init__(built(ops.CSV, inputs, types, shapes)._variant_tensor, types, shapes)


def _narrowest(text: str, missing: str, before: DType | None) -> DType | None:
    """The narrowest dtype for a field that also holds what its column had before; of an empty field, that."""
    if text in ("", missing):
        return before
    wanted = 0 if before is None else _TYPES.index(before)
    for dtype in _TYPES[wanted:]:
        if dtype is dtypes.string or _fits(text, dtype):
            return dtype
    return dtypes.string


def _fits(text: str, dtype: DType) -> bool:
    try:
        if dtype.is_integer:
            return bool(dtype.min <= int(text) <= dtype.max)
        return bool(np.dtype(dtype.as_numpy_dtype).type(text) < np.inf)
    except (ValueError, OverflowError):
        return False


class _Reader:
    """Rows of files, as Python reads them, while the graph is built."""

    def __init__(self, delimiter: str, quotes: bool, compression: str) -> None:
        self._arguments: dict[str, Any] = {
            "delimiter": delimiter,
            "quoting": csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        }
        self._compression = compression

    def rows(self, name: str) -> Iterator[list[str]]:
        """The rows of a file, read as they are asked for."""
        if self._compression not in ("", "GZIP"):
            raise ValueError(
                f"compression_type {self._compression!r} is not supported where column_names or column_defaults are "
                "missing: they are looked for in plain files and GZIP alone."
            )
        with gfile.GFile(name, "rb") as file:
            lines: Iterable[bytes] = gzip.GzipFile(fileobj=file) if self._compression else file
            yield from csv.reader((line.decode() for line in lines), **self._arguments)

    def names(self, files: Sequence[str]) -> list[str]:
        """The names of the columns in the first rows; ValueError if those of two files differ."""
        found: list[str] | None = None
        for name in files:
            row = next(self.rows(name), None)
            if row is None:
                raise ValueError(f"{name} is empty: it has no names of columns.")
            if found is not None and row != found:
                raise ValueError(f"{name} has the columns {row}, but {files[0]} has {found}.")
            found = row
        return found or []

    def defaults(
        self,
        files: Sequence[str],
        width: int,
        columns: Sequence[int],
        header: bool,
        missing: str,
        most: int | None,
    ) -> list[Tensor]:
        """What stands for empty fields, of dtypes that the first rows have: 0 or ""."""
        types: list[DType | None] = [None] * len(columns)
        rows = (row for name in files for row in islice(self.rows(name), int(header), None))
        for row in islice(rows, most):
            if len(row) != width:
                raise ValueError(f"A row has {len(row)} fields, but there are {width} columns: {row}.")
            types = [_narrowest(row[c], missing, before) for c, before in zip(columns, types, strict=True)]
        known = [dtype or dtypes.string for dtype in types]
        return [constant(["" if dtype is dtypes.string else 0], dtype) for dtype in known]


def _columns(selected: Sequence[Any], names: Sequence[str]) -> list[int]:
    """The numbers of columns that are given by number or name, in order."""
    found = []
    for column in selected:
        if isinstance(column, int) and 0 <= column < len(names):
            found.append(column)
        elif column in names:
            found.append(list(names).index(column))
        else:
            raise ValueError(f"select_columns has {column!r}, but the columns are {list(names)}.")
    if len(set(found)) < len(found):
        raise ValueError(f"select_columns has a column twice: {list(selected)}.")
    return sorted(found)


def make_csv_dataset(
    file_pattern: str | Sequence[str], batch_size: int, column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None, label_name: str | None = None,
    select_columns: Sequence[Any] | None = None, field_delim: str = ",", use_quote_delim: bool = True,
    na_value: str = "", header: bool = True, num_epochs: int | None = None, shuffle: bool = True,
    shuffle_buffer_size: int = 10000, shuffle_seed: int | None = None, prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None, sloppy: bool = False, num_rows_for_inference: int | None = 100,
    compression_type: str | None = None, ignore_errors: bool = False,
) -> Dataset:  # fmt: skip
    """Batches of the records of files, as dictionaries of columns (tf.data.experimental.make_csv_dataset).

    Args:
        file_pattern: A pattern such as "data/*.csv", or a list of them.
        batch_size: How many records a batch has; the last of an epoch may have fewer unless num_epochs is None.
        column_names: The names of all columns; by default the first row of the files.
        column_defaults: For each column a value that stands for an empty field and gives the dtype, or a dtype if the
            field must be there; by default 0 or "", of the dtypes that the first rows have.
        label_name: The column that is given as the second part of a pair (features, label).
        select_columns: The columns that are wanted, by name or number.
        field_delim: The character between fields.
        use_quote_delim: Whether fields may be in quotes.
        na_value: A text that counts as an empty field.
        header: Whether the first row of each file is passed over.
        num_epochs: How often; None for ever.
        shuffle: Whether files and records are in random order.
        shuffle_buffer_size: From how many records is drawn.
        shuffle_seed: The op's own seed; with the graph's it decides what is drawn.
        prefetch_buffer_size: How many batches are made ahead.
        num_parallel_reads: From how many files records are taken in turn.
        sloppy: Accepted: the order is the same each time.
        num_rows_for_inference: How many rows are read for the dtypes; None for all.
        compression_type: "", "GZIP" or "ZLIB".
        ignore_errors: Must be False.

    Returns:
        A dataset of dictionaries {column: [batch]}, or of pairs of such a dictionary and a label [batch].

    Raises:
        ValueError: For columns that are not there or come twice, or files that do not match.
    """
    if ignore_errors:
        raise ValueError("make_csv_dataset has no ignore_errors: records that cannot be read are errors.")
    patterns = [file_pattern] if isinstance(file_pattern, str) else list(file_pattern)
    files = sorted(name for pattern in patterns for name in gfile.Glob(pattern))
    if not files:
        raise ValueError(f"No files match {file_pattern}.")
    known = constant_value(convert_to_tensor(compression_type or "", dtypes.string))
    compression = "?" if known is None else known.item().decode()
    reader = _Reader(field_delim, use_quote_delim, compression)
    if column_names is None and not header:
        raise ValueError(
            "The names of columns are in the first row: give column_names where header is False."
        )
    names = reader.names(files) if column_names is None else list(column_names)
    if len(set(names)) < len(names):
        raise ValueError(f"Two columns have one name: {names}.")
    selected = None if select_columns is None else _columns(select_columns, names)
    columns = range(len(names)) if selected is None else selected
    if column_defaults is None:
        defaults: Sequence[Any] = reader.defaults(
            files, len(names), columns, header, na_value, num_rows_for_inference
        )
    else:
        defaults = column_defaults
    if selected is not None and len(defaults) != len(selected):
        raise ValueError(f"There are {len(defaults)} column_defaults for {len(selected)} select_columns.")
    names = [names[column] for column in columns]
    if label_name is not None and label_name not in names:
        raise ValueError(f"label_name is {label_name!r}, but the columns are {names}.")

    def records(name: Tensor) -> Dataset:
        return CsvDataset(
            name, defaults, compression_type, None, header, field_delim, use_quote_delim, na_value, selected
        )  # fmt: skip

    dataset = Dataset.from_tensor_slices(files)
    if shuffle:
        dataset = dataset.shuffle(len(files), shuffle_seed)
    dataset = dataset.apply(parallel_interleave(records, cycle_length=num_parallel_reads or 1, sloppy=sloppy))
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None)
    return dataset.map(_named(names, label_name)).prefetch(prefetch_buffer_size)


def _named(names: Sequence[str], label: str | None) -> Callable[..., Any]:
    def columns(*values: Tensor) -> Any:
        found = OrderedDict(zip(names, values, strict=True))
        if label is None:
            return found
        wanted = found.pop(label)
        return found, wanted

    return columns
