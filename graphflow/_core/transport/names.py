"""Names of machines and of tasks, looked up in threads for which nobody waits.

A look-up can take a minute if the name service does not answer, and cannot be ended. ZeroMQ would do it in the thread
that carries the messages of all connections. So ZeroMQ gets numeric addresses alone, and each host is looked up in a
thread of its own here: at most one thread for each host hangs, and all else goes on. Answers are kept for a moment
only, since addresses change. The last good answer stays in use until there is a newer one.

The address of a task may be a name as well, which no name service knows: where an engine begins tasks anew elsewhere,
who knows the engine answers where that task is now (`follow`).
"""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Final

from graphflow._core.common.records import dataclass
from graphflow._core.common.timeouts import FRESH_NAME_SECONDS, LOOK_UP_SECONDS, PROBE_SECONDS
from graphflow._core.common.waiting.conditions import Condition
from graphflow._core.transport.addresses import is_loopback, is_number

_MOST_PROBED: Final = 8
"""How many addresses of one host are tried at most."""
_MOST_KEPT: Final = 1024
_MOST_HANGING: Final = 4
"""How many threads may hang for one task, where each asks another resolver."""
_OF_A_TASK: Final = -1
"""The port in the key of a task's address, which is followed."""
_REASONS: Final = {
    errno.ECONNREFUSED: "the connection is refused: no process listens there",
    errno.EHOSTUNREACH: "there is no route to it",
    errno.ENETUNREACH: "there is no route to it",
    errno.EADDRNOTAVAIL: "there is no route to it",
    errno.EMFILE: "this process has too many open files (ulimit -n)",
    errno.ENFILE: "this machine has too many open files",
}


@dataclass(frozen=True)
class Found:
    """The answer for a host: its numeric addresses, the best first.

    error: why there are none, or why none of them can be used; "" if all is well. pending: whether a newer answer is
    on its way. accepts: whether something was found to listen at the first address. at: when that was, in
    time.monotonic(); 0 if nothing was answered yet. asked: when the question was asked.
    """

    addresses: tuple[str, ...] = ()
    error: str = ""
    pending: bool = False
    accepts: bool = False
    at: float = 0.0
    asked: float = 0.0


@dataclass
class _Entry:
    found: Found = field(default_factory=Found)
    asked_at: float = 0.0
    answered_at: float = 0.0
    then: list[Callable[[], None]] = field(default_factory=list)


_Key = tuple[str, int, bool]
"""A host, the port at which its addresses are tried, 0 if they are only looked up, and whether all of them are."""

Locate = Callable[[], str]
"""Where a task is now, host:port; "" if it is nowhere at the moment. It may take its time, and may raise."""


class Names:
    """Looks hosts up, each in a thread of its own. Thread-safe."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._entries: dict[_Key, _Entry] = {}
        self._followed: dict[str, Locate] = {}
        """By the addresses of tasks, who is asked where they are."""
        self._asking: Counter[_Key] = Counter()
        """How many threads wait for an answer; several if a task is asked for that others follow now."""

    def __len__(self) -> int:
        """Of how many hosts something is kept."""
        with self._condition:
            return len(self._entries)

    def forget(self) -> None:
        """Forgets all hosts, as if nobody had asked for one."""
        with self._condition:
            self._entries.clear()

    def follow(self, address: str, locate: Locate) -> None:
        """From now on the address of a task is a name, and `locate` says where it is.

        An equal one that is asked already is not asked once more: it may never answer. Of others so many may hang.
        """
        key = (address, _OF_A_TASK, False)
        with self._condition:
            same = self._followed.get(address) == locate
            self._followed[address] = locate
            if not same and self._asking[key] < _MOST_HANGING:
                self._entries.pop(key, None)

    def leave(self, address: str, locate: Locate) -> None:
        """Nobody asks for that task any more, unless somebody else follows its address meanwhile."""
        with self._condition:
            if self._followed.get(address) is locate:
                del self._followed[address]

    def follows(self, address: str) -> bool:
        """Whether the address of a task is a name."""
        return address in self._followed

    def locate(self, address: str, then: Callable[[], None] | None = None, since: float = 0.0) -> Found:
        """As look_up, for the address of a task that is followed; what is found is one host:port."""
        return self._ask((address, _OF_A_TASK, False), then, since)

    def look_up(self, host: str, then: Callable[[], None] | None = None, since: float = 0.0) -> Found:
        """The newest answer for a host, at once. Starts a look-up if that answer is not new.

        then: called in another thread when the pending answer is there. since: what was asked before that is not new.
        """
        return Found((host,)) if is_number(host) else self._ask((host, 0, False), then, since)

    def explore(self, host: str, port: int, beyond: bool) -> Found:
        """As look_up, and tries the addresses: one at which something listens comes first, or `error` says why not.

        beyond: whether addresses of other machines are tried, too.
        """
        return self._ask((host, port, beyond), None)

    def wait(self, host: str, deadline: float, since: float = 0.0) -> Found:
        """As look_up, but waits for an answer or an error until `deadline` (of time.monotonic())."""
        limit = min(deadline, time.monotonic() + LOOK_UP_SECONDS)
        with self._condition:
            found = self.look_up(host, None, since)
            while found.pending and (found.asked < since or not (found.addresses or found.error)):
                left = limit - time.monotonic()
                if left <= 0:
                    return replace(found, error=_silent(host))
                self._condition.wait(left)
                found = self.look_up(host, None, since)
        return found

    def _ask(self, key: _Key, then: Callable[[], None] | None, since: float = 0.0) -> Found:
        now = time.monotonic()
        with self._condition:
            entry = self._entries.get(key)
            if entry is None:
                self._make_room()
                entry = self._entries[key] = _Entry()
            is_old = now - entry.answered_at > FRESH_NAME_SECONDS or entry.found.asked < since
            if not entry.asked_at and (not entry.answered_at or is_old):
                entry.asked_at = now
                try:
                    threading.Thread(
                        target=self._answer,
                        args=(key, entry),
                        name=f"graphflow looks up {key[0]}",
                        daemon=True,
                    ).start()
                    self._asking[key] += 1
                except RuntimeError as error:
                    entry.asked_at, entry.answered_at = 0.0, now
                    entry.found = replace(entry.found, error=f"{key[0]!r} cannot be looked up: {error}")
            pending = entry.asked_at > 0.0
            if pending and then is not None:
                entry.then.append(then)
            if pending and now - entry.asked_at > LOOK_UP_SECONDS:
                return replace(entry.found, error=_silent(key[0]), pending=True, accepts=False)
            return replace(entry.found, pending=pending)

    def _make_room(self) -> None:
        """Forgets the oldest hosts that nobody asks for at the moment, if there are too many."""
        if len(self._entries) >= _MOST_KEPT:
            for key in [k for k, e in self._entries.items() if not e.asked_at][: _MOST_KEPT // 2]:
                del self._entries[key]

    def _answer(self, key: _Key, entry: _Entry) -> None:
        host, port, beyond = key
        addresses: tuple[str, ...] = ()
        accepts = False
        try:
            addresses, error = self._place_of(host) if port == _OF_A_TASK else resolve(host)
            usable = [a for a in addresses if beyond or is_loopback(a)]
            if usable and port > 0:
                first, error = _tried(usable, port)
                accepts = not error
                addresses = tuple(dict.fromkeys((*first, *addresses)))
        except Exception as found:  # As of too little memory: the next look-up may go well.
            error = f"the name {host!r:.300} cannot be resolved: {type(found).__name__}: {found}"
        with self._condition:
            self._asking[key] -= 1
            if not self._asking[key]:
                del self._asking[key]
            now = time.monotonic()
            # A task that is nowhere now is not looked for where it was.
            kept = () if port == _OF_A_TASK else entry.found.addresses
            entry.found = Found(addresses or kept, error, False, accepts, now, entry.asked_at)
            entry.asked_at, entry.answered_at = 0.0, now
            then, entry.then = entry.then, []
            self._condition.notify_all()
        for function in then:
            function()

    def _place_of(self, address: str) -> tuple[tuple[str, ...], str]:
        """Where a task is that is followed, or why it is nowhere."""
        locate = self._followed.get(address)
        place = "" if locate is None else locate()
        return ((place,), "") if place else ((), f"nothing says where the task {address} is now")


def resolve(host: str) -> tuple[tuple[str, ...], str]:
    """The numeric addresses of a host, those of IPv4 first, or why there are none. May take very long."""
    if is_number(host):
        return (host,), ""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, ValueError) as error:
        text = getattr(error, "strerror", None) or str(error)
        return (), f"the name {host!r:.300} cannot be resolved: {text}"
    numbers = [
        (family != socket.AF_INET, str(where[0]))
        for family, _, _, _, where in found
        if family in (socket.AF_INET, socket.AF_INET6)
    ]
    ordered = tuple(dict.fromkeys(number for _, number in sorted(numbers, key=lambda pair: pair[0])))
    return ordered, "" if ordered else f"the name {host!r:.300} cannot be resolved: it has no address"


def _silent(host: str) -> str:
    return f"the name {host!r:.300} cannot be resolved: the name service has not answered"


def _tried(addresses: Sequence[str], port: int) -> tuple[tuple[str, ...], str]:
    """The addresses with the first at which something listens before the others, or why there is none."""
    reason = ""
    for number in addresses[:_MOST_PROBED]:
        try:
            socket.create_connection((number, port), PROBE_SECONDS).close()
        except OSError as error:
            reason = reason or reason_of(error)
        else:
            return (number, *(a for a in addresses if a != number)), ""
    return tuple(addresses), reason


def reason_of(error: OSError) -> str:
    """Why a connection could not be made, in words."""
    if isinstance(error, TimeoutError):
        return f"it does not answer a connection within {PROBE_SECONDS:g} s"
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)


NAMES: Names = Names()
"""The names that this process has looked up."""


def _renew() -> None:
    """Begins anew in a forked child, which does not have the parent's threads."""
    NAMES.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_renew)
