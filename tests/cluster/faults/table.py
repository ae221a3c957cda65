"""Runs the whole matrix and writes docs/faults.md: `make faults`, or python -m tests.cluster.faults.table [FILTER ...].

With words, only the cells that they all name are run, and nothing is written. Cells are mostly waiting,
so some run at the same time, each in a process of its own.
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
        (_ROOT / "docs" / "faults.md").write_text(page(found, seconds))
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

## Long training, and a million frames

`make soak` trains for ten minutes on two parameter servers and four workers, one of which the chief, and kills one of
the six at random every ten seconds; a client that is never killed trains along. A process that takes no step for half a
minute ends it, and so does one that holds more threads, sockets, files or memory at its end than when it had settled.
Its last run, on two cores that had the project's tests to run beside it: 60 kills (23 of parameter servers, 6 of the
chief), 49,257 steps acknowledged, 92 recoveries, 582 updates lost with parameter servers, none applied twice, the
longest pause 3.6 s. Processes that lived through many recoveries held at most 4 sockets, 1 file of shared memory and
3 MB more than before, and nothing was left at the end.

`tests/cluster/test_fuzz.py --everything` sends a million generated frames to a task, from strangers, clients and other
tasks, and a hundred thousand more over TCP: no code of strangers was run, and the task serves afterwards.

## What a program sees

* A step that needs a task that is gone raises `UnavailableError` naming the task and its address; a task that was
  started again and lost its variables, `AbortedError`. `MonitoredSession` takes both as the reason to make the session
  anew: it waits for the tasks it needs, the chief restores the newest checkpoint where variables were lost and goes on
  with them where they are all there, the others wait for the chief. Each recovery is logged with the steps before and
  after, and listed in `MonitoredSession.recoveries`.
* A bare `Session` raises and leaves the rest to the program.
* A task that has finished is not missed: sessions wait only for tasks that were not there yet, or that their graph
  uses.
* The chief's first checkpoint is written as it begins. Where it is killed between initializing and that, it goes on
  with the variables that are there: the file `initialized` in the folder of the checkpoints says that they are its own.
* Where the disk is full, saving raises `ResourceExhaustedError` naming the file; the checkpoints before are whole. A
  program that does not catch it ends; started again, it goes on with the variables that the parameter server has.
"""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
