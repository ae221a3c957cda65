"""A function as a layer (tf.keras.layers.Lambda)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph import shapes
from graphflow._core.graph.graph import Graph
from graphflow.keras import ops
from graphflow.keras.backend import settings
from graphflow.keras.engine.base_layer import Layer
from graphflow.keras.layers import functions_as_data
from graphflow.keras.typing import Config, Objects, Phase, Shapes, Tensors
from graphflow.keras.utils import registry


class Lambda(Layer):
    """A function as a layer (tf.keras.layers.Lambda).

    Args:
        function: A function of the inputs, and of `arguments` by name; also of `mask` and `training` if it has
            arguments of these names.
        output_shape: What compute_output_shape gives: a shape without the batch, or a function of the inputs' shape; by
            default the shape of the function's result, which calls have in any case.
        mask: The mask of the outputs, or a function of inputs and mask.
        arguments: Arguments of the function, by name.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: Any = None,
        arguments: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.function = function
        self.arguments: dict[str, Any] = dict(arguments or {})
        self.mask = mask
        self.supports_masking: bool = mask is not None
        self._output_shape: Any = output_shape
        takes = inspect.signature(function).parameters if callable(function) else {}
        self._passes = [name for name in ("mask", "training") if name in takes]

    def call(self, inputs: Tensors, mask: Tensors = None, training: Phase = None) -> Any:
        """The function's result.

        Args:
            inputs: A tensor, or a structure of them.
            mask: The inputs' mask, a bool tensor, or None.
            training: Whether it is training, a bool or a scalar tensor; by default the learning phase.

        Returns:
            What the function gives.
        """
        given = {"mask": mask, "training": training}
        arguments = {**self.arguments, **{k: given[k] for k in self._passes if k not in self.arguments}}
        return self.function(inputs, **arguments)

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The shape that was said, or that of what the function gives.

        Args:
            input_shape: The shape of the inputs, or a structure of them.

        Returns:
            The shape, or a structure of them.
        """
        said = self._output_shape
        if said is None:
            return self._shape_of_result(input_shape)
        if callable(said):
            return said(input_shape)
        first = _first(input_shape)
        batch = shapes.as_shape(first).as_list()[0]
        if isinstance(said, list) and any(isinstance(one, list | tuple) for one in said):
            return [shapes.TensorShape([batch, *one]) for one in said]
        return shapes.TensorShape([batch, *said])

    def _shape_of_result(self, input_shape: Any) -> Any:
        """The function is called in a graph of its own."""

        def like(given: Any) -> Any:
            if _is_shape(given):
                return ops.placeholder(self._dtype or settings.floatx(), shapes.as_shape(given))
            if isinstance(given, dict):
                return {name: like(one) for name, one in given.items()}
            return type(given)(like(one) for one in given)

        with Graph().as_default():
            return nest.map_structure(lambda tensor: tensor.shape, self.call(like(input_shape)))

    def compute_mask(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """What was said.

        Args:
            inputs: The inputs, a tensor or a structure of them.
            mask: The inputs' mask, a bool tensor, or None.

        Returns:
            A bool tensor, or None.
        """
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def get_config(self) -> Config:
        """The function and the output's shape, as data, and the arguments."""
        function, kind, module = functions_as_data.encode(self.function)
        shape, shape_kind, shape_module = self._output_shape, "raw", None
        if callable(shape):
            shape, shape_kind, shape_module = functions_as_data.encode(shape)
        mask: dict[str, Any] = {}
        if self.mask is not None:
            said, mask_kind, mask_module = functions_as_data.encode(self.mask)
            mask = {"mask": said, "mask_type": mask_kind, "mask_module": mask_module}
        return {
            **super().get_config(), "function": function, "function_type": kind, "module": module,
            "output_shape": shape, "output_shape_type": shape_kind, "output_shape_module": shape_module,
            "arguments": self.arguments, **mask,
        }  # fmt: skip

    @classmethod
    def from_config(cls, config: Config, custom_objects: Objects = None) -> Any:
        """The layer of a configuration; code that this process did not write is taken from custom_objects alone.

        Args:
            config: What get_config gave.
            custom_objects: Classes and functions of the program's own, by name, or by the layer's.

        Returns:
            A new layer.

        Raises:
            ValueError: The function's name is not known, or it is code of a file.
        """
        given = {k: v for k, v in config.items() if not k.startswith(("output_shape", "mask"))}
        kind, module = given.pop("function_type"), given.pop("module", None)
        function = given.pop("function")
        if given.get("name") in (custom_objects or {}):
            found = (custom_objects or {})[given["name"]]
        else:
            found = _decoded(function, kind, module, custom_objects)
        shape, shape_kind = config.get("output_shape"), config.get("output_shape_type", "raw")
        said: Any = tuple(shape) if isinstance(shape, list | tuple) and shape_kind == "raw" else None
        if shape_kind != "raw":
            # Of code of a file the shape is not read: calls have that of the result.
            with suppress(ValueError):
                said = _decoded(shape, shape_kind, config.get("output_shape_module"), custom_objects)
        if config.get("mask") is not None:
            given["mask"] = _decoded(
                config["mask"], config["mask_type"], config.get("mask_module"), custom_objects
            )
        return cls(found, said, **given)


def _decoded(data: Any, kind: str, module: str | None, custom: Objects) -> Any:
    """A function that a configuration has by its name or as code."""
    if kind != "function":
        return functions_as_data.decode(data, module)
    return (None if data in (custom or {}) else functions_as_data.named(data, module)) or registry.find(
        data, "graphflow.keras.activations", "function of a Lambda layer", custom
    )


def _first(input_shape: Any) -> Any:
    """The first of a structure of shapes."""
    while not _is_shape(input_shape):
        input_shape = next(iter(input_shape.values() if isinstance(input_shape, dict) else input_shape))
    return input_shape


def _is_shape(given: Any) -> bool:
    return isinstance(given, shapes.TensorShape) or (
        isinstance(given, list | tuple) and all(isinstance(size, int | None) for size in given)
    )
