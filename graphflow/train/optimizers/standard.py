"""The optimizers, each with its update rule from ops.training and TensorFlow 1's arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import NumberLike
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.math.math import cast, sqrt
from graphflow._core.ops.state.state import assign, scatter_add, scatter_sub
from graphflow.train.optimizers.optimizer import Optimizer, UpdateRule


class GradientDescentOptimizer(Optimizer):
    """var -= learning_rate * gradient (tf.train.GradientDescentOptimizer).

    Args:
        learning_rate: A number, a scalar tensor, or a function that makes one when the step is built.
        use_locking: Changes nothing.
        name: A name for the operations of a step.

    Examples:
        >>> x = gf.Variable(1.0)
        >>> step = gf.train.GradientDescentOptimizer(0.1).minimize(gf.square(x))
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(session.run(x))
        0.8
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike],
        use_locking: bool = False,
        name: str = "GradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._update_rule = UpdateRule("GradientDescent", {}, {"learning_rate": learning_rate})

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        """Rows that repeat are subtracted one after the other, which is the same."""
        (rate,) = self._rule_numbers(var)
        return scatter_sub(var, grad.indices, grad.values * rate, use_locking=self._use_locking)


class MomentumOptimizer(Optimizer):
    """Gradient descent with momentum, of Nesterov's kind on request (tf.train.MomentumOptimizer).

    accum = momentum * accum + gradient; var -= learning_rate * accum (Sutskever et al., 2013).

    Args:
        learning_rate: A float, or a scalar tensor.
        momentum: The share of the last step that goes on, a float or scalar tensor.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.
        use_nesterov: Whether the gradient is taken as Nesterov has it.

    Examples:
        >>> x = gf.Variable(1.0)
        >>> step = gf.train.MomentumOptimizer(0.1, momentum=0.9).minimize(gf.square(x))
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     session.run(step)
        ...     print(round(float(session.run(x)), 3))
        0.46
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike],
        momentum: NumberLike | Callable[[], NumberLike],
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        rule = "NesterovMomentum" if use_nesterov else "Momentum"
        numbers = {"learning_rate": learning_rate, "momentum": momentum}
        super().__init__(use_locking, name)
        self._update_rule = UpdateRule(rule, {"momentum": 0.0}, numbers)


class AdagradOptimizer(Optimizer):
    """Steps divided by the root of the sum of squared gradients (tf.train.AdagradOptimizer; Duchi et al., 2011).

    Args:
        learning_rate: A float, or a scalar tensor.
        initial_accumulator_value: What the sums begin with, above 0.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike],
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        slots = {"accumulator": initial_accumulator_value}
        super().__init__(use_locking, name)
        self._update_rule = UpdateRule("Adagrad", slots, {"learning_rate": learning_rate})


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad with L1 and L2 regularisation by proximal steps (tf.train.ProximalAdagradOptimizer).

    Args:
        learning_rate: A float, or a scalar tensor.
        initial_accumulator_value: What the sums begin with, above 0.
        l1_regularization_strength: At least 0.
        l2_regularization_strength: At least 0.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike],
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        numbers = {
            "learning_rate": learning_rate,
            "l1": l1_regularization_strength,
            "l2": l2_regularization_strength,
        }
        slots = {"accumulator": initial_accumulator_value}
        super().__init__(use_locking, name)
        self._update_rule = UpdateRule("ProximalAdagrad", slots, numbers)


class AdadeltaOptimizer(Optimizer):
    """Steps scaled by running averages of squared gradients and updates (tf.train.AdadeltaOptimizer; Zeiler, 2012).

    Args:
        learning_rate: A float, or a scalar tensor.
        rho: The decay of the averages.
        epsilon: A small number added to them.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike] = 0.001,
        rho: NumberLike = 0.95,
        epsilon: NumberLike = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        slots = {"accum": 0.0, "accum_update": 0.0}
        numbers = {"lr": learning_rate, "rho": rho, "epsilon": epsilon}
        super().__init__(use_locking, name)
        self._update_rule = UpdateRule("Adadelta", slots, numbers)


class RMSPropOptimizer(Optimizer):
    """Steps divided by the root of a running average of squared gradients (tf.train.RMSPropOptimizer; Hinton, 2012).

    Args:
        learning_rate: The length of a step: a number, a scalar tensor, or a function that makes one when the step
            is built.
        decay: The decay of the average.
        momentum: The share of the last step that is added to this one.
        epsilon: What is added under the root.
        use_locking: Changes nothing.
        centered: Whether the average gradient is taken off, so that the root is the standard deviation.
        name: A name for the operations and slots.

    Examples:
        >>> x = gf.Variable(1.0)
        >>> step = gf.train.RMSPropOptimizer(0.1).minimize(gf.square(x))
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     before = session.run(x)
        ...     session.run(step)
        ...     print(bool(session.run(x) < before))
        True
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike],
        decay: NumberLike = 0.9,
        momentum: NumberLike | Callable[[], NumberLike] = 0.0,
        epsilon: NumberLike = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        numbers = {"learning_rate": learning_rate, "decay": decay, "momentum": momentum, "epsilon": epsilon}
        slots = {"rms": 1.0, "mg": 0.0, "momentum": 0.0} if centered else {"rms": 1.0, "momentum": 0.0}
        super().__init__(use_locking, name)
        self._update_rule = UpdateRule("CenteredRMSProp" if centered else "RMSProp", slots, numbers)
        self._centered = centered

    def _rule_variables(self, var: Any) -> list[Any]:
        names = ("mg", "rms", "momentum") if self._centered else ("rms", "momentum")
        return [var, *[self.get_slot(var, name) for name in names]]


class AdamOptimizer(Optimizer):
    """Steps by running averages of gradients and squared gradients (tf.train.AdamOptimizer; Kingma and Ba, 2014).

    For a sparse gradient the averages of all rows decay, as in TensorFlow.

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
        >>> step = gf.train.AdamOptimizer(0.1).minimize(gf.square(x))
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
        name: str = "Adam",
    ) -> None:
        numbers = {"learning_rate": learning_rate, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
        super().__init__(use_locking, name)
        self._betas = beta1, beta2
        self._update_rule = UpdateRule("Adam", {"m": 0.0, "v": 0.0}, numbers)

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        first = min(var_list, key=lambda v: str(v.name))
        self._create_non_slot_variable(self._call_if_callable(self._betas[0]), "beta1_power", first)
        self._create_non_slot_variable(self._call_if_callable(self._betas[1]), "beta2_power", first)
        super()._create_slots(var_list)

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        return self._get_non_slot_variable("beta1_power"), self._get_non_slot_variable("beta2_power")

    def _rule_numbers(self, var: Any) -> list[Tensor]:
        powers = [
            cast(power, var.dtype) if power.dtype is not var.dtype else power
            for power in self._get_beta_accumulators()
        ]
        return [*powers, *super()._rule_numbers(var)]

    def _corrected_numbers(self, var: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The rate, corrected for averages that began at zero, and both betas and epsilon, of the variable's dtype."""
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._rule_numbers(var)
        return rate * sqrt(1 - beta2_power) / (1 - beta1_power), beta1, beta2, epsilon

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        rate, beta1, beta2, epsilon = self._corrected_numbers(var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        graph = get_default_graph()
        with graph.control_dependencies([assign(m, m * beta1, use_locking=self._use_locking)]):
            new_m = scatter_add(m, grad.indices, grad.values * (1 - beta1), use_locking=self._use_locking)
        with graph.control_dependencies([assign(v, v * beta2, use_locking=self._use_locking)]):
            new_v = scatter_add(
                v, grad.indices, grad.values * grad.values * (1 - beta2), use_locking=self._use_locking
            )
        step = var.assign_sub(rate * new_m / (sqrt(new_v) + epsilon), use_locking=self._use_locking)
        return group(step, new_m, new_v)

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        beta1_power, beta2_power = self._get_beta_accumulators()
        graph = get_default_graph()
        with graph.control_dependencies(update_ops), graph.colocate_with(beta1_power.op):
            powers = [
                power.assign(power * self._rule_tensors[name], use_locking=self._use_locking)
                for power, name in ((beta1_power, "beta1"), (beta2_power, "beta2"))
            ]
        return group(*update_ops, *powers, name=name_scope)


class FtrlOptimizer(Optimizer):
    """Follow the regularised leader, with L1 and L2 (tf.train.FtrlOptimizer; McMahan et al., 2013).

    Args:
        learning_rate: A float, or a scalar tensor.
        learning_rate_power: At most 0.
        initial_accumulator_value: What the sums begin with.
        l1_regularization_strength: At least 0.
        l2_regularization_strength: At least 0.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.
        accum_name: The suffix of the sums' names.
        linear_name: The suffix of the linear parts' names.
        l2_shrinkage_regularization_strength: At least 0.
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike],
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
    ) -> None:
        strengths = {
            "initial_accumulator_value": initial_accumulator_value,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
        }
        for what, value in strengths.items():
            if value < 0:
                raise ValueError(f"{what} {value} needs to be positive or zero")
        if learning_rate_power > 0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        numbers = {
            "learning_rate": learning_rate,
            "l1": l1_regularization_strength,
            "l2": l2_regularization_strength,
        }
        if l2_shrinkage_regularization_strength > 0:
            numbers["l2_shrinkage"] = l2_shrinkage_regularization_strength
        numbers["learning_rate_power"] = learning_rate_power
        rule = "FtrlV2" if "l2_shrinkage" in numbers else "Ftrl"
        super().__init__(use_locking, name)
        self._update_rule = UpdateRule(rule, {"accum": initial_accumulator_value, "linear": 0.0}, numbers)
        self._slot_op_names = {"accum": accum_name or name, "linear": linear_name or name}

    def _slot_op_name(self, slot: str) -> str:
        return self._slot_op_names[slot]


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent with L1 and L2 regularisation by proximal steps (tf.train.ProximalGradientDescentOptimizer).

    Args:
        learning_rate: A float, or a scalar tensor.
        l1_regularization_strength: At least 0.
        l2_regularization_strength: At least 0.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike],
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        numbers = {
            "learning_rate": learning_rate,
            "l1": l1_regularization_strength,
            "l2": l2_regularization_strength,
        }
        super().__init__(use_locking, name)
        self._update_rule = UpdateRule("ProximalGradientDescent", {}, numbers)
