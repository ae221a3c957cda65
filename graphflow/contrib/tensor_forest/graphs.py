"""A random forest as operations: one that shows it examples, and one that gives the classes of others."""

from __future__ import annotations

import math
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.random_seed import get_seed
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.math import negative
from graphflow._core.ops.math.reductions import reduce_mean
from graphflow._core.ops.state import forests


class ForestHParams:
    """What a forest is like (tf.contrib.tensor_forest.python.tensor_forest.ForestHParams). Arguments are attributes.

    Args:
        num_trees: How many trees there are.
        max_nodes: The most nodes of a tree.
        bagging_fraction: The part of the examples that each tree sees.
        num_splits_to_consider: How many splits, drawn at random, a leaf chooses from; by default, which is 0, the root
            of the number of features, at least 10.
        split_after_samples: After how many examples a leaf becomes a split.
        **kwargs: num_classes and num_features, which `fill` needs; others are kept, and have no effect.
    """

    def __init__(
        self,
        num_trees: int = 100,
        max_nodes: int = 10000,
        bagging_fraction: float = 1.0,
        num_splits_to_consider: int = 0,
        split_after_samples: int = 250,
        **kwargs: Any,
    ) -> None:
        self.num_trees = num_trees
        self.max_nodes = max_nodes
        self.bagging_fraction = bagging_fraction
        self.num_splits_to_consider: int = num_splits_to_consider
        self.split_after_samples = split_after_samples
        self.num_classes: int = 0
        self.num_features: int = 0
        self.regression: bool = False
        self.base_random_seed: int = 0
        vars(self).update(kwargs)

    def values(self) -> dict[str, Any]:
        """All of them by name."""
        return vars(self)

    def fill(self) -> ForestHParams:
        """Sets what follows from others.

        Returns:
            These hyperparameters.

        Raises:
            ValueError: If num_classes or num_features is not there, or regression is asked for.
        """
        for name in ("num_classes", "num_features"):
            if getattr(self, name) < 1:
                raise ValueError(f"ForestHParams needs {name}, a positive number.")
        if self.regression:
            raise ValueError("A forest tells of classes here: regression is not there.")
        usual = min(max(10, math.floor(math.sqrt(self.num_features))), 1000)
        self.num_splits_to_consider = self.num_splits_to_consider or usual
        self.num_outputs = 1
        self.num_output_columns: int = self.num_classes + 1
        return self


class RandomForestGraphs:
    """The operations of a random forest (tf.contrib.tensor_forest.python.tensor_forest.RandomForestGraphs).

    Leaves draw splits at the values that examples have, count the classes on both sides, and become the best after so
    many examples. Results are those of TensorFlow as far as chance lets them.

    Args:
        params: A ForestHParams, which `fill` has completed.
        device_assigner: Has no effect.
        **kwargs: Have no effect.
    """

    def __init__(self, params: ForestHParams, device_assigner: Any = None, **kwargs: Any) -> None:
        self.params = params
        first, second = get_seed(params.base_random_seed or None)
        attrs = {
            "trees": params.num_trees,
            "classes": params.num_classes,
            "features": params.num_features,
            "most_nodes": params.max_nodes,
            "splits": int(params.num_splits_to_consider),
            "examples": int(params.split_after_samples),
            "share": float(params.bagging_fraction),
            "seed": first or 0,
            "seed2": second or 0,
            "shared_name": "",
            "container": "",
        }
        self._forest = apply(forests.FOREST, (), attrs, "random_forest").outputs[0]

    def training_graph(
        self, input_data: TensorLike, input_labels: TensorLike, num_trainers: int = 1, trainer_id: int = 0
    ) -> Operation:
        """The operation that shows the trees examples.

        Args:
            input_data: [examples, features] of floats.
            input_labels: [examples]: class numbers, whole or as floats.
            num_trainers: Has no effect: one grows all trees.
            trainer_id: Has no effect.

        Returns:
            The operation.
        """
        features = cast(input_data, dtypes.float32)
        return apply(forests.GROW, (self._forest, features, convert_to_tensor(input_labels)))

    def inference_graph(self, input_data: TensorLike) -> tuple[Tensor, None, None]:
        """The probabilities of the classes: the mean of what the trees say.

        Args:
            input_data: [examples, features] of floats.

        Returns:
            [examples, classes]; and None twice, for paths through trees and variances, which are not told.
        """
        attrs = {"classes": self.params.num_classes}
        inputs = (self._forest, cast(input_data, dtypes.float32))
        return apply(forests.PROBABILITIES, inputs, attrs, "probabilities").outputs[0], None, None

    def average_size(self) -> Tensor:
        """The mean number of nodes of the trees, a scalar of float32."""
        attrs = {"trees": self.params.num_trees}
        return reduce_mean(cast(apply(forests.SIZES, (self._forest,), attrs).outputs[0], dtypes.float32))

    def training_loss(self, features: TensorLike, labels: TensorLike, name: str = "training_loss") -> Tensor:
        """Minus the mean number of nodes, which falls as the trees grow.

        Args:
            features: Not looked at.
            labels: Not looked at.
            name: A name for the operation.

        Returns:
            A scalar of float32.
        """
        with op_scope(name, "training_loss", []):
            return negative(self.average_size())

    def validation_loss(self, features: TensorLike, labels: TensorLike) -> Tensor:
        """As training_loss.

        Args:
            features: Not looked at.
            labels: Not looked at.

        Returns:
            A scalar of float32.
        """
        return self.training_loss(features, labels, "validation_loss")
