"""Sequential: a model whose layers stand one behind the other (tf.keras.Sequential)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Tensor
from graphflow.keras import ops
from graphflow.keras.engine.base_layer import Layer
from graphflow.keras.engine.input_layer import Input, InputLayer
from graphflow.keras.engine.network_config import deserialize_layer, serialize_layer
from graphflow.keras.engine.node import history_of
from graphflow.keras.engine.training import Model
from graphflow.keras.typing import Arrays, Config, Objects, Phase, Shapes, Tensors
from graphflow.layers.base import Layer as PlainLayer


class Sequential(Model):
    """Layers one behind the other (tf.keras.Sequential).

    The weights are there as soon as the shape of the input is known: said by the first layer, or seen at the first
    call, `build` or `fit`.

    Args:
        layers: The layers; `add` adds others.
        name: The model's name.
    """

    def __init__(self, layers: Sequence[PlainLayer] | None = None, name: str | None = None) -> None:
        self._stack: list[Any] = []
        self._start: Any = None
        """The tensor, or structure of tensors, that the first layer is called with, once that is known."""
        super().__init__(name=name)
        self._build_input_shape: Any = None
        for layer in layers or ():
            self.add(layer)

    def _sublayers(self) -> list[Any]:
        return list(self._stack)

    @property
    def layers(self) -> list[Any]:
        """Its layers, without that of the input."""
        return [layer for layer in self._stack if not isinstance(layer, InputLayer)]

    def add(self, layer: PlainLayer | Tensor) -> None:
        """Puts a layer behind the others.

        Args:
            layer: A layer; or a tensor of gf.keras.Input, which stands for its layer.

        Raises:
            TypeError: It is no layer.
            ValueError: The first layer has several inputs or outputs.
        """
        history = history_of(layer)
        if history is not None and isinstance(layer, Tensor):
            layer = history.layer
        if not isinstance(layer, PlainLayer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer!r}")
        if not self._stack:
            self._begin(layer)
        else:
            self._stack.append(layer)
            if self.outputs:
                self._extend(self.outputs[0], layer)
        self._follow()

    def _begin(self, layer: Any) -> None:
        if isinstance(layer, InputLayer):
            self._stack.append(layer)
            self.inputs = self.outputs = layer.inbound_nodes[-1].flat_outputs
            return
        shape = getattr(layer, "_batch_input_shape", None)
        dtype = layer.dtype
        nested = layer
        while shape is None and isinstance(nested, Model) and nested.layers:
            if nested.inputs:
                shape, dtype = nested.input_shape, nested.inputs[0].dtype
                break
            nested = nested.layers[0]
            shape, dtype = getattr(nested, "_batch_input_shape", None), nested.dtype
        if shape is None:
            self._stack.append(layer)
            return
        start = Input(batch_shape=shape, dtype=dtype, name=f"{layer.name}_input")
        self._stack += [start._keras_history.layer, layer]
        self.inputs = [start]
        self._extend(start, layer)

    def _extend(self, tensor: Any, layer: Any) -> None:
        output = layer(tensor)
        if len(nest.flatten(output)) != 1:
            raise ValueError(
                f"All layers in a Sequential model should have a single output tensor, but {layer.name!r} has "
                f"{len(nest.flatten(output))}. For multi-output layers, use the functional API."
            )
        self.outputs = nest.flatten(output)

    def _follow(self) -> None:
        """Is a model of inputs and outputs from now on, if the shape of the input is known."""
        if self.inputs and self.outputs and len(self.layers) >= 1:
            if all(history_of(t) is not None for t in self.outputs):
                self._connect(self._start if self._start is not None else self.inputs[0], self.outputs[0])
            self.built = True

    def pop(self) -> None:
        """Takes the last layer away; TypeError if there is none."""
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        self._stack.pop()
        self._topology, self.built = None, False
        if not self.layers:
            self.inputs = self.outputs = None
        elif self.inputs:
            last = self._stack[-1]
            self.outputs: Any = last.inbound_nodes[-1].flat_outputs
            self._follow()

    def build(self, input_shape: Shapes = None) -> None:
        """Makes the weights for inputs of a shape, the batch's size among it.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Raises:
            ValueError: No shape is given, and no layer says one.
        """
        if self._is_graph_network or self.inputs:
            self._follow()
            return
        if input_shape is None:
            raise ValueError("You must provide an `input_shape` argument.")
        self._build_input_shape = tuple(shapes.as_shape(input_shape).as_list())
        self._start_from(Input(batch_shape=self._build_input_shape, dtype=self._first_dtype()))

    def _first_dtype(self) -> Any:
        return self.layers[0].dtype if self.layers else None

    def _start_from(self, start: Any) -> None:
        """Lets it begin with a placeholder, or a dictionary of them."""
        self._start, self.inputs = start, nest.flatten(start)
        current: Any = start
        with ops.name_scope(self.name):
            for layer in self._stack:
                self._extend(current, layer)
                current = self.outputs[0]
        self._follow()
        self._load_what_waits()

    def _build_for(self, inputs: Any) -> None:
        self.built: bool = True

    def call(self, inputs: Tensors, training: Phase = None, mask: Tensors = None) -> Any:
        """The outputs of the last layer.

        Args:
            inputs: The first layer's inputs.
            training: Whether it is training, a bool or a scalar tensor; by default the learning phase.
            mask: The inputs' masks, or None.

        Returns:
            A tensor, or a list of them.
        """
        if self._is_graph_network:
            return super().call(inputs, training, mask)
        current = inputs
        for layer in self.layers:
            arguments = {}
            if training is not None and "training" in getattr(layer, "_call_parameters", ()):
                arguments["training"] = training
            current = layer(current, **arguments)
        return current

    def _called(self, inputs: Any, outputs: Any) -> None:
        if not self.inputs and history_of(outputs) is not None and len(nest.flatten(inputs)) == 1:
            self._build_input_shape = tuple(nest.flatten(inputs)[0].shape.as_list())

    def predict_classes(self, x: Arrays, batch_size: int = 32, verbose: int = 0) -> Any:
        """The class of each example: the largest of the outputs, or whether the one output is above 0.5.

        Args:
            x: The inputs, as `predict` takes them.
            batch_size: How many examples are computed at a time.
            verbose: 1 to show progress, 0 not to.

        Returns:
            An array of ints.
        """
        found = self.predict(x, batch_size=batch_size, verbose=verbose)
        return found.argmax(axis=-1) if found.shape[-1] > 1 else (found > 0.5).astype("int32")

    def predict_proba(self, x: Arrays, batch_size: int = 32, verbose: int = 0) -> Any:
        """The outputs, which are probabilities if the last activation makes them so.

        Args:
            x: The inputs, as `predict` takes them.
            batch_size: How many examples are computed at a time.
            verbose: 1 to show progress, 0 not to.

        Returns:
            An array of floats.
        """
        return self.predict(x, batch_size=batch_size, verbose=verbose)

    def get_config(self) -> Config:
        """Its name and layers."""
        config: dict[str, Any] = {
            "name": self.name, "layers": [serialize_layer(layer) for layer in self.layers],
        }  # fmt: skip
        if self._build_input_shape:
            config["build_input_shape"] = self._build_input_shape
        return config

    @classmethod
    def from_config(cls, config: Config, custom_objects: Objects = None) -> Any:
        """The model of a configuration that get_config gave, with new weights.

        Args:
            config: What get_config gave: a dictionary, or a list of layers.
            custom_objects: Classes and functions of the program's own, by name.

        Returns:
            A new model.

        Raises:
            ValueError: The class of a layer is not known.
        """
        name = config.get("name") if isinstance(config, dict) else None
        layers = config["layers"] if isinstance(config, dict) else config
        shape = config.get("build_input_shape") if isinstance(config, dict) else None
        model = cls(name=name)
        for entry in layers:
            model.add(deserialize_layer(entry, custom_objects))
        if not model.inputs and shape:
            model.build(shape)
        return model


__all__ = ["Layer", "Sequential"]
