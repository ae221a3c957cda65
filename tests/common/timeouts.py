"""Reads what the modules of times in graphflow/_core/common say, and writes docs/timeouts.md from it.

python -m tests.common.timeouts --write
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from graphflow._core.cluster.elastic import group_timeouts
from graphflow._core.common import compile_timeouts, timeouts
from graphflow._core.common.files import file_timeouts
from graphflow._core.common.waiting import wait_timeouts

PROJECT = Path(__file__).parents[2]
MODULES: tuple[ModuleType, ...] = (timeouts, wait_timeouts, group_timeouts, file_timeouts, compile_timeouts)
PAGE = PROJECT / "docs" / "timeouts.md"
_TITLE = re.compile(r"# ---- (.*?) -+")
_HEAD = """\
# Times

After these times something happens by itself: a wait ends, a peer counts as lost, memory is freed. They stand in
`timeouts.py` and `compile_timeouts.py` in `graphflow/_core/common`, in
`graphflow/_core/cluster/elastic/group_timeouts.py`, `graphflow/_core/common/files/file_timeouts.py` and
`graphflow/_core/common/waiting/wait_timeouts.py`, from which this page is written
(`python -m tests.common.timeouts --write`). The last column names the test that fails, or does
not come to its end, if the number is quite another one, or that sets it to a shorter one and sees that what it is for
comes about. What a program can set, such as `connect_timeout_in_ms`, is in `gf.ConfigProto` and `gf.RunOptions`; a
time here is then what holds if nothing is set.
[What happens when something breaks](faults.md) shows what the times of connections and clusters come to.
"""


@dataclass(frozen=True)
class Timeout:
    """A constant: `subject` is the heading that it stands under, `guard` is FILE::TEST."""

    name: str
    subject: str
    value: float
    reason: str
    guard: str

    @property
    def readable(self) -> str:
        """The value with its unit, in at most three digits where that is no loss."""
        seconds = self.value / 1000 if self.name.endswith("_MS") else self.value
        for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if seconds >= size and (size <= 1 or seconds / size == round(seconds / size)):
                return f"{seconds / size:g} {unit}"
        raise ValueError(f"{self.name} is {self.value}")


def read() -> list[Timeout]:
    """All times, in the order of the modules; ValueError for one without a reason or a test."""
    return [timeout for module in MODULES for timeout in _read(module)]


def _read(module: ModuleType) -> list[Timeout]:
    path = Path(module.__file__ or "")
    text = path.read_text("utf-8")
    lines, body = text.splitlines(), ast.parse(text).body
    found = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign):
            continue
        assert isinstance(node.target, ast.Name)
        name = node.target.id
        note = (
            after.value.value
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            else None
        )
        parts = re.fullmatch(r"(.+)\n\nGuard: (\S+\.py)\s*(::\w+)\s*", note or "", re.DOTALL)
        if parts is None:
            raise ValueError(f"{path}: say below {name} why it is so, and its test: Guard: FILE::TEST.")
        subject = next(m[1] for line in reversed(lines[: node.lineno]) if (m := _TITLE.match(line)))
        reason = " ".join(parts[1].split())
        found.append(Timeout(name, subject, getattr(module, name), reason, f"{parts[2]}{parts[3]}"))
    return found


def page() -> str:
    """The text of docs/timeouts.md."""
    found = read()
    text = _HEAD
    for subject in dict.fromkeys(timeout.subject for timeout in found):
        text += f"\n## {subject[0].upper()}{subject[1:]}\n\n| time | | why | test |\n|--|--|--|--|\n"
        for t in found:
            if t.subject == subject:
                text += f"| `{t.name}` | {t.readable} | {t.reason} | `{t.guard}` |\n"
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), "utf-8")
    else:
        print(page(), end="")
