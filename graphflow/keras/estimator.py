"""Models as estimators (tf.keras.estimator)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.keys import GraphKeys
from graphflow.estimator.estimator import Estimator
from graphflow.estimator.export import PredictOutput
from graphflow.estimator.run_config import RunConfig
from graphflow.estimator.spec import EstimatorSpec, ModeKeys
from graphflow.keras import ops
from graphflow.keras.backend import state
from graphflow.keras.backend.values import batch_set_value
from graphflow.keras.engine.compiled import Compiled
from graphflow.keras.engine.training import Model
from graphflow.keras.models import clone_model, load_model
from graphflow.keras.optimizers.rules import TFOptimizer
from graphflow.keras.typing import Objects
from graphflow.train.sessions.scaffold import Scaffold
from graphflow.train.steps import get_global_step

__all__ = ["model_to_estimator"]


def model_to_estimator(
    keras_model: Model | None = None,
    keras_model_path: str | None = None,
    custom_objects: Objects = None,
    model_dir: str | None = None,
    config: RunConfig | None = None,
    checkpoint_format: str | None = None,
) -> Estimator:
    """An estimator of a compiled model, which begins with its weights (tf.keras.estimator.model_to_estimator).

    Args:
        keras_model: The model; one of inputs and outputs, or a Sequential.
        keras_model_path: An HDF5 file in place of it.
        custom_objects: The program's own classes and functions in the file, by name.
        model_dir: The folder of checkpoints.
        config: Of the run.
        checkpoint_format: Changes nothing.

    Returns:
        The estimator. Its input functions give the inputs by the names of the input layers, or one tensor.

    Raises:
        ValueError: Neither a model nor a file is given, or both are, or the model is not compiled.
    """
    if (keras_model is None) == (keras_model_path is None):
        raise ValueError("model_to_estimator() takes keras_model or keras_model_path, one of them.")
    model: Any = load_model(keras_model_path, custom_objects) if keras_model is None else keras_model  # type: ignore[arg-type]
    if model._compile_arguments is None:
        raise ValueError(
            f"The model {model.name!r} is not compiled: compile it before it becomes an estimator."
        )
    weights = model.get_weights()

    def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        """The model in the estimator's graph."""
        state.set_learning_phase(int(mode == ModeKeys.TRAIN))
        inputs = _inputs(model, features)
        own = clone_model(model, inputs if len(inputs) > 1 else inputs[0])
        scaffold = Scaffold(init_fn=lambda _, session: _set(own, weights, session))
        predictions = dict(zip(own.output_names, own.outputs, strict=True))
        if mode == ModeKeys.PREDICT:
            outputs = {"serving_default": PredictOutput(predictions)}
            return EstimatorSpec(mode, predictions, export_outputs=outputs, scaffold=scaffold)
        optimizer = model.optimizer
        if not isinstance(optimizer, TFOptimizer):
            optimizer = type(optimizer).from_config(optimizer.get_config())
        arguments = {**model._compile_arguments, "target_tensors": _targets(own, labels)}
        compiled = Compiled(own, optimizer, **arguments)
        if mode == ModeKeys.TRAIN:
            step = get_global_step()
            updates = compiled.training_updates(compiled.total_loss)
            with get_default_graph().control_dependencies(updates):
                train_op = ops.assign_add(step, 1).op
            return EstimatorSpec(mode, predictions, compiled.total_loss, train_op, scaffold=scaffold)
        found = {}
        for endpoint in compiled.trained:
            for metric, update in endpoint.metric_results(False):
                found[metric.name] = (metric.result(), update)
                for variable in metric.weights:
                    get_default_graph().add_to_collection(GraphKeys.LOCAL_VARIABLES, variable)
        return EstimatorSpec(mode, predictions, compiled.total_loss, eval_metric_ops=found, scaffold=scaffold)

    return Estimator(model_fn, model_dir, config)


def _inputs(model: Any, features: Any) -> list[Any]:
    """The features in the order of the model's inputs; ValueError if one is missing."""
    if not isinstance(features, Mapping):
        found = nest.flatten(features)
    else:
        names = [n if n in features else n.removesuffix("_input") for n in model.input_names]
        missing = [n for n in names if n not in features]
        if missing:
            raise ValueError(
                f"The input function gives {sorted(features)}, but the model's inputs are {model.input_names}."
            )
        found = [features[n] for n in names]
    return [ops.cast(t, own.dtype) for t, own in zip(found, model.inputs, strict=True)]


def _targets(model: Any, labels: Any) -> list[Any]:
    """The labels in the order of the model's outputs, with an axis of 1 where that is missing."""
    found = [labels[n] for n in model.output_names] if isinstance(labels, Mapping) else nest.flatten(labels)
    return [
        ops.expand_dims(t, -1) if len(t.shape) == 1 and len(o.shape) > 1 else t
        for t, o in zip(found, model.outputs, strict=True)
    ]


def _set(model: Any, weights: Any, session: Any) -> None:
    """Gives the weights of the model that it was made of."""
    with session.as_default():
        state.manual_variable_initialization(True)
        try:
            batch_set_value(zip((v for layer in model.layers for v in layer.weights), weights, strict=True))
        finally:
            state.manual_variable_initialization(False)
