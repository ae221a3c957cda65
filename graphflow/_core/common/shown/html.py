"""HTML that is safe whatever the names in it are: text is escaped, and nothing is ever loaded or run.

A page is one file: its style is in it, and it has no script, so that it can be sent on and opened anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from graphflow._core.common.printable import printable

STYLE: Final = """
.gf { font: 13px/1.45 system-ui, sans-serif; color: #222; background: #fff; }
.gf h1 { font-size: 20px; } .gf h2 { font-size: 15px; margin: 1.2em 0 .4em; }
.gf table { border-collapse: collapse; margin: .5em 0; }
.gf th { text-align: left; border-bottom: 1px solid #bbb; } .gf th, .gf td { padding: 2px 10px 2px 0; }
.gf td { vertical-align: top; } .gf td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.gf code { font: 12px ui-monospace, monospace; overflow-wrap: anywhere; }
.gf details { margin: 1px 0 1px 1.1em; } .gf details.top { margin-left: 0; } .gf summary { cursor: pointer; }
.gf .o { margin-left: 2.2em; } .gf .d { color: #777; }
.gf .box { border: 1px solid #ccc; border-radius: 6px; padding: 6px 10px; display: inline-block; }
"""
"""Of what stands in an element of the class gf, so that a page or a notebook around it is left alone."""


def text(value: object, longest: int = 2000) -> str:
    """A value as text of a page: escaped, without what cannot be printed, and not longer than so many characters."""
    shown = str(value)
    if len(shown) > longest:
        shown = f"{shown[: longest - 3]}..."
    return escape(printable(shown))


def fragment(body: str) -> str:
    """A part of a page or notebook, with its style."""
    return f'<div class="gf"><style>{STYLE}</style>{body}</div>'


def page(title: str, body: str) -> str:
    """A whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f'<title>{text(title)}</title></head><body class="gf"><style>{STYLE}</style>'
        f"<h1>{text(title)}</h1>{body}</body></html>\n"
    )


def rows(head: Sequence[str], body: Iterable[Sequence[str]], numbers: Iterable[int] = ()) -> str:
    """A table of cells that are HTML already; those of the columns `numbers` are aligned on the right."""
    right = set(numbers)
    lines = [f"<tr>{''.join(f'<th>{text(cell)}</th>' for cell in head)}</tr>"]
    for row in body:
        cells = [f'<td class="n">{c}</td>' if k in right else f"<td>{c}</td>" for k, c in enumerate(row)]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"
