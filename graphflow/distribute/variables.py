"""Variables with a copy on each of several devices.

A copy is an ordinary variable; the first has the variable's name, the others NAME/replica_1, NAME/replica_2, and so on.
What stands for all of them is a gf.Variable too, so that it can be used wherever one can: inside a tower, and in an
update, it is the copy there; elsewhere it is the first, or for tower-local variables what all copies come to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.defaults import get_default_graph, get_default_session
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import SessionLike, TensorLike
from graphflow._core.ops.array.array import zeros_like
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.flow_basics import group, with_dependencies
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.state.state import assign
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation
from graphflow.distribute.context import Strategy, current
from graphflow.distribute.reducers.base import total
from graphflow.distribute.values import PerDevice, select

Write = Callable[..., Tensor]


class DistributedVariable(Variable):
    """A variable that has copies.

    Args:
        copies: The copies, in the order of the devices.
        collections: The collections of the graph that it is added to.
    """

    def __init__(self, copies: Sequence[Variable], collections: Sequence[str]) -> None:
        first = copies[0]
        self.copies: list[Variable] = list(copies)
        self._trainable = first.trainable
        self._constraint = first.constraint
        self._synchronization = first.synchronization
        self._aggregation = first.aggregation
        self._save_slice_info = None
        for copy in copies:
            copy.container_variable = self
        graph = first.graph
        with graph.control_dependencies(None), graph.name_scope(f"{first.op.name}/"):
            self._initializer = group(*[copy.initializer for copy in copies], name="initialize")
        graph.add_to_collections(collections, self)

    def get(self, device: str | None = None) -> Variable:
        """The copy on a device, by default the one that is meant here.

        Args:
            device: The device; by default the current one's.
        """
        if device is not None:
            found: Variable = PerDevice(self.copies, self.devices).get(device)
            return found
        context = current(self.copies[0].graph)
        index = None if context is None else context.index
        return self.copies[0] if index is None or index >= len(self.copies) else self.copies[index]

    @property
    def devices(self) -> list[str]:
        """The device of each copy."""
        return [copy.device for copy in self.copies]

    def across(self) -> bool:
        """Whether this is outside of a tower and of an update."""
        context = current(self.copies[0].graph)
        return context is None or context.index is None or context.index >= len(self.copies)

    # ---- as one variable ------------------------------------------------------------------------------------------

    @property
    def _variable(self) -> Tensor:
        return self.get()._variable

    @property
    def initial_value(self) -> Tensor:
        """The tensor of the initial value of all copies."""
        return self.copies[0].initial_value

    @property
    def _first_read(self) -> Tensor:
        return self.get()._first_read

    def value(self) -> Tensor:
        """The value of the copy that is meant here, as that gives it."""
        return self.get().value()

    @property
    def name(self) -> str:
        """The name of the first copy, wherever it is asked for."""
        return self.copies[0].name

    def set_initializer(self, value: Tensor, initializer: Operation) -> None:
        """Lets it begin with another value, which `initializer` assigns to it.

        Args:
            value: The value, a tensor.
            initializer: What it begins with.
        """
        self.copies[0].set_initializer(value, initializer)
        self._initializer = initializer

    def load(self, value: TensorLike, session: SessionLike | None = None) -> None:
        """Sets all copies in a session, by default the default one, without adding to the graph.

        Args:
            value: An array.
            session: The session; by default the default session.
        """
        session = session or get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be established"
            )
        setters = [copy._setter for copy in self.copies]
        session.run(setters, {op.inputs[1]: value for op in setters})

    def __repr__(self) -> str:
        return (
            f"<gf.distribute.{type(self).__name__} {self.name!r} shape={shapes.text(self.dims)} "
            f"dtype={self.dtype.name} copies={len(self.copies)}>"
        )

    # ---- writing --------------------------------------------------------------------------------------------------

    def write_copies(self, write: Write, values: Sequence[Any]) -> Any:
        """Does a write to the copies that are meant here.

        Args:
            write: Called as write(copy, *values).
            values: The values, of which some may be distributed.

        Returns:
            The new value.
        """
        context = current(self.copies[0].graph)
        if context is None or context.index is None:
            return self._write_all(write, values)
        if context.tower is None:
            return write(self.get(), *select(context.index, list(values)))
        return self._write_in_tower(write, values)

    def _write_all(self, write: Write, values: Sequence[Any]) -> Tensor:
        graph = self.copies[0].graph
        written = []
        for index, copy in enumerate(self.copies):
            with graph.device(copy.device):
                written.append(write(copy, *select(index, list(values))))
        result: Tensor = with_dependencies([value.op for value in written[1:]], written[0])
        return result

    def _write_in_tower(self, write: Write, values: Sequence[Any]) -> Any:
        return write(self.get(), *values)


class MirroredVariable(DistributedVariable):
    """A variable whose copies are kept equal (tf.contrib.distribute's MirroredVariable).

    A tower may write it if `aggregation` says how the towers' values go together; then all towers have to. That
    holds for one copy, too, if the towers share it.
    """

    def _write_in_tower(self, write: Write, values: Sequence[Any]) -> Any:
        context = current(self.copies[0].graph)
        assert context is not None and context.tower is not None
        if self._aggregation == VariableAggregation.NONE:
            raise ValueError(
                f"The variable {self.name!r} is mirrored and was to be written in a tower, but it was made without an "
                "aggregation method: make it with aggregation=gf.VariableAggregation.SUM, MEAN or "
                "ONLY_FIRST_TOWER, or write it in a merge_call by strategy.update()."
            )

        def merged(strategy: Strategy, *per_tower: Any) -> Any:
            reduced = [strategy.reduce(self._aggregation, value, self) for value in per_tower]
            return strategy.update(self, write, *reduced)

        return context.tower.merge_call(merged, *values)


class TowerLocalVariable(DistributedVariable):
    """A variable that each tower writes for itself (tf.contrib.distribute's TowerLocalVariable).

    Outside of the towers, and in checkpoints, it is the sum or mean of its copies, as `aggregation` says.

    Args:
        copies: The copies, in the order of the devices.
        collections: The collections of the graph that it is added to.
    """

    def __init__(self, copies: Sequence[Variable], collections: Sequence[str]) -> None:
        super().__init__(copies, collections)
        graph = copies[0].graph
        with (
            graph.control_dependencies(None),
            graph.device(copies[0].device),
            graph.name_scope(f"{copies[0].op.name}/aggregated/"),
        ):
            self._aggregated = self.aggregate()

    def aggregate(self) -> Tensor:
        """The sum or mean of the copies, read now."""
        if self._aggregation == VariableAggregation.ONLY_FIRST_TOWER:
            return identity(self.copies[0])
        result: Tensor = total(self._aggregation, [convert_to_tensor(copy) for copy in self.copies])
        return result

    @property
    def _variable(self) -> Tensor:
        return self._aggregated if self.across() else self.get()._variable

    @property
    def _first_read(self) -> Tensor:
        return self._aggregated if self.across() else self.get()._first_read

    def value(self) -> Tensor:
        """Its value, read by an operation that is there already if that is the sum or mean of its copies."""
        return self._aggregated if self.across() else self.get().value()

    def _ref(self) -> Tensor:
        return self.get()._variable

    @property
    def op(self) -> Operation:
        """The operation that stands for the copy that is meant here."""
        return self.get().op

    @property
    def device(self) -> str:
        """The device of the copy that is meant here."""
        return self.get().device

    def read_value(self) -> Tensor:
        """Its value, read by new operations, under the current control dependencies."""
        return self.aggregate() if self.across() else self.get().read_value()

    def _write_all(self, write: Write, values: Sequence[Any]) -> Tensor:
        """In the sum of the copies the first counts for all; so the others become zero."""
        if self._aggregation != VariableAggregation.SUM:
            return super()._write_all(write, values)
        graph = self.copies[0].graph
        with graph.device(self.copies[0].device):
            result = write(self.copies[0], *values)
        if result.op.type != "Assign":
            return result
        cleared = []
        for copy in self.copies[1:]:
            with graph.device(copy.device):
                cleared.append(assign(copy, zeros_like(copy)).op)
        whole: Tensor = with_dependencies(cleared, result)
        return whole


class MetricVariable(TowerLocalVariable):
    """A tower-local variable of a metric: a tower adds to its own copy, and reads what all copies come to."""

    @property
    def _variable(self) -> Tensor:
        return self._aggregated

    def value(self) -> Tensor:
        """The value that all copies together stand for."""
        return self._aggregated


def make_copies(
    kind: type[DistributedVariable],
    places: Sequence[Callable[[], Any]],
    create: Callable[..., Any],
    arguments: dict[str, Any],
) -> DistributedVariable:
    """A variable with a copy in each place; a place opens the scope in which the copy is built.

    All copies begin with the initial value of the first, computed once.
    """
    collections = arguments.pop("collections", None)
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    trainable = arguments.get("trainable")
    if (trainable is None or trainable) and GraphKeys.TRAINABLE_VARIABLES not in collections:
        collections.append(GraphKeys.TRAINABLE_VARIABLES)
    graph = get_default_graph()
    copies: list[Variable] = []
    for index, place in enumerate(places):
        with place():
            if index:
                first = copies[0]
                arguments["name"] = f"{first.op.name}/replica_{index}"
                arguments["initial_value"] = first.initial_value
                arguments["dtype"] = None
                with graph.name_scope(None):
                    copies.append(create(**arguments, collections=[_COPIES]))
            else:
                copies.append(create(**arguments, collections=[_COPIES]))
    for key in {_COPIES, GraphKeys.TRAINABLE_VARIABLES}:
        kept = graph.get_collection_ref(key)
        kept[:] = [variable for variable in kept if all(variable is not copy for copy in copies)]
    if kind is TowerLocalVariable and GraphKeys.METRIC_VARIABLES in collections:
        kind = MetricVariable
    return kind(copies, collections)


_COPIES = "copies_of_variables"
