"""Layer: a function of tensors with variables of its own, made at its first call and shared by later ones.

A layer has a variable scope, fixed at its first use, in which its variables live whatever scope it is called in; the
operations of each call go to the name scope that was opened with it. Names follow TensorFlow's tf.layers, so that a
checkpoint of one loads into the other.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import graphflow.nest as nest
from graphflow._core.common.shown.docstrings import arguments_said, document
from graphflow._core.common.shown.graphs import facts_html
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import (
    Constraint,
    DTypeLike,
    InitializerLike,
    Partitioner,
    Regularizer,
    ShapeLike,
)
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor, graph_of
from graphflow._core.ops.math import math
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.partitioning import PartitionedVariable
from graphflow._core.ops.state.parts import attribute_parts
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation, VariableSynchronization
from graphflow._core.ops.state.variable_scope import VariableScope, variable_scope
from graphflow._core.ops.state.variable_store import first_use
from graphflow.layers.input_spec import InputSpec, check_inputs
from graphflow.layers.tracked import track

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import ReuseMode


class Layer:
    """A layer, to be derived from: `build` makes the variables by add_weight, `call` the operations (tf.layers.Layer).

    Args:
        trainable: Whether its variables are trained.
        name: Of its variables and operations; by default that of the class in small letters, made unique.
        dtype: Of its variables; by default that of its first input.
        activity_regularizer: A function of each output, whose result divided by the batch's size goes to
            REGULARIZATION_LOSSES.
        _scope: The name or variable scope to take as it is.
        _reuse: Whether the variables exist already.
    """

    def _repr_html_(self) -> str:
        facts: list[tuple[str, Any]] = [("built", self.built), ("trainable", self.trainable)]
        facts += [
            (weight.name, f"{weight.dtype.name} {weight.shape}")
            for weight in [*self._trainable_weights, *self._non_trainable_weights][:50]
        ]
        return facts_html(f"Layer {self._base_name} ({type(self).__name__})", facts)

    def __init__(
        self,
        trainable: bool = True,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        activity_regularizer: Regularizer | None = None,
        _scope: str | VariableScope | None = None,
        _reuse: bool | ReuseMode | None = None,
    ) -> None:
        self.trainable = trainable
        self.built: bool = False
        self.input_spec: InputSpec | Sequence[InputSpec] | None = None
        self.activity_regularizer = activity_regularizer
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._base_name = name or _in_small_letters(type(self).__name__)
        self._reuse = _reuse
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._updates: list[Operation] = []
        self._losses: list[Tensor] = []
        self._scope: VariableScope | None = None
        self._current_scope: VariableScope | None = None
        if _scope:
            with variable_scope(_scope) as captured:
                self._scope = captured

    # ---- what it is -----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The last part of its scope's name; before its first use what it was named, or its class."""
        return self._scope.name.split("/")[-1] if self._scope is not None else self._base_name

    @property
    def scope_name(self) -> str:
        """The prefix of its variables; ValueError before its first use."""
        if self._scope is None:
            raise ValueError(
                f"No name available for layer scope because the layer {self.name!r} has not been used yet: the scope "
                "name is determined the first time the layer is called."
            )
        return self._scope.name

    @property
    def dtype(self) -> str | None:
        """The name of its variables' dtype, which NumPy takes, too; None before its first call if none was given."""
        return None if self._dtype is None else self._dtype.name

    @property
    def trainable_weights(self) -> list[Variable]:
        """Its variables that are trained; none if the layer is not trainable."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """Its variables that are not trained; all if the layer is not trainable."""
        frozen = [] if self.trainable else self._trainable_weights
        return [*frozen, *self._non_trainable_weights]

    @property
    def weights(self) -> list[Variable]:
        """Its variables, those that are trained first."""
        return self.trainable_weights + self.non_trainable_weights

    @property
    def variables(self) -> list[Variable]:
        """Its variables, those that are trained first."""
        return self.weights

    @property
    def trainable_variables(self) -> list[Variable]:
        """Its variables that are trained."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """Its variables that are not trained."""
        return self.non_trainable_weights

    @property
    def updates(self) -> list[Operation]:
        """Operations that each training step must run; none if the layer is not trainable."""
        return list(self._updates) if self.trainable else []

    @property
    def losses(self) -> list[Tensor]:
        """Its regularisation losses, of its variables and of its outputs."""
        return list(self._losses)

    _unsaved: tuple[str, ...] = ()
    """Attributes that lead to nothing that a checkpoint holds."""

    def checkpoint_parts(self) -> Iterable[tuple[str, Any]]:
        """What a gf.train.Checkpoint holds of it: variables, and what has some, by the attributes that they are."""
        weights = (*self._trainable_weights, *self._non_trainable_weights)
        return attribute_parts(self, weights, self._unsaved)

    def count_params(self) -> int:
        """The number of elements of its variables; ValueError before they are there."""
        if not self.built:
            raise ValueError(f"The layer {self.name!r} has no variables yet: call it first.")
        weights: list[Any] = self.weights
        return sum(
            shapes.size_of(weight.shape.dims and tuple(weight.shape.as_list())) or 0 for weight in weights
        )

    # ---- what a derived class overrides ---------------------------------------------------------------------------

    def build(self, input_shape: Any) -> None:
        """Makes the variables; called once, with the shape of the first input, or a structure of shapes.

        Args:
            input_shape: The shape of the inputs.
        """
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Tensor | Any:
        """The layer's operations; returns its output.

        Args:
            inputs: A tensor, whose shape the class describes.
            *args: Further arguments.
            **kwargs: Further arguments by name.
        """
        return inputs

    def compute_output_shape(self, input_shape: Any) -> shapes.TensorShape:
        """The shape of the output for an input's shape.

        Args:
            input_shape: The shape of the inputs.

        Raises:
            RuntimeError: If the layer does not say.
        """
        raise RuntimeError(
            f"The layer {self.name!r} does not say its output's shape: call it and ask the output."
        )

    # ---- making variables, losses and updates ---------------------------------------------------------------------

    def add_weight(
        self,
        name: str,
        shape: ShapeLike = None,
        dtype: DTypeLike | None = None,
        initializer: InitializerLike | None = None,
        regularizer: Regularizer | None = None,
        trainable: bool | None = None,
        constraint: Constraint | None = None,
        use_resource: bool | None = None,
        synchronization: int = VariableSynchronization.AUTO,
        aggregation: int = VariableAggregation.NONE,
        partitioner: Partitioner | None = None,
    ) -> Variable | Any:
        """A variable of the layer: made, or the one that is there if the layer shares; as get_variable.

        Its regularisation loss is added if the variable is new.

        Args:
            name: The variable's name in the layer's scope.
            shape: The shape.
            dtype: By default the layer's.
            initializer: What it begins with.
            regularizer: From the variable to a scalar that is added to the losses.
            trainable: False in a layer that is not.
            constraint: From the updated value to the one that it gets.
            use_resource: Whether it is a resource variable, as gf.Variable says.
            synchronization: Of gf.VariableSynchronization.
            aggregation: Of gf.VariableAggregation.
            partitioner: How it is cut into parts.

        Returns:
            The variable.

        Raises:
            ValueError: If trainable is asked for together with synchronization=ON_READ.
        """
        if synchronization == VariableSynchronization.ON_READ:
            if trainable:
                raise ValueError(
                    "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable "
                    "variables. You have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
                )
            trainable = False
        trained = (trainable is None or trainable) and self.trainable
        self._set_scope(None)
        assert self._scope is not None
        graph = graph_of(())
        existing = set(graph.get_collection(GraphKeys.GLOBAL_VARIABLES)) if regularizer is not None else set()
        sharing = variable_scope(self._scope, reuse=self.built or self._reuse, auxiliary_name_scope=False)
        with sharing as scope, graph.name_scope(scope.original_name_scope):
            self._current_scope = scope
            variable = get_variable(
                name,
                [] if shape is None else shape,
                self._dtype or dtypes.float32 if dtype is None else dtype,
                initializer,
                trainable=trained,
                constraint=constraint,
                partitioner=partitioner,
                use_resource=use_resource,
                synchronization=synchronization,
                aggregation=aggregation,
            )
            parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
            if regularizer is not None:
                for part in [p for p in parts if p not in existing or first_use(p.name)]:
                    with graph.name_scope(f"{name}/Regularizer"):
                        loss = regularizer(part)
                    self.add_loss(loss)
        # A custom getter, or sharing, may have made it otherwise than was asked.
        trained = trained and all(getattr(part, "trainable", True) for part in parts)
        (self._trainable_weights if trained else self._non_trainable_weights).append(variable)
        for part in parts:
            track(graph, part)
        return variable

    def add_variable(self, *args: Any, **kwargs: Any) -> Variable | Any:
        """add_weight under its other name.

        Args:
            *args: As of add_weight.
            **kwargs: As of add_weight.

        Returns:
            The variable.
        """
        return self.add_weight(*args, **kwargs)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds losses, tensors or functions without arguments that make one, to the layer and REGULARIZATION_LOSSES.

        Args:
            losses: A scalar tensor, or a list of them.
            inputs: The inputs that they depend on, or None.
        """
        found = [loss() if callable(loss) else loss for loss in nest.flatten(losses)]
        made = [convert_to_tensor(loss) for loss in found if loss is not None]
        self._losses += made
        _collect(made, GraphKeys.REGULARIZATION_LOSSES)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds operations, tensors or functions without arguments that make one, that each step must run.

        They go to the collection UPDATE_OPS when the call of the layer ends.

        Args:
            updates: An operation, or a list of them.
            inputs: The inputs that they depend on, or None.
        """
        for update in nest.flatten(updates):
            made = update() if callable(update) else update
            self._updates.append(made if isinstance(made, Operation) else made.op)

    # ---- calling --------------------------------------------------------------------------------------------------

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Tensor | Any:
        """Makes the variables at the first call, then the operations of this one; returns the output.

        Other arguments go to `call`; `scope` is the variable scope of a first call.

        Args:
            inputs: A tensor, whose shape the class describes.
            *args: Further arguments of `call`.
            **kwargs: Further arguments of `call` by name.

        Returns:
            What `call` gives.

        Raises:
            ValueError: If the inputs are not what the layer takes.
        """
        scope = kwargs.pop("scope", None)
        with graph_of(nest.flatten(inputs)).as_default():
            self._set_scope(scope)
            assert self._scope is not None
            reuse = True if self.built else self._reuse
            with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as current:
                self._current_scope = current
                if "scope" in inspect.signature(self.call).parameters:
                    kwargs["scope"] = current
                outputs = self._outputs(inputs, args, kwargs)
            _collect(self.updates, GraphKeys.UPDATE_OPS)
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Tensor | Any:
        """The same as calling it.

        Args:
            inputs: A tensor, whose shape the class describes.
            *args: Further arguments of `call`.
            **kwargs: Further arguments of `call` by name.

        Returns:
            What `call` gives.
        """
        return self(inputs, *args, **kwargs)

    def _outputs(self, inputs: Any, args: Any, kwargs: Any) -> Any:
        assert self._current_scope is not None
        inputs = nest.map_structure(_as_input, inputs)
        check_inputs(self.input_spec, inputs, self.name)
        with graph_of(()).name_scope(self._current_scope.original_name_scope):
            if not self.built:
                leaves = nest.flatten(inputs)
                if self._dtype is None and leaves:
                    self._dtype = leaves[0].dtype
                self.build(nest.map_structure(lambda leaf: leaf.shape, inputs))
                self.built = True
            outputs = self.call(inputs, *args, **kwargs)
            if outputs is None:
                raise ValueError(
                    f"A layer's `call` method should return a tensor or a list of tensors, not None "
                    f"(layer: {self.name})."
                )
            if self.activity_regularizer is not None:
                self._regularize_activity(outputs)
        return outputs

    def _regularize_activity(self, outputs: Any) -> None:
        assert self.activity_regularizer is not None
        with graph_of(()).name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss: Any = self.activity_regularizer(output)
                self.add_loss(loss / math.cast(array.shape(output)[0], loss.dtype))

    def _set_scope(self, scope: Any) -> None:
        """Fixes the scope at the first use; a layer that shares takes the name as it is."""
        if self._scope is not None:
            return
        if self._reuse:
            with variable_scope(self._base_name if scope is None else scope) as captured:
                self._scope = captured
        else:
            with variable_scope(scope, default_name=self._base_name) as captured:
                self._scope = captured


def _in_small_letters(name: str) -> str:
    """A class's name as TensorFlow names its layers: Conv2DTranspose becomes conv2d_transpose."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=.)(?=[A-Z][a-z0-9])", "_", name).lower()
    return f"private{parts}" if parts.startswith("_") else parts


def _as_input(leaf: Any) -> Any:
    return (
        convert_to_tensor(leaf)
        if isinstance(leaf, np.ndarray | np.generic | int | float | Variable)
        else leaf
    )


def _collect(elements: Iterable[Any], key: str) -> None:
    """Adds to a collection of the default graph what is not in it."""
    collection = graph_of(()).get_collection_ref(key)
    for element in elements:
        if not any(element is other for other in collection):
            collection.append(element)


def functional(
    layer: type[Layer], name: str, shares: bool = True, example: tuple[str, str] | None = None
) -> Callable[..., Tensor]:
    """The function that makes a layer and calls it, with the arguments `inputs`, the layer's, and `reuse` if it shares.

    The layer's class is the one place that lists and documents them; TensorFlow's functions take the same. `example`
    is a line of Python for the docstring, and what it prints.
    """
    of_layer = [p for p in inspect.signature(layer).parameters.values() if not p.name.startswith("_")]
    of_layer = [p for p in of_layer if p.name != "dtype" and p.kind is not p.VAR_KEYWORD]
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("inputs", positional, annotation="TensorLike"), *of_layer]
    if shares:
        reuse = inspect.Parameter("reuse", positional, default=None, annotation="bool | ReuseMode | None")
        parameters.append(reuse)
    signature = inspect.Signature(parameters, return_annotation="Tensor")

    def function(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{name}(): {error}") from None
        inputs = given.pop("inputs")
        if shares:
            given |= {"_reuse": given.pop("reuse", None), "_scope": given.get("name")}
        return layer(**given)(inputs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = layer.__module__
    function.__signature__ = signature  # type: ignore[attr-defined]
    said = {
        **arguments_said(layer),
        "inputs": "A tensor, of a shape that the layer takes.",
        "reuse": "Whether to take the variables of an earlier layer of that name.",
    }
    sentence = f"{layer.__name__} made and called on `inputs` (tf.layers.{name}): see there."
    function.__doc__ = document(sentence, signature.parameters, said, "The outputs, a tensor.", example)
    return function
