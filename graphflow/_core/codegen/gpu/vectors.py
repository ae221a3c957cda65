"""Four neighbouring elements in one access: what texts of kernels call `load4` and `store4`, and `take4` for those in
shared memory.

A GPU moves 128 bits for a thread at a time, and only if a program says that they are aligned, which no index of an
array does. So these two are written as instructions for the compiler, apart from toolkit.py the only place that is
Numba's own. In the simulator they are four accesses, which check what a GPU would not forgive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

WIDTH: Final = 4
"""Elements of an access."""
_MOST_BYTES: Final = 16
_GLOBAL_MEMORY: Final = 1


def address(array: Any) -> int:
    """Where an array of the device begins."""
    pointer = getattr(array, "device_ctypes_pointer", None)
    return int(array.ctypes.data if pointer is None else pointer.value or 0)


def alignment(itemsize: int) -> int:
    """What the address of four elements must be a multiple of."""
    return min(_MOST_BYTES, WIDTH * itemsize)


def lies_well(array: Any, start: int, strides: Sequence[int]) -> bool:
    """Whether elements can be taken by fours from element `start` of an array on, and `strides` (elements) further."""
    itemsize = np.dtype(array.dtype).itemsize
    begins = address(array) + start * itemsize
    return begins % alignment(itemsize) == 0 and all(stride % WIDTH == 0 for stride in strides)


def simulated() -> dict[str, Callable[..., Any]]:
    """The functions for the simulator."""

    def checked(array: Any, start: int) -> None:
        if not lies_well(array, start, ()):
            raise ValueError(f"element {start} is not where four elements can be taken at once")

    def load4(array: Any, start: int) -> tuple[Any, ...]:
        checked(array, start)
        return tuple(array[start + k] for k in range(WIDTH))

    def store4(array: Any, start: int, *values: Any) -> None:
        checked(array, start)
        for k, value in enumerate(values):
            array[start + k] = value

    return {"load4": load4, "store4": store4, "take4": load4}


def compiled() -> dict[str, Any]:
    """The functions for a GPU: load4(array, start) gives a tuple, store4(array, start, a, b, c, d) nothing.

    take4 is load4 for an array in shared memory, made with alignment=16.
    """
    ir: Any = import_module("llvmlite.ir")
    types: Any = import_module("numba.cuda").types
    intrinsic: Callable[[Any], Any] = import_module("numba.cuda.extending").intrinsic
    lanes = [ir.Constant(ir.IntType(32), k) for k in range(WIDTH)]

    def vector(
        context: Any, builder: Any, kind: Any, array: Any, start: Any, memory: int | None = _GLOBAL_MEMORY
    ) -> tuple[Any, int]:
        data = context.make_array(kind)(context, builder, array).data
        several = ir.VectorType(context.get_data_type(kind.dtype), WIDTH)
        pointer = builder.bitcast(builder.gep(data, [start]), several.as_pointer())
        if memory is not None:  # Which it is in is lost if a kernel picks one of several arrays.
            pointer = builder.addrspacecast(pointer, several.as_pointer(memory))
        return pointer, alignment(kind.dtype.bitwidth // 8)

    def loading(memory: int | None) -> Callable[[Any, Any, Any], Any]:
        def load(typing: Any, array: Any, start: Any) -> Any:
            def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
                pointer, align = vector(context, builder, signature.args[0], given[0], given[1], memory)
                loaded = builder.load(pointer, align=align)
                elements = [builder.extract_element(loaded, lane) for lane in lanes]
                return context.make_tuple(builder, signature.return_type, elements)

            return types.UniTuple(array.dtype, WIDTH)(array, types.int64), code

        return load

    load4, take4 = intrinsic(loading(_GLOBAL_MEMORY)), intrinsic(loading(None))

    @intrinsic
    def store4(typing: Any, array: Any, start: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            pointer, align = vector(context, builder, signature.args[0], *given[:2])
            several = ir.Constant(pointer.type.pointee, ir.Undefined)
            for lane, value in zip(lanes, given[2:], strict=True):
                several = builder.insert_element(several, value, lane)
            builder.store(several, pointer, align=align)
            return context.get_dummy_value()

        return types.void(array, types.int64, *[array.dtype] * WIDTH), code

    return {"load4": load4, "store4": store4, "take4": take4}
