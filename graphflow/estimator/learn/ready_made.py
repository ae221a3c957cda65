"""Ready-made models of gf.contrib.learn: those of gf.estimator, with former arguments and the mean loss of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from graphflow._core.ops.array.shaping import squeeze
from graphflow._core.ops.nn.nn import relu
from graphflow.contrib.estimator.clipping import clip_gradients_by_norm
from graphflow.errors import UnimplementedError
from graphflow.estimator.canned.heads import Head, RegressionHead, class_head
from graphflow.estimator.canned.models import (
    DNN_RATE,
    LINEAR_RATE,
    DnnOptions,
    combined_spec,
    dnn_spec,
    linear_rate,
    linear_spec,
)
from graphflow.estimator.canned.optimizers import optimizer_of
from graphflow.estimator.learn.estimator import Estimator
from graphflow.estimator.learn.model_fn import ModelFnOps
from graphflow.estimator.run_config import RunConfig
from graphflow.estimator.spec import EstimatorSpec
from graphflow.losses import Reduction
from graphflow.train import AdagradOptimizer, FtrlOptimizer, Optimizer

_CLASSES: Final = "classes"
_PROBABILITIES: Final = "probabilities"
_SCORES: Final = "scores"
_MEASURED: Final[Mapping[str, Sequence[str]]] = {
    "auc": ("auc",),
    "auc_precision_recall": ("auc_precision_recall",),
    "label/mean": ("labels/actual_label_mean", "accuracy/baseline_label_mean"),
    "prediction/mean": ("labels/prediction_mean",),
    "precision": ("precision/positive_threshold_0.500000_mean",),
    "recall": ("recall/positive_threshold_0.500000_mean",),
}
"""The names that metrics of two classes had, by those that they have; "loss" is the mean loss of an example."""
_OptimizerLike = Optimizer | str | Callable[[], Optimizer] | None


class Training(NamedTuple):
    """How a model is trained.

    optimizer: The one that was given, or None.
    clip_norm: The norm that gradients are scaled down to, or None.
    """

    optimizer: Any
    clip_norm: float | None

    def made(self, default: Optimizer, rate: float) -> Optimizer:
        """The optimizer."""
        found: Optimizer = default if self.optimizer is None else optimizer_of(self.optimizer, rate)
        return found if self.clip_norm is None else clip_gradients_by_norm(found, self.clip_norm)

    def of_network(self) -> Optimizer:
        """The optimizer of a network: Adagrad by default."""
        return self.made(AdagradOptimizer(DNN_RATE), DNN_RATE)

    def of_columns(self, columns: Sequence[Any]) -> Optimizer:
        """The optimizer of a linear model: Ftrl by default."""
        return self.made(FtrlOptimizer(linear_rate(columns, LINEAR_RATE)), LINEAR_RATE)


def _class_head(n_classes: int, weight_column: str | None, words: Any) -> Head:
    head = class_head(n_classes, weight_column, words, Reduction.SUM_OVER_BATCH_SIZE)
    return head.with_options(eval_reduction=Reduction.MEAN)


def _regression_head(label_dimension: int, weight_column: str | None) -> Head:
    head = RegressionHead(label_dimension, weight_column, Reduction.SUM_OVER_BATCH_SIZE)
    return head.with_options(eval_reduction=Reduction.MEAN)


class _Canned(Estimator):
    """What the models share: features that are one tensor have the name "", and predictions the names of before."""

    _answer: str
    """What is predicted if nothing is asked for."""

    def __init__(
        self,
        spec_of: Callable[..., EstimatorSpec],
        model_dir: str | None,
        config: RunConfig | None,
        engineering: Callable[..., Any] | None,
        centered_bias: bool,
    ) -> None:
        if centered_bias:
            raise UnimplementedError(
                None, None, "enable_centered_bias is not there: a model's own bias is trained to the mean."
            )

        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> ModelFnOps:
            named = features if isinstance(features, Mapping) else {"": features}
            spec = spec_of(named, labels, mode, config)
            predictions = self._named(spec.predictions) if spec.predictions else None
            measured = self._measured(spec.eval_metric_ops)
            return ModelFnOps(mode, predictions, spec.loss, spec.train_op, measured, scaffold=spec.scaffold)

        super().__init__(model_fn, model_dir, config, feature_engineering_fn=engineering)

    def _named(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def _measured(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        """Metrics by their former names; of numbers there is the loss alone."""
        return {}

    def _one(self, key: str, x: Any, input_fn: Any, batch_size: Any, as_iterable: bool) -> Any:
        found = self.predict(x, input_fn, batch_size, [key], as_iterable)
        return (row[key] for row in found) if as_iterable else found[key]

    def predict(
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        outputs: Sequence[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """The classes or numbers of each row, or what is asked for.

        Args:
            x: Features as arrays.
            input_fn: A function that gives features, in place of x.
            batch_size: How many rows of x a step has.
            outputs: "classes", "probabilities" and "logits" of a classifier, "scores" of others; None for the first.
            as_iterable: Whether an iterator over the rows is returned, and not the first batch.
            iterate_batches: Whether the iterator gives batches.

        Returns:
            Integers or floats; dictionaries if outputs is given.
        """
        if outputs:
            return super().predict(x, input_fn, batch_size, outputs, as_iterable, iterate_batches)
        return self._one(self._answer, x, input_fn, batch_size, as_iterable)


class _Classifier(_Canned):
    _answer = _CLASSES

    def _named(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        of_two = {key: predictions[key] for key in ("logistic",) if key in predictions}
        return {
            _CLASSES: squeeze(predictions["class_ids"], [1]),
            _PROBABILITIES: predictions["probabilities"],
            "logits": predictions["logits"],
            **of_two,
        }

    def _measured(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        found = {name: metrics[key] for key, names in _MEASURED.items() if key in metrics for name in names}
        if "accuracy" in metrics:
            found["accuracy"] = metrics["accuracy"]
        if "precision" in metrics:  # Of two classes.
            found["accuracy/threshold_0.500000_mean"] = metrics["accuracy"]
        return found

    def predict_classes(
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """The likeliest class of each row.

        Args:
            x: Features as arrays.
            input_fn: A function that gives features, in place of x.
            batch_size: How many rows of x a step has.
            as_iterable: Whether an iterator over the rows is returned, and not the first batch.

        Returns:
            Integers.
        """
        return self._one(_CLASSES, x, input_fn, batch_size, as_iterable)

    def predict_proba(
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """The probabilities of the classes.

        Args:
            x: Features as arrays.
            input_fn: A function that gives features, in place of x.
            batch_size: How many rows of x a step has.
            as_iterable: Whether an iterator over the rows is returned, and not the first batch.

        Returns:
            Arrays [classes].
        """
        return self._one(_PROBABILITIES, x, input_fn, batch_size, as_iterable)


class _Regressor(_Canned):
    _answer = _SCORES

    def _named(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        values = predictions["predictions"]
        return {_SCORES: squeeze(values, [1]) if values.shape.as_list()[-1] == 1 else values}

    def predict_scores(
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        as_iterable: bool = True,
    ) -> Any:
        """The numbers of each row.

        Args:
            x: Features as arrays.
            input_fn: A function that gives features, in place of x.
            batch_size: How many rows of x a step has.
            as_iterable: Whether an iterator over the rows is returned, and not the first batch.

        Returns:
            Floats, or arrays of them.
        """
        return self._one(_SCORES, x, input_fn, batch_size, as_iterable)


def _network(
    head: Head, hidden_units: Sequence[int], columns: Any, activation: Any, dropout: Any, training: Training
) -> Callable[..., EstimatorSpec]:
    options = DnnOptions(hidden_units, list(columns), activation, dropout, False, None)

    def spec_of(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        return dnn_spec(features, labels, mode, head, options, training.of_network(), config)

    return spec_of


def _linear(head: Head, columns: Any, training: Training) -> Callable[..., EstimatorSpec]:
    listed = list(columns)

    def spec_of(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        optimizer = training.of_columns(listed)
        return linear_spec(features, labels, mode, head, listed, optimizer, "sum", None, config)

    return spec_of


def _combined(
    head: Head, columns: Any, linear: Training, hidden_units: Any, dnn_columns: Any, activation: Any, dropout: Any,
    dnn: Training,
) -> Callable[..., EstimatorSpec]:  # fmt: skip
    listed = list(columns or ())
    options = DnnOptions(hidden_units or (), list(dnn_columns or ()), activation, dropout, False, None)
    if not listed and not options.columns:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")

    def spec_of(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        return combined_spec(
            features, labels, mode, head, listed, linear.of_columns(listed) if listed else None, "sum", options,
            dnn.of_network(), config,
        )  # fmt: skip

    return spec_of


class DNNClassifier(_Classifier):
    """A network that tells classes apart (tf.contrib.learn.DNNClassifier).

    Args:
        hidden_units: The size of each hidden layer.
        feature_columns: What the model takes of the features.
        model_dir: The folder of checkpoints and summaries.
        n_classes: How many classes there are.
        weight_column_name: The feature that has the weights of examples.
        optimizer: An optimizer, its name, or a function that makes one; Adagrad by default.
        activation_fn: Of hidden layers.
        dropout: The share of hidden units that is left out in training.
        gradient_clip_norm: The norm that gradients are scaled down to.
        enable_centered_bias: Not there: UnimplementedError if it is true.
        config: A RunConfig.
        feature_engineering_fn: A function of features and labels to those that the model gets.
        label_keys: The words that labels are, if they are no numbers.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: _OptimizerLike = None,
        activation_fn: Callable[..., Any] | None = relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
        label_keys: Sequence[str] | None = None,
    ) -> None:
        head = _class_head(n_classes, weight_column_name, label_keys)
        training = Training(optimizer, gradient_clip_norm)
        spec_of = _network(head, hidden_units, feature_columns, activation_fn, dropout, training)
        super().__init__(spec_of, model_dir, config, feature_engineering_fn, enable_centered_bias)


class DNNRegressor(_Regressor):
    """A network that gives numbers (tf.contrib.learn.DNNRegressor).

    Args:
        hidden_units: The size of each hidden layer.
        feature_columns: What the model takes of the features.
        model_dir: The folder of checkpoints and summaries.
        weight_column_name: The feature that has the weights of examples.
        optimizer: An optimizer, its name, or a function that makes one; Adagrad by default.
        activation_fn: Of hidden layers.
        dropout: The share of hidden units that is left out in training.
        gradient_clip_norm: The norm that gradients are scaled down to.
        enable_centered_bias: Not there: UnimplementedError if it is true.
        config: A RunConfig.
        feature_engineering_fn: A function of features and labels to those that the model gets.
        label_dimension: How many numbers a label has.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        optimizer: _OptimizerLike = None,
        activation_fn: Callable[..., Any] | None = relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
        label_dimension: int = 1,
    ) -> None:
        head = _regression_head(label_dimension, weight_column_name)
        training = Training(optimizer, gradient_clip_norm)
        spec_of = _network(head, hidden_units, feature_columns, activation_fn, dropout, training)
        super().__init__(spec_of, model_dir, config, feature_engineering_fn, enable_centered_bias)


class LinearClassifier(_Classifier):
    """A linear model that tells classes apart (tf.contrib.learn.LinearClassifier).

    Args:
        feature_columns: What the model takes of the features.
        model_dir: The folder of checkpoints and summaries.
        n_classes: How many classes there are.
        weight_column_name: The feature that has the weights of examples.
        optimizer: An optimizer, its name, or a function that makes one; Ftrl by default.
        gradient_clip_norm: The norm that gradients are scaled down to.
        enable_centered_bias: Not there: UnimplementedError if it is true.
        config: A RunConfig.
        feature_engineering_fn: A function of features and labels to those that the model gets.
        label_keys: The words that labels are, if they are no numbers.
    """

    def __init__(
        self,
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: _OptimizerLike = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
        label_keys: Sequence[str] | None = None,
    ) -> None:
        head = _class_head(n_classes, weight_column_name, label_keys)
        spec_of = _linear(head, feature_columns, Training(optimizer, gradient_clip_norm))
        super().__init__(spec_of, model_dir, config, feature_engineering_fn, enable_centered_bias)


class LinearRegressor(_Regressor):
    """A linear model that gives numbers (tf.contrib.learn.LinearRegressor).

    Args:
        feature_columns: What the model takes of the features.
        model_dir: The folder of checkpoints and summaries.
        weight_column_name: The feature that has the weights of examples.
        optimizer: An optimizer, its name, or a function that makes one; Ftrl by default.
        gradient_clip_norm: The norm that gradients are scaled down to.
        enable_centered_bias: Not there: UnimplementedError if it is true.
        label_dimension: How many numbers a label has.
        config: A RunConfig.
        feature_engineering_fn: A function of features and labels to those that the model gets.
    """

    def __init__(
        self,
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        optimizer: _OptimizerLike = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        head = _regression_head(label_dimension, weight_column_name)
        spec_of = _linear(head, feature_columns, Training(optimizer, gradient_clip_norm))
        super().__init__(spec_of, model_dir, config, feature_engineering_fn, enable_centered_bias)


class DNNLinearCombinedClassifier(_Classifier):
    """A linear model and a network that together tell classes apart (tf.contrib.learn.DNNLinearCombinedClassifier).

    Args:
        model_dir: The folder of checkpoints and summaries.
        n_classes: How many classes there are.
        weight_column_name: The feature that has the weights of examples.
        linear_feature_columns: What the linear model takes of the features.
        linear_optimizer: Of the linear model; Ftrl by default.
        dnn_feature_columns: What the network takes of the features.
        dnn_optimizer: Of the network; Adagrad by default.
        dnn_hidden_units: The size of each hidden layer.
        dnn_activation_fn: Of hidden layers.
        dnn_dropout: The share of hidden units that is left out in training.
        gradient_clip_norm: The norm that gradients are scaled down to.
        enable_centered_bias: Not there: UnimplementedError if it is true.
        config: A RunConfig.
        feature_engineering_fn: A function of features and labels to those that the model gets.
        label_keys: The words that labels are, if they are no numbers.
        fix_global_step_increment_bug: Not needed: a step is one step.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        linear_feature_columns: Sequence[Any] | None = None,
        linear_optimizer: _OptimizerLike = None,
        dnn_feature_columns: Sequence[Any] | None = None,
        dnn_optimizer: _OptimizerLike = None,
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Callable[..., Any] | None = relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
        label_keys: Sequence[str] | None = None,
        fix_global_step_increment_bug: bool = True,
    ) -> None:
        head = _class_head(n_classes, weight_column_name, label_keys)
        spec_of = _combined(
            head, linear_feature_columns, Training(linear_optimizer, gradient_clip_norm), dnn_hidden_units,
            dnn_feature_columns, dnn_activation_fn, dnn_dropout, Training(dnn_optimizer, gradient_clip_norm),
        )  # fmt: skip
        super().__init__(spec_of, model_dir, config, feature_engineering_fn, enable_centered_bias)


class DNNLinearCombinedRegressor(_Regressor):
    """A linear model and a network that together give numbers (tf.contrib.learn.DNNLinearCombinedRegressor).

    Args:
        model_dir: The folder of checkpoints and summaries.
        weight_column_name: The feature that has the weights of examples.
        linear_feature_columns: What the linear model takes of the features.
        linear_optimizer: Of the linear model; Ftrl by default.
        dnn_feature_columns: What the network takes of the features.
        dnn_optimizer: Of the network; Adagrad by default.
        dnn_hidden_units: The size of each hidden layer.
        dnn_activation_fn: Of hidden layers.
        dnn_dropout: The share of hidden units that is left out in training.
        gradient_clip_norm: The norm that gradients are scaled down to.
        enable_centered_bias: Not there: UnimplementedError if it is true.
        label_dimension: How many numbers a label has.
        config: A RunConfig.
        feature_engineering_fn: A function of features and labels to those that the model gets.
        fix_global_step_increment_bug: Not needed: a step is one step.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        linear_feature_columns: Sequence[Any] | None = None,
        linear_optimizer: _OptimizerLike = None,
        dnn_feature_columns: Sequence[Any] | None = None,
        dnn_optimizer: _OptimizerLike = None,
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Callable[..., Any] | None = relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        config: RunConfig | None = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
        fix_global_step_increment_bug: bool = True,
    ) -> None:
        head = _regression_head(label_dimension, weight_column_name)
        spec_of = _combined(
            head, linear_feature_columns, Training(linear_optimizer, gradient_clip_norm), dnn_hidden_units,
            dnn_feature_columns, dnn_activation_fn, dnn_dropout, Training(dnn_optimizer, gradient_clip_norm),
        )  # fmt: skip
        super().__init__(spec_of, model_dir, config, feature_engineering_fn, enable_centered_bias)
