"""What traced steps show, as data: a row for each piece or operation, and what goes between devices and tasks."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from graphflow._core.common.records import dataclass
from graphflow._core.common.shown.tables import readable_size, table
from graphflow.config import NodeStats, StepStats

_TRANSFERS = ("Send", "Recv")
_LONGEST_CELL = 60


@dataclass(frozen=True)
class Row:
    """A piece of compiled code, or an operation on NumPy: its median time over the steps, and the bytes of one step.

    kind, op, operations, reason: as in NodeStats. For an operation on NumPy `operations` has its own name.
    """

    device: str
    kind: str
    op: str
    operations: tuple[str, ...]
    microseconds: float
    read: int
    written: int
    reason: str


@dataclass(frozen=True)
class Transfer:
    """What a step sends from one task, or device, to another."""

    source: str
    target: str
    values: int
    bytes: int


@dataclass(frozen=True)
class PlanProfile:
    """How one plan runs.

    name: what it is run for. steps: the traced steps. arenas: the bytes of memory of each compiled plan in this
    process. notes: what else there is to say, such as why it stays on NumPy. runs, seconds: how often the program has
    run it, and for how long in all; 0 if nobody counted.
    """

    name: str
    steps: Sequence[StepStats]
    arenas: Sequence[int] = ()
    notes: Sequence[str] = ()
    runs: int = 0
    seconds: float = 0.0

    def rows(self) -> list[Row]:
        """What computes, in the order of the last step; times are medians over the steps that did the same."""
        times: dict[tuple[str, str, str, int], list[float]] = {}
        for step in self.steps:
            counts: dict[tuple[str, str, str], int] = {}
            for node in _computing(step):
                key = node.device, node.node_name, node.op
                counts[key] = counts.get(key, 0) + 1
                times.setdefault((*key, counts[key]), []).append(node.duration_us)
        found, seen = [], dict[tuple[str, str, str], int]()
        for node in _computing(self.steps[-1]) if self.steps else ():
            key = node.device, node.node_name, node.op
            seen[key] = seen.get(key, 0) + 1
            found.append(
                Row(
                    node.device,
                    node.kind,
                    node.op,
                    node.operations or (node.node_name,),
                    statistics.median(times[(*key, seen[key])]),
                    node.read_bytes,
                    node.written_bytes,
                    node.reason,
                )
            )
        return found

    def transfers(self) -> list[Transfer]:
        """What goes from task to task in a step, from device to device if there is one task."""
        if not self.steps:
            return []
        sent = [node for node in self.steps[-1].nodes() if node.op == "Send"]
        ends = [
            (node.device, node.node_name.rpartition("->")[2].removesuffix("/send"), node) for node in sent
        ]
        tasks = {_task(end) for source, target, _ in ends for end in (source, target)}
        shown = _task if len(tasks) > 1 else str
        found: dict[tuple[str, str], tuple[int, int]] = {}
        for source, target, node in ends:
            key = shown(source), shown(target)
            values, size = found.get(key, (0, 0))
            found[key] = values + 1, size + sum(out.bytes for out in node.outputs)
        return [Transfer(*key, *told) for key, told in sorted(found.items()) if key[0] != key[1]]

    def headline(self) -> str:
        """A sentence: how much of it is compiled, and how long a step computes."""
        rows = self.rows()
        native = [row for row in rows if row.kind != "numpy"]
        total = sum(row.microseconds for row in rows)
        on_numpy = sum(row.microseconds for row in rows if row.kind == "numpy")
        if not rows:
            return "nothing computed in a step that was traced" if self.steps else "no step was traced"
        if not native:
            return f"on NumPy: {len(rows)} operations, {total:.1f} us"
        share = f"{on_numpy / total:.0%}" if total else "nothing"
        left = len(rows) - len(native)
        return f"compiled: {len(native)} pieces; NumPy computes {left}, {share} of {total:.1f} us"

    def text(self) -> str:
        """All of it, for people."""
        rows = self.rows()
        total = sum(row.microseconds for row in rows) or 1.0
        lines = [f"{self.name}: {self.headline()}"]
        if self.runs:
            lines.append(
                f"runs: {self.runs} in {self.seconds:.3g} s, {self.seconds / self.runs * 1e6:.0f} us each"
            )
        cells = [("US", "SHARE", "READ", "WRITTEN", "WHAT", "OPERATIONS")]
        for row in rows:
            cells.append(
                (
                    f"{row.microseconds:.1f}",
                    f"{row.microseconds / total:.0%}",
                    readable_size(row.read) if row.read else "",
                    readable_size(row.written) if row.written else "",
                    shortened(f"{row.kind} {row.op}"),
                    shortened(", ".join(row.operations)),
                )
            )
        if rows:
            lines.append(table(cells, "  ", right={0, 1, 2, 3}))
        told = [f"  on NumPy: {row.op} {row.operations[0]}: {row.reason}" for row in rows if row.reason]
        lines += dict.fromkeys(told)  # A loop computes one operation several times.
        lines += [f"  {note}" for note in self.notes]
        lines += [f"  arena of {readable_size(size)}" for size in self.arenas]
        for one in self.transfers():
            values = "1 value" if one.values == 1 else f"{one.values} values"
            lines.append(f"  {one.source} -> {one.target}: {values}, {readable_size(one.bytes)}")
        return "\n".join(lines)


def shortened(text: str) -> str:
    """A text of at most some sixty characters."""
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 3]}..."


def _computing(step: StepStats) -> list[NodeStats]:
    return [node for node in step.nodes() if node.op not in _TRANSFERS]


def _task(device: str) -> str:
    return device.partition("/device:")[0]
