"""graphflow check: which names of TensorFlow's a program uses that are not here, without running it."""

from __future__ import annotations

import argparse
import os
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from graphflow._core.common.shown.tables import table
from graphflow._core.common.shown.terminal import tell
from graphflow.as_tensorflow.check import Finding, Report, read_program
from graphflow.cli.main import UsageError

_EPILOG: Final = """\
examples:
  graphflow check train.py
  graphflow check models/ scripts/train.py --lines 10

The exit status is 0 if all is there, 1 if something is not, 2 if there is nothing to read.
"""
_LINES: Final = 3
_NO_PROGRAMS: Final = frozenset({"__pycache__", "node_modules", "site-packages"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = (
        "Reads programs of TensorFlow 1's, without running them, and lists what they use that graphflow does not have: "
        "how often, at which lines, and what to use instead."
    )
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("places", nargs="+", metavar="PLACE", help="a Python file, or a folder of them")
    parser.add_argument(
        "--lines", type=int, default=_LINES, help="how many lines are named of each (default: %(default)s)"
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Reads all files and prints what is missing; the exit status is 1 if anything is."""
    files = [file for place in arguments.places for file in _files(place)]
    if not files:
        raise UsageError(f"There is no Python file in {', '.join(arguments.places)}.")
    beside = frozenset(_modules_beside(files, arguments.places))
    reports = [_read(file, beside) for file in files]
    findings = [finding for report in reports for finding in report.findings]
    packages = [finding for report in reports for finding in report.packages]
    uses, count = sum(report.uses for report in reports), len({finding.what for finding in findings})
    read = f"{len(files)} file{'s' * (len(files) != 1)}, {uses} uses of TensorFlow's names"
    if findings:
        tell(_shown(findings, "missing", arguments.lines))
        tell()
    if packages:
        tell(_shown(packages, "package", arguments.lines))
        tell()
    tell(f"{read}: {f'{count} of them missing' if findings else 'all are there'}.")
    return 1 if findings else 0


def _files(place: str) -> Iterator[Path]:
    """The Python files of a place, in order; not those of hidden folders and of environments."""
    if not os.path.exists(place):
        raise UsageError(f"There is no {place}.")
    if not os.path.isdir(place):
        yield Path(place)
        return
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in _NO_PROGRAMS
            and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        )
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(".py"))


def _modules_beside(files: Iterable[Path], places: Iterable[str]) -> Iterator[str]:
    """The names under which the programs' own files may be imported."""
    for file in files:
        yield file.stem
        yield from file.parts[:-1]
    for place in places:
        folder = Path(place).resolve()
        folder = folder if folder.is_dir() else folder.parent
        yield from folder.parts
        for other in folder.iterdir():
            if other.suffix == ".py" or other.is_dir():
                yield other.stem


def _read(file: Path, beside: frozenset[str]) -> Report:
    try:
        with tokenize.open(file) as opened:
            text = opened.read()
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        return Report(0, [Finding(str(file), 1, "file", f"it cannot be read: {error}")], [])
    return read_program(text, str(file), beside)


def _shown(findings: Sequence[Finding], head: str, lines: int) -> str:
    """A table: what is missing most often comes first."""
    uses: dict[str, list[Finding]] = {}
    for finding in findings:
        uses.setdefault(finding.what, []).append(finding)
    rows = [(head, "uses", "where", "instead")]
    for what, found in sorted(uses.items(), key=lambda item: (-len(item[1]), item[0])):
        where = [f"{one.file}:{one.line}" for one in found[:lines]]
        where += ["..."] if len(found) > lines else []
        rows.append((what, str(len(found)), " ".join(where), found[0].advice))
    return table(rows, right=(1,))
