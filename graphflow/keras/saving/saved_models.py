"""Models as SavedModels: a graph to serve, weights by the objects that have them, and the layers as JSON."""

from __future__ import annotations

import json
import os
from typing import Any, Final

import graphflow.logging as logging
import graphflow.saved_model as saved_model
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow.keras.backend import state
from graphflow.keras.engine.network_config import deserialize_layer, plain
from graphflow.keras.saving import checkpoints, training_config
from graphflow.keras.typing import Elements, Objects
from graphflow.train import Saver

_WEIGHTS: Final = os.path.join("variables", "variables")
_LAYERS: Final = os.path.join("assets", "saved_model.json")


def export_saved_model(
    model: Elements,
    saved_model_path: str,
    custom_objects: Objects = None,
    as_text: bool = False,
    input_signature: Any = None,
    serving_only: bool = False,
) -> None:
    """Writes a model as a SavedModel (tf.keras.experimental.export_saved_model).

    Its graph gives the model's outputs; the weights and layers are those that load_from_saved_model reads, here and in
    TensorFlow 1.15.

    Args:
        model: A model whose inputs are known.
        saved_model_path: A folder that is not there yet, or empty.
        custom_objects: Changes nothing: the objects of the model are there.
        as_text: Whether the graph is written as text.
        input_signature: Changes nothing: the inputs are the model's.
        serving_only: Must be true for a model with a `call` of its own, whose layers cannot be written.

    Raises:
        NotImplementedError: The model has a `call` of its own, and serving_only is not said.
        ValueError: The model's inputs are not known.
        AssertionError: The folder is there, and not empty.
    """
    if not serving_only and not model._is_graph_network:
        model._config_of_model()  # Says what is missing.
    write(model, user_path(saved_model_path), as_text)


def write(model: Any, path: str, as_text: bool = False, include_optimizer: bool = False) -> None:
    """Writes a model as a SavedModel; include_optimizer: with the way of training, for load_model.

    Raises:
        ValueError: The model's inputs are not known.
        AssertionError: The folder is there, and not empty.
    """
    if not model.outputs:
        raise ValueError(
            f"The model {model.name!r} has no inputs yet: fit it, or build(input_shape) it, first."
        )
    session = state.get_session(model.outputs)
    inputs = dict(zip(model.input_names, model.inputs, strict=True))
    outputs = dict(zip(model.output_names, model.outputs, strict=True))
    signature = saved_model.signature_def_utils.predict_signature_def(inputs, outputs)
    variables = checkpoints.variables_by_path(model)
    builder = saved_model.builder.SavedModelBuilder(path, for_tensorflow=True)
    builder.add_meta_graph_and_variables(
        session,
        [saved_model.tag_constants.SERVING],
        {saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        saver=Saver({checkpoints.key_of(name): variable for name, variable in variables.items()}),
    )
    builder.save(as_text)
    training = training_config.describe(model) if include_optimizer else None
    state_of_optimizer = model.optimizer.get_weights() if training is not None else ()
    # The same values once more, with the objects that TensorFlow finds them by.
    checkpoints.save(model, os.path.join(path, _WEIGHTS), session, state_of_optimizer)
    try:
        config = model._config_of_model()
    except NotImplementedError:
        logging.warning("%s has no layers of the model %r, which has a `call` of its own.", path, model.name)
        return
    if training is not None:
        config["training_config"] = training
    storage.make_folders(os.path.join(path, "assets"))
    with storage.opened(os.path.join(path, _LAYERS), "wb") as file:
        file.write(json.dumps(config, default=plain).encode("utf-8"))


def replace(model: Any, path: str, overwrite: bool, include_optimizer: bool) -> None:
    """Writes a model as a SavedModel, where another may stand.

    Raises:
        FileExistsError: There is one, and it must not be replaced; or something else stands there.
    """
    parts = ("saved_model.pb", "saved_model.pbtxt", "variables", "assets")
    there = storage.names(path) if storage.is_folder(path) else [path] if storage.exists(path) else []
    others = [name for name in there if name not in parts]
    if others or (there and not overwrite):
        raise FileExistsError(
            f"{path}: expected nothing, or, with overwrite=True, a SavedModel; found {', '.join(there)}."
        )
    for name in there:
        part = os.path.join(path, name)
        storage.remove_tree(part) if storage.is_folder(part) else storage.remove(part)
    write(model, path, include_optimizer=include_optimizer)


def load_from_saved_model(saved_model_path: str, custom_objects: Objects = None) -> Any:
    """The model that export_saved_model wrote (tf.keras.experimental.load_from_saved_model).

    Args:
        saved_model_path: The folder.
        custom_objects: The program's own classes and functions by name.

    Returns:
        The model, which is not compiled.

    Raises:
        ValueError: The folder has no layers of a model, or a class is not known.
    """
    return read(user_path(saved_model_path), custom_objects, False)


def read(path: str, custom_objects: Objects, compiled: bool) -> Any:
    """The model of a SavedModel; compiled: as it was when it was written, if the folder says so.

    Raises:
        ValueError: The folder has no layers of a model, or a class is not known.
    """
    layers = os.path.join(path, _LAYERS)
    try:
        config = json.loads(storage.read(layers))
    except FileNotFoundError:
        raise ValueError(
            f"{path} is no SavedModel of a Keras model: expected its layers in {layers}, found no such file. "
            "gf.saved_model.load reads other SavedModels."
        ) from None
    except ValueError as error:
        raise ValueError(f"{layers}: expected the JSON of a model, found what is none: {error}.") from error
    with training_config.fits(layers, "the description of a model"):
        model = deserialize_layer(config, custom_objects)
    prefix = os.path.join(path, _WEIGHTS)
    model.load_weights(prefix)
    training = config.get("training_config")
    if compiled and training is not None:
        with training_config.fits(layers, "how the model is trained"):
            training_config.compile_by(model, training, custom_objects)
        training_config.set_optimizer(model, lambda: checkpoints.optimizer_state(prefix))
    elif compiled:
        logging.warning("%s does not say how the model is trained: compile it.", layers)
    return model
