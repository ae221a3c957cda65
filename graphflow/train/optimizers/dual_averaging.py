"""Adagrad by dual averaging: what a variable is follows from the sums of all gradients, not from its last value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import IntTensorLike, NumberLike
from graphflow._core.ops.array.array import identity
from graphflow._core.ops.array.indexing import gather
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.math import abs_, cast, maximum, sign, sqrt, square
from graphflow._core.ops.state.state import assign, assign_add, scatter_add, scatter_update
from graphflow.train.optimizers.optimizer import Optimizer


class AdagradDAOptimizer(Optimizer):
    """Adagrad with L1 and L2 regularisation by dual averaging (tf.train.AdagradDAOptimizer; Duchi et al., 2011).

    For linear models with many features that are seldom there. A variable's first value is of no meaning.

    Args:
        learning_rate: A float, or a scalar tensor.
        global_step: The number of the step, counted from 0; regularisation grows with it.
        initial_gradient_squared_accumulator_value: What the sums of squares begin with, above 0.
        l1_regularization_strength: At least 0.
        l2_regularization_strength: At least 0.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.

    Raises:
        ValueError: The sums of squares do not begin above 0.
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike],
        global_step: IntTensorLike,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(
                "initial_gradient_squared_accumulator_value must be positive: "
                f"{initial_gradient_squared_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._rate, self._step = learning_rate, global_step
        self._first = initial_gradient_squared_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength
        self._tensors: list[Tensor] = []

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._get_or_make_slot(var, self._filled(var, 0.0), "gradient_accumulator", self._name)
            first = self._filled(var, self._first)
            self._get_or_make_slot(var, first, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        rate = convert_to_tensor(
            self._call_if_callable(self._rate), preferred_dtype=dtypes.float32, name="learning_rate"
        )
        self._tensors = [rate, identity(self._step) + 1]

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        sums, squares = self._sums(var)
        sums = assign_add(sums, grad, use_locking=self._use_locking)
        squares = assign_add(squares, square(grad), use_locking=self._use_locking)
        return assign(var, self._value(var, sums, squares), use_locking=self._use_locking)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        sums, squares = self._sums(var)
        added = [
            scatter_add(sums, grad.indices, grad.values, use_locking=self._use_locking),
            scatter_add(squares, grad.indices, square(grad.values), use_locking=self._use_locking),
        ]
        with get_default_graph().control_dependencies(added):
            rows = [gather(total, grad.indices) for total in added]
        return scatter_update(var, grad.indices, self._value(var, *rows), use_locking=self._use_locking)

    def _sums(self, var: Any) -> tuple[Any, Any]:
        return self.get_slot(var, "gradient_accumulator"), self.get_slot(var, "gradient_squared_accumulator")

    def _value(self, var: Any, sums: Tensor, squares: Tensor) -> Tensor:
        """The variable, or rows of it, after the sums of gradients and of their squares."""
        rate, step = (cast(tensor, var.dtype) for tensor in self._tensors)
        shrunk = sign(sums) * maximum(abs_(sums) - self._l1 * step, 0.0)
        value: Tensor = -rate * shrunk / (self._l2 * step * rate + sqrt(squares))
        return value
