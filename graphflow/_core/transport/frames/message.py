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
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

import numpy as np

from graphflow._core.transport.frames import tensors
from graphflow._core.transport.frames.tensors import BadMessage, Buffer, Share
from graphflow._core.transport.shared import PartnerMemory

VERSION: Final = 2
_HEADER: Final = struct.Struct("<2sBBIQQQQ")
_MAGIC: Final = b"GF"
MOST_DETAILS: Final = 256 << 20
"""Bytes of details: a plan of a hundred thousand instructions takes about 30 MB."""


class Kind(IntEnum):
    """What a message is for; docs/wire-protocol.md says what each carries."""

    HELLO = 1
    WELCOME = 2
    REGISTER = 3
    REGISTERED = 4
    RELEASE = 5
    RUN = 6
    RESULT = 7
    STEP = 8
    DONE = 9
    TENSOR = 10
    ABORT = 11
    FAILED = 12
    STATUS = 13
    STATUS_IS = 14
    RESET = 15
    STOP = 16
    OUTPUT = 17
    BYE = 18
    LOCAL_CHANNEL = 19
    TRACE = 20
    COLLECTIVE = 21
    TOOK = 22


_json: Final = json.JSONEncoder(separators=(",", ":")).encode
_KINDS: Final = {int(kind): kind for kind in Kind}
_OF_STEPS: Final = frozenset({Kind.TENSOR, Kind.DONE})
"""Kinds whose tensors go along edges of a plan. A tensor may be missing: its operation did not run."""


def peek(frames: Sequence[Buffer]) -> tuple[int, int, int, int] | None:
    """Version, kind, number of tensors and first number of a message, from its header; None if it has no header."""
    if not frames or len(frames[0]) < _HEADER.size or frames[0][:2] != _MAGIC:
        return None
    _, version, kind, count, _, a, _, _ = _HEADER.unpack_from(frames[0])
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
            return [_HEADER.pack(_MAGIC, VERSION, self.kind, 0, 0, self.a, self.b, self.c)]
        table, buffers = tensors.encode(self.tensors, share)
        details = _json(self.details).encode() if self.details else b""
        header = _HEADER.pack(
            _MAGIC, VERSION, self.kind, len(self.tensors), len(details), self.a, self.b, self.c
        )
        return [b"".join((header, details, table)), *buffers]

    @staticmethod
    def of(frames: Sequence[Buffer], memory: PartnerMemory | None = None) -> Message:
        """The message that frames hold; the tensors are read-only and share memory with the frames.

        memory: the memory that the sender shares with this process. Raises BadMessage for anything that `frames()`
        could not have made, SharedMemoryError if the memory cannot be read any more.
        """
        if not frames or len(frames[0]) < _HEADER.size:
            raise BadMessage("A message has a header.")
        head = frames[0]
        magic, version, number, count, length, a, b, c = _HEADER.unpack_from(head)
        if magic != _MAGIC:
            raise BadMessage("This is no message of graphflow's.")
        if version != VERSION:
            raise BadMessage(
                f"The message is of version {version} of the protocol; this is version {VERSION}."
            )
        begin = _HEADER.size + length
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
        return Message(kind, a, b, c, _details(head[_HEADER.size : begin]) if length else {}, values)


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
