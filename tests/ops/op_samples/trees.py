"""Samples of ops of boosted trees and of clusters: sums by bucket, gains of splits, nearest centers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tests.ops.op_samples.sample import INT, SINGLE, Draw, Random, Sample, draw


def _sums(random: Random) -> Iterable[Sample]:
    for rows, features in ((12, 2), (1, 1), (0, 3)):

        def reference(nodes: Any, gradients: Any, hessians: Any, *buckets: Any) -> Any:
            result = np.zeros((len(buckets), 3, 4, 2), np.float32)
            for feature, of_rows in enumerate(buckets):
                for row, bucket in enumerate(of_rows):
                    result[feature, nodes[row], bucket] += (gradients[row, 0], hessians[row, 0])
            return result

        inputs = (
            draw(random, INT, (rows,), 0, 2),
            draw(random, SINGLE, (rows, 1)),
            draw(random, SINGLE, (rows, 1), 0, 1),
            [draw(random, INT, (rows,), 0, 3) for _ in range(features)],
        )
        yield Sample(inputs, {"max_splits": 3, "num_buckets": 4}, reference, smooth=False)


def _weight_and_gain(gradient: float, hessian: float, l1: float, l2: float) -> tuple[float, float]:
    shrunk = 0.0 if abs(gradient) <= l1 else gradient - np.sign(gradient) * l1
    weight = -shrunk / (hessian + l2) if hessian + l2 > 1e-15 else 0.0
    return weight, -shrunk * weight


def _gains(random: Random) -> Iterable[Sample]:
    for l1, l2, least in ((0.0, 0.0, 0.0), (0.3, 0.5, 0.0), (0.0, 1.0, 2.0)):

        def reference(nodes: Any, *given: Any) -> Any:
            sums, (l1, l2, complexity, least) = given[:-4], given[-4:]
            columns: list[list[Any]] = [[] for _ in range(5)]
            for of_feature in sums:
                rows = []
                for node in range(*nodes):
                    total = of_feature[node].sum(0)
                    if total[1] <= least:
                        continue
                    best: Any = None
                    for bucket in range(of_feature.shape[1]):
                        left = of_feature[node, : bucket + 1].sum(0)
                        sides = [_weight_and_gain(*side, l1, l2) for side in (left, total - left)]
                        gain = sides[0][1] + sides[1][1]
                        if best is None or gain > best[0]:
                            best = gain, bucket, sides[0][0], sides[1][0]
                    gain = best[0] - _weight_and_gain(*total, l1, l2)[1] - complexity
                    rows.append((node, gain, best[1], [best[2]], [best[3]]))
                for column, values in zip(
                    columns, zip(*rows, strict=True) if rows else [()] * 5, strict=True
                ):
                    column.append(list(values))
            kinds = (np.int32, np.float32, np.int32, np.float32, np.float32)
            return tuple(
                np.array(values, kind).reshape(-1, 1) if place > 2 else np.array(values, kind)
                for place, (column, kind) in enumerate(zip(columns, kinds, strict=True))
                for values in column
            )

        sums = [
            np.stack([draw(random, SINGLE, (4, 5)), draw(random, SINGLE, (4, 5), 0.05, 1)], -1)
            for _ in range(2)
        ]
        scalars = tuple(np.array(value, np.float32) for value in (l1, l2, 0.1, least))
        yield Sample(
            (np.array([1, 4], INT), sums, *scalars), {"max_splits": 4}, reference, smooth=False, tolerance=16
        )


def _nearest(random: Random) -> Iterable[Sample]:
    for points, centers, count in ((5, 3, 2), (1, 1, 1), (4, 2, 7), (0, 2, 1)):

        def reference(points: Any, centers: Any, count: Any) -> Any:
            distances = np.square(points[:, None] - centers).sum(-1)
            found = np.argsort(distances, 1)[:, : int(count)].astype(np.int64)
            return found, np.take_along_axis(distances, found, 1)

        inputs = (
            draw(random, SINGLE, (points, 3)), draw(random, SINGLE, (centers, 3)), np.array(count, np.int64),
        )  # fmt: skip
        yield Sample(inputs, {}, reference, smooth=False, tolerance=32)


def _plus_plus(random: Random) -> Iterable[Sample]:
    points = draw(random, SINGLE, (6, 2))
    for count, retries in ((3, 2), (6, -1), (1, 0)):
        numbers = (np.array(number, np.int64) for number in (count, 7, retries))
        yield Sample((points, *numbers), smooth=False)


def _chain(random: Random) -> Iterable[Sample]:
    for count in (5, 1):
        yield Sample((draw(random, SINGLE, (count,), 0, 1), np.array(3, np.int64)), smooth=False)


TABLE: dict[str, Draw] = {
    "BoostedTreesCalculateBestGainsPerFeature": _gains,
    "BoostedTreesMakeStatsSummary": _sums,
    "KMC2ChainInitialization": _chain,
    "KmeansPlusPlusInitialization": _plus_plus,
    "NearestNeighbors": _nearest,
}
