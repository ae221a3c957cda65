"""Kin of Adam: with Nesterov's momentum, by the largest gradient, for rows alone, and counted by the global step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import NumberLike, VariableLike
from graphflow._core.ops.array.array import gather, identity
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.math.math import abs_, cast, maximum, sqrt, square
from graphflow._core.ops.math.math import pow_ as power
from graphflow._core.ops.state.state import assign, scatter_add, scatter_sub, scatter_update
from graphflow.train.optimizers.optimizer import Optimizer
from graphflow.train.optimizers.standard import AdamOptimizer


class NadamOptimizer(AdamOptimizer):
    """Adam whose step looks ahead, as Nesterov's momentum does (tf.contrib.opt.NadamOptimizer; Dozat, 2015).

    Args:
        learning_rate: The length of a step: a number, a scalar tensor, or a function that makes one when the step
            is built.
        beta1: The decay of the average of gradients, in [0, 1).
        beta2: The decay of the average of squared gradients, in [0, 1).
        epsilon: What is added to the root of the second, so that nothing is divided by zero.
        use_locking: Changes nothing.
        name: A name for the operations and slots.

    Examples:
        >>> x = gf.Variable(1.0)
        >>> step = gf.contrib.opt.NadamOptimizer(0.1).minimize(gf.square(x))
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(round(float(session.run(x)), 3))
        0.81
    """

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        rate, beta1, beta2, epsilon = self._corrected_numbers(var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new_m = m + (grad - m) * (1 - beta1)
        new_v = v + (square(grad) - v) * (1 - beta2)
        step = rate * (grad * (1 - beta1) + beta1 * new_m) / (sqrt(new_v) + epsilon)
        locking = self._use_locking
        return group(
            assign(m, new_m, use_locking=locking),
            assign(v, new_v, use_locking=locking),
            var.assign_sub(step, use_locking=locking),
        )

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        rate, beta1, beta2, epsilon = self._corrected_numbers(var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        rows, locking, graph = grad.indices, self._use_locking, get_default_graph()
        part = grad.values * (1 - beta1)
        with graph.control_dependencies([assign(m, m * beta1, use_locking=locking)]):
            new_m = scatter_add(m, rows, part, use_locking=locking)
        with graph.control_dependencies([assign(v, v * beta2, use_locking=locking)]):
            new_v = scatter_add(v, rows, square(grad.values) * (1 - beta2), use_locking=locking)
        ahead = part + beta1 * gather(new_m, rows)
        step = rate * ahead / (sqrt(gather(new_v, rows)) + epsilon)
        return group(scatter_sub(var, rows, step, use_locking=locking), new_m, new_v)


class AdaMaxOptimizer(AdamOptimizer):
    """Adam with the largest gradient, which decays, for the root of squares (tf.contrib.opt.AdaMaxOptimizer).

    Of a sparse gradient only the rows that it has change, with what is kept for them (Kingma and Ba, 2014).

    Args:
        learning_rate: The length of a step: a number, a scalar tensor, or a function that makes one when the step
            is built.
        beta1: The decay of the average of gradients, in [0, 1).
        beta2: The decay of the largest gradient, in [0, 1).
        epsilon: What is added to the largest gradient, so that nothing is divided by zero.
        use_locking: Changes nothing.
        name: A name for the operations and slots.

    Examples:
        >>> x = gf.Variable(1.0)
        >>> step = gf.contrib.opt.AdaMaxOptimizer(0.1).minimize(gf.square(x))
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(round(float(session.run(x)), 3))
        0.9
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike] = 0.001,
        beta1: NumberLike | Callable[[], NumberLike] = 0.9,
        beta2: NumberLike | Callable[[], NumberLike] = 0.999,
        epsilon: NumberLike = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        first = min(var_list, key=lambda v: str(v.name))
        self._create_non_slot_variable(self._call_if_callable(self._betas[0]), "beta1_power", first)
        Optimizer._create_slots(self, var_list)

    def _get_beta_accumulators(self) -> Any:
        return self._get_non_slot_variable("beta1_power")

    def _numbers(self, var: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The rate of this step, and both betas and epsilon, of the variable's dtype."""
        rate, beta1, beta2, epsilon = Optimizer._rule_numbers(self, var)
        return rate / (1 - cast(self._get_beta_accumulators(), var.dtype)), beta1, beta2, epsilon

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        rate, beta1, beta2, epsilon = self._numbers(var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new_m = m + (grad - m) * (1 - beta1)
        new_v = maximum(beta2 * v, abs_(grad))
        locking = self._use_locking
        return group(
            assign(m, new_m, use_locking=locking),
            assign(v, new_v, use_locking=locking),
            var.assign_sub(rate * (new_m / (new_v + epsilon)), use_locking=locking),
        )

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        rate, beta1, beta2, epsilon = self._numbers(var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        rows, locking = grad.indices, self._use_locking
        new_m = gather(m, rows) * beta1 + grad.values * (1 - beta1)
        new_v = maximum(gather(v, rows) * beta2, abs_(grad.values))
        return group(
            scatter_update(m, rows, new_m, use_locking=locking),
            scatter_update(v, rows, new_v, use_locking=locking),
            scatter_sub(var, rows, rate * (new_m / (new_v + epsilon)), use_locking=locking),
        )

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        beta1_power, graph = self._get_beta_accumulators(), get_default_graph()
        with graph.control_dependencies(update_ops), graph.colocate_with(beta1_power.op):
            grown = beta1_power.assign(
                beta1_power * self._rule_tensors["beta1"], use_locking=self._use_locking
            )
        return group(*update_ops, grown, name=name_scope)


class _RowsAlone(AdamOptimizer):
    """Adam whose averages decay only in the rows that a sparse gradient has."""

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        rate, beta1, beta2, epsilon = self._corrected_numbers(var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        rows, locking = grad.indices, self._use_locking
        new_m = beta1 * gather(m, rows) + (1 - beta1) * grad.values
        new_v = beta2 * gather(v, rows) + (1 - beta2) * square(grad.values)
        return group(
            scatter_update(m, rows, new_m, use_locking=locking),
            scatter_update(v, rows, new_v, use_locking=locking),
            scatter_sub(var, rows, rate * new_m / (sqrt(new_v) + epsilon), use_locking=locking),
        )


class LazyAdamOptimizer(_RowsAlone):
    """Adam whose averages decay only in the rows that a sparse gradient has (tf.contrib.opt.LazyAdamOptimizer)."""


class AdamGSOptimizer(AdamOptimizer):
    """Adam that counts its steps by the global step, and keeps no powers itself (tf.contrib.opt.AdamGSOptimizer).

    Args:
        global_step: The variable that counts steps, or a number.
        learning_rate: The length of a step: a number, a scalar tensor, or a function that makes one when the step
            is built.
        beta1: The decay of the average of gradients, in [0, 1).
        beta2: The decay of the average of squared gradients, in [0, 1).
        epsilon: What is added to the root of the second, so that nothing is divided by zero.
        use_locking: Changes nothing.
        name: A name for the operations and slots.

    Examples:
        >>> x, count = gf.Variable(1.0), gf.train.get_or_create_global_step()
        >>> step = gf.contrib.opt.AdamGSOptimizer(count, 0.1).minimize(gf.square(x), count)
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(round(float(session.run(x)), 3))
        0.9
    """

    def __init__(
        self,
        global_step: VariableLike | NumberLike = 0,
        learning_rate: NumberLike | Callable[[], NumberLike] = 0.001,
        beta1: NumberLike | Callable[[], NumberLike] = 0.9,
        beta2: NumberLike | Callable[[], NumberLike] = 0.999,
        epsilon: NumberLike = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._global_step = global_step
        self._steps: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        Optimizer._create_slots(self, var_list)

    def _prepare(self) -> None:
        super()._prepare()
        step: Any = self._global_step
        self._steps = cast(identity(step) + 1, dtypes.float32)

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        numbers: dict[str, Any] = self._rule_tensors
        return power(numbers["beta1"], self._steps), power(numbers["beta2"], self._steps)

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        return group(*update_ops, name=name_scope)


class LazyAdamGSOptimizer(AdamGSOptimizer, _RowsAlone):
    """AdamGSOptimizer whose averages decay only in rows of a sparse gradient (tf.contrib.opt.LazyAdamGSOptimizer)."""
