"""Steps that grow where a gradient agrees in sign with the average of those before (Bello et al., 2017)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import NumberLike, TensorLike, VariableLike
from graphflow._core.ops.array.array import gather
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.math import cast, exp, sign
from graphflow._core.ops.state.state import assign, scatter_sub
from graphflow.train.optimizers.optimizer import Optimizer, UpdateRule


class _BySign(Optimizer):
    """A step is the gradient times a factor of how its sign and the average's agree, which subclasses say."""

    def __init__(
        self,
        numbers: dict[str, Any],
        sign_decay_fn: Callable[[Any], TensorLike] | None,
        use_locking: bool,
        name: str,
    ) -> None:
        super().__init__(use_locking, name)
        # The rule is not of an op of its own: it says which slots and numbers there are.
        self._update_rule = UpdateRule(type(self).__name__, {"m": 0.0}, numbers)
        self._sign_decay_fn = sign_decay_fn
        self._sign_decay: Any = None

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[TensorLike | None, VariableLike]],
        global_step: VariableLike | None = None,
        name: str | None = None,
    ) -> Operation:
        """The operation that applies gradients to variables, and then counts `global_step` up.

        Args:
            grads_and_vars: Pairs (gradient, variable), as compute_gradients gives them.
            global_step: A variable that grows by one with each update, which the decay of the sign is told, or None.
            name: A name for the operation.

        Returns:
            The operation.
        """
        decay = 1.0 if self._sign_decay_fn is None else self._sign_decay_fn(global_step)
        self._sign_decay = convert_to_tensor(decay, name="sign_decay")
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _factor(self, agreement: Tensor, number: Tensor) -> Tensor:
        raise NotImplementedError

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        rate, number, beta = self._rule_numbers(var)
        m = self.get_slot(var, "m")
        new_m = m * beta + grad * (1 - beta)
        agreement = cast(self._sign_decay, var.dtype) * (sign(grad) * sign(new_m))
        step = rate * self._factor(agreement, number) * grad
        return group(
            assign(m, new_m, use_locking=self._use_locking),
            var.assign_sub(step, use_locking=self._use_locking),
        )

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        rate, number, beta = self._rule_numbers(var)
        m = self.get_slot(var, "m")
        whole: Any = convert_to_tensor(grad)
        new_m = m * beta + whole * (1 - beta)
        signs = sign(gather(new_m, grad.indices)) * sign(grad.values)
        factor = self._factor(cast(self._sign_decay, var.dtype) * signs, number)
        locking = self._use_locking
        return group(
            assign(m, new_m, use_locking=locking),
            scatter_sub(var, grad.indices, rate * factor * grad.values, use_locking=locking),
        )


class AddSignOptimizer(_BySign):
    """var -= learning_rate * (alpha + decay * sign(gradient) * sign(m)) * gradient, m being the gradients' average.

    Bello et al., 2017 (tf.contrib.opt.AddSignOptimizer).

    Args:
        learning_rate: A number, a scalar tensor, or a function that makes one when the step is built.
        alpha: The factor of a gradient whose sign says nothing.
        beta: The decay of the average of gradients.
        sign_decay_fn: A function of the global step that gives the factor of the signs; by default it is 1.
        use_locking: Changes nothing.
        name: A name for the operations and slots.

    Examples:
        >>> x = gf.Variable(1.0)
        >>> step = gf.contrib.opt.AddSignOptimizer(0.1).minimize(gf.square(x))
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(round(float(session.run(x)), 3))
        0.6
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike] = 0.1,
        alpha: NumberLike = 1.0,
        beta: NumberLike = 0.9,
        sign_decay_fn: Callable[[Any], TensorLike] | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        numbers = {"learning_rate": learning_rate, "alpha": alpha, "beta": beta}
        super().__init__(numbers, sign_decay_fn, use_locking, name)

    def _factor(self, agreement: Tensor, number: Tensor) -> Tensor:
        return number + agreement


class PowerSignOptimizer(_BySign):
    """var -= learning_rate * base ** (decay * sign(gradient) * sign(m)) * gradient, m being the gradients' average.

    Bello et al., 2017 (tf.contrib.opt.PowerSignOptimizer).

    Args:
        learning_rate: A number, a scalar tensor, or a function that makes one when the step is built.
        base: The factor of a gradient whose sign agrees; it is divided by it where the sign does not.
        beta: The decay of the average of gradients.
        sign_decay_fn: A function of the global step that gives the factor of the signs; by default it is 1.
        use_locking: Changes nothing.
        name: A name for the operations and slots.

    Examples:
        >>> x = gf.Variable(1.0)
        >>> step = gf.contrib.opt.PowerSignOptimizer(0.1, base=2.0).minimize(gf.square(x))
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(round(float(session.run(x)), 3))
        0.6
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike] = 0.1,
        base: float = math.e,
        beta: NumberLike = 0.9,
        sign_decay_fn: Callable[[Any], TensorLike] | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        numbers = {"learning_rate": learning_rate, "logbase": math.log(base), "beta": beta}
        super().__init__(numbers, sign_decay_fn, use_locking, name)

    def _factor(self, agreement: Tensor, number: Tensor) -> Tensor:
        factor: Tensor = exp(number * agreement)
        return factor
