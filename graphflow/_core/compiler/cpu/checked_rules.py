"""Rules of what may find a fault in several of its inputs at once: assertions, shapes of sparse tensors, CTC.

The kernel says that something is wrong, and the NumPy kernel, given all of these inputs, says what.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.cpu.programs.machine import PROGRAM_STATUS
from graphflow._core.codegen.cpu.sources import checks, ctc
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Address, KernelNode
from graphflow._core.compiler.shared.strided import unwritten
from graphflow._core.kernels.nn.ctc import with_blanks
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")


def _assert(lowering: Lowering, i: Instruction) -> bool:
    condition, constant = lowering.value(i.inputs[0]), lowering.constant(i.inputs[0])
    if constant is not None or condition is None:
        return constant is not None and bool(np.all(constant))
    data = [(lowering.value(name), name) for name in i.inputs[1:]]
    texts = [lowering.constant(name) if value is None else None for value, name in data]
    reads = [lowering.compact(i, v) for v in (condition, *(v for v, _ in data if v is not None))]
    kernel = lowering.kernel_of(i.type, i)

    def check(condition: Any, *arrays: Any) -> None:
        computed = iter(arrays)
        kernel(None, condition, *[next(computed)[()] if text is None else text[()] for text in texts])

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return checks.element_steps(kernels[0], [PROGRAM_STATUS, address(reads[0])], condition.size)

    lowering.add(
        KernelNode(
            i,
            reads,
            [],
            sources=[checks.assert_source()],
            emit=emit,
            checked=reads,
            check=check,
            fallible=True,
        )
    )
    return True


def _check_numerics(lowering: Lowering, i: Instruction) -> bool:
    """The result is the value itself, for those that come after the check."""
    value = lowering.value(i.inputs[0])
    if value is None or value.dtype not in _FLOATS:
        return False
    x = lowering.compact(i, unwritten(lowering, i, value))

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return checks.element_steps(kernels[0], [PROGRAM_STATUS, address(x)], x.size)

    lowering.add(
        KernelNode(
            i, [x], [], sources=[checks.finite_source(x.dtype)], emit=emit,
            checked=[x], check=lowering.kernel_of(i.type, i), fallible=True,
        )
    )  # fmt: skip
    lowering.define(i.outputs[0], x)
    lowering.hand_on(i)
    return True


def _sparse_reshape(lowering: Lowering, i: Instruction) -> bool:
    found = [v for v in map(lowering.value, i.inputs) if v is not None]
    if len(found) != len(i.inputs) or len(found[0].shape) != 2 or len(found[2].shape) != 1:
        return False
    elements, rank = found[0].shape
    new_rank = found[2].size
    if found[1].shape != (rank,) or lowering.shape(i.outputs[0]) != (elements, new_rank):
        return False
    reads = [lowering.compact(i, v) for v in found]
    made = [lowering.result(i, 0), lowering.result(i, 1)]

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        addresses = [PROGRAM_STATUS, *map(address, (*reads, *made))]
        return checks.sparse_reshape_steps(kernels[0], addresses, elements, rank, new_rank)

    lowering.add(
        KernelNode(
            i, reads, [v.root for v in made], sources=[checks.sparse_reshape_source()], emit=emit,
            checked=reads, check=lowering.kernel_of(i.type, i), fallible=True,
        )
    )  # fmt: skip
    return True


def _ctc_loss(lowering: Lowering, i: Instruction) -> bool:
    found = [v for v in map(lowering.value, i.inputs) if v is not None]
    if len(found) != len(i.inputs) or found[0].dtype not in _FLOATS or len(found[0].shape) != 3:
        return False
    if found[1].shape != (*found[2].shape, 2) or found[3].shape != found[0].shape[1:2]:
        return False  # The NumPy kernel says what is wrong.
    reads = [lowering.compact(i, v) for v in found]
    x, indices, values, lengths = reads
    frames, batch, classes = x.shape
    labels, merge = values.size, bool(i.attrs["ctc_merge_repeated"])
    collapse, leave_out = (
        bool(i.attrs[name]) for name in ("preprocess_collapse_repeated", "ignore_longer_outputs_than_inputs")
    )
    losses, slopes = lowering.result(i, 0), lowering.result(i, 1)
    said = lowering.temporary(i.name, "int64", (labels,))
    starts = lowering.temporary(i.name, "int64", (batch + 1,))
    counts = lowering.temporary(i.name, "int64", (batch,))
    width = ctc.places(labels, batch)
    table = lowering.temporary(i.name, "float64", (frames * width,))
    rows = lowering.temporary(i.name, "float64", (ctc.ROWS * width,))
    norms = lowering.temporary(i.name, "float64", (frames * batch,))

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        given = [PROGRAM_STATUS, *map(address, (indices, values, lengths, said, starts, counts))]
        sizes = frames, batch, classes - 1, labels, int(collapse), int(leave_out)
        ordered = ctc.labels_steps(kernels[0], given, sizes)
        taken = list(map(address, (x, said, starts, counts, lengths, losses, slopes, table, rows, norms)))
        return [*ordered, *ctc.paths_steps(kernels[1], taken, frames, batch, classes, labels, merge)]

    def check(scores: Any, indices: Any, values: Any, lengths: Any) -> None:
        with_blanks(scores, indices, values, lengths, i.attrs)

    made = (losses, slopes, said, starts, counts, table, rows, norms)
    lowering.add(
        KernelNode(
            i, reads, [v.root for v in made], sources=[ctc.labels_source(), ctc.paths_source(x.dtype)],
            emit=emit, checked=reads, check=check, fallible=True,
        )
    )  # fmt: skip
    return True


CHECKED_RULES: Final[dict[str, Rule]] = {
    "Assert": _assert,
    "CTCLoss": _ctc_loss,
    "CheckNumerics": _check_numerics,
    "SparseReshape": _sparse_reshape,
}
