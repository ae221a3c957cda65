"""The global step: one integer variable that counts the steps of training, found by its collection or its name."""

from __future__ import annotations

import logging
from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import SessionLike, VariableLike
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Zeros
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation

_log = logging.getLogger(__name__)


def global_step(sess: SessionLike, global_step_tensor: VariableLike | Tensor) -> int:
    """The value of the global step in a session (tf.train.global_step).

    Args:
        sess: The session.
        global_step_tensor: The global step, an integer scalar.

    Returns:
        An int.
    """
    return int(sess.run(global_step_tensor))


def find_global_step(graph: Graph) -> Variable | Any:
    """The graph's global step, whatever its dtype, or None if there is none or more than one."""
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        names = ", ".join(f"{step.name}" for step in found)
        _log.error("Multiple tensors in global_step collection: %s.", names)
        return None
    if found:
        return found[0]
    try:
        return graph.get_tensor_by_name(f"{GraphKeys.GLOBAL_STEP}:0")
    except KeyError:
        return None


def get_global_step(graph: Graph | None = None) -> Variable | Any:
    """The graph's global step, or None if there is none or more than one (tf.train.get_global_step).

    Args:
        graph: By default the default graph.

    Raises:
        TypeError: If what has that name is no integer scalar.
    """
    step = find_global_step(graph or get_default_graph())
    if step is not None:
        assert_global_step(step)
    return step


def create_global_step(graph: Graph | None = None) -> Variable:
    """Makes the graph's global step, an int64 scalar that begins at 0 (tf.train.create_global_step).

    Args:
        graph: By default the default graph.

    Raises:
        ValueError: If there is one.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists. Use gf.train.get_or_create_global_step().')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=Zeros(),
            trainable=False,
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Graph | None = None) -> Variable:
    """The graph's global step, made if there is none (tf.train.get_or_create_global_step).

    Args:
        graph: By default the default graph.

    Examples:
        >>> gf.train.get_or_create_global_step().name
        'global_step:0'
    """
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def assert_global_step(global_step_tensor: VariableLike | Tensor) -> None:
    """Raises TypeError unless it is a tensor or variable that holds an integer scalar (tf.train.assert_global_step).

    Args:
        global_step_tensor: The global step, an integer scalar.
    """
    if not isinstance(global_step_tensor, Variable | Tensor):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor!r}.')
    if not global_step_tensor.dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype.name}')
    dims = global_step_tensor.dims
    if dims is not None and dims != () and None not in dims:
        raise TypeError(f'Existing "global_step" is not scalar: {shapes.text(dims)}')
