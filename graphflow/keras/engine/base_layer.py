"""Layer: a function of tensors with variables of its own, whose calls on symbolic inputs make models (tf.keras).

It is a gf.layers.Layer that has its variables in name scopes, not in variable scopes, as Keras does.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

import graphflow.nest as nest
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, InitializerLike, ShapeLike
from graphflow._core.ops.core import graph_of
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation, VariableSynchronization
from graphflow.data.specs import TensorSpec
from graphflow.keras import constraints, initializers, ops, regularizers
from graphflow.keras.backend import settings, state, values
from graphflow.keras.engine import tracking
from graphflow.keras.engine.layer_additions import LayerAdditions
from graphflow.keras.engine.layer_calls import LayerCalls, shape_of
from graphflow.keras.engine.node import Node, history_of, masks_of
from graphflow.keras.engine.op_layers import OperationLayer, give_history
from graphflow.keras.typing import Config, Phase, Shapes, Tensors
from graphflow.layers.base import Layer as PlainLayer
from graphflow.layers.input_spec import check_inputs


class _Call(NamedTuple):
    """A call that is being built."""

    layer: Any
    training: Phase


_calls: ContextVar[tuple[_Call, ...]] = ContextVar("keras_calls", default=())


def snake_case(name: str) -> str:
    """A class's name as names of layers begin: BatchNormalization becomes batch_normalization."""
    inner = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    small = re.sub("([a-z])([A-Z])", r"\1_\2", inner).lower()
    return f"private{small}" if small.startswith("_") else small


class Layer(LayerAdditions, LayerCalls, PlainLayer):
    """A layer, to be derived from: `build` makes weights by add_weight, `call` operations (tf.keras.layers.Layer).

    Args:
        trainable: Whether its weights are trained.
        name: Its name; by default that of the class in small letters, made unique in the graph.
        dtype: Of its weights; by default that of its first input.
        dynamic: Must be false: there are graphs only.
        **kwargs: input_shape or batch_input_shape, the shape of inputs without or with the batch's size, input_dtype,
            batch_size, weights, the arrays that the weights begin with, and activity_regularizer.
    """

    _is_metric = False
    supports_masking = False
    stateful = False

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        self._name = name or state.unique_name(snake_case(type(self).__name__), self._zero_based)
        LayerCalls.__init__(self)
        self._trained = trainable
        self._call_inputs: list[Tensor] = []
        self._initial_weights: Any = kwargs.pop("weights", None)
        regularizer = kwargs.pop("activity_regularizer", None)
        shape = kwargs.pop("batch_input_shape", None)
        if "input_shape" in kwargs or "input_dim" in kwargs:
            inner = kwargs.pop("input_shape", None)
            size = kwargs.pop("input_dim", None)
            inner = (size,) if inner is None else inner
            inner = (inner,) if isinstance(inner, int) else tuple(inner)
            shape = (kwargs.pop("batch_size", None), *inner)
        kwargs.pop("batch_size", None)
        dtype = kwargs.pop("input_dtype", dtype)
        kwargs.pop("autocast", None)
        if dynamic:
            raise ValueError(f"The layer {self._name!r} cannot be dynamic: graphflow runs graphs only.")
        if kwargs:
            raise TypeError(
                f"The layer {self._name!r} ({type(self).__name__}) takes no argument {next(iter(kwargs))!r}."
            )
        PlainLayer.__init__(self, trainable, self._name, dtype, regularizers.get(regularizer))
        if shape is not None:
            self._batch_input_shape = tuple(shapes.as_shape(shape).as_list())

    _zero_based = True
    _unsaved: tuple[str, ...] = ("inbound_nodes", "outbound_nodes")

    # ---- what it is -----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def scope_name(self) -> str:
        """The name scope of its operations: its name."""
        return self._name

    @property
    def trainable(self) -> bool:
        """Whether its weights are trained; setting it sets that of the layers inside."""
        return self._trained

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trained = value
        for layer in self._sublayers():
            layer.trainable = value

    @property
    def dynamic(self) -> bool:
        """False: there are graphs only."""
        return False

    def _sublayers(self) -> list[Any]:
        """The layers that are attributes of it, or in lists and dictionaries that are."""
        found = [layer for value in vars(self).values() for layer in tracking.layers_in(value)]
        return [layer for layer in tracking.once(found) if not getattr(layer, "_is_metric", False)]

    def _own_weights(self) -> tuple[list[Any], list[Any]]:
        """Its own variables, trained and others: those of add_weight, and those that are attributes."""
        known = {id(v) for v in (*self._trainable_weights, *self._non_trainable_weights)}
        added = [
            v for value in vars(self).values() for v in tracking.variables_in(value) if id(v) not in known
        ]
        return (
            [*self._trainable_weights, *(v for v in added if v.trainable)],
            [*self._non_trainable_weights, *(v for v in added if not v.trainable)],
        )

    @property
    def trainable_weights(self) -> list[Variable]:
        """Its variables that are trained; none if the layer is not trainable."""
        if not self.trainable:
            return []
        nested = [v for layer in self._sublayers() for v in layer.trainable_weights]
        return tracking.once([*self._own_weights()[0], *nested])

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """Its variables that are not trained; all if the layer is not trainable."""
        trained, others = self._own_weights()
        nested = self._sublayers()
        if self.trainable:
            return tracking.once([*others, *(v for layer in nested for v in layer.non_trainable_weights)])
        return tracking.once([*trained, *others, *(v for layer in nested for v in layer.weights)])

    @property
    def weights(self) -> list[Variable]:
        """Its variables, those that are trained first."""
        return tracking.once(self.trainable_weights + self.non_trainable_weights)

    def get_weights(self) -> list[Any]:
        """The values of its variables, arrays in the order of `weights`."""
        return values.batch_get_value(self.weights)

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Sets its variables to arrays.

        Args:
            weights: Arrays in the order of `weights`.

        Raises:
            ValueError: There is another number of arrays, or one has another shape than its variable.
        """
        own = self.weights
        if len(own) != len(weights):
            raise ValueError(
                f"The layer {self.name!r} ({type(self).__name__}) has {len(own)} weights, but set_weights() was given "
                f"{len(weights)}: {[v.name for v in own]}."
            )
        values.batch_set_value(zip(own, weights, strict=True))

    def count_params(self) -> int:
        """The number of elements of its variables; ValueError before they are there."""
        if not self.built:
            raise ValueError(
                f"The layer {self.name!r} has no weights yet: call it, or build(input_shape) it, first."
            )
        return sum(values.count_params(v) for v in self.weights)

    def get_config(self) -> Config:
        """The arguments that make a layer like it."""
        config: dict[str, Any] = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        config["dtype"] = None if self._dtype is None else self._dtype.name
        return config

    @classmethod
    def from_config(cls, config: Config) -> Any:
        """The layer of a configuration that get_config gave.

        Args:
            config: What get_config gave.

        Returns:
            A new layer, without weights.
        """
        return cls(**config)

    # ---- weights --------------------------------------------------------------------------------------------------

    def add_weight(  # type: ignore[override]
        self,
        name: str | None = None,
        shape: ShapeLike = None,
        dtype: DTypeLike | None = None,
        initializer: InitializerLike | str | None = None,
        regularizer: Any = None,
        trainable: bool | None = None,
        constraint: Any = None,
        partitioner: Any = None,
        use_resource: bool | None = None,
        synchronization: int = VariableSynchronization.AUTO,
        aggregation: int = VariableAggregation.NONE,
        **kwargs: Any,
    ) -> Variable:
        """A weight of the layer, in the name scope that is open.

        Args:
            name: The name; by default one is made.
            shape: Its shape, of which every size is known; () for a scalar.
            dtype: The dtype; by default the layer's.
            initializer: An initializer, its name or configuration; by default Glorot's uniform one for floats and
                zeros for others.
            regularizer: A function of the weight whose result is added to the loss, or its name.
            trainable: Whether it is trained; by default it is, unless synchronization is ON_READ.
            constraint: A function that gives it its value after each step of training, or its name.
            partitioner: Changes nothing.
            use_resource: Whether it is a resource variable, as gf.Variable says; it is by default.
            synchronization: When a strategy of gf.distribute makes its copies the same.
            aggregation: How a strategy of gf.distribute puts its copies together.
            **kwargs: `collections`: the collections of the graph that it is added to.

        Returns:
            The variable.

        Raises:
            ValueError: The shape is not known, or trainable is asked for together with synchronization=ON_READ.
        """
        if isinstance(name, tuple | list):  # An order that was Keras's before.
            name, shape = None, name
        collections = kwargs.pop("collections", None)
        kind = dtypes.as_dtype(dtype or self._dtype or settings.floatx())
        if self._dtype is None:
            self._dtype = kind
        sizes = [
            None if d is None else int(d) for d in shapes.as_shape(() if shape is None else shape).as_list()
        ]
        if None in sizes:
            raise ValueError(
                f"The weight {name!r} of the layer {self.name!r} has the shape {tuple(sizes)}, which is not known: "
                "give the sizes of the layer's inputs, as in Input(shape=...)."
            )
        if synchronization == VariableSynchronization.ON_READ:
            if trainable:
                raise ValueError(
                    "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable "
                    "variables. You have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
                )
            trainable = False
        trained = trainable is None or trainable
        given: Any = initializer
        make = initializers.get(given)
        if make is None:
            make = initializers.get("glorot_uniform" if kind.is_floating else "zeros")
        variable = Variable(
            lambda: initializers.initial_value(make, sizes, kind),  # type: ignore[arg-type]
            trainable=trained,
            collections=collections,
            name=name,
            dtype=kind,
            constraint=constraints.get(constraint),
            use_resource=use_resource is None or use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )
        state.track_variable(variable)
        measure = regularizers.get(regularizer)
        if measure is not None:
            with get_default_graph().name_scope(f"{name or 'variable'}/Regularizer"):
                self.add_loss(measure(variable))
        (self._trainable_weights if trained else self._non_trainable_weights).append(variable)
        return variable

    # ---- calling --------------------------------------------------------------------------------------------------

    @property
    def _call_parameters(self) -> dict[str, int]:
        """The names that `call` takes, with their positions."""
        found = self.__dict__.get("_parameters_of_call")
        if found is None:
            names = list(inspect.signature(self.call).parameters)
            found = self.__dict__["_parameters_of_call"] = {name: place for place, name in enumerate(names)}
        return found

    def _given(self, name: str, args: Any, kwargs: Any) -> bool:
        """Whether `call` takes an argument, and was given it."""
        place = self._call_parameters.get(name)
        return place is not None and (kwargs.get(name) is not None or 0 < place <= len(args))

    def __call__(self, inputs: Tensors, *args: Any, **kwargs: Any) -> Any:
        """Makes the weights at the first call, then the operations of this one.

        Args:
            inputs: A tensor, or a structure of them.
            *args: More arguments of `call`.
            **kwargs: Arguments of `call` by name, such as `training` and `mask`.

        Returns:
            The output, a tensor or a structure of them.

        Raises:
            ValueError: The inputs are not what the layer takes.
        """
        inputs = nest.map_structure(_as_input, inputs)
        flat = nest.flatten(inputs)
        outer = _calls.get()
        takes = self._call_parameters
        if "mask" in takes and not self._given("mask", args, kwargs):
            mask = masks_of(inputs)
            if mask is not None:
                kwargs["mask"] = mask
        arguments = dict(kwargs)
        if "training" in takes and not self._given("training", args, kwargs):
            kwargs.pop("training", None)
            if outer and outer[-1].training is not None:
                kwargs["training"] = outer[-1].training
        training = kwargs.get("training", outer[-1].training if outer else None)
        symbolic = not outer and give_history(flat, TensorFlowOpLayer)
        if symbolic:
            for argument in nest.flatten([args, kwargs]):
                give_history([argument], TensorFlowOpLayer)
        with ExitStack() as stack:
            stack.enter_context(graph_of(flat).as_default())
            check_inputs(self.input_spec, inputs, self.name)
            stack.enter_context(get_default_graph().name_scope(self._name_scope()))
            token = _calls.set((*outer, _Call(self, training)))
            stack.callback(_calls.reset, token)
            self._build_for(inputs)
            self._call_inputs += [t for t in flat if isinstance(t, Tensor)]
            outputs = self.call(inputs, *args, **kwargs)
            if outputs is None:
                raise ValueError(
                    f"`call` of the layer {self.name!r} ({type(self).__name__}) returned None: it should return a "
                    "tensor, or a list of tensors."
                )
            same = {id(t) for t in flat}
            outputs = nest.map_structure(lambda t: ops.identity(t) if id(t) in same else t, outputs)
            if self.activity_regularizer is not None:
                self._regularize_activity(outputs)
            place = takes.get("mask", 0)  # That of the inputs is 0.
            mask = args[place - 1] if 0 < place <= len(args) else kwargs.get("mask", masks_of(inputs))
            self._mask_outputs(inputs, outputs, mask)
            if symbolic:
                Node(self, inputs, outputs, self._node_arguments(args, arguments))
            self._called(inputs, outputs)
        return outputs

    def _node_arguments(self, args: Any, kwargs: Any) -> dict[str, Any]:
        """The arguments besides the inputs, by name; masks are found again."""
        names = {place: name for name, place in self._call_parameters.items()}
        given = {names.get(place, str(place)): value for place, value in enumerate(args, 1)}
        return {k: v for k, v in {**given, **kwargs}.items() if k != "mask"}

    def _name_scope(self) -> str:
        return self.name

    def _called(self, inputs: Any, outputs: Any) -> None:
        """What a model keeps of its first call."""

    def _build_for(self, inputs: Any) -> None:
        if self.built:
            return
        leaves = nest.flatten(inputs)
        if self._dtype is None and leaves:
            self._dtype = getattr(leaves[0], "dtype", None)
        self.build(nest.map_structure(lambda leaf: getattr(leaf, "shape", None), inputs))
        self.built = True
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None

    def _mask_outputs(self, inputs: Any, outputs: Any, mask: Any) -> None:
        flat = nest.flatten(outputs)
        defines = type(self).compute_mask is not Layer.compute_mask
        if all(getattr(t, "_keras_mask", None) is not None for t in flat):
            return
        found = self.compute_mask(inputs, mask) if defines or self.supports_masking else None
        masks = [None] * len(flat) if found is None else nest.flatten(found)
        for tensor, one in zip(flat, masks if len(masks) == len(flat) else masks * len(flat), strict=False):
            if isinstance(tensor, Tensor):
                tensor._keras_mask = one

    def compute_mask(self, inputs: Tensors, mask: Tensors = None) -> Any:
        """The mask of the outputs: that of the inputs if the layer supports masking.

        Args:
            inputs: The inputs, a tensor or a structure of them.
            mask: Their masks, of the same structure.

        Returns:
            A bool tensor, or None.

        Raises:
            TypeError: There is a mask, and the layer supports none.
        """
        if not self.supports_masking and any(each is not None for each in nest.flatten(mask)):
            raise TypeError(
                f"The layer {self.name!r} ({type(self).__name__}) does not support masking, but was given a mask."
            )
        return mask if self.supports_masking else None

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The shape of the output for an input's shape.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            A shape, or a structure of them.

        Raises:
            NotImplementedError: The layer does not say.
        """
        raise NotImplementedError(
            f"The layer {self.name!r} ({type(self).__name__}) does not say its output's shape: define "
            "compute_output_shape, or call it and ask the output."
        )

    def compute_output_signature(self, input_signature: Any) -> Any:
        """What the layer gives for inputs of a shape and a dtype, without a call of it.

        Args:
            input_signature: A gf.TensorSpec, or a structure of them.

        Returns:
            A gf.TensorSpec, or a structure of them; of the layer's dtype, or if it has none that of the first input.

        Raises:
            TypeError: Something else is given.
        """
        specs = nest.flatten(input_signature)
        for spec in specs:
            if not isinstance(spec, TensorSpec):
                raise TypeError(f"A signature is of TensorSpecs, got {spec!r}.")
        shapes_of_inputs = nest.map_structure(lambda spec: spec.shape, input_signature)
        dtype = self._dtype or specs[0].dtype
        return _as_specs(self.compute_output_shape(shapes_of_inputs), lambda found: TensorSpec(found, dtype))


class TensorFlowOpLayer(OperationLayer, Layer):
    """An operation between layers, as a layer, of which models are made again."""


def _as_specs(found: Any, spec_of: Callable[[Any], Any]) -> Any:
    """Specs in place of shapes, which may be tuples of sizes."""
    if isinstance(found, list | tuple) and any(
        isinstance(one, list | tuple | shapes.TensorShape) for one in found
    ):
        return type(found)(_as_specs(one, spec_of) for one in found)
    return spec_of(found)


def _as_input(leaf: Any) -> Any:
    plain = np.ndarray | np.generic | int | float | Variable
    return ops.convert_to_tensor(leaf) if isinstance(leaf, plain) else leaf


def is_keras_tensor(tensor: Any) -> bool:
    """Whether a tensor is the output of a layer, or of Input (tf.keras.backend.is_keras_tensor).

    Args:
        tensor: A tensor.

    Returns:
        True if it is.
    """
    return history_of(tensor) is not None


__all__ = ["Layer", "TensorFlowOpLayer", "is_keras_tensor", "shape_of", "snake_case"]
