"""Tensors as strings and back: tensors that are serialized, examples in JSON, strings that are compressed."""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import same_as_input, scalar_of


def _parsed(op: Operation) -> Signature:
    return [(op.attrs["out_type"], None)]


PARSE_TENSOR = op_def(
    "ParseTensor", ("serialized: string",), infer=_parsed, gradient=NOT_DIFFERENTIABLE, dynamic_shape=True
)
SERIALIZE_TENSOR = op_def(
    "SerializeTensor", ("tensor: T=any",), infer=scalar_of(dtypes.string), gradient=NOT_DIFFERENTIABLE
)
DECODE_JSON_EXAMPLE = op_def(
    "DecodeJSONExample", ("json_examples: string",), infer=same_as_input, gradient=NOT_DIFFERENTIABLE
)
DECODE_COMPRESSED = op_def(
    "DecodeCompressed", ("bytes: string",), infer=same_as_input, gradient=NOT_DIFFERENTIABLE
)


def parse_tensor(serialized: TensorLike, out_type: DTypeLike, name: str | None = None) -> Tensor:
    """The tensor that a TensorProto holds, as serialize_tensor makes it (tf.io.parse_tensor).

    Args:
        serialized: A scalar string.
        out_type: The dtype of the tensor.
        name: A name for the operation.

    Returns:
        A tensor of unknown shape.

    Raises:
        InvalidArgumentError: When it runs, if the string is no TensorProto, or of another dtype.
    """
    return apply(PARSE_TENSOR, (serialized,), {"out_type": as_dtype(out_type)}, name).outputs[0]


def serialize_tensor(tensor: TensorLike, name: str | None = None) -> Tensor:
    """A tensor as a TensorProto in a string, which parse_tensor reads (tf.io.serialize_tensor).

    Args:
        tensor: A tensor.
        name: A name for the operation.

    Returns:
        A scalar string.
    """
    return apply(SERIALIZE_TENSOR, (tensor,), {}, name).outputs[0]


def decode_json_example(json_examples: TensorLike, name: str | None = None) -> Tensor:
    """Example messages that are written in JSON as serialized ones, which parse_example reads (tf.io).

    Args:
        json_examples: A tensor of strings, each an Example in protobuf's JSON.
        name: A name for the operation.

    Returns:
        A tensor of strings of the same shape.

    Raises:
        InvalidArgumentError: When it runs, if a string is no such JSON.
    """
    return apply(DECODE_JSON_EXAMPLE, (json_examples,), {}, name).outputs[0]


def decode_compressed(bytes: TensorLike, compression_type: str = "", name: str | None = None) -> Tensor:
    """Strings decompressed (tf.io.decode_compressed).

    Args:
        bytes: A tensor of strings.
        compression_type: "ZLIB", "GZIP", or "" for none.
        name: A name for the operation.

    Returns:
        A tensor of strings of the same shape.

    Raises:
        ValueError: If compression_type is another.
        DataLossError: When it runs, if a string is not compressed so.
    """
    if compression_type not in ("", "ZLIB", "GZIP"):
        raise ValueError(
            f'Only ZLIB, GZIP or NONE ("") are supported compressions, got {compression_type!r}.'
        )
    return apply(DECODE_COMPRESSED, (bytes,), {"compression_type": compression_type}, name).outputs[0]
