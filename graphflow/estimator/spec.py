"""What a model function gives back, and for which of three modes it was called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.shaping import reshape
from graphflow.estimator.checks import checked_hooks
from graphflow.estimator.export import ExportOutput
from graphflow.train.hooks.session_run_hook import SessionRunHook
from graphflow.train.sessions.scaffold import Scaffold


class ModeKeys:
    """The modes of a model function: TRAIN, EVAL and PREDICT."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class _Fields(NamedTuple):
    mode: str
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
        mode: One of ModeKeys: for which the model function was called.
        predictions: A tensor, or a dictionary of tensors. Needed to predict.
        loss: A tensor of one element. Needed to train and to evaluate.
        train_op: An operation or tensor that makes one step. Needed to train.
        eval_metric_ops: Metrics by name: pairs of a value and an operation that updates it, as gf.metrics makes.
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
        mode: str,
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
        if mode not in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT):
            raise ValueError(f"The mode of an EstimatorSpec is one of gf.estimator.ModeKeys, got {mode!r}.")
        given = {"predictions": predictions, "loss": loss, "train_op": train_op}
        for name in _NEEDED[mode]:
            if given[name] is None:
                raise ValueError(f"Missing {name}.")
        if isinstance(predictions, Mapping):
            for key, value in predictions.items():
                _check_element(value, f"predictions[{key!r}]")
        elif predictions is not None:
            _check_element(predictions, "predictions")
        if train_op is not None:
            _check_element(train_op, "train_op")
        if scaffold is not None and not isinstance(scaffold, Scaffold):
            raise TypeError(f"scaffold must be a gf.train.Scaffold, got {scaffold!r}.")
        return super().__new__(
            cls, mode, {} if predictions is None else predictions, _scalar(loss), train_op,
            _checked_metrics(eval_metric_ops or {}), _checked_outputs(export_outputs),
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


_NEEDED = {
    ModeKeys.TRAIN: ("train_op", "loss"),
    ModeKeys.EVAL: ("loss",),
    ModeKeys.PREDICT: ("predictions",),
}


def _check_element(value: Any, what: str) -> None:
    if not isinstance(value, Operation) and getattr(value, "op", None) is None:
        raise TypeError(f"{what} must be Operation or Tensor, given: {value!r}.")
    graph = getattr(value, "graph", None)
    if graph is not None and graph is not get_default_graph():
        raise ValueError(f"{what} is of another graph than the one in which the model function was called.")


def _scalar(loss: Any) -> Any:
    if loss is None:
        return None
    _check_element(loss, "loss")
    elements = loss.shape.num_elements()
    if elements not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}.")
    return reshape(loss, []) if loss.shape.ndims else loss


def _checked_metrics(metrics: Mapping[str, Any]) -> Mapping[str, Any]:
    for name, metric in metrics.items():
        if not isinstance(metric, tuple | list) or len(metric) != 2:
            raise TypeError(
                f"Values of eval_metric_ops must be (metric_value, update_op) tuples, given: {metric!r} for key: "
                f"{name}."
            )
        _check_element(metric[0], f"eval_metric_ops[{name!r}][0]")
        _check_element(metric[1], f"eval_metric_ops[{name!r}][1]")
    return dict(metrics)


def _checked_outputs(outputs: Mapping[str, ExportOutput] | None) -> Mapping[str, ExportOutput] | None:
    if outputs is None:
        return None
    if not isinstance(outputs, Mapping):
        raise TypeError(f"export_outputs must be a dictionary, given: {outputs!r}.")
    for name, output in outputs.items():
        if not isinstance(output, ExportOutput):
            raise TypeError(
                f"Values in export_outputs must be ExportOutput objects, given: {output!r} for key: {name}."
            )
    return dict(outputs)
