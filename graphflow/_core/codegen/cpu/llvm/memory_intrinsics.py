# mypy: disable-error-code="untyped-decorator, import-untyped, import-not-found, no-any-return"
"""Intrinsics that touch memory or call through addresses: typed loads and stores, copies, atomics, kernels, BLAS.

Imported only by the compiler process. Every load and store names a scope, so that LLVM knows what cannot overlap
without run-time checks, which decides whether a loop with many buffers is vectorised.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types as numba_types
from numba.extending import intrinsic

from graphflow._core.codegen.cpu.llvm.pieces import annotate

types: Any = numba_types  # Numba's own annotations do not know its type constructors
_WORD = ir.IntType(64)


# ---- memory ---------------------------------------------------------------------------------------------------------


def _pointer_intrinsic(element: Any) -> Any:
    @intrinsic
    def pointer(typing_context: Any, word: Any) -> Any:
        signature = types.CPointer(element)(types.int64)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return signature, generate

    return pointer


pointer_float32 = _pointer_intrinsic(types.float32)
pointer_float64 = _pointer_intrinsic(types.float64)
pointer_int8 = _pointer_intrinsic(types.int8)
pointer_int16 = _pointer_intrinsic(types.int16)
pointer_int32 = _pointer_intrinsic(types.int32)
pointer_int64 = _pointer_intrinsic(types.int64)
pointer_uint8 = _pointer_intrinsic(types.uint8)
pointer_uint16 = _pointer_intrinsic(types.uint16)


@intrinsic(prefer_literal=True)
def load(typing_context: Any, pointer: Any, index: Any, scope: Any) -> Any:
    """Read pointer[index]; `scope` as in `store`."""
    number = scope.literal_value
    signature = pointer.dtype(pointer, types.int64, scope)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.load(builder.gep(args[0], [args[1]], inbounds=True))
        annotate(builder, value, number)
        return value

    return signature, generate


@intrinsic(prefer_literal=True)
def store(typing_context: Any, pointer: Any, index: Any, value: Any, scope: Any) -> Any:
    """Write pointer[index]; buffers of different scopes are promised not to overlap (0: only ever read)."""
    number = scope.literal_value
    signature = types.void(pointer, types.int64, pointer.dtype, scope)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        instruction = builder.store(args[2], builder.gep(args[0], [args[1]], inbounds=True))
        annotate(builder, instruction, number)
        return context.get_dummy_value()

    return signature, generate


@intrinsic(prefer_literal=True)
def transpose_block(
    typing_context: Any, source: Any, first: Any, stride: Any, target: Any, place: Any, step: Any, side: Any
) -> Any:
    """Write side x side elements transposed: target[place + i * step + j] = source[first + j * stride + i].

    All rows are in registers: at a time the halves of them change places that are not on the diagonal, then the halves
    of these. Source and target are of scopes 0 and 1, as in `store`.
    """
    count = side.literal_value
    word = types.int64
    signature = types.void(source, word, word, target, word, word, side)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.VectorType(context.get_value_type(source.dtype), count)

        def rows(pointer: Any, begin: Any, distance: Any) -> list[Any]:
            found = []
            for k in range(count):
                index = builder.add(begin, builder.mul(distance, ir.Constant(_WORD, k)))
                found.append(builder.bitcast(builder.gep(pointer, [index], inbounds=True), kind.as_pointer()))
            return found

        values = []
        for address in rows(args[0], args[1], args[2]):
            value = builder.load(address, align=1)
            annotate(builder, value, 0)
            values.append(value)
        half = count // 2
        while half:
            for i in (i for i in range(count) if not i & half):
                upper, lower = values[i], values[i + half]
                kept = [j + count - half if j & half else j for j in range(count)]
                moved = [j + count if j & half else j + half for j in range(count)]
                for place, order in ((i, kept), (i + half, moved)):
                    mask = ir.Constant(ir.VectorType(ir.IntType(32), count), order)
                    values[place] = builder.shuffle_vector(upper, lower, mask)
            half //= 2
        for address, value in zip(rows(args[3], args[4], args[5]), values, strict=True):
            annotate(builder, builder.store(value, address, align=1), 1)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def copy_bytes(typing_context: Any, target: Any, source: Any, count: Any) -> Any:
    """Copy `count` bytes between addresses that do not overlap."""
    signature = types.void(types.int64, types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        function = builder.module.declare_intrinsic("llvm.memcpy", [pointer, pointer, _WORD])
        where = [builder.inttoptr(address, pointer) for address in args[:2]]
        builder.call(function, [*where, args[2], ir.Constant(ir.IntType(1), 0)])
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def fill_zero(typing_context: Any, target: Any, count: Any) -> Any:
    """Set `count` bytes at an address to zero."""
    signature = types.void(types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        function = builder.module.declare_intrinsic("llvm.memset", [pointer, _WORD])
        byte, flag = ir.Constant(ir.IntType(8), 0), ir.Constant(ir.IntType(1), 0)
        builder.call(function, [builder.inttoptr(args[0], pointer), byte, args[1], flag])
        return context.get_dummy_value()

    return signature, generate


# ---- calls through addresses, atomics (for the sequencer and for BLAS) ---------------------------------


@intrinsic
def call_kernel(typing_context: Any, address: Any, args_word: Any, begin: Any, end: Any) -> Any:
    """Call the kernel at an address."""
    signature = types.void(types.int64, types.int64, types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = ir.FunctionType(ir.VoidType(), [_WORD, _WORD, _WORD])
        builder.call(builder.inttoptr(args[0], function.as_pointer()), args[1:])
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def call_word(typing_context: Any, address: Any, argument: Any) -> Any:
    """Call a C function int f(word) at an address."""
    signature = types.int32(types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = ir.FunctionType(ir.IntType(32), [_WORD])
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), args[1:])

    return signature, generate


def _gemm_intrinsic(integer: Any, scalar: Any) -> Any:
    @intrinsic
    def call_gemm(typing_context: Any, address: Any, flags: Any, sizes: Any, operands: Any) -> Any:
        """Call cblas ?gemm, row major: flags (trans a, trans b, accumulate), sizes (m, n, k),
        operands (a, lda, b, ldb, c, ldc).
        """
        words = [types.UniTuple(types.int64, count) for count in (3, 3, 6)]

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            small = ir.IntType(32)
            groups = [
                [builder.extract_value(group, k) for k in range(count)]
                for group, count in zip(args[1:], (3, 3, 6))
            ]
            (trans_a, trans_b, accumulate), sizes, (a, lda, b, ldb, c, ldc) = groups
            size = [builder.trunc(n, integer) if integer.width < 64 else n for n in (*sizes, lda, ldb, ldc)]
            transposed = [
                builder.add(builder.trunc(flag, small), ir.Constant(small, 111))
                for flag in (trans_a, trans_b)
            ]
            one, zero = ir.Constant(scalar, 1.0), ir.Constant(scalar, 0.0)
            beta = builder.select(builder.icmp_signed("!=", accumulate, ir.Constant(_WORD, 0)), one, zero)
            kinds = (
                [small] * 3 + [integer] * 3 + [scalar, _WORD, integer, _WORD, integer, scalar, _WORD, integer]
            )
            function = builder.inttoptr(args[0], ir.FunctionType(ir.VoidType(), kinds).as_pointer())
            row_major = ir.Constant(small, 101)
            values = [row_major, *transposed, *size[:3], one, a, size[3], b, size[4], beta, c, size[5]]
            builder.call(function, values)
            return context.get_dummy_value()

        return types.void(types.int64, *words), generate

    return call_gemm


call_gemm_float32_64 = _gemm_intrinsic(ir.IntType(64), ir.FloatType())
call_gemm_float64_64 = _gemm_intrinsic(ir.IntType(64), ir.DoubleType())
call_gemm_float32_32 = _gemm_intrinsic(ir.IntType(32), ir.FloatType())
call_gemm_float64_32 = _gemm_intrinsic(ir.IntType(32), ir.DoubleType())


def _word_at(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _WORD.as_pointer())


@intrinsic
def atomic_load(typing_context: Any, address: Any) -> Any:
    """Read the word at an address, sequentially consistent."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_word_at(builder, args[0]), "seq_cst", 8)

    return types.int64(types.int64), generate


@intrinsic
def atomic_store(typing_context: Any, address: Any, value: Any) -> Any:
    """Write the word at an address, sequentially consistent."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[1], _word_at(builder, args[0]), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def atomic_add(typing_context: Any, address: Any, value: Any) -> Any:
    """Add to the word at an address; returns what it held before."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", _word_at(builder, args[0]), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def atomic_replace(typing_context: Any, address: Any, expected: Any, value: Any) -> Any:
    """Compare and swap the word at an address; true when it held `expected`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        result = builder.cmpxchg(_word_at(builder, args[0]), args[1], args[2], "seq_cst", "seq_cst")
        return builder.extract_value(result, 1)

    return types.boolean(types.int64, types.int64, types.int64), generate


@intrinsic
def relax(typing_context: Any) -> Any:
    """Tell the processor that this is a spinning loop."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if "x86" in builder.module.triple or "i686" in builder.module.triple:
            function = builder.module.declare_intrinsic(
                "llvm.x86.sse2.pause", fnty=ir.FunctionType(ir.VoidType(), [])
            )
            builder.call(function, [])
        else:
            builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate
