"""Kernels that turn tensors into strings and back."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from graphflow import protos
from graphflow._core.common.limits import check_size, most_bytes
from graphflow._core.graph.attributes import (
    PROTOBUF_LIMIT,
    TooLargeError,
    shape_to_proto,
    tensor_from_proto,
    tensor_to_proto,
)
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple
from graphflow.errors import DataLossError

_SHOWN: Final = 40
_HEADERS: Final = {"ZLIB": zlib.MAX_WBITS, "GZIP": 16 + zlib.MAX_WBITS}


def _strings(change: Callable[[bytes], bytes]) -> Callable[[Any], Any]:
    """A function of a tensor of strings that changes each."""

    def run(texts: Any) -> Any:
        array = np.asarray(texts, object)
        found = np.empty(array.shape, object)
        found.reshape(-1)[:] = [change(text) for text in array.reshape(-1).tolist()]
        return found

    return run


@kernel("ParseTensor")
def _parse_tensor(node: Node) -> Kernel:
    wanted = node.attrs["out_type"]

    def run(serialized: Any) -> Any:
        from google.protobuf.message import DecodeError

        texts = np.asarray(serialized, object)
        if texts.ndim:
            raise invalid(f"Expected `serialized` to be a scalar, got shape: {list(texts.shape)}")
        text = texts.item()
        try:
            message = protos.tensor_pb2.TensorProto.FromString(text)
            found = as_dtype(message.dtype)
            array = tensor_from_proto(message) if found is wanted else None
        except (DecodeError, TypeError, ValueError) as error:
            shown = text[:_SHOWN].decode(errors="replace")
            raise invalid(f"Could not parse `serialized` as TensorProto: '{shown}' ({error})") from error
        if array is None:
            raise invalid(f"Type mismatch between parsed tensor ({found.name}) and dtype ({wanted.name})")
        found_array = array.astype(wanted.native, copy=False)
        return found_array if array.ndim or array.dtype == object else found_array[()]

    return run


@kernel("SerializeTensor")
def _serialize_tensor(node: Node) -> Kernel:
    dtype = node.attrs["T"]

    def run(tensor: Any) -> Any:
        array = np.asarray(tensor)
        proto = protos.tensor_pb2.TensorProto()
        if array.dtype == object:
            tensor_to_proto(array, proto)
        else:  # As TensorFlow does here, and not in graphs: one element as bytes, too.
            stored = np.dtype(dtype.as_numpy_dtype)
            if array.size * stored.itemsize > PROTOBUF_LIMIT:
                raise invalid(str(TooLargeError(array.size * stored.itemsize)))
            proto.dtype = dtype.as_datatype_enum
            shape_to_proto(array.shape, proto.tensor_shape)
            proto.tensor_content = array.astype(stored.newbyteorder("<")).tobytes()
        return np.array(proto.SerializeToString(deterministic=True), object)

    return run


def _of_json(text: bytes) -> bytes:
    from google.protobuf import json_format

    try:
        message = json_format.Parse(text, protos.example_pb2.Example())
    except (json_format.ParseError, UnicodeDecodeError) as error:
        raise invalid(f"Error while parsing JSON: {error}, in {text[:_SHOWN]!r}") from error
    found: bytes = message.SerializeToString(deterministic=True)
    return found


simple("DecodeJSONExample", _strings(_of_json))


@kernel("DecodeCompressed")
def _decode_compressed(node: Node) -> Kernel:
    header = _HEADERS.get(node.attrs["compression_type"])

    def decompressed(text: bytes) -> bytes:
        assert header is not None
        try:
            found = zlib.decompressobj(header).decompress(text, most_bytes() + 1)
        except zlib.error as error:
            raise DataLossError(None, None, f"inflate() failed: {error}") from error
        check_size("a string that is decompressed", len(found))
        return found

    return _strings(bytes if header is None else decompressed)
