"""Layers around a layer: for each step, and in both directions of time (tf.keras.layers)."""

from __future__ import annotations

from typing import Any

import graphflow.nest as nest
from graphflow._core.graph import shapes
from graphflow.keras import ops
from graphflow.keras.engine.base_layer import Layer, shape_of
from graphflow.keras.engine.node import history_of
from graphflow.keras.layers.base import ConfiguredLayer
from graphflow.keras.typing import Config, Objects, Phase, Shapes, Tensors
from graphflow.keras.utils import registry


class Wrapper(ConfiguredLayer):
    """A layer around another (tf.keras.layers.Wrapper).

    Args:
        layer: The layer inside.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        self.layer = layer
        super().__init__(**kwargs)

    def build(self, input_shape: Shapes = None) -> None:
        """Builds the layer inside.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.
        """
        if not self.layer.built:
            self.layer._dtype = self.layer._dtype or self._dtype
            self.layer.build(input_shape)
            self.layer.built = True
        self.built = True

    def get_config(self) -> Config:
        """The layer inside, and the other arguments."""
        return {**super().get_config(), "layer": registry.serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config: Config, custom_objects: Objects = None) -> Any:
        """The layer of a configuration that get_config gave.

        Args:
            config: What get_config gave.
            custom_objects: Classes and functions of the program's own, by name.

        Returns:
            A new layer.

        Raises:
            ValueError: The class of the layer inside is not known.
        """
        given = dict(config)
        layer = registry.deserialize(given.pop("layer"), "graphflow.keras.layers", "layer", custom_objects)
        return cls(layer, **given)


class TimeDistributed(Wrapper):
    """A layer for each step of [batch, time, ...] (tf.keras.layers.TimeDistributed).

    Args:
        layer: The layer that is applied to each step.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.

    Raises:
        ValueError: It is no layer.
    """

    supports_masking = True

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Please initialize `TimeDistributed` layer with a `Layer` instance. You passed: {layer!r}"
            )
        super().__init__(layer, **kwargs)

    def build(self, input_shape: Shapes = None) -> None:
        """Builds the layer inside for one step.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Raises:
            ValueError: The inputs have no axis of time.
        """
        sizes = shapes.as_shape(input_shape).as_list()
        if len(sizes) < 3:
            raise ValueError(
                f"`TimeDistributed` Layer should be passed an `input_shape ` with at least 3 axes, got {sizes} in "
                f"the layer {self.name!r}."
            )
        super().build(shapes.TensorShape([sizes[0], *sizes[2:]]))

    def call(self, inputs: Tensors, training: Phase = None, mask: Tensors = None) -> Any:
        """The layer's outputs, step by step; all steps are one batch for it.

        Args:
            inputs: A tensor [batch, steps, ...].
            training: Whether it is training, a bool or a scalar tensor; by default the learning phase.
            mask: The inputs' mask, a bool tensor, or None.

        Returns:
            A tensor [batch, steps, ...].
        """
        sizes, dynamic = shape_of(inputs), ops.shape(inputs)
        arguments: dict[str, Any] = {}
        takes = self.layer._call_parameters
        if "training" in takes and training is not None:
            arguments["training"] = training
        if "mask" in takes and mask is not None:
            arguments["mask"] = _steps_as_batch(mask)
        flat = _steps_as_batch(inputs)
        outputs = (
            self.layer.call(flat, **arguments)
            if not isinstance(self.layer, _models())
            else self.layer(flat, **arguments)
        )
        if self.layer.activity_regularizer is not None:
            self.layer._regularize_activity(outputs)
        made = shape_of(outputs)
        made_dynamic = ops.shape(outputs)
        rest = [made_dynamic[i] if n is None else n for i, n in enumerate(made)][1:]
        time: Any = dynamic[1] if sizes[1] is None else sizes[1]
        result = ops.reshape(outputs, [-1, time, *rest])
        result.set_shape([sizes[0], sizes[1], *made[1:]])
        return result

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """[batch, time, ...the layer's output].

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            The shape.
        """
        sizes = shapes.as_shape(input_shape).as_list()
        inner = self.layer.compute_output_shape(shapes.TensorShape([sizes[0], *sizes[2:]]))
        return shapes.TensorShape([sizes[0], sizes[1], *shapes.as_shape(inner).as_list()[1:]])

    def compute_mask(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """The masks that the layer gives for steps; if none, the steps of which the inputs' mask keeps something.

        Args:
            inputs: A tensor [batch, steps, ...].
            mask: The inputs' mask, a bool tensor, or None.

        Returns:
            A bool tensor [batch, steps, ...], or None.
        """
        sizes = shape_of(inputs)
        if sizes[0]:  # As in TensorFlow 1.15, of a batch whose size is known.
            return mask
        found = self.layer.compute_mask(
            _steps_as_batch(inputs), None if mask is None else _steps_as_batch(mask)
        )
        if found is not None:
            time = ops.shape(inputs)[1] if sizes[1] is None else sizes[1]
            rest = [ops.shape(found)[i] if n is None else n for i, n in enumerate(shape_of(found))][1:]
            result = ops.reshape(found, [-1, time, *rest])
            result.set_shape([sizes[0], sizes[1], *shape_of(found)[1:]])
            return result
        for _ in range(2, 0 if mask is None else len(shape_of(mask))):
            mask = ops.reduce_any(mask, -1)
        return mask


def _steps_as_batch(tensor: Any) -> Any:
    """[batch, steps, ...] as [batch * steps, ...]."""
    sizes, dynamic = shape_of(tensor), ops.shape(tensor)
    found = ops.reshape(tensor, [-1, *(dynamic[i] if n is None else n for i, n in enumerate(sizes) if i > 1)])
    found.set_shape([None, *sizes[2:]])
    return found


def _models() -> Any:
    return tuple(kind for kind in Layer.__subclasses__() if kind.__name__ == "Network")


class Bidirectional(Wrapper):
    """A recurrent layer, and a copy of it that goes backwards (tf.keras.layers.Bidirectional).

    Args:
        layer: The recurrent layer.
        merge_mode: "concat", "sum", "mul", "ave", or None for both outputs.
        weights: Initial values of all weights, those of the forward layer first.
        backward_layer: The layer that goes backwards; by default a copy.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.

    Raises:
        ValueError: `merge_mode` is none of these, something else than a layer is given, or the layers do not fit.
    """

    def __init__(
        self, layer: Any, merge_mode: str | None = "concat", weights: Any = None, backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        if merge_mode not in ("sum", "mul", "ave", "concat", None):
            raise ValueError(f"Invalid merge mode {merge_mode!r}: it is one of sum, mul, ave, concat, None.")
        for given in (layer, *([] if backward_layer is None else [backward_layer])):
            if not isinstance(given, Layer):
                raise ValueError(
                    f"Please initialize `Bidirectional` layer with a `Layer` instance. You passed: {given!r}"
                )
        super().__init__(layer, **kwargs)
        self.merge_mode = merge_mode
        back = layer if backward_layer is None else backward_layer
        if backward_layer is not None:
            _check_backward(layer, backward_layer)
        self.forward_layer: Any = self._copied(layer, "forward_", layer.go_backwards)
        self.backward_layer: Any = self._copied(back, "backward_", not layer.go_backwards)
        del self.layer  # Its copies are the layer's parts; it stays to be asked for, and is none of them.
        vars(self)["layer"] = layer
        self._said = {"layer": registry.serialize_keras_object(layer)}
        if backward_layer is not None:
            self._said["backward_layer"] = registry.serialize_keras_object(backward_layer)
        self.return_sequences: Any = layer.return_sequences
        self.return_state: Any = layer.return_state
        # As in TensorFlow 1.15, where it is no stateful layer for the model even if the layers inside are: training
        # keeps their states, prediction and evaluation begin with them and leave them as they are.
        self.stateful: Any = False
        self.supports_masking = True
        if weights is not None:
            half = len(weights) // 2
            self.forward_layer._initial_weights = weights[:half]
            self.backward_layer._initial_weights = weights[half:]

    @staticmethod
    def _copied(layer: Any, prefix: str, backwards: bool) -> Any:
        config = dict(layer.get_config())
        config["name"] = prefix + layer.name
        config["go_backwards"] = backwards
        config.pop("batch_input_shape", None)
        # Classes of cells that are the program's own need not be registered for a copy.
        cell = getattr(layer, "cell", None)
        cells = [] if cell is None else [cell, *getattr(cell, "cells", ())]
        with registry.CustomObjectScope({type(each).__name__: type(each) for each in cells}):
            made = type(layer).from_config(config)
        if hasattr(made, "zero_output_for_mask"):
            # Outputs of masked steps are zeros, where a layer by itself repeats the one before.
            made.zero_output_for_mask = made.return_sequences
        return made

    def build(self, input_shape: Shapes = None) -> None:
        """Builds both layers.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.
        """
        for layer in (self.forward_layer, self.backward_layer):
            if not layer.built:
                layer._dtype = layer._dtype or self._dtype
                with ops.name_scope(layer.name):
                    layer.build(input_shape)
                layer.built = True
        self.built = True

    def __call__(self, inputs: Tensors, *args: Any, **kwargs: Any) -> Any:
        """Goes over the inputs in both directions.

        Args:
            inputs: A tensor [batch, steps, ...]; or a list of it and the states to begin with.
            *args: More arguments of `call`.
            **kwargs: `initial_state`: the states to begin with, the forward layer's first; and the arguments of
                `call`.

        Returns:
            The output, or a list of it and the last states.
        """
        initial = kwargs.pop("initial_state", None)
        if isinstance(inputs, list | tuple) and initial is None and len(inputs) > 1:
            inputs, *initial = inputs
        if initial is None:
            return super().__call__(inputs, *args, **kwargs)
        initial = nest.flatten(initial)
        every = [inputs, *initial]
        if all(history_of(t) is not None for t in every):
            return super().__call__(every, *args, **kwargs)
        return super().__call__(inputs, *args, initial_state=initial, **kwargs)

    def call(
        self, inputs: Tensors, mask: Tensors = None, training: Phase = None, initial_state: Tensors = None
    ) -> Any:
        """The merged outputs, and the last states if they are asked for.

        Args:
            inputs: A tensor [batch, steps, ...].
            mask: Which steps count, a bool tensor [batch, steps]; by default all.
            training: Whether it is training, a bool or a scalar tensor; by default the learning phase.
            initial_state: The states to begin with, the forward layer's first; by default zeros.

        Returns:
            The output, or a list of it and the last states.
        """
        if isinstance(inputs, list | tuple):
            inputs, *initial_state = inputs
            mask = mask[0] if isinstance(mask, list | tuple) else mask
        begin = nest.flatten(initial_state) if initial_state else []
        half = len(begin) // 2
        outputs = []
        states: list[Any] = []
        for layer, own in ((self.forward_layer, begin[:half]), (self.backward_layer, begin[half:])):
            found = layer.call(inputs, mask=mask, training=training, initial_state=own or None)
            if layer.activity_regularizer is not None:
                layer._regularize_activity(found)
            if self.return_state:
                found, *after = found
                states += after
            outputs.append(found)
        forward, backward = outputs
        if self.return_sequences:
            backward = ops.reverse(backward, [0 if getattr(self.forward_layer, "time_major", False) else 1])
        merged = self._merged(forward, backward)
        if not self.return_state:
            return merged
        return [*(merged if isinstance(merged, list) else [merged]), *states]

    def _merged(self, forward: Any, backward: Any) -> Any:
        if self.merge_mode == "concat":
            return ops.concat([forward, backward], -1)
        if self.merge_mode == "sum":
            return forward + backward
        if self.merge_mode == "ave":
            return (forward + backward) / 2
        return forward * backward if self.merge_mode == "mul" else [forward, backward]

    def reset_states(self) -> None:
        """Sets the states of stateful layers to zeros."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def compute_mask(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """The inputs' mask if there are outputs of all steps.

        Args:
            inputs: A tensor [batch, steps, ...].
            mask: The inputs' mask, a bool tensor, or None.

        Returns:
            A bool tensor, None, or a list of one for each output.
        """
        one = mask[0] if isinstance(mask, list | tuple) else mask
        found = one if self.return_sequences else None
        masks = [found] if self.merge_mode is not None else [found, found]
        states = [None] * (2 * len(nest.flatten(self.forward_layer.cell.state_size)))
        every = [*masks, *(states if self.return_state else [])]
        return every if len(every) > 1 else every[0]

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The shape of the merged outputs.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            The shape.
        """
        found = self.forward_layer.compute_output_shape(input_shape)
        first = shapes.as_shape(found[0] if self.return_state else found).as_list()
        if self.merge_mode == "concat":
            first[-1] = first[-1] * 2
        return shapes.TensorShape(first)

    def get_config(self) -> Config:
        """The layer that was given, and how outputs are merged."""
        return {**ConfiguredLayer.get_config(self), **self._said, "merge_mode": self.merge_mode}

    @classmethod
    def from_config(cls, config: Config, custom_objects: Objects = None) -> Any:
        """The layer of a configuration that get_config gave.

        Args:
            config: What get_config gave.
            custom_objects: Classes and functions of the program's own, by name.

        Returns:
            A new layer.

        Raises:
            ValueError: The class of a layer inside is not known.
        """
        given = dict(config)
        back = given.pop("backward_layer", None)
        if back is not None:
            given["backward_layer"] = registry.deserialize(
                back, "graphflow.keras.layers", "layer", custom_objects
            )
        return super().from_config(given, custom_objects)


def _check_backward(forward: Any, backward: Any) -> None:
    """ValueError unless a layer goes the other way, and gives what the other one does."""
    if forward.go_backwards == backward.go_backwards:
        raise ValueError(
            "The forward and the backward layer of Bidirectional should have different `go_backwards` value."
        )
    for what in ("stateful", "return_sequences", "return_state"):
        if getattr(forward, what) != getattr(backward, what):
            raise ValueError(
                "The forward and the backward layer of Bidirectional are expected to have the same value for attribute "
                f"{what}, got {getattr(forward, what)} and {getattr(backward, what)}."
            )
