"""Several heads as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import split
from graphflow._core.ops.control_flow.flow_basics import no_op
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.numeric import add_n
from graphflow._core.ops.state.variable import Variable
from graphflow.estimator.export import ExportOutput, PredictOutput
from graphflow.estimator.spec import EstimatorSpec, ModeKeys
from graphflow.keras.heads.base import METRICS, SERVING, Head, Losses, plus, show_losses, step_of
from graphflow.keras.metrics import Mean
from graphflow.keras.optimizers import Optimizer


class MultiHead(Head):
    """Several heads with names as one, with metrics and optimizers of Keras (tf.estimator.MultiHead).

    Logits stand side by side or have the names of the heads, as labels do; losses are added up.

    Args:
        heads: The heads.
        head_weights: What their losses are multiplied by; None for 1.

    Raises:
        ValueError: If there are none, a head has no name, or there are other numbers of weights.
    """

    def __init__(self, heads: Sequence[Head], head_weights: Sequence[float] | None = None) -> None:
        if not heads:
            raise ValueError(f"Must specify heads. Given: {heads}")
        if head_weights and len(head_weights) != len(heads):
            raise ValueError(
                f"heads and head_weights must have the same size. Given len(heads): {len(heads)}. "
                f"Given len(head_weights): {len(head_weights)}."
            )
        for head in heads:
            if head.name is None:
                raise ValueError(f"All given heads must have name specified. Given: {head}")
        self._heads = tuple(heads)
        self._weights = tuple(head_weights or ())

    @property
    def name(self) -> str:
        """The names of the heads, joined by _."""
        return "_".join(str(head.name) for head in self._heads)

    @property
    def logits_dimension(self) -> int:
        """How many logits an example has for all heads."""
        return sum(head.logits_dimension for head in self._heads)

    @property
    def loss_reduction(self) -> str:
        """How losses of examples become one; ValueError if heads differ."""
        found = [head.loss_reduction for head in self._heads]
        if len(set(found)) > 1:
            raise ValueError(f"The loss_reduction must be the same for different heads. Given: {found}")
        return found[0]

    def _parts(self, logits: Any, labels: Any = None) -> Mapping[str, Any]:
        """The logits by the names of the heads; ValueError if they or labels do not fit."""
        names = [str(head.name) for head in self._heads]
        if isinstance(logits, Mapping):
            parts: Mapping[str, Any] = logits
            _check_names(names, parts, "logits")
        else:
            with get_default_graph().name_scope("split_logits"):
                whole = convert_to_tensor(logits)
                sizes = [head.logits_dimension for head in self._heads]
                if whole.dims is not None and whole.dims[-1] not in (None, sum(sizes)):
                    raise ValueError(
                        f"Could not split logits of shape {whole.shape} among the heads with individual logits "
                        f"dimensions: {sizes}. The last dimension of the logits tensor should equal {sum(sizes)}."
                    )
                parts = dict(zip(names, split(whole, sizes, axis=-1), strict=True))
        if labels is not None:
            if not isinstance(labels, Mapping):
                raise ValueError(f"labels must be a dict. Given: {labels}")
            _check_names(names, labels, "labels")
        return parts

    def loss(
        self,
        labels: Any,
        logits: Any,
        features: Mapping[str, Any] | None = None,
        mode: str | None = None,
        regularization_losses: Losses = None,
    ) -> Tensor:
        """The sum of the losses of a batch.

        Args:
            labels: {name of a head: its labels}.
            logits: [..., logits_dimension], or {name of a head: its logits}.
            features: The features by name, for weights.
            mode: One of gf.estimator.ModeKeys.
            regularization_losses: Scalars that are added.

        Returns:
            A scalar.
        """
        parts = self._parts(logits, labels)
        found = [head.loss(labels[head.name], parts[str(head.name)], features, mode) for head in self._heads]
        with get_default_graph().name_scope("merge_losses"):
            if self._weights:
                found = [loss * weight for loss, weight in zip(found, self._weights, strict=True)]
            return plus(add_n(found), regularization_losses)

    def predictions(self, logits: Any, keys: Sequence[str] | None = None) -> dict[Any, Tensor]:
        """What logits predict.

        Args:
            logits: [..., logits_dimension], or {name of a head: its logits}.
            keys: Is not looked at.

        Returns:
            {(name of a head, name of a prediction): tensor}.
        """
        parts = self._parts(logits)
        with get_default_graph().name_scope("merge_pred"):
            return {
                (head.name, key): value
                for head in self._heads
                for key, value in head.predictions(parts[str(head.name)]).items()
            }

    def metrics(self, regularization_losses: Losses = None) -> dict[str, Any]:
        """New metrics of the losses; update_metrics adds those of the heads.

        Args:
            regularization_losses: Scalars; with them their sum has a metric.

        Returns:
            {name: metric of gf.keras.metrics}.
        """
        found: dict[str, Any] = {}
        if regularization_losses is not None:
            found[self._named(METRICS.LOSS_REGULARIZATION)] = Mean(METRICS.LOSS_REGULARIZATION)
        with get_default_graph().name_scope("merge_eval"):
            return found | {
                f"{METRICS.LOSS}/{head.name}": Mean(f"{METRICS.LOSS}/{head.name}") for head in self._heads
            }

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
            logits: [..., logits_dimension], or {name of a head: its logits}.
            labels: {name of a head: its labels}.
            regularization_losses: Scalars that the loss has besides.

        Returns:
            The same dictionary, and the metrics of the heads.
        """
        parts = self._parts(logits, labels)
        if regularization_losses is not None:
            key = self._named(METRICS.LOSS_REGULARIZATION)
            eval_metrics[key].update_state(add_n(list(regularization_losses)))
        for head in self._heads:
            part, own = parts[str(head.name)], labels[head.name]
            eval_metrics[f"{METRICS.LOSS}/{head.name}"].update_state(head.loss(own, part, features))
            eval_metrics.update(head.update_metrics(head.metrics(), features, part, own) or {})
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
            logits: [..., logits_dimension], or {name of a head: its logits}.
            labels: {name of a head: its labels}; None to predict.
            optimizer: One of gf.keras.optimizers, which trains the variables.
            trainable_variables: Those that the optimizer changes.
            train_op_fn: Trains in the optimizer's place: a function of the loss that gives an operation.
            update_ops: Operations that are run with a step.
            regularization_losses: Scalars that are added to the loss.

        Returns:
            The EstimatorSpec; its predictions have pairs of names, of the head and of the prediction.

        Raises:
            ValueError: If it is to train and has no optimizer or function, or both; or labels or logits do not fit.
        """
        with get_default_graph().name_scope(self.name):
            parts = self._parts(logits, labels)
            if mode == ModeKeys.PREDICT:
                outputs = self._outputs(features, parts)
                return EstimatorSpec(mode, self.predictions(logits), export_outputs=outputs)
            predictions: Any = self.predictions(logits)
            loss = self.loss(labels, logits, features, mode, regularization_losses)
            if mode == ModeKeys.EVAL:
                measured = self.update_metrics(
                    self.metrics(regularization_losses), features, logits, labels, regularization_losses
                )
                return EstimatorSpec(mode, predictions, loss, eval_metric_ops=measured)
            if mode != ModeKeys.TRAIN:
                raise ValueError(f"mode={mode} unrecognized")
            # A head of one's own may have metrics of training, and the right to refuse what it is given.
            for head in self._heads:
                head.create_estimator_spec(
                    features, mode, parts[str(head.name)], labels[head.name], train_op_fn=lambda _: no_op()
                )
            step = step_of(loss, optimizer, trainable_variables, train_op_fn, update_ops, self.loss_reduction)
            show_losses(loss, regularization_losses, lambda key: key)
            return EstimatorSpec(mode, predictions, loss, step)

    def _outputs(self, features: Mapping[str, Any], parts: Mapping[str, Any]) -> dict[str, ExportOutput]:
        """The signatures of the heads under their names, the first one's as the default, all predictions together."""
        found: dict[str, ExportOutput] = {}
        predicted: dict[str, Tensor] = {}
        for head in self._heads:
            spec = head.create_estimator_spec(features, ModeKeys.PREDICT, parts[str(head.name)])
            outputs: Mapping[str, ExportOutput] = spec.export_outputs or {}
            if SERVING not in found:
                found[SERVING] = outputs[SERVING] if SERVING in outputs else next(iter(outputs.values()))
            for key, output in outputs.items():
                found[str(head.name) if key == SERVING else f"{head.name}/{key}"] = output
                if key == "predict" and isinstance(output, PredictOutput):
                    predicted |= {f"{head.name}/{inner}": value for inner, value in output.outputs.items()}
        return {**found, "predict": PredictOutput(predicted)}


def _check_names(names: Sequence[str], given: Mapping[str, Any], what: str) -> None:
    absent = sorted(set(names) - set(given))
    if absent:
        raise ValueError(f"{what} has missing values for head(s): {absent}")
