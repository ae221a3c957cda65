"""What a program of TensorFlow 1's time expects of Python and NumPy, and is gone: names are given back in this process.

Each is said once in the log, when it is used for the first time. What cannot be given back, such as Python 2's print,
gets a note at the error that says what to do (note_for).
"""

from __future__ import annotations

import collections
import collections.abc
import functools
import importlib
import inspect
import math
import re
import sys
import time
import urllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

import graphflow.logging as logging
from graphflow.as_tensorflow.array_methods import give_back_methods


class ArgSpec(NamedTuple):
    """The arguments of a function, as inspect.getargspec gave them."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    """The names and defaults of a function's arguments; ValueError if it has keyword-only ones (inspect.getargspec)."""
    found = inspect.getfullargspec(func)
    if found.kwonlyargs:
        raise ValueError("Function has keyword-only parameters: use inspect.signature")
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


def asfarray(a: Any, dtype: Any = np.float64) -> Any:
    """An array of floats: of the dtype if that is one of floats or complex numbers, else of float64."""
    return np.asarray(a, dtype if np.issubdtype(np.dtype(dtype), np.inexact) else np.float64)


def asscalar(a: Any) -> Any:
    """The only element of an array as a Python number (np.asscalar)."""
    return np.asarray(a).item()


class _Casts(dict[Any, Callable[[Any], Any]]):
    """For each dtype the function that casts to it (np.cast)."""

    def __missing__(self, dtype: Any) -> Callable[[Any], Any]:
        return lambda x: np.asarray(x).astype(dtype)


def _of_kind(kind: str) -> list[type[np.generic]]:
    """The scalar types of a kind of numbers, the smallest first."""
    found = {np.dtype(code) for code in np.typecodes["All"] if np.dtype(code).kind == kind}
    return [dtype.type for dtype in sorted(found, key=lambda dtype: dtype.itemsize)]


def find_common_type(array_types: Sequence[Any], scalar_types: Sequence[Any]) -> np.dtype[Any]:
    """The dtype of arrays beside scalars, which count if they are of a higher kind (np.find_common_type).

    Args:
        array_types: The dtypes of the arrays.
        scalar_types: Those of the scalars.
    """
    arrays = np.result_type(*array_types) if array_types else None
    scalars = np.result_type(*scalar_types) if scalar_types else None
    if arrays is None or scalars is None:
        return np.dtype(arrays or scalars)
    kinds = "buifc"
    higher = kinds.find(scalars.kind) > kinds.find(arrays.kind)
    return np.promote_types(arrays, scalars) if higher else arrays


_NUMPY: Final[Mapping[str, Any]] = {
    "float": float,
    "int": int,
    "object": object,
    "bool": bool,
    "str": str,
    "complex": complex,
    "unicode": str,
    "float_": np.float64,
    "complex_": np.complex128,
    "string_": np.bytes_,
    "unicode_": np.str_,
    "Inf": np.inf,
    "Infinity": np.inf,
    "infty": np.inf,
    "PINF": np.inf,
    "NINF": -np.inf,
    "NaN": np.nan,
    "NAN": np.nan,
    "asscalar": asscalar,
    "asfarray": asfarray,
    "product": np.prod,
    "cumproduct": np.cumprod,
    "sometrue": np.any,
    "alltrue": np.all,
    "row_stack": np.vstack,
    "trapz": np.trapezoid,
    "in1d": lambda ar1, ar2, **kwargs: np.isin(np.asarray(ar1).ravel(), ar2, **kwargs),
    "round_": np.round,
    "mat": np.asmatrix,
    "msort": lambda a: np.sort(a, axis=0),
    "alen": lambda a: len(np.atleast_1d(a)),
    "find_common_type": find_common_type,
    "issubsctype": np.issubdtype,
    "obj2sctype": lambda rep: np.dtype(rep).type,
    "sctype2char": lambda sctype: np.dtype(sctype).char,
    "cast": _Casts(),
    "typeDict": np.sctypeDict,
    "sctypes": {
        "int": _of_kind("i"),
        "uint": _of_kind("u"),
        "float": _of_kind("f"),
        "complex": _of_kind("c"),
        "others": [bool, object, bytes, str, np.void],
    },
    "cfloat": np.complex128,
    "singlecomplex": np.complex64,
    "longfloat": np.longdouble,
    "longcomplex": np.clongdouble,
    "clongfloat": np.clongdouble,
    "bool8": np.bool_,
    "int0": np.intp,
    "uint0": np.uintp,
    "str0": np.str_,
    "bytes0": np.bytes_,
    "object0": np.object_,
    "void0": np.void,
    "PZERO": 0.0,
    "NZERO": -0.0,
    "AxisError": np.exceptions.AxisError,
    "ComplexWarning": np.exceptions.ComplexWarning,
    "RankWarning": np.exceptions.RankWarning,
    "VisibleDeprecationWarning": np.exceptions.VisibleDeprecationWarning,
    "math": math,
    "warnings": warnings,
    "sys": sys,
    "float96": np.longdouble,
    "float128": np.longdouble,
}
_GONE: Final[Mapping[ModuleType, Mapping[str, Any]]] = {
    np: _NUMPY,
    collections: {name: getattr(collections.abc, name) for name in collections.abc.__all__},
    inspect: {"getargspec": getargspec, "ArgSpec": ArgSpec},
    time: {"clock": time.perf_counter},
}
"""What modules no longer have, and what it is now; what a module has again or still is left as it is."""


_LOADED: Final = ("error", "parse", "request", "response")
"""Modules of urllib that a program has as soon as it has imported TensorFlow, which imports them itself."""


class _Hint(NamedTuple):
    """What an error's text looks like if an older Python is the reason, and what to do."""

    error: type[BaseException]
    pattern: str
    advice: str


_TWO: Final = (
    "it is written for Python 2: graphflow run --py2 converts it as it runs, and 2to3 for good "
    "(python -m fissix -w FILE, after pip install fissix)"
)
_HINTS: Final[Sequence[_Hint]] = (
    _Hint(
        SyntaxError,
        r"Missing parentheses in call to '(print|exec)'|multiple exception types must be parenthesized"
        r"|leading zeros in decimal integer|inconsistent use of tabs|'<>'|invalid (decimal|hexadecimal) literal",
        _TWO,
    ),
    _Hint(
        NameError,
        r"name '(xrange|unicode|basestring|raw_input|long|reduce|unichr|cmp|execfile|reload|file)' is not defined",
        _TWO,
    ),
    _Hint(AttributeError, r"'(dict|OrderedDict)' object has no attribute '(iter\w+|has_key)'", _TWO),
    _Hint(AttributeError, r"has no attribute 'next'|module 'urllib' has no attribute '\w+'", _TWO),
    _Hint(
        ModuleNotFoundError,
        r"No module named '(cPickle|urllib2|Queue|ConfigParser|StringIO|cStringIO|Tkinter|urlparse|itertools\.izip)'",
        _TWO,
    ),
    _Hint(
        ImportError,
        r"cannot import name '(izip|imap|ifilter|urlretrieve|urlencode|urlopen)' from '(itertools|urllib)'",
        _TWO,
    ),
    _Hint(
        ModuleNotFoundError,
        r"No module named '(imp|distutils)'",
        "Python 3.12 has it no more: pip install setuptools has distutils; imp is importlib now",
    ),
    _Hint(
        ImportError,
        r"cannot import name '\w+' from 'scipy\.misc'|No module named 'scipy\.misc'",
        "SciPy has no images any more: use imageio or Pillow, or an older SciPy",
    ),
    _Hint(
        AttributeError,
        r"module 'scipy\.misc' has no attribute|module 'scipy' has no attribute 'misc'",
        "SciPy has no images any more: use imageio or Pillow, or an older SciPy",
    ),
    _Hint(
        TypeError,
        r"'(float|numpy\.float\d+)' object cannot be interpreted as an integer|got 'float' object",
        "Python 2's / of integers gave an integer: if a size is divided there, write //",
    ),
)
"""Errors that come of the age of a program, and what to do about each."""


def mend() -> None:
    """Gives back to modules of this process what they no longer have; each says so when it is first used."""
    for module, names in _GONE.items():
        _give_back(module, names)
    give_back_methods()
    _load_when_asked(urllib, _LOADED)
    for name in ("array", "asarray"):
        setattr(np, name, _with_rows_of_any_length(getattr(np, name), name))
    if "newshape" not in inspect.signature(np.reshape).parameters:
        setattr(np, "reshape", _with_newshape(np.reshape))  # noqa: B010  To a type checker np is not to be changed.


def _is_of_a_package(frame: FrameType) -> bool:
    """Whether a line that runs is one of graphflow's, or of a package that is installed."""
    name = frame.f_globals.get("__name__", "").partition(".")[0]
    return name == "graphflow" or "-packages" in frame.f_code.co_filename


def _with_rows_of_any_length(make: Callable[..., Any], name: str) -> Callable[..., Any]:
    """np.array or np.asarray, which makes an array of lists of rows of different lengths, as NumPy did before 1.24."""
    told: set[str] = set()

    @functools.wraps(make)
    def with_rows(*args: Any, **kwargs: Any) -> Any:
        try:
            return make(*args, **kwargs)
        except ValueError as error:
            asked = len(args) > 1 or kwargs.get("dtype") is not None
            # Packages of today ask by the error whether there are such rows.
            if asked or "inhomogeneous" not in str(error) or _is_of_a_package(sys._getframe(1)):
                raise
        if not told:
            told.add(name)
            logging.warning(
                "numpy.%s of rows of different lengths, an error now, are an array of lists in this process.",
                name,
                stacklevel=2,
            )
        return make(*args, **{**kwargs, "dtype": object})

    return with_rows


def _with_newshape(reshape: Callable[..., Any]) -> Callable[..., Any]:
    """np.reshape that takes the new shape as `newshape`, too, as it did before NumPy 2.4."""
    told: set[str] = set()

    @functools.wraps(reshape)
    def with_newshape(*args: Any, **kwargs: Any) -> Any:
        if "newshape" in kwargs and "shape" not in kwargs and len(args) < 2:
            kwargs["shape"] = kwargs.pop("newshape")
            if not told:
                told.add("newshape")
                logging.warning(
                    "numpy.reshape's newshape, which is shape now, is taken in this process.",
                    stacklevel=3,
                )
        if "a" in kwargs and not args:
            args = (kwargs.pop("a"),)
        return reshape(*args, **kwargs)

    return with_newshape


def _give_back(module: ModuleType, names: Mapping[str, Any]) -> None:
    """Puts a lookup before the module's own, for names that it does not have."""
    own = vars(module).get("__getattr__")

    def lookup(name: str) -> Any:
        if name in names:
            logging.warning(
                "%s.%s, which is gone, is given to programs of TensorFlow 1 in this process.",
                module.__name__,
                name,
                stacklevel=3,  # The line that asks for it.
            )
            setattr(module, name, names[name])
            return names[name]
        if own is not None:
            return own(name)
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    setattr(module, "__getattr__", lookup)  # noqa: B010  A module's attribute is not a method that is replaced.


def _load_when_asked(package: ModuleType, modules: Sequence[str]) -> None:
    """Lets a package import modules of its own when a program asks for them without having imported them."""

    def lookup(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package.__name__!r} has no attribute {name!r}")
        return importlib.import_module(f"{package.__name__}.{name}")

    setattr(package, "__getattr__", lookup)  # noqa: B010  A module's attribute is not a method that is replaced.


def advice_for(error: BaseException) -> str | None:
    """What to do about an error that comes of a program's age; None for any other."""
    text = str(error)
    for hint in _HINTS:
        if isinstance(error, hint.error) and re.search(hint.pattern, text):
            return hint.advice
    return None


def note_for(error: BaseException) -> str | None:
    """What is said beside such an error, with the Python that runs; None for any other."""
    advice = advice_for(error)
    return advice and f"This is Python {sys.version_info.major}.{sys.version_info.minor}: {advice}."
