"""Ensemble: boosted trees, which grow a layer at a time by the sums of gradients of the examples in their nodes.

Source: Ponomareva et al., "Compact Multi-Class Boosted Trees", 2017; what is computed, and how it is written, is as in
TensorFlow's tf.estimator.BoostedTreesClassifier.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

import graphflow.protos as protos
from graphflow._core.common.records import dataclass
from graphflow.errors import InvalidArgumentError

_LEAF: Final = -1
_NOTHING: Final = np.float32(0)
_SMALL: Final = 1e-15
"""Hessians up to it give no weight, and gains that differ by less are equal."""
_BIAS_SETTLED: Final = np.float32(0.01)
"""The part of the bias by which a correction has to change it for another one to be made."""
NO_PRUNING: Final = 0
PRUNED_BEFORE: Final = 1
PRUNED_AFTER: Final = 2


class Split(NamedTuple):
    """How a leaf may be divided: examples whose bucket is at most the threshold go left."""

    gain: Any
    feature: int
    threshold: int
    left: Any
    """What the left child adds to the value of the leaf."""
    right: Any


@dataclass
class _Node:
    """A leaf if it asks for no feature. A split keeps the value that it had as a leaf."""

    value: Any = _NOTHING
    feature: int = _LEAF
    threshold: int = 0
    left: int = 0
    right: int = 0
    gain: Any = _NOTHING


class _Tree:
    """One tree; node 0 is its root."""

    def __init__(self, value: Any = _NOTHING) -> None:
        self.nodes = [_Node(value)]
        self.layers = 0
        self.is_finalized = False
        self.pruned: list[tuple[int, Any]] = []
        """For each node before the tree was pruned: which it is now, and how much the value is another."""
        self._columns: tuple[Any, ...] | None = None

    def changed(self) -> None:
        """Says that nodes are others than before."""
        self._columns = None

    def columns(self) -> tuple[Any, ...]:
        """Feature, threshold, left, right and value of all nodes, an array each."""
        if self._columns is None:
            rows = [(n.feature, n.threshold, n.left, n.right) for n in self.nodes]
            whole = np.array(rows, np.int32).reshape(-1, 4)
            self._columns = (*whole.T, np.array([n.value for n in self.nodes], np.float32))
        return self._columns

    def leaves(self, features: Any, begins: Any) -> Any:
        """The leaf that each row [features, rows] of buckets comes to from a node."""
        feature, threshold, left, right, _ = self.columns()
        nodes = begins.copy()
        rows = np.arange(len(nodes))
        while True:
            rows = rows[feature[nodes[rows]] != _LEAF]
            if not rows.size:
                return nodes
            at = nodes[rows]
            goes_left = features[feature[at], rows] <= threshold[at]
            nodes[rows] = np.where(goes_left, left[at], right[at])

    def split(self, number: int, how: Split, rate: Any) -> None:
        """Makes two leaves of one."""
        leaf = self.nodes[number]
        leaf.feature, leaf.threshold, leaf.gain = how.feature, how.threshold, how.gain
        leaf.left, leaf.right = len(self.nodes), len(self.nodes) + 1
        self.nodes += [_Node(leaf.value + rate * how.left), _Node(leaf.value + rate * how.right)]

    def prune(self) -> None:
        """Takes back splits that gain less than nothing, from the leaves on."""
        parents: dict[int, int] = {}
        for number in reversed(range(len(self.nodes))):  # Children come after their parents.
            node = self.nodes[number]
            children = (node.left, node.right)
            if node.feature == _LEAF or node.gain >= 0:
                continue
            if all(self.nodes[child].feature == _LEAF for child in children):
                parents.update(dict.fromkeys(children, number))
                self.nodes[number] = _Node(node.value)
        if not parents:
            return
        before = self.nodes
        kept = [number for number in range(len(before)) if number not in parents]
        new = {number: place for place, number in enumerate(kept)}
        self.pruned = []
        for number in range(len(before)):
            at, change = number, _NOTHING
            while at in parents:
                change += before[parents[at]].value - before[at].value
                at = parents[at]
            self.pruned.append((new[at], change))
        self.nodes = [before[number] for number in kept]
        for node in self.nodes:
            if node.feature != _LEAF:
                node.left, node.right = new[node.left], new[node.right]


class Ensemble:
    """Boosted trees of a session. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stamp = self._trees_attempted = self._layers_attempted = 0
        self._weights: list[Any] = []
        self._trees: list[_Tree] = []
        self._layer = 0, 0

    def _set(self, stamp: int, serialized: bytes) -> None:
        message = protos.boosted_trees_pb2.TreeEnsemble.FromString(serialized)
        growing = message.growing_metadata
        self._stamp = stamp
        self._weights = [np.float32(weight) for weight in message.tree_weights]
        self._trees = [
            _tree_of(tree, metadata)
            for tree, metadata in zip(message.trees, message.tree_metadata, strict=True)
        ]
        self._trees_attempted = int(growing.num_trees_attempted)
        self._layers_attempted = int(growing.num_layers_attempted)
        self._layer = int(growing.last_layer_node_start), int(growing.last_layer_node_end)

    def deserialize(self, stamp: int, serialized: bytes) -> None:
        """Takes all from a TreeEnsemble; InvalidArgumentError if the bytes are none."""
        with self._lock:
            try:
                self._set(stamp, serialized)
            except ValueError as error:
                raise InvalidArgumentError(
                    None, None, f"The bytes are no ensemble of boosted trees: {error}"
                ) from error

    def serialize(self) -> tuple[int, bytes]:
        """The stamp, and all else as a TreeEnsemble."""
        with self._lock:
            message = protos.boosted_trees_pb2.TreeEnsemble(tree_weights=self._weights)
            for tree in self._trees:
                _write_tree(tree, message.trees.add(), message.tree_metadata.add())
            growing = message.growing_metadata
            growing.num_trees_attempted = self._trees_attempted
            growing.num_layers_attempted = self._layers_attempted
            growing.last_layer_node_start, growing.last_layer_node_end = self._layer
            return self._stamp, message.SerializeToString()

    def states(self) -> tuple[int, int, int, int, tuple[int, int]]:
        """The stamp, the trees, those that are finalized, the layers tried, and which nodes may be split next."""
        with self._lock:
            finalized = sum(tree.is_finalized for tree in self._trees)
            first, last = self._layer
            return self._stamp, len(self._trees), finalized, self._layers_attempted, (first, max(last, 1))

    # ---- asking ----------------------------------------------------------------------------------------------------

    def predict(self, features: Any, trees: Any, nodes: Any) -> tuple[Any, Any, Any]:
        """What is to be added to each row's logit, and the tree and the node that it then is in.

        A row was last in a tree and a node, with a logit that counts up to there; node -1 stands for none.
        """
        with self._lock:
            count = len(nodes)
            added, at = np.zeros(count, np.float32), np.zeros(count, np.int32)
            if not self._trees:
                return added, np.zeros(count, np.int32), at
            rows = np.arange(count)
            first = int(trees.min()) if count else 0
            for number in range(first, len(self._trees)):
                tree = self._trees[number]
                value = tree.columns()[-1]
                begins, partial = np.where(trees == number, nodes, -1), np.zeros(count, np.float32)
                known = rows[begins >= 0]
                if known.size:
                    if tree.pruned:
                        now = [tree.pruned[node] for node in begins[known].tolist()]
                        begins[known] = [node for node, _ in now]
                        partial[known] = [change for _, change in now]
                    partial[known] -= value[begins[known]]
                here = rows[trees <= number]
                leaves = tree.leaves(features[:, here], np.maximum(begins[here], 0))
                partial[here] += value[leaves]
                added[here] += self._weights[number] * partial[here]
                at[here] = leaves
            return added, np.full(count, len(self._trees) - 1, np.int32), at

    def paths(self, features: Any) -> list[bytes]:
        """The features that each row is asked for, and its logit before and after each, as a DebugOutput."""
        with self._lock:
            return [self._path(features[:, row]) for row in range(features.shape[1])]

    def _path(self, buckets: Any) -> bytes:
        asked: list[int] = []
        logits: list[Any] = []
        total = np.float32(0)
        for tree, weight in zip(self._trees, self._weights, strict=True):
            node = tree.nodes[0]
            if not logits:
                logits.append(weight * node.value)
            elif node.feature == _LEAF:
                continue
            while node.feature != _LEAF:
                asked.append(node.feature)
                node = tree.nodes[node.left if buckets[node.feature] <= node.threshold else node.right]
                logits.append(total + weight * node.value)
            total += weight * node.value
        message = protos.boosted_trees_pb2.DebugOutput(feature_ids=asked, logits_path=logits)
        return bytes(message.SerializeToString())

    # ---- growing ---------------------------------------------------------------------------------------------------

    def _add_tree(self, value: Any = _NOTHING) -> None:
        self._trees.append(_Tree(value))
        self._weights.append(np.float32(1))

    def center(self, gradient: Any, hessian: Any, l1: Any, l2: Any) -> bool:
        """Corrects the value of the first tree's root; whether that was by so much that it should be done again."""
        with self._lock:
            change, _ = weights_and_gains(gradient, hessian, l1, l2)
            if not self._trees:
                self._add_tree()
            root = self._trees[0].nodes[0]
            root.value = np.float32(root.value + change)
            self._trees[0].changed()
            return bool(np.abs(change / root.value) > _BIAS_SETTLED) if root.value else False

    def grow(self, splits: dict[int, Split], most_layers: int, rate: Any, pruning: int) -> None:
        """Divides leaves of the last tree, and begins another one if it has so many layers."""
        with self._lock:
            self._stamp += 1
            self._layers_attempted += 1
            if not self._trees:
                self._add_tree()
            tree = self._trees[-1]
            self._trees_attempted += tree.layers == 0
            first = len(tree.nodes)
            for node, how in sorted(splits.items()):
                if pruning != PRUNED_BEFORE or how.gain >= 0:
                    tree.split(node, how, rate)
            if first == len(tree.nodes):
                return
            tree.layers += 1
            self._layer = first, len(tree.nodes)
            if tree.layers >= most_layers:
                tree.is_finalized = True
                if pruning == PRUNED_AFTER:
                    tree.prune()
                self._add_tree()
                self._layer = 0, 1
            tree.changed()


def weights_and_gains(gradient: Any, hessian: Any, l1: Any, l2: Any) -> tuple[Any, Any]:
    """The value of a leaf with these sums, and by how much it makes the loss less, float32."""
    shrunk = np.where(
        np.abs(gradient) > l1, gradient - np.sign(gradient) * np.maximum(l1, 0), np.float32(0)
    ) if l1 > 0 else gradient  # fmt: skip
    steep = hessian + l2
    possible = steep > _SMALL
    weight = np.where(possible, -shrunk / np.where(possible, steep, np.float32(1)), np.float32(0))
    return weight.astype(np.float32), (-shrunk * weight).astype(np.float32)


def best_splits(
    sums: Any, nodes: Sequence[int], l1: Any, l2: Any, complexity: Any, least_weight: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """The best threshold of a feature for each node: nodes, gains, thresholds, and what both children add.

    sums: [nodes, buckets, 2], gradients and hessians. Nodes whose hessians are too few are left out.
    """
    chosen = np.arange(*nodes)
    grown = np.cumsum(sums[chosen], axis=1, dtype=np.float32)
    total = grown[:, -1]
    enough = total[:, 1] > least_weight
    chosen, grown, total = chosen[enough], grown[enough], total[enough, None]
    rest = total - grown
    left, left_gain = weights_and_gains(grown[..., 0], grown[..., 1], l1, l2)
    right, right_gain = weights_and_gains(rest[..., 0], rest[..., 1], l1, l2)
    _, before = weights_and_gains(total[..., 0], total[..., 1], l1, l2)
    gains = left_gain + right_gain
    place = np.argmax(gains, axis=1) if len(gains) else np.zeros(0, np.int64)
    rows = np.arange(len(chosen))
    gain = gains[rows, place] - before[:, 0] - complexity
    return (
        chosen.astype(np.int32), gain.astype(np.float32), place.astype(np.int32), left[rows, place, None],
        right[rows, place, None],
    )  # fmt: skip


def of_all_features(features: Any, found: Sequence[Sequence[Any]]) -> dict[int, Split]:
    """The best split of each node: that of the largest gain, of equal ones that of the first feature."""
    best: dict[int, Split] = {}
    for feature, columns in zip(features.tolist(), zip(*found, strict=True), strict=True):
        for node, gain, threshold, left, right in zip(*columns, strict=True):
            split = Split(gain, feature, int(threshold), left[0], right[0])
            other = best.get(int(node))
            if other is not None:
                if abs(gain - other.gain) <= _SMALL:
                    if other.feature <= feature:
                        continue
                elif gain < other.gain:
                    continue
            best[int(node)] = split
    return best


def _tree_of(message: Any, metadata: Any) -> _Tree:
    tree = _Tree()
    tree.nodes = [_node_of(node) for node in message.nodes]
    tree.layers, tree.is_finalized = metadata.num_layers_grown, metadata.is_finalized
    tree.pruned = [
        (update.new_node_id, np.float32(sum(update.logit_change)))
        for update in metadata.post_pruned_nodes_meta
    ]
    return tree


def _node_of(message: Any) -> _Node:
    if message.WhichOneof("node") == "leaf":
        return _Node(_value_of(message.leaf))
    split, metadata = message.bucketized_split, message.metadata
    return _Node(
        _value_of(metadata.original_leaf), split.feature_id, split.threshold, split.left_id, split.right_id,
        np.float32(metadata.gain),
    )  # fmt: skip


def _value_of(leaf: Any) -> Any:
    if leaf.WhichOneof("leaf") == "vector":
        return np.float32(sum(leaf.vector.value))
    return np.float32(leaf.scalar)


def _write_tree(tree: _Tree, message: Any, metadata: Any) -> None:
    for node in tree.nodes:
        written = message.nodes.add()
        if node.feature == _LEAF:
            written.leaf.scalar = node.value
            continue
        split = written.bucketized_split
        split.feature_id, split.threshold = node.feature, node.threshold
        split.left_id, split.right_id = node.left, node.right
        written.metadata.gain = node.gain
        written.metadata.original_leaf.scalar = node.value
    metadata.num_layers_grown, metadata.is_finalized = tree.layers, tree.is_finalized
    for number, change in tree.pruned:
        metadata.post_pruned_nodes_meta.add(new_node_id=number, logit_change=[change])
