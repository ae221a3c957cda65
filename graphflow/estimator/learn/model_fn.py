"""What a model function of gf.contrib.learn gives back, and for which of three modes it was called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.core import convert_to_tensor
from graphflow.estimator.spec import EstimatorSpec
from graphflow.train.hooks.session_run_hook import SessionRunHook
from graphflow.train.sessions.scaffold import Scaffold


class ModeKeys:
    """The modes of a model function (tf.contrib.learn.ModeKeys): TRAIN, EVAL and INFER."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        """Checks a mode.

        Args:
            key: The mode.

        Raises:
            ValueError: If it is none.
        """
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}.")


class _Fields(NamedTuple):
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: dict[str, Any]
    output_alternatives: Any
    training_chief_hooks: tuple[SessionRunHook, ...]
    training_hooks: tuple[SessionRunHook, ...]
    scaffold: Scaffold | None
    mode: str


class ModelFnOps(_Fields):
    """What a model function returns (tf.contrib.learn.ModelFnOps): the ops of one mode.

    Args:
        mode: One of ModeKeys.
        predictions: A tensor, or a dictionary of tensors. Needed to evaluate and to predict.
        loss: A tensor of one element. Needed to train and to evaluate.
        train_op: An operation or tensor that makes one step. Needed to train.
        eval_metric_ops: Metrics by name: pairs of a value and an operation that updates it.
        output_alternatives: Outputs of a SavedModel by name: pairs of a kind of problem and tensors by name.
        training_chief_hooks: Hooks of the chief's training.
        training_hooks: Hooks of every worker's training.
        scaffold: How sessions are initialised and saved.

    Raises:
        ValueError: If the mode needs what is missing.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: TensorLike | Mapping[str, TensorLike] | None = None,
        loss: TensorLike | None = None,
        train_op: Operation | Tensor | None = None,
        eval_metric_ops: Mapping[str, Any] | None = None,
        output_alternatives: Mapping[str, Any] | None = None,
        training_chief_hooks: Sequence[SessionRunHook] | None = None,
        training_hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
    ) -> ModelFnOps:
        """The ops, checked."""
        ModeKeys.validate(mode)
        needed = {
            "train_op": (train_op, (ModeKeys.TRAIN,)),
            "loss": (loss, (ModeKeys.TRAIN, ModeKeys.EVAL)),
            "predictions": (predictions, (ModeKeys.EVAL, ModeKeys.INFER)),
        }
        for name, (value, modes) in needed.items():
            if value is None and mode in modes:
                raise ValueError(f"Missing {name}.")
        if isinstance(predictions, Mapping):
            predictions = {key: _as_tensor(value) for key, value in predictions.items()}
        elif predictions is not None:
            predictions = _as_tensor(predictions)
        return super().__new__(
            cls, predictions, loss, train_op, dict(eval_metric_ops or {}), output_alternatives,
            tuple(training_chief_hooks or ()), tuple(training_hooks or ()), scaffold, mode,
        )  # fmt: skip

    def estimator_spec(self, default_serving_output_alternative_key: str | None = None) -> EstimatorSpec:
        """The same as gf.estimator has it.

        Args:
            default_serving_output_alternative_key: Not needed: the predictions are the outputs of a SavedModel.

        Returns:
            An EstimatorSpec.
        """
        return EstimatorSpec(
            self.mode, self.predictions, self.loss, self.train_op, self.eval_metric_ops,
            training_chief_hooks=self.training_chief_hooks, training_hooks=self.training_hooks,
            scaffold=self.scaffold,
        )  # fmt: skip


def _as_tensor(value: Any) -> Any:
    return value if hasattr(value, "dense_shape") else convert_to_tensor(value)
