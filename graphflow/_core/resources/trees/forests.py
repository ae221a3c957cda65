"""Forest: trees of decisions that grow as examples come, and the classes that they tell of others.

Source: Saffari et al., "On-line Random Forests", 2009, with splits drawn at random as in extremely randomised trees. A
leaf keeps some splits, each at the value that an example had for a feature. It counts the classes on both sides of
each, and becomes the split with the least Gini impurity after so many examples.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from graphflow.errors import InvalidArgumentError

_LEAF: Final = -1


class ForestShape(NamedTuple):
    """What the trees of a forest are like."""

    trees: int
    classes: int
    features: int
    most_nodes: int
    splits: int
    """How many a leaf chooses from."""
    examples: int
    """After how many a leaf becomes a split."""
    share: float
    """The part of the examples that each tree sees."""


class _Tree:
    """One tree. Nodes are numbered from the root, 0, on."""

    def __init__(self, shape: ForestShape) -> None:
        self._shape = shape
        room = max(shape.most_nodes, 1)
        self.feature = np.full(room, _LEAF, np.int32)
        """The feature that a node asks for; _LEAF for none."""
        self.threshold = np.zeros(room, np.float32)
        self.left = np.zeros(room, np.int32)
        """The child for what is at most the threshold; the one behind it is for the rest."""
        self.counts = np.zeros((room, shape.classes), np.float64)
        self.size = np.array(1, np.int64)
        self.kept: dict[int, _Splits] = {}

    def leaves(self, features: Any) -> Any:
        """The leaf of each row."""
        nodes = np.zeros(len(features), np.int32)
        rows = np.arange(len(features))
        while True:
            asked = self.feature[nodes[rows]]
            rows = rows[asked != _LEAF]
            if not rows.size:
                return nodes
            at = nodes[rows]
            nodes[rows] = self.left[at] + (features[rows, self.feature[at]] > self.threshold[at])

    def grow(self, features: Any, labels: Any, random: np.random.Generator) -> None:
        """Counts examples in their leaves, some of which become splits."""
        leaves = self.leaves(features)
        for leaf in np.unique(leaves).tolist():
            self._grow_leaf(leaf, features[leaves == leaf], labels[leaves == leaf], random)

    def _grow_leaf(self, leaf: int, features: Any, labels: Any, random: np.random.Generator) -> None:
        splits = self.kept.get(leaf)
        if splits is None:
            splits = self.kept[leaf] = _Splits(self._shape)
        taken = min(len(labels), max(self._shape.examples - splits.seen, 1))
        splits.add(features[:taken], labels[:taken], random)
        np.add.at(self.counts[leaf], labels[:taken], 1.0)
        if splits.seen < self._shape.examples:
            return
        best = splits.best()
        if best is None or int(self.size) + 2 > len(self.feature):
            splits.begin_again()
            rest = taken
        else:
            self._split(leaf, best)
            rest = taken
        if rest < len(labels):
            if self.feature[leaf] == _LEAF:
                self._grow_leaf(leaf, features[rest:], labels[rest:], random)
                return
            sides = features[rest:, self.feature[leaf]] > self.threshold[leaf]
            for side in (0, 1):
                chosen = sides == bool(side)
                if chosen.any():
                    child = int(self.left[leaf]) + side
                    self._grow_leaf(child, features[rest:][chosen], labels[rest:][chosen], random)

    def _split(self, leaf: int, best: tuple[int, float, Any, Any]) -> None:
        first = int(self.size)
        self.feature[leaf], self.threshold[leaf], self.counts[first], self.counts[first + 1] = best
        self.left[leaf] = first
        self.size[...] = first + 2
        del self.kept[leaf]


class _Splits:
    """The splits that a leaf may become, and what it has counted for each."""

    def __init__(self, shape: ForestShape) -> None:
        self._shape = shape
        self.begin_again()

    def begin_again(self) -> None:
        """Forgets all: other splits are drawn."""
        self.seen = 0
        self.features = np.zeros(0, np.int32)
        self.thresholds = np.zeros(0, np.float32)
        self.left = np.zeros((0, self._shape.classes))
        self.right = np.zeros((0, self._shape.classes))

    def add(self, features: Any, labels: Any, random: np.random.Generator) -> None:
        """Draws splits of the first examples, and counts all that come after."""
        self.seen += len(labels)
        new = min(self._shape.splits - len(self.features), len(labels))
        if new > 0:
            asked = random.integers(0, self._shape.features, new, np.int32)
            self.features = np.append(self.features, asked)
            self.thresholds = np.append(self.thresholds, features[np.arange(new), asked])
            room = np.zeros((new, self._shape.classes))
            self.left, self.right = np.concatenate([self.left, room]), np.concatenate([self.right, room])
        is_left = features[:, self.features] <= self.thresholds
        one_hot = np.eye(self._shape.classes)[labels]
        left = is_left.T.astype(np.float64) @ one_hot
        self.left += left
        self.right += one_hot.sum(axis=0) - left

    def best(self) -> tuple[int, float, Any, Any] | None:
        """The split with the least impurity, and the counts of both sides; None if none has two sides."""
        sizes = [side.sum(axis=1) for side in (self.left, self.right)]
        possible = (sizes[0] > 0) & (sizes[1] > 0)
        if not possible.any():
            return None
        impurity = sum(
            size - np.square(side).sum(axis=1) / np.maximum(size, 1.0)
            for side, size in zip((self.left, self.right), sizes, strict=True)
        )
        chosen = int(np.argmin(np.where(possible, impurity, np.inf)))
        return (
            int(self.features[chosen]),
            float(self.thresholds[chosen]),
            self.left[chosen],
            self.right[chosen],
        )


class Forest:
    """Trees of a session. Thread-safe; saved with the state of a session.

    seed: of what is drawn; None for another each time.
    """

    def __init__(self, shape: ForestShape, seed: tuple[int, int] | None) -> None:
        self.shape = shape
        self._lock = threading.Lock()
        self._random = [
            np.random.default_rng(None if seed is None else (*seed, k)) for k in range(shape.trees)
        ]
        self._trees = [_Tree(shape) for _ in range(shape.trees)]

    def _checked(self, features: Any) -> Any:
        if features.ndim != 2 or features.shape[1] != self.shape.features:
            raise InvalidArgumentError(
                None, None,
                f"The forest takes rows of {self.shape.features} features, got the shape {list(features.shape)}.",
            )  # fmt: skip
        return np.ascontiguousarray(features, np.float32)

    def grow(self, features: Any, labels: Any) -> None:
        """Shows all trees some examples; InvalidArgumentError for a class that they do not know."""
        rows, classes = self._checked(features), np.asarray(labels).reshape(-1).astype(np.int64)
        if len(classes) != len(rows):
            raise InvalidArgumentError(
                None, None, f"There are {len(rows)} rows of features and {len(classes)} labels."
            )
        if classes.size and not 0 <= classes.min() <= classes.max() < self.shape.classes:
            raise InvalidArgumentError(
                None, None, f"Labels are below {self.shape.classes}, got {classes.min()} to {classes.max()}."
            )
        with self._lock:
            for tree, random in zip(self._trees, self._random, strict=True):
                seen = slice(None) if self.shape.share >= 1 else random.random(len(rows)) < self.shape.share
                tree.grow(rows[seen], classes[seen], random)

    def probabilities(self, features: Any) -> Any:
        """The mean over the trees of the shares of the classes in the leaf of each row, float32."""
        rows = self._checked(features)
        total = np.zeros((len(rows), self.shape.classes))
        with self._lock:
            for tree in self._trees:
                counts = tree.counts[tree.leaves(rows)]
                sums = counts.sum(axis=1, keepdims=True)
                total += np.where(sums > 0, counts / np.maximum(sums, 1.0), 1.0 / self.shape.classes)
        return (total / self.shape.trees).astype(np.float32)

    def sizes(self) -> Any:
        """How many nodes each tree has, int32."""
        with self._lock:
            return np.array([int(tree.size) for tree in self._trees], np.int32)

    def get_state(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """All trees; what their leaves have counted for splits begins again after a restore."""
        names = ("feature", "threshold", "left", "counts", "size")
        with self._lock:
            return {
                f"{k}/{name}": getattr(tree, name).copy()
                for k, tree in enumerate(self._trees)
                for name in names
            }

    def set_state(self, state: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Restores trees; InvalidArgumentError for those of another forest."""
        trees = [_Tree(self.shape) for _ in self._trees]
        for k, tree in enumerate(trees):
            for name in ("feature", "threshold", "left", "counts", "size"):
                value, room = state.get(f"{k}/{name}"), getattr(tree, name)
                if value is None or np.shape(value) != room.shape:
                    raise InvalidArgumentError(None, None, "The saved state is that of another forest.")
                room[...] = value
        with self._lock:
            self._trees = trees
