"""Kernels of nearest centers and of the choice of first centers."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow.errors import InvalidArgumentError


def _distances(points: Any, centers: Any) -> Any:
    """The squared distance of each point from each center [points, centers]."""
    products = points @ centers.T
    return np.maximum(
        np.sum(np.square(points), axis=1)[:, None] - 2 * products + np.sum(np.square(centers), axis=1), 0
    )


@kernel("NearestNeighbors")
def _nearest(node: Node) -> Kernel:
    def run(points: Any, centers: Any, k: Any) -> tuple[Any, Any]:
        if points.shape[1] != centers.shape[1]:
            raise InvalidArgumentError(
                None,
                None,
                f"Points of {points.shape[1]} dimensions have no distance from centers of {centers.shape[1]}.",
            )
        distances = _distances(points, centers)
        count = min(int(k), len(centers))
        found = np.argsort(distances, axis=1, kind="stable")[:, :count].astype(np.int64)
        return found, np.take_along_axis(distances, found, axis=1).astype(np.float32)

    return run


@kernel("KmeansPlusPlusInitialization")
def _plus_plus(node: Node) -> Kernel:
    def run(points: Any, count: Any, seed: Any, retries: Any) -> Any:
        wanted = int(count)
        if not 0 < wanted <= len(points):
            raise InvalidArgumentError(None, None, f"{wanted} of {len(points)} points cannot be drawn.")
        random = np.random.default_rng(abs(int(seed)))
        tries = 1 + (int(2 + np.log(wanted)) if retries < 0 else int(retries))
        chosen = [int(random.integers(len(points)))]
        nearest = _distances(points, points[chosen])[:, 0]
        while len(chosen) < wanted:
            total = nearest.sum(dtype=np.float64)
            shares = nearest / total if total > 0 else None
            candidates = random.choice(len(points), tries, p=_normalised(shares))
            after = np.minimum(nearest[:, None], _distances(points, points[candidates]))
            best = int(np.argmin(after.sum(axis=0)))
            chosen.append(int(candidates[best]))
            nearest = after[:, best]
        return points[chosen]

    return run


def _normalised(shares: Any) -> Any:
    if shares is None:
        return None
    exact = shares.astype(np.float64)
    return exact / exact.sum()


@kernel("KMC2ChainInitialization")
def _chain(node: Node) -> Kernel:
    def run(distances: Any, seed: Any) -> Any:
        random = np.random.default_rng(abs(int(seed)))
        at = 0
        for number in range(1, len(distances)):
            if distances[number] > distances[at] * random.random():
                at = number
        return np.int64(at)

    return run
