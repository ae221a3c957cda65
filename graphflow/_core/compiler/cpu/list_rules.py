"""Lists of TensorArrays, and the stacks of loops, in native loops: rows that are copied from and to where a list lies.

Only what runs inside a loop that has a host is lowered so (compiler/nested.py). A list is used in the order of the
plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from graphflow._core.codegen.cpu.programs.control_source import (
    GATHER_SOURCE,
    POP_SOURCE,
    PUSH_SOURCE,
    READ_SOURCE,
    SCATTER_SOURCE,
    SIZE_SOURCE,
    WRITE_SOURCE,
    adding,
)
from graphflow._core.codegen.cpu.programs.machine import PROGRAM_STATUS, Step
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Address, Binding, KernelNode
from graphflow._core.compiler.values import Value, whole
from graphflow._core.graph import shapes
from graphflow._core.kernels.control_flow.lists import ArrayList
from graphflow._core.kernels.control_flow.rows import DESCRIPTOR_WORDS, RowStack, row_bytes
from graphflow._core.plan.ir import Instruction

_ROWS: Final[dict[str, tuple[int | None, int]]] = {
    "TensorArrayReadV3": (None, 0),
    "TensorArrayWriteV3": (2, 0),
    "TensorArrayGatherV3": (None, 1),
    "TensorArrayScatterV3": (2, 1),
}
"""Which input of an op is a row, or rows; None if its result is; and from which axis on its shape is that of a row."""


@dataclass(eq=False)
class RowNode(KernelNode):
    """A row that goes to or from a list or a stack, as a step that may ask Python to do it (control_source.ASK).

    Its reads, for Python: the descriptor, then what the operation takes. answer(list or stack, *what it takes): does it
    in Python, and returns the row if it makes one.
    """

    answer: Callable[..., Any] = ArrayList.read


def _add(
    lowering: Lowering,
    i: Instruction,
    source: str,
    answer: Callable[..., Any],
    reads: list[Value],
    made: list[Value],
    row: Value,
) -> None:
    """Adds the node; reads: descriptor, index if there is one, the row if it is taken. made: the row or the flow."""
    descriptor, *others = reads
    size = row_bytes(row.shape, row.dtype)

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        places = [address(value) for value in (descriptor, *others)]
        words = [*places, *(() if row in others else (address(row),)), size]
        if answer is ArrayList.write:
            words += [address(made[0]), adding(row.dtype)]
        return [Step(kernels[0], [PROGRAM_STATUS, *words], 0, 1)]

    node = RowNode(
        i, reads, [value.root for value in made], sources=[source], emit=emit, fallible=True, answer=answer
    )
    lowering.add_effect(node, {descriptor.root})


def _bound(lowering: Lowering, binding: Binding, root: str) -> Value | None:
    """The descriptor of a list or stack; None if it is used for rows of another shape already."""
    if lowering.around.bindings.setdefault(root, binding) != binding:
        return None
    return whole(root, "int64", (DESCRIPTOR_WORDS,))


def _list(lowering: Lowering, name: str, shape: tuple[int, ...], dtype: str) -> Value | None:
    handle = lowering.value(name)
    if handle is None or not lowering.around.hosted:
        return None
    found = lowering.around.gradients.get(handle.root)
    if found is None:
        return _bound(lowering, Binding("list", handle.root, shape, dtype), handle.root)
    of, source = found
    return _bound(lowering, Binding("gradient", of, shape, dtype, source), handle.root)


def _read(lowering: Lowering, i: Instruction) -> bool:
    shape, dtype = lowering.known[i.outputs[0]]
    array, index = _list(lowering, i.inputs[0], shape, dtype), lowering.value(i.inputs[1])
    if array is None or index is None:
        return False
    row = lowering.result(i)
    _add(lowering, i, READ_SOURCE, ArrayList.read, [array, index], [row], row)
    return True


def _write(lowering: Lowering, i: Instruction) -> bool:
    value, index = lowering.value(i.inputs[2]), lowering.value(i.inputs[1])
    if value is None or index is None:
        return False
    array = _list(lowering, i.inputs[0], value.shape, value.dtype)
    if array is None:
        return False
    row = lowering.compact(i, value)
    _add(lowering, i, WRITE_SOURCE, ArrayList.write, [array, index, row], [lowering.result(i)], row)
    return True


def _several(
    lowering: Lowering,
    i: Instruction,
    source: str,
    answer: Callable[..., Any],
    reads: list[Value],
    made: Value,
    rows: Value,
) -> None:
    """Adds the node for rows at several indices; reads: descriptor, indices, the rows if they are taken."""
    descriptor, indices, *others = reads
    size = row_bytes(rows.shape[1:], rows.dtype)

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        words = [address(descriptor), address(indices), address(rows), size, indices.size]
        if others:
            words += [address(made), adding(rows.dtype)]
        return [Step(kernels[0], [PROGRAM_STATUS, *words], 0, 1)]

    node = RowNode(i, reads, [made.root], sources=[source], emit=emit, fallible=True, answer=answer)
    lowering.add_effect(node, {descriptor.root})


def _indices(lowering: Lowering, i: Instruction) -> Value | None:
    indices = lowering.value(i.inputs[1])
    if indices is None or len(indices.shape) != 1 or indices.dtype != "int32":
        return None
    return lowering.compact(i, indices)


def _gather(lowering: Lowering, i: Instruction) -> bool:
    indices, dims = _indices(lowering, i), shapes.as_dims(i.attrs["element_shape"])
    if indices is not None and dims is not None and None not in dims:  # No run may have come here.
        row = tuple([int(n) for n in dims if n is not None])
        lowering.known.setdefault(i.outputs[0], ((*indices.shape, *row), i.dtypes[0].name))
    shape, dtype = lowering.known.get(i.outputs[0], ((), ""))
    array = None if indices is None or not shape else _list(lowering, i.inputs[0], shape[1:], dtype)
    if indices is None or array is None or shape[:1] != indices.shape:
        return False

    def answer(array: ArrayList, indices: Any) -> Any:
        return array.stack(indices.tolist(), dims)

    rows = lowering.result(i)
    _several(lowering, i, GATHER_SOURCE, answer, [array, indices], rows, rows)
    return True


def _scatter(lowering: Lowering, i: Instruction) -> bool:
    value, indices = lowering.value(i.inputs[2]), _indices(lowering, i)
    if value is None or indices is None or value.shape[:1] != indices.shape:
        return False
    array = _list(lowering, i.inputs[0], value.shape[1:], value.dtype)
    if array is None:
        return False
    rows = lowering.compact(i, value)
    flow = lowering.result(i)
    _several(lowering, i, SCATTER_SOURCE, ArrayList.scatter, [array, indices, rows], flow, rows)
    return True


def _used_for(lowering: Lowering, handle: str) -> tuple[tuple[int, ...], str] | None:
    """The shape and dtype of a row that another instruction of the plan writes to a list, or reads."""
    for i in lowering.plan.instructions:
        if i.inputs[:1] == (handle,) and i.type in _ROWS:
            name, inner = _ROWS[i.type]
            value = i.outputs[0] if name is None else i.inputs[name]
            if value in lowering.known:
                shape, dtype = lowering.known[value]
                return shape[inner:], dtype
    return None


def _size(lowering: Lowering, i: Instruction) -> bool:
    """The size of a list whose rows are used beside it, since a list is found by the shape of these."""
    row = _used_for(lowering, i.inputs[0])
    descriptor = None if row is None else _list(lowering, i.inputs[0], *row)
    if descriptor is None:
        return False
    target = lowering.result(i)

    def emit(kernels: Sequence[int], address: Address) -> Sequence[Any]:
        return [Step(kernels[0], [address(descriptor), address(target)], 0, 1)]

    node = KernelNode(i, [descriptor], [target.root], sources=[SIZE_SOURCE], emit=emit)
    lowering.add_effect(node, {descriptor.root})
    return True


def _gradient(lowering: Lowering, i: Instruction) -> bool:
    handle, flow = lowering.value(i.inputs[0]), lowering.value(i.inputs[1])
    if handle is None or flow is None or not lowering.around.hosted:
        return False
    root = f"gradient {i.attrs['source']} of {handle.root}"
    lowering.around.gradients[root] = (handle.root, i.attrs["source"])
    lowering.define(i.outputs[0], whole(root, "int64", (DESCRIPTOR_WORDS,)))
    lowering.define(i.outputs[1], flow)
    return True


def _stack(lowering: Lowering, i: Instruction, shape: tuple[int, ...], dtype: str) -> Value | None:
    if not lowering.around.hosted:
        return None
    name = i.attrs["stack"]
    return _bound(lowering, Binding("stack", name, shape, dtype), f"stack {name}")


def _push(lowering: Lowering, i: Instruction) -> bool:
    value = lowering.value(i.inputs[0])
    stack = None if value is None else _stack(lowering, i, value.shape, value.dtype)
    if value is None or stack is None:
        return False
    row = lowering.compact(i, value)
    _add(lowering, i, PUSH_SOURCE, RowStack.append, [stack, row], [], row)
    lowering.define(i.outputs[0], value)
    return True


def _pop(lowering: Lowering, i: Instruction) -> bool:
    stack = _stack(lowering, i, *lowering.known[i.outputs[0]])
    if stack is None:
        return False
    row = lowering.result(i)
    _add(lowering, i, POP_SOURCE, RowStack.pop, [stack], [row], row)
    return True


LIST_RULES: Final[dict[str, Rule]] = {
    "TensorArrayReadV3": _read,
    "TensorArrayWriteV3": _write,
    "TensorArrayGatherV3": _gather,
    "TensorArrayScatterV3": _scatter,
    "TensorArraySizeV3": _size,
    "TensorArrayGradV3": _gradient,
    "StackPushV2": _push,
    "StackPopV2": _pop,
}
