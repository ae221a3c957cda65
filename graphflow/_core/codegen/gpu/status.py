"""The words in which kernels say what went wrong, and the text of the commonest such thing.

Four 64-bit integers: a code, 0 if nothing went wrong; the number of the node that wrote it, from 1 on; and, of an
index that is out of range, the index and the limit that it is not below. The first to find something is the one that is
told of.
"""

from __future__ import annotations

from typing import Final

WORDS: Final = 4
BYTES: Final = 8 * WORDS
DIVISION: Final = 1
"""The code of an integer division by zero."""
RANGE: Final = 2
"""The code of an index that there is not."""


_REPORTS: Final = "(status, 0, "


def may_report(source: str) -> bool:
    """Whether a kernel may leave a status; the guard at its beginning only looks for that of others."""
    return _REPORTS in source


def report(code: str) -> tuple[str, str]:
    """Lines that leave a code, if no other thread has left one; more lines may follow in their block.

    Threads look at the code while others leave theirs, so that it is written atomically.
    """
    return (
        "if cuda.atomic.cas(status, 1, int64(0), int64(number)) == 0:",
        f"    cuda.atomic.exch{_REPORTS}int64({code}))",
    )


def wrong_index(index: str, limit: str, indent: int, code: str = str(RANGE)) -> str:
    """Lines that report an index, the first of them without its indent, for where one is found to be wrong."""
    lines = (*report(code), f"    status[2] = {index}", f"    status[3] = {limit}")
    return ("\n" + " " * indent).join(lines)
