"""What simulated steps wait for each other with: rounds of synchronous training, changes made once, and allreduces.

They decide as the real ones do (resources/rounds/machine.py, collectives/arithmetic.py), with counts in place of
values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from graphflow._core.collectives.rounds import LARGE
from graphflow._core.simulation.engine import Then
from graphflow._core.simulation.network import Network, Task
from graphflow._core.simulation.planned import Contribution


class Rounds:
    """The rounds of one optimizer: a round is over when as many as are needed have arrived; who is late is dropped.

    steps: how many rounds are over. late: how many arrived too late.
    """

    def __init__(self, needed: int) -> None:
        self._needed = needed
        self._waiting: list[Then] = []
        self._step = 0
        """The global step."""
        self._decided = -1
        """The last round of which it is known who is in it."""
        self.late = 0

    @property
    def steps(self) -> int:
        """The global step."""
        return self._step

    def begin(self) -> int:
        """The round that a run begins in."""
        return self._step

    def arrive(self, number: int, then: Then) -> None:
        """A run's gradients are in place: then() when it is known who is in the round."""
        if number <= self._decided:
            self.late += 1
            then()
            return
        self._waiting.append(then)
        if len(self._waiting) >= self._needed:
            self._decided = number
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                each()

    def advance(self, number: int) -> None:
        """The changes of a round are made."""
        self._step = max(self._step, number + 1)


class Change:
    """The changes that a stage makes once a round: the first that comes makes them, the others wait for it."""

    def __init__(self) -> None:
        self._done = -1
        self._busy = -1
        self._waiting: list[Then] = []

    def claim(self, number: int, then: Callable[[bool], None]) -> None:
        """then(whether the caller makes the changes), as soon as nobody else is at it."""
        if self._busy >= 0:
            self._waiting.append(lambda: self.claim(number, then))
        elif number <= self._done:
            then(False)
        else:
            self._busy = number
            then(True)

    def done(self) -> None:
        """Who made the changes has made them."""
        self._done, self._busy = self._busy, -1
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            each()


_MANY: Final = 64
"""From so many members on what one exchanges with all others is one flow: the messages would be that many squared."""
Member = tuple[Task, str]
"""A task and a device of it."""


class _Exchange:
    """One operation of a group: what each member has of it."""

    def __init__(self) -> None:
        self.values: dict[Member, int] = {}
        self.shares: dict[Member, int] = {}
        self.ended: set[Member] = set()
        self.waiting: dict[Member, Then] = {}
        self.left = 0
        self.through = 0
        """How many flows have ended, of a group of many."""


class Group:
    """The members that carry out one operation together, again and again.

    Small values go whole from each to each. Of a large one each member adds up a share, and gives it to the others:
    in memory that they all read if they are on one host. Of many members each of these two exchanges ends for all when
    the last one has given and got everything.
    """

    def __init__(self, network: Network, what: Contribution, members: Sequence[Member]) -> None:
        self._network = network
        self._what = what
        self._members = members
        self._size = len(members)
        self._exchanges: dict[int, _Exchange] = {}
        self._far: dict[Task, int] = {}
        """How many others a task reaches over the network."""
        self._in_shares: Final = what.size >= LARGE and not what.gathers
        self._share = what.size // self._size if self._in_shares else what.size

    def bring(self, number: int, member: Member) -> None:
        """A member brings its value to the operation of that number."""
        exchange = self._exchange(number)
        if self._size >= _MANY:
            self._flow(exchange, member, self._all_values)
            return
        self._give(exchange, member, self._value_came)
        self._value_came(exchange, member)

    def wait(self, number: int, member: Member, then: Then) -> None:
        """then() when the member has the result of the operation of that number."""
        exchange = self._exchange(number)

        def leave() -> None:
            exchange.left += 1
            if exchange.left == self._size:
                del self._exchanges[number]
            then()

        if member in exchange.ended:
            leave()
        else:
            exchange.waiting[member] = leave

    def _exchange(self, number: int) -> _Exchange:
        return self._exchanges.setdefault(number, _Exchange())

    def _give(self, exchange: _Exchange, member: Member, came: Callable[[_Exchange, Member], None]) -> None:
        """Gives each other member its part of what one has."""
        sender = member[0]
        for other in self._members:
            if other != member:
                size = 0 if self._network.near(sender, other[0]) else self._share
                self._network.bring(sender, other[0], size, came, exchange, other)

    def _flow(self, exchange: _Exchange, member: Member, then: Callable[[_Exchange, Member], None]) -> None:
        """A member gives all others their parts, and gets its own; then(...) for each when all are through."""
        task = member[0]
        if task not in self._far:
            self._far[task] = sum(not self._network.near(task, other) for other, _ in self._members)
        self._network.exchange(task, self._far[task], self._share, self._through, exchange, then)

    def _through(self, exchange: _Exchange, then: Callable[[_Exchange, Member], None]) -> None:
        exchange.through += 1
        if exchange.through % self._size == 0:
            for member in self._members:
                then(exchange, member)

    def _all_values(self, exchange: _Exchange, member: Member) -> None:
        self._work(
            member, self._share * self._size, self._reduced if self._in_shares else self._end, exchange
        )

    def _all_shares(self, exchange: _Exchange, member: Member) -> None:
        self._work(member, self._what.size - self._share, self._end, exchange)

    def _value_came(self, exchange: _Exchange, member: Member) -> None:
        exchange.values[member] = exchange.values.get(member, 0) + 1
        if exchange.values[member] == self._size:  # Its own is among them.
            self._all_values(exchange, member)

    def _reduced(self, exchange: _Exchange, member: Member) -> None:
        if self._size >= _MANY:
            self._flow(exchange, member, self._all_shares)
            return
        self._give(exchange, member, self._share_came)
        self._share_came(exchange, member)

    def _share_came(self, exchange: _Exchange, member: Member) -> None:
        exchange.shares[member] = exchange.shares.get(member, 0) + 1
        if exchange.shares[member] == self._size:
            self._all_shares(exchange, member)

    def _work(
        self, member: Member, size: int, then: Callable[[_Exchange, Member], None], exchange: _Exchange
    ) -> None:
        task = member[0]
        task.host.cores.work(size / self._network.costs.reduce_rate / task.speed, then, exchange, member)

    def _end(self, exchange: _Exchange, member: Member) -> None:
        exchange.ended.add(member)
        then = exchange.waiting.pop(member, None)
        if then is not None:
            then()
