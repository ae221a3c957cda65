"""Runs the whole matrix and writes docs/faults.md: `make faults`, or python -m tests.cluster.faults.table [FILTER ...].

What follows the table there, from `_KEPT` on, is written by hand and kept. With words, only the cells that they all
name are run, and nothing is written. Cells are mostly waiting, so some run at the same time, each in its own process.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

from tests.cluster.faults import cells
from tests.cluster.faults.cells import MOMENTS, ROWS

_AT_ONCE: Final = 3
_ROOT: Final = Path(__file__).parents[3]
_KEPT: Final = "## What tests of their own make happen\n"
_NAMES: Final = {"rename": "within a save"}
Cell = tuple[str, str, str]


def all_cells() -> list[Cell]:
    """Every fault, victim and moment."""
    return [(fault, victim, moment) for fault, victim in ROWS for moment in MOMENTS]


def outcome(cell: Cell) -> cells.Outcome | str:
    """What happened in a cell, or the story of its failure."""
    try:
        return cells.run(*cell)
    except Exception:
        return f"FAILED\n{traceback.format_exc()}"


def main(words: list[str]) -> int:
    """Runs the cells; 1 where one of them failed."""
    wanted = [cell for cell in all_cells() if all(word in " ".join(cell) for word in words)]
    begun = time.monotonic()
    found: dict[Cell, cells.Outcome] = {}
    failed = 0
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_AT_ONCE, spawned) as pool:
        for cell, result in zip(wanted, pool.map(outcome, wanted), strict=True):
            if isinstance(result, str):
                failed += 1
            else:
                found[cell] = result
            print(*cell, ":", result if isinstance(result, str) else result.text(), flush=True)
    seconds = time.monotonic() - begun
    print(f"{len(wanted)} cells in {seconds:.0f} s, {failed} failed")
    if not words and not failed:
        path = _ROOT / "docs" / "faults.md"
        _, heading, kept = path.read_text().partition(_KEPT)
        path.write_text(page(found, seconds) + heading + kept)
    return bool(failed)


def page(found: dict[Cell, cells.Outcome], seconds: float) -> str:
    """docs/faults.md."""
    lines = [f"| fault | {' | '.join(_NAMES.get(m, m) for m in MOMENTS)} |", "|--" * (1 + len(MOMENTS)) + "|"]
    for fault, victim in ROWS:
        texts = [found[fault, victim, moment].text() for moment in MOMENTS]
        lines.append(f"| {_row(fault, victim)} | " + " | ".join(texts) + " |")
    outcomes = list(found.values())
    lost = {cell: o.lost for cell, o in found.items() if o.lost}
    return _PAGE.format(
        table="\n".join(lines),
        cells=len(outcomes),
        minutes=round(seconds / 60),
        cores=os.cpu_count(),
        load=round(os.getloadavg()[2]),
        network=next(o.network for o in outcomes if o.network),
        noticed=f"{max(o.noticed or 0.0 for o in outcomes):.1f}",
        resumed=f"{max(o.resumed or 0.0 for o in outcomes):.1f}",
        lost=sum(lost.values()),
        lossy=len(lost),
        frames=sum(o.sent for o in outcomes),
    )


def _row(fault: str, victim: str) -> str:
    if fault in cells.LINKS:
        where = "all links" if victim == "all" else f"the links of {victim}"
        return f"{fault} of {where}"
    if fault.endswith("frames"):
        return f"{fault} to {victim}"
    return f"{fault} of {victim}"


_PAGE: Final = """# What happens when something breaks

This page is written by `make faults`, which makes every one of these faults happen to real processes: a parameter
server, a chief and a worker that train between-graph with `MonitoredTrainingSession`, checkpoints every five steps, and
a client with a bare session. The last run had {cells} cells in {minutes} minutes, three at a time, on {cores} cores at
a load of {load}.

| fault | what is done |
|--|--|
| SIGKILL, SIGTERM | the process is started again half a second after its end |
| SIGSTOP | SIGCONT after 7 s; beyond the lease: after 20 s, when the server has freed all that was the client's |
| cut | no packet to or from the host for 7 s; one-way: none from it; short: 0.7 s |
| delay | each packet takes 0.1 to 0.2 s longer, for 7 s |
| loss | each tenth packet is lost, for 7 s |
| garbage frames | random bytes for 1.5 s, as messages and as connections |
| truncated frames | recorded messages, cut off somewhere, from a client that has the token |
| oversized frames | those that are too large for a stranger, or say that they are larger than anything |
| replayed frames | the messages of a session that is still open, again, from a client that has the token |
| full disk | no byte is left where the checkpoints are, for 1 s |

Links in this run: {network}. A process stops by itself at the moment of the column, and the fault is made there: while
it connects; after initializing, before the first checkpoint; within a step; before a checkpoint is written; within a
save, when the temporary file is written and has not got its name; before a checkpoint is restored; after the last step,
before the last checkpoint.

Each gradient has a tag of its own, so that the lab can tell what was applied: in no cell was one applied twice. After
each cell the lab looks for what is left: processes, temporary files, shared memory, listening sockets, and threads,
sockets and files of the processes to which nothing happened, beyond what they have where nothing breaks. There was
nothing.

"noticed": from the fault to the first word of another process about it, at most {noticed} s. "goes on": from the
restart, SIGCONT or the mended link to the first step of the last process that trains again, at most {resumed} s.
"lost": updates that were acknowledged, and are not in the last checkpoint: {lost} in {lossy} cells. Those are where the
parameter server itself was killed (as it is, too, before the client restores). {frames} frames that nobody should have
sent disturbed nobody.

{table}

"""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
