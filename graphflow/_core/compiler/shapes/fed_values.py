"""FedValues: which fed values a compiled plan is made for, beside the shapes of all feeds.

Truth values that decide branches (compiler/branches.py), and sizes (sizing.py). For as many of these as
there are, there is a compiled plan each. So sizes are given up if they turn out to be data: others in nearly every run,
while the shapes of the feeds stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.common.records import dataclass
from graphflow._core.common.syntax import literal
from graphflow._core.compiler.branches import decided, deciding_feeds
from graphflow._core.compiler.shapes.sizing import constant_of, fed_sizes, sizing_feeds, with_sizes
from graphflow._core.plan.ir import Plan

Key = tuple[Any, ...]
"""The shape of each feed, None for one that a branch has not computed; then the truth values that decide branches; then
the elements of the fed sizes, None for what is none."""

_MOST_WITH_SAME_SHAPES: Final = 16
"""Combinations of sizes beyond one for each combination of shapes, after which sizes are taken to be data."""


class FedValues:
    """What of the fed values belongs to a combination."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.deciding = deciding_feeds(plan)
        self.sizing = self._may_size = sizing_feeds(plan)
        self._shapes: set[Key] = set()
        self._sized: set[Key] = set()

    def key(self, feeds: Sequence[Any]) -> Key:
        """The combination of some feeds."""
        key: Key = ()
        if feeds:
            key = tuple([f.shape if isinstance(f, np.ndarray) else None if f is None else () for f in feeds])
        if self.deciding:
            key += tuple([bool(feeds[position]) for position in self.deciding])
        if self.sizing:
            key += tuple([fed_sizes(feeds[position]) for position in self.sizing])
        return key

    def are_data(self, key: Key) -> bool:
        """Notes a combination; whether its sizes turn out to be data, and are given up: keys are without them now."""
        if not self.sizing:
            return False
        self._sized.add(key)
        self._shapes.add(key[: -len(self.sizing)])
        if len(self._sized) - len(self._shapes) < _MOST_WITH_SAME_SHAPES:
            return False
        self.sizing = ()
        return True

    def restore(self, texts: Iterable[str]) -> None:
        """Notes the combinations of a checkpoint by their texts, so that sizes are given up as they would have been."""
        whole = len(self.plan.feeds) + len(self.deciding) + len(self._may_size)
        for key in map(literal, texts):
            if len(key) != whole:
                self.sizing = ()
            elif self.are_data(key):
                return

    def given(self, key: Key) -> Given:
        """The values that a combination is for."""
        feeds, start = self.plan.feeds, len(self.plan.feeds)
        middle = start + len(self.deciding)
        truths = {feeds[p]: value for p, value in zip(self.deciding, key[start:middle], strict=True)}
        sizes, shapes, places = {}, {}, {}
        for position, (feed, elements) in enumerate(zip(self._may_size, key[middle:], strict=False), middle):
            if elements is not None:
                sizes[feeds[feed]], shapes[feeds[feed]] = elements, key[feed]
                places[constant_of(feeds[feed])] = position
        return Given(truths, sizes, shapes, places)


@dataclass(frozen=True, eq=False)
class Given:
    """The fed values of a combination, by name.

    shapes: those of the fed sizes. places: where each constant that stands for one has its elements in the key.
    """

    truths: dict[str, bool]
    sizes: dict[str, tuple[int, ...]]
    shapes: dict[str, tuple[int, ...]]
    places: dict[str, int]

    def decided(self, plan: Plan) -> Plan:
        """The plan for the truth values alone."""
        return decided(plan, self.truths)

    def fixed(self, plan: Plan) -> Plan:
        """The plan for all of these values."""
        return with_sizes(self.decided(plan), self.sizes, self.shapes)


NOTHING: Final = Given({}, {}, {}, {})
