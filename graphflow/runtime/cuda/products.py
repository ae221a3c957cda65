"""Rules of matrix products on a GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from graphflow.plan.ir import Instruction
from graphflow.runtime.compiled.lower import Lowering
from graphflow.runtime.compiled.values import Value
from graphflow.runtime.cuda.nodes import Places, device_node

_FLOATS: Final = ("float32", "float64")


def product_rule(lowering: Lowering, i: Instruction) -> bool:
    """Lowers MatMul and BatchMatMulV2."""
    a, b = (lowering.value(n) for n in i.inputs)
    if a is None or b is None or a.dtype not in _FLOATS:
        return False
    if i.attrs.get("transpose_a", False) or i.attrs.get("adj_x", False):
        a = turned(a)
    if i.attrs.get("transpose_b", False) or i.attrs.get("adj_y", False):
        b = turned(b)
    batch_shape = lowering.shape(i.outputs[0])[:-2]
    first, second = (_batched(lowering, i, v, batch_shape) for v in (a, b))
    target = lowering.result(i)
    add_product(lowering, i, first, second, target, math.prod(batch_shape))
    return True


def add_product(
    lowering: Lowering,
    i: Instruction,
    a: Value,
    b: Value,
    target: Value,
    batch: int = 1,
    accumulate: bool = False,
) -> None:
    """Adds target = a @ b (or +=): matrices, or with a leading batch axis; of any strides."""
    sizes = (a.shape[-2], b.shape[-1], a.shape[-1])

    def build(places: Places) -> Sequence[Any]:
        from graphflow.kernels.cuda import cublas
        from graphflow.kernels.cuda.matmul import Matrix, product_launch

        matrices = [
            Matrix(places.array(v), v.strides[0] if len(v.shape) > 2 else 0, v.strides[-2], v.strides[-1])
            for v in (a, b)
        ]
        c = places.array(target)
        call = cublas.product_call(
            places.device, a.dtype, sizes, matrices[0], matrices[1], c, batch, accumulate
        )
        if call is not None:
            return [call]
        return [product_launch(a.dtype, sizes, matrices[0], matrices[1], c, batch, accumulate)]

    lowering.add(device_node(i, [a, b, *([target] if accumulate else [])], [target], build))


def turned(value: Value) -> Value:
    """The matrices transposed."""
    shape, strides = value.shape, value.strides
    return Value(
        value.root, value.dtype, (*shape[:-2], shape[-1], shape[-2]), (*strides[:-2], strides[-1], strides[-2]),
        value.offset,
    )  # fmt: skip


def _batched(lowering: Lowering, i: Instruction, value: Value, batch: tuple[int, ...]) -> Value:
    """The matrices with one batch axis, along which a broadcast operand has the stride 0."""
    if not batch:
        return value
    matrix = value.shape[-2:]
    own = value.shape[:-2]
    if math.prod(own) == 1:
        strides: tuple[int, ...] = (0, *value.strides[-2:])
        return Value(value.root, value.dtype, (math.prod(batch), *matrix), strides, value.offset)
    if own != batch:
        spread = Value(
            value.root, value.dtype, (*batch, *matrix), value.broadcast((*batch, *matrix)), value.offset
        )
        value = copied(lowering, i, spread)
    if len(batch) > 1 and not value.contiguous:
        value = lowering.compact(i, value)
    strides = (value.strides[-3], *value.strides[-2:])
    return Value(value.root, value.dtype, (math.prod(batch), *matrix), strides, value.offset)


def copied(lowering: Lowering, i: Instruction, value: Value) -> Value:
    """A copy that lies side by side."""
    copy = lowering.temporary(i.name, value.dtype, value.shape)
    lowering.elementwise(i, "{0}", [value], copy)
    return copy
