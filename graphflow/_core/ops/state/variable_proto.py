"""A variable as TensorFlow's VariableDef message: the names of its operations, from which it is put together again, and
what the message says of its copies and parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import graphflow.protos as protos
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable import Variable


class VariableSynchronization:
    """When copies of a variable on several devices are kept equal."""

    AUTO, NONE, ON_WRITE, ON_READ = range(4)


class VariableAggregation:
    """How writes of several towers to one variable are combined."""

    NONE, SUM, MEAN, ONLY_FIRST_REPLICA = range(4)
    ONLY_FIRST_TOWER = 3


class SliceInfo:
    """Which part of a larger, partitioned variable a variable is."""

    def __init__(
        self, full_name: str, full_shape: Sequence[int], var_offset: Sequence[int], var_shape: Sequence[int]
    ) -> None:
        self.full_name = full_name
        self.full_shape: list[int] = list(full_shape)
        self.var_offset: list[int] = list(var_offset)
        self.var_shape: list[int] = list(var_shape)

    @property
    def spec(self) -> str:
        """The part as text: the full shape, then offset and length along each axis."""
        full = " ".join(str(d) for d in self.full_shape)
        parts = ":".join(f"{o},{s}" for o, s in zip(self.var_offset, self.var_shape, strict=True))
        return f"{full} {parts}"


def to_proto(variable: Variable, export_scope: str | None) -> Any:
    """The VariableDef of a variable, names relative to a scope; None if it is not in that scope."""
    prefix = export_scope.rstrip("/") + "/" if export_scope else ""
    if not variable.name.startswith(prefix):
        return None

    def bare(name: str) -> str:
        return name.removeprefix(prefix)

    result = protos.variable_pb2.VariableDef(
        variable_name=bare(variable.name),
        initializer_name=bare(variable.initializer.name),
        snapshot_name=bare(variable._first_read.name),
        trainable=variable.trainable,
        is_resource=False,
        synchronization=variable.synchronization,
        aggregation=variable.aggregation,
    )
    if variable.initial_value is not None:
        result.initial_value_name = bare(variable.initial_value.name)
    info = variable.get_save_slice_info()
    if info is not None:
        result.save_slice_info_def.full_name = info.full_name
        result.save_slice_info_def.full_shape.extend(info.full_shape)
        result.save_slice_info_def.var_offset.extend(info.var_offset)
        result.save_slice_info_def.var_shape.extend(info.var_shape)
    return result


def read_into(variable: Variable, definition: Any, import_scope: str | None) -> None:
    """Makes a new variable that of a VariableDef, whose operations are in the default graph.

    ValueError if one is not there, or is none of a variable's.
    """
    if not isinstance(definition, protos.variable_pb2.VariableDef):
        raise TypeError(f"variable_def must be a VariableDef message, not {definition!r}.")
    graph = get_default_graph()

    def element(name: str, kind: type) -> Any:
        try:
            found = graph.as_graph_element(f"{import_scope}/{name}" if import_scope else name)
        except (KeyError, ValueError) as error:
            raise ValueError(f"The variable {definition.variable_name!r} needs {name!r}: {error}") from None
        if not isinstance(found, kind):
            raise ValueError(f"The variable {definition.variable_name!r}: {name!r} is no {kind.__name__}.")
        return found

    tensor = variable._tensor = element(definition.variable_name, Tensor)
    if not tensor.op.op_def.is_variable:
        raise ValueError(f"{tensor.name!r} is a {tensor.op.type}, no variable.")
    variable._initializer = element(definition.initializer_name, Operation)
    if variable._initializer.type == "Assign" and "_initializer" not in variable._initializer.attrs:
        variable._initializer.set_attr("_initializer", True)
    writers = [op for op in (variable._initializer, *tensor.consumers()) if op.type == "Assign"]
    variable._setter = writers[0] if writers else variable._initializer
    variable._snapshot = element(definition.snapshot_name, Tensor)
    variable._initial_value = _initial_value(variable, definition, element)
    variable._trainable = definition.trainable
    variable._constraint = None
    variable._synchronization = definition.synchronization
    variable._aggregation = definition.aggregation
    variable._save_slice_info = None
    if definition.HasField("save_slice_info_def"):
        info = definition.save_slice_info_def
        variable._save_slice_info = SliceInfo(
            info.full_name, info.full_shape, info.var_offset, info.var_shape
        )


def _initial_value(variable: Variable, definition: Any, element: Callable[[str, type], Any]) -> Any:
    """The tensor of the initial value; older files do not name it."""
    if definition.initial_value_name:
        return element(definition.initial_value_name, Tensor)
    inputs = variable._initializer.inputs
    return inputs[1] if len(inputs) > 1 else None
