"""Steps by matrices of past gradients: Shampoo, with one for each axis of a variable, and GGT, of the last few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import NumberLike, VariableLike
from graphflow._core.ops.array.array import (
    concat,
    expand_dims,
    eye,
    gather,
    reshape,
    scatter_nd,
    shape,
    transpose,
    where,
    zeros,
    zeros_like,
)
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.contraction import tensordot
from graphflow._core.ops.math.decompositions import self_adjoint_eig
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.math.math import cast, floormod, greater, less, maximum, minimum, sqrt
from graphflow._core.ops.math.math import pow_ as power
from graphflow._core.ops.math.reductions import reduce_min, reduce_sum
from graphflow._core.ops.state.state import assign, assign_add, assign_sub, scatter_add, scatter_update
from graphflow.train.optimizers.optimizer import Optimizer

_Number = NumberLike | Callable[[Any], Any]


class ShampooOptimizer(Optimizer):
    """Adagrad with a matrix for each axis of a variable (Gupta et al., 2018; tf.contrib.opt.ShampooOptimizer).

    For each axis the products of gradients are added up, weighted; a step is the average gradient multiplied, along
    each axis, with that matrix to the power of -alpha / rank. Each number may be a function of the count of steps,
    a scalar tensor that begins with 1.

    Args:
        global_step: The variable that counts steps, or a number.
        max_matrix_size: An axis that is longer has the sums of squares alone, not a matrix.
        gbar_decay: The decay of the average gradient; 0 takes the gradient itself.
        gbar_weight: The weight of a gradient in it.
        mat_gbar_decay: The decay of the matrices; 1 adds all up.
        mat_gbar_weight: The weight of a gradient's products in them.
        learning_rate: The length of a step.
        svd_interval: After how many steps the powers of matrices are computed anew.
        precond_update_interval: After how many steps the matrices are.
        epsilon: What is added to the diagonal of a matrix.
        alpha: The power of all matrices of a variable together.
        use_iterative_root: Changes nothing: powers are computed by eigenvalues, which gives the same.
        use_locking: Changes nothing.
        name: A name for the operations and slots.

    Examples:
        >>> x = gf.Variable([3.0, 4.0])
        >>> step = gf.contrib.opt.ShampooOptimizer(epsilon=0.5).minimize(gf.reduce_sum(x))
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(session.run(x).round(3))
        [2.184 3.184]
    """

    def __init__(
        self,
        global_step: VariableLike | NumberLike = 0,
        max_matrix_size: int = 768,
        gbar_decay: _Number = 0.0,
        gbar_weight: _Number = 1.0,
        mat_gbar_decay: _Number = 1.0,
        mat_gbar_weight: _Number = 1.0,
        learning_rate: _Number = 1.0,
        svd_interval: _Number = 1,
        precond_update_interval: _Number = 1,
        epsilon: float = 1e-4,
        alpha: _Number = 0.5,
        use_iterative_root: bool = False,
        use_locking: bool = False,
        name: str = "Shampoo",
    ) -> None:
        super().__init__(use_locking, name)
        step: Any = global_step
        self._steps = cast(step, dtypes.float32)
        self._max_matrix_size = max_matrix_size
        self._gbar_decay, self._gbar_weight = gbar_decay, gbar_weight
        self._mat_gbar_decay, self._mat_gbar_weight = mat_gbar_decay, mat_gbar_weight
        self._learning_rate, self._alpha, self._epsilon = learning_rate, alpha, epsilon
        self._svd_interval, self._precond_update_interval = svd_interval, precond_update_interval

    @property
    def _keeps_powers(self) -> bool:
        return callable(self._svd_interval) or self._svd_interval != 1

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "gbar", self._name)
            for axis, size in enumerate(int(d) for d in var.shape):
                is_matrix = size <= self._max_matrix_size
                if is_matrix and self._keeps_powers:
                    self._get_or_make_slot(var, eye(size, dtype=var.dtype), f"H_{axis}", self._name)
                first = zeros([size, size] if is_matrix else [size], dtype=var.dtype)
                self._get_or_make_slot(var, first, f"Gbar_{axis}", self._name)

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        return self._step(grad, var, None)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        if int(var.shape[0]) > self._max_matrix_size and self._gbar_decay == 0.0:
            return self._step(grad.values, var, grad.indices)
        places = expand_dims(grad.indices, axis=1)
        whole = scatter_nd(places, grad.values, shape(var, out_type=grad.indices.dtype))
        return self._step(whole, var, None)

    def _average(self, slot: Any, decay: _Number, added: Tensor, step: Tensor) -> Any:
        """decay * slot + added, which the slot becomes unless nothing of it is ever used."""
        if decay == 0.0:
            return added
        if decay == 1.0:
            return assign_add(slot, added)
        return assign_add(slot, (_at(decay, step) - 1) * slot + added)

    def _power(self, matrix: Tensor, size: int, exponent: Any) -> Tensor:
        """A symmetric matrix, epsilon added to its diagonal, to a power."""
        if size == 1:
            return power(matrix + self._epsilon, exponent)
        values, vectors = self_adjoint_eig(matrix + self._epsilon * eye(size, dtype=matrix.dtype))
        return matmul(vectors * power(maximum(values, self._epsilon), exponent), vectors, transpose_b=True)

    def _step(self, grad: Tensor, var: Any, rows: Tensor | None) -> Any:
        step = self._steps + 1
        if rows is None:
            average = self._average(
                self.get_slot(var, "gbar"), self._gbar_decay, _at(self._gbar_weight, step) * grad, step
            )
        else:
            average = grad
        rank = len(var.shape)
        exponent = -_at(self._alpha, step) / rank
        conditioned = average
        for axis, size in enumerate(int(d) for d in var.shape):
            others = [other for other in range(rank) if other != axis]
            # Each contraction takes the first axis away and appends it, so that all are in order again in the end.
            if size <= self._max_matrix_size:
                matrix = self._matrix_power(grad, var, axis, others, exponent, step)
                conditioned = tensordot(conditioned, matrix, axes=([0], [0]), name=f"precond_{axis}")
            else:
                factor = self._diagonal_power(grad, var, axis, others, exponent, step, rows)
                conditioned = transpose(conditioned, [*range(1, rank), 0]) * factor
        change = _at(self._learning_rate, step) * conditioned
        if rows is not None:
            return scatter_add(var, rows, -change)
        return assign_sub(var, change)

    def _matrix_power(
        self, grad: Tensor, var: Any, axis: int, others: list[int], exponent: Any, step: Tensor
    ) -> Any:
        slot, size = self.get_slot(var, f"Gbar_{axis}"), int(var.shape[axis])
        interval = _at(self._precond_update_interval, step)
        weight = _at(self._mat_gbar_weight, step) * interval

        def updated() -> Any:
            products = tensordot(grad, grad, axes=(others, others), name=f"grad_outer_{axis}")
            return self._average(slot, self._mat_gbar_decay, weight * products, step)

        summed = cond(less(floormod(step, cast(interval, step.dtype)), 1), updated, lambda: slot + 0.0)
        summed = summed / float(size)
        if not self._keeps_powers:
            return self._power(summed, size, exponent)
        kept = self.get_slot(var, f"H_{axis}")
        return cond(
            less(floormod(step, cast(_at(self._svd_interval, step), step.dtype)), 1),
            lambda: assign(kept, self._power(summed, size, exponent)),
            lambda: kept + 0.0,
        )

    def _diagonal_power(
        self,
        grad: Tensor,
        var: Any,
        axis: int,
        others: list[int],
        exponent: Any,
        step: Tensor,
        rows: Tensor | None,
    ) -> Tensor:
        slot = self.get_slot(var, f"Gbar_{axis}")
        squares = grad * grad
        if others:
            squares = reduce_sum(squares, axis=others) / (
                1.0 if rows is not None else float(int(var.shape[axis]))
            )
        squares = _at(self._mat_gbar_weight, step) * squares
        if axis == 0 and rows is not None:
            if self._mat_gbar_decay != 1.0:
                raise ValueError(
                    f"ShampooOptimizer: the sparse gradient of {var.name} needs mat_gbar_decay=1.0, which is "
                    f"{self._mat_gbar_decay}."
                )
            summed = gather(scatter_add(slot, rows, squares), rows)
        else:
            summed = self._average(slot, self._mat_gbar_decay, squares, step)
        return where(greater(summed, 0), power(summed, exponent), zeros_like(summed))


def _at(number: _Number, step: Tensor) -> Any:
    return number(step) if callable(number) and not isinstance(number, Tensor) else number


class GGTOptimizer(Optimizer):
    """Full-matrix Adagrad of the last few averaged gradients (Agarwal et al., 2018; tf.contrib.opt.GGTOptimizer).

    All variables are taken as one vector.

    Args:
        learning_rate: The length of a step: a number, a scalar tensor, or a function that makes one when the step
            is built.
        beta1: The decay of the average of gradients.
        use_locking: Changes nothing.
        name: A name for the operations.
        window: How many averages are kept.
        eps: If the root of the least eigenvalue is not above it, what lies outside of the kept averages is left out.
        svd_eps: What is added to the eigenvalues.
        sigma_eps: What is added to their roots.

    Examples:
        >>> x = gf.Variable([3.0, 4.0])
        >>> step = gf.contrib.opt.GGTOptimizer(0.1, window=2).minimize(gf.reduce_sum(x))
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(bool((session.run(x) < [3.0, 4.0]).all()))
        True
    """

    def __init__(
        self,
        learning_rate: NumberLike | Callable[[], NumberLike] = 0.001,
        beta1: float = 0.9,
        use_locking: bool = False,
        name: str = "GGT",
        window: int = 10,
        eps: float = 1e-4,
        svd_eps: float = 1e-6,
        sigma_eps: float = 1e-2,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate, self._beta1, self._window = learning_rate, beta1, window
        self._eps, self._svd_eps, self._sigma_eps = eps, svd_eps, sigma_eps
        self._flat: dict[Any, Tensor] = {}
        self._sizes: dict[Any, int] = {}

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        ordered = sorted(var_list, key=lambda v: str(v.name))
        self._sizes = {var: int(np.prod([int(d) for d in var.shape], dtype=np.int64)) for var in ordered}
        total, dtype, first = sum(self._sizes.values()), ordered[0].dtype, ordered[0]
        self._create_non_slot_variable(cast(0.0, dtype), "global_step", first)
        self._create_non_slot_variable(zeros([self._window, total], dtype), "grad_buffer", first)
        self._create_non_slot_variable(zeros([total], dtype), "moment1", first)

    def _prepare(self) -> None:
        self._flat = {}

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        self._flat[var] = reshape(grad, [-1])
        return self._flat[var]

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        raise NotImplementedError("GGTOptimizer: Sparse gradient updates are not supported.")

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        variables = [var for var in self._sizes if var in self._flat]
        dtype = variables[0].dtype
        count, average, kept = (
            self._get_non_slot_variable(name) for name in ("global_step", "moment1", "grad_buffer")
        )
        with get_default_graph().control_dependencies(update_ops):
            flat = concat([self._flat.get(var, zeros([size], dtype)) for var, size in self._sizes.items()], 0)
            steps = assign_add(count, cast(1.0, dtype))
            moment = average.assign(self._beta1 * average + (1.0 - self._beta1) * flat)
            row = floormod(cast(steps - 1.0, dtypes.int32), self._window)
            last = scatter_update(kept, row, moment)
        change = self._direction(last, moment, minimum(steps, cast(float(self._window), dtype)))
        rate = cast(convert_to_tensor(self._call_if_callable(self._learning_rate)), dtype)
        updates, begin = [], 0
        for var, size in self._sizes.items():
            if var in self._flat:
                updates.append(assign_sub(var, rate * reshape(change[begin : begin + size], var.shape)))
            begin += size
        return group(*updates, name=name_scope)

    def _direction(self, last: Any, moment: Any, steps: Tensor) -> Tensor:
        """The direction of the step, from the averages that are kept, the newest, and how many there are."""
        m = transpose(last / sqrt(steps))
        newest = expand_dims(moment, -1)
        inner = matmul(m, m, transpose_a=True) + eye(self._window, dtype=m.dtype) * self._svd_eps
        values, vectors = self_adjoint_eig(inner)
        roots = sqrt(values)
        least = reduce_min(roots)
        seen = matmul(vectors, matmul(m, newest, transpose_a=True), transpose_a=True)

        def back(scaled: Tensor) -> Tensor:
            return matmul(m, matmul(vectors, scaled))

        head = back(seen / expand_dims(power(roots + self._sigma_eps, 3), -1))
        tail = newest - back(seen / expand_dims(values, -1))
        return where(greater(least, self._eps), head + tail / least, head)
