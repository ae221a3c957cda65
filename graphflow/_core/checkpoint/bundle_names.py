"""The files of a checkpoint in TensorFlow's format, and what tells whether they belong together.

An index and its file of data take their names one after the other, so there is a moment, which lasts if the process is
killed in it, at which an index lies beside data of another save. Hence the seal: a digest of the whole index, which
stands in it where TensorFlow does not look, and at the end of the data, behind the last tensor. While both change, the
data that the old index means stay under a name that is made of their seal.
"""

from __future__ import annotations

import os
import re
from typing import Final

INDEX: Final = ".index"
"""The ending on disk of the prefix of a checkpoint in TensorFlow's format."""
SEAL_BYTES: Final = 16
_END: Final = b"gf.seal\n"
"""What data with a seal end with."""
TAIL_BYTES: Final = SEAL_BYTES + len(_END)
_FORMER: Final = re.compile(rf"[0-9a-f]{{{2 * SEAL_BYTES}}}\.former")


def data_path(prefix: str, shard: int = 0, count: int = 1) -> str:
    """A file of data of a prefix."""
    return f"{prefix}.data-{shard:05d}-of-{count:05d}"


def tail_of(seal: bytes) -> bytes:
    """The last bytes of data that have a seal."""
    return seal + _END


def seal_of(data: memoryview | bytes) -> bytes:
    """The seal of data, or of their last TAIL_BYTES; b"" if they have none, as those that TensorFlow wrote."""
    tail = bytes(data[-TAIL_BYTES:])
    return tail[:SEAL_BYTES] if len(tail) == TAIL_BYTES and tail.endswith(_END) else b""


def former_path(prefix: str, seal: bytes) -> str:
    """Where data of this seal lie while the files of their prefix change."""
    folder, name = os.path.split(prefix)
    return os.path.join(folder, f".{name}.{seal.hex() or '0' * 2 * SEAL_BYTES}.former")


def former_paths(prefix: str) -> list[str]:
    """What lies in the folder of such data, of this prefix: as a rule nothing."""
    folder, name = os.path.split(os.path.abspath(prefix))
    start = f".{name}."
    with os.scandir(folder) as entries:
        return [
            entry.path
            for entry in entries
            if entry.name.startswith(start) and _FORMER.fullmatch(entry.name[len(start) :])
        ]
