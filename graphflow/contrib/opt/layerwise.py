"""Rates by layer for large batches, and Adagrad whose sums some losses do not touch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import NumberLike
from graphflow._core.ops.array.array import gather, where
from graphflow._core.ops.math.math import cast, greater, rsqrt
from graphflow._core.ops.math.norms import norm
from graphflow._core.ops.state.state import scatter_sub
from graphflow._core.ops.state.training import apply_update
from graphflow.train.optimizers.optimizer import Optimizer, UpdateRule
from graphflow.train.optimizers.standard import AdagradOptimizer


class LARSOptimizer(Optimizer):
    """Momentum whose rate is, for each variable, in proportion to its norm over the gradient's, for large batches.

    Sparse gradients are applied as by MomentumOptimizer (You et al., 2017; tf.contrib.opt.LARSOptimizer).

    Args:
        learning_rate: A number, a scalar tensor, or a function that makes one when the step is built.
        momentum: The share of the last step that goes on, at least 0.
        weight_decay: The share of a variable that is added to its gradient, at least 0.
        eeta: The factor of the proportion.
        epsilon: What is added to the gradient's norm.
        name: A name for the operations and slots.
        skip_list: Parts of names: the variables whose names have one are trained by momentum alone, without decay.
        use_nesterov: Whether the gradient is taken as Nesterov has it.

    Raises:
        ValueError: If `momentum` or `weight_decay` is below 0.

    Examples:
        >>> x = gf.Variable([3.0, 4.0])
        >>> step = gf.contrib.opt.LARSOptimizer(0.1, weight_decay=0.0, eeta=1.0).minimize(gf.reduce_sum(x))
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(session.run(x).round(3))
        [2.646 3.646]
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike],
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        for what, number in (("momentum", momentum), ("weight_decay", weight_decay)):
            if number < 0.0:
                raise ValueError(f"{what} should be positive: {number}")
        super().__init__(False, name)
        numbers = {"learning_rate": learning_rate, "momentum": momentum}
        rule = "NesterovMomentum" if use_nesterov else "Momentum"
        self._update_rule = UpdateRule(rule, {"momentum": 0.0}, numbers)
        self._weight_decay, self._eeta, self._epsilon = weight_decay, eeta, epsilon
        self._skip_list = skip_list

    def compute_lr(self, grad: Tensor, var: Any) -> tuple[Tensor, Tensor]:
        """The rate of a variable's step, and its gradient with the decay's.

        Args:
            grad: The gradient.
            var: The variable.

        Returns:
            A scalar, and a tensor like the gradient.
        """
        rate, _ = self._rule_numbers(var)
        if any(part in str(var.name) for part in self._skip_list or ()):
            return rate, grad
        length, slope = norm(var, ord=2), norm(grad, ord=2)
        trust = self._eeta * length / (slope + self._weight_decay * length + self._epsilon)
        one = cast(1.0, var.dtype)
        trust = where(greater(length, 0), where(greater(slope, 0), trust, one), one)
        return rate * trust, grad + self._weight_decay * var

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        rate, grad = self.compute_lr(grad, var)
        _, momentum = self._rule_numbers(var)
        assert self._update_rule is not None
        numbers = [cast(1.0, var.dtype), momentum]
        return apply_update(self._update_rule.name, self._rule_variables(var), numbers, grad * rate)


class RegAdagradOptimizer(AdagradOptimizer):
    """Adagrad that can apply gradients without adding their squares to the sums (tf.contrib.opt.RegAdagradOptimizer).

    A loss that is a penalty, say, then does not make later steps smaller.

    Args:
        learning_rate: A float, or a scalar tensor.
        initial_accumulator_value: What the sums begin with, above 0.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Examples:
        >>> x = gf.Variable(1.0)
        >>> optimizer = gf.contrib.opt.RegAdagradOptimizer(1.0, initial_accumulator_value=4.0)
        >>> with optimizer.avoid_updating_slots():
        ...     step = optimizer.minimize(x * x)
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(*session.run([x, optimizer.get_slot(x, "accumulator")]))
        0.0 4.0
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike],
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "RegAdagrad",
    ) -> None:
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._updates_slots = True

    @contextmanager
    def avoid_updating_slots(self) -> Iterator[None]:
        """What is applied inside leaves the sums as they are."""
        before, self._updates_slots = self._updates_slots, False
        try:
            yield
        finally:
            self._updates_slots = before

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        if self._updates_slots:
            return super()._apply_dense(grad, var)
        (rate,) = self._rule_numbers(var)
        step = grad * rate * rsqrt(self.get_slot(var, "accumulator"))
        return var.assign_sub(step, use_locking=self._use_locking)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        if self._updates_slots:
            return super()._apply_sparse(grad, var)
        (rate,) = self._rule_numbers(var)
        step = grad.values * rate * rsqrt(gather(self.get_slot(var, "accumulator"), grad.indices))
        return scatter_sub(var, grad.indices, step, use_locking=self._use_locking)
