"""Rules of matrix products on a GPU, with the bias and the relu after them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from graphflow._core.codegen.gpu.kernels.cublas_lt import library, product_call
from graphflow._core.codegen.gpu.kernels.matmul import Matrix, PlacedProduct, product_launches, product_layout
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.gpu.nodes import Buffers, DeviceNode
from graphflow._core.compiler.lower import DisagreementError, Lowering
from graphflow._core.compiler.nodes import Statements
from graphflow._core.compiler.shared.strided import copied
from graphflow._core.compiler.values import Value, spreads
from graphflow._core.plan.ir import Instruction

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
    if a.shape[-1] != b.shape[-2] or not all(spreads(v.shape[:-2], batch_shape) for v in (a, b)):
        raise DisagreementError(i.describe())
    first, second = (_batched(lowering, i, v, batch_shape) for v in (a, b))
    target = lowering.result(i)
    add_product(lowering, i, first, second, target, math.prod(batch_shape))
    return True


@dataclass(frozen=True)
class Product:
    """target = a @ b, or += if it accumulates: matrices, or with a leading batch axis; of any strides.

    bias: a number for each column that is added. relu: whether negative results become 0. partial: a block for the
    results of stretches of the depth, if the product is cut into these.
    """

    a: Value
    b: Value
    target: Value
    batch: int = 1
    accumulate: bool = False
    bias: Value | None = None
    relu: bool = False
    partial: Value | None = None


@dataclass(eq=False)
class ProductNode(DeviceNode):
    """A product, which may take the bias and the relu after it in."""

    product: Product | None = None

    def combined(self, following: Statements, position: int, target: Value) -> ProductNode | None:
        """The node that does what a following one does to its result as well; None if there is none."""
        i, product = following.instruction, self.product
        # NVIDIA's library does more than a product for float32 alone.
        if product is None or product.accumulate or product.relu or target.dtype != "float32":
            return None
        if i.type == "Relu" and len(following.reads) == 1:
            return product_node(i, replace(product, target=target, relu=True))
        if i.type not in ("BiasAdd", "Add", "AddV2") or len(following.reads) != 2 or product.bias is not None:
            return None
        added, columns = following.reads[1 - position], product.b.shape[-1]
        if added.shape != (columns,) or not added.contiguous or target.shape[-1] != columns:
            return None
        return product_node(i, replace(product, target=target, bias=added))


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
    pieces = 1 if library() is not None else product_layout(a.dtype, sizes, batch).pieces
    partial = lowering.temporary(i.name, a.dtype, (pieces, target.size)) if pieces > 1 else None
    lowering.add(product_node(i, Product(a, b, target, batch, accumulate, partial=partial)))


def product_node(i: Instruction, product: Product) -> ProductNode:
    """The node that computes a product, for an instruction."""
    a, b, target, bias = product.a, product.b, product.target, product.bias
    sizes = (a.shape[-2], b.shape[-1], a.shape[-1])

    def build(buffers: Buffers) -> Sequence[Any]:
        first, second = (
            Matrix(buffers.array(v), v.strides[0] if len(v.shape) > 2 else 0, v.strides[-2], v.strides[-1])
            for v in (a, b)
        )
        added = None if bias is None else buffers.array(bias)
        placed = PlacedProduct(
            a.dtype, sizes, first, second, buffers.array(target),
            product.batch, product.accumulate, added, product.relu,
        )  # fmt: skip
        call = product_call(buffers.device, placed)
        if call is not None:
            return [call]
        partial = None if product.partial is None else buffers.array(product.partial)
        return product_launches(placed, partial)

    reads = [a, b, *([target] if product.accumulate else []), *([] if bias is None else [bias])]
    made = [target.root, *([] if product.partial is None else [product.partial.root])]
    return ProductNode(i, reads, made, build=build, product=product)


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
    step = value.step_over(len(batch))
    assert step is not None  # It is one axis, or lies side by side.
    strides = (step, *value.strides[-2:])
    return Value(value.root, value.dtype, (math.prod(batch), *matrix), strides, value.offset)
