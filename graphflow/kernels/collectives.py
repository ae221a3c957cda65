"""Collectives of a process: where the members of its devices meet those of other processes, and the arithmetic.

Small values go whole from each member to each other, one message, and every member adds them up. Large ones lie in
memory that the others read: each member reduces its share of all values, in the order of the members, and then takes
the shares of the others. So the bits are the same on every member, whatever the size, and no member comes first.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from graphflow import errors
from graphflow.checkpoint.parallel import copy_into
from graphflow.kernels.collective_groups import (
    RECEIVE,
    SEND,
    Brought,
    Formation,
    Group,
    Instruction,
    Joined,
    Offer,
    Round,
    Ticket,
)
from graphflow.kernels.collective_meeting import Link, Meeting

Array = np.ndarray[Any, Any]

LARGE: Final = 64 << 10
"""Bytes from which a value is reduced in shares; the same for all members, since it decides what they send."""
_ALIGNED: Final = 64
"""Elements that a share is a multiple of."""
_BLOCK: Final = 32 << 10
"""Elements that are added up at once: of several values they stay in the processor's cache."""
_LOG: Final = logging.getLogger("graphflow")


@dataclass(frozen=True)
class Call:
    """An operation of a member, as its plan has it."""

    kind: str
    """The type of the operation."""
    name: str
    member: str
    group_size: int
    group_key: int
    instance_key: int
    timeout: float
    merge: str = "Add"
    final: str = "Id"
    fixed: bool = True
    """Whether all members bring the same number of rows."""
    dtype: Any = None
    shape: tuple[int | None, ...] | None = None

    @property
    def terms(self) -> str:
        """What all members must have in common, in words."""
        match self.kind:
            case "CollectiveReduce":
                return f"all_reduce, {self.merge.lower()}, {self.final.lower()}"
            case "CollectiveBcastSend":
                return SEND
            case "CollectiveBcastRecv":
                return RECEIVE
            case "CollectiveGather":
                return "all_gather"
            case _:
                return "gradient of all_gather"


_MERGE: Final[Mapping[str, Callable[..., Any]]] = {
    "Add": np.add,
    "Mul": np.multiply,
    "Min": np.minimum,
    "Max": np.maximum,
}


class Collectives:
    """The groups of a process. Thread-safe."""

    def __init__(self, memory: Any = None) -> None:
        self.condition = Meeting()
        self._groups: dict[int, Group] = {}
        self._memory = memory

    def connect(self, link: Link, memory: Any) -> None:
        """Reaches other tasks from now on; `memory` is what they may read."""
        self.condition.link = link
        self._memory = memory

    @property
    def _link(self) -> Link | None:
        return self.condition.link

    def _group(self, key: int) -> Group:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(key, lambda: secrets.randbits(62) + 1)
        return group

    # ---- a member -------------------------------------------------------------------------------------------------

    def begin(self, run: Any, call: Call, value: Any, extra: Any = None) -> Ticket:
        """Brings a member's value, None where it only receives, and returns without waiting.

        Raises what ended the group since the member's last operation.
        """
        array = np.asarray(() if value is None else value, order="C")
        whole = self._copied(array.reshape(-1)) if value is not None else None
        dtype, shape = (array.dtype.name, array.shape) if value is not None else (call.dtype, ())
        rows = np.shape(extra)[0] if extra is not None else (array.shape[0] if array.ndim else 0)
        offer = Offer(call.terms, call.name, dtype, shape, rows, call.fixed, whole)
        with self.condition:
            group = self._group(call.group_key)
            pledge = _pledge(call)
            if run.pledged(pledge):
                raise errors.InvalidArgumentError(
                    None, None,
                    f"{call.member} takes part in the instance {call.instance_key} of the group {group.group} twice in "
                    "one run. Give the operations different instance keys, or put them on different devices.",
                )  # fmt: skip
            ticket, instructions = group.begin(
                call.member, call.group_size, call.instance_key, lambda _: offer
            )
            self._carry_out(group, instructions)
        gone = errors.AbortedError(
            None, None, f"A run of {call.member} ended before {call.name!r} ({call.terms}) did."
        )
        run.pledge(pledge, lambda: self._leave(call, gone))
        return ticket

    def end(self, run: Any, call: Call, ticket: Ticket) -> Any:
        """Waits for the other members and returns the result. Where it raises, the group ends for all its members."""
        limit = time.monotonic() + call.timeout
        group = self._groups[call.group_key]
        try:
            result = self._result(run, call, group, ticket, limit)
        except BaseException as error:
            self._leave(call, _for_others(error, call))
            raise
        finally:
            run.redeem(_pledge(call))
        return result

    def _leave(self, call: Call, error: errors.OpError | None) -> None:
        with self.condition:
            group = self._group(call.group_key)
            self._carry_out(group, group.leave(call.member, error))
            self.condition.notify_all()

    def _result(self, run: Any, call: Call, group: Group, ticket: Ticket, limit: float) -> Any:
        small, receives = self._is_small, call.kind == "CollectiveBcastRecv"
        sends = call.kind == "CollectiveBcastSend"

        def came(round_: Round) -> Sequence[int]:
            if sends:
                return range(size)
            if receives and any(o.terms == SEND for o in round_.offers.values()):
                return range(size)
            return tuple(round_.offers)

        size = call.group_size
        formation, round_ = self._wait(run, call, group, ticket, limit, came)
        rank = formation.members.index(call.member)
        offers = [round_.offers[r] for r in sorted(round_.offers)]
        if receives:
            offers = [o for o in offers if o.terms == SEND]
            _check_received(call, offers[0])
        reduces = call.kind in ("CollectiveReduce", "CollectiveGatherGrad")
        if reduces and not small(offers[0]):
            result = self._in_shares(run, call, group, ticket, limit, formation, round_, rank)
        elif reduces:
            result = _reduced([o.whole for o in offers], call).reshape(offers[0].shape)
        elif call.kind == "CollectiveGather":
            result = np.concatenate([o.whole.reshape(o.shape) for o in offers])
        else:
            result = self._copied(offers[0].whole if receives else round_.offers[rank].whole).reshape(
                offers[0].shape if receives else round_.offers[rank].shape
            )
        if not reduces and any(not small(o) for o in offers):
            self._settle(run, call, group, ticket, limit, formation, round_, rank)
        with self.condition:
            group.end(call.member, ticket)
        if call.kind == "CollectiveGatherGrad":
            first = sum(o.rows for o in offers[:rank])
            result = result[first : first + offers[rank].rows]
        return result if result.ndim else result[()]

    @staticmethod
    def _is_small(offer: Offer) -> bool:
        size = np.dtype(offer.dtype).itemsize
        for n in offer.shape:
            size *= n
        return size < LARGE

    def _in_shares(
        self, run: Any, call: Call, group: Group, ticket: Ticket, limit: float, formation: Formation, round_: Round,
        rank: int,
    ) -> Array:  # fmt: skip
        """Reduces this member's share, and gathers those of the others."""
        shape, dtype = round_.offers[rank].shape, round_.offers[rank].dtype
        size = len(formation.members)
        length = len(round_.offers[rank].whole)
        own = share_of(length, rank, size)
        operands = [
            round_.offers[r].whole[own]
            if round_.offers[r].whole is not None
            else round_.offers[r].parts[rank]
            for r in range(size)
        ]
        mine = round_.offers[rank].whole[own]
        _reduce_into(mine, operands, call)
        with self.condition:
            round_.reduced[rank] = None
            if self._link is not None and round_.error is None:
                self._link.reduced(group.key, formation, rank, round_.key, mine)
            self.condition.notify_all()
        self._wait(run, call, group, ticket, limit, lambda r: tuple(r.reduced))
        result = self._empty((length,), dtype)
        for other in range(size):
            place = share_of(length, other, size)
            share = round_.reduced[other]
            copy_into(result[place], round_.offers[other].whole[place] if share is None else share)
        return result.reshape(shape)

    def _settle(
        self, run: Any, call: Call, group: Group, ticket: Ticket, limit: float, formation: Formation, round_: Round,
        rank: int,
    ) -> None:  # fmt: skip
        """Waits until the others have read the memory of this process too: it may end after that."""
        with self.condition:
            round_.taken.add(rank)
            if self._link is not None and round_.error is None:
                self._link.taken(group.key, formation, rank, round_.key)
            self.condition.notify_all()
        self._wait(run, call, group, ticket, limit, lambda r: tuple(r.taken))

    def _wait(
        self, run: Any, call: Call, group: Group, ticket: Ticket, limit: float,
        came: Callable[[Round], Sequence[int]],
    ) -> tuple[Formation, Round]:  # fmt: skip
        """Waits until `came` says that all ranks have come, and everything is sent."""

        def attempt() -> tuple[Formation, Round] | None:
            found = group.round_of(call.member, ticket)
            if found is not None:
                error, waits = found[1].error, self._link is not None and self._link.sending
                complete = len(came(found[1])) == call.group_size and not waits
                if complete and not isinstance(error, errors.InvalidArgumentError):
                    return found  # Whatever came after does not matter any more.
                if error is not None:
                    raise type(error)(None, None, error.message)
            if time.monotonic() > limit:
                raise errors.DeadlineExceededError(
                    None, None, f"After {call.timeout:g} s {awaited()}. {_ADVICE}"
                )
            return None

        def awaited() -> str:
            tasks = self._link.tasks() if self._link is not None else ()
            return f"{call.name!r} ({call.terms}) waits for {group.awaited(ticket, came, tasks)}"

        def doubt() -> None:
            _LOG.warning("%s: %s.", call.member, awaited())

        found: tuple[Formation, Round] = run.store.wait(
            self.condition, attempt, run, lambda: f"the other members: {awaited()}. {_ADVICE}", doubt
        )
        return found

    # ---- memory ---------------------------------------------------------------------------------------------------

    def _empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if self._memory is not None and size >= LARGE and self._memory.usable:
            found: Array = self._memory.empty(shape, dtype)
            return found
        return np.empty(shape, dtype)

    def _copied(self, array: Array) -> Array:
        copy = self._empty(array.shape, array.dtype)
        copy_into(copy, array)
        return copy

    # ---- what is heard of others ----------------------------------------------------------------------------------

    def _carry_out(self, group: Group, instructions: Sequence[Instruction]) -> None:
        link = self._link
        if link is not None:
            for what in instructions:
                if isinstance(what, Brought):
                    if what.offer.terms != RECEIVE:
                        link.offer(group.key, what, self._shares(what))
                else:
                    link.announce(group.key, group.size, what)
        if instructions:
            self.condition.notify_all()

    def _shares(self, what: Brought) -> Mapping[int, Any]:
        """What each other rank needs of a value whose memory it cannot read, where that is not all of it."""
        offer = what.offer
        if self._is_small(offer) or offer.terms in (SEND, "all_gather"):
            return {}
        size = len(what.formation.members)
        return {r: offer.whole[share_of(len(offer.whole), r, size)] for r in range(size)}

    def heard(self, key: int, event: Callable[[Group], list[Instruction] | None]) -> None:
        """Something came in about a group; the lock is held where a member looks, and not by other threads."""
        group = self._group(key)
        self._carry_out(group, event(group) or ())

    def standing(self) -> list[tuple[int, int, Joined]]:
        """The members of this process that have joined, for a task that has just come; the lock is held."""
        return [
            (group.key, group.size, Joined(member, seat.number))
            for group in self._groups.values()
            for member, seat in group.seats.items()
            if seat.number
        ]

    def lost(self, task: str, error: errors.OpError) -> None:
        """A task is gone; the lock is held."""
        for group in self._groups.values():
            self._carry_out(group, group.lost(task, error))
        self.condition.notify_all()

    def quit(self, members: Sequence[str]) -> None:
        """A session is through with these devices: they leave what they have joined."""
        with self.condition:
            for group in self._groups.values():
                for member in members:
                    self._carry_out(group, group.leave(member, None))


_ADVICE: Final = (
    "See whether these tasks run, and whether they run the same operations (`graphflow status`); give the operation a "
    "longer timeout where they are only slower."
)


def _for_others(error: BaseException, call: Call) -> errors.OpError:
    """What the end of one member means to the others."""
    if isinstance(error, errors.UnavailableError | errors.InvalidArgumentError):
        return type(error)(None, None, error.message)
    told = error.message if isinstance(error, errors.OpError) else f"{type(error).__name__}: {error}"
    return errors.AbortedError(None, None, f"{call.member} gave up {call.name!r} ({call.terms}): {told}")


def _check_received(call: Call, offer: Offer) -> None:
    fits = call.shape is None or (
        len(call.shape) == len(offer.shape)
        and all(a is None or a == b for a, b in zip(call.shape, offer.shape, strict=True))
    )
    if call.dtype != offer.dtype or not fits:
        shape = "any shape" if call.shape is None else str(list(call.shape))
        raise errors.InvalidArgumentError(
            None, None, f"{call.name!r} receives {call.dtype} of {shape}, but {offer} is sent."
        )


def share_of(length: int, rank: int, size: int) -> slice:
    """The elements of a flat value that a rank reduces."""
    step = -(-length // (size * _ALIGNED)) * _ALIGNED
    return slice(min(length, rank * step), min(length, (rank + 1) * step))


def _reduced(values: Sequence[Array], call: Call) -> Array:
    """The values reduced, one after the other."""
    result = np.empty_like(values[0])
    _reduce_into(result, values, call)
    return result


def _reduce_into(out: Array, values: Sequence[Array], call: Call) -> None:
    """Reduces flat values of one length in their order; `out` may be one of them."""
    merge = _MERGE[call.merge]
    with np.errstate(all="ignore"):
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
            if call.final == "Div":
                _divide(target, len(values))


def _divide(target: Array, count: int) -> None:
    if target.dtype.kind in "iu":
        quotient = np.abs(target) // target.dtype.type(count)
        np.multiply(quotient, np.sign(target), out=target)
    else:
        np.divide(target, target.dtype.type(count), out=target)


def _pledge(call: Call) -> tuple[Any, ...]:
    """What a run names an operation by whose second half is still to come."""
    return "collective", call.group_key, call.instance_key, call.member
