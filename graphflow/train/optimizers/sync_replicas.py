"""SyncReplicasOptimizer: workers that take each step together, on the mean of their gradients.

TensorFlow has a thread of the chief that moves the gradients on, and a queue of tokens that lets the workers go; if
either is missing, or the chief dies, all wait for ever. Here every worker's run takes part in a round and finishes it:
see graphflow._core.resources.rounds.sync_rounds. So `minimize` and a session suffice; the hook and the queue runner
are there for programs written for TensorFlow, and have nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import TensorLike, VariableLike
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.control_flow.flow_basics import group, no_op
from graphflow._core.ops.core import apply, constant
from graphflow._core.ops.distributed import sync_rounds
from graphflow._core.ops.io.queues import FIFOQueue
from graphflow._core.ops.state.variable_collections import (
    global_variables,
    report_uninitialized_variables,
    trainable_variables,
)
from graphflow.train.hooks.session_run_hook import SessionRunHook
from graphflow.train.optimizers.optimizer import Optimizer
from graphflow.train.optimizers.pairs import present_gradients
from graphflow.train.optimizers.wrapping import finishes_beside, wraps_optimizer
from graphflow.train.queue_runner import QueueRunner


@wraps_optimizer
class SyncReplicasOptimizer(Optimizer):
    """Applies the mean of the gradients of several replicas with another optimizer (tf.train.SyncReplicasOptimizer).

    A run of the train op computes gradients, waits until `replicas_to_aggregate` of the round are there, and ends when
    they are applied and the global step is one up. They are added in the order of the workers' tasks, so that the
    numbers are the same every time. With more replicas than that the last ones are backups: what comes too late for
    its round is dropped; `counted` tells. With fewer, each gives several gradients to a round.

    Which replica a run is follows from the task in the device of its gradients, as replica_device_setter's
    `worker_device` sets it; without a task every run counts as a replica of its own, and the order is that in which
    they began. A worker that dies and comes back takes part again; a step that has gone into a round is not repeated.
    What is done to gradients before they are applied is done by each replica to its own.

    A run raises UnavailableError, naming the tasks, a few seconds after so many are gone that no round can be; and
    AbortedError if its gradients were dropped because the global step was set back in the meantime.

    Args:
        opt: The optimizer that computes and applies gradients; its hooks `_create_slots`, `_prepare`,
            `_apply_dense` and so on are used, each variable's with all it writes on one device.
        replicas_to_aggregate: How many gradients make a step.
        total_num_replicas: How many workers there are; by default as many.
        variable_averages: An ExponentialMovingAverage updated once a round, for `variables_to_average`, by
            default all trainable variables.
        variables_to_average: Not available.
        use_locking: Accepted, and not needed: updates of a variable do not mix.
        name: A name for the operation.
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: Any = None,
        variables_to_average: Sequence[Any] | None = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        if replicas_to_aggregate < 1 or total < 1:
            raise ValueError(
                f"replicas_to_aggregate and total_num_replicas must be at least 1, got {replicas_to_aggregate} and "
                f"{total}."
            )
        self._needed, self._total = int(replicas_to_aggregate), int(total)
        self._averages = variable_averages
        self._averaged = variables_to_average
        self._counted: Tensor | None = None
        self._runner: QueueRunner | None = None
        self.chief_init_op: Operation | None = None
        self.local_step_init_op: Operation | None = None
        self.ready_for_local_init_op: Any = None

    # ---- what is built --------------------------------------------------------------------------------------------

    @property
    def counted(self) -> Tensor:
        """Whether this run's gradients are among those of its round, a bool scalar.

        To be fetched together with the train op. Without backup replicas it is always true.
        """
        if self._counted is None:
            raise ValueError("counted is there after apply_gradients().")
        return self._counted

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[TensorLike | None, VariableLike]],
        global_step: VariableLike | None = None,
        name: str | None = None,
    ) -> Operation:
        """The operation that takes a step together with the other replicas.

        ValueError without a global step, which says what round it is, and if no variable has a gradient.

        Args:
            grads_and_vars: Pairs (gradient, variable), as compute_gradients gives them.
            global_step: A variable that grows by one with each update, or None.
            name: A name for the operation.
        """
        grads_and_vars = list(grads_and_vars)
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError(
                "Global step is required to check staleness: pass global_step=gf.train.get_or_create_global_step()."
            )
        pairs = present_gradients(grads_and_vars)
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        graph = get_default_graph()
        variables = [v for _, v in pairs]
        with graph.control_dependencies(None):
            self._opt._create_slots(variables)
        with graph.name_scope(name or self._name) as scope:
            round_ = _Round(self, pairs, global_step)
            self._opt._prepare()
            updates = [round_.update(self._opt, g, v) for g, v in pairs]
            with graph.control_dependencies(updates):
                updates += round_.finish(self._opt, finishes_beside(self._opt, variables))
                averages = round_.average(self._averages, self._averaged)
            with graph.control_dependencies([*updates, *averages]), graph.colocate_with(global_step.op):
                train_op = round_.advance(global_step, scope)
            self._counted = round_.counted
            self.local_step_init_op = self.chief_init_op = no_op(name="nothing_to_initialize")
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        return train_op

    # ---- for programs written for TensorFlow ----------------------------------------------------------------------

    def get_chief_queue_runner(self) -> QueueRunner:
        """A queue runner that has nothing to do; ValueError before apply_gradients()."""
        self._check_applied()
        if self._runner is None:
            with get_default_graph().control_dependencies(None):
                queue = FIFOQueue(1, "int32", shapes=(), name=f"{self._name}_nothing")
            self._runner = _IdleRunner(queue, [no_op()])
        return self._runner

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """An operation that does nothing.

        Args:
            num_tokens: Not needed.

        Raises:
            ValueError: For too few tokens, and before apply_gradients().
        """
        self._check_applied()
        needed = self._needed - self._total
        if num_tokens != -1 and num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)"
            )
        return no_op(name="no_init_tokens")

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """A hook that has nothing to do but to check that the train op was built before the session.

        Args:
            is_chief: Whether this worker is the chief.
            num_tokens: Not needed.

        Returns:
            The hook.
        """
        return _SyncReplicasHook(self, is_chief, num_tokens)

    def _check_applied(self) -> None:
        if self._counted is None:
            raise ValueError(
                "SyncReplicasOptimizer.apply_gradient should be called first, by apply_gradients() or minimize()."
            )


class _IdleRunner(QueueRunner):
    """Starts no thread."""

    def create_threads(self, *args: Any, **kwargs: Any) -> list[Any]:
        """None."""
        return []


class _SyncReplicasHook(SessionRunHook):
    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens

    def begin(self) -> None:
        self._optimizer._check_applied()
        if self._is_chief:
            self._optimizer.get_init_tokens_op(self._num_tokens)


class _Round:
    """The operations of one replica's part in a round."""

    def __init__(
        self, optimizer: SyncReplicasOptimizer, pairs: Sequence[tuple[Any, Any]], global_step: Any
    ) -> None:
        graph = get_default_graph()
        variables = [v for _, v in pairs]
        self._name = optimizer._name
        self._slot = _slot(pairs)
        key = "+".join(sorted(v.op.name for v in variables))
        self._place = {
            "shared_name": f"{self._name}/{global_step.op.name}/{key}",
            "needed": optimizer._needed,
            "total": optimizer._total,
            "slot": self._slot,
        }
        with graph.control_dependencies(None), graph.colocate_with(global_step.op):
            begin = apply(sync_rounds.BEGIN, [global_step._ref()], dict(self._place), "begin")
            ticket = begin.outputs[0]
        sync_rounds.hold_saves(begin)
        pushes = [self._push(ticket, g, v) for g, v in pairs]
        with graph.control_dependencies(pushes), graph.colocate_with(global_step.op):
            arrive = apply(sync_rounds.ARRIVE, [ticket], dict(self._place), "arrive")
        self._choice, self._applies, self.counted = arrive.outputs

    def _attrs(self, what: str) -> dict[str, Any]:
        return {"shared_name": f"{self._name}/{what}"}

    def _push(self, ticket: Tensor, gradient: Any, variable: Any) -> Operation:
        attrs = self._attrs(variable.op.name) | {"slot": self._slot}
        with get_default_graph().colocate_with(variable.op, ignore_existing=True):
            if isinstance(gradient, IndexedSlices):
                parts = [ticket, gradient.values, gradient.indices]
                return apply(sync_rounds.PUSH_SLICES, parts, attrs, "push")
            return apply(sync_rounds.PUSH, [ticket, gradient], attrs, "push")

    def _once(self, what: str, near: Any, gradients: bool, build: Callable[[], Any]) -> Operation:
        """The operation that `build` returns, run by the first run that comes for a choice.

        It stands on the device of the variable `near`.

        All that a branch takes from outside is there before the branch begins; so the claim is made inside of one,
        and nothing can come between it and the change.
        """
        attrs = self._attrs(what) | {"gradients": gradients}
        graph = get_default_graph()

        def change() -> Tensor:
            with graph.control_dependencies([group(build())]):
                done = apply(sync_rounds.DONE, [self._choice], dict(attrs), "done")
            with graph.control_dependencies([done]):
                return constant(True)

        def claim() -> Any:
            with graph.colocate_with(near.op, ignore_existing=True):
                claimed = apply(sync_rounds.CLAIM, [self._choice], dict(attrs), "claim").outputs[0]
            return cond(claimed, change, lambda: constant(False))

        with graph.colocate_with(near.op, ignore_existing=True):
            changed: Tensor = cond(self._applies, claim, lambda: constant(False))
        return changed.op

    def update(self, optimizer: Optimizer, gradient: Any, variable: Any) -> Operation:
        """Applies the mean of the round's gradients of a variable."""
        graph = get_default_graph()
        attrs = self._attrs(variable.op.name) | {"dtype": gradient.dtype, "shape": variable.shape}

        def build() -> Any:
            with graph.colocate_with(variable.op, ignore_existing=True):
                if isinstance(gradient, IndexedSlices):
                    attrs["Tindices"] = gradient.indices.dtype
                    op = apply(sync_rounds.MEAN_SLICES, [self._choice], attrs, "mean")
                    mean: Any = IndexedSlices(op.outputs[0], op.outputs[1], gradient.dense_shape)
                else:
                    mean = apply(sync_rounds.MEAN, [self._choice], attrs, "mean").outputs[0]
                return optimizer._update(mean, variable)

        with graph.name_scope(f"update_{variable.op.name}"):
            return self._once(variable.op.name, variable, True, build)

    def finish(self, optimizer: Optimizer, near: Any) -> list[Operation]:
        """What the optimizer runs beside the variable `near` when all are changed; no-op if it is None."""
        if near is None:
            return []
        with get_default_graph().name_scope("finish"):
            return [
                self._once(f"finish/{near.op.name}", near, False, lambda: optimizer._finish([], "finish"))
            ]

    def average(self, averages: Any, variables: Sequence[Any] | None) -> list[Operation]:
        """Moves the averages of the variables."""
        if averages is None:
            return []
        averaged = trainable_variables() if variables is None else variables
        return [self._once(f"average/{v.op.name}", v, False, partial(averages.apply, [v])) for v in averaged]

    def advance(self, global_step: Any, scope: str) -> Operation:
        """Counts the global step up."""
        return apply(sync_rounds.ADVANCE, [global_step._ref(), self._choice], dict(self._place), scope)


def _slot(pairs: Sequence[tuple[Any, Any]]) -> str:
    """The task whose replica computes these gradients; "" if the devices do not tell."""
    here = no_op(name="here").device
    gradients = [(g.values if isinstance(g, IndexedSlices) else g).device for g, _ in pairs]
    specs = [DeviceSpec.from_string(device or "") for device in (here, *gradients)]
    holding = {(s.job, s.task) for s in (DeviceSpec.from_string(v.device or "") for _, v in pairs)}
    told = [s for s in specs if s.task is not None and s.job not in (None, "localhost")]
    apart = [s for s in told if (s.job, s.task) not in holding]
    for spec in apart or told:
        return f"/job:{spec.job}/replica:{spec.replica or 0}/task:{spec.task}"
    return ""
