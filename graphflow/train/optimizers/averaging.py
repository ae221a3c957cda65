"""An optimizer that also keeps moving averages of what it trains, and a Saver that puts them in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.types import NumberLike, TensorLike, VariableLike
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.state.variable_collections import global_variables
from graphflow.train.moving_averages import ExponentialMovingAverage
from graphflow.train.optimizers.optimizer import Optimizer
from graphflow.train.optimizers.wrapping import wraps_optimizer
from graphflow.train.saving.saver import Saver


@wraps_optimizer
class MovingAverageOptimizer(Optimizer):
    """Another optimizer's steps, with moving averages of the variables (tf.contrib.opt.MovingAverageOptimizer).

    Args:
        opt: The optimizer that computes and applies gradients.
        average_decay: The decay of the averages.
        num_updates: A count that lets the averages move quicker in the beginning, a number or scalar tensor, or None.
        sequential_update: Whether the averages take the values after the step, or may take those before.
    """

    def __init__(
        self,
        opt: Optimizer,
        average_decay: NumberLike = 0.9999,
        num_updates: NumberLike | None = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(False, opt.get_name())
        self._opt = opt
        self._average = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._sequential_update = sequential_update
        self._averages: dict[str, Any] | None = None

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[TensorLike | None, VariableLike]],
        global_step: VariableLike | None = None,
        name: str | None = None,
    ) -> Operation:
        """The operation that takes a step and moves the averages.

        Args:
            grads_and_vars: Pairs (gradient, variable), as compute_gradients gives them.
            global_step: A variable that grows by one with each update, or None.
            name: A name for the other optimizer's operation.

        Returns:
            The operation.
        """
        pairs = list(grads_and_vars)
        train_op = self._opt.apply_gradients(pairs, global_step, name)
        trained: list[Any] = [variable for gradient, variable in pairs if gradient is not None]
        with get_default_graph().control_dependencies([train_op] if self._sequential_update else []):
            moved = self._average.apply(trained)
        self._averages = {v.op.name: self._average.average(v) for v in trained}
        return group(train_op, moved, name="train_with_avg")

    def swapping_saver(
        self,
        var_list: Mapping[str, Any] | Sequence[Any] | None = None,
        name: str = "swapping_saver",
        **kwargs: Any,
    ) -> Saver:
        """A Saver that writes the averages under the names of the variables, and the variables under the averages'.

        What reads such a checkpoint for evaluation has the averages. It is to be made after apply_gradients().

        Args:
            var_list: The variables, a list or {name: variable}; by default all global variables.
            name: A name for the Saver's operations.
            **kwargs: Other arguments of gf.train.Saver.

        Returns:
            The Saver.

        Raises:
            RuntimeError: Before apply_gradients().
            ValueError: If an average or its variable is not among the variables.
        """
        if self._averages is None:
            raise RuntimeError("Must call apply_gradients or minimize before creating the swapping_saver")
        listed = global_variables() if var_list is None else var_list
        named = dict(listed) if isinstance(listed, Mapping) else {v.op.name: v for v in listed}
        other = {name: average.op.name for name, average in self._averages.items()}
        other |= {average: name for name, average in other.items()}
        absent = sorted(other[key] for key in named if key in other and other[key] not in named)
        if absent:
            raise ValueError(
                f"Variables to swap is not in the list of variables to save: {', '.join(absent)}."
            )
        return Saver({key: named[other.get(key, key)] for key in named}, name=name, **kwargs)
