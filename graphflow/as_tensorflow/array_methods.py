"""What NumPy's arrays and scalars could do, given back to them in this process, as programs ask it of arrays.

NumPy's classes are not to be changed by Python's own means: CPython keeps that in a flag of the class. It is taken away
for the moment of the change, at the place where the class has its flags, which it also tells.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

import graphflow.logging as logging


def _tostring(self: Any, order: Any = "C") -> bytes:
    """The bytes of the elements (ndarray.tostring, which is tobytes now)."""
    return bytes(self.tobytes(order))


def _itemset(self: Any, *args: Any) -> None:
    """Sets one element: the only one, or that at a place in all or a tuple of indices (ndarray.itemset)."""
    *place, value = args
    if not place and self.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    index = place[0] if place else 0
    if isinstance(index, tuple):
        self[index] = value
    else:
        self.flat[index] = value


def _ptp(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """The largest less the smallest element (ndarray.ptp)."""
    return np.ptp(self, axis=axis, out=out, keepdims=keepdims)


def _newbyteorder(self: Any, new_order: Any = "S") -> Any:
    """The same bytes, read in another order (ndarray.newbyteorder)."""
    return self.view(self.dtype.newbyteorder(new_order))


_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "tostring": _tostring,
    "itemset": _itemset,
    "ptp": _ptp,
    "newbyteorder": _newbyteorder,
}


_IMMUTABLE: Final = 1 << 8
"""CPython's flag of classes that are not to be changed (Py_TPFLAGS_IMMUTABLETYPE)."""
_WORDS: Final = 256 // ctypes.sizeof(ctypes.c_ulong)
"""The flags are among the first words of a class: the 22nd, or a later one where objects have longer heads."""


def give_back_methods() -> None:
    """Gives arrays and scalars what they had; each says so when it is first used."""
    for kind in (np.ndarray, np.generic):
        gone = {name: method for name, method in _METHODS.items() if not hasattr(kind, name)}
        if kind is np.ndarray and not _converts():
            gone |= {f"__{number.__name__}__": _converting(number) for number in (float, int)}
        with _changeable(kind) as is_so:
            for name, method in gone.items() if is_so else ():
                setattr(kind, name, _told(name, method) if name in _METHODS else method)


def _converts() -> bool:
    """Whether an array of one element and some axes is a number, as it was before NumPy 2.4."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return float(np.ones(1)) == 1.0
    except TypeError:
        return False


@contextmanager
def _changeable(kind: type) -> Iterator[bool]:
    """Lets a class be changed inside, and says whether it can."""
    flags = kind.__flags__
    words = (ctypes.c_ulong * _WORDS).from_address(id(kind)) if sys.implementation.name == "cpython" else ()
    places = [place for place, word in enumerate(words) if word == flags]
    if len(places) != 1 or not flags & _IMMUTABLE:
        yield False
        return
    words[places[0]] = flags & ~_IMMUTABLE  # type: ignore[index]
    try:
        yield kind.__flags__ == flags & ~_IMMUTABLE
    finally:
        words[places[0]] |= _IMMUTABLE  # type: ignore[index]


_said: set[str] = set()


def _told(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def called(*args: Any, **kwargs: Any) -> Any:
        if name not in _said:
            _said.add(name)
            logging.warning(
                "numpy.ndarray.%s, which is gone, is given to programs of TensorFlow 1 in this process.",
                name,
                stacklevel=3,
            )
        return method(*args, **kwargs)

    return called


def _converting(number: type) -> Callable[[Any], Any]:
    """How an array becomes a number of a type: also one with axes that has one element."""
    original = getattr(np.ndarray, f"__{number.__name__}__")

    @functools.wraps(original)
    def convert(self: Any) -> Any:
        if not self.ndim or self.size != 1:
            return original(self)
        if number not in _numbers_told:
            _numbers_told.add(number)
            logging.warning(
                "numpy: %s() of an array of one element with axes, an error now, is its element in this process.",
                number.__name__,
                stacklevel=3,
            )
        return number(self.item())

    return convert


_numbers_told: set[type] = set()
