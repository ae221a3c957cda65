"""BoundedStalenessOptimizer: asynchronous training that knows how stale each update is, and can limit it.

What staleness is, and how a limit is kept, is in graphflow._core.resources.staleness. This builds the ops around those
of another optimizer: a step is admitted, or not, once for all of its variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import TensorLike, VariableLike
from graphflow._core.ops.array.shaping import reshape
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import apply, constant
from graphflow._core.ops.distributed import staleness as ops
from graphflow._core.ops.math.arithmetic import minimum
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.state.state import assign_add, scatter_add
from graphflow._core.ops.state.variable import Variable
from graphflow.train.optimizers.optimizer import Optimizer
from graphflow.train.optimizers.pairs import present_gradients
from graphflow.train.optimizers.wrapping import finishes_beside, wraps_optimizer

_BINS: Final = 64
"""Length of the histogram if there is no limit; its last bin has all that is larger."""


@wraps_optimizer
class BoundedStalenessOptimizer(Optimizer):
    """Applies gradients with another optimizer, and records and limits how stale they are. It is graphflow's own.

    The staleness of an update is the number of updates by others that its step may not have seen, and that come before
    it: none in a training by one worker, and about the number of the other workers if all are equally quick.

    `staleness` and `admitted` tell of a step if they are fetched together with the train op. `histogram` is a
    variable which says how many updates of each staleness were applied, larger ones in its last place, and `dropped`
    one that says how many were dropped; checkpoints have them.

    Args:
        opt: The optimizer that computes and applies gradients.
        max_staleness: The limit, None to record only.
        mode: "drop" applies nothing of a step that is beyond the limit, nor counts the global step up; "wait"
            holds quick workers back, so that no step comes to be beyond it. All workers must give the same.
        name: A name for the operation.
    """

    def __init__(
        self,
        opt: Optimizer,
        max_staleness: int | None = None,
        mode: str = "drop",
        name: str = "bounded_staleness",
    ) -> None:
        super().__init__(False, name)
        self._opt = opt
        if max_staleness is not None and max_staleness < 0:
            raise ValueError(f"max_staleness must not be negative, got {max_staleness!r}.")
        if mode not in ("drop", "wait"):
            raise ValueError(f"mode is 'drop' or 'wait', got {mode!r}.")
        self._limit = max_staleness
        self._waits = mode == "wait"
        self._tensors: tuple[Tensor, Tensor] | None = None
        self._variables: tuple[Any, Any] | None = None

    def variables(self) -> list[Variable]:
        """The variables of the other optimizer, and the record."""
        return [*self._opt.variables(), *(self._variables or ())]

    # ---- what is recorded -----------------------------------------------------------------------------------------

    def _built(self, found: tuple[Any, Any] | None, place: int) -> Any:
        if found is None:
            raise ValueError("This is there after apply_gradients().")
        return found[place]

    @property
    def staleness(self) -> Tensor:
        """The staleness of this run's update, an int64 scalar; to be fetched together with the train op."""
        tensor: Tensor = self._built(self._tensors, 0)
        return tensor

    @property
    def admitted(self) -> Tensor:
        """Whether this run's update was applied, a bool scalar; to be fetched together with the train op."""
        tensor: Tensor = self._built(self._tensors, 1)
        return tensor

    @property
    def histogram(self) -> Any:
        """The number of applied updates by staleness, an int64 variable."""
        return self._built(self._variables, 0)

    @property
    def dropped(self) -> Any:
        """The number of dropped updates, an int64 variable."""
        return self._built(self._variables, 1)

    # ---- what is built --------------------------------------------------------------------------------------------

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[TensorLike | None, VariableLike]],
        global_step: VariableLike | None = None,
        name: str | None = None,
    ) -> Operation:
        """The operation that applies gradients if they are not too stale, and then counts `global_step` up.

        Args:
            grads_and_vars: Pairs (gradient, variable), as compute_gradients gives them.
            global_step: A variable that grows by one with each update, or None.
            name: A name for the operation.

        Raises:
            ValueError: If there is no pair, or none with a gradient.
        """
        pairs = present_gradients(grads_and_vars)
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        graph = get_default_graph()
        variables = [v for _, v in pairs]
        near = variables[0] if global_step is None else global_step
        attrs = {
            "shared_name": f"{self._name}/{near.op.name}",
            "limit": -1 if self._limit is None else self._limit,
            "waits": self._waits,
        }
        with graph.control_dependencies(None):
            self._opt._create_slots(variables)
            with graph.colocate_with(near.op):
                self._variables = self._make_record()
        with graph.name_scope(name or self._name) as scope:
            with graph.control_dependencies(None), graph.colocate_with(near.op):
                ticket = apply(ops.BEGIN, [], dict(attrs), "begin").outputs[0]
            self._opt._prepare()
            gradients = [(g.values if isinstance(g, IndexedSlices) else g).op for g, _ in pairs]
            with graph.control_dependencies(gradients), graph.colocate_with(near.op):
                admit = apply(ops.ADMIT, [ticket], dict(attrs), "admit")
            self._tensors = admit.outputs[0], admit.outputs[1]
            updates = [self._update_of(g, v) for g, v in pairs]
            with graph.control_dependencies(updates):
                updates += self._finish_of(variables)
            with graph.control_dependencies(updates), graph.colocate_with(near.op):
                counted = self._record(global_step)
            with graph.control_dependencies(counted), graph.colocate_with(near.op):
                return apply(ops.DONE, [ticket], dict(attrs), scope)

    def _make_record(self) -> tuple[Any, Any]:
        bins = _BINS if self._limit is None else self._limit + 1
        zeros = np.zeros(bins, np.int64)
        return (
            Variable(zeros, trainable=False, name=f"{self._name}/histogram"),
            Variable(np.int64(0), trainable=False, name=f"{self._name}/dropped"),
        )

    def _record(self, global_step: Any) -> list[Any]:
        staleness, admitted = self.staleness, self.admitted
        one = cast(admitted, dtypes.int64)
        last = int(self.histogram.shape[0]) - 1
        place = reshape(minimum(staleness, constant(last, dtypes.int64)), [1])
        counted = [scatter_add(self.histogram, place, reshape(one, [1]))]
        if self._limit is not None and not self._waits:
            counted.append(assign_add(self.dropped, constant(1, dtypes.int64) - one))
        if global_step is not None:
            counted.append(assign_add(global_step, cast(admitted, global_step.dtype)))
        return counted

    def _where_admitted(self, near: Any, build: Callable[[], Any]) -> Operation:
        """The operation that `build` returns, run only if the step was admitted, on the device of a variable."""
        graph = get_default_graph()

        def change() -> Tensor:
            with graph.control_dependencies([group(build())]):
                return constant(True)

        with graph.colocate_with(near.op, ignore_existing=True):
            changed: Tensor = cond(self.admitted, change, lambda: constant(False))
        return changed.op

    def _update_of(self, gradient: Any, variable: Any) -> Operation:
        def build() -> Any:
            with get_default_graph().colocate_with(variable.op, ignore_existing=True):
                return self._opt._update(gradient, variable)

        with get_default_graph().name_scope(f"update_{variable.op.name}"):
            return self._where_admitted(variable, build)

    def _finish_of(self, variables: Sequence[Any]) -> list[Operation]:
        """The operations that the optimizer runs when all variables are changed."""
        near = finishes_beside(self._opt, variables)
        if near is None:
            return []
        with get_default_graph().name_scope("finish"):
            return [self._where_admitted(near, lambda: self._opt._finish([], "finish"))]
