"""The session of a monitored session: made, lost and made anew once for all threads that use it.

A thread takes the session that there is, and says so if a run has shown that it is lost. The first to say so makes
it anew, and the others wait for that; what their runs end with meanwhile, as the lost session is closed under them,
says nothing of their own. Nobody waits who is inside of a call of his own already, such as a hook that runs something:
the call around it does.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.common.timeouts import SESSION_ABANDON_SECONDS, SESSION_LOOK_SECONDS
from graphflow._core.common.waiting.conditions import Condition
from graphflow._core.session import ClosedSessionError
from graphflow.train.coordinator import Coordinator
from graphflow.train.sessions.recovery import RecoveryBudget

_log = logging.getLogger(__name__)

LOST_PEER: Final = (errors.AbortedError, errors.UnavailableError)


@dataclass(eq=False)
class Live:
    """A session, and the coordinator of its threads."""

    session: Any
    coordinator: SessionCoordinator
    given_up: bool = False

    @property
    def lost(self) -> bool:
        """Whether it is made anew, so that what fails in it means nothing of its own."""
        return self.given_up or self.coordinator.lost

    def raise_cause(self, error: Exception) -> None:
        """Raises what a thread failed with, if a run failed because of that: its queue was closed, perhaps."""
        try:
            self.coordinator.raise_requested_exception()
        except Exception as cause:
            if cause is not error:
                raise cause from error


class SessionCoordinator(Coordinator):
    """The coordinator of a session that may be made anew: one of its threads may be the first to see that it is lost.

    Then the session is closed at once, which ends all that waits in it. Queues stay as they are, which else are closed
    for that: on a cluster they would be closed to the next session, too.
    """

    def __init__(self, session: Any, recovers: bool) -> None:
        super().__init__(clean_stop_exception_types=())
        self._session = session
        self._recovers = recovers
        self.lost: bool = False
        """Whether a thread has said so."""

    def _stopping(self, error: BaseException | None) -> None:
        if self._recovers and isinstance(error, LOST_PEER):
            self.lost = True
            give_up(self._session)


def give_up(session: Any) -> None:
    """Closes a session because something failed."""
    getattr(session, "give_up", session.close)()


@dataclass(frozen=True)
class _Failed:
    """In which turn a session could not be made, in place of which, and why."""

    turn: int
    lost: Live | None
    error: Exception


class SessionKeeper:
    """Keeps one session for all threads. Thread-safe.

    make: makes a session; its argument takes it, before anybody is told of it, and gives its coordinator. abandon: asks
    `make` to end, from another thread. budget: of recoveries, None if there are none. grace_secs: how long threads
    may take to end.
    """

    def __init__(
        self,
        make: Callable[[Callable[[Any], Coordinator]], None],
        abandon: Callable[[], None],
        budget: RecoveryBudget | None,
        grace_secs: float,
    ) -> None:
        self._make = make
        self._abandon = abandon
        self._budget = budget
        self._grace_secs = grace_secs
        self._news = Condition()
        self._live: Live | None = None
        self._maker: int | None = None
        """The thread that makes the session, or ends it."""
        self._unfinished: Live | None = None
        """The session that it has made, while the hooks are told of it."""
        self._ending: Live | None = None
        """The lost session whose threads are being ended."""
        self._turn = 0
        """How often a thread has come to make it."""
        self._failed: _Failed | None = None
        self._leaving = threading.Event()
        self._closer: int | None = None
        """The thread that ends all."""

    @property
    def session(self) -> Any:
        """The session that there is, or None."""
        live = self.now()
        return None if live is None else live.session

    @property
    def closing(self) -> bool:
        """Whether some thread ends all, or has."""
        return self._closer is not None

    def now(self) -> Live | None:
        """The session that there is, without a wait; for the thread that makes one, that one."""
        if self._unfinished is not None and self._maker == threading.get_ident():
            return self._unfinished
        return self._live

    def current(self) -> Live:
        """The session that there is; waits if it is made anew, and makes it if that has failed before."""
        live = self._live
        if live is not None and not live.lost and self._closer is None:
            return live
        if self._maker == threading.get_ident() or self._closer == threading.get_ident():
            live = self.now()
            if live is None:
                raise errors.UnavailableError(None, None, "The session is lost, and is just being made anew.")
            return live
        self._in_turn(None, self.open)
        return self.current()

    def is_lost(self, live: Live, error: Exception) -> bool:
        """Whether an error of a run in a session means that the session is lost, and the run to be repeated."""
        if self._budget is None:
            return False
        if isinstance(error, LOST_PEER):
            return True
        return live.lost and isinstance(error, errors.OpError | ClosedSessionError)

    # ---- making it anew -------------------------------------------------------------------------------------------

    def renew(
        self, live: Live, error: Exception, before: Callable[[], None], after: Callable[[], None]
    ) -> None:
        """Makes the session anew after it was lost, unless another thread does, which is waited for.

        before: called in the lost session, after: in the new one. Raises `error` if there may be no more recoveries,
        or what made it impossible for the thread that tried.
        """
        if self._budget is None or threading.current_thread() in live.coordinator.threads:
            raise error  # A thread of the session's own ends with it.

        def make_anew() -> None:
            before()
            self._give_up(live)
            self._pause_or_raise(error)
            self.open()
            after()

        self._in_turn(live, make_anew)

    def _in_turn(self, lost: Live | None, act: Callable[[], None]) -> None:
        """Does what makes the session, if that is this thread's turn; what it fails with is told to who waits."""
        if not self._take_turn(lost):
            return
        failed: _Failed | None = None
        try:
            act()
        except Exception as error:
            failed = _Failed(self._turn, lost, error)
            raise
        finally:
            with self._news:
                self._failed, self._maker = failed, None
                self._turn += 1
                self._news.notify_all()

    def _take_turn(self, lost: Live | None) -> bool:
        """Whether this thread is to make the session; False if another has meanwhile.

        Raises what another has failed with, and RuntimeError if another has ended all.
        """
        me = threading.get_ident()
        with self._news:
            waited = -1
            while self._maker is not None and self._maker != me:
                self._check_open(me)
                ending = self._ending
                if ending is not None and threading.current_thread() in ending.coordinator.threads:
                    raise errors.AbortedError(None, None, "The session is lost, and its threads end with it.")
                waited = self._turn
                self._news.wait(SESSION_LOOK_SECONDS)
            self._check_open(me)
            if self._maker == me:
                raise errors.UnavailableError(None, None, "The session was lost as it was being made.")
            failed = self._failed
            if failed is not None and (failed.turn == waited or (lost is not None and failed.lost is lost)):
                raise failed.error
            if self._live is not lost:
                return False
            self._maker = me
            return True

    def _check_open(self, me: int) -> None:
        if self._closer not in (None, me):
            raise RuntimeError("Session is already closed.")

    def open(self) -> None:
        """Makes a session, and goes on trying if a peer is lost; for the thread whose turn it is."""
        while True:
            try:
                self._check_leaving()
                self._make(self._made)
                self._check_leaving()
                self._live, self._unfinished = self._unfinished, None
                return
            except LOST_PEER as error:
                if self._budget is None:
                    raise
                self._drop_unfinished()
                self._pause_or_raise(error)
                _log.warning("A session could not be made: %s: %s", type(error).__name__, error)
            except BaseException:
                self._drop_unfinished()
                raise

    def open_first(self) -> None:
        """Makes the first session."""
        self._in_turn(None, self.open)

    def _made(self, session: Any) -> Coordinator:
        coordinator = SessionCoordinator(session, self._budget is not None)
        self._unfinished = Live(session, coordinator)
        return coordinator

    def _drop_unfinished(self) -> None:
        live, self._unfinished = self._unfinished, None
        if live is not None:
            self._quietly_end(live)

    def _give_up(self, live: Live) -> None:
        """Ends a session that lost a peer; what its threads raise meanwhile is logged."""
        live.given_up = True
        self._live = None
        self._quietly_end(live)

    def _quietly_end(self, live: Live) -> None:
        live.given_up = True
        self._ending = live
        try:
            self._end(live, True)
        except Exception as error:
            _log.info("While a lost session was closed: %s: %s", type(error).__name__, error)
        finally:
            self._ending = None

    def _end(self, live: Live, given_up: bool) -> None:
        if live.given_up:  # Before its threads stop: they would close queues that the next session uses.
            give_up(live.session)
        try:
            live.coordinator.request_stop()
            live.coordinator.join(stop_grace_period_secs=self._grace_secs, ignore_live_threads=True)
        finally:
            if given_up:
                give_up(live.session)
            else:
                live.session.close()

    def _pause_or_raise(self, error: Exception) -> None:
        assert self._budget is not None
        pause = self._budget.take()
        if pause is None:
            error.add_note(f"graphflow: no recovery is left ({self._budget}); see max_recoveries.")
            raise error
        self._leaving.wait(pause)
        self._check_leaving()

    def _check_leaving(self) -> None:
        if self._leaving.is_set():
            raise errors.CancelledError(None, None, "The session was ended while it was made anew.")

    # ---- the end --------------------------------------------------------------------------------------------------

    def begin_end(self, at_once: bool) -> bool:
        """From now on no other thread begins a run or makes a session; False if another thread ends all already.

        Waits for a thread that makes the session, which with `at_once` is told not to.
        """
        me = threading.get_ident()
        with self._news:
            if self._closer not in (None, me):
                return False
            self._closer = me
            limit = time.monotonic() + SESSION_ABANDON_SECONDS
            while self._maker not in (None, me):
                if at_once:
                    self._leaving.set()
                    self._abandon()
                    if time.monotonic() > limit:
                        break
                self._news.wait(SESSION_LOOK_SECONDS)
            return True

    def end(self, given_up: bool = False) -> None:
        """Ends the threads and the session, if there is one; raises what one of the threads has failed with."""
        live, self._live = self._live, None
        if live is not None:
            self._end(live, given_up)
