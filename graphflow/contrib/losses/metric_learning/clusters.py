"""The loss of a clustering: how much better the best centres are than those of the labels, with a margin."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from graphflow import summary
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import gather, gather_nd, shape, squeeze
from graphflow._core.ops.control_flow.checking import print_ as Print
from graphflow._core.ops.control_flow.checking import py_func
from graphflow._core.ops.math.math import maximum
from graphflow._core.ops.math.reductions import reduce_min, reduce_sum
from graphflow.contrib.losses.metric_learning.pairs import pairwise_distance

_Array: TypeAlias = npt.NDArray[Any]

_ROUNDS: Final = 5
"""How often each cluster's centre is moved to a better member."""


def _counts(labels: _Array, found: _Array) -> _Array:
    """How many examples have each pair of a label and a cluster."""
    rows, row = np.unique(labels, return_inverse=True)
    columns, column = np.unique(found, return_inverse=True)
    counts = np.zeros([rows.size, columns.size])
    np.add.at(counts, (row, column), 1.0)
    return counts


def _entropy(counts: _Array) -> float:
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _information(counts: _Array) -> float:
    """What the label says of the cluster, in nats."""
    joint = counts / counts.sum()
    apart = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    there = joint > 0
    return max(0.0, float((joint[there] * np.log(joint[there] / apart[there])).sum()))


def _mean_entropy(counts: _Array) -> float:
    return (_entropy(counts.sum(1)) + _entropy(counts.sum(0))) / 2


def _normalized_information(counts: _Array) -> float:
    if counts.size == 1:
        return 1.0
    return _information(counts) / max(_mean_entropy(counts), float(np.finfo(float).eps))


def _chance_information(counts: _Array) -> float:
    """The information of clusters of these sizes that are drawn at random (Vinh, Epps and Bailey, 2010)."""
    total = int(counts.sum())
    gammas = [math.lgamma(n + 1) for n in range(total + 1)]
    found = 0.0
    for a in counts.sum(1).astype(int):
        for b in counts.sum(0).astype(int):
            for n in range(max(1, a + b - total), min(a, b) + 1):
                chance = gammas[a] + gammas[b] + gammas[total - a] + gammas[total - b] - gammas[total]
                chance -= gammas[n] + gammas[a - n] + gammas[b - n] + gammas[total - a - b + n]
                found += n / total * math.log(total * n / (a * b)) * math.exp(chance)
    return found


def _adjusted_information(counts: _Array) -> float:
    rows, columns = counts.shape
    if rows == columns == 1 or rows == columns == int(counts.sum()):
        return 1.0
    chance = _chance_information(counts)
    range_ = _mean_entropy(counts) - chance
    least = float(np.finfo(float).eps)
    range_ = min(range_, -least) if range_ < 0 else max(range_, least)
    return max(0.0, (_information(counts) - chance) / range_)


def _adjusted_rand(counts: _Array) -> float:
    def pairs(sizes: _Array) -> float:
        return float((sizes * (sizes - 1)).sum() / 2)

    both, rows, columns = pairs(counts), pairs(counts.sum(1)), pairs(counts.sum(0))
    chance = rows * columns / max(pairs(counts.sum(keepdims=True)), 1.0)
    most = (rows + columns) / 2
    return 1.0 if most == chance else max(0.0, (both - chance) / (most - chance))


_SCORES: Final[Mapping[str, Callable[[_Array, _Array], float]]] = {
    "nmi": lambda labels, found: _normalized_information(_counts(labels, found)),
    "ami": lambda labels, found: _adjusted_information(_counts(labels, found)),
    "ari": lambda labels, found: _adjusted_rand(_counts(labels, found)),
    # The harmonic mean of homogeneity and completeness is the information over the mean entropy, too.
    "vmeasure": lambda labels, found: _normalized_information(_counts(labels, found)),
    "const": lambda labels, found: float(np.array_equal(labels, found)),
}
"""How well clusters agree with labels, from 0 to 1."""


def _assigned(distances: _Array, centers: _Array) -> _Array:
    """The cluster of each example: of its nearest centre; a centre is of its own."""
    found: _Array = distances[centers].argmin(axis=0)
    found[centers] = np.arange(centers.size)
    return found


class _Search:
    """Centres, one for each label, that are good and yet far from the labels: what the loss has to be above."""

    def __init__(self, margin: float, score: Callable[[_Array, _Array], float], refined: bool) -> None:
        self._margin, self._score, self._refined = margin, score, refined

    def __call__(self, distances: _Array, labels: _Array) -> tuple[_Array, np.float32]:
        """The rows of the centres, and the score of their clusters."""
        centers = np.zeros([0], np.int64)
        for _ in range(np.unique(labels).size):
            centers = np.append(centers, self._next_center(distances, labels, centers))
        if self._refined:
            for _ in range(_ROUNDS):
                found = _assigned(distances, centers)
                for cluster in range(centers.size):
                    centers = self._moved(
                        distances, labels, centers, cluster, np.flatnonzero(found == cluster)
                    )
        score = self._score(labels, _assigned(distances, centers))
        return centers.astype(np.int32), np.float32(score)

    def _wrong(self, distances: _Array, labels: _Array, centers: _Array) -> float:
        return 1.0 - self._score(labels, _assigned(distances, centers))

    def _next_center(self, distances: _Array, labels: _Array, centers: _Array) -> int:
        others = np.setdiff1d(np.arange(distances.shape[0]), centers)
        nearest = distances[centers].min(axis=0, initial=np.inf)
        costs = np.minimum(distances[others], nearest).sum(axis=1)
        wrong = [self._wrong(distances, labels, np.append(centers, other)) for other in others]
        return int(others[np.argmax(self._margin * np.array(wrong) - costs)])

    def _moved(
        self, distances: _Array, labels: _Array, centers: _Array, cluster: int, members: _Array
    ) -> _Array:
        def with_center(member: int) -> _Array:
            return np.where(np.arange(centers.size) == cluster, member, centers)

        costs = distances[np.ix_(members, members)].sum(axis=0)
        wrong = [self._wrong(distances, labels, with_center(member)) for member in members]
        return with_center(int(members[np.argmax(self._margin * np.array(wrong) - costs)]))


def _cost_of_labels(distances: _Array, labels: _Array) -> _Array:
    """The row of the best centre of each example's label."""
    centers = np.zeros(labels.shape, np.int32)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        centers[members] = members[distances[np.ix_(members, members)].sum(axis=0).argmin()]
    return np.stack([centers, np.arange(labels.size)], 1).astype(np.int32)


def cluster_loss(
    labels: TensorLike,
    embeddings: TensorLike,
    margin_multiplier: float,
    enable_pam_finetuning: bool = True,
    margin_type: str = "nmi",
    print_losses: bool = False,
) -> Tensor:
    """How much better centres that are wrong may be than the best ones of the labels are.

    The centres are found greedily, and moved to better members of their clusters (Song, Jegelka, Rathod and Murphy,
    2016; tf.contrib.losses.metric_learning.cluster_loss). Summaries show the parts.

    Args:
        labels: The label of each example, [batch, 1].
        embeddings: The examples, [batch, size], of length 1.
        margin_multiplier: How much it counts that clusters are wrong.
        enable_pam_finetuning: Whether centres are moved.
        margin_type: By what clusters are wrong: "nmi", normalised mutual information; "ami", the same adjusted for
            chance; "ari", pairs that are together, adjusted for chance; "vmeasure"; "const", whether they differ.
        print_losses: Whether the loss is printed.

    Returns:
        The loss, a scalar of floats.

    Raises:
        ValueError: If there is no such `margin_type`.
    """
    if margin_type not in _SCORES:
        raise ValueError(f"Unrecognized margin_type: {margin_type}; there are {', '.join(_SCORES)}.")
    distances = pairwise_distance(embeddings)
    given = squeeze(labels)
    search = _Search(margin_multiplier, _SCORES[margin_type], enable_pam_finetuning)
    centers, score = py_func(search, [distances, given], [dtypes.int32, dtypes.float32], name=margin_type)
    pairs = py_func(_cost_of_labels, [distances, given], dtypes.int32, name="centers_of_labels")
    of_centers = -reduce_sum(reduce_min(gather(distances, centers), axis=0))
    of_labels = -reduce_sum(gather_nd(distances, pairs))
    loss = maximum(of_centers + margin_multiplier * (1.0 - score) - of_labels, 0.0, name="clustering_loss")
    loss.set_shape([])
    if print_losses:
        loss = Print(loss, ["clustering_loss: ", loss, shape(loss)])
    summary.scalar("losses/score_pred", of_centers)
    summary.scalar(f"losses/{margin_type}", score)
    summary.scalar("losses/score_gt", of_labels)
    return loss
