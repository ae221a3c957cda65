"""What stands around an optimizer: variables that are scaled down after a step, gradients that are too old for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import TensorLike, VariableLike
from graphflow._core.ops.array.array import gather, identity, reshape
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.clip import clip_by_norm
from graphflow._core.ops.math.math import cast, less_equal
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Zeros
from graphflow._core.ops.state.state import scatter_sub
from graphflow.summary import scalar
from graphflow.train.optimizers.optimizer import Optimizer
from graphflow.train.optimizers.wrapping import wraps_optimizer
from graphflow.train.steps import get_global_step


@wraps_optimizer
class VariableClippingOptimizer(Optimizer):
    """Scales variables down after each step so that no vector of theirs is longer than a number.

    It is the variables that are clipped, not the gradients (tf.contrib.opt.VariableClippingOptimizer).

    Args:
        opt: The optimizer that computes and applies gradients.
        vars_to_clip_dims: For each variable to clip the axes of one vector; [1] for rows of a matrix.
        max_norm: The largest length of a vector.
        use_locking: Changes nothing.
        colocate_clip_ops_with_vars: Whether what clips is placed with the variable.
        name: A name for the operations of a step.

    Examples:
        >>> x = gf.Variable([[3.0, 4.0], [0.3, 0.4]])
        >>> descent = gf.train.GradientDescentOptimizer(0.0)
        >>> optimizer = gf.contrib.opt.VariableClippingOptimizer(descent, {x: [1]}, 1.0)
        >>> step = optimizer.minimize(gf.reduce_sum(x))
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(session.run(x).round(1))
        [[0.6 0.8]
         [0.3 0.4]]
    """

    def __init__(
        self,
        opt: Optimizer,
        vars_to_clip_dims: Mapping[Any, Sequence[int]],
        max_norm: float,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._axes = {variable: list(axes) for variable, axes in vars_to_clip_dims.items()}
        self._max_norm = max_norm
        self._colocate = colocate_clip_ops_with_vars

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[TensorLike | None, VariableLike]],
        global_step: VariableLike | None = None,
        name: str | None = None,
    ) -> Operation:
        """The operation that takes a step and clips the variables.

        Args:
            grads_and_vars: Pairs (gradient, variable), as compute_gradients gives them.
            global_step: A variable that grows by one with each update, or None.
            name: A name for the operation.

        Returns:
            The operation.
        """
        graph, pairs = get_default_graph(), list(grads_and_vars)
        with graph.name_scope(name or self.get_name()) as scope:
            updated = self._opt.apply_gradients(pairs, global_step=global_step)
            clipped: list[Any] = []
            with graph.control_dependencies([updated]):
                for gradient, given in pairs:
                    variable: Any = given
                    if gradient is None or variable not in self._axes:
                        continue
                    with graph.name_scope("clip_" + variable.op.name):
                        clipped.append(self._clip(gradient, variable))
            return group(updated, *clipped, name=scope)

    def _clip(self, gradient: Any, variable: Any) -> Any:
        axes, graph = self._axes[variable], get_default_graph()
        near: AbstractContextManager[Any] = (
            graph.colocate_with(variable.op) if self._colocate else nullcontext()
        )
        # Rows that the step has not touched are as short as before, unless vectors lie across rows.
        if isinstance(gradient, IndexedSlices) and 0 not in axes:
            with graph.colocate_with(variable.op):
                rows = gather(variable, gradient.indices)
            with near:
                excess = rows - clip_by_norm(rows, self._max_norm, axes)
            with graph.colocate_with(variable.op):
                return scatter_sub(variable, gradient.indices, excess, use_locking=self._use_locking)
        with near:
            value = variable.read_value()
            excess = value - clip_by_norm(value, self._max_norm, axes)
        with graph.colocate_with(variable.op):
            return variable.assign_sub(excess, use_locking=self._use_locking)


@wraps_optimizer
class DropStaleGradientOptimizer(Optimizer):
    """Leaves out gradients that began too many steps ago (tf.contrib.opt.DropStaleGradientOptimizer).

    Args:
        opt: The optimizer that computes and applies gradients.
        staleness: How many steps may have been made since a gradient's computation began.
        use_locking: Changes nothing.
        name: A name for the operations of a step.
    """

    def __init__(
        self, opt: Optimizer, staleness: int, use_locking: bool = False, name: str = "DropStaleGradient"
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._staleness = staleness
        self._begun: Tensor | None = None

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Tensor | Any, Any]]:
        """As the other optimizer's; the step that it began at is noted.

        Args:
            loss: A scalar tensor.
            *args: What the other optimizer's takes.
            **kwargs: The same, by name.

        Returns:
            Pairs (gradient, variable).
        """
        graph, loss = get_default_graph(), convert_to_tensor(loss)
        with graph.colocate_with(loss.op):
            self._begun = get_global_step() + 0
        with graph.control_dependencies([self._begun]):
            return self._opt.compute_gradients(identity(loss), *args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[TensorLike | None, VariableLike]],
        global_step: VariableLike | None = None,
        name: str | None = None,
    ) -> Any:
        """What takes a step, or leaves the gradients out if they are too old.

        Args:
            grads_and_vars: Pairs (gradient, variable), as compute_gradients gives them.
            global_step: The variable that counts steps.
            name: A name for the other optimizer's operation.

        Returns:
            How many steps were left out until now, a scalar tensor.

        Raises:
            ValueError: If there is no `global_step`.
        """
        if global_step is None:
            raise ValueError(
                "DropStaleGradientOptimizer: apply_gradients() needs global_step to know the gradients' age."
            )
        graph, pairs = get_default_graph(), list(grads_and_vars)
        step: Any = global_step
        with graph.colocate_with(step.op):
            left_out = get_variable("stale_counter", [], initializer=Zeros(), trainable=False)

        def accepted() -> Tensor:
            applied = self._opt.apply_gradients(pairs, global_step=global_step, name=name)
            with graph.control_dependencies([applied]):
                return identity(0.0)

        present: list[Any] = [
            g.values if isinstance(g, IndexedSlices) else g for g, _ in pairs if g is not None
        ]
        with graph.control_dependencies(present), graph.colocate_with(step.op):
            age = reshape(step - self._begun, [])
        counted = left_out.assign_add(cond(less_equal(age, self._staleness), accepted, lambda: identity(1.0)))
        scalar("Gradient staleness percentage", left_out / cast(step + 1, dtypes.float32))
        return counted
