"""What a model function gives back, and for which of three modes it was called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import graphflow.nest as nest
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.shaping import reshape
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow.estimator.checks import checked_hooks
from graphflow.estimator.export import ExportOutput, PredictOutput
from graphflow.saved_model import signature_constants
from graphflow.train.hooks.session_run_hook import SessionRunHook
from graphflow.train.sessions.scaffold import Scaffold

_SERVING: Final = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


class ModeKeys:
    """The modes of a model function: TRAIN, EVAL and PREDICT."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class _Fields(NamedTuple):
    mode: Any
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: Mapping[str, Any]
    export_outputs: Mapping[str, ExportOutput] | None
    training_chief_hooks: tuple[SessionRunHook, ...]
    training_hooks: tuple[SessionRunHook, ...]
    scaffold: Scaffold
    evaluation_hooks: tuple[SessionRunHook, ...]
    prediction_hooks: tuple[SessionRunHook, ...]


class EstimatorSpec(_Fields):
    """What a model function returns: the ops of one mode, and the objects around them.

    Args:
        mode: One of ModeKeys: for which the model function was called; None if it does not know.
        predictions: A tensor, or a dictionary of tensors. Needed to predict.
        loss: A tensor of one element. Needed to train and to evaluate.
        train_op: An operation or tensor that makes one step. Needed to train.
        eval_metric_ops: Metrics by name: pairs of a value and an operation that updates it, as gf.metrics makes,
            or metrics of gf.keras.metrics whose update_state was called.
        export_outputs: Signatures of a SavedModel by name (gf.estimator.export); by default the predictions.
        training_chief_hooks: Hooks of the chief's training.
        training_hooks: Hooks of every worker's training.
        scaffold: How sessions are initialised and saved.
        evaluation_hooks: Hooks of evaluations.
        prediction_hooks: Hooks of predictions.

    Raises:
        ValueError: If the mode needs what is missing, or the loss has not one element.
        TypeError: If something is of the wrong type, or is of another graph than the default one.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str | None,
        predictions: TensorLike | Mapping[str, TensorLike] | None = None,
        loss: TensorLike | None = None,
        train_op: Operation | Tensor | None = None,
        eval_metric_ops: Mapping[str, Any] | None = None,
        export_outputs: Mapping[str, ExportOutput] | None = None,
        training_chief_hooks: Sequence[SessionRunHook] | None = None,
        training_hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        evaluation_hooks: Sequence[SessionRunHook] | None = None,
        prediction_hooks: Sequence[SessionRunHook] | None = None,
    ) -> EstimatorSpec:
        if mode not in (None, ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT):
            raise ValueError(f"The mode of an EstimatorSpec is one of gf.estimator.ModeKeys, got {mode!r}.")
        given = {"predictions": predictions, "loss": loss, "train_op": train_op}
        for name in _NEEDED.get(mode, ()):
            if given[name] is None:
                raise ValueError(f"Missing {name}.")
        if isinstance(predictions, Mapping):
            for key, value in predictions.items():
                _check_element(value, f"predictions[{key}]", _TENSOR)
        elif predictions is not None:
            _check_element(predictions, "predictions", _TENSOR)
        if train_op is not None:
            _check_element(train_op, "train_op")
        if scaffold is not None and not isinstance(scaffold, Scaffold):
            raise TypeError(
                f"scaffold must be tf.train.Scaffold, which is gf.train.Scaffold, got {scaffold!r}."
            )
        return super().__new__(
            cls, mode, {} if predictions is None else predictions, _scalar(loss), train_op,
            _checked_metrics({} if eval_metric_ops is None else eval_metric_ops),
            _checked_outputs(export_outputs, mode, predictions),
            checked_hooks(training_chief_hooks, "training_chief_hooks"),
            checked_hooks(training_hooks, "training_hooks"),
            scaffold or Scaffold(), checked_hooks(evaluation_hooks, "evaluation_hooks"),
            checked_hooks(prediction_hooks, "prediction_hooks"),
        )  # fmt: skip

    def _replace(self, **changes: Any) -> EstimatorSpec:
        # That of a named tuple would check nothing.
        if changes.get("mode", self.mode) != self.mode:
            raise ValueError(
                f"The mode of EstimatorSpec cannot be changed, from {self.mode!r} to {changes['mode']!r}."
            )
        return EstimatorSpec(**{**self._asdict(), **changes})


_TENSOR: Final = "Tensor, since what a spec names must be Operation or Tensor"
_NEEDED: Final[Mapping[str | None, tuple[str, ...]]] = {
    ModeKeys.TRAIN: ("train_op", "loss"),
    ModeKeys.EVAL: ("loss",),
    ModeKeys.PREDICT: ("predictions",),
}


def _check_element(value: Any, what: str, kinds: str = "Operation or Tensor") -> None:
    if isinstance(value, SparseTensor) or (
        not isinstance(value, Operation) and getattr(value, "op", None) is None
    ):
        raise TypeError(f"{what} must be {kinds}, given: {value!r}.")
    graph = getattr(value, "graph", None)
    if graph is not None and graph is not get_default_graph():
        raise ValueError(
            f"{what} must be from the default graph, the one in which the model function was called."
        )


def _scalar(loss: Any) -> Any:
    if loss is None:
        return None
    _check_element(loss, "loss", _TENSOR)
    elements = loss.shape.num_elements()
    if elements not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}.")
    return reshape(loss, []) if loss.shape.ndims else loss


def _checked_metrics(metrics: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(metrics, Mapping):
        raise TypeError(f"eval_metric_ops must be a dict, given: {metrics!r}.")
    found = {}
    for name, metric in metrics.items():
        pair = _of_object(metric, name) if getattr(metric, "_is_metric", False) else metric
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(
                f"Values of eval_metric_ops must be (metric_value, update_op) tuples, given: {metric!r} for key: "
                f"{name}."
            )
        for place, part in enumerate(pair):
            for element in nest.flatten(part):
                _check_element(element, f"eval_metric_ops[{name!r}][{place}]")
        found[name] = pair
    return found


def _of_object(metric: Any, name: str) -> tuple[Any, Any]:
    """The value and the update of a metric of gf.keras.metrics that was updated in this graph."""
    if not metric.updates:
        raise ValueError(f"Please call update_state(...) on the metric {name!r} of eval_metric_ops first.")
    for update in metric.updates:
        _check_element(update, f"eval_metric_ops[{name!r}]")
    graph = get_default_graph()
    for collection in (GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES):
        there = {id(variable) for variable in graph.get_collection(collection)}
        for variable in metric.weights:
            if id(variable) not in there:
                graph.add_to_collection(collection, variable)
    return metric.result(), group(*metric.updates)


def _checked_outputs(
    outputs: Mapping[str, ExportOutput] | None, mode: str | None, predictions: Any
) -> Mapping[str, ExportOutput] | None:
    """The outputs by name; for predictions one of them is that which is served if no name is asked for."""
    if outputs is None:
        return {_SERVING: PredictOutput(predictions)} if mode == ModeKeys.PREDICT else None
    if not isinstance(outputs, Mapping):
        raise TypeError(f"export_outputs must be dict, given: {outputs!r}.")
    for name, output in outputs.items():
        if not isinstance(output, ExportOutput):
            raise TypeError(
                f"Values in export_outputs must be ExportOutput objects. Given: {dict(outputs)!r}, where {name!r} is "
                "none."
            )
    found = dict(outputs)
    if mode == ModeKeys.PREDICT and _SERVING not in found:
        if len(found) > 1:
            raise ValueError(
                "Multiple export_outputs were provided, but none of them is specified as the default.  Do this by "
                "naming one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY. None of the "
                f"export_outputs {sorted(found)} is {_SERVING!r}."
            )
        for output in list(found.values()):
            found[_SERVING] = output
    return found
