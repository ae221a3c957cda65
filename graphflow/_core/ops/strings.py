"""Strings: tensors of bytes, taken apart, joined and turned into numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array.shaping import scalar_value
from graphflow._core.ops.core import apply, constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.rules import deprecated, require_rank, same_as_input, same_shape


def _define(name: str, *inputs: str, infer: Any = same_as_input, dynamic: bool = False) -> OpDef:
    return op_def(name, inputs, infer=infer, gradient=NOT_DIFFERENTIABLE, dynamic_shape=dynamic)


def _join_infer(op: Operation) -> Signature:
    dims: shapes.Dims = ()
    for x in op.inputs:
        if x.dims == ():
            continue
        dims = x.dims if dims == () else shapes.merge(dims, x.dims)
    return [(dtypes.string, dims)]


def _split_infer(op: Operation) -> Signature:
    require_rank(op.inputs[0].dims, 1, "input")
    require_rank(op.inputs[1].dims, 0, "the delimiter")
    return [(dtypes.int64, (None, 2)), (dtypes.string, (None,)), (dtypes.int64, (2,))]


def _reduce_infer(op: Operation) -> Signature:
    dims = op.inputs[0].dims
    axes = constant_value(op.inputs[1])
    if dims is None or axes is None:
        return [(dtypes.string, None)]
    chosen = {shapes.normalize_axis(int(a), len(dims)) for a in axes.reshape(-1)}
    keep = op.attrs["keep_dims"]
    return [
        (dtypes.string, tuple(1 if i in chosen else d for i, d in enumerate(dims) if keep or i not in chosen))
    ]


def _segments_infer(op: Operation) -> Signature:
    texts, ids, count = op.inputs
    known = scalar_value(count)
    if texts.dims is None or ids.dims is None:
        return [(dtypes.string, None)]
    if len(ids.dims) > len(texts.dims) or not shapes.compatible(texts.dims[: len(ids.dims)], ids.dims):
        raise ValueError(
            f"segment_ids of shape {shapes.text(ids.dims)} must be a prefix of the shape of inputs, "
            f"{shapes.text(texts.dims)}."
        )
    return [(dtypes.string, (known, *texts.dims[len(ids.dims) :]))]


def _substr_infer(op: Operation) -> Signature:
    strings, pos, length = op.inputs
    if not shapes.compatible(pos.dims, length.dims):
        raise ValueError(
            f"pos and len must have equal shapes, got {shapes.text(pos.dims)} and {shapes.text(length.dims)}."
        )
    return [(dtypes.string, shapes.broadcast(strings.dims, pos.dims))]


def _raw_infer(op: Operation) -> Signature:
    dims = op.inputs[0].dims
    return [(op.attrs["out_type"], None if dims is None else (*dims, None))]


AS_STRING = _define("AsString", "input: any", infer=same_shape(dtypes.string))
STRING_JOIN = _define("StringJoin", "inputs*: string", infer=_join_infer)
STRING_SPLIT = _define("StringSplit", "input: string", "delimiter: string", infer=_split_infer, dynamic=True)
STRING_SPLIT_V2 = _define("StringSplitV2", "input: string", "sep: string", infer=_split_infer, dynamic=True)
STRING_TO_NUMBER = _define(
    "StringToNumber", "string_tensor: string", infer=lambda op: [(op.attrs["out_type"], op.inputs[0].dims)]
)
SUBSTR = _define("Substr", "input: string", "pos: T=index", "len: T", infer=_substr_infer)
STRING_STRIP = _define("StringStrip", "input: string")
STRING_LOWER = _define("StringLower", "input: string")
STRING_UPPER = _define("StringUpper", "input: string")
STRING_LENGTH = _define("StringLength", "input: string", infer=same_shape(dtypes.int32))
REDUCE_JOIN = _define("ReduceJoin", "inputs: string", "reduction_indices: int32", infer=_reduce_infer)
UNSORTED_SEGMENT_JOIN = _define(
    "UnsortedSegmentJoin", "inputs: string", "segment_ids: Tindices=index", "num_segments: Tnumsegments=index",
    infer=_segments_infer,
)  # fmt: skip
UNICODE_TRANSCODE = _define("UnicodeTranscode", "input: string")
ENCODE_BASE64 = _define("EncodeBase64", "input: string")
DECODE_BASE64 = _define("DecodeBase64", "input: string")
DECODE_RAW = _define("DecodeRaw", "bytes: string", infer=_raw_infer, dynamic=True)


def _one(definition: OpDef, value: Any, name: str | None, **attrs: Any) -> Tensor:
    return apply(definition, (value,), attrs, name).outputs[0]


def as_string(
    input: TensorLike, precision: int = -1, scientific: bool = False, shortest: bool = False,
    width: int = -1, fill: str = "", name: str | None = None,
) -> Tensor:  # fmt: skip
    """Numbers and booleans as text (tf.as_string).

    Args:
        input: A tensor of numbers or bools.
        precision: Digits behind the point; -1 for as many as it takes.
        scientific: Whether with an exponent.
        shortest: Whether the shorter of both forms is taken.
        width: The least width.
        fill: The character to fill it with.
        name: A name for the operation.

    Returns:
        A tensor of strings.

    Raises:
        InvalidArgumentError: When it runs, for a format that does not go with the dtype.
    """
    return _one(
        AS_STRING,
        input,
        name,
        precision=precision,
        scientific=scientific,
        shortest=shortest,
        width=width,
        fill=fill,
    )


def string_join(inputs: Sequence[TensorLike], separator: str = "", name: str | None = None) -> Tensor:
    """Strings of several tensors joined element by element; scalars broadcast (tf.string_join).

    Args:
        inputs: Tensors of strings.
        separator: What is put between.
        name: A name for the operation.

    Returns:
        A tensor of strings.
    """
    parts = list(inputs)
    return apply(STRING_JOIN, (parts,), {"separator": separator, "N": len(parts)}, name).outputs[0]


def string_split(
    source: TensorLike | None = None, sep: TensorLike | None = None, skip_empty: bool = True,
    delimiter: TensorLike | None = None, result_type: str = "SparseTensor", input: TensorLike | None = None,
    name: str | None = None,
) -> SparseTensor:  # fmt: skip
    """Each string of a vector split at any character of `sep` (a space), as a SparseTensor (tf.string_split).

    Args:
        source: A vector of strings.
        sep: The characters at which to split.
        skip_empty: Whether empty parts are left out.
        delimiter: The old name of `sep`.
        result_type: "SparseTensor" alone.
        input: A newer name of `source`.
        name: A name for the operation.

    Returns:
        A SparseTensor of strings, a row for each.
    """
    if result_type != "SparseTensor":
        raise ValueError("string_split gives a SparseTensor: ragged tensors are no part of graphflow.")
    text = deprecated(source, input, "source", "input")
    at = deprecated(sep, delimiter, "sep", "delimiter")
    with op_scope(name, "StringSplit", [text]):
        strings = convert_to_tensor(text, dtype=dtypes.string)
        where = convert_to_tensor(" " if at is None else at, dtype=dtypes.string)
        return SparseTensor(*apply(STRING_SPLIT, (strings, where), {"skip_empty": skip_empty}).outputs)


def split(
    input: TensorLike, sep: TensorLike | None = None, maxsplit: int = -1, name: str | None = None
) -> SparseTensor:
    """Each string of a vector split as Python's str.split does, as a SparseTensor (tf.strings.split).

    Args:
        input: A tensor of strings.
        sep: The separator; "" for white space.
        maxsplit: The most splits; -1 for no end.
        name: A name for the operation.

    Returns:
        A SparseTensor of strings.
    """
    with op_scope(name, "StringSplit", [input]):
        where = "" if sep is None else sep
        return SparseTensor(*apply(STRING_SPLIT_V2, (input, where), {"maxsplit": maxsplit}).outputs)


def string_to_number(
    string_tensor: TensorLike, out_type: DTypeLike = dtypes.float32, name: str | None = None
) -> Tensor:
    """The number that each string writes (tf.string_to_number).

    Args:
        string_tensor: A tensor of strings.
        out_type: The dtype of the numbers.
        name: A name for the operation.

    Returns:
        A tensor of numbers.

    Raises:
        InvalidArgumentError: If it writes none.
    """
    return _one(STRING_TO_NUMBER, string_tensor, name, out_type=as_dtype(out_type))


def substr(
    input: TensorLike, pos: IntTensorLike, len: IntTensorLike, name: str | None = None, unit: str = "BYTE"
) -> Tensor:
    """`len` bytes or characters from `pos` on of each string (tf.substr).

    Args:
        input: A tensor of strings.
        pos: Where each part begins; a negative number counts from the end.
        len: How long it is.
        name: A name for the operation.
        unit: In what both are counted: "BYTE", or "UTF8_CHAR".

    Returns:
        A tensor of strings.

    Raises:
        ValueError: For another unit.
        InvalidArgumentError: If pos is out of range.
    """
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"unit of substr is 'BYTE' or 'UTF8_CHAR', not {unit!r}.")
    return apply(SUBSTR, (input, pos, len), {"unit": unit}, name).outputs[0]


def string_strip(input: TensorLike, name: str | None = None) -> Tensor:
    """The strings without white space at their ends (tf.string_strip).

    Args:
        input: A tensor of strings.
        name: A name for the operation.

    Returns:
        A tensor of strings.
    """
    return _one(STRING_STRIP, input, name)


def lower(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """The strings in lower case (tf.strings.lower).

    Args:
        input: A tensor of strings.
        encoding: "" for ASCII letters, or "utf-8".
        name: A name for the operation.

    Returns:
        A tensor of strings.
    """
    return _one(STRING_LOWER, input, name, encoding=encoding)


def upper(input: TensorLike, encoding: str = "", name: str | None = None) -> Tensor:
    """The strings in upper case (tf.strings.upper).

    Args:
        input: A tensor of strings.
        encoding: "" for ASCII letters, or "utf-8".
        name: A name for the operation.

    Returns:
        A tensor of strings.
    """
    return _one(STRING_UPPER, input, name, encoding=encoding)


def string_length(input: TensorLike, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """The length of each string in bytes, or with unit UTF8_CHAR in characters (tf.strings.length).

    Args:
        input: A tensor of strings.
        name: A name for the operation.
        unit: "BYTE" or "UTF8_CHAR".

    Returns:
        A tensor of int32.
    """
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(
            f"Attr 'unit' of 'StringLength' Op passed string {unit!r} not in: \"BYTE\", \"UTF8_CHAR\""
        )
    return _one(STRING_LENGTH, input, name, unit=unit)


def reduce_join(
    inputs: TensorLike, axis: IntTensorLike | None = None, keep_dims: bool | None = None,
    separator: str = "", name: str | None = None, reduction_indices: IntTensorLike | None = None,
    keepdims: bool | None = None,
) -> Tensor:  # fmt: skip
    """Strings joined along axes, all of them by default (tf.reduce_join).

    Args:
        inputs: A tensor of strings.
        axis: The axes; by default all, from the last to the first.
        keep_dims: The old name of `keepdims`.
        separator: What is put between.
        name: A name for the operation.
        reduction_indices: The old name of `axis`.
        keepdims: Whether an axis of length 1 stays in place of each that is reduced.

    Returns:
        A tensor of strings without these axes.
    """
    keep = bool(deprecated(keepdims, keep_dims, "keepdims", "keep_dims"))
    axes = deprecated(axis, reduction_indices, "axis", "reduction_indices")
    with op_scope(name, "ReduceJoin", [inputs]):
        tensor = convert_to_tensor(inputs, dtype=dtypes.string)
        if axes is None:
            if tensor.dims is None:
                raise ValueError("reduce_join over all axes needs a tensor of known rank.")
            axes = np.arange(len(tensor.dims) - 1, -1, -1, dtype=np.int32)
        attrs = {"keep_dims": keep, "separator": separator}
        return apply(REDUCE_JOIN, (tensor, axes), attrs).outputs[0]


def unsorted_segment_join(
    inputs: TensorLike, segment_ids: IntTensorLike, num_segments: IntTensorLike, separator: str = "",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The strings of each segment joined, in their order; "" for an empty one (tf.strings.unsorted_segment_join).

    Args:
        inputs: A tensor of strings.
        segment_ids: The segment of each row, integers of a shape that the shape of `inputs` begins with.
        num_segments: How many segments the result has, an integer.
        separator: What is put between.
        name: A name for the operation.

    Returns:
        A tensor [num_segments, ...] of strings.

    Raises:
        InvalidArgumentError: If a segment's number is below 0, or not below num_segments.
    """
    given = (inputs, segment_ids, num_segments)
    return apply(UNSORTED_SEGMENT_JOIN, given, {"separator": separator}, name).outputs[0]


def unicode_transcode(
    input: TensorLike, input_encoding: str, output_encoding: str, errors: str = "replace",
    replacement_char: int = 0xFFFD, replace_control_characters: bool = False, name: str | None = None,
) -> Tensor:  # fmt: skip
    """The strings in another encoding (tf.strings.unicode_transcode).

    Args:
        input: A tensor of strings.
        input_encoding: What they are in, a name that Python knows, such as "UTF-8", "US-ASCII" or "shift_jis".
            "UTF-16" and "UTF-32" are read as the mark at the start says, from the highest byte on if there is none.
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors: What is done about bytes that are no characters: "strict" for an error, "replace" or "ignore".
        replacement_char: The number of the character that stands for each of them.
        replace_control_characters: Whether characters below 32 are taken for such bytes, too.
        name: A name for the operation.

    Returns:
        A tensor of strings of the same shape.

    Raises:
        ValueError: For another output_encoding, or another value of `errors`.
        InvalidArgumentError: If nobody knows the input_encoding, or `errors` is "strict" and a string is not in it.
    """
    if output_encoding not in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        raise ValueError(
            f"Attr 'output_encoding' of 'UnicodeTranscode' Op passed string {output_encoding!r} not in: \"UTF-8\", "
            '"UTF-16-BE", "UTF-32-BE".'
        )
    if errors not in ("strict", "replace", "ignore"):
        raise ValueError(
            f"Attr 'errors' of 'UnicodeTranscode' Op passed string {errors!r} not in: \"strict\", \"replace\", "
            '"ignore".'
        )
    attrs = {
        "input_encoding": input_encoding, "output_encoding": output_encoding, "errors": errors,
        "replacement_char": int(replacement_char), "replace_control_characters": bool(replace_control_characters),
    }  # fmt: skip
    return apply(UNICODE_TRANSCODE, (input,), attrs, name).outputs[0]


def encode_base64(input: TensorLike, pad: bool = False, name: str | None = None) -> Tensor:
    """The strings in web-safe base64 (tf.encode_base64).

    Args:
        input: A tensor of strings.
        pad: Whether "=" fills the last group.
        name: A name for the operation.

    Returns:
        A tensor of strings.
    """
    return _one(ENCODE_BASE64, input, name, pad=pad)


def decode_base64(input: TensorLike, name: str | None = None) -> Tensor:
    """The strings that web-safe base64 stands for (tf.decode_base64).

    Args:
        input: A tensor of strings.
        name: A name for the operation.

    Returns:
        A tensor of strings.
    """
    return _one(DECODE_BASE64, input, name)


def decode_raw(
    input_bytes: TensorLike | None = None,
    out_type: DTypeLike | None = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: TensorLike | None = None,
) -> Tensor:
    """The bytes of each string read as numbers along a new last axis (tf.decode_raw).

    Args:
        input_bytes: A tensor of strings of one length.
        out_type: The dtype of the numbers.
        little_endian: Whether the lowest byte comes first.
        name: A name for the operation.
        bytes: The old name of `input_bytes`.

    Returns:
        A tensor of one axis more.
    """
    data = deprecated(input_bytes, bytes, "input_bytes", "bytes")
    if out_type is None:
        raise ValueError("decode_raw() missing 1 positional argument: 'out_type'")
    return _one(DECODE_RAW, data, name, out_type=as_dtype(out_type), little_endian=little_endian)
