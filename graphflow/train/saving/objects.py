"""Objects with variables as a graph, from a root: who holds what, and what each value is called in a checkpoint.

TensorFlow's checkpoints by objects hold this graph as a message beside the values, so that another program finds a
variable by the attributes that lead to it, whatever its name.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

import graphflow.protos as protos
from graphflow._core.ops.state.parts import Container, HasParts
from graphflow._core.ops.state.variable import Variable
from graphflow.train.saving.saveables import SaveableObject, VariableSaveable

OBJECT_GRAPH: Final = "_CHECKPOINTABLE_OBJECT_GRAPH"
"""The name of the message in a checkpoint."""
_VALUE: Final = "VARIABLE_VALUE"
_NO_VALUES: Final = frozenset({"OBJECT_CONFIG_JSON"})
"""What TensorFlow writes of an object besides, and does not restore."""

Saveables = dict[str, Callable[[str], SaveableObject]]
"""What is saved of an object itself: from its names to what makes it of a name in the checkpoint."""


def values_of(thing: Any) -> Saveables:
    """What is saved of an object itself, and not of its parts."""
    if isinstance(thing, Variable):
        return {_VALUE: lambda key: VariableSaveable(thing, "", key)}
    own = getattr(thing, "checkpoint_values", None)
    found: Saveables = {} if own is None else own()
    return found


def parts_of(thing: Any) -> list[tuple[str, Any]]:
    """The parts of an object, each name once."""
    if not isinstance(thing, HasParts):
        return []
    found: dict[str, Any] = {}
    for name, part in thing.checkpoint_parts():
        found.setdefault(name, part)
    return list(found.items())


def slots_of(thing: Any, others: list[Any]) -> Iterator[tuple[str, int, Any]]:
    """The slots of an optimizer beside others: (name of the slot, position of the variable, slot)."""
    if not (hasattr(thing, "get_slot") and hasattr(thing, "get_slot_names")):
        return
    for name in thing.get_slot_names():
        for position, variable in enumerate(others):
            slot = slot_of(thing, variable, name)
            if slot is not None:
                yield name, position, slot


def slot_of(optimizer: Any, variable: Any, name: str) -> Any:
    """An optimizer's slot beside a variable, or None."""
    if not isinstance(variable, Variable):
        return None
    try:
        return optimizer.get_slot(variable, name)
    except KeyError:
        return None


def _escaped(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")


class ObjectGraph:
    """The objects that a root leads to, the nearest first, and what a checkpoint of them says.

    Args:
        root: An object with checkpoint_parts().
    """

    def __init__(self, root: Any) -> None:
        self.things: list[Any] = [root]
        """The objects; after those that lead there, the slots of optimizers."""
        self.saveables: dict[str, SaveableObject] = {}
        """What is to be saved, by its name in the checkpoint."""
        self.owners: dict[str, Any] = {}
        """Whose values these are."""
        self._message = protos.trackable_object_graph_pb2.TrackableObjectGraph()
        self._message.nodes.add()
        paths = self._walk(root)
        self._add_slots(paths)
        for thing, path, node in zip(self.things, paths, self._message.nodes, strict=True):
            for name, make in values_of(thing).items():
                key = f"{path}/.ATTRIBUTES/{_escaped(name)}" if path else f".ATTRIBUTES/{_escaped(name)}"
                self.saveables[key], self.owners[key] = make(key), thing
                full = thing.op.name if isinstance(thing, Variable) else ""
                node.attributes.add(name=name, full_name=full, checkpoint_key=key)

    @property
    def message(self) -> bytes:
        """The graph as TensorFlow's message."""
        found: bytes = self._message.SerializeToString(deterministic=True)
        return found

    def _walk(self, root: Any) -> list[str]:
        """Adds all objects; their shortest paths."""
        places, paths, todo = {id(root): 0}, [""], deque([0])
        while todo:
            place = todo.popleft()
            for name, part in parts_of(self.things[place]):
                if id(part) not in places:
                    places[id(part)] = len(self.things)
                    todo.append(len(self.things))
                    self.things.append(part)
                    self._message.nodes.add()
                    paths.append(f"{paths[place]}/{_escaped(name)}" if paths[place] else _escaped(name))
                self._message.nodes[place].children.add(node_id=places[id(part)], local_name=name)
        return paths

    def _add_slots(self, paths: list[str]) -> None:
        others = list(self.things)
        for place, thing in enumerate(others):
            for name, position, slot in slots_of(thing, others):
                self._message.nodes[place].slot_variables.add(
                    slot_name=name, original_variable_node_id=position, slot_variable_node_id=len(self.things)
                )
                self.things.append(slot)
                self._message.nodes.add()
                paths.append(f"{paths[position]}/.OPTIMIZER_SLOT/{paths[place]}/{_escaped(name)}")


class Match:
    """Which objects of a program are those of a checkpoint.

    Args:
        root: The object that the checkpoint's first one is.
        message: The checkpoint's graph.
    """

    def __init__(self, root: Any, message: bytes) -> None:
        self._graph = protos.trackable_object_graph_pb2.TrackableObjectGraph.FromString(message)
        nodes = self._graph.nodes
        self.found: dict[int, Any] = {0: root}
        """The objects by their places in the checkpoint's graph."""
        self._names = {0: "root"}
        todo = deque([0])
        while todo:
            place = todo.popleft()
            parts = dict(parts_of(self.found[place]))
            for child in nodes[place].children:
                self._names.setdefault(child.node_id, f"{self._names[place]}.{child.local_name}")
                if child.local_name in parts and child.node_id not in self.found:
                    self.found[child.node_id] = parts[child.local_name]
                    todo.append(child.node_id)
        for place, thing in list(self.found.items()):
            for slot in nodes[place].slot_variables:
                beside = self.found.get(slot.original_variable_node_id)
                self._names.setdefault(
                    slot.slot_variable_node_id,
                    f"slot {slot.slot_name!r} of {self._names[place]} beside "
                    f"{self._names.get(slot.original_variable_node_id, 'an object')}",
                )
                found = slot_of(thing, beside, slot.slot_name)
                if found is not None:
                    self.found[slot.slot_variable_node_id] = found
        self.saveables: dict[str, SaveableObject] = {}
        """What is to be restored, by its name in the checkpoint."""
        self._unused: list[str] = []
        for place, thing in self.found.items():
            values = values_of(thing)
            for attribute in nodes[place].attributes:
                if attribute.name in values:
                    self.saveables[attribute.checkpoint_key] = values[attribute.name](
                        attribute.checkpoint_key
                    )
                elif attribute.name not in _NO_VALUES:
                    self._unused.append(f"{attribute.name} of {self._names[place]}")

    def unused(self) -> list[str]:
        """What the checkpoint has and the program has not, as texts."""
        nodes = self._graph.nodes
        # A path may lead through what the program has not.
        names, todo = dict(self._names), deque(self._names)
        while todo:
            place = todo.popleft()
            for child in nodes[place].children:
                if child.node_id not in names:
                    names[child.node_id] = f"{names[place]}.{child.local_name}"
                    todo.append(child.node_id)
        lacking = [
            names.get(place, f"object {place}") for place in range(len(nodes)) if place not in self.found
        ]
        return lacking + self._unused

    def unmatched(self, graph: ObjectGraph) -> list[Any]:
        """The objects of a program that the checkpoint has not."""
        known = {id(thing) for thing in self.found.values()}
        return [t for t in graph.things if id(t) not in known and not isinstance(t, Container)]
