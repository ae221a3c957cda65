"""Order without values: an operation that does nothing, a group of operations, tensors that wait for one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, op_def
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.rules import no_outputs

NO_OP = op_def("NoOp", (), infer=no_outputs, gradient=NOT_DIFFERENTIABLE, stateful=True)


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing: a place to wait (tf.no_op).

    Args:
        name: A name for the operation.

    Examples:
        >>> gf.Session().run(gf.no_op())
    """
    return get_default_graph().add(NO_OP, (), {}, name or "NoOp")


def operation_of(value: Any) -> Operation:
    """The operation that must have run for a value to exist; TypeError for what has none."""
    if isinstance(value, Operation):
        return value
    op = getattr(value, "op", None)
    if isinstance(op, Operation):
        return op
    if hasattr(value, "_as_graph_element"):
        return operation_of(value._as_graph_element())
    raise TypeError(
        f"Expected an operation, tensor or variable, got {value!r} of type {type(value).__name__}."
    )


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple | set | frozenset) and not hasattr(value, "op"):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from _leaves(value[key])
    else:
        yield value


def group(*inputs: Any, **kwargs: Any) -> Operation:
    """An operation that has run when all of its inputs have run (tf.group).

    Inputs on several devices are gathered on each first, so that only one message leaves each device.

    Args:
        *inputs: Operations, tensors and variables, or lists and dictionaries of these; None is left out.
        **kwargs: `name`, a name for the operation.

    Returns:
        An operation, which has no value.

    Raises:
        TypeError: An input is nothing that could run.

    Examples:
        >>> a, b = gf.Variable(0), gf.Variable(0)
        >>> both = gf.group(a.assign(1), b.assign(2))
        >>> with gf.Session() as session:
        ...     session.run(both)
        ...     print(session.run([a, b]))
        [np.int32(1), np.int32(2)]
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unknown keyword arguments: {', '.join(kwargs)}")
    graph = get_default_graph()
    by_device: dict[str, list[Operation]] = {}
    for leaf in _leaves(inputs):
        if leaf is None:
            continue
        op = operation_of(leaf)
        by_device.setdefault(op.device, []).append(op)
    if not by_device:
        return no_op(name=name or "group_deps")
    with graph.name_scope(name or "group_deps") as scope:
        if len(by_device) == 1:
            ((device, ops),) = by_device.items()
            return _wait_for(ops, device, scope)
        gathered = [_wait_for(by_device[device], device, None) for device in sorted(by_device)]
        with graph.control_dependencies(gathered):
            return no_op(name=scope)


def _wait_for(ops: Iterable[Operation], device: str, name: str | None) -> Operation:
    graph = get_default_graph()
    with graph.control_dependencies(list(ops)):
        if not device:
            return no_op(name=name)
        with graph.device(device):
            return no_op(name=name)


def with_dependencies(dependencies: Any, output_tensor: Any, name: str | None = None) -> Any:
    """The tensor, once the dependencies have run (TensorFlow's control_flow_ops.with_dependencies).

    Args:
        dependencies: Operations and tensors.
        output_tensor: A tensor, what can become one, or IndexedSlices.
        name: A name for the operation.

    Returns:
        The same value.
    """
    graph = get_default_graph()
    if not isinstance(output_tensor, IndexedSlices):
        output_tensor = convert_to_tensor(output_tensor)
    with (
        graph.name_scope(name or "control_dependency") as scope,
        graph.colocate_with(operation_of(output_tensor)),
        graph.control_dependencies(list(dependencies)),
    ):
        if isinstance(output_tensor, IndexedSlices):
            values = identity(output_tensor.values, name=scope)
            return IndexedSlices(values, output_tensor.indices, output_tensor.dense_shape)
        return identity(output_tensor, name=scope)


def tuple_(
    tensors: Iterable[TensorLike | Operation | None],
    name: str | None = None,
    control_inputs: Iterable[TensorLike | Operation] | None = None,
) -> list[Any]:
    """The tensors, none of which exists before all of them and `control_inputs` have been computed (tf.tuple).

    None stays None.

    Args:
        tensors: A list of tensors, IndexedSlices and Nones.
        name: A name for the operation.
        control_inputs: Further operations.

    Returns:
        A list like `tensors`.

    Raises:
        ValueError: If there is no tensor.
        TypeError: If a control input is none.
    """
    graph = get_default_graph()
    with graph.name_scope(name or "tuple"):
        gates = [operation_of(t) for t in tensors if t is not None]
        for item in control_inputs or ():
            gates.append(operation_of(item))
        if not any(t is not None for t in tensors):
            raise ValueError("Must have at least one Tensor: tuple() was given none.")
        unique = sorted(set(gates), key=lambda op: op._id)
        gate = group(*unique)
        return [None if t is None else with_dependencies([gate], t) for t in tensors]
