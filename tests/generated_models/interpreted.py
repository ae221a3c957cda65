"""The compiler's kernels run by Python, so that a program need not wait for LLVM.

All that decides what a compiled plan computes is kept: lowering, fusion, the layout of memory, the text of each
kernel, its arguments, the machine that runs steps one after the other. The text is Python already; here its
intrinsics read and write memory by address, with NumPy's scalars for arithmetic and its products for BLAS, in place
of LLVM's. Kernels of vector instructions (convolutions, pools) and the machine itself are compiled as ever.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final
from unittest import mock

import numpy as np

from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.programs.machine import KERNEL_PROTOTYPE

_OPENING: Final = "@kernel_function\ndef kernel(args, begin, end):\n"
_AHEAD: Final = 1 << 32
"""Elements before an address that an index may name: NumPy takes a negative index for one from the end."""
_C_TYPES: Final = {
    "float32": ctypes.c_float, "float64": ctypes.c_double, "int8": ctypes.c_int8, "int16": ctypes.c_int16,
    "int32": ctypes.c_int32, "int64": ctypes.c_int64, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
}  # fmt: skip


class InterpretedKernel:
    """A kernel with an address; a Compilation that is done. NameError where its text calls what is not here."""

    failures: Final[list[BaseException]] = []
    """What was raised within kernels, of which the machine that calls them knows nothing."""

    def __init__(self, source: str) -> None:
        namespace = dict(_NAMESPACE)
        exec(compile(source, "<interpreted kernel>", "exec"), namespace)
        kernel = namespace["kernel"]
        missing = set(kernel.__code__.co_names).difference(_NAMESPACE, vars(builtins))
        if missing:
            raise NameError(f"An interpreted kernel cannot call {', '.join(sorted(missing))}.")

        def call(args: int, begin: int, end: int) -> None:
            try:
                with np.errstate(all="ignore"):
                    kernel(ctypes.cast(args, ctypes.POINTER(ctypes.c_int64)), begin, end)
            except BaseException as error:
                self.failures.append(error)

        self._callback = KERNEL_PROTOTYPE(call)

    def done(self) -> bool:
        return True

    def failed(self) -> bool:
        return False

    def result(self, timeout: float | None = None) -> int:
        """The address that the machine calls."""
        return int(ctypes.cast(self._callback, ctypes.c_void_p).value or 0)


_kernels: dict[str, InterpretedKernel | None] = {}
"""For good, as compiled ones are: some program may still have the address. None for texts that are compiled."""


@contextlib.contextmanager
def interpreted() -> Iterator[None]:
    """Kernels of plans that are compiled meanwhile are interpreted."""
    compiled = Compiler.compile_many

    def compile_many(compiler: Compiler, sources: Sequence[str]) -> list[Any]:
        found = [_kernel(source) for source in sources]
        others = iter(
            compiled(compiler, [s for s, kernel in zip(sources, found, strict=True) if kernel is None])
        )
        return [next(others) if kernel is None else kernel for kernel in found]

    InterpretedKernel.failures.clear()
    with mock.patch.object(Compiler, "compile_many", compile_many):
        yield
    if InterpretedKernel.failures:
        raise InterpretedKernel.failures[0]


def _kernel(source: str) -> InterpretedKernel | None:
    if source not in _kernels:
        _kernels[source] = None
        if source.lstrip().startswith(_OPENING):
            with contextlib.suppress(NameError):
                _kernels[source] = InterpretedKernel(source)
    return _kernels[source]


# ---- what the texts call ------------------------------------------------------------------------------------------


class _Pointer:
    """Memory from an address on, and before it."""

    __slots__ = ("elements",)

    def __init__(self, elements: Any) -> None:
        self.elements = elements

    def __getitem__(self, index: int) -> Any:
        return self.elements[index + _AHEAD]

    def __setitem__(self, index: int, value: Any) -> None:
        self.elements[index + _AHEAD] = value


def _pointer(kind: str) -> Callable[[int], _Pointer]:
    memory, item = _C_TYPES[kind] * (2 * _AHEAD), ctypes.sizeof(_C_TYPES[kind])

    def pointer(address: int) -> _Pointer:
        return _Pointer(np.frombuffer(memory.from_address(int(address) - _AHEAD * item), kind))

    return pointer


def _load(pointer: _Pointer, index: int, scope: int) -> Any:
    return pointer.elements[index + _AHEAD]


def _store(pointer: _Pointer, index: int, value: Any, scope: int) -> None:
    pointer.elements[index + _AHEAD] = value


def _matrix(kind: str, address: int, rows: int, columns: int, step: int) -> Any:
    """A matrix where it lies, `step` elements from row to row."""
    item = ctypes.sizeof(_C_TYPES[kind])
    memory = (_C_TYPES[kind] * ((rows - 1) * step + columns)).from_address(int(address))
    return np.lib.stride_tricks.as_strided(np.frombuffer(memory, kind), (rows, columns), (step * item, item))


def _product(kind: str) -> Callable[..., None]:
    """BLAS's gemm: flags (transpose a, transpose b, accumulate), sizes (m, n, k), operands with their steps."""

    def product(function: int, flags: Sequence[int], sizes: Sequence[int], operands: Sequence[int]) -> None:
        (m, n, k), (a, a_step, b, b_step, c, c_step) = sizes, operands
        first = _matrix(kind, a, k, m, a_step).T if flags[0] else _matrix(kind, a, m, k, a_step)
        second = _matrix(kind, b, n, k, b_step).T if flags[1] else _matrix(kind, b, k, n, b_step)
        target = _matrix(kind, c, m, n, c_step)
        target[...] = first @ second + (target if flags[2] else 0)

    return product


def _conversion(kind: str) -> Callable[[Any], Any]:
    target = np.dtype(kind).type

    def convert(value: Any) -> Any:
        return np.asarray(value).astype(target)[()]

    return convert


def _of_floats(function: Callable[..., float]) -> Callable[..., Any]:
    """A function of the mathematics library in the dtype of its operands; what it does not take is NaN."""

    def computed(*values: Any) -> Any:
        try:
            return values[0].dtype.type(function(*map(float, values)))
        except OverflowError:
            return values[0].dtype.type(math.inf)
        except ValueError:
            return values[0].dtype.type(math.nan)

    return computed


def _extremum(greater: bool) -> Callable[[Any, Any], Any]:
    def extremum(first: Any, second: Any) -> Any:
        if first != first:
            return first
        return second if second != second or (second > first) == greater and second != first else first

    return extremum


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))


_FLOAT_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **{name: getattr(np, name) for name in ("exp", "expm1", "log", "log1p", "tanh", "sqrt", "abs", "floor", "ceil",
       "trunc", "sign", "sin", "cos", "tan", "sinh", "cosh", "log2", "log10", "exp2", "fmod")},
    "round": np.rint, "pow": np.power, "atan2": np.arctan2, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "floor_modulo": np.mod,
    "erf": _of_floats(math.erf), "erfc": _of_floats(math.erfc), "lgamma": _of_floats(math.lgamma),
    "sigmoid": _of_floats(_sigmoid), "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
    "rsqrt": lambda x: x.dtype.type(1) / np.sqrt(x),
}  # fmt: skip
_NAMESPACE: Final[dict[str, Any]] = {
    "kernel_function": lambda function: function,
    "load": _load,
    "store": _store,
    "select": lambda condition, chosen, other: chosen if condition else other,
    "accumulate_sum": lambda total, value: total + value,
    "accumulate_prod": lambda total, value: total * value,
    **dict.fromkeys(("accumulate_max", "maximum"), _extremum(True)),
    **dict.fromkeys(("accumulate_min", "minimum"), _extremum(False)),
    "fused_multiply_add": lambda first, second, addend: first * second + addend,
    "integer_floor_divide": lambda a, b: a // b if b else a,
    "integer_floor_modulo": lambda a, b: a % b if b else a,
    "integer_truncate_divide": lambda a, b: np.trunc(a / b).astype(a.dtype) if b else a,
    "integer_truncate_modulo": lambda a, b: np.fmod(a, b) if b else a,
    **{f"f_{name}": function for name, function in _FLOAT_FUNCTIONS.items()},
    **{f"pointer_{kind}": _pointer(kind) for kind in _C_TYPES},
    **{f"to_{kind}": _conversion(kind) for kind in _C_TYPES},
    **{kind: np.dtype(kind).type for kind in _C_TYPES},
    **{f"call_gemm_{kind}_{bits}": _product(kind) for kind in ("float32", "float64") for bits in (32, 64)},
    "copy_bytes": lambda target, source, count: ctypes.memmove(int(target), int(source), int(count)),
    "fill_zero": lambda target, count: ctypes.memset(int(target), 0, int(count)),
    "bits_float32": lambda word: np.array([word], np.int64).view(np.float32)[0],
    "bits_float64": lambda word: np.array([word], np.int64).view(np.float64)[0],
}
