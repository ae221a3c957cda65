"""A metric of an evaluation: which predictions, labels and weights a function of metrics is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

_NAMES = {
    "labels": ("labels", "label", "targets", "target"),
    "predictions": ("predictions", "prediction", "logits", "logit"),
    "weights": ("weights", "weight"),
}
"""What functions of metrics call their arguments."""


def _argument(function: str, arguments: list[str], kind: str, is_required: bool) -> str | None:
    """The name of that kind of argument, None if there is none."""
    found = [name for name in _NAMES[kind] if name in arguments]
    if len(found) > 1:
        raise ValueError(f"{function} has the arguments {found}, which are all {kind}: one is needed.")
    if not found and is_required:
        raise ValueError(f"{function}({', '.join(arguments)}) has no argument {' or '.join(_NAMES[kind])}.")
    return found[0] if found else None


def _adapted(function: Callable[..., Any], name: str, needs_labels: bool, needs_weights: bool) -> Any:
    """The function of predictions, labels and weights by these names, whatever it calls them."""
    arguments = list(signature(function).parameters)
    labels = _argument(name, arguments, "labels", needs_labels)
    predictions = _argument(name, arguments, "predictions", False)
    weights = _argument(name, arguments, "weights", needs_weights)

    def metric(*, predictions_: Any, labels_: Any, weights_: Any) -> Any:
        named = {} if weights_ is None else {weights or "weights": weights_}
        if predictions is not None:
            named[predictions] = predictions_
            return function(**named) if labels is None else function(**named, **{labels: labels_})
        if labels is None:
            return function(predictions_, **named)
        if labels == arguments[0]:
            return function(labels_, predictions_, **named)
        return function(predictions_, **named, **{labels: labels_})

    return metric


class MetricSpec:
    """A metric for evaluate(metrics={name: MetricSpec}) (tf.contrib.learn.MetricSpec).

    Args:
        metric_fn: A function of predictions, and of labels and weights if it takes them, such as
            gf.contrib.metrics.streaming_accuracy.
        prediction_key: Which of the predictions, if they are a dictionary.
        label_key: Which of the labels, if they are a dictionary.
        weight_key: The feature that has the weights; None for no weights.

    Raises:
        ValueError: If it has two arguments for one of them, or none for a key that is given.
    """

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: str | None = None,
        label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:
        inner = getattr(metric_fn, "func", metric_fn)
        self._metric_fn_name: str = getattr(inner, "__name__", str(metric_fn))
        self._adapted = _adapted(
            metric_fn, self._metric_fn_name, label_key is not None, weight_key is not None
        )
        self._prediction_key = prediction_key
        self._label_key = label_key
        self._weight_key = weight_key

    @property
    def prediction_key(self) -> str | None:
        """Which of the predictions."""
        return self._prediction_key

    @property
    def label_key(self) -> str | None:
        """Which of the labels."""
        return self._label_key

    @property
    def weight_key(self) -> str | None:
        """The feature that has the weights."""
        return self._weight_key

    @property
    def metric_fn(self) -> Callable[..., Any]:
        """The function, of `predictions`, `labels` and `weights` by name."""

        def named(predictions: Any = None, labels: Any = None, weights: Any = None) -> Any:
            return self._adapted(predictions_=predictions, labels_=labels, weights_=weights)

        return named

    def __str__(self) -> str:
        return (
            f"MetricSpec(metric_fn={self._metric_fn_name}, prediction_key={self.prediction_key}, "
            f"label_key={self.label_key}, weight_key={self.weight_key})"
        )

    def create_metric_ops(
        self, inputs: Mapping[str, Any] | None, labels: Any, predictions: Any
    ) -> tuple[Any, Any]:
        """The value of the metric, and the operation that updates it.

        Args:
            inputs: The features.
            labels: A tensor, or a dictionary of tensors.
            predictions: A tensor, or a dictionary of tensors.

        Raises:
            ValueError: If there is a key and no dictionary, or a dictionary of several and no key.
            KeyError: If the dictionary has no such key.
        """
        weights = inputs[self.weight_key] if self.weight_key and inputs is not None else None
        found: tuple[Any, Any] = self._adapted(
            predictions_=self._part("prediction", predictions, self.prediction_key),
            labels_=self._part("label", labels, self.label_key),
            weights_=weights,
        )
        return found

    def _part(self, what: str, values: Any, key: str | None) -> Any:
        if not key:
            if not isinstance(values, Mapping):
                return values
            if len(values) != 1:
                raise ValueError(f"{self} needs a {what}_key: there are {sorted(values)}.")
            return next(iter(values.values()))
        if not isinstance(values, Mapping):
            raise ValueError(f"{self} has a {what}_key, but there is only one {what}, {values!r}.")
        if key not in values:
            raise KeyError(f"There is no {what} {key!r}, only {sorted(values)}.")
        return values[key]
