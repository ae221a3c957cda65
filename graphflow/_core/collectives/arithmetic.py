"""Collectives of a process: where the members of its devices meet those of other processes, and the arithmetic.

Small values go whole from each member to each other, one message, and every member adds them up. Large ones lie in
memory that the others read: each member reduces its share of all values, in the order of the members, and then takes
the shares of the others. So the bits are the same on every member, whatever the size, and no member comes first.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.collectives.group_events import (
    GiveHandle,
    GroupEvent,
    Instruction,
    MemberLeaves,
    OperationBegun,
    OperationEnded,
    RefuseOperation,
    ResultAwaited,
    SendContribution,
    ShowRound,
    TaskLost,
    TellJoined,
    TellLeft,
)
from graphflow._core.collectives.group_journal import GroupJournal
from graphflow._core.collectives.groups import Group
from graphflow._core.collectives.progress_engine import Link, ProgressEngine
from graphflow._core.collectives.rounds import (
    EXCHANGE,
    GATHER,
    LARGE,
    RECEIVE,
    SEND,
    Communicator,
    Contribution,
    Handle,
    Round,
)
from graphflow._core.graph.shapes import Dims, compatible

Array = np.ndarray[Any, Any]

_IN_PLACE: Final = 4 << 20
"""Bytes from which the result comes to lie where the member's own value was: the others are waited for before it is
handed out, which takes less time than writing to other memory."""
_BLOCK: Final = 32 << 10
"""Elements that are added up at once: of several values they stay in the processor's cache."""
_LOG: Final = logging.getLogger("graphflow")


_MERGE: Final[Mapping[str, Callable[..., Any]]] = {
    "Add": np.add,
    "Mul": np.multiply,
    "Min": np.minimum,
    "Max": np.maximum,
}


class Call:
    """An operation of a member, as its plan has it.

    kind: the type of the operation. fixed: whether all members bring the same number of rows. dtype and shape: of what
    is received, if that is all that the member does.
    """

    def __init__(
        self, kind: str, name: str, member: str, group_size: int, group_key: int, instance_key: int, timeout: float,
        merge: str = "Add", final: str = "Id", fixed: bool = True, dtype: Any = None, shape: Dims = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.member = member
        self.size = group_size
        self.group = group_key
        self.instance = instance_key
        self.timeout = timeout
        self.merge = _MERGE[merge]
        self.divides = final == "Div"
        self.fixed = fixed
        self.dtype = None if dtype is None else np.dtype(dtype)
        self.shape = shape
        self.terms = _TERMS[kind].format(merge=merge.lower(), final=final.lower())
        self.reduces = kind in ("CollectiveReduce", "CollectiveGatherGrad")
        self.gathers = kind == "CollectiveGather"
        self.exchanges = kind == "CollectiveAllToAll"
        self.takes_rows = kind == "CollectiveGatherGrad"
        self.sends = kind == "CollectiveBcastSend"
        self.receives = kind == "CollectiveBcastRecv"
        self.abort_key = ("collective", group_key, instance_key, member)
        """The key of the run's `on_abort` between the two halves of the operation."""

    def contributed(self, round_: Round) -> Sequence[int]:
        """The ranks that have brought what this member needs, or all if it needs none of them."""
        if self.sends or (self.receives and any(o.terms == SEND for o in round_.contributions.values())):
            return range(self.size)
        return () if self.receives else tuple(round_.contributions)


_MOST_OPERATIONS: Final = 32
"""Entries of the journal about operations; more of them would cost each operation memory outside of the cache."""
_TERMS: Final = {
    "CollectiveReduce": "all_reduce, {merge}, {final}",
    "CollectiveBcastSend": SEND,
    "CollectiveBcastRecv": RECEIVE,
    "CollectiveGather": GATHER,
    "CollectiveAllToAll": EXCHANGE,
    "CollectiveGatherGrad": "gradient of all_gather",
}


class Collectives:
    """The groups of a process. Thread-safe."""

    def __init__(self, memory: Any = None) -> None:
        self.condition = ProgressEngine()
        self.journal = GroupJournal(most_often=_MOST_OPERATIONS)
        """The last events of the groups."""
        self._groups: dict[int, Group] = {}
        self._memory = memory
        self._number = _drawn()
        """What the next member joins with."""

    def connect(self, link: Link, memory: Any) -> None:
        """Reaches other tasks from now on; `memory` is what they may read."""
        self.condition.link = link
        self._memory = memory

    @property
    def _link(self) -> Link | None:
        return self.condition.link

    def group(self, key: int) -> Group:
        """The group of a key, which begins when it is first asked for; the lock is held."""
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(key)
        return group

    # ---- a member -------------------------------------------------------------------------------------------------

    def begin(self, run: Any, call: Call, value: Any = None, extra: Any = None) -> Handle:
        """Brings a member's value, None if it only receives, and returns without waiting.

        extra: what has the rows that this member had gathered. Raises what ended the group since the member's last
        operation.
        """
        if value is None:
            contribution = Contribution(call.terms, call.name, call.dtype, (), None)
        else:
            array = np.asarray(value)
            if call.exchanges and (not array.ndim or len(array) % call.size):
                raise errors.InvalidArgumentError(
                    None, None,
                    f"{call.name!r} ({call.terms}) gives each of {call.size} members as many rows, got a value of "
                    f"shape {list(array.shape)}: its first axis must be a multiple of {call.size}.",
                )  # fmt: skip
            whole = array.flatten() if array.nbytes < LARGE else self._copied(array)
            contribution = Contribution(call.terms, call.name, array.dtype, array.shape, whole)
            if extra is not None:
                contribution.rows = len(extra)
            elif not call.fixed:
                contribution.rows, contribution.fixed = len(array), False
        if run.has_on_abort(call.abort_key):
            raise errors.InvalidArgumentError(
                None, None,
                f"{call.member} takes part in the instance {call.instance} of the group with group_key {call.group} "
                "twice in one run. Give the operations different instance keys, or put them on different devices.",
            )  # fmt: skip
        with self.condition:
            run.check()  # Who was cancelled does not join again, its session being through with the group.
            begun = OperationBegun(call.member, call.size, call.instance, contribution, self._number)
            found = self.heard(call.group, begun)
            assert isinstance(found, GiveHandle)
        run.on_abort(call.abort_key, lambda: self._gave_up(call))
        return found.handle

    def _gave_up(self, call: Call) -> None:
        text = f"A run of {call.member} ended before {call.name!r} ({call.terms}) did."
        self._leave(call, errors.AbortedError(None, None, text))

    def end(self, run: Any, call: Call, handle: Handle) -> Any:
        """Waits for the other members and returns the result. Where it raises, the group ends for all its members."""
        try:
            return _Second(self, run, call, self._groups[call.group], handle).result()
        except BaseException as error:
            self._leave(call, _for_others(error, call))
            raise
        finally:
            run.remove_on_abort(call.abort_key)

    def _leave(self, call: Call, error: errors.OpError | None) -> None:
        with self.condition:
            self.heard(call.group, MemberLeaves(call.member, error))
            self.condition.notify_all()

    # ---- memory ---------------------------------------------------------------------------------------------------

    def empty(self, length: int, dtype: Any) -> Array:
        """Flat memory, which others may read, if there are any and it is large."""
        if self._memory is not None and self._memory.usable and length * dtype.itemsize >= LARGE:
            found: Array = self._memory.empty((length,), dtype)
            return found
        return np.empty(length, dtype)

    def _copied(self, array: Array) -> Array:
        copy = self.empty(array.size, array.dtype)
        np.copyto(copy.reshape(array.shape), array)
        return copy

    # ---- what is heard of others ----------------------------------------------------------------------------------

    def heard(self, key: int, event: GroupEvent) -> Instruction | None:
        """Something has happened to a group: does what is to be done; what concerns one member alone, if anything.

        The lock is held if a member looks, and not by other threads. Raises the error of a member's operation.
        """
        group = self.group(key)
        found = group.handle(event)
        self.journal.keep(time.monotonic(), key, event, found)
        if not found:
            return None
        *others, last = found
        if isinstance(last, ShowRound):
            return last
        link = self._link
        for what in found:
            if isinstance(what, TellJoined) and what.number == self._number:
                self._number = _drawn()
            if link is None:
                continue
            if isinstance(what, SendContribution):
                if what.contribution.whole is not None:
                    link.contribute(key, what)
            elif isinstance(what, TellJoined | TellLeft):
                link.announce(key, what)
        if others or not isinstance(last, RefuseOperation):
            self.condition.notify_all()
        if isinstance(last, RefuseOperation):
            raise last.error
        return last

    def has_joined(self, key: int, member: str, number: int) -> bool:
        """Whether a member of another task is known to have joined with that number; the lock is held."""
        return self.group(key).has_joined(member, number)

    def standing(self) -> list[tuple[int, TellJoined]]:
        """The members of this process that have joined, for a task that has just come; the lock is held."""
        return [
            (group.key, TellJoined(member, state.number, group.size))
            for group in self._groups.values()
            for member, state in group.members.items()
            if state.number
        ]

    def lost(self, task: str, error: errors.OpError) -> None:
        """A task is gone; the lock is held."""
        for key in self._groups:
            self.heard(key, TaskLost(task, error))
        self.condition.notify_all()

    def quit(self, members: Collection[tuple[int, str]], given_up: bool = False) -> None:
        """A session is through with these groups and devices: they leave what they have joined.

        given_up: whether the others must not go on without them, as when a program makes its session anew.
        """
        with self.condition:
            for key, member in sorted(members):
                text = (
                    f"The session of {member} was lost or given up: its next one begins where all meet again."
                )
                error = errors.AbortedError(None, None, text) if given_up else None
                self.heard(key, MemberLeaves(member, error))


_ADVICE: Final = (
    "See whether these tasks run, and whether they run the same operations (`graphflow status`); give the operation a "
    "longer timeout if they are only slower"
)


class _Second:
    """The second half of an operation of one member."""

    __slots__ = ("_all", "_call", "_group", "_handle", "_run")

    def __init__(self, collectives: Collectives, run: Any, call: Call, group: Group, handle: Handle) -> None:
        self._all = collectives
        self._run = run
        self._call = call
        self._group = group
        self._handle = handle

    def result(self) -> Any:
        """The result, once the others have done their part."""
        call = self._call
        communicator, round_ = self._wait(call.contributed)
        rank = communicator.ranks[call.member]
        mine = round_.contributions[rank]
        contributions = (
            [o for o in round_.contributions.values() if o.terms == SEND] if call.receives
            else [mine] if call.sends
            else [round_.contributions[r] for r in range(call.size)]
        )  # fmt: skip
        if call.receives:
            _check_received(call, contributions[0])
        if call.reduces and mine.nbytes < LARGE:
            flat = _reduce_into(
                np.empty(mine.whole.shape, mine.dtype), [o.whole for o in contributions], call
            )
        elif call.reduces:
            flat = self._in_shares(communicator, round_, rank)
        elif call.gathers:
            flat = self._all.empty(sum(len(o.whole) for o in contributions), mine.dtype)
            np.concatenate([o.whole for o in contributions], out=flat)
        elif call.exchanges:
            flat = self._all.empty(len(mine.whole), mine.dtype)
            np.concatenate([o.share(rank, call.size) for o in contributions], out=flat)
        else:
            flat = self._all.empty(len(contributions[0].whole), contributions[0].dtype)
            np.copyto(flat, contributions[0].whole)
        if not call.reduces and any(o.nbytes >= LARGE for o in contributions):
            self._settle(communicator, round_, rank)
        with self._all.condition:
            self._all.heard(call.group, OperationEnded(call.member, self._handle))
        if call.gathers and mine.shape:
            flat = flat.reshape(
                (-1 if flat.size else sum(o.shape[0] for o in contributions), *mine.shape[1:])
            )
        else:
            flat = flat.reshape(contributions[0].shape)
        if call.takes_rows:
            first = sum(o.rows for o in contributions[:rank])
            flat = flat[first : first + mine.rows]
        return flat if flat.ndim else flat[()]

    def _in_shares(self, communicator: Communicator, round_: Round, rank: int) -> Array:
        """Reduces this member's share, and gathers those of the others."""
        call, contributions = self._call, round_.contributions
        places = [contributions[rank].place(r, call.size) for r in range(call.size)]
        operands = [contributions[r].share(rank, call.size) for r in range(call.size)]
        share = _reduce_into(contributions[rank].whole[places[rank]], operands, call)
        with self._all.condition:
            round_.reduced[rank] = None
            link = self._all.condition.link
            if link is not None and round_.error is None:
                link.reduced(self._group.key, communicator, rank, round_.key, share)
            self._all.condition.notify_all()
        in_place = contributions[rank].nbytes >= _IN_PLACE
        mine = contributions[rank]
        result = mine.whole if in_place else self._all.empty(len(mine.whole), mine.dtype)
        if not in_place:
            np.copyto(result[places[rank]], share)
        self._wait(_reduced)
        for other, place in enumerate(places):
            found = round_.reduced[other]
            if other != rank:
                np.copyto(result[place], contributions[other].whole[place] if found is None else found)
        if in_place:
            self._settle(communicator, round_, rank)
        return result

    def _settle(self, communicator: Communicator, round_: Round, rank: int) -> None:
        """Waits until the others have read the memory of this process: it may end, or be changed, after that."""
        with self._all.condition:
            round_.taken.add(rank)
            link = self._all.condition.link
            if link is not None and round_.error is None:
                link.taken(self._group.key, communicator, rank, round_.key)
            self._all.condition.notify_all()
        self._wait(_taken)

    def _wait(self, came: Callable[[Round], Collection[int]]) -> tuple[Communicator, Round]:
        """Waits until all ranks have come, and everything is sent."""

        def attempt() -> tuple[Communicator, Round] | None:
            found = self._all.heard(self._group.key, ResultAwaited(self._call.member, self._handle))
            if isinstance(found, ShowRound):
                round_ = found.round
                error = round_.error
                complete = len(came(round_)) == self._call.size and not (
                    link is not None and link.channels.sending
                )
                if complete and not round_.unfit:
                    return found.communicator, round_  # Whatever came after does not matter any more.
                if error is not None:
                    raise type(error)(None, None, error.message)
            if time.monotonic() > limit:
                text = f"After {self._call.timeout:g} s {self._awaited(came)}. {_ADVICE}."
                raise errors.DeadlineExceededError(None, None, text)
            return None

        link = self._all.condition.link
        limit = time.monotonic() + self._call.timeout
        found: tuple[Communicator, Round] = self._run.store.wait(
            self._all.condition, attempt, self._run,
            lambda: f"the other members: {self._awaited(came)}. {_ADVICE}",
            lambda: _LOG.warning("%s: %s.", self._call.member, self._awaited(came)), says_itself=True,
        )  # fmt: skip
        return found

    def _awaited(self, came: Callable[[Round], Collection[int]]) -> str:
        link = self._all.condition.link
        tasks = link.tasks() if link is not None else ()
        what = self._group.awaited(self._call.member, self._handle, came, tasks)
        return f"{self._call.name!r} ({self._call.terms}) waits for {what}"


def _drawn() -> int:
    """A number that no member has joined with before."""
    return secrets.randbits(62) + 1


def _reduced(round_: Round) -> Collection[int]:
    return round_.reduced


def _taken(round_: Round) -> Collection[int]:
    return round_.taken


def _for_others(error: BaseException, call: Call) -> errors.OpError:
    """What the end of one member means to the others."""
    if isinstance(error, errors.UnavailableError | errors.InvalidArgumentError):
        return type(error)(None, None, error.message)
    told = error.message if isinstance(error, errors.OpError) else f"{type(error).__name__}: {error}"
    return errors.AbortedError(None, None, f"{call.member} gave up {call.name!r} ({call.terms}): {told}")


def _check_received(call: Call, contribution: Contribution) -> None:
    if call.dtype != contribution.dtype or not compatible(call.shape, contribution.shape):
        shape = "any shape" if call.shape is None else str(list(call.shape))
        raise errors.InvalidArgumentError(
            None, None, f"{call.name!r} receives {call.dtype} of {shape}, but {contribution} is sent."
        )


def _reduce_into(out: Array, values: Sequence[Array], call: Call) -> Array:
    """Reduces flat values of one length in their order into `out`, which may be one of them."""
    merge = call.merge
    for start in range(0, max(1, len(out)), _BLOCK):
        block = slice(start, start + _BLOCK)
        target = out[block]
        if len(values) == 1:
            target[...] = values[0][block]
        elif len(values) == 2:
            merge(values[0][block], values[1][block], out=target)
        else:
            total = merge(values[0][block], values[1][block])
            for value in values[2:-1]:
                merge(total, value[block], out=total)
            merge(total, values[-1][block], out=target)
        if call.divides:
            _divide(target, len(values))
    return out


def _divide(target: Array, count: int) -> None:
    if target.dtype.kind in "iu":
        quotient = np.abs(target) // target.dtype.type(count)
        np.multiply(quotient, np.sign(target), out=target)
    else:
        np.divide(target, target.dtype.type(count), out=target)
