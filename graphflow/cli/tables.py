"""How commands show figures: tables with aligned columns, and sizes that can be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_UNITS: Final = ("bytes", "KB", "MB", "GB", "TB")


def table(rows: Sequence[tuple[str, ...]], indent: str = "") -> str:
    """Rows as lines, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def readable_size(count: float) -> str:
    """A number of bytes in three digits."""
    unit = 0
    while count >= 1000 and unit < len(_UNITS) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.0f} {_UNITS[unit]}" if unit == 0 else f"{count:.3g} {_UNITS[unit]}"
