"""get_variable: a variable by its name, made or shared as the variable scope says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import (
    Constraint,
    DeviceLike,
    DTypeLike,
    InitializerLike,
    Partitioner,
    Regularizer,
    ShapeLike,
)
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.state.partitioning import PartitionedVariable
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation, VariableSynchronization
from graphflow._core.ops.state.variable_scope import scopes_of, variable_scope
from graphflow._core.ops.state.variable_store import Request


def get_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool | None = None,
    collections: Iterable[str] | None = None,
    caching_device: DeviceLike | None = None,
    partitioner: Partitioner | None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: Constraint | None = None,
    synchronization: int = VariableSynchronization.AUTO,
    aggregation: int = VariableAggregation.NONE,
) -> Variable | Any:
    """The variable of that name in the current variable scope: made, or shared if the scope says so (tf.get_variable).

    Any thread may call it.

    Args:
        name: Its name, put after that of the variable scope.
        shape: Its shape, which must be known for a new variable unless `initializer` is a value, or a function
            without parameters.
        dtype: The type of its elements; by default the scope's, which is float32.
        initializer: A value, or a function of shape, dtype and partition_info; by default the scope's, or Glorot's
            uniform draws for floats and zeros for other types.
        regularizer: What it returns for a new variable goes to the collection REGULARIZATION_LOSSES.
        trainable: Whether optimizers train it; True by default.
        collections: The collections that it is added to; GLOBAL_VARIABLES by default.
        caching_device: Changes nothing.
        partitioner: Makes a PartitionedVariable, of as many parts along each axis as it returns.
        validate_shape: Whether the initial value must have a known shape.
        use_resource: Whether it is a resource variable, as gf.Variable says; by default as its scope says.
        custom_getter: A function (getter, name, ...) that is asked for the variable instead of `getter`, which
            makes it.
        constraint: What an optimizer applies to the value after each update.
        synchronization: A VariableSynchronization, for distribution strategies.
        aggregation: A VariableAggregation, for distribution strategies.

    Returns:
        The Variable, or PartitionedVariable.

    Raises:
        ValueError: It exists and must not, is missing and must not be made, or has another shape or dtype; the
            message names the lines of both.

    Examples:
        >>> w = gf.get_variable("w", [2, 3], initializer=gf.zeros_initializer())
        >>> w.name, w.shape.as_list(), w.dtype.base_dtype
        ('w:0', [2, 3], gf.float32)
    """
    request = Request(
        name, shape, None, initializer, regularizer, None, trainable, collections, caching_device, partitioner,
        validate_shape, use_resource, constraint, synchronization, aggregation,
    )  # fmt: skip
    graph = get_default_graph()
    scopes = scopes_of(graph)
    scope = scopes.threads.current
    with graph.name_scope(None):
        if dtype is not None and initializer is not None and not callable(initializer):
            given = convert_to_tensor(initializer).dtype
            if given is not dtypes.as_dtype(dtype):
                raise ValueError(
                    f"Variable {scope.full_name(name)}: initializer type {given.name!r} and explicit dtype "
                    f"{dtypes.as_dtype(dtype).name!r} don't match. Leave the dtype out, or convert the initializer."
                )
        scope.complete(request, dtype)
        return scopes.store.get(request, scope.custom_getter if custom_getter is None else custom_getter)


def get_local_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Regularizer | None = None,
    trainable: bool = False,
    collections: Iterable[str] | None = None,
    caching_device: DeviceLike | None = None,
    partitioner: Partitioner | None = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: Constraint | None = None,
    synchronization: int = VariableSynchronization.AUTO,
    aggregation: int = VariableAggregation.NONE,
) -> Variable | Any:
    """The same as get_variable, for a variable that is local to the process: not trained, not saved, not on a ps task.

    Its collection is LOCAL_VARIABLES; `trainable` is ignored (tf.get_local_variable).

    Args:
        name: The variable's name in its scope.
        shape: The shape.
        dtype: The dtype.
        initializer: What it begins with.
        regularizer: From the variable to a scalar that is added to the losses.
        trainable: Whether its variables are among those that optimizers train.
        collections: Collections that it is added to; by default LOCAL_VARIABLES.
        caching_device: Accepted, and not needed.
        partitioner: How it is cut into parts.
        validate_shape: Whether its shape is known and stays.
        use_resource: Whether it is a resource variable.
        custom_getter: Called instead of the one that makes variables.
        constraint: From the updated value to the one that it gets.
        synchronization: Of gf.VariableSynchronization.
        aggregation: Of gf.VariableAggregation.

    Returns:
        The variable.
    """
    return get_variable(
        name, shape, dtype, initializer, regularizer, False, [*(collections or ()), GraphKeys.LOCAL_VARIABLES],
        caching_device, partitioner, validate_shape, use_resource, custom_getter, constraint, synchronization,
        aggregation,
    )  # fmt: skip


def create_partitioned_variables(
    shape: Sequence[int],
    slicing: Sequence[int],
    initializer: InitializerLike,
    dtype: DTypeLike = dtypes.float32,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    name: str | None = None,
    reuse: bool | None = None,
) -> list[Variable]:
    """The parts of a variable cut as `slicing` says: a count for each axis (tf.create_partitioned_variables).

    Args:
        shape: The shape of all together.
        slicing: How many parts along each axis.
        initializer: What it begins with.
        dtype: The dtype.
        trainable: Whether its variables are among those that optimizers train.
        collections: Collections that they are added to.
        name: A name for the operation.
        reuse: Whether variables that are there are taken.

    Returns:
        A list of variables.
    """
    if len(shape) != len(slicing):
        raise ValueError(
            f"'shape' and 'slicing' must have the same length: shape: {shape}, slicing: {slicing}"
        )
    with (
        variable_scope(name, "PartitionedVariable", reuse=reuse) as scope,
        get_default_graph().name_scope(None),
    ):
        request = Request(
            "",
            shape,
            None,
            initializer,
            None,
            None,
            trainable,
            collections,
            partitioner=lambda shape, dtype: slicing,
        )
        scope.complete(request, dtype)
        request.name = scope.name
        variable: PartitionedVariable = scopes_of().store.get(request)
        return list(variable)
