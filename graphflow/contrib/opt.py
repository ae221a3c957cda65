"""Optimizers that only tf.contrib.opt has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphflow._core.common.namespaces import missing as _missing
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.ops.array.array import gather
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.math.math import sqrt, square
from graphflow._core.ops.state.state import scatter_sub, scatter_update
from graphflow.train.optimizers.averaging import MovingAverageOptimizer as MovingAverageOptimizer
from graphflow.train.optimizers.external_optimizer import (
    ExternalOptimizerInterface as ExternalOptimizerInterface,
)
from graphflow.train.optimizers.external_optimizer import ScipyOptimizerInterface as ScipyOptimizerInterface
from graphflow.train.optimizers.standard import AdamOptimizer
from graphflow.train.optimizers.weight_decay import AdamWOptimizer as AdamWOptimizer
from graphflow.train.optimizers.weight_decay import (
    DecoupledWeightDecayExtension as DecoupledWeightDecayExtension,
)
from graphflow.train.optimizers.weight_decay import MomentumWOptimizer as MomentumWOptimizer
from graphflow.train.optimizers.weight_decay import (
    extend_with_decoupled_weight_decay as extend_with_decoupled_weight_decay,
)


class LazyAdamOptimizer(AdamOptimizer):
    """Adam whose averages decay only in the rows that a sparse gradient has (tf.contrib.opt.LazyAdamOptimizer)."""

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        beta1_power, beta2_power, rate, beta1, beta2, epsilon = self._rule_numbers(var)
        rate = rate * sqrt(1 - beta2_power) / (1 - beta1_power)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        rows, locking = grad.indices, self._use_locking
        new_m = beta1 * gather(m, rows) + (1 - beta1) * grad.values
        new_v = beta2 * gather(v, rows) + (1 - beta2) * square(grad.values)
        return group(
            scatter_update(m, rows, new_m, use_locking=locking),
            scatter_update(v, rows, new_v, use_locking=locking),
            scatter_sub(var, rows, rate * new_m / (sqrt(new_v) + epsilon), use_locking=locking),
        )


if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.contrib.opt", globals())
