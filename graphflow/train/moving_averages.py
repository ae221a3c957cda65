"""Moving averages of variables and tensors, which often evaluate better than the last step's values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.op_def import FLOATS
from graphflow._core.graph.types import NumberLike, TensorLike, VariableLike
from graphflow._core.ops.array.array import zeros
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.arithmetic import div
from graphflow._core.ops.math.math import cast, minimum, pow_
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Zeros
from graphflow._core.ops.state.state import assign, assign_sub
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_collections import (
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from graphflow._core.ops.state.variable_proto import VariableAggregation
from graphflow._core.ops.state.variable_scope import get_variable_scope, variable_scope
from graphflow.distribute.context import get_distribution_strategy, get_tower_context, one_of_several_towers
from graphflow.distribute.values import DistributedValues, select
from graphflow.distribute.variables import MirroredVariable
from graphflow.train.optimizers.slots import make_slot

__all__ = ["ExponentialMovingAverage", "assign_moving_average", "weighted_moving_average"]


def assign_moving_average(
    variable: VariableLike,
    value: TensorLike,
    decay: NumberLike,
    zero_debias: bool = True,
    name: str | None = None,
) -> Tensor:
    """Moves a variable towards `value`: variable -= (1 - decay) * (variable - value); gives its new value.

    TensorFlow's moving_averages.assign_moving_average.

    Args:
        variable: The average.
        value: The new value.
        decay: Near 1.
        zero_debias: Corrects for a variable that began at zero, as Adam does its moments (Kingma and Ba,
            2015), by two variables NAME/biased and NAME/local_step.
        name: A name for the operation.
    """
    context = one_of_several_towers()
    if context is not None and isinstance(variable, MirroredVariable):
        moved: Tensor = context.merge_call(_assign_mean, variable, value, decay, zero_debias, name)
        return moved
    with op_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        return _move(variable, value, decay, _correction(variable) if zero_debias else None, scope)


def weighted_moving_average(
    value: TensorLike,
    decay: NumberLike,
    weight: TensorLike,
    truediv: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
) -> Tensor:
    """Moves the average of weighted values, and gives it: that of value * weight divided by that of weight.

    TensorFlow's moving_averages.weighted_moving_average. Both averages are variables that begin at zero.

    Args:
        value: The new value, a tensor of numbers whose shape is known.
        decay: Near 1.
        weight: How much the value counts, of a shape that the value's may be multiplied by.
        truediv: Whether whole numbers are divided to fractions, and not to whole numbers.
        collections: The collections of the variables; by default that of global variables.
        name: A name for the scope of the variables.

    Returns:
        The average.

    Raises:
        ValueError: The shape of a value is not known.

    Examples:
        >>> from graphflow.train.moving_averages import weighted_moving_average
        >>> value, weight = gf.placeholder(gf.float32, []), gf.placeholder(gf.float32, [])
        >>> average = weighted_moving_average(value, 0.5, weight)
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     for pair in ((3.0, 4.0), (7.0, 2.0)):
        ...         print(float(session.run(average, dict(zip((value, weight), pair)))))
        3.0
        5.0
    """
    value, weight = convert_to_tensor(value), convert_to_tensor(weight)
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]):
        sums = [
            get_variable(label, like.shape, like.dtype, Zeros(), trainable=False, collections=collections)
            for label, like in (("value_x_weight", value), ("weight", weight))
        ]
        moved = [
            assign_moving_average(variable, new, decay, zero_debias=False)
            for variable, new in zip(sums, (value * weight, weight), strict=True)
        ]
        return moved[0] / moved[1] if truediv else div(moved[0], moved[1])


def _assign_mean(
    strategy: Any, variable: Any, value: Any, decay: Any, zero_debias: bool, name: str | None
) -> Any:
    """Moves every copy of a variable towards the mean of the towers' values."""
    mean = strategy.reduce(VariableAggregation.MEAN, value, variable)
    return _assign_across(strategy, variable, mean, decay, zero_debias, name)


def _assign_across(
    strategy: Any, variable: Any, value: Any, decay: Any, zero_debias: bool, name: str | None = None
) -> Any:
    """Moves every copy of a variable; what corrects it has copies beside them, so it is made across them."""
    correction = None
    if zero_debias:
        with strategy.colocate_vars_with(variable):
            correction = _correction(variable)

    def update(copy: Any, value: Any) -> Tensor:
        with op_scope(name, "AssignMovingAvg", [copy, value, decay]) as scope:
            return _move(copy, value, decay, correction, scope)

    return strategy.update(variable, update, value)


def _move(variable: Any, value: Any, decay: Any, correction: tuple[Any, Any] | None, scope: str) -> Tensor:
    rate = convert_to_tensor(1.0 - decay, name="decay")
    if rate.dtype is not variable.dtype:
        rate = cast(rate, variable.dtype)
    if correction is None:
        return assign_sub(variable, (variable - value) * rate, name=scope)
    biased, local_step = correction
    moved = assign_sub(biased, (biased - value) * rate)
    steps = local_step.assign_add(1)
    return assign(variable, moved / (1 - pow_(1.0 - rate, steps)), name=scope)


def _correction(variable: Any) -> tuple[Any, Any]:
    """The variables `biased` and `local_step` of a variable, of the same kind as that one."""
    kind = {"synchronization": variable.synchronization, "aggregation": variable.aggregation}
    with variable_scope(variable.name.rpartition(":")[0], values=[variable]):
        biased = get_variable(
            _unused("biased"), variable.shape, variable.dtype, initializer=Zeros(), trainable=False, **kind
        )
        local_step = get_variable(
            _unused("local_step"), [], variable.dtype, initializer=Zeros(), trainable=False, **kind
        )
    return biased, local_step


def _unused(name: str) -> str:
    """The name, with _1, _2, ... if the current variable scope has a variable of that name already."""
    scope = get_variable_scope()
    if scope.reuse:
        return name
    taken = {variable.op.name for variable in scope.global_variables()}
    found, index = name, 0
    while scope.full_name(found) in taken:
        index += 1
        found = f"{name}_{index}"
    return found


class ExponentialMovingAverage:
    """Averages in which what is older counts less: shadow -= (1 - decay) * (shadow - value) (tf.train's).

    Args:
        decay: Near 1.
        num_updates: If given, the number of updates so far, and the decay is min(decay, (1 + num_updates) /
            (10 + num_updates)), so that the averages move faster at first.
        zero_debias: Whether averages of tensors, which begin at zero, are corrected for that.
        name: The last part of the averages' names.

    Examples:
        >>> x = gf.Variable(1.0)
        >>> average = gf.train.ExponentialMovingAverage(0.9)
        >>> update = average.apply([x])
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(x.assign(2.0))
        ...     session.run(update)
        ...     print(round(float(session.run(average.average(x))), 3))
        np.float32(2.0)
        1.1
    """

    def __init__(
        self,
        decay: NumberLike,
        num_updates: NumberLike | None = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Variable] = {}

    @property
    def name(self) -> str:
        """The last part of the averages' names."""
        return self._name

    def apply(self, var_list: Sequence[Any] | None = None) -> Operation:
        """An operation that updates the averages of the variables and tensors, by default of all trainable variables.

        Makes the averages at the first call for each: a variable's begins at the variable's initial value, a
        tensor's at zero.

        Args:
            var_list: Variables and tensors; by default the trainable variables.

        Returns:
            The operation that updates the averages.

        Raises:
            TypeError: For one that holds no floats.
        """
        targets = trainable_variables() if var_list is None else list(var_list)
        context = get_tower_context()
        if context is None:
            return self._apply_in(get_distribution_strategy(), targets)
        operation: Operation = context.merge_call(self._apply_across, self, targets)
        return operation

    @staticmethod
    def _apply_across(strategy: Any, averages: Any, targets: Sequence[Any]) -> Operation:
        """Averages what all towers have; each tower's object knows the averages afterwards."""
        objects = averages.values if isinstance(averages, DistributedValues) else [averages]
        first: ExponentialMovingAverage = objects[0]
        operation = first._apply_in(strategy, targets)
        for other in objects[1:]:
            other._averages = first._averages
        return operation

    def _apply_in(self, strategy: Any, targets: Sequence[Any]) -> Operation:
        """Builds the update of the averages; a target that differs between towers is averaged over these, too."""
        graph = get_default_graph()
        fresh: set[Variable] = set()
        for target in targets:
            values = target.values if isinstance(target, DistributedValues) else (target,)
            first = values[0]
            if first.dtype not in FLOATS:
                raise TypeError(
                    f"The variables must be half, float, or double: {first.name} is {first.dtype.name}."
                )
            if first not in self._averages:
                with graph.control_dependencies(None):
                    average = self._make_average(first)
                if self._zero_debias and not isinstance(first, Variable):
                    fresh.add(average)
                self._averages.update((value, average) for value in values)
        with graph.name_scope(self._name) as scope:
            decay = self._current_decay()
            updates = []
            for target in targets:
                average = self._averages[select(0, target)]
                value = target
                if isinstance(target, DistributedValues):
                    value = strategy.reduce(VariableAggregation.MEAN, target, average)
                moved = _assign_across(strategy, average, value, decay, average in fresh)
                updates += strategy.unwrap(moved)
            return group(*updates, name=scope)

    def _make_average(self, target: Any) -> Variable:
        if isinstance(target, Variable):
            average = make_slot(target, target.initialized_value(), self._name)
            target.graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, target)
            return average
        return make_slot(target, lambda: zeros(target.shape, target.dtype), self._name, colocate=False)

    def _current_decay(self) -> Tensor:
        decay = convert_to_tensor(self._decay, name="decay")
        if self._num_updates is None:
            return decay
        updates = cast(self._num_updates, dtypes.float32, name="num_updates")
        return minimum(decay, (1.0 + updates) / (10.0 + updates))

    def average(self, var: VariableLike | Tensor) -> Variable | None:
        """The variable that holds the average of a variable or tensor; None before apply() made it.

        Args:
            var: A variable or tensor.

        Returns:
            The variable, or None.
        """
        return self._averages.get(var)

    def average_name(self, var: VariableLike | Tensor) -> str:
        """The name of the average of a variable or tensor, also before there is one: to restore from a checkpoint.

        Args:
            var: A variable or tensor.

        Returns:
            The name.
        """
        if var in self._averages:
            return self._averages[var].op.name
        return get_default_graph().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Iterable[Any] | None = None) -> dict[str, Any]:
        """{name in a checkpoint: variable}, such that variables with averages are restored from these.

        Args:
            moving_avg_variables: Those to take from their averages, by default the trainable ones and those
                with averages.
        """
        if moving_avg_variables is None:
            moving_avg_variables = trainable_variables() + moving_average_variables()
        averaged = list(dict.fromkeys(moving_avg_variables))
        found = {self.average_name(variable): variable for variable in averaged}
        names = {variable.name for variable in averaged}
        for variable in global_variables():
            if variable.name not in names and variable.op.name not in found:
                found[variable.op.name] = variable
        return found
