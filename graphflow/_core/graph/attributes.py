"""Attributes of operations as protobuf messages, and back: AttrValue, TensorProto, TensorShapeProto.

What is read comes from files and may be anything: a value whose message does not hold together raises ValueError, and
nothing is allocated that the message does not pay for with its own bytes, but for what an Allowance grants.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from graphflow._core.common.limits import VARIABLE, most_bytes
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.shapes import Dims, TensorShape, as_dims

PROTOBUF_LIMIT: Final = 2**31 - 1
"""The largest protobuf message, in bytes."""
_MAXIMUM_RANK: Final = 254
_VALUES: Final = {
    dtypes.float32: "float_val", dtypes.float64: "double_val", dtypes.int32: "int_val", dtypes.uint8: "int_val",
    dtypes.int16: "int_val", dtypes.int8: "int_val", dtypes.uint16: "int_val", dtypes.int64: "int64_val",
    dtypes.bool_: "bool_val", dtypes.string: "string_val", dtypes.float16: "half_val", dtypes.uint32: "uint32_val",
    dtypes.uint64: "uint64_val", dtypes.complex64: "scomplex_val", dtypes.complex128: "dcomplex_val",
    dtypes.bfloat16: "half_val",
}  # fmt: skip
"""The field of TensorProto that holds the elements of each dtype."""

_HALVES: Final = (dtypes.float16, dtypes.bfloat16)
"""Types of which an element is written as a number of its 16 bits."""


class Allowance:
    """How many bytes reading one graph may still allocate for constants that are written as one repeated value."""

    def __init__(self, limit: int | None = None) -> None:
        self._left = most_bytes() if limit is None else limit

    def spend(self, size: int) -> None:
        """Takes `size` bytes from it; ValueError if there are not so many."""
        if size > self._left:
            raise ValueError(
                f"it stands for {size} bytes of one repeated value, more than reading a graph may allocate. Use "
                f"gf.fill or gf.zeros for a value of that size, or set {VARIABLE} to as many bytes."
            )
        self._left -= size


# ---- shapes and tensors ---------------------------------------------------------------------------------------------


class TooLargeError(ValueError):
    """A graph that runs, but holds more bytes of constants than a protobuf message may."""

    def __init__(self, size: int, where: str = "") -> None:
        super().__init__(
            f"{where}{size} bytes of constants do not fit into a protobuf message, which ends at 2 GB. The graph "
            "runs as it is; to write it, keep large values in variables (a checkpoint has no such limit) or feed them."
        )


def shape_to_proto(shape: Any, proto: Any) -> None:
    """Writes a shape into a TensorShapeProto."""
    dims = as_dims(shape)
    if dims is None:
        proto.unknown_rank = True
        return
    proto.SetInParent()
    for size in dims:
        proto.dim.add(size=-1 if size is None else size)


def shape_from_proto(proto: Any) -> Dims:
    """The shape in a TensorShapeProto; ValueError for sizes below -1 and absurd ranks."""
    if proto.unknown_rank:
        return None
    sizes = [d.size for d in proto.dim]
    if len(sizes) > _MAXIMUM_RANK:
        raise ValueError(f"a shape has {len(sizes)} axes, at most {_MAXIMUM_RANK} are possible.")
    if any(size < -1 for size in sizes):
        raise ValueError(f"a shape has a negative size: {sizes}.")
    return tuple(None if size < 0 else size for size in sizes)


def tensor_to_proto(array: Any, proto: Any, dtype: DType | None = None) -> None:
    """Writes an array into a TensorProto: one element in the field of its dtype, several as bytes (strings as
    strings).

    Args:
        array: The array, or what NumPy makes one of.
        proto: The message, which is changed.
        dtype: The dtype; by default the array's.

    Raises:
        ValueError: It is larger than a protobuf message can be.
    """
    array = np.asarray(array)
    dtype = dtype or (dtypes.string if array.dtype.kind in "OSU" else as_dtype(array.dtype))
    proto.dtype = dtype.as_datatype_enum
    shape_to_proto(array.shape, proto.tensor_shape)
    if dtype is dtypes.string:
        proto.string_val.extend(s if isinstance(s, bytes) else str(s).encode() for s in array.reshape(-1))
    elif array.size and (dtype in _HALVES or dtype.is_complex):
        if array.nbytes > PROTOBUF_LIMIT:
            raise TooLargeError(array.nbytes)
        flat = np.ascontiguousarray(array).reshape(-1)
        parts = flat.view(np.uint16) if dtype in _HALVES else np.stack([flat.real, flat.imag], -1).reshape(-1)
        getattr(proto, _VALUES[dtype]).extend(parts.tolist())
    elif array.size > 1:
        if array.nbytes > PROTOBUF_LIMIT:
            raise TooLargeError(array.nbytes)
        proto.tensor_content = (
            np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        )
    elif array.size:
        getattr(proto, _VALUES[dtype]).extend(array.reshape(-1).tolist())


def tensor_from_proto(proto: Any, allowance: Allowance | None = None) -> Any:
    """The array in a TensorProto; the last value fills what is missing, as in TensorFlow.

    ValueError if the message does not hold together or stands for more than `allowance` grants.
    """
    dtype = dtype_from_enum(proto.dtype)
    if dtype not in _VALUES:
        raise ValueError(f"a tensor of {dtype.name} cannot be read from a file.")
    dims = shape_from_proto(proto.tensor_shape)
    if dims is None or None in dims:
        raise ValueError("a tensor has an unknown shape.")
    shape = tuple(int(d) for d in dims)  # type: ignore[arg-type]
    size = math.prod(shape)
    if proto.tensor_content and dtype is not dtypes.string:
        native = np.dtype(dtype.as_numpy_dtype)
        if size * native.itemsize != len(proto.tensor_content):
            raise ValueError(
                f"a tensor of shape {list(shape)} and {dtype.name} takes {size * native.itemsize} bytes, but has "
                f"{len(proto.tensor_content)}."
            )
        # A copy, aligned, in the byte order of this machine, as kernels expect.
        return np.frombuffer(proto.tensor_content, native.newbyteorder("<")).astype(native).reshape(shape)
    values = _elements(proto, dtype)
    if len(values) > size:
        raise ValueError(f"a tensor of shape {list(shape)} has {len(values)} values.")
    if len(values) < size:
        (allowance or Allowance()).spend(size * values.dtype.itemsize)
        last = values[-1:] if len(values) else _empty(dtype)
        values = np.concatenate([values, np.repeat(last, size - len(values))])
    return values.reshape(shape)


def _elements(proto: Any, dtype: DType) -> Any:
    """The elements that are written one by one."""
    found = getattr(proto, _VALUES[dtype])
    try:
        if dtype is dtypes.string:
            values = np.empty(len(found), object)
            values[:] = list(found)
            return values
        if dtype.is_complex:
            part = np.float32 if dtype is dtypes.complex64 else np.float64
            return np.array(found[: len(found) // 2 * 2], part).view(dtype.as_numpy_dtype)
        if dtype in _HALVES:
            return np.array(found, np.uint16).view(dtype.as_numpy_dtype)
        values = np.array(found, np.int64 if dtype.is_integer and dtype.size < 8 else dtype.as_numpy_dtype)
        if dtype.is_integer and len(values) and (values.min() < dtype.min or values.max() > dtype.max):
            raise ValueError(f"{values.min()} to {values.max()}")
        return values.astype(dtype.as_numpy_dtype, copy=False)
    except (OverflowError, ValueError) as error:
        raise ValueError(f"a tensor of {dtype.name} has values that it cannot hold: {error}") from None


def _empty(dtype: DType) -> Any:
    if dtype is dtypes.string:
        return np.array([b""], object)
    return np.zeros(1, dtype.as_numpy_dtype)


def dtype_from_enum(number: int) -> DType:
    """The dtype of TensorFlow's number, the plain one for a reference; ValueError if graphflow has none."""
    try:
        return as_dtype(int(number))
    except TypeError:
        raise ValueError(f"there is no dtype with the number {number}.") from None


# ---- attributes -----------------------------------------------------------------------------------------------------


def kind_of(value: Any) -> str | None:
    """TensorFlow's type of an attribute that it does not declare; None if the value cannot be written."""
    if isinstance(value, bool | np.bool_):
        return "bool"
    if isinstance(value, int | np.integer):
        return "int"
    if isinstance(value, float | np.floating):
        return "float"
    if isinstance(value, str | bytes):
        return "string"
    if isinstance(value, DType):
        return "type"
    if isinstance(value, TensorShape):
        return "shape"
    if isinstance(value, np.ndarray):
        return "tensor"
    if isinstance(value, list | tuple):
        kinds = {kind_of(item) for item in value}
        if len(kinds) <= 1 and None not in kinds and not any(k and k.startswith("list") for k in kinds):
            return f"list({kinds.pop() if kinds else 'int'})"
    return None


def attr_to_proto(kind: str, value: Any, proto: Any) -> None:
    """Writes an attribute of a type of TensorFlow's into an AttrValue; TypeError if it is of another type."""
    if kind.startswith("list("):
        proto.list.SetInParent()
        inner = kind[5:-1]
        for item in value:
            _append(inner, item, proto.list)
    elif kind == "type":
        proto.type = as_dtype(value).as_datatype_enum
    elif kind == "shape":
        shape_to_proto(value, proto.shape)
    elif kind == "tensor":
        tensor_to_proto(value, proto.tensor)
    elif kind == "string":
        proto.s = value.encode() if isinstance(value, str) else bytes(value)
    elif kind == "int":
        proto.i = int(value)
    elif kind == "float":
        proto.f = float(value)
    elif kind == "bool":
        proto.b = bool(value)
    else:
        raise TypeError(f"an attribute of type {kind} cannot be {value!r}.")


def _append(kind: str, item: Any, listed: Any) -> None:
    if kind == "type":
        listed.type.append(as_dtype(item).as_datatype_enum)
    elif kind == "shape":
        shape_to_proto(item, listed.shape.add())
    elif kind == "tensor":
        tensor_to_proto(item, listed.tensor.add())
    elif kind == "string":
        listed.s.append(item.encode() if isinstance(item, str) else bytes(item))
    elif kind == "int":
        listed.i.append(int(item))
    elif kind == "float":
        listed.f.append(float(item))
    elif kind == "bool":
        listed.b.append(bool(item))
    else:
        raise TypeError(f"an attribute of type list({kind}) cannot hold {item!r}.")


def attr_from_proto(proto: Any, allowance: Allowance | None = None) -> Any:
    """The value in an AttrValue: a DType, TensorShape, array, str (bytes if it is no text), int, float, bool, list.

    None if nothing is in it; ValueError if it does not hold together.
    """
    field = proto.WhichOneof("value")
    if field is None:
        return None
    value = getattr(proto, field)
    if field == "list":
        return _list(value, allowance)
    return _single(field, value, allowance)


_FIELDS: Final = ("s", "i", "f", "b", "type", "shape", "tensor", "func")


def _list(listed: Any, allowance: Allowance | None) -> list[Any]:
    return [_single(field, item, allowance) for field in _FIELDS for item in getattr(listed, field)]


def _single(field: str, value: Any, allowance: Allowance | None) -> Any:
    if field == "s":
        return text_of(value)
    if field == "type":
        return dtype_from_enum(value)
    if field == "shape":
        return TensorShape(shape_from_proto(value))
    if field == "tensor":
        array = tensor_from_proto(value, allowance)
        array.flags.writeable = False
        return array
    return value


def text_of(value: bytes) -> str | bytes:
    """Bytes as text if they are text."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value
