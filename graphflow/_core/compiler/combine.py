"""What several nodes do together better than each alone: sums of products, convolutions with relu, and the like.

A weight that is used many times (a recurrent cell, unrolled) gets the sum of as many products as its gradient. Their
operands are laid side by side in memory, so that the sum is a single product; if that cannot be, each product is
added to the block of the one before. Results that one node makes and one other takes become one kernel if there is
one that does both. Done on nodes, before they are fused into regions, because only there is known who else reads.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.nodes import Combining, Node, Statements
from graphflow._core.compiler.products import Product, ProductNode, product_node
from graphflow._core.compiler.values import Value

_SUM: Final = re.compile(r"\{\d+\}( \+ \{\d+\})+")
_MOST_TERMS: Final = 16
"""Terms of one statement of a sum; longer ones become chains of such."""
_FEWEST_STACKED: Final = 3


def combine(lowering: Lowering, fetched: Collection[str]) -> list[Node]:
    """The nodes of a plan after combination; `fetched` are the roots that a run hands out."""
    combining = _Combining(lowering, fetched)
    combining.following()
    combining.sums()
    combining.long_sums()
    return combining.finished()


def combine_for_device(lowering: Lowering, fetched: Collection[str]) -> list[Node]:
    """The same for a device's nodes: kernels take in what follows them, and sums of very many terms become chains."""
    combining = _Combining(lowering, fetched)
    combining.following()
    combining.long_sums()
    return combining.finished()


class _Combining:
    def __init__(self, lowering: Lowering, fetched: Collection[str]) -> None:
        self._lowering = lowering
        self._nodes: list[Node] = list(lowering.nodes)
        self._before: dict[int, list[int]] = {}
        self._instead: dict[int, list[int]] = {}
        self._fetched = fetched
        self._readers: dict[str, list[int]] = {}
        self._makers: dict[str, list[int]] = {}
        self._successors: dict[int, list[int]] = {}
        for number, node in enumerate(self._nodes):
            for value in node.reads:
                self._readers.setdefault(value.root, []).append(number)
            for root in node.makes:
                self._makers.setdefault(root, []).append(number)
            for before in node.after:
                self._successors.setdefault(before, []).append(number)

    # ---- what all use ---------------------------------------------------------------------------------------------

    def _maker(self, value: Value, reader: int) -> int | None:
        """The one node that makes all of a block which one reader takes whole and nobody else takes; else None."""
        makers = self._makers.get(value.root, [])
        private = self._readers.get(value.root) == [reader] and value.root not in self._fetched
        if len(makers) != 1 or not private or not self._is_block(value):
            return None
        return None if makers[0] in self._instead else makers[0]

    def _may_wait(self, number: int, other: int) -> bool:
        """Whether a node may take place where a later one does: nothing that comes before that needs it."""
        return min(self._successors[number]) == other

    def _is_block(self, value: Value) -> bool:
        bytes_of = {"float32": 4, "float64": 8}.get(value.dtype, 0)
        whole_block = value.contiguous and not value.offset
        return whole_block and self._lowering.blocks.get(value.root) == value.size * bytes_of

    def _replace(self, number: int, node: Node, merged: Sequence[int]) -> None:
        """Puts a node in the place of one that took what `merged` made, and takes those away."""
        after = {n for m in (*merged, number) for n in self._nodes[m].after}
        node.after = sorted(after - {*merged, number})
        self._nodes[number] = node
        for one in merged:
            self._instead[one] = [number]

    def _insert(self, before: int, node: Node) -> int:
        """Adds a node in front of another; its number."""
        self._nodes.append(node)
        self._before.setdefault(before, []).append(len(self._nodes) - 1)
        return len(self._nodes) - 1

    def finished(self) -> list[Node]:
        """The nodes in order, with their numbers."""
        kept = []
        for number in range(len(self._lowering.nodes)):
            kept += [*self._before.get(number, ()), *([] if number in self._instead else [number])]
        numbers = {old: new for new, old in enumerate(kept)}
        for number in kept:
            node = self._nodes[number]
            node.after = sorted({numbers[k] for n in node.after for k in self._final(n)} - {numbers[number]})
        return [self._nodes[number] for number in kept]

    def _final(self, number: int) -> list[int]:
        instead = self._instead.get(number)
        return [number] if instead is None else [k for n in instead for k in self._final(n)]

    # ---- kernels that do more -------------------------------------------------------------------------------------

    def following(self) -> None:
        """Takes bias and relu into the kernel before them, and a relu's gradient into the pool's before it."""
        for number in range(len(self._lowering.nodes)):
            node = self._nodes[number]
            if not isinstance(node, Statements) or node.forced or node.reduce or len(node.results) != 1:
                continue
            target = node.results[0][1]
            for position, value in enumerate(node.reads):
                made_by = self._maker(value, number)
                maker = None if made_by is None else self._nodes[made_by]
                if made_by is None or not self._may_wait(made_by, number) or value.shape != target.shape:
                    continue
                if not isinstance(maker, Combining):
                    continue
                combined = maker.combined(node, position, target)
                if combined is not None:
                    self._replace(number, combined, [made_by])
                    break

    # ---- sums -----------------------------------------------------------------------------------------------------

    def sums(self) -> None:
        """Turns sums of products into one product, or products that are added in place."""
        for number in range(len(self._lowering.nodes)):
            node = self._nodes[number]
            if isinstance(node, Statements) and _is_sum(node):
                makers = [self._product_maker(value, number) for value in node.reads]
                products = sorted(m for m in makers if m is not None)
                if len(products) >= 2:
                    rest = [v for v, m in zip(node.reads, makers, strict=True) if m is None]
                    self._sum(number, node, products, rest)

    def _product_maker(self, value: Value, reader: int) -> int | None:
        maker = self._maker(value, reader)
        node = None if maker is None else self._nodes[maker]
        good = isinstance(node, ProductNode) and node.product is not None and node.product.batch == 1
        return maker if good else None

    def _sum(self, number: int, node: Statements, products: list[int], rest: list[Value]) -> None:
        result = node.results[0][1]
        target = result
        if rest:
            target = self._lowering.temporary(node.instruction.name, result.dtype, result.shape)
        stacked = self._stacked(number, [self._product(p) for p in products], products, target)
        if stacked is not None and not rest:
            self._replace(number, stacked, products)
            return
        if stacked is not None:
            first = self._insert(number, stacked)
            stacked.after = sorted({*stacked.after, *(n for p in products for n in self._nodes[p].after)})
            for one in products:
                self._instead[one] = [first]
        else:
            self._chain(products, target)
        if rest:
            node.reads[:] = [target, *rest]
            node.lines[:] = [(*node.lines[0][:2], _sum_text(len(node.reads)))]
        else:
            self._instead[number] = sorted({*products, *node.after})

    def _product(self, number: int) -> Product:
        node = self._nodes[number]
        assert isinstance(node, ProductNode) and node.product is not None
        return node.product

    def _chain(self, products: list[int], target: Value) -> None:
        """Each product adds to the block of the one before."""
        for position, number in enumerate(products):
            old = self._nodes[number]
            product = replace(self._product(number), target=target, accumulate=position > 0)
            new = product_node(old.instruction, product)
            new.after = sorted({*old.after, *products[:position]})
            self._nodes[number] = new
        self._makers[target.root] = list(products)

    # ---- one product for many -------------------------------------------------------------------------------------

    def _stacked(
        self, number: int, products: list[Product], made_by: list[int], target: Value
    ) -> ProductNode | None:
        """One product over the depths of all, whose operands then lie side by side; None if they cannot."""
        first = products[0]
        shapes = {(p.first.shape, p.second.shape, p.flips) for p in products}
        if len(products) < _FEWEST_STACKED or len(shapes) != 1 or first.flips != (True, False):
            return None
        operands = [*(p.first for p in products), *(p.second for p in products)]
        changing = self._lowering.variables
        if any(v.root in changing for v in operands) or not all(self._may_wait(m, number) for m in made_by):
            return None
        products = self._as_they_lie(products)
        sides = [
            self._side_by_side(number, [p.first for p in products]),
            self._side_by_side(number, [p.second for p in products]),
        ]
        depth = first.depth * len(products)
        matrices = [
            Value(side[0].root, side[0].dtype, (depth, old.shape[1]), (old.shape[1], 1), side[0].offset)
            for side, old in zip(sides, (first.first, first.second), strict=True)
        ]
        node = product_node(
            self._nodes[number].instruction, Product(matrices[0], matrices[1], target, (True, False), depth)
        )
        node.reads[:] = [*sides[0], *sides[1]]
        added = {v.root for side in sides for v in side}
        node.after = [m for root in added for m in self._makers.get(root, ())]
        self._nodes[number].after = sorted({*self._nodes[number].after, *node.after})
        return node

    def _as_they_lie(self, products: list[Product]) -> list[Product]:
        """The products in the order in which operands of theirs lie in memory already, if any do."""
        for roots in ([p.first.root for p in products], [p.second.root for p in products]):
            cluster = self._lowering.clusters.get(roots[0], ())
            if sorted(cluster) == sorted(roots):
                return [products[roots.index(root)] for root in cluster]
        return products

    def _side_by_side(self, number: int, values: list[Value]) -> list[Value]:
        """Values of one shape that follow each other in memory: their own blocks, or copies."""
        lowering = self._lowering
        roots = tuple(v.root for v in values)
        if all(lowering.clusters.get(root) == roots for root in roots):
            return values
        steps = {b.offset - a.offset for a, b in pairwise(values)}
        if len({(v.root, v.strides) for v in values}) == 1 and len(steps) == 1:
            one = values[0]
            shape, strides = (len(values), *one.shape), (steps.pop(), *one.strides)
            return [self._copy(number, Value(one.root, one.dtype, shape, strides, one.offset))]
        own = [
            value
            if self._is_block(value) and value.root not in lowering.clusters and roots.count(value.root) == 1
            else self._copy(number, value)
            for value in values
        ]
        roots = tuple(v.root for v in own)
        lowering.clusters.update(dict.fromkeys(roots, roots))
        return own

    def _copy(self, number: int, value: Value) -> Value:
        instruction = self._nodes[number].instruction
        copy = self._lowering.temporary(instruction.name, value.dtype, value.shape)
        node = _statement(instruction_of=self._nodes[number], text="{0}", reads=[value], target=copy)
        node.after = list(self._makers.get(value.root, ()))
        self._makers[copy.root] = [self._insert(number, node)]
        return copy

    # ---- long sums ------------------------------------------------------------------------------------------------

    def long_sums(self) -> None:
        """Cuts sums of very many terms into chains."""
        for number in range(len(self._lowering.nodes)):
            node = self._nodes[number]
            if number in self._instead or not isinstance(node, Statements) or not _is_sum(node):
                continue
            while len(node.reads) > _MOST_TERMS:
                terms = node.reads[:_MOST_TERMS]
                target = node.results[0][1]
                partial = self._lowering.temporary(node.instruction.name, target.dtype, node.space)
                part = _statement(
                    instruction_of=node, text=_sum_text(_MOST_TERMS), reads=terms, target=partial
                )
                part.after = list(node.after)
                added = self._insert(number, part)
                node.after = [*node.after, added]
                node.reads[:_MOST_TERMS] = [partial]
            node.lines[:] = [(*node.lines[0][:2], _sum_text(len(node.reads)))]


def _is_sum(node: Statements) -> bool:
    """Whether it adds whole arrays of one shape, each named once, and does nothing else."""
    if node.forced or node.reduce or node.build is not None or node.variables or len(node.lines) != 1:
        return False
    if len(node.results) != 1 or not _SUM.fullmatch(node.lines[0][2]):
        return False
    text = node.lines[0][2]
    return text == _sum_text(len(node.reads)) and all(
        v.shape == node.space and v.dtype == node.lines[0][1] for v in node.reads
    )


def _sum_text(count: int) -> str:
    return " + ".join(f"{{{k}}}" for k in range(count))


def _statement(instruction_of: Node, text: str, reads: list[Value], target: Value) -> Statements:
    return Statements(
        instruction_of.instruction,
        reads,
        [target.root],
        space=target.shape,
        lines=[("out", target.dtype, text)],
        results=[("out", target)],
    )
