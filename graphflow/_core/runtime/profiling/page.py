"""Profiles as one HTML page: a table of the pieces, the timeline of the last traced step, and what goes between tasks.

The pictures are SVG inside the page. It has no script and loads nothing: what shows more when it is pointed at is a
<title>, and what opens is a <details>.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from graphflow._core.common.shown import html
from graphflow._core.common.shown.tables import readable_size
from graphflow._core.runtime.profiling.summary import PlanProfile, Transfer
from graphflow.config import NodeStats

_COLOURS: Final = {
    "fused": "#4c8bf5",
    "kernel": "#2f9e63",
    "scalars": "#8e6fd8",
    "loop": "#0aa3b5",
    "numpy": "#e8743b",
    "Send": "#c9a227",
    "Recv": "#d5d5d5",
}
_WIDTH: Final = 900
_LANE: Final = 22
_MOST_BARS: Final = 5000
"""Bars of a timeline; of longer steps those are left out that took the least."""

_MOST_ROWS: Final = 1000
"""Lines of a table, likewise."""


def page(title: str, profiles: Sequence[PlanProfile]) -> str:
    """A page of plans, the first of them open."""
    return html.page(title, "".join(section(one, number == 0) for number, one in enumerate(profiles)))


def section(profile: PlanProfile, opened: bool = True) -> str:
    """What there is to see of one plan."""
    counted = ""
    if profile.runs:
        counted = f" &middot; {profile.runs} runs in {profile.seconds:.3g} s"
    return (
        f'<details class="top"{" open" if opened else ""}><summary><b>{html.text(profile.name, 200)}</b> '
        f"{html.text(profile.headline())}{counted}</summary>"
        f"{_notes(profile)}{_legend()}<h2>Timeline of a step</h2>{timeline(profile)}"
        f"<h2>Where the time goes</h2>{_table(profile)}{_between(profile.transfers())}</details>"
    )


def _notes(profile: PlanProfile) -> str:
    lines = [*profile.notes, *(f"arena of {readable_size(size)}" for size in profile.arenas)]
    return "".join(f"<div>{html.text(line)}</div>" for line in lines)


def _legend() -> str:
    boxes = "".join(
        f'<tspan fill="{colour}">&#9632;</tspan> {kind}&#160;&#160; ' for kind, colour in _COLOURS.items()
    )
    return f'<svg width="{_WIDTH}" height="20" role="img"><text y="14" font-size="12">{boxes}</text></svg>'


def _table(profile: PlanProfile) -> str:
    everything = profile.rows()
    found = everything
    if len(found) > _MOST_ROWS:
        least = sorted((row.microseconds for row in found), reverse=True)[_MOST_ROWS]
        found = [row for row in found if row.microseconds > least][:_MOST_ROWS]
    longest = max((row.microseconds for row in found), default=0.0) or 1.0
    total = sum(row.microseconds for row in everything) or 1.0
    several = len({row.device for row in found}) > 1
    lines = []
    for row in found:
        colour = _COLOURS.get(row.kind, "#999")
        width = max(1, round(120 * row.microseconds / longest))
        bar = f'<svg width="122" height="10"><rect width="{width}" height="10" fill="{colour}"/></svg>'
        names = html.text(", ".join(row.operations), 4000)
        told = f"<code>{names}</code>"
        if len(row.operations) > 4:
            told = f"<details><summary>{len(row.operations)} operations</summary>{told}</details>"
        if row.reason:
            told += f'<div class="d">{html.text(row.reason)}</div>'
        line = [
            f"{row.microseconds:.1f}",
            f"{row.microseconds / total:.0%}",
            bar,
            readable_size(row.read) if row.read else "",
            readable_size(row.written) if row.written else "",
            row.kind,
            f"<code>{html.text(row.op, 200)}</code>",
            told,
        ]
        lines.append([*line, html.text(row.device)] if several else line)
    head = ["us", "share", "", "read", "written", "", "ops", "operations", *(["device"] if several else [])]
    left_out = len(everything) - len(found)
    note = f"<p>{left_out} short ones are left out.</p>" if left_out else ""
    return html.rows(head, lines, (0, 1, 3, 4)) + note


def timeline(profile: PlanProfile) -> str:
    """The last traced step: a lane for each thread of each device, one for its waits, a bar for each record."""
    if not profile.steps:
        return "<p>No step was traced.</p>"
    nodes = profile.steps[-1].nodes()
    if not nodes:
        return "<p>Nothing was computed.</p>"
    left_out = len(nodes) - _MOST_BARS
    if left_out > 0:
        nodes = sorted(nodes, key=lambda n: -n.duration_us)[:_MOST_BARS]
    lanes = sorted({_lane(node) for node in nodes})
    begin = min(node.start_us for node in nodes)
    span = max(node.start_us + node.duration_us for node in nodes) - begin or 1.0
    place = {lane: number for number, lane in enumerate(lanes)}
    parts = []
    for number, (device, row, _) in enumerate(lanes):
        label = {"0": " waits", "1": " sends"}.get(row, "")
        y = number * 2 * _LANE
        parts.append(
            f'<text x="0" y="{y + 14}" font-size="11" fill="#555">{html.text(device + label)}</text>'
        )
        parts.append(f'<rect x="0" y="{y + 19}" width="{_WIDTH}" height="{_LANE}" fill="#f4f4f4"/>')
    for node in nodes:
        y = place[_lane(node)] * 2 * _LANE + 19
        x = (node.start_us - begin) / span * _WIDTH
        width = max(1.0, node.duration_us / span * _WIDTH)
        colour = _COLOURS.get(node.op, _COLOURS.get(node.kind, "#999"))
        told = f"{node.op} {', '.join(node.operations) or node.node_name}: {node.duration_us:.1f} us"
        told += "".join(
            f"\n{out.dtype}{list(out.shape)} {readable_size(out.bytes)}" for out in node.outputs[:8]
        )
        parts.append(
            f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{_LANE}" fill="{colour}" stroke="#fff" '
            f'stroke-width=".5"><title>{html.text(told)}</title></rect>'
        )
    height = len(lanes) * 2 * _LANE + 24
    for tick in range(6):
        x = tick * _WIDTH / 5
        anchor = "end" if tick == 5 else "middle" if tick else "start"
        parts.append(
            f'<text x="{x:.0f}" y="{height - 6}" font-size="11" fill="#555" text-anchor="{anchor}">'
            f"{span * tick / 5:.0f} us</text>"
        )
    note = f"<p>{left_out} short ones are left out.</p>" if left_out > 0 else ""
    return f'<svg width="{_WIDTH}" height="{height}" role="img">{"".join(parts)}</svg>{note}'


def _lane(node: NodeStats) -> tuple[str, str, int]:
    """The device, which kind of lane, and the thread."""
    if node.op in ("Recv", "Send"):
        return node.device, "0" if node.op == "Recv" else "1", 0
    return node.device, "2", node.thread


def _between(transfers: Sequence[Transfer]) -> str:
    """What goes from task to task: a circle of tasks with an arrow for each, as wide as it is heavy; and a table."""
    if not transfers:
        return ""
    ends = sorted({end for one in transfers for end in (one.source, one.target)})
    radius = max(90, 26 * len(ends))
    middle, size = radius + 150, 2 * radius + 70
    turn = 2 * math.pi / len(ends)
    places = {
        end: (middle + radius * math.sin(k * turn), radius + 35 - radius * math.cos(k * turn))
        for k, end in enumerate(ends)
    }
    heaviest = max(one.bytes for one in transfers) or 1
    parts = [
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" fill="#888"/></marker></defs>'
    ]
    for one in transfers:
        (x, y), (to_x, to_y) = places[one.source], places[one.target]
        bend_x, bend_y = (x + to_x) / 2 + (to_y - y) * 0.15, (y + to_y) / 2 - (to_x - x) * 0.15
        told = f"{one.source} to {one.target}: {one.values} values, {readable_size(one.bytes)}"
        parts.append(
            f'<path d="M{x:.0f} {y:.0f}Q{bend_x:.0f} {bend_y:.0f} {to_x:.0f} {to_y:.0f}" fill="none" '
            f'stroke="#888" stroke-width="{1 + 4 * one.bytes / heaviest:.1f}" marker-end="url(#arrow)">'
            f"<title>{html.text(told)}</title></path>"
            f'<text x="{bend_x:.0f}" y="{bend_y:.0f}" font-size="11">{readable_size(one.bytes)}</text>'
        )
    for end, (x, y) in places.items():
        parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="6" fill="#4c8bf5"/>')
        parts.append(
            f'<text x="{x:.0f}" y="{y - 10:.0f}" font-size="11" text-anchor="middle">{html.text(end)}</text>'
        )
    lines = [
        [html.text(one.source), html.text(one.target), str(one.values), readable_size(one.bytes)]
        for one in transfers
    ]
    return (
        "<h2>What a step sends</h2>"
        f'<svg width="{2 * middle}" height="{size}" role="img">{"".join(parts)}</svg>'
        + html.rows(["from", "to", "values", "bytes"], lines, (2, 3))
    )
