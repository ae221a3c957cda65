"""Which branch or loop each node of a GraphDef belongs to, told from its edges.

A GraphDef has no contexts, only Switch, Merge, Enter and Exit. A node is in the branch whose Switch it takes something
from, directly or not, and in the loop whose Enter it does; a Merge and an Exit lead out again. Two Switches belong to
one cond where a node takes from both, or a Merge joins them. The gradient of a cond switches on the same predicate
again, and takes values of the forward branch as they are: what comes after the Merge of a cond is another cond.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from graphflow.ops.import_nodes import BACK_EDGES, MERGES, Node, Refused

SWITCHES: Final = frozenset({"Switch", "RefSwitch"})
ENTERS: Final = frozenset({"Enter", "RefEnter"})
EXITS: Final = frozenset({"Exit", "RefExit"})
_MAXIMUM_DEPTH: Final = 64
_SEEN_THROUGH: Final = frozenset({"Identity", *SWITCHES, *ENTERS})
Source = tuple[str, int]


@dataclass(eq=False)
class Construct:
    """A cond or a loop: `outer` is the place around it, `bits` stands for it in the sets of what a node comes after."""

    loop: bool
    name: str
    bits: int
    outer: Place | None = None
    same: Construct | None = None
    root: Source | None = None
    predicate: Source | None = None
    after: int = 0
    merges: list[Node] = field(default_factory=list)
    pivots: list[Node] = field(default_factory=list)

    def found(self) -> Construct:
        """What it turned out to be the same as."""
        result = self
        while result.same is not None:
            result = result.same
        return result


@dataclass(frozen=True)
class Place:
    """A branch (`side` 1 where the predicate is true) or a loop."""

    construct: Construct
    side: int

    def chain(self) -> list[Place]:
        """It and the places around it, innermost first."""
        result: list[Place] = []
        place: Place | None = self
        while place is not None:
            construct = place.construct.found()
            result.append(Place(construct, place.side))
            place = construct.outer
            if len(result) > _MAXIMUM_DEPTH:
                raise Refused(f"Branches and loops are nested more than {_MAXIMUM_DEPTH} deep.")
        return result


class Contexts:
    """The place of every node."""

    def __init__(self, nodes: Mapping[str, Node], order: Iterable[Node]) -> None:
        self._nodes = nodes
        self._order = list(order)
        self._constructs: dict[tuple[object, ...], Construct] = {}
        self._after: dict[str, int] = {}
        self.place: dict[str, Place | None] = {}
        self.switched: dict[str, Construct] = {}
        """The cond of each Switch that is not a loop's."""
        self.joined: dict[str, tuple[Construct, list[int]]] = {}
        """The cond of each Merge that is not a loop's, and the side of each of its inputs."""
        for _ in range(_MAXIMUM_DEPTH):
            if not self._pass():
                return
        raise Refused("The branches and loops of the GraphDef contradict each other.")

    def of(self, node: Node) -> Place | None:
        """The place of a node, for good."""
        place = self.place[node.name]
        return None if place is None else Place(place.construct.found(), place.side)

    def inside(self, source: Source, construct: Construct, side: int) -> bool:
        """Whether a value exists in one branch of a cond only."""
        place = self._of_source(source)
        return place is not None and Place(construct.found(), side) in place.chain()

    def _pass(self) -> bool:
        """Places every node; whether a place around a loop or a cond became another one meanwhile."""
        if not any(node.op in SWITCHES or node.op in ENTERS for node in self._order):
            self.place = dict.fromkeys(self._nodes)
            return False
        before = {key: c.found().outer for key, c in self._constructs.items()}
        self.joined.clear()
        for construct in self._constructs.values():
            construct.merges.clear()
        for node in self._order:
            self.place[node.name] = self._placed(node)
        after = {key: c.found().outer for key, c in self._constructs.items()}
        return any(
            key in before and _resolved(before[key]) != _resolved(outer) for key, outer in after.items()
        ) or (not before and any(outer is not None for outer in after.values()))

    # ---- one node -------------------------------------------------------------------------------------------------

    def _of_source(self, source: Source) -> Place | None:
        name, index = source
        construct = self.switched.get(name)
        if construct is not None:
            return Place(construct.found(), min(index, 1))
        return self.place.get(name)

    def _placed(self, node: Node) -> Place | None:
        inputs = [s for s in node.inputs if s[0] in self._nodes]
        forward = [s for s in inputs if not (node.op in MERGES and self._nodes[s[0]].op in BACK_EDGES)]
        after = 0
        for name in [n for n, _ in forward] + node.control:
            after |= self._after.get(name, 0)
        self._after[node.name] = after
        if node.op in MERGES and not any(self._nodes[s[0]].op in ENTERS | BACK_EDGES for s in inputs):
            return self._merge(node, inputs)
        places = [self._of_source(s) for s in forward] + [self.place.get(c) for c in node.control]
        around = self._together(node, places)
        if node.op in SWITCHES and len(node.inputs) == 2:
            return self._switch(node, around, after)
        if node.op in ENTERS:
            return self._enter(node, around)
        if node.op in EXITS:
            loop = next((p for p in (around.chain() if around else ()) if p.construct.loop), None)
            if loop is None:
                raise Refused(f"{node.describe()} is in no loop.")
            return loop.construct.outer
        if around is not None:
            for place in around.chain():
                place.construct.after |= after
        if node.op in MERGES and around is not None and around.construct.loop:
            around.construct.merges.append(node)
        return around

    def _switch(self, node: Node, around: Place | None, after: int) -> Place | None:
        data, predicate = node.inputs
        if predicate[0] in self._nodes and self._nodes[predicate[0]].op == "LoopCond":
            return around
        if data == predicate:
            construct = self._construct(("pivot", node.name), False, node.name)
            if node not in construct.found().pivots:
                construct.found().pivots.append(node)
        else:
            generation = 0
            while True:
                construct = self._construct((predicate, generation), False, predicate[0])
                if not after & construct.found().bits:
                    break
                generation += 1
            construct.found().predicate = predicate
        construct = construct.found()
        construct.root = self._root(predicate)
        construct.predicate = construct.predicate or predicate
        construct.after |= after
        construct.outer = self._together(node, [construct.outer, around])
        self.switched[node.name] = construct
        return Place(construct, 1)

    def _root(self, source: Source) -> Source:
        """What a predicate is another name of."""
        name, index = source
        for _ in range(len(self._nodes)):
            node = self._nodes.get(name)
            if node is None or node.op not in _SEEN_THROUGH or not node.inputs:
                break
            name, index = node.inputs[0]
        return name, index

    def _enter(self, node: Node, around: Place | None) -> Place:
        frame = str(node.attrs.get("frame_name", ""))
        construct = self._construct(("loop", frame), True, frame)
        if around is None or around.construct.found() is not construct:
            construct.outer = self._together(node, [construct.outer, around])
        return Place(construct, 0)

    def _construct(self, key: tuple[object, ...], loop: bool, name: str) -> Construct:
        found = self._constructs.get(key)
        if found is None:
            found = self._constructs[key] = Construct(loop, name, 1 << len(self._constructs))
        return found

    def _merge(self, node: Node, inputs: list[Source]) -> Place | None:
        if len(inputs) != 2 or len(node.inputs) != 2:
            raise Refused(
                f"{node.describe()}: a Merge of {len(node.inputs)} values is not supported, only of two."
            )
        first, second = (self._conds(s) for s in inputs)
        for a in first:
            for b in second:
                if a.side != b.side and a.construct.root == b.construct.root:
                    construct = self._same(a.construct, b.construct)
                    return self._join(node, construct, [a.side, b.side])
        if not first and not second:
            raise Refused(f"{node.describe()} joins values of no branch: it follows no Switch.")
        if first and second:
            raise Refused(f"{node.describe()} joins values of branches of different conds.")
        place = (first or second)[0]
        sides = [place.side, 1 - place.side] if first else [1 - place.side, place.side]
        return self._join(node, place.construct, sides)

    def _conds(self, source: Source) -> list[Place]:
        place = self._of_source(source)
        return [] if place is None else [p for p in place.chain() if not p.construct.loop]

    def _join(self, node: Node, construct: Construct, sides: list[int]) -> Place | None:
        construct = construct.found()
        self.joined[node.name] = construct, sides
        if node not in construct.merges:
            construct.merges.append(node)
        self._after[node.name] |= construct.bits
        return construct.outer

    # ---- several places ---------------------------------------------------------------------------------------------

    def _together(self, node: Node, places: Iterable[Place | None]) -> Place | None:
        """The innermost of the places, each of which must be around it, or be what it follows."""
        result: Place | None = None
        for place in places:
            if place is None:
                continue
            chain = place.chain()
            if result is None or result.chain()[0] in chain:
                result = chain[0]
            elif chain[0] not in result.chain():
                result = self._apart(node, result, chain[0])
        return result

    def _apart(self, node: Node, first: Place, second: Place) -> Place:
        """Of two places that are not inside each other, the one that follows the other."""
        one, two = first.chain()[::-1], second.chain()[::-1]
        depth = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), -1)
        if depth < 0:
            return first if len(one) > len(two) else second
        a, b = one[depth], two[depth]
        if a.construct.loop or b.construct.loop or a.side != b.side or a.construct.root != b.construct.root:
            raise Refused(
                f"{node.describe()} takes values from {_text(first)} and from {_text(second)}, of which neither is "
                "inside the other."
            )
        kept = self._same(a.construct, b.construct)
        if a.construct.found() is b.construct.found():
            return first if len(one) > len(two) else second
        return first if kept is a.construct else second

    def _same(self, a: Construct, b: Construct) -> Construct:
        """The later of two conds; where neither follows the other, they become one."""
        a, b = a.found(), b.found()
        if a is b or a.after & b.bits:
            return a
        if b.after & a.bits:
            return b
        if a.outer != b.outer and a.outer is not None and b.outer is not None:
            inner = a if b.outer in a.outer.chain() else b
        else:
            inner = a if a.outer is not None else b
        other = b if inner is a else a
        if inner.pivots and not other.pivots or not inner.predicate:
            inner.predicate = other.predicate or inner.predicate
        other.same = inner
        inner.bits |= other.bits
        inner.after |= other.after
        inner.merges += other.merges
        inner.pivots += other.pivots
        return inner


def _resolved(place: Place | None) -> Place | None:
    return None if place is None else Place(place.construct.found(), place.side)


def _text(place: Place) -> str:
    construct = place.construct
    return f"the loop {construct.name!r}" if construct.loop else f"a branch of the cond on {construct.name!r}"
