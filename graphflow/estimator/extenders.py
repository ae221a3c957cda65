"""Estimators made of others: with more metrics, or with features beside the predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, Final

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.sparse.sparse import sparse_tensor_to_dense
from graphflow.estimator.estimator import Estimator
from graphflow.estimator.export import PredictOutput
from graphflow.estimator.run_config import RunConfig
from graphflow.estimator.spec import EstimatorSpec, ModeKeys

_TAKEN: Final = frozenset({"features", "labels", "predictions", "config"})


def add_metrics(estimator: Estimator, metric_fn: Callable[..., Mapping[str, Any]]) -> Estimator:
    """An estimator that evaluates more (tf.estimator.add_metrics, tf.contrib.estimator.add_metrics).

    Args:
        estimator: An estimator.
        metric_fn: A function of any of `features`, `labels`, `predictions` and `config` that gives metrics by name; one
            of a name that there is takes its place.

    Returns:
        Another estimator with the same folder.

    Raises:
        ValueError: If the function takes other arguments.
    """
    taken = set(signature(metric_fn).parameters)
    if not taken <= _TAKEN:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {sorted(taken - _TAKEN)}")

    def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
        spec: EstimatorSpec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        named = {"features": features, "labels": labels, "predictions": spec.predictions, "config": config}
        more = metric_fn(**{name: value for name, value in named.items() if name in taken})
        return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **more})

    return estimator.with_model_fn(model_fn)


def forward_features(
    estimator: Estimator,
    keys: str | Sequence[str] | None = None,
    sparse_default_values: Mapping[str, Any] | None = None,
) -> Estimator:
    """An estimator that gives features beside its predictions (tf.contrib.estimator.forward_features).

    Args:
        estimator: An estimator whose predictions have names.
        keys: The names of these features; None for all.
        sparse_default_values: For sparse features what stands where they have no value.

    Returns:
        Another estimator with the same folder.

    Raises:
        TypeError: If keys are no names.
        ValueError: When it is used, if a feature is not there, is sparse and has no such value, or a prediction has its
            name.
    """
    names = [keys] if isinstance(keys, str) else keys
    if names is not None and not (
        isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    ):
        raise TypeError(f"keys must be a name of a feature or a list of such, got {keys!r}.")

    def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
        spec: EstimatorSpec = estimator.model_fn(features, labels, mode, config)
        if not isinstance(spec.predictions, Mapping):
            raise ValueError(f"Features stand beside predictions that have names, got {spec.predictions!r}.")
        if not spec.predictions:
            return spec
        wanted = list(features) if names is None else names
        found = dict(spec.predictions)
        for name in wanted:
            if name not in features:
                raise ValueError(f"There is no feature {name!r} to forward, only {sorted(features)}.")
            if name in found:
                raise ValueError(f"The feature {name!r} cannot be forwarded: a prediction has its name.")
            found[name] = _dense(name, features[name], sparse_default_values or {})
        outputs = {
            key: _with_features(output, {name: found[name] for name in wanted})
            if key in ("predict", "serving_default") and isinstance(output, PredictOutput)
            else output
            for key, output in (spec.export_outputs or {}).items()
        }
        return spec._replace(predictions=found, export_outputs=outputs or None)

    return estimator.with_model_fn(model_fn)


def _dense(name: str, feature: Any, defaults: Mapping[str, Any]) -> Tensor:
    if isinstance(feature, SparseTensor):
        if name not in defaults:
            raise ValueError(
                f"The feature {name!r} is sparse: say what stands where it has no value in sparse_default_values, or "
                "leave it out of keys."
            )
        return sparse_tensor_to_dense(feature, default_value=defaults[name])
    if name in defaults:
        raise ValueError(f"The feature {name!r} of sparse_default_values is not sparse.")
    return convert_to_tensor(feature)


def _with_features(output: PredictOutput, features: Mapping[str, Tensor]) -> PredictOutput:
    return PredictOutput({**output.outputs, **features})
