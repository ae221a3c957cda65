"""Operations that run when a model is loaded (tf.saved_model.main_op)."""

from __future__ import annotations

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.state.initializers import tables_initializer
from graphflow._core.ops.state.variable_collections import (
    global_variables_initializer,
    local_variables_initializer,
)


def main_op() -> Operation:
    """An operation that initialises all variables, local ones too, and all tables of the default graph.

    It overwrites what the loader restored; use main_op_with_restore, or an operation of your own, if the variables
    have been trained.
    """
    return group(global_variables_initializer(), local_variables_initializer(), tables_initializer())


def main_op_with_restore(restore_op_name: str) -> Operation:
    """The operation of main_op(), followed by `restore_op_name`: an operation or tensor that restores variables.

    Args:
        restore_op_name: The operation that restores.
    """
    with get_default_graph().control_dependencies([main_op()]):
        return group(restore_op_name)
