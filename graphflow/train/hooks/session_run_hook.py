"""SessionRunHook: what a program hangs onto every run of a monitored session, and what it is told there.

The three small classes around it are what TensorFlow passes to a hook, so that a hook written for TensorFlow 1 works
as it is. Three things are added: `on_exception`, since `end` is for a program that ended well; `on_interrupt`, since
one that is asked to end may save before; and StepReader, since reading a counter from where it is stored costs a tenth
of a run that fetches it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from graphflow._core.graph.elements import Operation, Tensor, VariableLike
from graphflow._core.graph.scopes import resource_name
from graphflow.config import RunMetadata, RunOptions
from graphflow.train.steps import get_global_step

if TYPE_CHECKING:
    from graphflow._core.session import Session

_log = logging.getLogger(__name__)


class SessionRunArgs(NamedTuple):
    """The additions of a hook to a run: `fetches`, `feed_dict`, `options` (tf.train.SessionRunArgs)."""

    fetches: Any
    feed_dict: Any = None
    options: RunOptions | None = None


class SessionRunValues(NamedTuple):
    """What a run gave a hook: the values of its fetches as `results`, and the run's `options` and `run_metadata`."""

    results: Any
    options: RunOptions | None
    run_metadata: RunMetadata


class SessionRunContext:
    """One run as hooks see it: the user's arguments, the session, and the wish to stop (tf.train.SessionRunContext).

    Args:
        original_args: The arguments of the run.
        session: The session.
    """

    __slots__ = ("original_args", "session", "stop_requested")

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self.original_args: SessionRunArgs = original_args
        """The user's arguments of `run`, as SessionRunArgs."""
        self.session: Session = session
        """The session itself, without hooks: a run of it triggers none."""
        self.stop_requested: bool = False

    def request_stop(self) -> None:
        """Asks the training loop to end: `should_stop()` is true from now on."""
        self.stop_requested = True


class SessionRunHook:
    """Base class of hooks; each method does nothing unless a subclass says what (tf.train.SessionRunHook).

    `begin` may add to the graph, the others may not: it is finalized then.
    """

    def begin(self) -> None:
        """Called once, before the graph is finalized and the session made."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called after every making of a session, so again after each recovery.

        Args:
            session: The session, without hooks.
            coord: The coordinator of its threads.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; what it returns is run together with the user's fetches.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
        """
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run that succeeded, with the values of the hook's fetches.

        Args:
            run_context: The run: its arguments, the session, and the wish to stop.
            run_values: What the run gave: results, options and metadata.
        """

    def end(self, session: Any) -> None:
        """Called at the end of a `with` block that was not left by an error; OutOfRangeError counts as an end.

        Args:
            session: The session, without hooks.
        """

    def on_interrupt(self, session: Any) -> None:
        """Called before `on_exception` if Ctrl-C or SIGTERM ends the training between two steps: the place to save.

        Args:
            session: The session, without hooks.
        """

    def on_exception(self, exception: BaseException) -> None:
        """Called instead of `end` if the block is left by an error: the place to flush what is buffered.

        Args:
            exception: What the run raised.
        """


class StepReading:
    """The global step of one session as far as it is known, shared by all hooks that ask for it."""

    __slots__ = ("_session", "before", "cell", "exact", "expected", "last", "moves", "seen", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.tensor: VariableLike | Tensor = tensor
        self.cell: Any = None
        self.last: int | None = None
        """The value that was seen last."""
        self.expected: int | None = None
        """The value that it must have now if nobody else moves it; None if that is not known."""
        self.exact: bool = False
        """Whether `last` was seen after the last run."""
        self.before: int | None = None
        self.moves: bool | None = None
        """Whether the last run that one could tell of moved it."""
        self.seen: int = 0
        """How often it was read."""
        self._session: Any = None

    def of(self, session: Any) -> None:
        """From now on it is about this session."""
        if session is not self._session:
            self._session, self.cell, self.last = session, self._find(session), None
            self.exact, self.expected, self.before, self.moves = False, None, None, None

    def found(self, value: int) -> int:
        """It was read, and is this; a step back on a cluster is logged."""
        if self.last is not None and value < self.last and bool(getattr(self._session, "sess_str", None)):
            _log.warning(
                "The global step went back from %d to %d: another task restored or initialized it.",
                self.last,
                value,
            )
        self.last, self.expected, self.exact = value, value, True
        self.seen += 1
        before = self.before  # Another thread may be here, too.
        if before is not None:
            self.moves, self.before = value > before, None
        return value

    def ran(self, before: int, seen: int) -> None:
        """A run of the session is over, which has fetched the step: it was `before` when the run began.

        seen: how often the step had been read then. What other threads have read since may be newer.
        """
        if seen != self.seen and self.last is not None and before < self.last:
            return
        earlier = self.before
        self.before = None
        self.found(before)
        self.exact = False
        if earlier is not None:
            self.moves = before > earlier
        self.before = before
        self.expected = None if self.moves is None else before + self.moves

    def _find(self, session: Any) -> Any:
        op = self.tensor.op
        store = None if getattr(session, "sess_str", "") else getattr(session, "store", None)
        if store is None or not isinstance(op, Operation) or not op.op_def.is_variable:
            return None
        return store.variable(resource_name(op.attrs, op.name), op.outputs[0].dtype, op.line, ())


class StepReader:
    """The value of the global step in a session, read where it is stored rather than by a run.

    `tensor` is the global step, a variable or a tensor. On a cluster a monitored session fetches it along with every
    run, for all readers together; only who needs to know it exactly after a run asks for it by a run of its own, and
    the others learn it by that.
    """

    __slots__ = ("reading", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.tensor: VariableLike | Tensor = tensor
        self.reading: StepReading = StepReading(tensor)

    @classmethod
    def of_graph(cls, user: str) -> StepReader:
        """Of the default graph; RuntimeError, naming the hook that needs it, if there is no global step."""
        step = get_global_step()
        if step is None:
            raise RuntimeError(
                f"{user} needs a global step, and the graph has none: call gf.train.get_or_create_global_step() and "
                "give it to the optimizer's minimize(loss, global_step=...)."
            )
        return cls(step)

    @property
    def last(self) -> int | None:
        """The value that it has, as far as is known; None if nothing is."""
        reading = self.reading
        return reading.last if reading.expected is None else reading.expected

    def __call__(self, session: Any) -> int:
        """The value now, as after the last run of the session."""
        reading = self.reading
        reading.of(session)
        if reading.exact and reading.cell is None:
            assert reading.last is not None
            return reading.last
        return self.read(session)

    def near(self, session: Any) -> int:
        """The value now, or what it must be if nobody else moves it: costs nothing after a run that fetched it."""
        reading = self.reading
        reading.of(session)
        return (
            self.read(session) if reading.cell is not None or reading.expected is None else reading.expected
        )

    def read(self, session: Any) -> int:
        """The value now, whoever has moved it."""
        reading = self.reading
        reading.of(session)
        cell = reading.cell
        value = session.run(self.tensor) if cell is None or cell.value is None else cell.value
        return reading.found(int(value))


def overrides(hook: SessionRunHook, method: str) -> bool:
    """Whether a hook does anything in a method; hooks need not be subclasses of SessionRunHook."""
    own = getattr(hook, method)
    return getattr(own, "__func__", own) is not getattr(SessionRunHook, method)


def joined_feeds(
    feeds: Mapping[Any, Any] | None, more: Mapping[Any, Any], users: Mapping[Any, Any] | None
) -> Mapping[Any, Any]:
    """Feeds with a hook's; RuntimeError if one is fed already."""
    for tensor in more:
        if feeds and tensor in feeds:
            who = "a hook and by the run itself" if users and tensor in users else "two hooks"
            raise RuntimeError(f"Same tensor is fed by {who}: {getattr(tensor, 'name', tensor)!r}.")
    return {**(feeds or {}), **more}


def joined_options(first: RunOptions | None, second: RunOptions) -> RunOptions:
    """Options that do what both ask for: the more detailed trace, the later deadline."""
    if first is None:
        return second
    return RunOptions(
        trace_level=max(first.trace_level, second.trace_level),
        timeout_in_ms=max(first.timeout_in_ms, second.timeout_in_ms),
        inter_op_thread_pool=first.inter_op_thread_pool,
        output_partition_graphs=first.output_partition_graphs or second.output_partition_graphs,
        report_tensor_allocations_upon_oom=(
            first.report_tensor_allocations_upon_oom or second.report_tensor_allocations_upon_oom
        ),
    )
