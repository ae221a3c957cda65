"""Runs programs for as long as is asked: python -m tests.generated_models --seconds 3600 --first-seed N.

Each program is compared with loop nests interpreted, one in `--compiled-every` with all of it compiled, one in three
on two devices, and one in `--cluster-every` on a cluster. A failure shows its seed, where the values part, and the
smallest program that still fails; the last is written as a program that runs by itself if there is a folder for it.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

from .comparison import Reference, Report, where_it_parts
from .generating import generate
from .program import Program
from .shrinking import shrink


def ways_of(seed: int, compiled_every: int, cluster_every: int) -> list[str]:
    """How the program of a seed is run."""
    ways = ["compiled" if compiled_every and seed % compiled_every == 0 else "interpreted"]
    if seed % 3 == 1:
        ways.append("devices")
    if cluster_every and seed % cluster_every == 2:
        ways.append("cluster")
    return ways


def fails_as(report: Report) -> object:
    """Whether a program fails in the same way."""

    def fails(program: Program) -> bool:
        found = Reference(program).report(report.way)
        if report.fault != found.fault:
            return False
        reasons = [{kind(text) for text in r.stayed} for r in (report, found)]
        return report.fault == "numbers" or bool(reasons[0] & reasons[1])

    return fails


def kind(reason: str) -> str:
    """A reason without the names in it."""
    return " ".join("NAME" if any(c in word for c in "/:'\"0123456789") else word for word in reason.split())


def main() -> int:
    """Exit status 1 if any program failed."""
    options = _options()
    began, counts, failures, kinds = time.monotonic(), Counter[str](), 0, Counter[str]()
    seed = options.first_seed
    said = began
    while time.monotonic() - began < options.seconds and counts["programs"] < options.programs:
        for report, program in _tried(seed, options, counts):
            name = report.fault if report.differences else kind(report.stayed[0])
            kinds[name] += 1
            failures += 1
            print(f"\nseed {seed}, {report.way}: {report.fault}")
            for line in (*report.differences[:6], *report.stayed):
                print(f"  {line}")
            if report.differences:
                print(f"  {where_it_parts(program, report.way)}")
            if options.shrink and kinds[name] <= options.most_shrunk:
                small = shrink(program, fails_as(report), options.shrink)
                print(small.text())
                if report.differences:
                    print(f"  {where_it_parts(small, report.way)}")
                if options.folder:
                    path = Path(options.folder) / f"program_{seed}_{report.way}.py"
                    path.write_text(small.script(), "utf-8")
                    print(f"  written to {path}")
            sys.stdout.flush()
        seed += 1
        if time.monotonic() - said > options.every:
            said = time.monotonic()
            rate = counts["programs"] / (said - began) * 60
            print(
                f"{counts['programs']} programs to seed {seed - 1}, {rate:.0f} a minute, {failures} failures, "
                f"{counts['not built']} not built, {counts['compiled']} ran compiled, ways: "
                f"{ {w: n for w, n in counts.items() if w in ('interpreted', 'compiled way', 'devices', 'cluster')} }",
                flush=True,
            )
    print(
        f"{counts['programs']} programs from seed {options.first_seed} to {seed - 1}; {dict(counts)}; "
        f"faults: {dict(kinds)}"
    )
    return 1 if failures else 0


def _tried(seed: int, options: argparse.Namespace, counts: Counter[str]) -> list[tuple[Report, Program]]:
    """The reports of a seed that tell of a fault."""
    program = generate(seed)
    counts["programs"] += 1
    try:
        reference = Reference(program)
    except Exception as error:
        counts["not built"] += 1
        print(f"\nseed {seed} is not built: {type(error).__name__}: {str(error)[:300]}")
        if options.verbose:
            traceback.print_exc(limit=-4)
        return []
    failed = []
    for way in options.ways or ways_of(seed, options.compiled_every, options.cluster_every):
        counts["compiled way" if way == "compiled" else way] += 1
        try:
            report = reference.report(way)
        except Exception as error:
            print(f"\nseed {seed}, {way}: {type(error).__name__}: {str(error)[:600]}")
            traceback.print_exc(limit=-4)
            counts["errors"] += 1
            continue
        counts["compiled"] += report.compiled > 0
        if report.failed:
            failed.append((report, program))
    return failed


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.generated_models", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=10**9)
    parser.add_argument("--ways", nargs="*", help="run every program in these ways")
    parser.add_argument("--compiled-every", type=int, default=10)
    parser.add_argument("--cluster-every", type=int, default=25)
    parser.add_argument("--shrink", type=float, default=120.0, help="seconds for each failure; 0: not at all")
    parser.add_argument("--most-shrunk", type=int, default=3, help="failures of one kind that are shrunk")
    parser.add_argument("--folder", default="", help="where the smallest programs are written")
    parser.add_argument("--every", type=float, default=30.0, help="seconds between progress lines")
    parser.add_argument("--verbose", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
