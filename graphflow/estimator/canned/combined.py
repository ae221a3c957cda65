"""A linear model and a network together: wide and deep (Cheng et al. 2016)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.ops.nn.nn import relu
from graphflow.estimator.canned.heads import Head, RegressionHead, class_head
from graphflow.estimator.canned.models import DnnOptions, combined_spec
from graphflow.estimator.estimator import Estimator
from graphflow.estimator.run_config import RunConfig
from graphflow.estimator.spec import EstimatorSpec
from graphflow.losses import Reduction


def _both(linear: Any, dnn: Any) -> tuple[list[Any], list[Any]]:
    """The columns of both parts; ValueError if there is none."""
    found = list(linear or ()), list(dnn or ())
    if not any(found):
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    return found


def _model_fn(
    head: Head,
    columns: list[Any],
    linear_optimizer: Any,
    combiner: str,
    options: DnnOptions,
    dnn_optimizer: Any,
) -> Callable[..., EstimatorSpec]:
    def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
        return combined_spec(
            features, labels, mode, head, columns, linear_optimizer, combiner, options, dnn_optimizer, config
        )

    return model_fn


class DNNLinearCombinedClassifier(Estimator):
    """A linear model and a network together that tell classes apart (tf.estimator.DNNLinearCombinedClassifier).

    Args:
        model_dir: The folder of checkpoints and summaries.
        linear_feature_columns: What the linear model takes of the features.
        linear_optimizer: Of the linear model, as `optimizer` of the others.
        dnn_feature_columns: What the network takes of the features.
        dnn_optimizer: Of the network.
        dnn_hidden_units: The size of each hidden layer.
        dnn_activation_fn: Of hidden layers.
        dnn_dropout: The share of hidden units that is left out in training.
        n_classes: How many classes there are.
        weight_column: The weights of examples: the name of a feature, or a numeric column.
        label_vocabulary: The words that labels are, if they are no numbers.
        input_layer_partitioner: Of the variables of columns.
        config: A RunConfig.
        warm_start_from: A checkpoint, or WarmStartSettings.
        loss_reduction: How losses of examples become one; gf.losses.Reduction.
        batch_norm: Whether hidden layers are normalised.
        linear_sparse_combiner: As sparse_combiner of linear models.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Callable[..., Any] | None = relu,
        dnn_dropout: float | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        columns, dnn = _both(linear_feature_columns, dnn_feature_columns)
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        options = DnnOptions(
            dnn_hidden_units or (), dnn, dnn_activation_fn, dnn_dropout, batch_norm, input_layer_partitioner
        )
        model_fn = _model_fn(head, columns, linear_optimizer, linear_sparse_combiner, options, dnn_optimizer)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedRegressor(Estimator):
    """A linear model and a network together that give numbers (tf.estimator.DNNLinearCombinedRegressor).

    Args:
        model_dir: The folder of checkpoints and summaries.
        linear_feature_columns: What the linear model takes of the features.
        linear_optimizer: Of the linear model, as `optimizer` of the others.
        dnn_feature_columns: What the network takes of the features.
        dnn_optimizer: Of the network.
        dnn_hidden_units: The size of each hidden layer.
        dnn_activation_fn: Of hidden layers.
        dnn_dropout: The share of hidden units that is left out in training.
        label_dimension: How many numbers a label has.
        weight_column: The weights of examples: the name of a feature, or a numeric column.
        input_layer_partitioner: Of the variables of columns.
        config: A RunConfig.
        warm_start_from: A checkpoint, or WarmStartSettings.
        loss_reduction: How losses of examples become one; gf.losses.Reduction.
        batch_norm: Whether hidden layers are normalised.
        linear_sparse_combiner: As sparse_combiner of linear models.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Callable[..., Any] | None = relu,
        dnn_dropout: float | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        columns, dnn = _both(linear_feature_columns, dnn_feature_columns)
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        options = DnnOptions(
            dnn_hidden_units or (), dnn, dnn_activation_fn, dnn_dropout, batch_norm, input_layer_partitioner
        )
        model_fn = _model_fn(head, columns, linear_optimizer, linear_sparse_combiner, options, dnn_optimizer)
        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class DNNLinearCombinedEstimator(Estimator):
    """A linear model and a network together with a head of the user (tf.estimator.DNNLinearCombinedEstimator).

    Args:
        head: What the logits mean.
        model_dir: The folder of checkpoints and summaries.
        linear_feature_columns: What the linear model takes of the features.
        linear_optimizer: Of the linear model, as `optimizer` of the others.
        dnn_feature_columns: What the network takes of the features.
        dnn_optimizer: Of the network.
        dnn_hidden_units: The size of each hidden layer.
        dnn_activation_fn: Of hidden layers.
        dnn_dropout: The share of hidden units that is left out in training.
        input_layer_partitioner: Of the variables of columns.
        config: A RunConfig.
        batch_norm: Whether hidden layers are normalised.
        linear_sparse_combiner: As sparse_combiner of linear models.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        head: Head,
        model_dir: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Callable[..., Any] | None = relu,
        dnn_dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        columns, dnn = _both(linear_feature_columns, dnn_feature_columns)
        options = DnnOptions(
            dnn_hidden_units or (), dnn, dnn_activation_fn, dnn_dropout, batch_norm, input_layer_partitioner
        )
        model_fn = _model_fn(head, columns, linear_optimizer, linear_sparse_combiner, options, dnn_optimizer)
        super().__init__(model_fn, model_dir, config, warm_start_from=None)
