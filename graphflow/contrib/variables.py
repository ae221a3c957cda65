"""Finding a model's variables, and giving them values of a program or a checkpoint (tf.contrib.framework).

Names are regular expressions that match from their beginning, as in gf.get_collection: a scope finds what begins so.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.array.shaping import placeholder
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.state.variable_scope import VariableScope
from graphflow.train.saving.checkpoint_utils import CheckpointReader
from graphflow.train.saving.saver import Saver

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable import Variable

_log = logging.getLogger(__name__)

Assignment = tuple[Operation, dict[Any, Any]]


def get_variables(
    scope: str | VariableScope | None = None,
    suffix: str | None = None,
    collection: str = GraphKeys.GLOBAL_VARIABLES,
) -> list[Variable]:
    """The variables of a collection in a scope, whose last part is `suffix` (tf.contrib.framework.get_variables).

    Args:
        scope: A name, which is a regular expression, or a variable scope.
        suffix: A regular expression, the name's end.
        collection: The collection.

    Returns:
        A list of variables.
    """
    if isinstance(scope, VariableScope):
        scope = scope.name
    if suffix is not None:
        scope = f"{scope or ''}.*{suffix}{'' if ':' in suffix else ':'}"
    return get_default_graph().get_collection(collection, scope)


def get_model_variables(
    scope: str | VariableScope | None = None, suffix: str | None = None
) -> list[Variable]:
    """The variables of models (tf.contrib.framework.get_model_variables); see get_variables.

    Args:
        scope: The variable scope; by default the function's name, made unique.
        suffix: The end of the variable's name; None takes all.
    """
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(
    scope: str | VariableScope | None = None, suffix: str | None = None
) -> list[Variable]:
    """The local variables (tf.contrib.framework.get_local_variables); see get_variables.

    Args:
        scope: The variable scope; by default the function's name, made unique.
        suffix: The end of the variable's name; None takes all.
    """
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(
    scope: str | VariableScope | None = None, suffix: str | None = None
) -> list[Variable]:
    """The trainable variables (tf.contrib.framework.get_trainable_variables); see get_variables.

    Args:
        scope: The variable scope; by default the function's name, made unique.
        suffix: The end of the variable's name; None takes all.
    """
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_suffix(suffix: str, scope: str | VariableScope | None = None) -> list[Variable]:
    """The global variables whose names end so (tf.contrib.framework.get_variables_by_suffix).

    Args:
        suffix: The end of the variable's name; None takes all.
        scope: The variable scope; by default the function's name, made unique.
    """
    return get_variables(scope, suffix)


def get_variables_by_name(given_name: str, scope: str | VariableScope | None = None) -> list[Variable]:
    """The global variables whose names' last part is this (tf.contrib.framework.get_variables_by_name).

    Args:
        given_name: The last part of the name.
        scope: The variable scope; by default the function's name, made unique.
    """
    return get_variables(scope, f"/{given_name}:|^{given_name}:")


def get_variables_to_restore(
    include: Sequence[str] | None = None, exclude: Sequence[str] | None = None
) -> list[Variable]:
    """The global variables of the scopes `include`, by default all, without those of the scopes `exclude`.

    TensorFlow: tf.contrib.framework.get_variables_to_restore.

    Args:
        include: Names of scopes, or None for all.
        exclude: Names of scopes to leave out.

    Returns:
        A list of variables.

    Raises:
        TypeError: If one is no list or tuple.
    """
    for argument, scopes in (("include", include), ("exclude", exclude)):
        if not isinstance(scopes, list | tuple | None):
            raise TypeError(f"{argument} is provided but is not a list or a tuple: {scopes!r}.")
    included = get_variables() if include is None else [v for scope in include for v in get_variables(scope)]
    excluded = {v for scope in exclude or () for v in get_variables(scope)}
    return [v for v in included if v not in excluded]


def get_unique_variable(var_op_name: str) -> Variable:
    """The global variable of exactly this name (tf.contrib.framework.get_unique_variable).

    Args:
        var_op_name: The whole name.

    Raises:
        ValueError: If there is none.
    """
    found = get_variables(var_op_name)
    for variable in found:
        if variable.op.name == var_op_name:
            return variable
    if not found:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    others = ", ".join(variable.op.name for variable in found[:5])
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable: there are {others}.")


def filter_variables(
    var_list: Iterable[Any],
    include_patterns: Sequence[str] | None = None,
    exclude_patterns: Sequence[str] | None = None,
    reg_search: bool = True,
) -> list[Variable]:
    """The variables whose names have one of some patterns, and none of others (tf.contrib.framework.filter_variables).

    Args:
        var_list: The variables.
        include_patterns: None includes all.
        exclude_patterns: Regular expressions of names to leave out.
        reg_search: Patterns are searched for, else matched from the beginning.
    """
    find = re.search if reg_search else re.match

    def has(variable: Any, patterns: Sequence[str]) -> bool:
        return any(find(pattern, variable.name) for pattern in patterns)

    return [
        variable
        for variable in var_list
        if (include_patterns is None or has(variable, include_patterns))
        and not has(variable, exclude_patterns or ())
    ]


def get_variable_full_name(var: Variable) -> str:
    """The name of a variable, for a part the whole one's (tf.contrib.framework.get_variable_full_name).

    Args:
        var: The variable.
    """
    info = var.get_save_slice_info()
    name: str = info.full_name if info else var.op.name
    return name


def _assignment(pairs: Iterable[tuple[Any, Any]]) -> Assignment:
    """An operation that assigns values to variables, and what it must be fed."""
    feeds, assignments = {}, []
    for variable, value in pairs:
        fed = placeholder(variable.dtype.base_dtype, variable.shape, name=f"placeholder/{variable.op.name}")
        assignments.append(variable.assign(fed).op)
        feeds[fed] = value
    return group(*assignments), feeds


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> Assignment:
    """(operation, feeds) that give global variables values, by name (tf.contrib.framework.assign_from_values).

    Args:
        var_names_to_values: {name: array}.

    Returns:
        The operation, and what it is fed.

    Raises:
        ValueError: If there is no such variable, or a value has another number of elements.
    """
    pairs = []
    for name, value in var_names_to_values.items():
        found = get_variables(name)
        variable = found[0] if len(found) == 1 else get_unique_variable(name)
        pairs.append((variable, np.asarray(value).reshape(variable.shape.as_list())))
    return _assignment(pairs)


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], Any]:
    """A function of a session that gives variables values (tf.contrib.framework.assign_from_values_fn).

    Args:
        var_names_to_values: {name: array}.

    Returns:
        A function of a session.
    """
    operation, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(operation, feeds)


def assign_from_checkpoint(model_path: str, var_list: Any, ignore_missing_vars: bool = False) -> Assignment:
    """(operation, feeds) that give variables a checkpoint's values (tf.contrib.framework.assign_from_checkpoint).

    Args:
        model_path: The checkpoint.
        var_list: Variables, or {name in the checkpoint: variable or list of variables}.
        ignore_missing_vars: Leaves those out that the checkpoint lacks.

    Returns:
        The operation, and what it is fed.

    Raises:
        ValueError: If one is missing or has another shape.
    """
    grouped: dict[str, list[Any]] = {}
    if isinstance(var_list, Mapping):
        for name, given in var_list.items():
            grouped[name] = list(given) if isinstance(given, list | tuple) else [given]
    else:
        for variable in var_list:
            grouped.setdefault(get_variable_full_name(variable), []).append(variable)
    reader = CheckpointReader(model_path)
    pairs = []
    for name, variables in grouped.items():
        if not reader.has_tensor(name):
            if not ignore_missing_vars:
                raise ValueError(f"Checkpoint is missing variable [{name}]: {model_path}")
            _log.warning("Checkpoint %s is missing the variable %s.", model_path, name)
            continue
        value = np.asarray(reader.get_tensor(name))
        for variable in variables:
            info = variable.get_save_slice_info()
            part = value
            if info:
                edges = zip(info.var_offset, info.var_shape, strict=True)
                part = value[tuple(slice(start, start + size) for start, size in edges)]
            if list(part.shape) != variable.shape.as_list():
                raise ValueError(
                    f"Variable {variable.op.name} has shape {variable.shape}, but {name} in the checkpoint "
                    f"{model_path} has shape {part.shape}."
                )
            pairs.append((variable, part))
    return _assignment(pairs)


def assign_from_checkpoint_fn(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], None] | Any:
    """A function of a session that restores variables (tf.contrib.framework.assign_from_checkpoint_fn).

    None, with a warning, if ignore_missing_vars leaves nothing.

    For the rest see assign_from_checkpoint.

    Args:
        model_path: The checkpoint.
        var_list: Variables, or {name in the checkpoint: variable}.
        ignore_missing_vars: Whether those that it lacks are left out.
        reshape_variables: Restores values of another shape with as many elements.

    Returns:
        A function of a session.

    Raises:
        ValueError: If var_list is empty.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        reader = CheckpointReader(model_path)
        named = var_list if isinstance(var_list, Mapping) else {var.op.name: var for var in var_list}
        for name in [name for name in named if not reader.has_tensor(name)]:
            _log.warning("Checkpoint %s is missing the variable %s.", model_path, name)
        var_list = {name: variable for name, variable in named.items() if reader.has_tensor(name)}
        if not var_list:
            _log.warning("The checkpoint %s has none of the variables: nothing is restored.", model_path)
            return None
    saver = Saver(var_list, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)
