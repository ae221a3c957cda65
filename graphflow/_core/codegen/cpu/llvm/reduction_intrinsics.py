# mypy: disable-error-code="untyped-decorator, import-untyped, import-not-found, no-any-return, no-untyped-call"
"""Sums and products of runs of floating-point numbers, in an order that is said here and not left to LLVM.

Imported only by the compiler process. Element k of a run is added to lane k % LANES as long as whole groups of LANES
are there; the rest goes, in order, to a tail; the lanes are then added by halves, and the tail last. So every kernel
that reduces a run gives the same bits, whatever else is in its loop and however wide the processor's vectors are:
the fused kernel of a region and the blocks that the array machine takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core import types as numba_types
from numba.extending import intrinsic

types: Any = numba_types  # Numba's own annotations do not know its type constructors
LANES = 32
_WORD = ir.IntType(64)
_BYTES = {"float32": 4, "float64": 8}


def _stack_intrinsic(element: Any) -> Any:
    @intrinsic(prefer_literal=True)
    def stack(typing_context: Any, count: Any) -> Any:
        """`count` elements (a literal) on the native stack, in lines of their own; not initialised."""
        number = count.literal_value
        signature = types.CPointer(element)(count)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = context.get_data_type(element)
            with builder.goto_entry_block():
                block = builder.alloca(kind, number)
            block.align = 64
            return block

        return signature, generate

    return stack


stack_float32 = _stack_intrinsic(types.float32)
stack_float64 = _stack_intrinsic(types.float64)
stack_int8 = _stack_intrinsic(types.int8)
stack_int16 = _stack_intrinsic(types.int16)
stack_int32 = _stack_intrinsic(types.int32)
stack_int64 = _stack_intrinsic(types.int64)
stack_uint8 = _stack_intrinsic(types.uint8)
stack_uint16 = _stack_intrinsic(types.uint16)


@intrinsic
def address_at(typing_context: Any, pointer: Any, index: Any) -> Any:
    """The address of pointer[index] as a word."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(builder.gep(args[0], [args[1]]), _WORD)

    return types.int64(pointer, types.int64), generate


def _vector_at(builder: Any, pointer: Any, kind: Any, index: Any) -> Any:
    return builder.bitcast(builder.gep(pointer, [index]), ir.VectorType(kind, LANES).as_pointer())


def _word(value: int) -> Any:
    return ir.Constant(_WORD, value)


@intrinsic
def lanes_start(typing_context: Any, lanes: Any, initial: Any) -> Any:
    """Begin a run: all lanes hold `initial`; the tail, if one lies behind them, is the caller's."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = args[1].type
        vector = ir.VectorType(kind, LANES)
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), args[1], ir.IntType(32)(0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        splat = builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), mask)
        builder.store(splat, _vector_at(builder, args[0], kind, _word(0)), align=16)
        return context.get_dummy_value()

    return types.void(lanes, lanes.dtype), generate


def _accumulating(operation: str) -> Callable[..., Any]:
    return lambda builder, a, b: builder.fadd(a, b) if operation == "sum" else builder.fmul(a, b)


def _lanes_intrinsic(operation: str) -> Any:
    combine = _accumulating(operation)

    @intrinsic
    def accumulate(typing_context: Any, lanes: Any, source: Any, count: Any) -> Any:
        """Take `count` further elements of a run in; only the last part of a run may be no multiple of LANES."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            target, numbers, n = args
            kind = target.type.pointee
            size = _BYTES["float32" if kind == ir.FloatType() else "float64"]
            groups = builder.sdiv(n, _word(LANES))
            slot = cgutils.alloca_once(builder, ir.VectorType(kind, LANES))
            builder.store(builder.load(_vector_at(builder, target, kind, _word(0)), align=16), slot)
            with cgutils.for_range(builder, groups, intp=_WORD) as loop:
                start = builder.mul(loop.index, _word(LANES))
                group = builder.load(_vector_at(builder, numbers, kind, start), align=size)
                builder.store(combine(builder, builder.load(slot), group), slot)
            builder.store(builder.load(slot), _vector_at(builder, target, kind, _word(0)), align=16)
            tail = builder.gep(target, [_word(LANES)])
            rest = cgutils.alloca_once(builder, kind)
            builder.store(builder.load(tail), rest)
            with cgutils.for_range(builder, n, start=builder.mul(groups, _word(LANES)), intp=_WORD) as loop:
                value = builder.load(builder.gep(numbers, [loop.index]))
                builder.store(combine(builder, builder.load(rest), value), rest)
            builder.store(builder.load(rest), tail)
            return context.get_dummy_value()

        return types.void(lanes, source, types.int64), generate

    return accumulate


def _fold_intrinsic(operation: str) -> Any:
    combine = _accumulating(operation)

    @intrinsic
    def fold(typing_context: Any, lanes: Any, tail: Any) -> Any:
        """The result of a run: its lanes by halves, then the tail."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = args[0].type.pointee
            value = builder.load(_vector_at(builder, args[0], kind, _word(0)), align=16)
            width = LANES
            while width > 1:
                width //= 2
                kinds = ir.VectorType(ir.IntType(32), width)
                low = builder.shuffle_vector(value, value, ir.Constant(kinds, list(range(width))))
                high = builder.shuffle_vector(value, value, ir.Constant(kinds, list(range(width, 2 * width))))
                value = combine(builder, low, high)
            total = builder.extract_element(value, ir.IntType(32)(0))
            return combine(builder, total, args[1])

        return lanes.dtype(lanes, lanes.dtype), generate

    return fold


lanes_sum = _lanes_intrinsic("sum")
lanes_prod = _lanes_intrinsic("prod")
fold_sum = _fold_intrinsic("sum")
fold_prod = _fold_intrinsic("prod")

__all__ = [
    *("address_at", "fold_prod", "fold_sum", "lanes_prod", "lanes_start", "lanes_sum"),
    *(name for name in dict(globals()) if name.startswith("stack_")),
]
