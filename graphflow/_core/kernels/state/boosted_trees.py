"""Kernels of boosted trees: the handle is the ensemble itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph.scopes import resource_name
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.trees.boosted import Ensemble, best_splits, of_all_features
from graphflow.errors import InvalidArgumentError


@kernel("BoostedTreesEnsembleResourceHandleOp", stateful=True)
def _handle(node: Node) -> Kernel:
    key = resource_name(node.attrs, node.name, "boosted_trees/")
    return lambda run: run.store.other(key, Ensemble)


@kernel("BoostedTreesCreateEnsemble", stateful=True)
def _create(node: Node) -> Kernel:
    def run(_: Any, ensemble: Ensemble, stamp: Any, serialized: Any) -> None:
        """An ensemble that is there stays as it is."""
        if not ensemble.states()[1]:
            ensemble.deserialize(
                int(stamp), bytes(serialized.item() if hasattr(serialized, "item") else serialized)
            )

    return run


@kernel("IsBoostedTreesEnsembleInitialized", stateful=True)
def _is_initialized(node: Node) -> Kernel:
    return lambda run, ensemble: np.bool_(True)


@kernel("BoostedTreesGetEnsembleStates", stateful=True)
def _states(node: Node) -> Kernel:
    def run(_: Any, ensemble: Ensemble) -> tuple[Any, ...]:
        stamp, *counts, layer = ensemble.states()
        return np.int64(stamp), *map(np.int32, counts), np.array(layer, np.int32)

    return run


@kernel("BoostedTreesSerializeEnsemble", stateful=True)
def _serialize(node: Node) -> Kernel:
    def run(_: Any, ensemble: Ensemble) -> tuple[Any, Any]:
        stamp, serialized = ensemble.serialize()
        return np.int64(stamp), np.array(serialized, object)

    return run


@kernel("BoostedTreesDeserializeEnsemble", stateful=True)
def _deserialize(node: Node) -> Kernel:
    def run(_: Any, ensemble: Ensemble, stamp: Any, serialized: Any) -> None:
        ensemble.deserialize(
            int(stamp), bytes(serialized.item() if hasattr(serialized, "item") else serialized)
        )

    return run


def _stacked(features: Any) -> Any:
    """The buckets [features, rows]; InvalidArgumentError if the features have other numbers of rows."""
    sizes = {np.size(feature) for feature in features}
    if len(sizes) != 1:
        raise InvalidArgumentError(
            None, None, f"Features have a bucket for each row, got vectors of {sorted(sizes)} rows."
        )
    return np.stack([np.reshape(feature, -1) for feature in features])


@kernel("BoostedTreesTrainingPredict", stateful=True)
def _training_predict(node: Node) -> Kernel:
    def run(_: Any, ensemble: Ensemble, trees: Any, nodes: Any, *features: Any) -> tuple[Any, Any, Any]:
        logits, at_trees, at_nodes = ensemble.predict(
            _stacked(features), np.asarray(trees), np.asarray(nodes)
        )
        return logits[:, None], at_trees, at_nodes

    return run


@kernel("BoostedTreesPredict", stateful=True)
def _predict(node: Node) -> Kernel:
    def run(_: Any, ensemble: Ensemble, *features: Any) -> Any:
        buckets = _stacked(features)
        begins = np.zeros(buckets.shape[1], np.int32)
        return ensemble.predict(buckets, begins, begins - 1)[0][:, None]

    return run


@kernel("BoostedTreesExampleDebugOutputs", stateful=True)
def _debug_outputs(node: Node) -> Kernel:
    def run(_: Any, ensemble: Ensemble, *features: Any) -> Any:
        found = ensemble.paths(_stacked(features))
        result = np.empty(len(found), object)
        result[:] = found
        return result

    return run


@kernel("BoostedTreesMakeStatsSummary")
def _stats_summary(node: Node) -> Kernel:
    nodes_most, buckets_most = int(node.attrs["max_splits"]), int(node.attrs["num_buckets"])

    def run(nodes: Any, gradients: Any, hessians: Any, *features: Any) -> Any:
        both = np.stack([np.reshape(gradients, -1), np.reshape(hessians, -1)], axis=-1)
        result = np.zeros((len(features), nodes_most, buckets_most, 2), np.float32)
        for sums, buckets in zip(result, features, strict=True):
            _check_below(nodes, nodes_most, "node")
            _check_below(buckets, buckets_most, "bucket")
            np.add.at(sums, (np.reshape(nodes, -1), np.reshape(buckets, -1)), both)
        return result

    return run


def _check_below(numbers: Any, most: int, what: str) -> None:
    if np.size(numbers) and not 0 <= np.min(numbers) <= np.max(numbers) < most:
        raise InvalidArgumentError(
            None, None, f"A {what} is a number below {most}, got {np.min(numbers)} to {np.max(numbers)}."
        )


@kernel("BoostedTreesCalculateBestGainsPerFeature")
def _best_gains(node: Node) -> Kernel:
    def run(nodes: Any, *given: Any) -> tuple[Any, ...]:
        found = [best_splits(sums, nodes.tolist(), *given[-4:]) for sums in given[:-4]]
        return tuple(feature[column] for column in range(5) for feature in found)

    return run


@kernel("BoostedTreesUpdateEnsemble", stateful=True)
def _update(node: Node) -> Kernel:
    pruning = int(node.attrs["pruning_mode"])

    def run(_: Any, ensemble: Ensemble, features: Any, *given: Any) -> None:
        count = len(features)
        columns = [given[column * count : (column + 1) * count] for column in range(5)]
        ensemble.grow(of_all_features(features, columns), int(given[-2]), np.float32(given[-1]), pruning)

    return run


@kernel("BoostedTreesCenterBias", stateful=True)
def _center_bias(node: Node) -> Kernel:
    def run(_: Any, ensemble: Ensemble, gradients: Any, hessians: Any, l1: Any, l2: Any) -> Any:
        gradient, hessian = np.reshape(gradients, -1)[0], np.reshape(hessians, -1)[0]
        return np.bool_(ensemble.center(gradient, hessian, l1, l2))

    return run
