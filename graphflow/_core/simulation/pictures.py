"""Steps per second over numbers of workers, as text and as a picture on a page that needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

_WIDE: Final = 40
_STYLE: Final = "body { font-family: sans-serif; margin: 2em; } pre { background: #f6f8fa; padding: 1em; }"
_SIZE: Final = (640, 360)
_LABEL: Final = 24
"""The width of a number below the axis."""
_LEFT, _BELOW, _ROOM = 70, 50, 20


def text_plot(points: Sequence[tuple[int, float]]) -> str:
    """A line for each number of workers: steps per second, and how much of what so many times one would be."""
    most = max((rate for _, rate in points), default=1.0) or 1.0
    lines = ["workers  steps/s"]
    lines += [f"{count:>7,}  {rate:>9.4g} {'#' * round(_WIDE * rate / most)}" for count, rate in points]
    return "\n".join(lines)


def svg(points: Sequence[tuple[int, float]]) -> str:
    """The same as a picture; the dashed line is what the first point would be if it grew with the workers."""
    wide, high = _SIZE
    most_workers = max((count for count, _ in points), default=1)
    most_rate = max((rate for _, rate in points), default=1.0) or 1.0

    def place(count: float, rate: float) -> str:
        x = _LEFT + (wide - _LEFT - _ROOM) * count / most_workers
        y = high - _BELOW - (high - _BELOW - _ROOM) * rate / most_rate
        return f"{x:.1f},{y:.1f}"

    first_count, first_rate = points[0]
    each = first_rate / first_count
    until = min(most_workers, most_rate / each if each else most_workers)
    dots = "".join(
        f'<circle cx="{p.partition(",")[0]}" cy="{p.partition(",")[2]}" r="3"><title>{count:,} workers: '
        f"{rate:.4g} steps/s</title></circle>"
        for count, rate in points
        for p in [place(count, rate)]
    )
    marks = "".join(
        f'<text x="{p.partition(",")[0]}" y="{high - _BELOW + 18}" text-anchor="middle">{count:,}</text>'
        for count, rate in _apart(points, most_workers * _LABEL / (wide - _LEFT - _ROOM))
        for p in [place(count, rate)]
    )
    ticks = "".join(
        f'<text x="{_LEFT - 8}" y="{float(place(0, most_rate * k / 4).partition(",")[2]) + 4:.1f}" '
        f'text-anchor="end">{most_rate * k / 4:.3g}</text>'
        for k in range(5)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" font-family="sans-serif" '
        f'font-size="12"><rect width="{wide}" height="{high}" fill="#ffffff"/>'
        f'<path d="M{place(0, most_rate)} L{place(0, 0)} L{place(most_workers, 0)}" fill="none" stroke="#57606a"/>'
        f'<path d="M{place(0, 0)} L{place(until, until * each)}" stroke="#8c959f" stroke-dasharray="5 4"/>'
        f'<polyline points="{" ".join(place(*p) for p in points)}" fill="none" stroke="#0969da" stroke-width="2"/>'
        f'<g fill="#0969da">{dots}</g>{marks}{ticks}'
        f'<text x="{wide / 2}" y="{high - 10}" text-anchor="middle">workers</text>'
        f'<text transform="translate(16,{high / 2}) rotate(-90)" text-anchor="middle">steps per second</text></svg>'
    )


def _apart(points: Sequence[tuple[int, float]], room: float) -> list[tuple[int, float]]:
    """The points whose labels have room beside each other: from the last on down, so that the largest has one."""
    found: list[tuple[int, float]] = []
    for point in sorted(points, reverse=True):
        if not found or found[-1][0] - point[0] >= room:
            found.append(point)
    return found[::-1]


def page(text: str, points: Sequence[tuple[int, float]]) -> str:
    """A page with the figures and the picture."""
    picture = svg(points) if points else ""
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A simulated cluster</title>'
        f"<style>{_STYLE}</style></head><body><h1>A simulated cluster</h1><pre>{escape(text)}</pre>{picture}"
        "</body></html>\n"
    )
