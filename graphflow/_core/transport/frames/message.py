"""Messages: a header of fixed size, details as JSON, and tensors, the large ones as a frame each.

    frame 0   "GF", version, kind, number of tensors, length of the details, three 64-bit numbers; then the details,
              a JSON object or nothing; then the table of the tensors, in which small ones are whole
    frame 1.. the buffers of the large tensors

The meaning of the three numbers depends on the kind. Reading a message runs no code of the sender.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Flag, IntEnum, auto, unique
from typing import Any, Final

import numpy as np

from graphflow._core.common.records import dataclass
from graphflow._core.transport.frames import tensors
from graphflow._core.transport.frames.tensors import BadMessage, Buffer, Share
from graphflow._core.transport.shared import PartnerMemory

VERSION: Final = 3
HEADER: Final = struct.Struct("<2sBBIQQQQ")
MAGIC: Final = b"GF"
MOST_DETAILS: Final = 256 << 20
"""Bytes of details: a plan of a hundred thousand instructions takes about 30 MB."""


class Way(Flag):
    """Who sends messages of a kind to whom, and what they bind the receiver to."""

    FROM_CLIENT = auto()
    FROM_TASK = auto()
    TO_CLIENT = auto()
    OF_MASTER = auto()
    """The number `a` is the incarnation of the task that sends it: nobody else may."""
    ANSWERED = auto()
    """A client numbers it, it is taken once, and one answer goes back, even if that is an error."""
    FOR_ALL = auto()
    """The task passes it on to all others, and its answer has theirs."""

    FROM_MASTER = FROM_TASK | OF_MASTER
    REQUEST = FROM_CLIENT | ANSWERED
    QUESTION = REQUEST | FROM_TASK | FOR_ALL


@unique
class Kind(IntEnum):
    """What a message is for, with its number on the wire, and the ways that it goes.

    This is where a kind is declared: which are requests, and which are questions to all tasks, is read from here.
    docs/wire-protocol.md says what each carries, docs/add-a-message.md how to add one.
    """

    ways: Way

    def __new__(cls, number: int, ways: Way) -> Kind:
        kind = int.__new__(cls, number)
        kind._value_ = number
        kind.ways = ways
        return kind

    HELLO = 1, Way.FROM_CLIENT | Way.FROM_TASK
    WELCOME = 2, Way.TO_CLIENT
    REGISTER = 3, Way.REQUEST | Way.FROM_MASTER
    REGISTERED = 4, Way.TO_CLIENT | Way.FROM_TASK
    RELEASE = 5, Way.FROM_CLIENT | Way.FROM_MASTER
    RUN = 6, Way.REQUEST
    RESULT = 7, Way.TO_CLIENT
    STEP = 8, Way.FROM_MASTER
    DONE = 9, Way.FROM_TASK
    TENSOR = 10, Way.FROM_TASK
    ABORT = 11, Way.FROM_CLIENT | Way.FROM_MASTER
    FAILED = 12, Way.TO_CLIENT | Way.FROM_TASK
    STATUS = 13, Way.QUESTION
    STATUS_IS = 14, Way.TO_CLIENT | Way.FROM_TASK
    RESET = 15, Way.QUESTION
    STOP = 16, Way.QUESTION
    OUTPUT = 17, Way.TO_CLIENT | Way.FROM_TASK
    BYE = 18, Way.FROM_CLIENT | Way.FROM_TASK
    LOCAL_CHANNEL = 19, Way.FROM_CLIENT | Way.FROM_TASK
    TRACE = 20, Way.TO_CLIENT | Way.FROM_TASK
    COLLECTIVE = 21, Way.FROM_TASK
    TOOK = 22, Way.FROM_CLIENT | Way.FROM_MASTER


def kinds_that_go(ways: Way) -> frozenset[Kind]:
    """The kinds that go all of these ways."""
    return frozenset(kind for kind in Kind if ways in kind.ways)


REQUESTS: Final = kinds_that_go(Way.REQUEST)
QUESTIONS: Final = kinds_that_go(Way.QUESTION)
OF_MASTERS: Final = kinds_that_go(Way.FROM_MASTER)

_json: Final = json.JSONEncoder(separators=(",", ":")).encode
_KINDS: Final = {int(kind): kind for kind in Kind}
_OF_STEPS: Final = frozenset({Kind.TENSOR, Kind.DONE})
"""Kinds whose tensors go along edges of a plan. A tensor may be missing: its operation did not run."""


def peek(frames: Sequence[Buffer]) -> tuple[int, int, int, int] | None:
    """Version, kind, number of tensors and first number of a message, from its header; None if it has no header."""
    if not frames or len(frames[0]) < HEADER.size or frames[0][:2] != MAGIC:
        return None
    _, version, kind, count, _, a, _, _ = HEADER.unpack_from(frames[0])
    return version, kind, count, a


@dataclass(eq=False, slots=True)
class Message:
    """One message: its kind, three numbers, details that JSON can express, and tensors (None: one without a value)."""

    kind: Kind
    a: int = 0
    b: int = 0
    c: int = 0
    details: Mapping[str, Any] = field(default_factory=dict)
    tensors: Sequence[Any] = ()

    def take(self) -> Sequence[Any]:
        """The tensors, which the message does not keep."""
        taken, self.tensors = self.tensors, ()
        return taken

    def frames(self, share: Share | None = None) -> list[Buffer]:
        """The message as frames; buffers of tensors share memory with them.

        share: puts a tensor into memory that the receiver reads, and returns a handle, which is sent instead.
        """
        if not self.details and not self.tensors:
            return [HEADER.pack(MAGIC, VERSION, self.kind, 0, 0, self.a, self.b, self.c)]
        table, buffers = tensors.encode(self.tensors, share)
        details = _json(self.details).encode() if self.details else b""
        header = HEADER.pack(
            MAGIC, VERSION, self.kind, len(self.tensors), len(details), self.a, self.b, self.c
        )
        return [b"".join((header, details, table)), *buffers]

    @staticmethod
    def of(frames: Sequence[Buffer], memory: PartnerMemory | None = None) -> Message:
        """The message that frames hold; the tensors are read-only and share memory with the frames.

        memory: the memory that the sender shares with this process. Raises BadMessage for anything that `frames()`
        could not have made, SharedMemoryError if the memory cannot be read any more.
        """
        if not frames or len(frames[0]) < HEADER.size:
            raise BadMessage("A message has a header.")
        head = frames[0]
        magic, version, number, count, length, a, b, c = HEADER.unpack_from(head)
        if magic != MAGIC:
            raise BadMessage("This is no message of graphflow's.")
        if version != VERSION:
            raise BadMessage(
                f"The message is of version {version} of the protocol; this is version {VERSION}."
            )
        begin = HEADER.size + length
        if count > tensors.MOST_TENSORS or begin > len(head):
            raise BadMessage(
                f"A message of {len(head)} bytes has neither {length} of details nor {count} tensors."
            )
        kind = _KINDS.get(number)
        if kind is None:
            raise BadMessage(f"There is no kind {number} of messages.")
        values: Sequence[np.ndarray[Any, Any] | None] = ()
        if count or begin != len(head) or len(frames) > 1:
            values = tensors.decode(head, begin, count, frames[1:], memory)
            if kind not in _OF_STEPS and any(value is None for value in values):
                raise BadMessage(f"A tensor of {kind.name} has no value.")
        return Message(kind, a, b, c, _details(head[HEADER.size : begin]) if length else {}, values)


def _details(frame: Buffer) -> Mapping[str, Any]:
    if len(frame) > MOST_DETAILS:
        raise BadMessage(
            f"The details of a message have {len(frame)} bytes; at most {MOST_DETAILS} are read."
        )
    try:
        details = json.loads(bytes(frame))
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"The details of a message are no JSON: {error}") from None
    if not isinstance(details, dict):
        raise BadMessage("The details of a message are a JSON object.")
    return details
