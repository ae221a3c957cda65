"""Tables with aligned columns, and sizes that can be read, for commands, profiles and reports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from graphflow._core.common.printable import printable

_UNITS: Final = ("bytes", "KB", "MB", "GB", "TB")


def table(rows: Sequence[tuple[str, ...]], indent: str = "", right: Collection[int] = ()) -> str:
    """Rows as lines, each column as wide as its widest cell; those of these numbers are aligned on the right.

    A cell is one line of what can be printed, whatever is in it.
    """
    rows = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def readable_size(count: float) -> str:
    """A number of bytes in three digits."""
    unit = 0
    while count >= 1000 and unit < len(_UNITS) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 else f"{count:.3g} {_UNITS[unit]}"
