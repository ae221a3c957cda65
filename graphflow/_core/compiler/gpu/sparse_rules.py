"""Rules of sparse tensors whose dense shapes are known (sizing.py), so that all else follows from shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.codegen.gpu.kernels.sparse import SCATTER_SOURCE, TWICE, product_source
from graphflow._core.codegen.gpu.toolkit import elementwise_launch
from graphflow._core.compiler.cpu.assembly_rules import filled
from graphflow._core.compiler.gpu.index_rules import change_rows, outside
from graphflow._core.compiler.gpu.nodes import Buffers, device_node
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.shared.row_numbers import row_numbers
from graphflow._core.compiler.values import Value
from graphflow._core.plan.ir import Instruction

_ATOMIC: Final = ("float32", "float64", "int32", "int64")


def _product(lowering: Lowering, i: Instruction) -> bool:
    indices, values, b = (lowering.value(i.inputs[k]) for k in (0, 1, 3))
    dense = lowering.constant(i.inputs[2])
    if indices is None or values is None or b is None or dense is None or values.dtype not in _ATOMIC:
        return False
    row = int(bool(i.attrs["adjoint_a"]))
    target = lowering.shape(i.outputs[0])
    rows, inner = int(dense[row]), int(dense[1 - row])
    turned = bool(i.attrs["adjoint_b"])
    if len(b.shape) != 2 or indices.shape != (values.size, 2) or b.shape[int(turned)] != inner:
        return False
    if target != (rows, b.shape[1 - int(turned)]):
        return False
    places_of, x, right = (lowering.compact(i, v) for v in (indices, values, b))
    down, across = (1, right.shape[1]) if turned else (right.shape[1], 1)
    result = filled(lowering, i, lowering.result(i))

    def build(buffers: Buffers) -> Sequence[Any]:
        count, columns = x.size * target[1], target[1]
        pairs, numbers, matrix, sums = (buffers.array(v) for v in (places_of, x, right, result))
        arguments = [buffers.status, buffers.number, count, pairs, row, numbers, matrix, down, across, sums]
        return [elementwise_launch(product_source(x.dtype), count, [*arguments, rows, inner, columns])]

    messages = outside(tuple(dense.tolist()))
    lowering.add(
        device_node(i, [places_of, x, right, result], [result], build, messages=messages, fallible=True)
    )
    return True


def _to_dense(lowering: Lowering, i: Instruction) -> bool:
    indices, values, default = (lowering.value(i.inputs[k]) for k in (0, 2, 3))
    wanted = lowering.constant(i.inputs[1])
    if indices is None or values is None or default is None or wanted is None:
        return False
    coordinates = lowering.compact(i, indices)
    if len(indices.shape) < 2:
        coordinates = Value(
            coordinates.root, coordinates.dtype, (indices.size, 1), (1, 1), coordinates.offset
        )
    count, depth = coordinates.shape
    validated = bool(i.attrs["validate_indices"])
    if lowering.shape(i.outputs[0]) != tuple(wanted.tolist()) or depth != wanted.size:
        return False
    if values.shape not in ((), (count,)) or not (validated or values.dtype in _ATOMIC):
        return False
    ids = row_numbers(lowering, i, coordinates, lowering.shape(i.outputs[0]))
    target = lowering.result(i)
    lowering.elementwise(i, "{0}", [default], target, forced=True)
    each = int(bool(values.shape))
    if not validated:
        spread = Value(values.root, values.dtype, (count,), values.strides or (0,), values.offset)
        cells = Value(target.root, target.dtype, (target.size, 1), (1, 1), target.offset)
        messages = outside(lowering.shape(i.outputs[0]))
        change_rows(lowering, i, "update", cells, ids, lowering.compact(i, spread), messages=messages)
        return True
    x = lowering.compact(i, values)
    messages = {**outside(lowering.shape(i.outputs[0])), TWICE: _REPEATED}

    def build(buffers: Buffers) -> Sequence[Any]:
        arrays = [buffers.array(ids), buffers.array(x), each, buffers.array(target)]
        return [elementwise_launch(SCATTER_SOURCE, count, [buffers.status, buffers.number, count, *arrays])]

    lowering.add(device_node(i, [ids, x, target], [target], build, messages=messages, fallible=True))
    return True


_REPEATED: Final = "an index is repeated or out of order."

SPARSE_RULES: Final[dict[str, Rule]] = {
    "SparseTensorDenseMatMul": _product,
    "SparseToDense": _to_dense,
}
