"""Writes the LLVM instructions of a register-tiled kernel, and wraps them as a Numba `kernel`.

Numba has no array of accumulators that stays in registers: a local array goes to the heap, and its vectoriser does not
find the tiles. So convolutions and pooling say their vectors themselves, through the builder that an @intrinsic is
given. This file is not imported by the library. `conv.py` and `pooling.py` put its text, followed by that of
`conv_emitter.py` or `pooling_emitter.py` and one line of parameters, into the source of each kernel, so that the source
stands alone in the process that compiles it and a change here changes the hash by which the kernel is cached.
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import cfunc
from numba.core import types as numba_types
from numba.extending import intrinsic

types: Any = numba_types  # Numba's own annotations do not know its type constructors
INDEX = ir.IntType(64)
POINTER = ir.PointerType()
Body = Callable[["Emitter", Any, Any, Any, dict[str, Any]], None]


class Emitter:
    """Emits into one LLVM function; sizes known when the kernel is generated are Python ints, others LLVM values.

    `element` is "float32" or "float64", `fused` says that the processor has fused multiply-add (without it the
    instruction would become a call into libm).
    """

    def __init__(self, function: ir.Function, element: str, fused: bool) -> None:
        self.function = function
        self.module = function.module
        self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        self.element = ir.FloatType() if element == "float32" else ir.DoubleType()
        self.bytes = 4 if element == "float32" else 8
        self.fused = fused

    def index(self, value: Any) -> Any:
        """An int64 value of a Python int, or the value itself."""
        return ir.Constant(INDEX, value) if isinstance(value, int) else value

    def add(self, *terms: Any) -> Any:
        """The sum of int64 terms, those known now added now."""
        known = sum(term for term in terms if isinstance(term, int))
        values = [term for term in terms if not isinstance(term, int)]
        if not values:
            return known
        total = values[0]
        for value in values[1:]:
            total = self.builder.add(total, value)
        return self.builder.add(total, self.index(known)) if known else total

    def multiply(self, value: Any, factor: int) -> Any:
        """An int64 times a number known now."""
        if isinstance(value, int):
            return value * factor
        return value if factor == 1 else self.builder.mul(value, self.index(factor))

    def divide(self, value: Any, divisor: int) -> tuple[Any, Any]:
        """Quotient and remainder of an int64 that is not negative, by a number known now."""
        if divisor == 1:
            return value, 0
        quotient = self.builder.udiv(value, self.index(divisor))
        return quotient, self.builder.sub(value, self.multiply(quotient, divisor))

    def smaller(self, left: Any, right: Any) -> Any:
        """The smaller of two int64 values."""
        left, right = self.index(left), self.index(right)
        return self.builder.select(self.builder.icmp_signed("<", left, right), left, right)

    def larger(self, left: Any, right: Any) -> Any:
        """The larger of two int64 values."""
        left, right = self.index(left), self.index(right)
        return self.builder.select(self.builder.icmp_signed(">", left, right), left, right)

    def argument(self, arguments: Any, position: int) -> Any:
        """The int64 word at a position of the kernel's argument list."""
        slot = self.builder.gep(arguments, [self.index(position)], source_etype=INDEX)
        return self.builder.load(slot, typ=INDEX)

    def pointer(self, arguments: Any, position: int) -> Any:
        """The address at a position of the kernel's argument list."""
        return self.builder.inttoptr(self.argument(arguments, position), POINTER)

    def table(self, values: Sequence[int], position: Any) -> Any:
        """`values[position]`, from a constant table unless one value, or one step from entry to entry, says it all."""
        if isinstance(position, int):
            return values[position]
        step = values[1] - values[0] if len(values) > 1 else 0
        if all(value == values[0] + i * step for i, value in enumerate(values)):
            return self.add(self.multiply(position, step), values[0]) if step else values[0]
        kind = ir.ArrayType(INDEX, len(values))
        name = self.module.get_unique_name(f"{self.function.name}.table")
        data = ir.GlobalVariable(self.module, kind, name)
        data.linkage, data.global_constant = "internal", True
        data.initializer = ir.Constant(kind, list(values))
        slot = self.builder.gep(data, [self.index(position)], source_etype=INDEX)
        return self.builder.load(slot, typ=INDEX)

    def vector(self, lanes: int) -> Any:
        """The type of that many elements; one is a scalar."""
        return self.element if lanes == 1 else ir.VectorType(self.element, lanes)

    def constant(self, value: float, lanes: int) -> Any:
        """A constant in every lane."""
        return ir.Constant(self.vector(lanes), value if lanes == 1 else [value] * lanes)

    def address(self, pointer: Any, *offset: Any) -> Any:
        """The address of an element, its offset given as terms."""
        return self.builder.gep(pointer, [self.index(self.add(*offset))], source_etype=self.element)

    def load(self, pointer: Any, offset: Any, lanes: int) -> Any:
        """`lanes` elements from an offset on; no alignment beyond the element's is asked for."""
        return self.builder.load(self.address(pointer, offset), typ=self.vector(lanes), align=self.bytes)

    def store(self, value: Any, pointer: Any, offset: Any) -> None:
        """Stores a vector at an element offset."""
        self.builder.store(value, self.address(pointer, offset), align=self.bytes)

    def spread(self, value: Any, lanes: int) -> Any:
        """One scalar in every lane."""
        if lanes == 1:
            return value
        kind = ir.VectorType(value.type, lanes)
        first = self.builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.IntType(32)(0))
        order = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        return self.builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), order)

    def multiply_add(self, left: Any, right: Any, total: Any) -> Any:
        """`left * right + total`, rounded once where the processor can."""
        if not self.fused:
            return self.builder.fadd(self.builder.fmul(left, right), total)
        kind = total.type
        lanes = f"v{kind.count}" if isinstance(kind, ir.VectorType) else ""
        name = f"llvm.fma.{lanes}f{self.bytes * 8}"
        function = self.module.globals.get(name)
        if function is None:
            function = ir.Function(self.module, ir.FunctionType(kind, [kind] * 3), name)
        return self.builder.call(function, [left, right, total])

    def loop(
        self,
        start: Any,
        stop: Any,
        body: Callable[[Any, list[Any]], Sequence[Any]],
        carried: Sequence[Any] = (),
        step: int = 1,
    ) -> list[Any]:
        """`for i in range(start, stop, step): carried = body(i, carried)`; returns what is carried out of it.

        The body is emitted once. Whether the loop runs at all is tested only where that is not known.
        """
        known = isinstance(start, int) and isinstance(stop, int)
        if known and stop <= start:
            return list(carried)
        if known and stop - start <= step:
            return list(body(start, list(carried)))
        builder, first, last = self.builder, self.index(start), self.index(stop)
        before = builder.block
        inside = self.function.append_basic_block("loop")
        after = self.function.append_basic_block("after")
        if known:
            builder.branch(inside)
        else:
            builder.cbranch(builder.icmp_signed("<", first, last), inside, after)
        builder.position_at_end(inside)
        counter = builder.phi(INDEX)
        counter.add_incoming(first, before)
        entering = []
        for value in carried:
            phi = builder.phi(value.type)
            phi.add_incoming(value, before)
            entering.append(phi)
        leaving = list(body(counter, list(entering)))
        following = builder.add(counter, self.index(step))
        end = builder.block
        counter.add_incoming(following, end)
        for phi, value in zip(entering, leaving):
            phi.add_incoming(value, end)
        builder.cbranch(builder.icmp_signed("<", following, last), inside, after)
        builder.position_at_end(after)
        if known:
            return leaving
        results = []
        for value, changed in zip(carried, leaving):
            phi = builder.phi(value.type)
            phi.add_incoming(value, before)
            phi.add_incoming(changed, end)
            results.append(phi)
        return results


def define_kernel(body: Body, parameters: dict[str, Any]) -> Any:
    """The Numba callback `void kernel(int64* arguments, int64 begin, int64 end)` with what `body` emits.

    The instructions go into a function of their own, so that the callback around it is small and its error paths,
    which need Python's symbols, fold away.
    """

    @intrinsic
    def emitted(typing_context, arguments, begin, end):  # type: ignore[no-untyped-def]
        signature = types.void(types.CPointer(types.int64), types.int64, types.int64)

        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            kind = ir.FunctionType(ir.VoidType(), [POINTER, INDEX, INDEX])
            name = builder.module.get_unique_name(builder.function.name + ".body")
            function = ir.Function(builder.module, kind, name)
            function.linkage = "internal"
            emitter = Emitter(function, parameters["element"], parameters["fused"])
            first, second, third = function.args
            body(emitter, first, second, third, parameters)
            emitter.builder.ret_void()
            pointer = builder.bitcast(values[0], POINTER) if values[0].type != POINTER else values[0]
            builder.call(function, [pointer, values[1], values[2]])
            return context.get_dummy_value()

        return signature, generate

    call: Any = emitted

    @cfunc("void(CPointer(int64), int64, int64)")
    def kernel(arguments, begin, end):  # type: ignore[no-untyped-def]
        call(arguments, begin, end)

    return kernel
