"""Runs the whole matrix and writes docs/faults.md: `make faults`, or python -m tests.cluster.faults.table [FILTER ...].

With words, only the cells that they all name are run, and nothing is written. Cells are mostly waiting,
so some run at the same time, each in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.cluster.faults.cells import FAULTS, MOMENTS, VICTIMS

_AT_ONCE: Final = 3
_ROOT: Final = Path(__file__).parents[3]


def cells() -> list[tuple[str, str, str]]:
    """Every fault, victim and moment."""
    return [(fault, victim, moment) for fault in FAULTS for victim in VICTIMS for moment in MOMENTS]


def outcome(cell: tuple[str, str, str]) -> str:
    """The text of a cell, or the story of its failure."""
    command = [sys.executable, "-m", "tests.cluster.faults.cells", *cell]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=200, check=False)
    return done.stdout.strip() if done.returncode == 0 else f"FAILED\n{done.stdout}{done.stderr}"


def main(words: list[str]) -> int:
    """Runs the cells; 1 where one of them failed."""
    wanted = [cell for cell in cells() if all(word in cell for word in words)]
    begun = time.monotonic()
    found: dict[tuple[str, str, str], str] = {}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for cell, text in zip(wanted, pool.map(outcome, wanted), strict=True):
            found[cell] = text
            print(*cell, ":", text, flush=True)
    failed = [cell for cell, text in found.items() if text.startswith("FAILED")]
    print(f"{len(found)} cells in {time.monotonic() - begun:.0f} s, {len(failed)} failed")
    if not words:
        (_ROOT / "docs" / "faults.md").write_text(page(found))
    return bool(failed)


def page(found: dict[tuple[str, str, str], str]) -> str:
    """docs/faults.md."""
    head = "| fault | " + " | ".join(MOMENTS) + " |"
    lines = [head, "|--" * (1 + len(MOMENTS)) + "|"]
    for fault in FAULTS:
        for victim in VICTIMS:
            texts = [found[fault, victim, moment].split("\n")[0] for moment in MOMENTS]
            lines.append(f"| {fault} of {victim} | " + " | ".join(texts) + " |")
    return _PAGE.format(table="\n".join(lines))


_PAGE: Final = """# What happens when a process dies or stops

This page is written by `make faults`, which makes every one of these faults happen to real processes: a parameter
server, a chief and a worker that train between-graph with `MonitoredTrainingSession`, checkpoints every five steps, and
a client with a bare session. What was killed is started again after half a second; what was stopped by SIGSTOP goes on
after seven seconds. Each gradient has a tag of its own, so that the lab can tell what was applied: in no cell was one
applied twice.

"noticed": from the fault to the first word of another process about it. "goes on": from the restart, or SIGCONT, to the
first step of the last process that trains again. "lost": updates that were acknowledged, and are not in the last
checkpoint. There are some where the parameter server itself was killed (as it is, too, before the client restores), and
where the chief was killed between initializing the variables and its first checkpoint: it initializes them again.

{table}

## What a program sees

* A step that needs a task that is gone raises `UnavailableError` naming the task and its address; a task that was
  started again and lost its variables, `AbortedError`. `MonitoredSession` takes both as the reason to make the session
  anew: it waits for the tasks it needs, the chief restores the newest checkpoint where variables were lost and goes on
  with them where they are all there, the others wait for the chief. Each recovery is logged with the steps before and
  after, and listed in `MonitoredSession.recoveries`.
* A bare `Session` raises and leaves the rest to the program.
* A task that has finished is not missed: sessions wait only for tasks that were not there yet, or that their graph
  uses.
* The chief's first checkpoint is written as it begins. Where it is killed before that, it initializes again.
"""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
