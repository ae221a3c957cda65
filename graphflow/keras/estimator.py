"""Models as estimators (tf.keras.estimator)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from graphflow.keras.engine.base_layer import Layer
from graphflow.keras.engine.compiled import Compiled
from graphflow.keras.engine.network import is_class_with_call
from graphflow.keras.engine.network_config import deserialize_layer, serialize_layer
from graphflow.keras.engine.sequential import Sequential
from graphflow.keras.engine.training import Model
from graphflow.keras.models import clone_model, load_model
from graphflow.keras.optimizers.rules import TFOptimizer
from graphflow.keras.typing import Objects
from graphflow.keras.utils.registry import custom_object_scope
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
        keras_model: The model: one of inputs and outputs, a Sequential, or one of a class of one's own, of which
            attributes that are layers, or lists or dictionaries of layers, are made anew.
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
    if keras_model is None and keras_model_path is None:
        raise ValueError("Either keras_model or keras_model_path needs to be provided.")
    if keras_model is not None and keras_model_path is not None:
        raise ValueError("model_to_estimator() takes keras_model or keras_model_path, but not both.")
    model: Any = load_model(keras_model_path, custom_objects) if keras_model is None else keras_model  # type: ignore[arg-type]
    if model._compile_arguments is None:
        raise ValueError(
            f"The model {model.name!r} is not compiled: compile it before it becomes an estimator."
        )
    weights = model.get_weights() if any(layer.weights for layer in model.layers) else None

    def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        """The model in the estimator's graph."""
        state.set_learning_phase(int(mode == ModeKeys.TRAIN))
        inputs = _inputs(model, features)
        with custom_object_scope(dict(custom_objects or {})):
            own = _copy(model, inputs)
        scaffold = Scaffold(
            init_fn=None if weights is None else lambda _, session: _set(own, weights, session)
        )
        predictions = dict(zip(own.output_names, own.outputs, strict=True))
        if mode == ModeKeys.PREDICT:
            outputs = {"serving_default": PredictOutput(predictions)}
            return EstimatorSpec(mode, predictions, export_outputs=outputs, scaffold=scaffold)
        # One of this graph: the model itself can still be trained in its own.
        given: Any = model.optimizer
        optimizer: Any = (
            TFOptimizer(given.optimizer)
            if isinstance(given, TFOptimizer)
            else type(given).from_config(given.get_config())
        )
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


def _copy(model: Any, inputs: Sequence[Any]) -> Any:
    """A model like it, with weights of its own, for these inputs."""
    given = inputs if len(inputs) > 1 else inputs[0]
    if isinstance(model, Sequential) or not is_class_with_call(model):
        return clone_model(model, given)
    # Of a class of the program, whose arguments nobody knows: its attributes, with other layers in place of its own.
    own: Any = object.__new__(type(model))
    Model.__init__(own, name=model.name)
    made: dict[int, Any] = {}
    for name, value in vars(model).items():
        if name not in vars(own):
            setattr(own, name, _with_new_layers(value, made))
    own._set_inputs(given)
    return own


def _with_new_layers(value: Any, made: dict[int, Any]) -> Any:
    if isinstance(value, Layer):
        if id(value) not in made:
            made[id(value)] = deserialize_layer(serialize_layer(value))
        return made[id(value)]
    if isinstance(value, list):
        return [_with_new_layers(each, made) for each in value]
    if isinstance(value, dict):
        return {key: _with_new_layers(each, made) for key, each in value.items()}
    return value


def _inputs(model: Any, features: Any) -> list[Any]:
    """The features in the order of the model's inputs; KeyError if one is missing."""
    if model.inputs is None:  # It was never called.
        return nest.flatten(features)
    if not isinstance(features, Mapping):
        found = nest.flatten(features)
    else:
        names = [n if n in features else n.removesuffix("_input") for n in model.input_names]
        missing = [n for n in names if n not in features]
        if missing:
            raise KeyError(_difference("inputs", features, model.input_names))
        found = [features[n] for n in names]
    return [ops.cast(t, own.dtype) for t, own in zip(found, model.inputs, strict=True)]


def _difference(what: str, given: Mapping[str, Any], names: Sequence[str]) -> str:
    return (
        f"The input function gives {sorted(given)}, but the model's {what} are {sorted(names)}. Difference: "
        f"{sorted(set(given) ^ set(names))}"
    )


def _targets(model: Any, labels: Any) -> list[Any]:
    """The labels in the order of the model's outputs, with an axis of 1 where that is missing; KeyError if one is."""
    if isinstance(labels, Mapping) and not set(model.output_names) <= set(labels):
        raise KeyError(_difference("outputs", labels, model.output_names))
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
