"""The estimators of gf.contrib.learn, whose work gf.estimator.Estimator does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np

import graphflow.train as train
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import placeholder
from graphflow.estimator.estimator import Estimator as CoreEstimator
from graphflow.estimator.learn.arrays import check_inputs, input_of_arrays
from graphflow.estimator.learn.exports import receiving
from graphflow.estimator.learn.metric_spec import MetricSpec
from graphflow.estimator.learn.model_fn import ModeKeys, ModelFnOps
from graphflow.estimator.learn.monitors import replace_monitors_with_hooks
from graphflow.estimator.learn.run_config import RunConfig
from graphflow.estimator.run_config import RunConfig as CoreRunConfig
from graphflow.estimator.spec import EstimatorSpec
from graphflow.train.hooks.session_run_hook import SessionRunHook


class NotFittedError(ValueError, AttributeError):
    """The model was asked before it was trained."""


class Estimator:
    """A model function with the folder in which what it has learnt is kept (tf.contrib.learn.Estimator).

    Args:
        model_fn: A function of features, labels and any of `mode`, `params`, `config` and `model_dir`, the first two by
            position, that returns ModelFnOps, or a tuple of predictions, loss and the operation that makes a step.
        model_dir: The folder; by default config.model_dir, or a new temporary one.
        config: A RunConfig, of gf.contrib.learn or gf.estimator.
        params: Passed to model_fn: hyperparameters, a dictionary as a rule.
        feature_engineering_fn: A function of features and labels to those that model_fn gets.

    Raises:
        ValueError: If params is given and model_fn takes none.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        model_dir: str | os.PathLike[str] | None = None,
        config: CoreRunConfig | None = None,
        params: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        self._model_fn = model_fn
        self._arguments = list(signature(model_fn).parameters)
        if params is not None and "params" not in self._arguments:
            raise ValueError(
                f"model_fn ({model_fn}) has no argument params, but params ({params}) were given."
            )
        self.params = params
        self._engineered = feature_engineering_fn or (lambda features, labels: (features, labels))
        self._metrics: Mapping[Any, Any] = {}
        self._labels: Any = None
        """Those that training had: a model function may look at labels in prediction, too."""
        self._core = CoreEstimator(self._spec, model_dir, config or RunConfig())

    @property
    def core(self) -> CoreEstimator:
        """The estimator of gf.estimator that does the work."""
        return self._core

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints and summaries."""
        return self._core.model_dir

    @property
    def config(self) -> Any:
        """A copy of its RunConfig."""
        return self._core.config

    @property
    def model_fn(self) -> Callable[..., ModelFnOps]:
        """The model function, of features, labels, mode and config."""
        return self._call_model_fn

    def _spec(self, features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        if mode == ModeKeys.TRAIN:
            self._labels = labels
        elif mode == ModeKeys.INFER and labels is None:
            labels = _stand_ins(self._labels)
        ops = self._call_model_fn(features, labels, mode, config)
        if mode == ModeKeys.EVAL and self._metrics:
            ops.eval_metric_ops.update(_metric_ops(self._metrics, features, labels, ops.predictions))
        return ops.estimator_spec()

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any = None) -> ModelFnOps:
        features, labels = self._engineered(features, labels)
        named = {
            "mode": mode,
            "params": self.params,
            "config": config or self.config,
            "model_dir": self.model_dir,
        }
        given = {name: value for name, value in named.items() if name in self._arguments}
        found = self._model_fn(features, labels, **given)
        if isinstance(found, ModelFnOps):
            return found
        if not isinstance(found, tuple | list) or len(found) != 3:
            raise ValueError(
                f"model_fn should return ModelFnOps, or (predictions, loss, train_op), got {found!r}."
            )
        return ModelFnOps(mode, *found)

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Sequence[Any] | None = None,
        max_steps: int | None = None,
    ) -> Estimator:
        """Trains until the input ends, or so many steps are made.

        Args:
            x: Features as arrays, gone through without end in random order.
            y: Labels as an array.
            input_fn: A function that gives features and labels, in place of both.
            steps: How many more steps are made.
            batch_size: How many rows of x a step has; all if it is not given.
            monitors: Monitors, and hooks of the session.
            max_steps: The global step at which training ends.

        Returns:
            The estimator.

        Raises:
            ValueError: If both kinds of input are given, or both numbers of steps.
        """
        check_inputs(x, y, input_fn, batch_size)
        source = input_fn or input_of_arrays(x, y, batch_size, shuffle=True, epochs=None)
        self._core.train(source, replace_monitors_with_hooks(monitors, self), steps, max_steps)
        return self

    def partial_fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        steps: int | None = 1,
        batch_size: int | None = None,
        monitors: Sequence[Any] | None = None,
    ) -> Estimator:
        """As fit, of one step by default.

        Args:
            x: As of fit.
            y: As of fit.
            input_fn: As of fit.
            steps: As of fit.
            batch_size: As of fit.
            monitors: As of fit.

        Returns:
            The estimator.
        """
        return self.fit(x, y, input_fn, steps, batch_size, monitors)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        feed_fn: None = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Mapping[Any, Any] | None = None,
        name: str | None = None,
        checkpoint_path: str | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        log_progress: bool = True,
    ) -> dict[str, Any]:
        """Computes metrics over an input.

        Args:
            x: Features as arrays.
            y: Labels as an array.
            input_fn: A function that gives features and labels, in place of both.
            feed_fn: Not there: input_fn gives what is evaluated.
            batch_size: How many rows of x a step has.
            steps: How many batches; None for all.
            metrics: MetricSpecs by name, or functions of predictions and labels.
            name: Of the folder of the summaries.
            checkpoint_path: What is restored, by default the newest checkpoint.
            hooks: Of the session.
            log_progress: Not needed.

        Returns:
            The metrics by name, with "loss" and "global_step".

        Raises:
            ValueError: If the input is given twice, metrics is no dictionary, or for a feed_fn.
            NotFittedError: If there is no checkpoint.
        """
        check_inputs(x, y, input_fn, batch_size)
        if feed_fn is not None:
            raise ValueError("feed_fn is not there: an input_fn gives what is evaluated.")
        if metrics is not None and not isinstance(metrics, Mapping):
            raise ValueError(f"Metrics argument should be None or dict. Got {metrics!r}.")
        self._check_fitted()
        self._metrics = metrics or {}
        try:
            source = input_fn or input_of_arrays(x, y, batch_size)
            return self._core.evaluate(source, steps, hooks, checkpoint_path, name)
        finally:
            self._metrics = {}

    def predict(
        self,
        x: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        outputs: Sequence[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """The predictions for an input.

        Args:
            x: Features as arrays.
            input_fn: A function that gives features, in place of x.
            batch_size: How many rows of x a step has.
            outputs: The names of those predictions that are wanted; None for all.
            as_iterable: Whether an iterator over the rows is returned, and not the first batch.
            iterate_batches: Whether the iterator gives batches.

        Returns:
            An iterator, or the predictions: arrays, or dictionaries of them, as the model's are.

        Raises:
            NotFittedError: If there is no checkpoint.
        """
        check_inputs(x, None, input_fn, batch_size)
        self._check_fitted()
        single = as_iterable and not iterate_batches
        source = input_fn or input_of_arrays(x, None, batch_size)
        found = self._core.predict(source, outputs, yield_single_examples=single)
        return self._shown(found) if as_iterable else next(self._shown(found))

    def _shown(self, predictions: Iterator[Any]) -> Iterator[Any]:
        """The predictions as they are given."""
        return predictions

    def _check_fitted(self) -> None:
        if self._core.latest_checkpoint() is None:
            raise NotFittedError(f"Couldn't find trained model at {self.model_dir}.")

    def get_variable_names(self) -> list[str]:
        """The names of the variables in the newest checkpoint."""
        return self._core.get_variable_names()

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the newest checkpoint, as an array.

        Args:
            name: The variable's name.
        """
        return train.load_variable(self.model_dir, name)

    def export_savedmodel(
        self,
        export_dir_base: str | os.PathLike[str],
        serving_input_fn: Callable[[], Any],
        default_output_alternative_key: str | None = None,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """Writes the model as a SavedModel into a new folder, named by the time in seconds.

        Args:
            export_dir_base: The folder in which the new one is made.
            serving_input_fn: Makes a ServingInputReceiver.
            default_output_alternative_key: Not needed: the predictions are the outputs.
            assets_extra: Files to copy: from paths under assets.extra to where they are.
            as_text: Whether the graph is written as text.
            checkpoint_path: What is restored, by default the newest checkpoint.
            strip_default_attrs: Not needed.

        Returns:
            The path of the new folder, as bytes.
        """
        self._check_fitted()
        return self._core.export_saved_model(
            export_dir_base, receiving(serving_input_fn), assets_extra, as_text, checkpoint_path
        )


def _stand_ins(labels: Any) -> Any:
    """Placeholders of the dtypes and shapes of labels; None for none, and for those that are no tensors."""
    if isinstance(labels, Mapping):
        return {name: _stand_ins(value) for name, value in labels.items()}
    return placeholder(labels.dtype, labels.shape) if isinstance(labels, Tensor) else None


def _metric_ops(metrics: Mapping[Any, Any], features: Any, labels: Any, predictions: Any) -> dict[str, Any]:
    """Values and updates by name. A name may be a pair of it and the key of a prediction."""
    found = {}
    for name, metric in metrics.items():
        if isinstance(metric, MetricSpec):
            found[name] = metric.create_metric_ops(features, labels, predictions)
            continue
        key, prediction = name, predictions
        if isinstance(name, tuple):
            key, prediction = name[0], predictions[name[1]]
        elif isinstance(predictions, Mapping):
            raise ValueError(
                f"The metric {name!r} must be a MetricSpec that says which of {sorted(predictions)}."
            )
        one = isinstance(labels, Mapping) and len(labels) == 1
        found[key] = metric(prediction, next(iter(labels.values())) if one else labels)
    return found


class SKCompat:
    """An estimator as scikit-learn has them, of arrays (tf.contrib.learn.SKCompat).

    Args:
        estimator: An Estimator.
    """

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int | None = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Sequence[Any] | None = None,
    ) -> SKCompat:
        """Trains.

        Args:
            x: Features.
            y: Labels.
            batch_size: How many rows a step has.
            steps: How many more steps are made.
            max_steps: The global step at which training ends.
            monitors: Monitors, and hooks of the session.

        Returns:
            Itself.
        """
        self._estimator.fit(x, y, None, steps, batch_size, monitors, max_steps)
        return self

    def score(
        self,
        x: Any,
        y: Any,
        batch_size: int | None = 128,
        steps: int | None = None,
        metrics: Mapping[Any, Any] | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Computes metrics.

        Args:
            x: Features.
            y: Labels.
            batch_size: How many rows a step has.
            steps: How many batches; None for all.
            metrics: As of Estimator.evaluate.
            name: Of the folder of the summaries.

        Returns:
            The metrics by name.
        """
        return self._estimator.evaluate(x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name)

    def predict(self, x: Any, batch_size: int | None = 128, outputs: Sequence[str] | None = None) -> Any:
        """The predictions for all rows.

        Args:
            x: Features.
            batch_size: How many rows a step has.
            outputs: The names of those predictions that are wanted; None for all.

        Returns:
            An array, or a dictionary of arrays.
        """
        # All that the model gives, where a ready-made one would choose.
        rows = list(Estimator.predict(self._estimator, x, batch_size=batch_size, outputs=outputs))
        if rows and isinstance(rows[0], Mapping):
            return {key: np.stack([row[key] for row in rows]) for key in rows[0]}
        return np.stack(rows)
