"""Matrix products as nodes that later passes can read: what is multiplied, and into which block."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.codegen.cpu import blas
from graphflow._core.codegen.cpu.kernels.kernel_source import host_vector_unit
from graphflow._core.codegen.cpu.sources import products as small
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.nodes import Address, KernelNode
from graphflow._core.compiler.values import Value
from graphflow._core.graph.shapes import Dims
from graphflow._core.plan.ir import Instruction, Plan

_FLOATS: Final = ("float32", "float64")


@dataclass(frozen=True)
class Product:
    """target = op(first) @ op(second), or += with `accumulate`; `flips` says which operands are transposed.

    `depth` elements of the operands are multiplied for each of the result; strides are those of the batch. The target
    is a block that holds the result row by row. It may have another shape than the result, since a product that is a
    term of a sum is often seen through a reshape there.
    """

    first: Value
    second: Value
    target: Value
    flips: tuple[bool, bool]
    depth: int
    batch: int = 1
    strides: tuple[int, int] = (0, 0)
    accumulate: bool = False

    @property
    def rows(self) -> int:
        """The rows of one result."""
        return self.first.shape[-1 if self.flips[0] else -2]

    @property
    def columns(self) -> int:
        """The columns of one result."""
        return self.second.shape[-2 if self.flips[1] else -1]


@dataclass(eq=False)
class ProductNode(KernelNode):
    """The node of a product."""

    product: Product | None = None


def product_node(i: Instruction, product: Product) -> ProductNode:
    """The node of a product, for an instruction."""
    library = blas.find_blas()
    first, second = matrix_layout(product.first), matrix_layout(product.second)
    assert library is not None and first is not None and second is not None
    (first_step, first_turned), (second_step, second_turned) = first, second
    rows, columns = product.rows, product.columns
    if product.target.size != product.batch * rows * columns or not product.target.contiguous:
        raise ValueError(f"A product of {rows} by {columns} does not fill {product.target}.")

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return blas.gemm_steps(
            kernels[0],
            library,
            product.target.dtype,
            (rows, columns, product.depth),
            (address(product.first), first_step, product.flips[0] != first_turned),
            (address(product.second), second_step, product.flips[1] != second_turned),
            (address(product.target), columns),
            product.accumulate,
            product.batch,
            (*product.strides, rows * columns),
        )

    source = blas.gemm_source(product.target.dtype, library.integer_bits)
    reads = [product.first, product.second]
    return ProductNode(
        i, reads, [product.target.root], sources=[source], emit=emit, blas=True, product=product
    )


def matrix_layout(value: Value) -> tuple[int, bool] | None:
    """(elements from row to row as stored, stored transposed) of the last two axes; None if BLAS cannot read it."""
    rows, columns = value.shape[-2:]
    down, across = value.strides[-2:]
    if (across == 1 or columns == 1) and (down >= columns or rows == 1):
        return max(down, columns, 1), False
    if (down == 1 or rows == 1) and (across >= rows or columns == 1):
        return max(across, rows, 1), True
    return None


def product_rule(lowering: Lowering, i: Instruction) -> bool:
    """Lowers MatMul and BatchMatMulV2."""
    a, b = (lowering.value(n) for n in i.inputs)
    if a is None or b is None or blas.find_blas() is None or a.dtype not in _FLOATS:
        return False
    flip_a = bool(i.attrs.get("transpose_a", False) or i.attrs.get("adj_x", False))
    flip_b = bool(i.attrs.get("transpose_b", False) or i.attrs.get("adj_y", False))
    batch_shape = lowering.shape(i.outputs[0])[:-2]
    if matrix_layout(a) is None:
        a = lowering.compact(i, a)
    if matrix_layout(b) is None:
        b = lowering.compact(i, b)
    batch = 1
    strides = [0, 0]
    if batch_shape:
        if len(batch_shape) > 1:
            if a.shape[:-2] != batch_shape or b.shape[:-2] != batch_shape:
                return False
            a, b = lowering.compact(i, a), lowering.compact(i, b)
        batch = math.prod(batch_shape)
        for k, value in enumerate((a, b)):
            own = value.shape[:-2]
            if own == batch_shape:
                step = value.step_over(len(own))
                assert step is not None  # It is one axis, or lies side by side.
                strides[k] = step
            elif math.prod(own) != 1:
                return False
    depth = a.shape[-2] if flip_a else a.shape[-1]
    target = lowering.result(i)
    product = Product(a, b, target, (flip_a, flip_b), depth, batch, (strides[0], strides[1]))
    lowering.add(
        _small_products_node(lowering, i, product) if _is_small(product) else product_node(i, product)
    )
    return True


def _is_small(product: Product) -> bool:
    """Whether it is several products of matrices that are not worth a call of BLAS each."""
    sizes = product.rows, product.columns, product.depth
    return product.batch > 1 and max(sizes) <= small.MOST_SIDE and math.prod(sizes) <= small.MOST_PRODUCTS


def _static_shape(plan: Plan, name: str) -> Dims:
    """What the graph itself says of the shape of a value, the same for all that may be fed; None if nothing."""
    for one in plan.instructions:
        if name in one.outputs:
            return one.shapes[one.outputs.index(name)]
    fed = dict(zip(plan.feeds, plan.feed_types, strict=False))
    return fed[name][1] if name in fed else None


def _small_products_node(lowering: Lowering, i: Instruction, product: Product) -> KernelNode:
    layouts = matrix_layout(product.first), matrix_layout(product.second)
    assert layouts[0] is not None and layouts[1] is not None
    steps = [layout[0] for layout in layouts if layout is not None]
    turned = product.flips[0] != layouts[0][1], product.flips[1] != layouts[1][1]
    first, second, target = product.first, product.second, product.target
    # A size that the graph does not say is no part of the text: other sizes need no kernel of their own.
    rows, columns = (i.shapes[0] or (None, None))[-2:]
    depth = (_static_shape(lowering.plan, i.inputs[0]) or (None, None))[-2 if product.flips[0] else -1]

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        sizes = product.rows, product.columns, product.depth
        words = [address(first), address(second), address(target), *steps, *product.strides, *sizes]
        return small.small_products_steps(kernels[0], words, product.batch)

    source = small.small_products_source(
        target.dtype, (rows, columns, depth), turned, host_vector_unit().fused
    )
    return KernelNode(i, [first, second], [target.root], sources=[source], emit=emit)
