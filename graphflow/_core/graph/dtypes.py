"""Element types of tensors: TensorFlow's names and numbers, NumPy's representation.

Strings are NumPy object arrays of `bytes`, as TensorFlow's Python API returns them. The dtype of bfloat16 is that of
the package ml_dtypes, which is imported when it is first asked for.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np

from graphflow._core.common.arrays import finfo, is_bfloat16


class DType:
    """The type of a tensor's elements; one object per type, compared by identity or by name.

    `name` is TensorFlow's name, `as_numpy_dtype` the NumPy scalar type, `size` the bytes of an element; `native` and
    `scalar` are NumPy's dtype and scalar type, None for handles.

    Args:
        name: Its name.
        number: TensorFlow's number of it.
        numpy_type: NumPy's type of it.
    """

    __slots__ = (
        "_numpy",
        "as_datatype_enum",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "name",
        "native",
        "scalar",
        "size",
    )

    _numpy: type | None
    native: Any
    scalar: Any

    def __init__(self, name: str, number: int, numpy_type: type | None) -> None:
        self.name: str = name
        self.as_datatype_enum: int = number
        late = name == "bfloat16"
        if not late:
            self._keep(numpy_type)
        kind = np.dtype(numpy_type).kind if numpy_type is not None else "V"
        self.is_floating: bool = kind == "f" or late
        self.is_complex: bool = kind == "c"
        self.is_integer: bool = kind in "iu"
        self.is_bool: bool = kind == "b"
        self.size: int = 2 if late else np.dtype(numpy_type).itemsize if kind in "fciub" else 1

    def _keep(self, numpy_type: type | None) -> None:
        self._numpy = self.scalar = numpy_type
        self.native = None if numpy_type is None else np.dtype(numpy_type)

    def __getattr__(self, name: str) -> Any:
        """What NumPy's type of bfloat16 says, at the first time that anything of it is asked for."""
        if name not in ("_numpy", "native", "scalar"):
            raise AttributeError(f"A DType has no attribute {name!r}.")
        import ml_dtypes

        self._keep(ml_dtypes.bfloat16)
        return getattr(self, name)

    @property
    def as_numpy_dtype(self) -> type[Any]:
        """The NumPy scalar type; object_ for strings."""
        if self._numpy is None:
            raise TypeError(f"{self.name} has no NumPy type: it is a handle, not a value.")
        return self._numpy

    @property
    def base_dtype(self) -> DType:
        """The type itself: graphflow has no separate reference types."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The type of the real part of a complex type; the type itself otherwise."""
        return {complex64: float32, complex128: float64}.get(self, self)

    @property
    def is_unsigned(self) -> bool:
        """Whether it is an unsigned integer type."""
        return self.name.startswith("uint")

    @property
    def is_numpy_compatible(self) -> bool:
        """Whether values of this type are NumPy arrays."""
        return self.is_floating or self._numpy is not None

    @property
    def min(self) -> Any:
        """The smallest finite value."""
        return self._limits().min

    @property
    def max(self) -> Any:
        """The largest finite value."""
        return self._limits().max

    @property
    def limits(self) -> tuple[Any, Any]:
        """(0, largest) of an integer type, (0, 1) of a floating one: the range of image values."""
        return (0, self.max) if self.is_integer else (0, 1)

    @property
    def finfo(self) -> Any:
        """What np.finfo says of a floating type, such as `eps` and `tiny`."""
        return finfo(np.dtype(self.as_numpy_dtype))

    def _limits(self) -> Any:
        if self.is_floating:
            return self.finfo
        if self.is_integer:
            return np.iinfo(self.as_numpy_dtype)
        raise TypeError(f"Cannot find the range of values of {self.name}.")

    def is_compatible_with(self, other: DTypeLike) -> bool:
        """Whether a value of type `other` may stand where this type is asked for.

        Args:
            other: A dtype.
        """
        return as_dtype(other) is self

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other is None or isinstance(other, DType):
            return False
        try:
            given: Any = other
            return as_dtype(given) is self
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"gf.{self.name}"

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return as_dtype, (self.name,)


float32: Final = DType("float32", 1, np.float32)
float64: Final = DType("float64", 2, np.float64)
int32: Final = DType("int32", 3, np.int32)
uint8: Final = DType("uint8", 4, np.uint8)
int16: Final = DType("int16", 5, np.int16)
int8: Final = DType("int8", 6, np.int8)
string: Final = DType("string", 7, np.object_)
complex64: Final = DType("complex64", 8, np.complex64)
int64: Final = DType("int64", 9, np.int64)
bool_: Final = DType("bool", 10, np.bool_)
bfloat16: Final = DType("bfloat16", 14, None)
uint16: Final = DType("uint16", 17, np.uint16)
complex128: Final = DType("complex128", 18, np.complex128)
float16: Final = DType("float16", 19, np.float16)
resource: Final = DType("resource", 20, None)
variant: Final = DType("variant", 21, None)
uint32: Final = DType("uint32", 22, np.uint32)
uint64: Final = DType("uint64", 23, np.uint64)

ALL: Final = (
    float32, float64, int32, uint8, int16, int8, string, complex64, int64, bool_, bfloat16, uint16, complex128,
    float16, resource, variant, uint32, uint64,
)  # fmt: skip
BY_NAME: Final = {d.name: d for d in ALL} | {"half": float16, "double": float64}
"""What the package offers under these names."""
_BY_ENUM: Final = {d.as_datatype_enum: d for d in ALL}
_BY_NUMPY: Final = {d.native: d for d in ALL if d is not bfloat16 and d.is_numpy_compatible}
_BY_PYTHON: Final = {
    float: float32,
    int: int32,
    bool: bool_,
    str: string,
    bytes: string,
    object: string,
    complex: complex128,
}

DTypeLike: TypeAlias = DType | np.dtype[Any] | str | int | type[complex | str | bytes | np.generic]
"""The type of elements: gf.float32, "float32", np.float32, np.dtype("float32"), Python's bool, int, float, complex, str
or bytes, or TensorFlow's number for one."""


def as_dtype(type_value: DTypeLike) -> DType:
    """The DType for a DType, a name, a TensorFlow enum number, a NumPy dtype or a Python type.

    Raises TypeError if there is none.

    Args:
        type_value: A dtype in any form.

    Returns:
        The DType.
    """
    if isinstance(type_value, DType):
        return type_value
    if type_value is None:
        raise TypeError("Cannot convert value None to a graphflow DType.")
    try:
        if isinstance(type_value, str):
            name = type_value.removesuffix("_ref")
            found = float32 if name == "float" else BY_NAME.get(name)
            if found is not None:
                return found
        elif isinstance(type_value, int) and not isinstance(type_value, bool):
            found = _BY_ENUM.get(type_value if type_value < 100 else type_value - 100)
            if found is not None:
                return found
        elif isinstance(type_value, type) and type_value in _BY_PYTHON:
            return _BY_PYTHON[type_value]
        given: Any = type_value
        numpy_dtype = np.dtype(given)
        if numpy_dtype.kind in "SU":
            return string
        if is_bfloat16(numpy_dtype):
            return bfloat16
        found = _BY_NUMPY.get(numpy_dtype.newbyteorder("="))
        if found is not None:
            return found
    except (TypeError, ValueError):
        pass
    raise TypeError(
        f"Cannot convert value {type_value!r} to a graphflow DType. Known: {', '.join(sorted(BY_NAME))}."
    )
