"""Lines of comma-separated values read into columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.core import apply

_TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)


def check_default(dims: shapes.Dims) -> None:
    """ValueError unless a default value may be a scalar or a vector of at most one element."""
    if dims is not None and len(dims) > 1:
        raise ValueError(
            f"Shape must be at most rank 1 but is rank {len(dims)}: a default value is a scalar or a vector of at most "
            f"one element, but one has shape {shapes.text(dims)}."
        )
    if dims not in (None, (), (None,), (0,), (1,)):
        raise ValueError(
            f"A default value is a scalar or a vector of at most one element, but one has shape {shapes.text(dims)}."
        )


def _columns(op: Operation) -> Signature:
    records, *defaults = op.inputs
    for default in defaults:
        check_default(default.dims)
    return [(default.dtype, records.dims) for default in defaults]


DECODE_CSV = op_def(
    "DecodeCSV",
    ("records: string", f"record_defaults*: {'|'.join(t.name for t in _TYPES)}"),
    infer=_columns,
    gradient=NOT_DIFFERENTIABLE,
)


def check_columns(columns: Sequence[int], defaults: int) -> None:
    """ValueError if columns to be read are not increasing numbers, one for each of the default values."""
    if min(columns) < 0:
        raise ValueError(f"select_cols contains negative values. Got {list(columns)}.")
    if list(columns) != sorted(set(columns)):
        raise ValueError(f"select_cols is not strictly increasing. Got {list(columns)}.")
    if len(columns) != defaults:
        raise ValueError(
            f"Length of select_cols and record_defaults do not match. Got {len(columns)} and {defaults}."
        )


def decode_csv(
    records: TensorLike,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    name: str | None = None,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
) -> list[Tensor]:
    """The fields of strings of comma-separated values: a tensor of the records' shape for each column (tf.decode_csv).

    When it runs, InvalidArgumentError if a record has another number of fields or one that is no number.

    Args:
        records: A tensor of strings.
        record_defaults: For each column a value that stands for an empty field and gives the dtype, or an
            empty tensor of the dtype if the field must be there.
        field_delim: The character between fields.
        use_quote_delim: Fields may be in double quotes (RFC 4180).
        name: A name for the operation.
        na_value: A text that counts as empty.
        select_cols: The columns that are wanted, in order; record_defaults are theirs.

    Returns:
        A list of tensors.
    """
    if len(field_delim.encode()) != 1:
        raise ValueError(f"field_delim must be a single character, got {field_delim!r}.")
    if not isinstance(record_defaults, list | tuple):
        raise ValueError(
            "Expected list for 'record_defaults', with a value for each column, got an object of "
            f"{type(record_defaults).__name__}."
        )
    if not record_defaults:
        raise ValueError("record_defaults must have a value for each column.")
    columns = [int(c) for c in select_cols or ()]
    if columns:
        check_columns(columns, len(record_defaults))
    attrs = {
        "field_delim": field_delim,
        "use_quote_delim": bool(use_quote_delim),
        "na_value": na_value,
        "select_cols": columns,
    }
    op = apply(DECODE_CSV, (records, list(record_defaults)), attrs, name)
    op.attrs["OUT_TYPE"] = [t.dtype for t in op.outputs]
    return list(op.outputs)
