"""Sessions that look after themselves: they begin ready, run hooks, survive lost peers, and end in order.

TensorFlow stacks four wrappers, each with its own run. Here one class owns the session, the coordinator and the hooks,
because what a run costs beside the bare one is a few microseconds that way: hooks that do not override a method are not
called for it, and the hooks' fetches follow the user's in one tuple, so that a run with the same hooks' fetches finds
its plan at once.

Any number of threads may use one: SessionKeeper (session_keeper.py) has the session itself.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.graph.defaults import get_default_graph
from graphflow.config import RunMetadata, RunOptions
from graphflow.train.coordinator import Coordinator
from graphflow.train.hooks.basic_hooks import step_to_stop_at, watched_losses
from graphflow.train.hooks.progress import TrainingProgress
from graphflow.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
    joined_feeds,
    joined_options,
    overrides,
)
from graphflow.train.queue_runner import start_queue_runners
from graphflow.train.sessions.interruptions import SIGNALS
from graphflow.train.sessions.recovery import Recovery, RecoveryBudget
from graphflow.train.sessions.session_creators import SessionCreator
from graphflow.train.sessions.session_keeper import LOST_PEER, Live, SessionKeeper
from graphflow.train.sessions.step_functions import Attempts, Calling, Calls, StepContext, check_step_fn
from graphflow.train.sessions.steps_seen import Steps

_log = logging.getLogger(__name__)

_CLEAN_END: Final = (errors.OutOfRangeError, StopIteration)


def _saves(hook: Any) -> bool:
    """Whether a hook saves if a signal ends the training."""
    return hasattr(hook, "on_interrupt") and overrides(hook, "on_interrupt")


class Monitored:
    """The common parts of MonitoredSession and SingularMonitoredSession."""

    StepContext = StepContext

    def __init__(
        self,
        session_creator: SessionCreator,
        hooks: Sequence[SessionRunHook] | None,
        stop_grace_period_secs: float,
        budget: RecoveryBudget | None,
        progress: bool = False,
    ) -> None:
        self._graph = get_default_graph()
        self._was_finalized = self._graph.finalized
        self._creator = session_creator
        self._hooks = list(hooks or ())
        self._budget = budget
        self._recoveries: list[Recovery] = []
        self._keeper = SessionKeeper(self._make, self._abandon, budget, stop_grace_period_secs)
        self._closed = False
        self._stop = self._asked_to_stop = False
        self._step_fn: Any = None
        self._progress: TrainingProgress | None = None
        for hook in self._hooks:
            hook.begin()
        self._before = [hook for hook in self._hooks if overrides(hook, "before_run")]
        self._after = [hook for hook in self._hooks if overrides(hook, "after_run")]
        self._steps = Steps(self._graph, self._hooks)
        self._step = self._steps.own
        shared = self._steps.share()
        self._follows_step = progress or shared
        self._calls = Calls()
        self._calling = Calling()
        self._savers = [hook for hook in self._hooks if _saves(hook)]
        self._saved_before: BaseException | None = None
        """What a signal has raised after the hooks had saved."""
        self._telling = threading.RLock()
        """Held while hooks are told of a run that is over, or of a session."""
        self._remote = False
        try:
            self._keeper.open_first()
            taken = getattr(self._creator, "taken_over", None)
            if taken is not None:
                gone = errors.AbortedError(None, None, "An earlier chief of this training is gone.")
                self._recoveries.append(Recovery(gone, taken[0], taken[1], time.time()))
            if progress and self._step is not None:
                self._progress = TrainingProgress(
                    self._graph,
                    watched_losses(self._graph, self._hooks),
                    partial(step_to_stop_at, self._hooks),
                )
                self._progress.begin(self._step(self._session))
        except BaseException as error:
            self._leave(error)
            raise
        if self._savers:
            SIGNALS.add(self._calling)

    # ---- what it is -----------------------------------------------------------------------------------------------

    @property
    def _session(self) -> Any:
        """The session that there is, or None."""
        return self._keeper.session

    @property
    def graph(self) -> Any:
        """The graph that it runs, or None once it is closed."""
        session = self._session
        return None if session is None else session.graph

    @property
    def recoveries(self) -> tuple[Recovery, ...]:
        """Every recovery so far, with its reason and the global steps before and after.

        The first may be that this process took over from a chief that is gone.
        """
        return tuple(self._recoveries)

    def should_stop(self) -> bool:
        """Whether the training loop should end: a hook or a thread asked to, or the session is closed.

        Raises what a thread of the session, such as a queue runner, has failed with.
        """
        if self._keeper.closing or self._stop or self._asked_to_stop:
            return True
        live = self._keeper.now()
        if live is None or live.given_up:
            return False
        try:
            live.coordinator.raise_requested_exception()
        except LOST_PEER as error:
            if not self._calling.active:
                self._recover(live, error)
            return False
        return bool(live.coordinator.should_stop()) and not live.lost

    def request_stop(self) -> None:
        """Asks the training loop to end: `should_stop()` is true from now on, in all threads.

        For any thread and for handlers of signals: a run that a loop has begun, or is about to, is still made. Hooks
        have `run_context.request_stop()`, after which there is none.
        """
        self._asked_to_stop = True

    # ---- making and losing a session ------------------------------------------------------------------------------

    def _make(self, made: Callable[[Any], Coordinator]) -> None:
        """Makes a session, starts the queue runners and tells the hooks."""
        with self._graph.as_default():
            session = self._creator.create_session()
            self._remote = bool(getattr(session, "sess_str", ""))
            coordinator = made(session)
            start_queue_runners(sess=session, coord=coordinator)
            with self._telling:
                for hook in self._hooks:
                    hook.after_create_session(session, coordinator)

    def _abandon(self) -> None:
        """Has the thread that makes a session end."""
        abandon = getattr(self._creator, "abandon", None)
        if abandon is not None:
            abandon()

    def _recover(self, live: Live, error: Exception) -> None:
        """Makes the session anew after a peer was lost, from the newest checkpoint; raises `error` if it may not."""
        before: list[int | None] = []
        calling = self._calling
        calling.recovering = True
        try:
            if SIGNALS.here():
                live.given_up = True  # Nothing of it is saved: a step that has failed may be half applied.
                SIGNALS.stop()
            self._keeper.renew(
                live,
                error,
                lambda: before.append(self._steps.last_seen(live.session)),
                lambda: self._recovered(error, before[0]),
            )
        finally:
            calling.recovering = False

    def _recovered(self, error: Exception, before: int | None) -> None:
        after = self._steps.begin_anew(self._session)
        self._recoveries.append(Recovery(error, before, after, time.time()))
        moved = self._recoveries[-1].moved()
        _log.warning(
            "Recovery %d (%s) after %s: %s. %s",
            len(self._recoveries), self._budget, type(error).__name__, str(error).rstrip("."), moved,
        )  # fmt: skip
        if self._progress is not None and after is not None:
            self._progress.begin(after)

    # ---- running --------------------------------------------------------------------------------------------------

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Session.run with hooks. After AbortedError and UnavailableError it runs again in a session made anew.

        Any number of threads may run at once: they share the session, and the making of a new one.

        What the first attempt changed in variables of a cluster is not changed again, unless they were restored in
        the meantime: the run that returns has changed each variable once.

        RuntimeError after the end or once a hook asked to stop; what hooks, threads and operations raise otherwise.
        """
        return self._again(
            lambda live, attempts: self._run(live, attempts, fetches, feed_dict, options, run_metadata)
        )

    def run_step_fn(self, step_fn: Callable[[Any], Any]) -> Any:
        """Calls step_fn(step_context), which runs what it likes.

        With hooks it runs by step_context.run_with_hooks, and without by step_context.session.

        Returns what step_fn returns. step_fn is called again after a recovery. ValueError if it does not take one
        argument; StopIteration, which ends the `with` block cleanly, after step_context.request_stop().
        """
        if step_fn != self._step_fn:
            check_step_fn(step_fn)
            self._step_fn = step_fn

        def step(live: Live, attempts: Attempts | None) -> Any:
            if self._closed:
                raise RuntimeError("Session is already closed.")
            try:
                return step_fn(StepContext(live.session, partial(self._run, live, attempts)))
            except StopIteration:
                self._stop = True
                raise

        return self._again(step)

    def _again(self, act: Callable[[Live, Attempts | None], Any]) -> Any:
        """What a call of the user's does, again after each recovery: its attempts are known by the same numbers.

        A call inside of another one of the same thread, as from a step function, is a part of that.
        """
        calling, keeper = self._calling, self._keeper
        if self._closed:
            raise RuntimeError("Session is already closed.")
        if calling.active:
            live = keeper.now()
            if live is None or live.lost:
                raise errors.AbortedError(None, None, "The session was lost, and is made anew.")
            return act(live, calling.attempts)
        attempts = self._calls.begin() if self._remote else None
        calling.active, calling.attempts = True, attempts
        try:
            while True:
                live = keeper.current()
                try:
                    result = act(live, attempts)
                except Exception as error:
                    if not keeper.is_lost(live, error):
                        raise
                    self._recover(live, error)
                    if attempts is not None:
                        attempts.again()
                else:
                    if self._budget is not None:
                        self._budget.succeeded()
                    break
        finally:
            calling.active, calling.attempts = False, None
            if attempts is not None:
                self._calls.end(attempts)
        if SIGNALS.noted is not None:
            self._stop_for_signal(live)
        return result

    def _run(
        self,
        live: Live,
        attempts: Attempts | None,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """One run with hooks, in a session."""
        if self._closed or self._stop:
            raise RuntimeError(
                "Session is already closed."
                if self._closed
                else "Run called even after should_stop requested: leave the loop when should_stop() is true."
            )
        session = live.session
        if live.coordinator.should_stop():
            live.coordinator.raise_requested_exception()
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict, options), session)
        joined: list[Any] = [fetches]
        places: dict[Any, int] = {}
        feeds = feed_dict
        for hook in self._before:
            asked = hook.before_run(context)
            if asked is None:
                continue
            if asked.fetches is not None:
                places[hook] = len(joined)
                joined.append(asked.fetches)
            if asked.feed_dict:
                feeds = joined_feeds(feeds, asked.feed_dict, feed_dict)
            if asked.options is not None:
                options = joined_options(options, asked.options)
        metadata = RunMetadata() if run_metadata is None else run_metadata
        followed = self._step if self._follows_step and self._remote else None
        if followed is not None:
            joined.append(followed.tensor)
            followed.reading.of(session)
            seen = followed.reading.seen
        try:
            if attempts is not None:
                session.numbered(attempts.next_run())
            if len(joined) > 1:
                results = session.run(tuple(joined), feeds, options, metadata)
                result = results[0]
            else:
                results = ()
                result = session.run(fetches, feeds, options, metadata)
        except LOST_PEER:
            raise
        except Exception as error:
            live.raise_cause(error)
            raise
        finally:
            if attempts is not None:
                session.numbered(None)
        if followed is not None:
            followed.reading.ran(int(results[-1]), seen)
        if self._after:
            with self._telling:
                nothing = SessionRunValues(None, options, metadata)
                for hook in self._after:
                    place = places.get(hook)
                    hook.after_run(
                        context,
                        nothing if place is None else SessionRunValues(results[place], options, metadata),
                    )
        if context.stop_requested:
            self._stop = True
        progress = self._progress
        if progress is not None and progress.due():
            assert self._step is not None
            with self._telling:
                progress.update(self._step.near(session), joined, results or [result])
        return result

    # ---- the end --------------------------------------------------------------------------------------------------

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        clean = error is None or isinstance(error, _CLEAN_END)
        if error is not None and not clean:
            self._leave(error)
        elif error is None and self._closed:
            raise RuntimeError(
                "Session is already closed: the end of the block closes it, so do not call close() in it."
            )
        elif not self._keeper.closing:
            self.close()
        return clean

    def close(self) -> None:
        """Tells the hooks that it is the end, stops the threads and closes the session.

        A thread that is just making the session anew comes to that first. Runs of other threads that are under way end
        with CancelledError, later ones raise RuntimeError.
        """
        self._calling.ending = True  # A signal does not tear the last checkpoint, either.
        try:
            self._close()
        finally:
            self._calling.ending = False

    def _close(self) -> None:
        if self._closed or not self._keeper.begin_end(at_once=False):
            raise RuntimeError("Session is already closed.")
        if self._keeper.now() is None:
            self._leave(RuntimeError("The session was lost, and could not be made anew."))
            return
        try:
            self._end_hooks()
        except BaseException as error:
            self._leave(error)
            raise
        if self._progress is not None and self._step is not None:
            self._progress.update(self._step(self._session), None, None)
        try:
            self._keeper.end()
        finally:
            self._finish()

    def _end_hooks(self) -> None:
        """Tells the hooks that it is the end; if a peer is lost, the rest of them in a session made anew."""
        left = list(self._hooks)
        while left:
            live = self._keeper.current()
            try:
                with self._telling:
                    left[0].end(live.session)
            except LOST_PEER as error:
                self._recover(live, error)
            else:
                del left[0]

    def _leave(self, error: BaseException) -> None:
        """The end by an error, which stays the one that is seen whatever else goes wrong now.

        If that is a signal which came between two steps, the hooks save first.
        """
        by_signal = SIGNALS.has_raised(error)
        if by_signal:
            SIGNALS.leave()
        if self._closed or not self._keeper.begin_end(at_once=True):
            return
        live = self._keeper.now()
        if by_signal and error is not self._saved_before and live is not None:
            SIGNALS.save(partial(self._save, live))
        for hook in self._hooks:
            flush = getattr(hook, "on_exception", None)
            if flush is not None:
                self._quietly(flush, error)
        self._quietly(self._keeper.end, True)
        if by_signal:
            SIGNALS.left()
        self._finish()

    def _save(self, live: Live) -> None:
        """Has the hooks save, unless the session is lost."""
        if live.lost:
            return
        with self._telling:
            for hook in self._savers:
                hook.on_interrupt(live.session)

    def _stop_for_signal(self, live: Live) -> None:
        """Between two runs: ends the training if a signal has come in the midst of the first."""
        if not SIGNALS.here():
            return
        SIGNALS.save(partial(self._save, live))
        try:
            SIGNALS.stop()
        except BaseException as error:
            self._saved_before = error
            raise

    def _quietly(self, act: Callable[..., None], *args: Any) -> None:
        try:
            act(*args)
        except Exception as further:
            _log.warning("While the session ended after an error: %s: %s", type(further).__name__, further)

    def _finish(self) -> None:
        self._closed = True
        if self._progress is not None:
            self._progress.close()
            self._progress = None
        if not self._was_finalized:
            self._graph.unfinalize()
        SIGNALS.remove(self._calling)
