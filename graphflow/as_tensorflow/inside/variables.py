"""Variables as their operations make them, without an initializer (tensorflow.python.ops.state_ops.variable_op).

And which kind of variables there are if nobody says it.
"""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, ShapeLike
from graphflow._core.ops import variable_reads
from graphflow._core.ops.core import apply
from graphflow._core.ops.state.state import VARIABLE
from graphflow._core.ops.state.variable import Variable


def variable(
    shape: ShapeLike, dtype: DTypeLike, shared_name: str = "", name: str = "Variable", container: str = ""
) -> Tensor:
    """A variable of this shape, which gf.assign writes (gen_state_ops.variable).

    Args:
        shape: Of its value.
        dtype: Of its value.
        shared_name: Variables of one shared name are one.
        name: A name for the operation.
        container: That in which it is held.

    Returns:
        The tensor that stands for it.
    """
    attrs = {
        "shape": shapes.as_dims(shape), "dtype": as_dtype(dtype), "shared_name": shared_name, "container": container,
    }  # fmt: skip
    return apply(VARIABLE, (), attrs, name).outputs[0]


def variable_op(
    shape: ShapeLike, dtype: DTypeLike, name: str = "Variable", set_shape: bool = True, container: str = "",
    shared_name: str = "",
) -> Tensor:  # fmt: skip
    """A variable of this shape, which gf.assign writes (state_ops.variable_op).

    Args:
        shape: Of its value.
        dtype: Of its value.
        name: A name for the operation.
        set_shape: Whether its shape is known to the graph.
        container: That in which it is held.
        shared_name: Variables of one shared name are one.

    Returns:
        The tensor that stands for it.
    """
    return variable(shape if set_shape else None, dtype, shared_name, name, container)


def disable_resource_variables() -> None:
    """Has variables be references if nobody says it, which they are (tf.disable_resource_variables)."""
    variable_reads.set_default(False)


def enable_resource_variables() -> None:
    """Has variables be resource variables if nobody says it (tf.enable_resource_variables)."""
    variable_reads.set_default(True)


def is_resource_variable(var: object) -> bool:
    """Whether this is a resource variable (resource_variable_ops.is_resource_variable).

    Args:
        var: A variable, or anything else.
    """
    return isinstance(var, Variable) and variable_reads.is_resource(var.op.outputs[0])


class _AnyResource(type(Variable)):  # type: ignore[misc]  # Whatever class variables have.
    def __instancecheck__(cls, instance: object) -> bool:
        return is_resource_variable(instance)


class ResourceVariable(Variable, metaclass=_AnyResource):
    """A resource variable, whatever the scope says; each of them is an instance, however it was made.

    Args:
        args: Those of gf.Variable, in its order.
        kwargs: Those of gf.Variable.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "use_resource": True})
