"""What a notebook shows of a graph and of what is in it: scopes that open, operations by device, and who feeds whom.

Nothing is computed for a picture, names are escaped, and a large graph is cut: scopes say how much is in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from graphflow._core.common.shown import html

_MOST_OPERATIONS: Final = 600
"""Operations that are listed in all."""
_MOST_SCOPES: Final = 600
"""Scopes that can be opened in all."""
_DEEPEST: Final = 12
"""Scopes inside one another; what is deeper is listed by its whole name."""
_MOST_BOXES: Final = 40
"""Scopes in the drawing; a graph with more at the top has none."""
_COLOURS: Final = ("#dbe8ff", "#dff3e4", "#fdebd8", "#eee3fb", "#fbe3ea", "#e3f5f7")
_BOX: Final = (150, 34)
_GAP: Final = (24, 34)


class _Scope:
    """A scope and what is in it."""

    def __init__(self) -> None:
        self.scopes: dict[str, _Scope] = {}
        self.operations: list[tuple[str, Any]] = []
        self.count = 0

    def add(self, path: Sequence[str], operation: Any) -> None:
        """Puts an operation in its place, counted in all scopes around it."""
        scope = self
        scope.count += 1
        *around, own = (
            path if len(path) <= _DEEPEST else (*path[: _DEEPEST - 1], "/".join(path[_DEEPEST - 1 :]))
        )
        for name in around:
            scope = scope.scopes.setdefault(name, _Scope())
            scope.count += 1
        scope.operations.append((own, operation))


class _Budget:
    """How much is still shown."""

    def __init__(self) -> None:
        self.operations, self.scopes = _MOST_OPERATIONS, _MOST_SCOPES


def graph_html(operations: Sequence[Any]) -> str:
    """A graph as a notebook shows it."""
    root = _Scope()
    devices: dict[str, int] = {}
    for op in operations:
        root.add(op.name.split("/"), op)
        devices[op.device] = devices.get(op.device, 0) + 1
    by_device = html.rows(
        ["device", "operations"],
        [
            [f"<code>{html.text(name or 'not said')}</code>", str(n)]
            for name, n in sorted(devices.items())[:50]
        ],
        (1,),
    )
    return html.fragment(
        f"<b>Graph</b> of {_counted(len(operations), 'operation')}{by_device if operations else ''}"
        f"{_drawing(operations, sorted(devices))}{_listed(root, _Budget())}"
    )


def _listed(scope: _Scope, budget: _Budget) -> str:
    parts = []
    for name, inner in scope.scopes.items():
        label = f'<b>{html.text(name, 200)}</b> <span class="d">{_counted(inner.count, "operation")}</span>'
        budget.scopes -= 1
        if budget.scopes < 0 or budget.operations <= 0:
            if budget.scopes >= -_MOST_OPERATIONS:
                parts.append(f'<div class="o">{label}</div>')
            continue
        parts.append(f"<details><summary>{label}</summary>{_listed(inner, budget)}</details>")
    shown = scope.operations[: max(0, budget.operations)]
    budget.operations -= len(shown)
    parts += [_line(name, op) for name, op in shown]
    if len(shown) < len(scope.operations):
        parts.append(f'<div class="o d">and {len(scope.operations) - len(shown)} more</div>')
    return "".join(parts)


def _line(name: str, op: Any) -> str:
    inputs = ", ".join(tensor.name for tensor in op.inputs[:8]) + (", ..." if len(op.inputs) > 8 else "")
    outputs = ", ".join(f"{out.dtype.name}{_dims(out)}" for out in op.outputs[:4])
    device = f' <span class="d">{html.text(op.device, 200)}</span>' if op.device else ""
    return (
        f'<div class="o"><code>{html.text(name, 200)} = {html.text(op.type, 100)}({html.text(inputs, 400)})</code> '
        f"{html.text(outputs, 200)}{device}</div>"
    )


def _dims(tensor: Any) -> str:
    return str(tensor.shape)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _drawing(operations: Sequence[Any], devices: Sequence[str]) -> str:
    """The scopes at the top as boxes, coloured by the device of most of their operations, with arrows between."""
    boxes: dict[str, list[Any]] = {}
    for op in operations:
        boxes.setdefault(op.name.partition("/")[0], []).append(op)
    if not 1 < len(boxes) <= _MOST_BOXES:
        return ""
    edges: dict[tuple[str, str], int] = {}
    for name, inside in boxes.items():
        for op in inside:
            for tensor in op.inputs:
                source = tensor.op.name.partition("/")[0]
                if source != name:
                    edges[source, name] = edges.get((source, name), 0) + 1
    rows = _rows(list(boxes), edges)
    places = {
        name: (k * (_BOX[0] + _GAP[0]) + 4, level * (_BOX[1] + _GAP[1]) + 4)
        for level, row in enumerate(rows)
        for k, name in enumerate(row)
    }
    width = max(x for x, _ in places.values()) + _BOX[0] + 8
    height = max(y for _, y in places.values()) + _BOX[1] + 8
    parts = []
    for (source, target), count in edges.items():
        if source in places:
            (x, y), (to_x, to_y) = places[source], places[target]
            parts.append(
                f'<path d="M{x + _BOX[0] // 2} {y + _BOX[1]}L{to_x + _BOX[0] // 2} {to_y}" stroke="#bbb" '
                f'stroke-width="{min(4, 1 + count // 4)}"><title>{html.text(source, 200)} to '
                f"{html.text(target, 200)}: {_counted(count, 'tensor')}</title></path>"
            )
    colours = {device: _COLOURS[k % len(_COLOURS)] for k, device in enumerate(devices)}
    for name, (x, y) in places.items():
        used = [op.device for op in boxes[name]]
        device = max(dict.fromkeys(used), key=used.count)
        parts.append(
            f'<rect x="{x}" y="{y}" width="{_BOX[0]}" height="{_BOX[1]}" rx="6" fill="{colours[device]}" '
            f'stroke="#999"><title>{html.text(name, 200)} {html.text(device, 200)}</title></rect>'
            f'<text x="{x + _BOX[0] // 2}" y="{y + 15}" font-size="11" text-anchor="middle">'
            f"{html.text(name, 22)}</text>"
            f'<text x="{x + _BOX[0] // 2}" y="{y + 28}" font-size="9" fill="#777" text-anchor="middle">'
            f"{html.text(boxes[name][0].type, 26) if len(used) == 1 else len(used)}</text>"
        )
    return f'<div style="overflow:auto"><svg width="{width}" height="{height}">{"".join(parts)}</svg></div>'


def _rows(names: Sequence[str], edges: Mapping[tuple[str, str], int]) -> list[list[str]]:
    """The names in rows, each below those that it takes from; of what goes in a circle, as a loop's, one way counts."""
    order = {name: k for k, name in enumerate(names)}
    level = dict.fromkeys(names, 0)
    for name in names:
        sources = [a for a, b in edges if b == name and a in order and order[a] < order[name]]
        level[name] = 1 + max((level[a] for a in sources), default=-1)
    rows: list[list[str]] = [[] for _ in range(max(level.values()) + 1)]
    for name in names:
        rows[level[name]].append(name)
    return rows


def facts_html(title: str, facts: Iterable[tuple[str, Any]]) -> str:
    """An object as a notebook shows it: what it is, and a line for each fact, in a box."""
    lines = [[html.text(name), f"<code>{html.text(value, 400)}</code>"] for name, value in facts]
    return html.fragment(f'<div class="box"><b>{html.text(title, 200)}</b>{html.rows(["", ""], lines)}</div>')
