"""How a GPU finds equal indices, whose rows are marked -1 after the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.codegen.gpu.kernels.indexing import first_of_equal_sources
from graphflow._core.codegen.gpu.toolkit import elementwise_launch
from graphflow._core.compiler.gpu.nodes import Buffers, device_node
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.shared.repeated_rows import FIRSTS
from graphflow._core.plan.ir import Instruction


def _firsts(lowering: Lowering, i: Instruction) -> bool:
    """For each index the place of the first that is equal to it, and the index itself, or -1, if it is that one."""
    indices = lowering.value(i.inputs[0])
    assert indices is not None
    ids, height = lowering.compact(i, indices), int(i.attrs["rows"])
    rows, positions = lowering.result(i, 0), lowering.result(i, 1)
    table = lowering.temporary(i.name, "int32", (height,))

    def build(buffers: Buffers) -> Sequence[Any]:
        arrays = [buffers.array(v) for v in (ids, table, rows, positions)]
        arguments = [buffers.status, buffers.number, ids.size, *arrays, height]
        sources = first_of_equal_sources(rows.dtype, positions.dtype)
        return [elementwise_launch(source, ids.size, arguments) for source in sources]

    lowering.add(device_node(i, [ids], [table, rows, positions], build, fallible=True))
    return True


REPEATED_RULES: Final[dict[str, Rule]] = {FIRSTS: _firsts}
"""Of what plans have for GPUs alone."""
