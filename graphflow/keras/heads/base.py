"""What heads are derived from: Head of programs, and SingleHead of those that have one loss."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import graphflow.distribute as distribute
import graphflow.summary as summary
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import expand_dims, range_, shape, stack, tile
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.numeric import add_n
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.strings import as_string
from graphflow.estimator.canned.keys import MetricKeys, PredictionKeys
from graphflow.estimator.canned.labels import check_loss_function, checked_logits, losses_of, weights_of
from graphflow.estimator.export import ClassificationOutput, ExportOutput
from graphflow.estimator.spec import EstimatorSpec, ModeKeys
from graphflow.keras.losses import Reduction
from graphflow.keras.metrics import Mean, Metric
from graphflow.keras.optimizers import Optimizer
from graphflow.keras.weighting import weighted
from graphflow.saved_model import signature_constants

SERVING: Final = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
METRICS: Final = MetricKeys
PREDICTIONS: Final = PredictionKeys
Losses = Sequence[TensorLike] | None


class Head(abc.ABC):
    """What logits mean: predictions, the loss, metrics, and what a model function returns (tf.estimator.Head).

    A head of one's own is derived from it.
    """

    @property
    @abc.abstractmethod
    def name(self) -> str | None:
        """Its name, which stands behind those of metrics; None for none."""

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> int:
        """How many logits an example has."""

    @property
    @abc.abstractmethod
    def loss_reduction(self) -> str:
        """How losses of examples become one."""

    @abc.abstractmethod
    def loss(
        self,
        labels: Any,
        logits: Any,
        features: Mapping[str, Any] | None = None,
        mode: str | None = None,
        regularization_losses: Losses = None,
    ) -> Tensor:
        """The loss of a batch.

        Args:
            labels: The labels of the batch, or {name: labels}.
            logits: [..., logits_dimension].
            features: The features by name, for weights.
            mode: One of gf.estimator.ModeKeys.
            regularization_losses: Scalars that are added.

        Returns:
            A scalar.
        """

    @abc.abstractmethod
    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[Any, Tensor]:
        """What logits predict.

        Args:
            logits: [..., logits_dimension].
            keys: The names of the predictions that are wanted; None for all.

        Returns:
            {name: tensor}.
        """

    @abc.abstractmethod
    def metrics(self, regularization_losses: Losses = None) -> dict[str, Any]:
        """New metrics by name.

        Args:
            regularization_losses: Scalars; with them their sum has a metric.

        Returns:
            {name: metric of gf.keras.metrics}.
        """

    @abc.abstractmethod
    def update_metrics(
        self,
        eval_metrics: dict[str, Any],
        features: Mapping[str, Any],
        logits: Any,
        labels: Any,
        mode: str | None = None,
        regularization_losses: Losses = None,
    ) -> dict[str, Any]:
        """Adds a batch to metrics.

        Args:
            eval_metrics: What `metrics` gave.
            features: The features by name, for weights.
            logits: [..., logits_dimension].
            labels: The labels of the batch, or {name: labels}.
            mode: One of gf.estimator.ModeKeys.
            regularization_losses: Scalars that the loss has besides.

        Returns:
            The same metrics.
        """

    def create_estimator_spec(
        self,
        features: Mapping[str, Any],
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Optimizer | None = None,
        trainable_variables: Sequence[Variable] | None = None,
        train_op_fn: Callable[[Tensor], Any] | None = None,
        update_ops: Sequence[Any] | None = None,
        regularization_losses: Losses = None,
    ) -> EstimatorSpec:
        """What a model function returns for these logits.

        Args:
            features: The features by name, for weights.
            mode: One of gf.estimator.ModeKeys.
            logits: [..., logits_dimension].
            labels: The labels of the batch, or {name: labels}; None to predict.
            optimizer: One of gf.keras.optimizers, which trains the variables.
            trainable_variables: Those that the optimizer changes.
            train_op_fn: Trains in the optimizer's place: a function of the loss that gives an operation.
            update_ops: Operations that are run with a step.
            regularization_losses: Scalars that are added to the loss.

        Returns:
            The EstimatorSpec.

        Raises:
            NotImplementedError: A head of one's own does not define it.
        """
        raise NotImplementedError(
            "Subclasses of Head must implement `create_estimator_spec()` or _create_tpu_estimator_spec()."
        )

    def _create_tpu_estimator_spec(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("TPUEstimatorSpec not available for this model head.")

    def _named(self, key: str) -> str:
        return f"{key}/{self.name}" if self.name else key


def step_of(
    loss: Tensor,
    optimizer: Any,
    trainable_variables: Any,
    train_op_fn: Callable[[Tensor], Any] | None,
    update_ops: Any,
    reduction: str,
) -> Any:
    """The operation that trains; ValueError for what gives none, or two."""
    _check_list(update_ops, "update_ops", may_be_none=True)
    graph = get_default_graph()
    with graph.name_scope(""), graph.name_scope("training"):
        if optimizer is not None:
            if train_op_fn is not None:
                raise ValueError("train_op_fn and optimizer cannot both be set.")
            if not isinstance(optimizer, Optimizer):
                raise ValueError(
                    "The given optimizer is not a tf.keras.optimizers.Optimizer instance, which is "
                    f"gf.keras.optimizers.Optimizer. Given: {optimizer}"
                )
            _check_list(trainable_variables, "trainable_variables", may_be_none=False)
            if reduction == Reduction.SUM_OVER_BATCH_SIZE and distribute.has_strategy():
                loss = loss / float(distribute.get_strategy().num_towers)
            step: Any = optimizer.get_updates(loss, trainable_variables)[0]
        elif train_op_fn is not None:
            step = train_op_fn(loss)
        else:
            raise ValueError("train_op_fn and optimizer cannot both be None.")
        return step if update_ops is None else group(step, *update_ops)


def _check_list(given: Any, what: str, may_be_none: bool) -> None:
    if given is None and not may_be_none:
        raise ValueError(f"{what} cannot be None. Given {given}")
    if given is not None and not isinstance(given, list | tuple):
        raise ValueError(f"{what} should be a list or a tuple. Given type: {type(given)}.")


def show_losses(loss: Tensor, regularization_losses: Losses, named: Callable[[str], str]) -> None:
    """Summaries of the loss, and of what it has besides."""
    with get_default_graph().name_scope(""):
        summary.scalar(named(METRICS.LOSS), loss)
        if regularization_losses is not None:
            summary.scalar(named(METRICS.LOSS_REGULARIZATION), add_n(list(regularization_losses)))


def plus(loss: Tensor, regularization_losses: Losses) -> Tensor:
    """The loss, and what it has besides."""
    return loss if regularization_losses is None else loss + add_n(list(regularization_losses))


class SingleHead(Head):
    """A head of one loss. A subclass says what labels, losses, predictions, metrics and signatures are.

    Args:
        size: How many logits an example has.
        weight_column: The name of the feature with the weights of examples, or a numeric column.
        loss_reduction: How losses of examples become one; gf.keras.losses.Reduction.
        loss_fn: Gives the losses of examples, of labels and logits.
        name: Stands behind the names of metrics and summaries.

    Raises:
        ValueError: If the reduction gives no scalar, or the function takes other arguments.
    """

    _keys: tuple[str, ...] = ()
    _weighs_each = False

    def __init__(
        self, size: int, weight_column: Any, loss_reduction: str, loss_fn: Callable[..., Any] | None, name: str | None
    ) -> None:  # fmt: skip
        if loss_reduction not in Reduction.all() or loss_reduction == Reduction.NONE:
            raise ValueError(
                f"Invalid loss_reduction: {loss_reduction}. See `tf.losses.Reduction` for valid options: "
                f"here those of gf.keras.losses.Reduction, {Reduction.all()}."
            )
        if loss_fn is not None:
            check_loss_function(loss_fn)
        self._size, self._weight_column, self._loss_reduction = size, weight_column, loss_reduction
        self._loss_fn, self._name = loss_fn, name

    @property
    def name(self) -> str | None:
        """Its name, which stands behind those of metrics; None for none."""
        return self._name

    @property
    def logits_dimension(self) -> int:
        """How many logits an example has."""
        return self._size

    @property
    def loss_reduction(self) -> str:
        """How losses of examples become one."""
        return self._loss_reduction

    def _labels(self, labels: Any, logits: Tensor) -> Tensor:
        raise NotImplementedError

    def _losses(self, labels: Tensor, logits: Tensor) -> Tensor:
        raise NotImplementedError

    def _predicted(self, logits: Tensor, keys: Sequence[str]) -> dict[str, Tensor]:
        raise NotImplementedError

    def _outputs(self, predictions: Mapping[str, Tensor]) -> dict[str, ExportOutput]:
        raise NotImplementedError

    def _new_metrics(self) -> dict[str, Metric]:
        raise NotImplementedError

    def _update(self, metrics: Mapping[str, Any], labels: Tensor, logits: Tensor, weights: Any) -> None:
        raise NotImplementedError

    def _of_examples(self, labels: Any, logits: Tensor, features: Any) -> tuple[Tensor, Tensor, Any]:
        """Labels as numbers, the losses of examples, and their weights."""
        numbers = self._labels(labels, logits)
        if self._loss_fn is None:
            found = self._losses(numbers, logits)
        else:
            size = self._size if self._weighs_each else 1
            found = losses_of(
                self._loss_fn, numbers, logits, features, size, loss_reduction=self._loss_reduction
            )
        return numbers, found, weights_of(features or {}, self._weight_column, logits, self._weighs_each)

    def loss(
        self,
        labels: Any,
        logits: Any,
        features: Mapping[str, Any] | None = None,
        mode: str | None = None,
        regularization_losses: Losses = None,
    ) -> Tensor:
        """The loss of a batch.

        Args:
            labels: The labels of the batch.
            logits: [..., logits_dimension].
            features: The features by name, for weights.
            mode: Is not looked at.
            regularization_losses: Scalars that are added.

        Returns:
            A scalar.

        Raises:
            ValueError: Labels or logits do not fit; InvalidArgumentError at the run if that shows then.
        """
        with get_default_graph().name_scope("losses"):
            numbers = checked_logits(logits, self.logits_dimension)
            _, each, weights = self._of_examples(labels, numbers, features)
            return plus(weighted(each, weights, self._loss_reduction), regularization_losses)

    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[Any, Tensor]:
        """What logits predict.

        Args:
            logits: [..., logits_dimension].
            keys: The names of the predictions that are wanted; None for all.

        Returns:
            {name: tensor}.

        Raises:
            ValueError: There is no prediction of a name, or logits have another size.
        """
        for key in keys or ():
            if key not in self._keys:
                raise ValueError(
                    f"Prediction key must be in PredictionKeys, given: {key}. Valid prediction keys include "
                    f"{list(self._keys)}."
                )
        numbers = checked_logits(logits, self.logits_dimension)
        with get_default_graph().name_scope("predictions"):
            return self._predicted(numbers, keys or self._keys)

    def metrics(self, regularization_losses: Losses = None) -> dict[str, Any]:
        """New metrics by name.

        Args:
            regularization_losses: Scalars; with them their sum has a metric.

        Returns:
            {name: metric of gf.keras.metrics}.
        """
        with get_default_graph().name_scope("metrics"):
            found = {METRICS.LOSS_MEAN: Mean(METRICS.LOSS_MEAN), **self._new_metrics()}
            if regularization_losses is not None:
                found[METRICS.LOSS_REGULARIZATION] = Mean(METRICS.LOSS_REGULARIZATION)
        return {self._named(key): metric for key, metric in found.items()}

    def update_metrics(  # type: ignore[override]
        self,
        eval_metrics: dict[str, Any],
        features: Mapping[str, Any],
        logits: Any,
        labels: Any,
        regularization_losses: Losses = None,
    ) -> dict[str, Any]:
        """Adds a batch to metrics.

        Args:
            eval_metrics: What `metrics` gave.
            features: The features by name, for weights.
            logits: [..., logits_dimension].
            labels: The labels of the batch.
            regularization_losses: Scalars that the loss has besides.

        Returns:
            The same metrics.
        """
        numbers = checked_logits(logits, self.logits_dimension)
        found, each, weights = self._of_examples(labels, numbers, features)
        eval_metrics[self._named(METRICS.LOSS_MEAN)].update_state(each, sample_weight=weights)
        end = len(self._named(""))
        own = {key[: len(key) - end]: metric for key, metric in eval_metrics.items()} if end else eval_metrics
        self._update(own, found, numbers, weights)
        if regularization_losses is not None:
            own[METRICS.LOSS_REGULARIZATION].update_state(add_n(list(regularization_losses)))
        return eval_metrics

    def create_estimator_spec(
        self,
        features: Mapping[str, Any],
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Optimizer | None = None,
        trainable_variables: Sequence[Variable] | None = None,
        train_op_fn: Callable[[Tensor], Any] | None = None,
        update_ops: Sequence[Any] | None = None,
        regularization_losses: Losses = None,
    ) -> EstimatorSpec:
        """What a model function returns for these logits.

        Args:
            features: The features by name, for weights.
            mode: One of gf.estimator.ModeKeys.
            logits: [..., logits_dimension].
            labels: The labels of the batch; None to predict.
            optimizer: One of gf.keras.optimizers, which trains the variables.
            trainable_variables: Those that the optimizer changes.
            train_op_fn: Trains in the optimizer's place: a function of the loss that gives an operation.
            update_ops: Operations that are run with a step.
            regularization_losses: Scalars that are added to the loss.

        Returns:
            The EstimatorSpec.

        Raises:
            ValueError: If it is to train and has no optimizer or function, or both; or labels or logits do not fit.
        """
        with get_default_graph().name_scope(self._name or "head"):
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                return EstimatorSpec(mode, predictions, export_outputs=self._outputs(predictions))
            loss = self.loss(labels, logits, features, mode, regularization_losses)
            if mode == ModeKeys.EVAL:
                measured = self.update_metrics(
                    self.metrics(regularization_losses), features, logits, labels, regularization_losses
                )
                return EstimatorSpec(mode, predictions, loss, eval_metric_ops=measured)
            step = step_of(
                loss, optimizer, trainable_variables, train_op_fn, update_ops, self._loss_reduction
            )
        show_losses(loss, regularization_losses, self._named)
        return EstimatorSpec(mode, predictions, loss, step)


def each_row(values: Any, logits: Tensor) -> Tensor:
    """The same values for each example."""
    found: Tensor = tile(expand_dims(values, 0), stack([shape(logits)[0], 1]))
    return found


def names_of(count: int, vocabulary: Sequence[str] | None) -> Tensor:
    """The names of classes, which are numbers without a vocabulary."""
    found: Tensor = convert_to_tensor(list(vocabulary)) if vocabulary else as_string(range_(count))
    return found


def classified(scores: Tensor, count: int, vocabulary: Sequence[str] | None) -> ClassificationOutput:
    """The scores of classes, and their names."""
    return ClassificationOutput(scores, each_row(names_of(count, vocabulary), scores))
