"""Boosted trees: each tree corrects what those before it get wrong."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import graphflow.protos as protos
import graphflow.train as train
from graphflow.estimator.canned.heads import BinaryHead, Head, RegressionHead
from graphflow.estimator.canned.tree_growing import (
    PATHS,
    SERIALIZED,
    Derivatives,
    TreeOptions,
    check_columns,
    explained_spec,
    feature_names,
    logistic_derivatives,
    trees_spec,
)
from graphflow.estimator.estimator import Estimator
from graphflow.estimator.run_config import RunConfig
from graphflow.estimator.spec import EstimatorSpec
from graphflow.losses import Reduction
from graphflow.train.hooks.session_run_hook import SessionRunHook


class _BoostedTrees(Estimator):
    """What all estimators of boosted trees share."""

    def __init__(
        self, feature_columns: Any, batches: Any, head: Head, options: TreeOptions, model_dir: str | None,
        config: RunConfig | None, derivatives: Derivatives | None = None,
    ) -> None:  # fmt: skip
        options.check()
        columns = sorted(feature_columns, key=lambda column: column.name)
        check_columns(columns)
        self._names = feature_names(columns)
        self._columns, self._head, self._is_centered = columns, head, options.center_bias

        def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            return trees_spec(features, labels, mode, head, columns, options, batches, config, derivatives)

        super().__init__(model_fn, model_dir, config)

    def experimental_feature_importances(self, normalize: bool = False) -> OrderedDict[str, float]:
        """How much each column has made the loss less: the sum of the gains of its splits.

        Args:
            normalize: Whether they are divided by their sum.

        Returns:
            The importances by the names of the columns, the largest first.

        Raises:
            ValueError: If nothing was trained, or they are to be normalised and no tree has a split that gains.
        """
        serialized = train.load_variable(self._found_checkpoint(), SERIALIZED)
        if not np.size(serialized) or not bytes(serialized):
            raise ValueError(f"The checkpoint in {self.model_dir} has no trees: train the model first.")
        found = protos.boosted_trees_pb2.TreeEnsemble.FromString(bytes(serialized))
        importances = dict.fromkeys(self._names, 0.0)
        for tree, weight in zip(found.trees, found.tree_weights, strict=True):
            for node in tree.nodes:
                if node.WhichOneof("node") == "bucketized_split":
                    importances[self._names[node.bucketized_split.feature_id]] += node.metadata.gain * weight
        if normalize:
            total = sum(importances.values())
            if total <= 0 or min(importances.values()) < 0:
                raise ValueError(f"Importances are normalised if all are positive, got {importances}.")
            importances = {name: value / total for name, value in importances.items()}
        return _largest_first(importances)

    def experimental_predict_with_explanations(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Sequence[str] | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        """The predictions for an input, and what each column adds to them.

        Args:
            input_fn: As Estimator.predict takes.
            predict_keys: The names of those predictions that are wanted; None for all.
            hooks: Of the session.
            checkpoint_path: What is restored, by default the newest checkpoint.

        Yields:
            Predictions of a row, with "bias", the prediction for what training saw as a whole, and "dfc", what each
            column adds to it by its name, the largest first. Of classes these are probabilities.

        Raises:
            ValueError: If the model was not made with center_bias=True.
        """
        if not self._is_centered:
            raise ValueError("Explanations begin with the bias of the first tree: give center_bias=True.")

        def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
            return explained_spec(features, self._head, self._columns)

        keys = None if predict_keys is None else [*predict_keys, PATHS]
        for row in self.with_model_fn(model_fn).predict(input_fn, keys, hooks, checkpoint_path):
            path = protos.boosted_trees_pb2.DebugOutput.FromString(row.pop(PATHS))
            values = np.array(path.logits_path)
            if isinstance(self._head, BinaryHead):
                values = 1 / (1 + np.exp(-values))
            added = dict.fromkeys(self._names, 0.0)
            for feature, change in zip(path.feature_ids, np.diff(values), strict=True):
                added[self._names[feature]] += change
            yield {**row, "bias": values[0], "dfc": _largest_first(added)}


def _largest_first(values: Mapping[str, float]) -> OrderedDict[str, float]:
    return OrderedDict(sorted(values.items(), key=lambda item: -abs(item[1])))


class BoostedTreesClassifier(_BoostedTrees):
    """Boosted trees that tell two classes apart (tf.estimator.BoostedTreesClassifier).

    Args:
        feature_columns: Columns of gf.feature_column.bucketized_column and indicator_column.
        n_batches_per_layer: How many batches are looked at for a layer: those of the whole data as a rule.
        model_dir: The folder of checkpoints and summaries.
        n_classes: 2.
        weight_column: The weights of examples: the name of a feature, or a numeric column.
        label_vocabulary: The words that labels are, if they are no numbers.
        n_trees: How many trees are grown.
        max_depth: How many layers a tree has at most.
        learning_rate: By which the values of leaves are multiplied.
        l1_regularization: Weighs the absolute values of leaves.
        l2_regularization: Weighs the squares of the values of leaves.
        tree_complexity: What a split has to gain, with pruning.
        min_node_weight: The least sum of second derivatives in a leaf that is split.
        config: A RunConfig.
        center_bias: Whether the first tree begins with the logit of the share of class 1.
        pruning_mode: "none", "pre" for no splits that gain too little, or "post" to take such back in the end.
        quantile_sketch_epsilon: Has no effect: columns say their buckets.
        train_in_memory: Whether each batch is the whole data.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        feature_columns: Any,
        n_batches_per_layer: Any,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        n_trees: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        tree_complexity: float = 0.0,
        min_node_weight: float = 0.0,
        config: RunConfig | None = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
        train_in_memory: bool = False,
    ) -> None:
        if n_classes != 2:
            raise ValueError(f"BoostedTreesClassifier tells two classes apart, got n_classes={n_classes}.")
        options = TreeOptions(
            n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity,
            min_node_weight, center_bias, pruning_mode,
        )  # fmt: skip
        head = BinaryHead(weight_column, label_vocabulary, Reduction.SUM_OVER_BATCH_SIZE)
        plain = weight_column is None and label_vocabulary is None
        super().__init__(
            feature_columns, checked_batches(n_batches_per_layer, train_in_memory), head, options, model_dir, config,
            logistic_derivatives if plain else None,
        )  # fmt: skip


class BoostedTreesRegressor(_BoostedTrees):
    """Boosted trees that give a number (tf.estimator.BoostedTreesRegressor).

    Args:
        feature_columns: Columns of gf.feature_column.bucketized_column and indicator_column.
        n_batches_per_layer: How many batches are looked at for a layer: those of the whole data as a rule.
        model_dir: The folder of checkpoints and summaries.
        label_dimension: 1.
        weight_column: The weights of examples: the name of a feature, or a numeric column.
        n_trees: How many trees are grown.
        max_depth: How many layers a tree has at most.
        learning_rate: By which the values of leaves are multiplied.
        l1_regularization: Weighs the absolute values of leaves.
        l2_regularization: Weighs the squares of the values of leaves.
        tree_complexity: What a split has to gain, with pruning.
        min_node_weight: The least sum of second derivatives in a leaf that is split.
        config: A RunConfig.
        center_bias: Whether the first tree begins with the mean of the labels.
        pruning_mode: "none", "pre" for no splits that gain too little, or "post" to take such back in the end.
        quantile_sketch_epsilon: Has no effect: columns say their buckets.
        train_in_memory: Whether each batch is the whole data.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        feature_columns: Any,
        n_batches_per_layer: Any,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        n_trees: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        tree_complexity: float = 0.0,
        min_node_weight: float = 0.0,
        config: RunConfig | None = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
        train_in_memory: bool = False,
    ) -> None:
        if label_dimension != 1:
            raise ValueError(
                f"BoostedTreesRegressor gives one number, got label_dimension={label_dimension}."
            )
        options = TreeOptions(
            n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity,
            min_node_weight, center_bias, pruning_mode,
        )  # fmt: skip
        head = RegressionHead(1, weight_column, Reduction.SUM_OVER_BATCH_SIZE)
        batches = checked_batches(n_batches_per_layer, train_in_memory)
        super().__init__(feature_columns, batches, head, options, model_dir, config)


class BoostedTreesEstimator(_BoostedTrees):
    """Boosted trees with a head of the user (tf.contrib.estimator.BoostedTreesEstimator).

    Args:
        feature_columns: Columns of gf.feature_column.bucketized_column and indicator_column.
        n_batches_per_layer: How many batches are looked at for a layer: those of the whole data as a rule.
        head: What the logit means.
        model_dir: The folder of checkpoints and summaries.
        weight_column: Has no effect: the head has it.
        n_trees: How many trees are grown.
        max_depth: How many layers a tree has at most.
        learning_rate: By which the values of leaves are multiplied.
        l1_regularization: Weighs the absolute values of leaves.
        l2_regularization: Weighs the squares of the values of leaves.
        tree_complexity: What a split has to gain, with pruning.
        min_node_weight: The least sum of second derivatives in a leaf that is split.
        config: A RunConfig.
        center_bias: Whether the first tree begins with a bias.
        pruning_mode: "none", "pre" for no splits that gain too little, or "post" to take such back in the end.
        quantile_sketch_epsilon: Has no effect: columns say their buckets.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        feature_columns: Any,
        n_batches_per_layer: Any,
        head: Head,
        model_dir: str | None = None,
        weight_column: Any = None,
        n_trees: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        tree_complexity: float = 0.0,
        min_node_weight: float = 0.0,
        config: RunConfig | None = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
    ) -> None:
        if head.logits_dimension != 1:
            raise ValueError(f"Boosted trees have one logit, got a head of {head.logits_dimension}.")
        options = TreeOptions(
            n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity,
            min_node_weight, center_bias, pruning_mode,
        )  # fmt: skip
        super().__init__(feature_columns, n_batches_per_layer, head, options, model_dir, config)


def checked_batches(batches: Any, in_memory: bool) -> Any:
    """How many batches a layer takes; ValueError if each is the whole data and there are several."""
    if in_memory and batches != 1:
        raise ValueError(
            f"With train_in_memory a batch is the whole data, so n_batches_per_layer is 1, got {batches}."
        )
    return batches
