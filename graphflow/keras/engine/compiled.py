"""What compile makes of a model: its loss, metrics and the functions that train, test and predict by one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import graphflow.nest as nest
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow.keras import ops
from graphflow.keras.backend import state
from graphflow.keras.backend.tensors import is_placeholder
from graphflow.keras.backend.values import Function, batch_set_value
from graphflow.keras.engine import endpoints as ends
from graphflow.keras.engine.endpoints import Endpoint
from graphflow.keras.engine.tracking import once
from graphflow.keras.metrics.base import Mean, Metric


class Compiled:
    """A model's loss, optimizer and metrics, in the graph.

    Args:
        model: The model.
        optimizer: An optimizer of Keras.
        loss: A loss, or one for each output, in a list or by the output's name.
        metrics: Metrics, or some for each output.
        loss_weights: What the loss of each output is multiplied by.
        sample_weight_mode: "temporal" for weights of each step, or None; or one for each output.
        weighted_metrics: Metrics whose elements are weighted as the loss's are.
        target_tensors: Tensors in place of the targets' placeholders.
    """

    def __init__(
        self,
        model: Any,
        optimizer: Any,
        loss: Any,
        metrics: Any,
        loss_weights: Any,
        sample_weight_mode: Any,
        weighted_metrics: Any,
        target_tensors: Any,
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        names = model.output_names
        losses = ends.by_outputs(loss, names, "loss")
        weights = ends.by_outputs(loss_weights, names, "loss_weights", 1.0)
        modes = ends.by_outputs(sample_weight_mode, names, "sample_weight_mode")
        self.endpoints: list[Endpoint] = [
            Endpoint(*given) for given in zip(names, model.outputs, losses, weights, modes, strict=True)
        ]
        if isinstance(target_tensors, Tensor):
            target_tensors = [target_tensors]
        for endpoint, target in zip(
            self.endpoints, ends.by_outputs(target_tensors, names, "target_tensors"), strict=True
        ):
            endpoint.make_target(target)
        self._name_metrics(metrics, weighted_metrics)
        self._totals: dict[bool, Any] = {}
        self._functions: dict[Any, Function] = {}
        self.trained_weights: list[Any] = model.trainable_weights
        self._added: list[tuple[Any, Any]] = []
        self.total_loss: Any = self._total(False)[0]

    @property
    def trained(self) -> list[Endpoint]:
        """The outputs that have a loss."""
        return [endpoint for endpoint in self.endpoints if endpoint.trains]

    @property
    def feed_targets(self) -> list[Endpoint]:
        """The outputs whose targets are fed."""
        return [e for e in self.trained if is_placeholder(e.target)]

    # ---- metrics --------------------------------------------------------------------------------------------------

    def _name_metrics(self, metrics: Any, weighted_metrics: Any) -> None:
        several = len(self.endpoints) > 1
        taken = ["loss", *(f"{e.name}_loss" for e in self.trained)] if several else ["loss"]
        names = [e.name for e in self.endpoints]
        plain, weighted = (
            ends.metrics_by_outputs(metrics, names),
            ends.metrics_by_outputs(weighted_metrics, names),
        )
        for endpoint, own, own_weighted in zip(self.endpoints, plain, weighted, strict=True):
            if not endpoint.trains:
                continue
            for given, kept, is_weighted in (
                (own, endpoint.metrics, False),
                (own_weighted, endpoint.weighted_metrics, True),
            ):
                for metric in given:
                    base = ends.metric_name(metric, is_weighted)
                    base = name = f"{endpoint.name}_{base}" if several else base
                    count = 0
                    while name in taken:
                        count += 1
                        name = f"{base}_{count}"
                    taken.append(name)
                    kept.append(ends.metric_of(metric, endpoint, name))
        self._added_metrics = self._metrics_of_layers()

    def _metrics_of_layers(self) -> list[tuple[Any, Any]]:
        """What layers and the model gave to add_metric: (metric, tensor)."""
        found = []
        for layer in once([*_all_layers(self.model), self.model]):
            for value, aggregation, name in layer.__dict__.get("_metric_values", ()):
                if aggregation not in (None, "mean"):
                    raise ValueError(f"add_metric: aggregation is 'mean' or None, not {aggregation!r}.")
                known = getattr(value, "_keras_metric", None)
                found.append((known or Mean(name or "metric"), value))
        return found

    @property
    def metrics(self) -> list[Any]:
        """The metrics, those of outputs first."""
        own = [m for e in self.endpoints for m in (*e.metrics, *e.weighted_metrics)]
        return [*own, *(metric for metric, _ in self._added_metrics)]

    @property
    def metrics_names(self) -> list[str]:
        """The names of what training and testing return."""
        losses = [f"{e.name}_loss" for e in self.trained] if len(self.endpoints) > 1 else []
        return ["loss", *losses, *(m.name for m in self.metrics)]

    def reset_metrics(self) -> None:
        """Sets the state of all metrics to its beginning, by one run where they do no more than keep zeros."""
        every = [e.loss_metric for e in self.endpoints if e.loss_metric is not None] + self.metrics
        plain = [m for m in every if type(m).reset_states is Metric.reset_states]
        weights = [v for m in plain for v in m.weights]
        if weights:
            batch_set_value([(v, np.zeros(v.shape.as_list())) for v in weights])
        for metric in every:
            if metric not in plain:
                metric.reset_states()

    # ---- the loss -------------------------------------------------------------------------------------------------

    def _total(self, with_weights: bool) -> tuple[Any, list[Any]]:
        """The loss in all, and that of each output if there are several, with its mean so far."""
        if with_weights in self._totals:
            return self._totals[with_weights]  # type: ignore[no-any-return]
        total: Any = None
        parts = []
        graph = get_default_graph()
        with graph.name_scope("loss"):
            for endpoint in self.trained:
                with graph.name_scope(f"{endpoint.name}_loss"):
                    loss = endpoint.loss(with_weights)
                if len(self.endpoints) > 1:
                    parts.append((ends.loss_metric(endpoint), loss))
                loss = loss if endpoint.loss_weight == 1.0 else endpoint.loss_weight * loss
                total = loss if total is None else total + loss
            own = self.model.losses
            seen = set(
                map(id, [*self.model.get_losses_for(None), *self.model.get_losses_for(self.model.inputs)])
            )
            own = [loss for loss in own if id(loss) in seen]
            if total is None and not own:
                raise ValueError("The model cannot be compiled because it has no loss to optimize.")
            if own:
                added = ops.add_n([ops.reduce_sum(loss) for loss in own])
                total = added if total is None else total + added
        if total.shape.dims is not None and len(total.shape.dims):
            total = ops.reduce_mean(total)
        self._totals[with_weights] = total, parts
        return total, parts

    def _results(self, with_weights: bool) -> tuple[Any, list[Any], list[Any]]:
        """The loss in all, the values of metrics after the batch, and the metrics."""
        total, parts = self._total(with_weights)
        graph = get_default_graph()
        metrics, tensors = [], []
        with graph.name_scope("metrics"):
            for metric, loss in parts:
                metrics.append(metric)
                tensors.append(metric(loss))
            for endpoint in self.trained:
                for metric, value in endpoint.metric_results(with_weights):
                    metrics.append(metric)
                    tensors.append(value)
            for metric, value in self._added_metrics:
                metrics.append(metric)
                tensors.append(value if getattr(value, "_keras_metric", None) is not None else metric(value))
        return total, tensors, metrics

    # ---- functions ------------------------------------------------------------------------------------------------

    def _feeds(self, with_weights: bool, training: bool) -> tuple[list[Any], dict[Any, Any]]:
        inputs = [*feed_inputs(self.model), *(e.target for e in self.feed_targets)]
        inputs += [e.weight for e in self.trained] if with_weights else []
        return inputs, phase_feed(training)

    def function(self, training: bool, with_weights: bool) -> Function:
        """What trains or tests by one run: the loss and metrics of a batch.

        Args:
            training: Whether it trains, or tests.
            with_weights: Whether it is given weights of the examples.

        Returns:
            A function of arrays.
        """
        key = training, with_weights
        if key not in self._functions:
            if with_weights:
                for endpoint in self.trained:
                    endpoint.make_weight()
            known = self._functions.get((not training, with_weights))
            if known is None:
                total, tensors, _ = self._results(with_weights)
            else:
                total, *tensors = known.outputs
            updates = self.training_updates(total) if training else list(self.model.state_updates)
            inputs, fixed = self._feeds(with_weights, training)
            self._functions[key] = Function(inputs, [total, *tensors], updates, feeds=fixed)
        return self._functions[key]

    def training_updates(self, total: Any) -> list[Any]:
        """The operations of one step.

        Args:
            total: The loss, a scalar.

        Returns:
            The operations. A model without weights that are trained has only those of its layers.
        """
        updates = []
        if self.trained_weights:
            with get_default_graph().name_scope("training"):
                updates = self.optimizer.get_updates(params=self.trained_weights, loss=total)
        return [*updates, *self.model.get_updates_for(None), *self.model.get_updates_for(self.model.inputs)]


def _all_layers(model: Any) -> Sequence[Any]:
    found: list[Any] = []
    for layer in model._sublayers() if hasattr(model, "_sublayers") else ():
        found += [layer, *_all_layers(layer)]
    return found


def feed_inputs(model: Any) -> list[Any]:
    """The inputs of a model that are placeholders."""
    return [t for t in model.inputs if not isinstance(t, Tensor) or is_placeholder(t)]


def phase_feed(training: bool) -> dict[Any, Any]:
    """The feed that says the learning phase; none if it was set."""
    phase = state.learning_phase()
    return {phase: np.bool_(training)} if isinstance(phase, Tensor) else {}


def predicting(model: Any) -> Function:
    """What predicts by one run: the outputs of a batch."""
    return Function(
        feed_inputs(model), nest.flatten(model.outputs), list(model.state_updates), feeds=phase_feed(False)
    )
