"""Network: layers put together, from inputs to outputs or by a `call` of its own; what models have besides training."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.state.variable import Variable
from graphflow.keras.backend import settings, values
from graphflow.keras.engine import network_config, summaries, tracking
from graphflow.keras.engine.base_layer import Layer, shape_of
from graphflow.keras.engine.input_layer import Input
from graphflow.keras.engine.node import history_of, mask_of
from graphflow.keras.engine.topology import Topology, topology
from graphflow.keras.saving import weights_files
from graphflow.keras.typing import Config, Objects, Phase, Shapes, Tensors


class Network(Layer):
    """Layers put together; tf.keras.Model adds training.

    Network(inputs, outputs) is what lies between the tensors; a class derived from it defines `call`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = list(args)
        inputs = kwargs.pop("inputs", given.pop(0) if len(given) >= 2 else None)
        outputs = kwargs.pop("outputs", given.pop(0) if given else None)
        name = kwargs.pop("name", given.pop(0) if given else None)
        trainable = kwargs.pop("trainable", True)
        dtype = kwargs.pop("dtype", None)
        kwargs.pop("dynamic", None)
        self._topology: Topology | None = None
        self._waiting_weights: str | None = None
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self.inputs: Any = None
        self.outputs: Any = None
        self.input_names: list[str] = []
        self.output_names: list[str] = []
        if (inputs is None) != (outputs is None):
            raise ValueError(f"The model {self.name!r} takes inputs and outputs, both or none of them.")
        if inputs is not None:
            self._connect(inputs, outputs)

    def _connect(self, inputs: Any, outputs: Any) -> None:
        """Makes it what lies between inputs and outputs."""
        self._nested_inputs, self._nested_outputs = inputs, outputs
        self.inputs, self.outputs = nest.flatten(inputs), nest.flatten(outputs)
        for tensor in self.inputs:
            history = history_of(tensor)
            if history is None or history.layer.inbound_nodes[history.node_index].input_tensors is not None:
                raise ValueError(
                    f"The inputs of the model {self.name!r} must come from Input(shape=...), but {tensor!r} does not."
                )
        self._wrap_outputs()
        for tensor in self.outputs:
            if history_of(tensor) is None:
                raise ValueError(
                    f"Output tensors of the model {self.name!r} must be the output of a layer (thus holding past layer "
                    f"metadata). Found: {tensor!r}"
                )
        self._topology = topology(self.inputs, self.outputs)
        histories = [history_of(t) for t in self.outputs]
        self.input_names = [history_of(t).layer.name for t in self.inputs]  # type: ignore[union-attr]
        self.output_names = _once_each([h.layer.name for h in histories if h is not None])
        self.built: bool = True

    def _wrap_outputs(self) -> None:
        from_ops = [t for t in self.outputs if history_of(t) is None]
        if from_ops:
            network_config.give_histories(from_ops)

    @property
    def _is_graph_network(self) -> bool:
        return self._topology is not None

    # ---- layers and weights ---------------------------------------------------------------------------------------

    def _sublayers(self) -> list[Any]:
        return list(self._topology.layers) if self._topology is not None else super()._sublayers()

    @property
    def layers(self) -> list[Any]:
        """Its layers: the inputs' first in a model of inputs and outputs, else in the order of its attributes."""
        return self._sublayers()

    def get_layer(self, name: str | None = None, index: int | None = None) -> Any:
        """The layer of a name, or at an index; ValueError if there is none."""
        layers = self.layers
        if index is not None:
            if not -len(layers) <= index < len(layers):
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has {len(layers)} layers."
                )
            return layers[index]
        if name is None:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in layers:
            if layer.name == name:
                return layer
        raise ValueError(
            f"No such layer: {name}. The model {self.name!r} has {[layer.name for layer in layers]}."
        )

    def _built_weights(self) -> None:
        if (
            not self.built
            and not self._trainable_weights
            and not any(layer.weights for layer in self._sublayers())
        ):
            raise ValueError(
                f"Weights for model {self.name} have not yet been created. Weights are created when the Model is first "
                "called on inputs or `build()` is called with an `input_shape`."
            )

    @property
    def trainable_weights(self) -> list[Variable]:
        """The variables of its layers that are trained, then its own."""
        if not self.trainable:
            return []
        nested = [v for layer in self._sublayers() for v in layer.trainable_weights]
        return tracking.once([*nested, *self._own_weights()[0]])

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The variables of its layers that are not trained, then its own."""
        trained, others = self._own_weights()
        nested = [v for layer in self._sublayers() for v in layer.non_trainable_weights]
        if self.trainable:
            return tracking.once([*nested, *others])
        frozen = [v for layer in self._sublayers() for v in layer.trainable_weights]
        return tracking.once([*frozen, *trained, *nested, *others])

    @property
    def weights(self) -> list[Variable]:
        """The variables of its layers, layer by layer, then its own; ValueError before they are there."""
        self._built_weights()
        nested = [v for layer in self._sublayers() for v in layer.weights]
        return tracking.once([*nested, *self._own_weights()[0], *self._own_weights()[1]])

    def get_weights(self) -> list[Any]:
        """The values of its variables, layer by layer."""
        return values.batch_get_value([v for layer in self.layers for v in layer.weights] or self.weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Sets its variables to arrays, layer by layer; ValueError for another number or other shapes."""
        own = [v for layer in self.layers for v in layer.weights] or self.weights
        if len(own) != len(weights):
            raise ValueError(
                f"The model {self.name!r} has {len(own)} weights, but set_weights() was given {len(weights)}."
            )
        values.batch_set_value(zip(own, weights, strict=True))

    @property
    def stateful(self) -> bool:  # type: ignore[override]
        """Whether a layer keeps its state from batch to batch."""
        return any(getattr(layer, "stateful", False) for layer in self._sublayers())

    @property
    def state_updates(self) -> list[Any]:
        """The operations that keep the states of stateful layers."""
        return [u for layer in self._sublayers() if getattr(layer, "stateful", False) for u in layer.updates]

    def reset_states(self) -> None:
        """Sets the states of stateful layers to their beginning."""
        for layer in self._sublayers():
            if hasattr(layer, "reset_states") and getattr(layer, "stateful", False):
                layer.reset_states()

    # ---- calling --------------------------------------------------------------------------------------------------

    @property
    def _takes_training(self) -> bool:
        return "training" in self._call_parameters

    def build(self, input_shape: Shapes) -> None:
        """Makes the weights for inputs of a shape, by calling it on a placeholder; ValueError if it has no `call`."""
        if self._is_graph_network or self.built:
            self.built = True
            return
        if type(self).call is Network.call:
            raise ValueError(
                f"The model {self.name!r} has neither inputs and outputs nor a `call` of its own."
            )
        if input_shape is None:
            raise ValueError("Input shape must be defined when calling build on a model subclass network.")
        tensors = nest.map_structure(
            lambda s: Input(batch_shape=s),
            input_shape if _is_shapes(input_shape) else shapes.as_shape(input_shape),
        )
        self.__call__(tensors)
        self.built = True

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The outputs for inputs; the first call makes the weights.

        Args:
            inputs: A tensor, or a structure of them.
            *args: More arguments of `call`.
            **kwargs: Arguments of `call` by name, such as `training` and `mask`.

        Returns:
            The output, a tensor or a structure of them.
        """
        outputs = super().__call__(inputs, *args, **kwargs)
        self._load_what_waits()
        return outputs

    def _load_what_waits(self) -> None:
        """Gives weights that were just made the values of a checkpoint that was loaded before they were there."""
        path, self._waiting_weights = self._waiting_weights, None
        if path is not None:
            weights_files.load(self, path, False, False)

    def _build_for(self, inputs: Any) -> None:
        """A model of its own `call` makes its layers' weights there; one that defines `build` does so before."""
        if not self.built:
            if type(self).build is not Network.build and not self._is_graph_network:
                self.build(nest.map_structure(lambda leaf: leaf.shape, inputs))
            self.built = True

    def call(self, inputs: Tensors, training: Phase = None, mask: Tensors = None) -> Any:
        """The outputs for other inputs than those that it was made of: its layers called on them, in order."""
        if self._topology is None:
            raise NotImplementedError(
                "When subclassing the `Model` class, you should implement a `call` method."
            )
        flat = [inputs] if isinstance(inputs, Tensor) else self._in_order(inputs)
        if len(flat) != len(self.inputs):
            raise ValueError(
                f"The model {self.name!r} takes {len(self.inputs)} inputs ({', '.join(self.input_names)}), but was "
                f"called with {len(flat)}."
            )
        known: dict[int, Any] = {}
        masks = [None] * len(flat) if mask is None else nest.flatten(mask)
        for own, given, one in zip(self.inputs, flat, masks, strict=True):
            known[id(own)] = given
            if one is not None and mask_of(given) is None:
                given._keras_mask = one
        for node in self._topology.nodes:
            if node.input_tensors is None:
                continue
            given = nest.map_structure(lambda t: known[id(t)], node.input_tensors)
            arguments = nest.map_structure(lambda v: known.get(id(v), v), node.arguments)
            if training is not None and "training" in getattr(node.outbound_layer, "_call_parameters", ()):
                arguments.setdefault("training", training)
            made = nest.flatten(node.outbound_layer(given, **arguments))
            known.update({id(t): m for t, m in zip(node.flat_outputs, made, strict=True)})
        return nest.map_structure(lambda t: known[id(t)], self._nested_outputs)

    def _in_order(self, inputs: Any) -> list[Any]:
        if isinstance(inputs, dict):
            missing = [n for n in self.input_names if n not in inputs]
            if missing:
                raise ValueError(
                    f"The model {self.name!r} was called without its inputs {', '.join(missing)}."
                )
            return [inputs[n] for n in self.input_names]
        return nest.flatten(inputs)

    def compute_mask(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """The masks of its outputs."""
        if not self._is_graph_network:
            return None
        found = [mask_of(t) for t in self.outputs]
        return None if all(m is None for m in found) else found if len(found) > 1 else found[0]

    def _mask_outputs(self, inputs: Any, outputs: Any, mask: Any) -> None:
        """Its layers have masked the outputs already."""

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The shape of the output for an input's shape."""
        if self._is_graph_network and len(self.outputs) == 1:
            batch = shapes.as_shape(input_shape).as_list()[:1] if not _is_shapes(input_shape) else [None]
            return shapes.TensorShape([*batch, *self.outputs[0].shape.as_list()[1:]])
        return super().compute_output_shape(input_shape)

    @property
    def input_shape(self) -> Any:
        """The shape of its input, as a tuple; a list of them if it has several."""
        if self.inputs is None:
            return super().input_shape
        found = [shape_of(t) for t in self.inputs]
        return found[0] if len(found) == 1 else found

    @property
    def output_shape(self) -> Any:
        """The shape of its output, as a tuple; a list of them if it has several."""
        if self.outputs is None:
            return super().output_shape
        found = [shape_of(t) for t in self.outputs]
        return found[0] if len(found) == 1 else found

    @property
    def input(self) -> Any:
        """The tensor that it takes, or a list of them."""
        if self.inputs is None:
            return super().input
        return self.inputs[0] if len(self.inputs) == 1 else self.inputs

    @property
    def output(self) -> Any:
        """The tensor that it gives, or a list of them."""
        if self.outputs is None:
            return super().output
        return self.outputs[0] if len(self.outputs) == 1 else self.outputs

    # ---- as text and files ----------------------------------------------------------------------------------------

    def get_config(self) -> Config:
        """The layers and how they are connected; NotImplementedError for a model with a `call` of its own."""
        if self._topology is None:
            raise NotImplementedError(
                f"{type(self).__name__} has a `call` of its own: define get_config, or save its weights alone."
            )
        return network_config.config_of(self.name, self._topology, self._nested_inputs, self._nested_outputs)

    @classmethod
    def from_config(cls, config: Config, custom_objects: Objects = None) -> Any:
        """The model of a configuration that get_config gave, with new weights."""
        inputs, outputs, name = network_config.connected(config, custom_objects)
        return cls(inputs=inputs, outputs=outputs, name=name)

    def _config_of_model(self) -> dict[str, Any]:
        return {
            "class_name": type(self).__name__,
            "config": self.get_config(),
            "keras_version": "2.2.4-tf",
            "backend": "tensorflow",
        }

    def to_json(self, **kwargs: Any) -> str:
        """Its layers as JSON, of which model_from_json makes another (tf.keras.Model.to_json)."""
        return json.dumps(self._config_of_model(), default=network_config.plain, **kwargs)

    _unsaved = ("inbound_nodes", "outbound_nodes", "_compiled", "_topology", "_stack", "history")

    def checkpoint_parts(self) -> Iterable[tuple[str, Any]]:
        """What a gf.train.Checkpoint holds of it: its layers by their order, then what its attributes are."""
        if self._is_graph_network or hasattr(self, "_stack"):
            layers = self.layers
            yield from ((f"layer_with_weights-{n}", x) for n, x in enumerate(x for x in layers if x.weights))
            yield from ((f"layer-{n}", layer) for n, layer in enumerate(layers))
        yield from super().checkpoint_parts()

    def save_weights(self, filepath: str, overwrite: bool = True, save_format: str | None = None) -> None:
        """Writes its weights: HDF5 if the file ends in .h5, .hdf5 or .keras, else a checkpoint of TensorFlow's.

        save_format: "h5" or "tf", in place of what the file's name says. overwrite: False keeps a file that is there,
        and raises FileExistsError.
        """
        self._built_weights()
        weights_files.save(self, filepath, overwrite, save_format)

    def load_weights(self, filepath: str, by_name: bool = False, skip_mismatch: bool = False) -> Any:
        """Reads weights that save_weights wrote, here or in TensorFlow.

        by_name: of HDF5, those of layers with the same names alone. skip_mismatch: leaves out, by name, layers of
        other shapes. ValueError if the file has other layers or shapes. Weights that the model's first call makes
        take their values from a checkpoint then.
        """
        return weights_files.load(self, filepath, by_name, skip_mismatch)

    def summary(
        self,
        line_length: int | None = None,
        positions: Sequence[float] | None = None,
        print_fn: Callable[[str], Any] | None = None,
    ) -> None:
        """Prints its layers, their outputs' shapes and numbers of weights; ValueError before the weights are there.

        line_length: characters of a line. positions: where columns end, in shares of it. print_fn: takes each line.
        """
        if not self.built:
            raise ValueError(
                "This model has not yet been built. Build the model first by calling `build()` or calling `fit()` with "
                "some data, or specify an `input_shape` argument in the first layer(s) for automatic build."
            )
        summaries.print_summary(self, line_length, positions, print_fn or print)

    def _dtype_of_inputs(self) -> dtypes.DType:
        return self._dtype or dtypes.as_dtype(settings.floatx())


def _is_shapes(value: Any) -> bool:
    return isinstance(value, dict) or (
        isinstance(value, list | tuple) and bool(value) and all(isinstance(v, list | tuple) for v in value)
    )


def _once_each(names: Sequence[str]) -> list[str]:
    """Names, with _1, _2, ... behind those that were there before."""
    counts: dict[str, int] = {}
    found = []
    for name in names:
        count = counts.get(name, 0)
        counts[name] = count + 1
        found.append(f"{name}_{count}" if count else name)
    return found


def is_class_with_call(model: Any) -> bool:
    """Whether a model has a `call` of its own."""
    return not inspect.isabstract(model) and not model._is_graph_network
