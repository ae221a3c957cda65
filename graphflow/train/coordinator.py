"""Coordinator: how the threads of a program are told to stop, and how an error of one reaches the others.

An error that a thread reports is raised again where the threads are joined, with its own traceback, so that it reads
as if it had happened there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.common.timeouts import COORDINATOR_PAUSE_SECONDS
from graphflow._core.graph.this_process import OfThisProcess

_LOG: Final = logging.getLogger("graphflow")


class Coordinator(OfThisProcess):
    """Tells threads to stop, waits for them, and raises what one of them reported (tf.train.Coordinator). Thread-safe.

    Args:
        clean_stop_exception_types: Exceptions that mean a normal end when they are reported, by default
            OutOfRangeError, with which input ends.

    Examples:
        >>> coordinator = gf.train.Coordinator()
        >>> coordinator.request_stop()
        >>> coordinator.should_stop()
        True
    """

    _instead = "It stops threads; for processes there are those of the multiprocessing package."

    def __init__(self, clean_stop_exception_types: Iterable[type[BaseException]] | None = None) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._joined = False
        self._threads: dict[threading.Thread, None] = {}

    def request_stop(self, ex: Any = None) -> None:
        """Asks the threads to stop.

        After join() it is raised at once. A value that is no exception makes join() raise ValueError.

        Args:
            ex: An exception, or what sys.exc_info() gives, that join() raises; only the first one counts, and
                none that is a clean stop.
        """
        error = _exception(ex)
        if isinstance(error, self._clean):
            error = None
        with self._lock:
            if self._joined and error is not None:
                raise error
            if not self._stop.is_set():
                if error is not None and self._error is None:
                    _LOG.info("Error reported to Coordinator: %s, %s", type(error).__name__, error)
                    self._error = error
                self._stopping(error)
                self._stop.set()

    def _stopping(self, error: BaseException | None) -> None:
        """Called before anybody can see that a stop is requested, and with what error."""

    def clear_stop(self) -> None:
        """Takes the request, and the error reported with it, back."""
        with self._lock:
            self._joined = False
            self._error = None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Whether a stop was requested."""
        return self._stop.is_set()

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Requests a stop with any exception that is raised inside, and ends the `with` without it."""
        try:
            yield
        except BaseException as error:
            self.request_stop(error)

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until a stop is requested, at most `timeout` seconds; whether one was.

        Args:
            timeout: In seconds; None for no end.

        Returns:
            Whether a stop was asked for.
        """
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Makes join() wait for a thread.

        Args:
            thread: The thread.
        """
        with self._lock:
            self._threads[thread] = None

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Waits until the threads, and those registered, have ended, and raises the error that was reported.

        Once a stop is requested the threads have stop_grace_period_secs left. RuntimeError names those that live on,
        unless an error was reported or `ignore_live_threads` is given.

        Args:
            threads: The threads; by default those registered.
            stop_grace_period_secs: How long threads may go on after a stop was asked for, in seconds.
            ignore_live_threads: Whether threads that live on are no error.
        """
        with self._lock:
            waited = list({**self._threads, **dict.fromkeys(threads or ())})
        pause = 0.001
        while any(t.is_alive() for t in waited) and not self.wait_for_stop(pause):
            pause = min(2 * pause, COORDINATOR_PAUSE_SECONDS)
        limit = time.monotonic() + stop_grace_period_secs
        for thread in waited:
            if thread is not threading.current_thread() and thread.ident is not None:
                thread.join(max(0.0, limit - time.monotonic()))
        alive = [thread.name for thread in waited if thread.is_alive()]
        with self._lock:
            self._joined = True
            self._threads = {}
            if self._error is not None:
                raise self._error
        if alive:
            told = f"Coordinator stopped with threads still running: {' '.join(alive)}"
            if not ignore_live_threads:
                raise RuntimeError(f"{told}. They had {stop_grace_period_secs} seconds to stop.")
            _LOG.info(told)

    @property
    def threads(self) -> set[threading.Thread]:
        """The threads that join() waits for, until it has."""
        with self._lock:
            return set(self._threads)

    @property
    def joined(self) -> bool:
        """Whether join() has returned or raised."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises the error that was reported, if there is one."""
        with self._lock:
            if self._error is not None:
                raise self._error


def _exception(ex: Any) -> BaseException | None:
    """The exception of what request_stop is given."""
    if isinstance(ex, tuple) and len(ex) == 3 and isinstance(ex[1], BaseException):
        return ex[1] if ex[1].__traceback__ is ex[2] else ex[1].with_traceback(ex[2])
    if ex is None or isinstance(ex, BaseException):
        return ex
    return ValueError(
        f"A stop was requested with {ex!r}, which is neither an exception nor a tuple from sys.exc_info()."
    )


class LooperThread(threading.Thread):
    """A thread that does something again and again until its Coordinator stops (tf.train.LooperThread).

    What is done is `target`, or run_loop() of a subclass. An exception is reported to the Coordinator and
    ends the thread.

    Args:
        coord: A gf.train.Coordinator.
        timer_interval_secs: The time from one call to the next, None for back to back.
        target: The function.
        args: Its arguments.
        kwargs: Its arguments by name.
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord!r}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__(daemon=True)
        self._coord = coord
        self._interval = timer_interval_secs
        self._called = target
        self._called_args = tuple(args or ())
        self._called_kwargs = dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> LooperThread:
        """Starts such a thread and returns it.

        Args:
            coord: A gf.train.Coordinator.
            timer_interval_secs: The period in seconds, or None.
            target: The function.
            args: Its arguments.
            kwargs: Its arguments by name.

        Returns:
            The thread.
        """
        thread = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    def run(self) -> None:
        """The loop of the thread."""
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._interval is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                next_time = time.monotonic()
                while not self._coord.wait_for_stop(max(0.0, next_time - time.monotonic())):
                    next_time += self._interval
                    self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called when the thread starts."""

    def stop_loop(self) -> None:
        """Called when the thread ends."""

    def run_loop(self) -> None:
        """Called once an interval."""
        if self._called is not None:
            self._called(*self._called_args, **self._called_kwargs)
