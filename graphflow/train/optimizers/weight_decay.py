"""Optimizers that shrink weights beside the step that they make (Loshchilov and Hutter, 2017; tf.contrib.opt)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import NumberLike, TensorLike, VariableLike
from graphflow._core.ops.array.array import gather
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.math import cast
from graphflow._core.ops.state.state import scatter_add
from graphflow.train.optimizers.optimizer import Optimizer
from graphflow.train.optimizers.standard import AdamOptimizer, MomentumOptimizer

if TYPE_CHECKING:
    _Other = Optimizer
else:
    _Other = object  # It comes before an optimizer among the bases of a class, and is none itself.


class DecoupledWeightDecayExtension(_Other):
    """Lets each step also take away `weight_decay` times the weights (tf.contrib.opt.DecoupledWeightDecayExtension).

    It is a base beside an optimizer's class, before it. The decay is not multiplied with the learning rate: a program
    that lets the rate fall has the decay fall with it itself. Of a sparse gradient the rows that it has decay.

    Args:
        weight_decay: The share, a number, a scalar tensor, or a function that makes one when the step is built.
        **kwargs: The optimizer's own arguments.
    """

    def __init__(self, weight_decay: NumberLike | Callable[[], NumberLike], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._weight_decay = weight_decay
        self._decay_var_list: set[Any] | None = None
        self._decay_tensor: Tensor | None = None

    def minimize(
        self,
        loss: TensorLike | Callable[[], TensorLike],
        global_step: VariableLike | None = None,
        var_list: Iterable[VariableLike] | VariableLike | None = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
        decay_var_list: Iterable[VariableLike] | None = None,
    ) -> Operation:
        """The operation that does one step to make `loss` smaller.

        Args:
            loss: A scalar tensor.
            global_step: A variable that grows by one with each update, or None.
            var_list: The variables; by default those of GraphKeys.TRAINABLE_VARIABLES.
            gate_gradients: GATE_NONE, GATE_OP or GATE_GRAPH.
            aggregation_method: How gradients of several uses are added, of gf.AggregationMethod.
            colocate_gradients_with_ops: Whether gradients are placed with the operations they belong to.
            name: A name for the operation.
            grad_loss: The gradient of `loss`; by default ones.
            decay_var_list: The variables that decay; by default all.

        Returns:
            The operation.
        """
        self._decay_var_list = set(decay_var_list) if decay_var_list else None
        colocate = colocate_gradients_with_ops
        return super().minimize(
            loss, global_step, var_list, gate_gradients, aggregation_method, colocate, name, grad_loss
        )

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[TensorLike | None, VariableLike]],
        global_step: VariableLike | None = None,
        name: str | None = None,
        decay_var_list: Iterable[VariableLike] | None = None,
    ) -> Operation:
        """The operation that applies gradients and lets weights decay.

        Args:
            grads_and_vars: Pairs (gradient, variable), as compute_gradients gives them.
            global_step: A variable that grows by one with each update, or None.
            name: A name for the operation.
            decay_var_list: The variables that decay; by default those that minimize() was given, or all.

        Returns:
            The operation.
        """
        if decay_var_list:
            self._decay_var_list = set(decay_var_list)
        return super().apply_gradients(grads_and_vars, global_step, name)

    def _prepare(self) -> None:
        decay = self._call_if_callable(self._weight_decay)
        self._decay_tensor = convert_to_tensor(decay, preferred_dtype=dtypes.float32, name="weight_decay")
        super()._prepare()

    def _decay_of(self, var: Any) -> Tensor | None:
        if self._decay_tensor is None or self._decay_var_list is not None and var not in self._decay_var_list:
            return None
        decay: Tensor = cast(self._decay_tensor, var.dtype)
        return decay

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        decay = self._decay_of(var)
        done = [] if decay is None else [var.assign_sub(decay * var, use_locking=self._use_locking)]
        with get_default_graph().control_dependencies(done):
            return super()._apply_dense(grad, var)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        decay = self._decay_of(var)
        done = []
        if decay is not None:
            less = -decay * gather(var, grad.indices)
            done = [scatter_add(var, grad.indices, less, use_locking=self._use_locking)]
        with get_default_graph().control_dependencies(done):
            return super()._apply_sparse(grad, var)


def extend_with_decoupled_weight_decay(base_optimizer: type[Optimizer]) -> type[Any]:
    """A class of optimizers that also let weights decay (tf.contrib.opt.extend_with_decoupled_weight_decay).

    Args:
        base_optimizer: The class of optimizers.

    Returns:
        A class whose first argument is `weight_decay`; the others are those of `base_optimizer`, by name.
    """

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):  # type: ignore[valid-type,misc]
        """The base class with weight decay."""

    return OptimizerWithDecoupledWeightDecay


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """Momentum with weight decay beside the step (tf.contrib.opt.MomentumWOptimizer).

    Args:
        weight_decay: The share of the weights that each step takes away, a number or scalar tensor.
        learning_rate: A float, or a scalar tensor.
        momentum: The share of the last step that goes on, a float or scalar tensor.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.
        use_nesterov: Whether the gradient is taken as Nesterov has it.
    """

    def __init__(
        self,
        weight_decay: NumberLike | Callable[[], NumberLike],
        learning_rate: NumberLike | Callable[[], NumberLike],
        momentum: NumberLike | Callable[[], NumberLike],
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """Adam with weight decay beside the step (tf.contrib.opt.AdamWOptimizer).

    Args:
        weight_decay: The share of the weights that each step takes away, a number or scalar tensor.
        learning_rate: The length of a step: a number, a scalar tensor, or a function that makes one when the step
            is built.
        beta1: The decay of the average of gradients, in [0, 1).
        beta2: The decay of the average of squared gradients, in [0, 1).
        epsilon: What is added to the root of the second, so that nothing is divided by zero.
        use_locking: Changes nothing.
        name: A name for the operations and slots.

    Examples:
        >>> x = gf.Variable(1.0)
        >>> step = gf.contrib.opt.AdamWOptimizer(0.01, 0.1).minimize(gf.square(x))
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(round(float(session.run(x)), 3))
        0.89
    """

    def __init__(
        self,
        weight_decay: NumberLike | Callable[[], NumberLike],
        learning_rate: NumberLike | Callable[[], NumberLike] = 0.001,
        beta1: NumberLike | Callable[[], NumberLike] = 0.9,
        beta2: NumberLike | Callable[[], NumberLike] = 0.999,
        epsilon: NumberLike = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )
