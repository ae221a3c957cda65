"""What optimizers ask of gradients and variables: which have one, which are whole, which rows repeat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, ValuesView
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.ops.array.array import shape
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.segments import unsorted_segment_sum
from graphflow._core.ops.math.sorting import unique
from graphflow._core.ops.state.variable_proto import VariableAggregation
from graphflow.distribute.context import get_distribution_strategy, get_loss_reduction
from graphflow.distribute.values import DistributedValues, select


def is_known(dims: TensorShape) -> bool:
    """Whether every size of the shape is known."""
    return bool(dims.is_fully_defined())


def present_gradients(grads_and_vars: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The pairs that have a gradient, which is a tensor or slices then, of the variable's dtype."""
    return [
        (g if isinstance(g, Tensor | IndexedSlices) else convert_to_tensor(g, dtype=v.dtype), v)
        for g, v in grads_and_vars
        if g is not None
    ]


def flat_variables(var_list: Any) -> list[Any]:
    """The variables of a var_list, which may hold lists, partitioned variables and mappings."""
    if isinstance(var_list, Mapping):
        var_list = [var_list[key] for key in sorted(var_list)]
    variables: list[Any] = []
    for item in var_list if isinstance(var_list, list | tuple | ValuesView) else [var_list]:
        if isinstance(item, list | tuple) or hasattr(item, "_get_variable_list"):
            variables += flat_variables(list(item))
        elif isinstance(item, Tensor) or hasattr(item, "_ref"):
            variables.append(item)
        else:
            raise TypeError(f"Argument is not a gf.Variable: {item}")
    return variables


def trained_by_towers(pairs: Any) -> str:
    """The names of the variables that each tower has gradients for."""
    one = (
        pairs
        if isinstance(pairs, DistributedValues)
        else next(v for _, v in pairs if isinstance(v, DistributedValues))
    )
    towers = [select(index, pairs) for index in range(len(one.values))]
    return "; ".join(f"tower {index} {[v.name for _, v in own]}" for index, own in enumerate(towers))


def part_of_mean(loss: Tensor) -> Tensor:
    """The tower's part of the mean loss of all towers; the loss itself if the towers' losses are to be added."""
    towers = get_distribution_strategy().num_towers
    if towers == 1 or get_loss_reduction() != VariableAggregation.MEAN:
        return loss
    part: Tensor = loss * (1.0 / towers)
    return part


def unrepeated(gradient: IndexedSlices) -> IndexedSlices:
    """The same slices with each row once."""
    rows, positions = unique(gradient.indices)
    summed = unsorted_segment_sum(gradient.values, positions, shape(rows)[0])
    return IndexedSlices(summed, rows, gradient.dense_shape)
