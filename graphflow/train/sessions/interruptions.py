"""SIGTERM and Ctrl-C of a training: they take effect between two steps, after what was learnt is saved.

While a managed session whose hooks save is open in the main thread, a signal that arrives in the midst of a run is
noted; the run ends, the hooks save, and then the signal does what it does in any program: Ctrl-C is a
KeyboardInterrupt, SIGTERM ends the process. Between two runs it raises at once, and the session saves as the block is
left. All of that has a limit, after which, as with a second signal, it is as if nobody had taken care of signals.

Only what has its default is taken care of: a handler of the user's stays his. What there was before is back when the
last session is closed. A child that is forked meanwhile inherits the handlers, and they do nothing of their own there.
"""

from __future__ import annotations

import _thread
import logging
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, NoReturn

from graphflow._core.common.timeouts import (
    INTERRUPTED_RUN_SECONDS,
    INTERRUPTED_SAVE_SECONDS,
    SIGNAL_LOOK_SECONDS,
)
from graphflow.train.sessions.step_functions import Calling

_log = logging.getLogger(__name__)

_DEFAULTS: Final[dict[int, Any]] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
_LOOKS: Final = 1000
"""How often it is looked, at most, whether a signal from another thread of this process has arrived."""


class Terminated(SystemExit):
    """SIGTERM, as it unwinds the training; the process then ends by the signal itself."""

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


class _Watch:
    """Sends a signal to the main thread after some seconds, unless it is cancelled before."""

    def __init__(self, number: int, seconds: float, text: str = "") -> None:
        self._number, self._seconds, self._text = number, seconds, text
        self._over = threading.Event()
        self._lock = threading.RLock()
        self._sent = False
        # Not a threading.Thread: the main thread may hold a lock of theirs where the signal finds it.
        _thread.start_new_thread(self._wait, ())

    def _wait(self) -> None:
        if self._text:
            _log.warning("%s", self._text)
        if self._over.wait(self._seconds):
            return
        with self._lock:
            if not self._over.is_set():
                self._sent = True
                signal.pthread_kill(_main_thread(), self._number)

    def cancel(self) -> None:
        """From now on it sends nothing; what it has just sent is waited for, so that it is nobody else's signal."""
        with self._lock:
            self._over.set()
        for _ in range(_LOOKS):
            if not self._sent:
                return
            time.sleep(SIGNAL_LOOK_SECONDS)

    def received(self) -> None:
        """A signal has come, this one or another: it sends nothing any more."""
        self._sent = False
        self._over.set()


def _main_thread() -> int:
    return threading.main_thread().ident or 0


class Signals:
    """The signals of this process, for all of its managed sessions. For the main thread, unless a method says else."""

    def __init__(self) -> None:
        self.noted: int | None = None
        """The signal that has arrived, until it has done what it does."""
        self._raised: BaseException | None = None
        self._open: weakref.WeakSet[Calling] = weakref.WeakSet()
        """By its calls, each session that is open: what nobody closes may go, too."""
        self._previous: dict[int, Any] = {}
        self._process = 0
        self._watch: _Watch | None = None

    # ---- sessions -------------------------------------------------------------------------------------------------

    def add(self, calling: Calling) -> None:
        """From now on the signals are taken care of for a session; nothing in other threads, which have no signals."""
        if threading.current_thread() is not threading.main_thread():
            return
        if self._process != os.getpid():  # Forked: what the parent has open is not ours.
            self._open, self.noted, self._raised, self._watch = weakref.WeakSet(), None, None, None
            self._process = os.getpid()
        self._open.add(calling)
        for number, default in _DEFAULTS.items():
            if signal.getsignal(number) in (default, self._arrived):
                signal.signal(number, self._arrived)
                self._previous[number] = default

    def remove(self, calling: Calling) -> None:
        """A session is closed, by any thread; after the last one a signal that is noted does what it does."""
        if calling not in self._open or self._process != os.getpid():
            return
        self._open.discard(calling)
        if self._open:
            return
        number, self.noted = self.noted, None
        if (
            threading.current_thread() is not threading.main_thread()
        ):  # The handlers know that nothing is open.
            watch, self._watch = self._watch, None
            if watch is not None:
                watch.received()
            if number is not None:
                signal.pthread_kill(_main_thread(), number)
            return
        self._cancel()
        for previous, default in self._previous.items():
            if signal.getsignal(previous) == self._arrived:
                signal.signal(previous, default)
        self._previous = {}
        if number is not None:
            signal.raise_signal(number)

    # ---- what signals do ------------------------------------------------------------------------------------------

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process or not self._open or self.noted is not None:
            self._act(number, frame)
            return
        self.noted = number
        if not any(calling.busy for calling in self._open):
            self.stop()
        self._watch = _Watch(
            number,
            INTERRUPTED_RUN_SECONDS,
            f"{signal.Signals(number).name}: training ends after this run, and a checkpoint is saved. Once more ends "
            "it at once.",
        )

    def _act(self, number: int, frame: FrameType | None) -> None:
        """What a signal does in a program that takes no care of it."""
        if self._watch is not None:
            self._watch.received()
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        if self.noted != signal.SIGTERM:
            self.noted = None
        self._raised = None
        signal.default_int_handler(number, frame)

    def here(self) -> bool:
        """Whether a signal is noted, and this is the thread in which it has its effect."""
        return self.noted is not None and threading.current_thread() is threading.main_thread()

    def save(self, act: Callable[[], None]) -> None:
        """Saves because of the signal that is noted, within a limit; what fails is logged."""
        assert self.noted is not None
        name = signal.Signals(self.noted).name
        self._limit()
        try:
            act()
        except Exception as error:
            _log.warning("No checkpoint was saved after %s: %s: %s", name, type(error).__name__, error)

    def stop(self) -> NoReturn:
        """Ends the training with what the noted signal means; after a Ctrl-C the caller may well go on."""
        if self.noted == signal.SIGTERM:
            self._limit()
            self._raised = Terminated()
        else:
            self._cancel()
            self.noted, self._raised = None, KeyboardInterrupt()
        raise self._raised

    def has_raised(self, error: BaseException) -> bool:
        """Whether an error is what `stop` has raised last: it came between two steps."""
        return error is self._raised

    def leave(self) -> None:
        """A block is left by what `stop` has raised: a signal that arrives until `left` is the second one."""
        self.noted = signal.SIGTERM if isinstance(self._raised, Terminated) else signal.SIGINT

    def left(self) -> None:
        """A block is left, and Ctrl-C has had its effect by that."""
        if self.noted == signal.SIGINT:
            self._cancel()
            self.noted = None

    def _limit(self) -> None:
        assert self.noted is not None
        self._cancel()
        self._watch = _Watch(self.noted, INTERRUPTED_SAVE_SECONDS)

    def _cancel(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.cancel()


SIGNALS: Final = Signals()
