"""TPUEstimatorSpec: what the model function of a TPUEstimator returns, and the EstimatorSpec that it stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any, NamedTuple

import graphflow.contrib.summary as summary
import graphflow.train as train
from graphflow.estimator.building import argument_names
from graphflow.estimator.checks import checked_hooks
from graphflow.estimator.spec import EstimatorSpec


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metrics: tuple[Callable[..., Any], Any] | None
    export_outputs: Any
    scaffold_fn: Callable[[], Any] | None
    host_call: tuple[Callable[..., Any], Any] | None
    training_hooks: tuple[Any, ...]
    evaluation_hooks: tuple[Any, ...]
    prediction_hooks: tuple[Any, ...]


class TPUEstimatorSpec(_Fields):
    """What the model function of a TPUEstimator returns (tf.contrib.tpu.TPUEstimatorSpec).

    Args:
        mode: One of gf.estimator.ModeKeys.
        predictions: A tensor, or a dictionary of tensors. Needed to predict.
        loss: A tensor of one element. Needed to train and to evaluate.
        train_op: An operation that makes one step. Needed to train.
        eval_metrics: A function that gives metrics by name, and its tensors: a list, or a dictionary by argument.
        export_outputs: Signatures of a SavedModel by name.
        scaffold_fn: A function that makes a gf.train.Scaffold.
        host_call: A function that is called beside the model, such as one that writes summaries, and its tensors; what
            it gives runs in each step.
        training_hooks: Hooks of training.
        evaluation_hooks: Hooks of evaluations.
        prediction_hooks: Hooks of predictions.

    Raises:
        ValueError: If a function and its tensors are no pair.
        TypeError: If the first of the pair cannot be called, or a hook is none.
        RuntimeError: If the function takes another number of tensors.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metrics: tuple[Callable[..., Any], Any] | None = None,
        export_outputs: Mapping[str, Any] | None = None,
        scaffold_fn: Callable[[], Any] | None = None,
        host_call: tuple[Callable[..., Any], Any] | None = None,
        training_hooks: Sequence[Any] | None = None,
        evaluation_hooks: Sequence[Any] | None = None,
        prediction_hooks: Sequence[Any] | None = None,
    ) -> TPUEstimatorSpec:
        _check_call(eval_metrics, "eval_metrics")
        _check_call(host_call, "host_call")
        return super().__new__(
            cls, mode, predictions, loss, train_op, eval_metrics, export_outputs, scaffold_fn, host_call,
            checked_hooks(training_hooks, "training_hooks"), checked_hooks(evaluation_hooks, "evaluation_hooks"),
            checked_hooks(prediction_hooks, "prediction_hooks"),
        )  # fmt: skip

    def as_estimator_spec(self) -> EstimatorSpec:
        """The EstimatorSpec that it stands for: the functions of the pairs are called, in the default graph."""
        metrics = None if self.eval_metrics is None else _called(self.eval_metrics)
        hooks = () if self.host_call is None else (_HostCall(_called(self.host_call)),)
        return EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op,
            eval_metric_ops=metrics,
            export_outputs=self.export_outputs,
            scaffold=None if self.scaffold_fn is None else self.scaffold_fn(),
            training_hooks=self.training_hooks + hooks,
            evaluation_hooks=self.evaluation_hooks + hooks,
            prediction_hooks=self.prediction_hooks + hooks,
        )


def _check_call(pair: Any, what: str) -> None:
    if pair is None:
        return
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(f"{what} should be a pair of a function and its tensors, got {pair!r}.")
    function, tensors = pair
    if not callable(function):
        raise TypeError(f"{what}[0] should be callable, got {function!r}.")
    if not isinstance(tensors, tuple | list | dict):
        raise ValueError(f"{what}[1] should be a tuple, a list or a dict, got {tensors!r}.")
    takes_any = any(one.kind is Parameter.VAR_POSITIONAL for one in signature(function).parameters.values())
    if not isinstance(tensors, dict) and not takes_any and len(tensors) != len(argument_names(function)):
        raise RuntimeError(
            f"In TPUEstimatorSpec.{what}, length of tensors {len(tensors)} does not match method args of the function, "
            f"which takes {len(argument_names(function))}."
        )


def _called(pair: tuple[Callable[..., Any], Any]) -> Any:
    function, tensors = pair
    return function(**tensors) if isinstance(tensors, dict) else function(*tensors)


class _HostCall(train.SessionRunHook):
    """Runs in each step what the host's function gave, and opens and flushes the summary writers that it made."""

    def __init__(self, fetches: Any) -> None:
        self._fetches = fetches

    def begin(self) -> None:
        self._open = summary.summary_writer_initializer_op()
        self._flush = [summary.flush(writer=op.inputs[0]) for op in self._open]

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._open)

    def before_run(self, run_context: Any) -> train.SessionRunArgs:
        return train.SessionRunArgs(self._fetches)

    def end(self, session: Any) -> None:
        session.run(self._flush)
