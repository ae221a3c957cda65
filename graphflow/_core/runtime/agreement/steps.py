"""Steps: the roundings inside of a kernel, for trials of rounding.

A kernel such as that of a cross entropy rounds many times before its result is rounded: what it takes away from
something as large is left of that, and no change of its inputs or of its result shows by how much it may be wrong. The
logarithm of a sum that is just above 1 is the plainest case: it is 0 in one order of the terms, and one unit of 1 in
another. So in a trial a kernel gets arrays that change the result of each NumPy function that rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

_EXACT: Final = frozenset({
    "abs", "absolute", "ceil", "conjugate", "copysign", "fabs", "floor", "floor_divide", "fmax", "fmin",
    "fmod", "ldexp", "maximum", "minimum", "negative", "nextafter", "positive", "remainder", "rint", "sign",
    "spacing", "trunc",
})  # fmt: skip
"""Functions whose result is a number that they were given or a whole one, or that decide where they cut."""
_PRODUCTS: Final = frozenset({"matmul", "vecdot", "matvec", "vecmat"})
_WIDER: Final[dict[Any, Any]] = {
    np.dtype(np.float16): np.float64,
    np.dtype(np.float32): np.float64,
    np.dtype(np.float64): np.longdouble,
    np.dtype(np.complex64): np.complex128,
    np.dtype(np.complex128): np.clongdouble,
}


class Stepwise(np.ndarray[Any, Any]):
    """An array of floats; what NumPy computes from it is one, too, of which each element has been given to `shake`.

    shake: gets a value and which of its elements are sure to be rounded, and gives it changed.
    """

    shake: Callable[[Any, Any], Any] | None = None

    def __array_finalize__(self, origin: Any) -> None:
        self.shake = getattr(origin, "shake", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's protocol: the function on plain arrays, then the change."""
        plain = [without(value) for value in inputs]
        out = options.pop("out", None)
        with np.errstate(all="ignore"):
            if method == "at":
                return getattr(ufunc, method)(*plain, **options)
            result = getattr(ufunc, method)(*plain, **options)
            if ufunc.nout == 1:
                result = self._shaken(ufunc, method, plain, options, result)
        if out is None:
            return result
        for target, value in zip(out, result if ufunc.nout > 1 else (result,), strict=True):
            if target is not None:
                np.copyto(np.asarray(target).view(np.ndarray), without(value), casting="unsafe")
        return out if ufunc.nout > 1 else out[0]

    def _shaken(
        self, ufunc: Any, method: str, inputs: list[Any], options: dict[str, Any], result: Any
    ) -> Any:
        dtype = getattr(result, "dtype", None)
        if self.shake is None or dtype is None or dtype not in _WIDER:
            return result
        if ufunc.__name__ not in _EXACT:
            result = self.shake(result, _rounded(ufunc, method, inputs, options, result))
        return stepwise(result, self.shake)


def _rounded(ufunc: Any, method: str, inputs: list[Any], options: dict[str, Any], result: Any) -> Any:
    """Which whole numbers of a result are what rounding has left: in a wider dtype they are none."""
    whole = (result == np.rint(result)) & (result != 0) & np.isfinite(result)
    floats = [value for value in inputs if getattr(value, "dtype", None) in _WIDER]
    if not np.any(whole) or all(np.all(value == np.rint(value)) for value in floats):
        return np.zeros(np.shape(result), bool)
    if ufunc.__name__ in _PRODUCTS and result.dtype.itemsize > 4:
        return np.zeros(np.shape(result), bool)  # NumPy multiplies longer numbers one by one.
    wider = [
        value.astype(_WIDER[value.dtype]) if value.dtype in _WIDER else value
        for value in map(np.asarray, inputs)
    ]
    options = {name: value for name, value in options.items() if name != "dtype"}
    return whole & (getattr(ufunc, method)(*wider, **options) != result)


def stepwise(value: Any, shake: Callable[[Any, Any], Any]) -> Any:
    """A value whose further use is shaken, if it is of floats; others, and what holds them, as they are."""
    if isinstance(value, np.ndarray | np.generic) and value.dtype in _WIDER:
        array = np.asarray(value).view(Stepwise)
        array.shake = shake
        return array
    return value


def without(value: Any) -> Any:
    """The plain array, or number, of a value; what holds them as well."""
    if isinstance(value, Stepwise):
        array = value.view(np.ndarray)
        return array if array.ndim else array[()]
    if isinstance(value, tuple | list):
        return type(value)([without(part) for part in value])
    return value
