"""Kernels of forests: the handle is the forest itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph.scopes import resource_name
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.trees.forests import Forest, ForestShape


@kernel("Forest", stateful=True)
def _forest(node: Node) -> Kernel:
    key = resource_name(node.attrs, node.name, "forest/")
    shape = ForestShape(*(node.attrs[name] for name in ForestShape._fields))
    seeds = node.attrs["seed"], node.attrs["seed2"]
    seed = None if seeds == (0, 0) else (abs(seeds[0]), abs(seeds[1]))
    return lambda run: run.store.other(key, lambda: Forest(shape, seed))


@kernel("GrowForest", stateful=True)
def _grow(node: Node) -> Kernel:
    def run(_: Any, forest: Forest, features: Any, labels: Any) -> None:
        forest.grow(np.asarray(features), labels)

    return run


@kernel("ForestProbabilities", stateful=True)
def _probabilities(node: Node) -> Kernel:
    return lambda run, forest, features: forest.probabilities(np.asarray(features))


@kernel("ForestSizes", stateful=True)
def _sizes(node: Node) -> Kernel:
    return lambda run, forest: forest.sizes()
