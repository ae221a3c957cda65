"""The variables of a graph, by what they are for; what initialises them, and what tells which have no value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.array.array import rank, stack
from graphflow._core.ops.array.compositions import boolean_mask
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import constant
from graphflow._core.ops.math.math import logical_not
from graphflow._core.ops.state.state import is_variable_initialized

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable import Variable


def _in_collection(key: str, scope: str | None) -> list[Variable]:
    return get_default_graph().get_collection(key, scope)


def global_variables(scope: str | None = None) -> list[Variable]:
    """The variables of the default graph that checkpoints hold and the tasks of a cluster share (tf.global_variables).

    Args:
        scope: A regular expression that the beginning of a variable's name must match.

    Returns:
        A list, in the order in which they were made.

    Examples:
        >>> v = gf.Variable(1.0, name="v", trainable=False)
        >>> [variable.name for variable in gf.global_variables()]
        ['v:0']
    """
    return _in_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Variable]:
    """The local variables of the default graph (tf.local_variables).

    Args:
        scope: A regular expression that names begin with; None takes all.
    """
    return _in_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """The model variables of the default graph (tf.model_variables).

    Args:
        scope: A regular expression that names begin with; None takes all.
    """
    return _in_collection(GraphKeys.MODEL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """The variables of the default graph that optimizers train (tf.trainable_variables).

    Args:
        scope: A regular expression that the beginning of a variable's name must match.

    Returns:
        A list, in the order in which they were made.

    Examples:
        >>> a = gf.Variable(1.0, name="a")
        >>> b = gf.Variable(1.0, name="b", trainable=False)
        >>> [v.name for v in gf.trainable_variables()]
        ['a:0']
    """
    return _in_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """The variables with moving averages (tf.moving_average_variables).

    Args:
        scope: A regular expression that names begin with; None takes all.
    """
    return _in_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """An operation that initialises the variables, in the order of their dependencies (tf.variables_initializer).

    Args:
        var_list: The variables.
        name: A name for the operation.

    Returns:
        The operation.
    """
    return group(*[v.initializer for v in var_list], name=name)


def global_variables_initializer() -> Operation:
    """An operation that initialises all global variables (tf.global_variables_initializer).

    Examples:
        >>> v = gf.Variable([1.0, 2.0])
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     print(session.run(v))
        [1. 2.]
    """
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """An operation that initialises all local variables (tf.local_variables_initializer)."""
    return variables_initializer(local_variables())


def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """The names, as a vector of strings, of the variables without a value (tf.report_uninitialized_variables).

    Args:
        var_list: The variables; by default global and local ones.
        name: A name for the operation.

    Returns:
        A vector of strings.
    """
    variables = global_variables() + local_variables() if var_list is None else list(var_list)
    graph = get_default_graph()
    with graph.name_scope(name), graph.device(None), graph.control_dependencies(None):
        if not variables:
            return constant([], dtype=dtypes.string)
        missing = logical_not(stack([is_variable_initialized(v) for v in variables]))
        return boolean_mask(constant([v.op.name for v in variables]), missing)


def assert_variables_initialized(var_list: Sequence[Variable] | None = None) -> Tensor | None:
    """A tensor that fails if a variable has no value (tf.assert_variables_initialized).

    Running it raises FailedPreconditionError then. None if there are no variables.

    Args:
        var_list: The variables; by default all.

    Returns:
        The operation.
    """
    variables = global_variables() + local_variables() if var_list is None else list(var_list)
    if not variables:
        return None
    with variables[0].graph.control_dependencies([identity(v) for v in variables]):
        return stack([rank(identity(v)) for v in variables])
