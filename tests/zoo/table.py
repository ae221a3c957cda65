"""Prints the table of the zoo, or writes it into docs/zoo.md.

python -m tests.zoo.table                # all models
python -m tests.zoo.table lenet vae      # these, and how far each placement lies from its recording
python -m tests.zoo.table --write        # all, into the page
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.zoo import kept, placements, programs
from tests.zoo.tier_reasons import STAYS

PROJECT = Path(__file__).resolve().parents[2]
PAGE = PROJECT / "docs" / "zoo.md"
HEAD = "| model | op types | instructions | compiled | on NumPy |\n|--|--|--|--|--|\n"


def row(name: str) -> str:
    """The line of a model: what it uses, and what becomes of the plans of its step."""
    program = placements.built(name, "one device")
    types = len({op.type for op in program.graph.get_operations()})
    steps = placements.outcome(name, "compiled").steps
    instructions = sum(plan.instructions for plan in steps)
    compiled = sum(plan.compiled for plan in steps)
    others = Counter(kind for plan in steps for kind in plan.on_numpy)
    rest = ", ".join(kind for kind, _ in others.most_common(5)) + (", ..." if len(others) > 5 else "")
    rest = STAYS.get(name, f"{others.total()}: {rest}" if others else "")
    return f"| {name} | {types} | {instructions} | {compiled} | {rest} |\n"


def compare(name: str, target: str) -> None:
    """Prints how far each placement of a model lies from its recording, as a share of what is allowed."""
    expected = kept.load(name)
    for placement in placements.PLACEMENTS:
        began = time.monotonic()
        tier = "always" if placement in ("devices", "cluster") else "never"
        try:
            found = placements.outcome(name, placement, target, tier).found
        except Exception:
            traceback.print_exc()
            continue
        seconds = time.monotonic() - began
        if set(found) == set(expected):
            share, key = max((share, key) for key, share in kept.excesses(expected, found).items())
            print(f"  {placement:9} {seconds:6.2f} s, {share:.3f} of the tolerance ({key})")
        for line in kept.differences(expected, found)[:5]:
            print("   ", line)


def main(arguments: list[str]) -> None:
    logging.getLogger("graphflow").setLevel(logging.WARNING)
    chosen = [name for name in arguments if not name.startswith("--")]
    if chosen:
        with placements.cluster() as target:
            for name in chosen:
                print(row(name), end="")
                compare(name, target)
        return
    table = HEAD + "".join(map(row, programs.names()))
    if "--write" in arguments:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(HEAD)
        after = rest[rest.index("\n\n") + 1 :] if "\n\n" in rest else ""
        PAGE.write_text(before + table + after, encoding="utf-8")
    else:
        print(table, end="")


if __name__ == "__main__":
    main(sys.argv[1:])
