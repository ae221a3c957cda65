"""Computing one stage of a step on a task, in whichever thread: what is noted beside its results; and StepWatch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import graphflow.errors as errors
from graphflow._core.cluster.protocol.task_steps import StepKey, StepProgress
from graphflow._core.cluster.server.deduplicator import Changes, Deduplicator
from graphflow._core.cluster.server.step_output import StepContext
from graphflow._core.common.records import dataclass
from graphflow._core.common.waiting.stillness import Stillness
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.assemble import operand
from graphflow._core.runtime.compiled.cores import one_core
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.progress import RunStage
from graphflow._core.runtime.threads import WATCHMAN


def tasks_beside(addresses: Mapping[str, str], task: str) -> int:
    """How many tasks of a cluster are on the machine of this one, itself among them, as far as addresses tell."""
    hosts = [address.rpartition(":")[0] for address in addresses.values()]
    return hosts.count(addresses[task].rpartition(":")[0])


@dataclass
class TaskStageRunner:
    """What computes a stage, and how long that takes: seconds, or more than any if it is not known yet."""

    executable: Executable
    blocks: bool
    changes: Changes
    kept: dict[str, Any]
    """What operations keep on this task for the session."""
    alone: bool
    """Whether its plan has one device here: then no two stages of a step are computed at once."""
    changes_more: bool
    """Whether its step, on this task or another, changes more than what it takes from, as far as it does not say so."""
    replica_seconds: float
    """How long a round of synchronous training waits for workers that are gone; 0 means a few seconds."""
    snapshot: bool = False
    """Whether it reads variables together with the runs that have changed them."""
    on_one_core: bool = False
    """Whether its products are not divided among BLAS's threads: the tasks of this machine leave no core over."""
    seconds: float = 1.0


def compute(
    work: RunStage, context: StepContext, store: ResourceStore, deduplicator: Deduplicator
) -> tuple[Sequence[Any], Exception | None]:
    """The results of a stage, or its error. In any thread."""
    runner: TaskStageRunner = work.stage.run
    context.kept, context.replica_seconds = runner.kept, runner.replica_seconds
    begun = time.perf_counter()
    counted: StepContext | ResourceStore = store if runner.blocks or runner.alone else context
    if runner.blocks:  # A wait of a stage of its own, which holds no variable.
        context.pausable = True
    try:
        function: Callable[[Any, Sequence[Any]], Sequence[Any]] = runner.executable.run
        may_be_repeated = context.request_id is not None and runner.changes
        if runner.changes_more or may_be_repeated:
            function = partial(_changing, runner, deduplicator)
        if not may_be_repeated and (runner.snapshot or (deduplicator.restoring and runner.changes)):
            function = partial(deduplicator.undisturbed, function)
        if runner.on_one_core:
            with one_core():
                results = counted.running(context, function, work.values)
        else:
            results = counted.running(context, function, work.values)
        if bytes in map(type, results):
            results = [operand(v) if type(v) is bytes else v for v in results]
        work.values = ()
    except BaseException as raised:
        error = context.error or raised
        if isinstance(error, Exception):
            return (), error
        text = f"{type(error).__name__}: {error}"  # As of a function that calls sys.exit(); the client is told, too.
        return (), errors.UnknownError(None, None, text)
    seconds = time.perf_counter() - begun
    runner.seconds = seconds if runner.seconds == 1.0 else 0.7 * runner.seconds + 0.3 * seconds
    return results, None


def _changing(
    runner: TaskStageRunner, deduplicator: Deduplicator, context: StepContext, values: Sequence[Any]
) -> Sequence[Any]:
    """The results of a stage that changes what others see, unless an earlier attempt of the run has done so."""
    if runner.changes_more:
        context.begin_change()
    if context.request_id is not None and runner.changes:
        return deduplicator.carry_out(runner.executable, runner.changes, context, values)
    return runner.executable.run(context, values)


class StepWatch:
    """Watches one step until it has ended.

    steps: the steps that have begun here, and have not ended. tell: called in the watchman's thread, with how long
    nothing of the step has begun or ended.
    """

    def __init__(
        self, key: StepKey, steps: Mapping[StepKey, StepProgress], tell: Callable[[StepKey, float], None]
    ) -> None:
        self._key = key
        self._steps = steps
        self._tell = tell
        self._still = Stillness(-1)
        WATCHMAN.begin(self)

    def look(self) -> None:
        """See Watched."""
        progress = self._steps.get(self._key)
        if progress is None:
            WATCHMAN.end(self)
            return
        seconds = self._still.seconds(progress.moves)
        if seconds:
            self._tell(self._key, seconds)
