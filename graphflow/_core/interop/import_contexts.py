"""Which branch or loop each node of a GraphDef belongs to, told from its edges.

A GraphDef has no contexts, only Switch, Merge, Enter and Exit. A node is in the branch whose Switch it takes something
from, directly or not, and in the loop whose Enter it does; a Merge and an Exit lead out again. Nodes on one predicate
belong to one cond if they are connected. The gradient of a cond takes values of its branches as they are, so by this
it belongs to the same cond, which then may need its own results: such a cond is cut into several, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final

from graphflow._core.common.records import dataclass
from graphflow._core.interop.import_nodes import BACK_EDGES, MERGES, Node, Refused

SWITCHES: Final = frozenset({"Switch", "RefSwitch"})
ENTERS: Final = frozenset({"Enter", "RefEnter"})
EXITS: Final = frozenset({"Exit", "RefExit"})
_MAXIMUM_DEPTH: Final = 64
_SEEN_THROUGH: Final = frozenset({"Identity", *SWITCHES, *ENTERS})
Source = tuple[str, int]


@dataclass(eq=False)
class Construct:
    """A cond or a loop, and the body around it. A cond has a predicate, and the Switches that are its pivots."""

    loop: bool
    name: str
    outer: Body | None = None
    predicate: Source | None = None
    merges: list[Node] = field(default_factory=list)
    pivots: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Body:
    """A branch (`side` 1 if the predicate is true) or a loop."""

    construct: Construct
    side: int

    def chain(self) -> list[Body]:
        """It and the bodies around it, innermost first."""
        result: list[Body] = []
        body: Body | None = self
        while body is not None:
            result.append(body)
            body = body.construct.outer
            if len(result) > _MAXIMUM_DEPTH:
                raise Refused(f"Branches and loops are nested more than {_MAXIMUM_DEPTH} deep.")
        return result


class Contexts:
    """The body of every node.

    `joined` has, for every Merge that is not a loop's, its cond and the side of each of its inputs.
    """

    def __init__(self, nodes: Mapping[str, Node], order: Iterable[Node]) -> None:
        self._nodes = nodes
        self._order = list(order)
        self.joined: dict[str, tuple[Construct, list[int]]] = {}
        self._final: dict[str, Body | None] = {}
        if not any(node.op in SWITCHES or node.op in ENTERS for node in self._order):
            return
        found = _Bodies(nodes, self._order)
        taken = {source for node in self._order for source in node.inputs}
        constructs = _Settled(nodes, self._order, found)
        self._switched = found.switched
        only_false = {n for n in self._switched if (n, 0) in taken and (n, 1) not in taken}
        for node in self._order:
            body = constructs.body(node.name)
            if body is not None and node.name in only_false:
                body = Body(body.construct, 0)
            self._final[node.name] = body
        self._name_parts(found, constructs)

    def _name_parts(self, found: _Bodies, constructs: _Settled) -> None:
        for name, sides in found.sides.items():
            construct = constructs.of_merge(name)
            construct.merges.append(self._nodes[name])
            self.joined[name] = construct, sides
        for node in self._order:
            body = self._final[node.name]
            if body is None or node.name not in self._switched:
                continue
            if node.inputs[0] == node.inputs[1]:
                body.construct.pivots.append(node)
            else:
                body.construct.predicate = node.inputs[1]

    def of(self, node: Node) -> Body | None:
        """The body of a node."""
        return self._final.get(node.name)

    def inside(self, source: Source, construct: Construct, side: int) -> bool:
        """Whether a value is one of a branch, at any depth."""
        body = self._final.get(source[0])
        if body is None:
            return False
        if source[0] in self._switched:
            body = Body(body.construct, min(source[1], 1))
        return Body(construct, side) in body.chain()


class _Bodies:
    """A first placing, in which all nodes on the same predicate are in one cond."""

    def __init__(self, nodes: Mapping[str, Node], order: Sequence[Node]) -> None:
        self._nodes = nodes
        self._constructs: dict[tuple[object, ...], Construct] = {}
        self.body: dict[str, Body | None] = {}
        self.switched: dict[str, Construct] = {}
        """The cond of each Switch that is not a loop's."""
        self.sides: dict[str, list[int]] = {}
        """The side of each input of each Merge that is not a loop's."""
        self.merged: dict[str, Construct] = {}
        for _ in range(_MAXIMUM_DEPTH):
            outer = [c.outer for c in self._constructs.values() if c.loop]
            for node in order:
                self.body[node.name] = self._placed(node)
            if outer == [c.outer for c in self._constructs.values() if c.loop]:
                return
        raise Refused("The branches and loops of the GraphDef contradict each other.")

    def of_source(self, source: Source) -> Body | None:
        """Where a value exists."""
        name, index = source
        construct = self.switched.get(name)
        return self.body.get(name) if construct is None else Body(construct, min(index, 1))

    def _of_control(self, name: str) -> Body | None:
        """Where a node has run: a Switch runs whichever way it sends its value."""
        construct = self.switched.get(name)
        return self.body.get(name) if construct is None else construct.outer

    def _placed(self, node: Node) -> Body | None:
        inputs = [s for s in node.inputs if s[0] in self._nodes]
        if node.op in MERGES:
            if not any(self._nodes[s[0]].op in ENTERS | BACK_EDGES for s in inputs):
                return self._merge(node, inputs)
            inputs = [s for s in inputs if self._nodes[s[0]].op not in BACK_EDGES]
        bodies = [self.of_source(s) for s in inputs] + [self._of_control(c) for c in node.control]
        if node.op == "ControlTrigger":
            return _common(bodies)
        around: Body | None = None
        for body in bodies:
            around = self._inner(node, around, body)
        if node.op in SWITCHES and len(node.inputs) == 2:
            return self._switch(node, around)
        if node.op in ENTERS:
            frame = str(node.attrs.get("frame_name", ""))
            loop = self._constructs.setdefault(("loop", frame), Construct(True, frame))
            loop.outer = self._inner(node, loop.outer, around)
            return Body(loop, 0)
        if node.op in EXITS:
            left = next((p for p in (around.chain() if around else ()) if p.construct.loop), None)
            if left is None:
                raise Refused(f"{node.describe()} is in no loop.")
            return left.construct.outer
        return around

    def _switch(self, node: Node, around: Body | None) -> Body | None:
        predicate = node.inputs[1]
        if predicate[0] in self._nodes and self._nodes[predicate[0]].op == "LoopCond":
            return around
        root = self._root(predicate)
        construct = self._constructs.setdefault((root, around), Construct(False, root[0], around))
        if construct.predicate is None or node.inputs[0] != predicate:
            construct.predicate = predicate
        self.switched[node.name] = construct
        return Body(construct, 1)

    def _root(self, source: Source) -> Source:
        """The tensor of which a predicate is another name."""
        name, index = source
        for _ in range(len(self._nodes)):
            node = self._nodes.get(name)
            if node is None or node.op not in _SEEN_THROUGH or not node.inputs:
                break
            name, index = node.inputs[0]
        return name, index

    def _merge(self, node: Node, inputs: list[Source]) -> Body | None:
        if len(inputs) != 2 or len(node.inputs) != 2:
            raise Refused(
                f"{node.describe()}: a Merge of {len(node.inputs)} values is not supported, only of two."
            )
        first, second = ([p for p in self._chain(s) if not p.construct.loop] for s in inputs)
        for a in first:
            for b in second:
                if a.construct is b.construct and a.side != b.side:
                    return self._join(node, a.construct, [a.side, b.side])
        if bool(first) == bool(second):
            raise Refused(f"{node.describe()} does not join the two branches of a cond.")
        side = (first or second)[0].side
        return self._join(
            node, (first or second)[0].construct, [side, 1 - side] if first else [1 - side, side]
        )

    def _chain(self, source: Source) -> list[Body]:
        body = self.of_source(source)
        return [] if body is None else body.chain()

    def _join(self, node: Node, construct: Construct, sides: list[int]) -> Body | None:
        self.sides[node.name] = sides
        self.merged[node.name] = construct
        return construct.outer

    def _inner(self, node: Node, first: Body | None, second: Body | None) -> Body | None:
        """The inner of two bodies, one of which must be around the other."""
        if first is None or second is None or first == second:
            return first or second
        if second in first.chain():
            return first
        if first in second.chain():
            return second
        raise Refused(
            f"{node.describe()} takes values from {_text(first)} and from {_text(second)}, of which neither is "
            "inside the other."
        )


def _common(bodies: Sequence[Body | None]) -> Body | None:
    """The innermost body around all of these: a ControlTrigger runs also if what it waits for does not."""
    if not bodies or any(body is None for body in bodies):
        return None
    chains = [body.chain()[::-1] for body in bodies if body is not None]
    found: Body | None = None
    for level in zip(*chains, strict=False):
        if any(body != level[0] for body in level):
            break
        found = level[0]
    return found


def _text(body: Body) -> str:
    construct = body.construct
    return f"the loop {construct.name!r}" if construct.loop else f"a branch of the cond on {construct.name!r}"


Key = tuple[object, ...]
Step = tuple[Key, int]


class _Settled:
    """The conds as they are: nodes on one predicate that are connected, cut if the cond would follow itself."""

    def __init__(self, nodes: Mapping[str, Node], order: Sequence[Node], bodies: _Bodies) -> None:
        self._nodes = nodes
        self._order = order
        self._bodies = bodies
        self._parents: dict[tuple[Construct, str], tuple[Construct, str]] = {}
        self._cut: set[Key] = set()
        self._step: dict[tuple[str, Key], int] = {}
        """For a node in a cond that was cut, how often it comes after such a cond."""
        self._constructs: dict[Key, Construct] = {}
        self._chains: dict[str, list[Step]] = {}
        self._connect()
        self._settle()

    # ---- what is connected ------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        chains = {
            node.name: [] if (p := self._bodies.body[node.name]) is None else p.chain()
            for node in self._order
        }
        for node in self._order:
            inside = {p.construct for p in chains[node.name]}
            merged = self._bodies.merged.get(node.name)
            if merged is not None:
                inside.add(merged)
            for name in [n for n, _ in node.inputs] + node.control:
                for body in chains.get(name, ()):
                    if body.construct in inside:
                        self._union((body.construct, node.name), (body.construct, name))
        for name, bodies in chains.items():
            self._chains[name] = [(self._key(p.construct, name), p.side) for p in reversed(bodies)]

    def _key(self, construct: Construct, name: str) -> Key:
        return ("loop", construct) if construct.loop else ("cond", *self._root((construct, name)))

    def _root(self, item: tuple[Construct, str]) -> tuple[Construct, str]:
        root = item
        while (parent := self._parents.get(root, root)) != root:
            root = parent
        while item != root:
            self._parents[item], item = root, self._parents.get(item, root)
        return root

    def _union(self, a: tuple[Construct, str], b: tuple[Construct, str]) -> None:
        a, b = self._root(a), self._root(b)
        if a != b:
            self._parents[a] = b

    # ---- what must be cut -------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Cuts conds until, at every level, nothing follows itself."""
        todo = [(list(self._order), 0)]
        while todo:
            members, depth = todo.pop()
            items, order = self._in_order(members, depth)
            self._count_steps(members, depth, items, order)
            inside: dict[object, list[Node]] = {}
            for node in members:
                item = items[node.name]
                if item is not node.name:
                    inside.setdefault(item, []).append(node)
            for item, nodes in inside.items():
                keys = [key for key, _ in self._chains[nodes[0].name]]
                todo.append((nodes, keys.index(item) + 1))  # type: ignore[arg-type]

    def _in_order(self, members: Sequence[Node], depth: int) -> tuple[dict[str, object], list[object]]:
        """What stands for each node (itself, or the outermost construct that is not cut), in an order that works."""
        while True:
            items = {node.name: self._item(node.name, depth) for node in members}
            waiting: dict[object, int] = dict.fromkeys(items.values(), 0)
            followers: dict[object, list[object]] = {}
            for source, target in self._edges(members, items):
                followers.setdefault(source, []).append(target)
                waiting[target] += 1
            ready = [item for item, count in waiting.items() if not count]
            order: list[object] = []
            while ready:
                item = ready.pop()
                order.append(item)
                for follower in followers.get(item, ()):
                    waiting[follower] -= 1
                    if not waiting[follower]:
                        ready.append(follower)
            stuck = [item for item, count in waiting.items() if count]
            if not stuck:
                return items, order
            conds = {item for item in stuck if isinstance(item, tuple) and item[0] == "cond"}
            if not conds:
                raise Refused("The branches and loops of the GraphDef follow themselves.")
            self._cut |= conds

    def _item(self, name: str, depth: int) -> object:
        for key, _ in self._chains[name][depth:]:
            if key not in self._cut:
                return key
        return name

    def _edges(self, members: Sequence[Node], items: Mapping[str, object]) -> Iterable[tuple[object, object]]:
        seen: set[tuple[object, object]] = set()
        for node in members:
            target = items[node.name]
            for name in [n for n, _ in node.inputs] + node.control:
                source = items.get(name)
                if node.op in MERGES and name in self._nodes and self._nodes[name].op in BACK_EDGES:
                    continue
                if source is None or source == target or (source, target) in seen:
                    continue
                seen.add((source, target))
                yield source, target

    def _cut_around(self, name: str, depth: int) -> list[Key]:
        """The conds around a node, from a level on, that were cut, down to the first that was not."""
        result = []
        for key, _ in self._chains[name][depth:]:
            if key not in self._cut:
                break
            result.append(key)
        return result

    def _count_steps(
        self, members: Sequence[Node], depth: int, items: Mapping[str, object], order: Sequence[object]
    ) -> None:
        """How often the way to each item leaves a cond that was cut: by that the cond's parts are told apart."""
        around = {items[node.name]: set(self._cut_around(node.name, depth)) for node in members}
        if not any(around.values()):
            return
        sources: dict[object, list[object]] = {}
        for source, target in self._edges(members, items):
            sources.setdefault(target, []).append(source)
        steps: dict[object, int] = {}
        for item in order:
            steps[item] = max(
                (steps[s] + bool(around[s] - around[item]) for s in sources.get(item, ())), default=0
            )
        for node in members:
            for key in around[items[node.name]]:
                self._step[node.name, key] = steps[items[node.name]]

    # ---- the result -------------------------------------------------------------------------------------------------

    def body(self, name: str) -> Body | None:
        """The body of a node, for good."""
        return self._built(name, self._chains[name])

    def _built(self, name: str, chain: Sequence[Step]) -> Body | None:
        body: Body | None = None
        for key, side in chain:
            full = (*key, self._step[name, key]) if key in self._cut else key
            construct = self._constructs.get(full)
            if construct is None:
                first: Construct = key[1]  # type: ignore[assignment]
                construct = self._constructs[full] = Construct(first.loop, first.name, body, first.predicate)
            body = Body(construct, side)
        return body

    def of_merge(self, name: str) -> Construct:
        """The cond that a Merge ends: of one that was cut, the last part that it takes from."""
        merged = self._bodies.merged[name]
        found: Construct | None = None
        best = -1
        for source, _ in self._nodes[name].inputs:
            chain = self._chains.get(source, [])
            for position, (key, _) in enumerate(chain):
                step = self._step.get((source, key), 0)
                if key == self._key(merged, name) and step > best:
                    body = self._built(source, chain[: position + 1])
                    assert body is not None
                    found, best = body.construct, step
        assert found is not None
        return found
