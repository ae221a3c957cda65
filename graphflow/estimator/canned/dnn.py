"""Networks of dense layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.ops.nn.nn import relu
from graphflow.estimator.canned.heads import Head, RegressionHead, class_head
from graphflow.estimator.canned.models import DnnOptions, dnn_spec
from graphflow.estimator.estimator import Estimator
from graphflow.estimator.run_config import RunConfig
from graphflow.estimator.spec import EstimatorSpec
from graphflow.losses import Reduction


def _model_fn(head: Head, options: DnnOptions, optimizer: Any) -> Callable[..., EstimatorSpec]:
    def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
        return dnn_spec(features, labels, mode, head, options, optimizer, config)

    return model_fn


class DNNClassifier(Estimator):
    """A network that tells classes apart (tf.estimator.DNNClassifier).

    Args:
        hidden_units: The size of each hidden layer.
        feature_columns: What the model takes of the features.
        model_dir: The folder of checkpoints and summaries.
        n_classes: How many classes there are.
        weight_column: The weights of examples: the name of a feature, or a numeric column.
        label_vocabulary: The words that labels are, if they are no numbers.
        optimizer: An optimizer, a function that makes one, or one of Adagrad, Adam, Ftrl, RMSProp, SGD.
        activation_fn: Of hidden layers.
        dropout: The share of hidden units that is left out in training.
        input_layer_partitioner: Of the variables of columns.
        config: A RunConfig.
        warm_start_from: A checkpoint, or WarmStartSettings.
        loss_reduction: How losses of examples become one; gf.losses.Reduction.
        batch_norm: Whether hidden layers are normalised.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable[..., Any] | None = relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        columns = list(feature_columns or ())
        options = DnnOptions(
            hidden_units, columns, activation_fn, dropout, batch_norm, input_layer_partitioner
        )
        super().__init__(
            _model_fn(head, options, optimizer), model_dir, config, warm_start_from=warm_start_from
        )


class DNNRegressor(Estimator):
    """A network that gives numbers (tf.estimator.DNNRegressor).

    Args:
        hidden_units: The size of each hidden layer.
        feature_columns: What the model takes of the features.
        model_dir: The folder of checkpoints and summaries.
        label_dimension: How many numbers a label has.
        weight_column: The weights of examples: the name of a feature, or a numeric column.
        optimizer: An optimizer, a function that makes one, or one of Adagrad, Adam, Ftrl, RMSProp, SGD.
        activation_fn: Of hidden layers.
        dropout: The share of hidden units that is left out in training.
        input_layer_partitioner: Of the variables of columns.
        config: A RunConfig.
        warm_start_from: A checkpoint, or WarmStartSettings.
        loss_reduction: How losses of examples become one; gf.losses.Reduction.
        batch_norm: Whether hidden layers are normalised.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable[..., Any] | None = relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        columns = list(feature_columns or ())
        options = DnnOptions(
            hidden_units, columns, activation_fn, dropout, batch_norm, input_layer_partitioner
        )
        super().__init__(
            _model_fn(head, options, optimizer), model_dir, config, warm_start_from=warm_start_from
        )


class DNNEstimator(Estimator):
    """A network with a head of the user (tf.estimator.DNNEstimator).

    Args:
        head: What the logits mean.
        hidden_units: The size of each hidden layer.
        feature_columns: What the model takes of the features.
        model_dir: The folder of checkpoints and summaries.
        optimizer: An optimizer, a function that makes one, or one of Adagrad, Adam, Ftrl, RMSProp, SGD.
        activation_fn: Of hidden layers.
        dropout: The share of hidden units that is left out in training.
        input_layer_partitioner: Of the variables of columns.
        config: A RunConfig.
        warm_start_from: A checkpoint, or WarmStartSettings.
        batch_norm: Whether hidden layers are normalised.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        head: Head,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: str | None = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable[..., Any] | None = relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        batch_norm: bool = False,
    ) -> None:
        columns = list(feature_columns or ())
        options = DnnOptions(
            hidden_units, columns, activation_fn, dropout, batch_norm, input_layer_partitioner
        )
        super().__init__(
            _model_fn(head, options, optimizer), model_dir, config, warm_start_from=warm_start_from
        )
