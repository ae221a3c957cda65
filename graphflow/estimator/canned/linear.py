"""Linear models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow.estimator.canned.heads import Head, RegressionHead, class_head
from graphflow.estimator.canned.models import linear_spec
from graphflow.estimator.estimator import Estimator
from graphflow.estimator.run_config import RunConfig
from graphflow.estimator.spec import EstimatorSpec
from graphflow.losses import Reduction


def _model_fn(
    head: Head, feature_columns: Any, optimizer: Any, sparse_combiner: str, partitioner: Any
) -> Callable[..., EstimatorSpec]:
    columns = list(feature_columns or ())

    def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
        return linear_spec(
            features, labels, mode, head, columns, optimizer, sparse_combiner, partitioner, config
        )

    return model_fn


class LinearClassifier(Estimator):
    """A linear model that tells classes apart (tf.estimator.LinearClassifier).

    Args:
        feature_columns: What the model takes of the features.
        model_dir: The folder of checkpoints and summaries.
        n_classes: How many classes there are.
        weight_column: The weights of examples: the name of a feature, or a numeric column.
        label_vocabulary: The words that labels are, if they are no numbers.
        optimizer: An optimizer, a function that makes one, or one of Adagrad, Adam, Ftrl, RMSProp, SGD.
        config: A RunConfig.
        partitioner: Of the variables of columns.
        warm_start_from: A checkpoint, or WarmStartSettings.
        loss_reduction: How losses of examples become one; gf.losses.Reduction.
        sparse_combiner: "mean", "sqrtn" or "sum", if a categorical column has several ids for an example.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        feature_columns: Any,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = _model_fn(head, feature_columns, optimizer, sparse_combiner, partitioner)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class LinearRegressor(Estimator):
    """A linear model that gives numbers (tf.estimator.LinearRegressor).

    Args:
        feature_columns: What the model takes of the features.
        model_dir: The folder of checkpoints and summaries.
        label_dimension: How many numbers a label has.
        weight_column: The weights of examples: the name of a feature, or a numeric column.
        optimizer: An optimizer, a function that makes one, or one of Adagrad, Adam, Ftrl, RMSProp, SGD.
        config: A RunConfig.
        partitioner: Of the variables of columns.
        warm_start_from: A checkpoint, or WarmStartSettings.
        loss_reduction: How losses of examples become one; gf.losses.Reduction.
        sparse_combiner: "mean", "sqrtn" or "sum", if a categorical column has several ids for an example.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        feature_columns: Any,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        model_fn = _model_fn(head, feature_columns, optimizer, sparse_combiner, partitioner)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class LinearEstimator(Estimator):
    """A linear model with a head of the user (tf.estimator.LinearEstimator).

    Args:
        head: What the logits mean.
        feature_columns: What the model takes of the features.
        model_dir: The folder of checkpoints and summaries.
        optimizer: An optimizer, a function that makes one, or one of Adagrad, Adam, Ftrl, RMSProp, SGD.
        config: A RunConfig.
        partitioner: Of the variables of columns.
        sparse_combiner: "mean", "sqrtn" or "sum", if a categorical column has several ids for an example.
        warm_start_from: A checkpoint, or WarmStartSettings.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        head: Head,
        feature_columns: Any,
        model_dir: str | None = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Any = None,
        sparse_combiner: str = "sum",
        warm_start_from: Any = None,
    ) -> None:
        model_fn = _model_fn(head, feature_columns, optimizer, sparse_combiner, partitioner)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)
