"""CrossShardOptimizer: adds gradients of several TPUs; here there is one machine, whose gradients are all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow.losses import Reduction
from graphflow.train.optimizers.optimizer import Optimizer
from graphflow.train.optimizers.wrapping import wraps_optimizer


@wraps_optimizer
class CrossShardOptimizer(Optimizer):
    """An optimizer of one shard: what another one does (tf.contrib.tpu.CrossShardOptimizer).

    Args:
        opt: The other optimizer.
        reduction: How losses of shards are joined: gf.losses.Reduction.SUM or MEAN; of one shard they are the same.
        name: A name for the operation.
        group_assignment: The groups of shards: those of one shard are [[0]], or None.

    Raises:
        ValueError: For another reduction, or groups of more shards.
    """

    def __init__(
        self,
        opt: Optimizer,
        reduction: str = Reduction.MEAN,
        name: str = "CrossShardOptimizer",
        group_assignment: Sequence[Sequence[int]] | None = None,
    ) -> None:
        if reduction not in (Reduction.SUM, Reduction.MEAN):
            raise ValueError(f"Unsupported reduction: {reduction}.")
        if group_assignment and sorted(one for group in group_assignment for one in group) != [0]:
            raise ValueError(
                f"group_assignment must be a permutation of range(1), got {group_assignment}: there is one shard."
            )
        super().__init__(False, name)
        self._opt = opt

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        """As the other optimizer's.

        Args:
            grads_and_vars: Pairs of a gradient and a variable.
            global_step: A variable that grows by one, or None.
            name: A name for the operation.

        Returns:
            The operation of a step.
        """
        return self._opt.apply_gradients(grads_and_vars, global_step, name)
