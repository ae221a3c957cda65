"""What a compiled model has for each output: its target, loss, weights and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow.keras import losses as loss_functions
from graphflow.keras import metrics as metric_functions
from graphflow.keras import ops
from graphflow.keras.engine.base_layer import shape_of
from graphflow.keras.engine.node import mask_of
from graphflow.keras.metrics.base import Mean, MeanMetricWrapper, Metric
from graphflow.keras.metrics.functions import get as get_metric
from graphflow.keras.weighting import AUTO, NONE, SUM_OVER_BATCH_SIZE, fit_weights, reduced, weighted

_ACCURACIES = ("accuracy", "acc")
_ENTROPIES = ("crossentropy", "ce")


class Endpoint:
    """An output of a compiled model."""

    def __init__(
        self, name: str, output: Tensor, loss: Any, loss_weight: float, weight_mode: str | None
    ) -> None:
        self.name = name
        self.output = output
        self.loss_fn: Any = loss_of(loss)
        self.loss_weight = loss_weight
        self.weight_mode = weight_mode
        self.target: Any = None
        self.weight: Any = None
        self.metrics: list[Any] = []
        self.weighted_metrics: list[Any] = []
        self.loss_metric: Any = None

    @property
    def trains(self) -> bool:
        """Whether it has a loss, and so a target."""
        return self.loss_fn is not None

    @property
    def is_sparse(self) -> bool:
        """Whether its targets are classes."""
        return getattr(self.loss_fn, "fn", None) is loss_functions.sparse_categorical_crossentropy

    @property
    def target_shape(self) -> tuple[int | None, ...] | None:
        """The shape that targets must have; None if its loss takes others."""
        shape = shape_of(self.output)
        if self.is_sparse:
            return (*shape[:-1], 1)
        own = getattr(getattr(self.loss_fn, "fn", None), "__module__", type(self.loss_fn).__module__)
        return shape if own == loss_functions.__name__ else None

    def make_target(self, given: Any) -> None:
        """The placeholder of the target, or the tensor that was given for it."""
        if not self.trains:
            return
        if given is not None:
            self.target = given
            return
        dims = self.output.shape.dims
        # A number for the whole batch is a loss that the model computes itself: its targets are only fed.
        rank = [None] * len(dims) if dims else None
        self.target = ops.placeholder(self.output.dtype, rank, name=f"{self.name}_target")

    def make_weight(self) -> None:
        """The placeholder of the weights, made when weights are first given."""
        if self.weight is None and self.trains:
            shape = [None, None] if self.weight_mode == "temporal" else [None]
            self.weight = ops.placeholder("float32", shape, name=f"{self.name}_sample_weights")

    def loss(self, with_weights: bool) -> Any:
        """The loss of a batch, masked, weighted and reduced."""
        weight = self.weight if with_weights else None
        mask = mask_of(self.output)
        if mask is not None:
            mask = ops.cast(mask, self.output.dtype)
            weight = mask if weight is None else fit_weights(mask, weight) * mask
        if not isinstance(self.loss_fn, loss_functions.Loss):
            return self.loss_fn(self.target, self.output, sample_weight=weight)
        found = weighted(self.loss_fn.call(self.target, self.output), weight, NONE)
        reduction = self.loss_fn.reduction
        return reduced(found, SUM_OVER_BATCH_SIZE if reduction == AUTO else reduction)

    def metric_results(self, with_weights: bool) -> list[tuple[Any, Any]]:
        """Each metric with its value after the batch."""
        found = []
        mask = mask_of(self.output)
        for kind, metrics in (("plain", self.metrics), ("weighted", self.weighted_metrics)):
            weight = self.weight if with_weights and kind == "weighted" else None
            if mask is not None:
                cast = ops.cast(mask, self.output.dtype)
                weight = cast if weight is None else fit_weights(cast, weight) * cast
            for metric in metrics:
                arguments = {} if weight is None else {"sample_weight": weight}
                found.append((metric, metric(self.target, self.output, **arguments)))
        return found


def loss_of(loss: Any) -> Any:
    """A Loss from one, a function or a name."""
    found = loss_functions.get(loss)
    if found is None or isinstance(found, loss_functions.Loss) or hasattr(found, "reduction"):
        return found
    if isinstance(found, type):
        return found()
    return loss_functions.LossFunctionWrapper(found, name=getattr(found, "__name__", type(found).__name__))


def by_outputs(given: Any, names: Sequence[str], what: str, otherwise: Any = None) -> list[Any]:
    """Something for each output, from one for all, a list or a dictionary by names.

    Raises:
        ValueError: It is for other outputs than the model has.
    """
    if isinstance(given, Mapping):
        unknown = [key for key in given if key not in names]
        if unknown:
            raise ValueError(
                f"Unknown entries in {what} dictionary: {unknown}. Only expected following keys: {list(names)}"
            )
        return [given.get(name, otherwise) for name in names]
    if isinstance(given, list | tuple):
        if len(given) != len(names):
            raise ValueError(
                f"When passing a list as {what}, it should have one entry per model output. The model has {len(names)} "
                f"outputs, but you passed {what}={given}"
            )
        return list(given)
    return [otherwise if given is None else given for _ in names]


def metrics_by_outputs(given: Any, names: Sequence[str]) -> list[list[Any]]:
    """The metrics of each output, from a list for all, a list of lists, or a dictionary."""
    if not given:
        return [[] for _ in names]
    if isinstance(given, Mapping):
        found = by_outputs(given, names, "metrics", [])
        return [one if isinstance(one, list) else [one] for one in found]
    if not isinstance(given, list | tuple):
        raise TypeError(
            f"Type of `metrics` argument not understood. Expected a list or dictionary, found: {given}"
        )
    if any(isinstance(one, list) for one in given):
        return [one if isinstance(one, list) else [one] for one in by_outputs(list(given), names, "metrics")]
    if len(names) == 1:
        return [list(given)]
    return [
        [type(one).from_config(one.get_config()) if isinstance(one, Metric) else one for one in given]
        for _ in names
    ]


def metric_name(metric: Any, is_weighted: bool) -> str:
    """The name under which a metric is logged: "accuracy" is acc."""
    prefix = "weighted_" if is_weighted else ""
    if isinstance(metric, str) and metric in (*_ACCURACIES, *_ENTROPIES):
        return prefix + ("acc" if metric in _ACCURACIES else "ce")
    found = get_metric(metric)
    return prefix + str(getattr(found, "name", None) or getattr(found, "__name__", type(found).__name__))


def metric_of(metric: Any, endpoint: Endpoint, name: str) -> Any:
    """The metric under a name; "accuracy" is the one that fits the output and the loss."""
    function = metric
    if isinstance(metric, str) and metric in (*_ACCURACIES, *_ENTROPIES):
        kinds = ("binary", "sparse_categorical", "categorical")
        binary = getattr(endpoint.loss_fn, "fn", None) is loss_functions.binary_crossentropy
        one = shape_of(endpoint.output)[-1:] == (1,)
        kind = kinds[0] if one or binary else kinds[1] if endpoint.is_sparse else kinds[2]
        function = getattr(
            metric_functions, f"{kind}_{'accuracy' if metric in _ACCURACIES else 'crossentropy'}"
        )
    found = get_metric(function)
    if isinstance(found, type):
        found = found()
    if not isinstance(found, Metric):
        return MeanMetricWrapper(found, name)
    found._name = name
    return found


def loss_metric(endpoint: Endpoint) -> Any:
    """The mean loss of one of several outputs."""
    if endpoint.loss_metric is None:
        endpoint.loss_metric = Mean(f"{endpoint.name}_loss")
    return endpoint.loss_metric
