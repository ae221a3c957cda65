"""Variables of models, as tf.contrib.framework makes them: in MODEL_VARIABLES, with defaults from arg_scope.

The layers of gf.contrib make theirs here too, so that an arg_scope for model_variable, such as a device, holds there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import (
    DeviceLike,
    DTypeLike,
    InitializerLike,
    Partitioner,
    ShapeLike,
    TensorLike,
)
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation, VariableSynchronization
from graphflow._core.ops.state.variable_scope import get_variable_scope
from graphflow.layers.arg_scope import add_arg_scope


def local_variable(
    initial_value: TensorLike | Callable[[], TensorLike],
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Variable:
    """A variable in LOCAL_VARIABLES alone: not trained and not saved (tf.contrib.framework.local_variable).

    Args:
        initial_value: What it begins with.
        validate_shape: Whether its shape is known and stays.
        name: A name for the operation.
        use_resource: Whether it is a resource variable, as gf.Variable says.

    Returns:
        The variable.
    """
    return Variable(
        initial_value,
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES],
        validate_shape=validate_shape,
        name=name,
        use_resource=use_resource,
    )


def global_variable(
    initial_value: TensorLike | Callable[[], TensorLike],
    validate_shape: bool = True,
    name: str | None = None,
    use_resource: bool | None = None,
) -> Variable:
    """A variable in GLOBAL_VARIABLES that is not trained (tf.contrib.framework.global_variable).

    Args:
        initial_value: What it begins with.
        validate_shape: Whether its shape is known and stays.
        name: A name for the operation.
        use_resource: Whether it is a resource variable, as gf.Variable says.

    Returns:
        The variable.
    """
    return Variable(
        initial_value,
        trainable=False,
        collections=[GraphKeys.GLOBAL_VARIABLES],
        validate_shape=validate_shape,
        name=name,
        use_resource=use_resource,
    )


@add_arg_scope
def variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike | None = None,
    initializer: InitializerLike | None = None,
    regularizer: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    caching_device: DeviceLike | None = None,
    device: DeviceLike | None = None,
    partitioner: Partitioner | None = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: int = VariableSynchronization.AUTO,
    aggregation: int = VariableAggregation.NONE,
) -> Variable | Any:
    """gf.get_variable on a device, with defaults from arg_scope (tf.contrib.framework.variable).

    For the rest see gf.get_variable.

    Args:
        name: A name for the operation.
        shape: The shape.
        dtype: The dtype.
        initializer: What it begins with.
        regularizer: From the variable to a scalar that is added to the losses.
        trainable: Whether its variables are among those that optimizers train.
        collections: Collections that it is added to.
        caching_device: Accepted, and not needed.
        device: a device, or a function of the operation.
        partitioner: How it is cut into parts.
        custom_getter: Is called instead of gf.get_variable, with its arguments and `reuse`.
        use_resource: Whether it is a resource variable, as gf.Variable says.
        synchronization: Of gf.VariableSynchronization.
        aggregation: Of gf.VariableAggregation.

    Returns:
        The variable.
    """
    getter = get_variable
    if custom_getter is not None:
        getter = partial(custom_getter, reuse=get_variable_scope().reuse)
    wanted = [GraphKeys.GLOBAL_VARIABLES] if collections is None else dict.fromkeys(collections)
    with get_default_graph().device(device) if device else nullcontext():
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=list(wanted),
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


@add_arg_scope
def model_variable(
    name: str,
    shape: ShapeLike = None,
    dtype: DTypeLike = dtypes.float32,
    initializer: InitializerLike | None = None,
    regularizer: Callable[[Any], Any] | None = None,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    caching_device: DeviceLike | None = None,
    device: DeviceLike | None = None,
    partitioner: Partitioner | None = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: int = VariableSynchronization.AUTO,
    aggregation: int = VariableAggregation.NONE,
) -> Variable | Any:
    """`variable`, in GLOBAL_VARIABLES and MODEL_VARIABLES beside the collections given.

    TensorFlow: tf.contrib.framework.model_variable.

    Args:
        name: A name for the operation.
        shape: The shape.
        dtype: The dtype.
        initializer: What it begins with.
        regularizer: From the variable to a scalar that is added to the losses.
        trainable: Whether its variables are among those that optimizers train.
        collections: Collections that it is added to.
        caching_device: Accepted, and not needed.
        device: The device.
        partitioner: How it is cut into parts.
        custom_getter: Called instead of gf.get_variable.
        use_resource: Whether it is a resource variable, as gf.Variable says.
        synchronization: Of gf.VariableSynchronization.
        aggregation: Of gf.VariableAggregation.

    Returns:
        The variable.
    """
    return variable(
        name,
        shape=shape,
        dtype=dtype,
        initializer=initializer,
        regularizer=regularizer,
        trainable=trainable,
        collections=[*(collections or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES],
        caching_device=caching_device,
        device=device,
        partitioner=partitioner,
        custom_getter=custom_getter,
        use_resource=use_resource,
        synchronization=synchronization,
        aggregation=aggregation,
    )


def add_model_variable(var: Variable) -> None:
    """Adds a variable to MODEL_VARIABLES, if it is not in it (tf.contrib.framework.add_model_variable).

    Args:
        var: The variable.
    """
    found = get_default_graph().get_collection_ref(GraphKeys.MODEL_VARIABLES)
    if not any(var is other for other in found):
        found.append(var)
