"""The types of PTX, as C has them."""

from __future__ import annotations

from typing import Final

C_TYPES: Final = {
    "pred": "u8",
    **{f"{kind}{bits}": f"{kind.replace('b', 'u')}{bits}" for kind in "bus" for bits in (8, 16, 32, 64)},
    "f32": "float",
    "f64": "double",
}


def size_of(kind: str) -> int:
    """The bytes of a type."""
    return 1 if kind == "pred" else int(kind[1:]) // 8


def unsigned(kind: str) -> str:
    """The unsigned integer of a type's size: its arithmetic wraps around, as PTX's does, and C's of others may not."""
    return f"u{kind[1:]}"


def c_name(name: str) -> str:
    """A name of PTX's as one of C's."""
    return "r_" + name.lstrip("%$").replace("$", "_").replace(".", "_").replace("%", "_")


def cast(value: str, kind: str, to: str) -> str:
    """A C expression of one type as another: bits are kept between floats and integers of a size."""
    if kind == to:
        return value
    if kind[0] == "f" and to[0] == "f":
        raise ValueError(f"{value}: {kind} as {to}")
    if kind[0] == "f" or to[0] == "f":
        if "pred" in (kind, to) or size_of(kind) != size_of(to):
            raise ValueError(f"{value}: {kind} as {to}")
        return f"{'float' if to[0] == 'f' else 'bits'}{8 * size_of(to)}({value})"
    return f"(({C_TYPES[to]}){value})"
