"""graphflow profile: a program as `graphflow run` runs it, and then where the time of its steps went.

Each plan of its sessions is counted; some of its runs are traced, which changes no bit of them.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Final

from graphflow._core.common.shown.terminal import tell
from graphflow._core.session import WATCHERS
from graphflow.cli.main import UsageError
from graphflow.cli.run import run_program
from graphflow.debugging.profiling import WatchedPlans, save_page

_EPILOG: Final = """\
examples:
  graphflow profile train.py --steps 1000
  graphflow profile --html step.html -m package.train

The page is one file without scripts, which needs no network. Of the plans of the program's sessions those are shown
that took most of the time; the second run of each is traced, the 16th, and then one after four times as many each time,
of which the last is shown. Programs that the program starts itself are not seen.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = "Runs a program as `graphflow run` does, and shows where the time of its steps went."
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.usage = "graphflow profile [--html FILE] [--plans N] [-m] PROGRAM [arguments ...]"
    parser.add_argument(
        "--html", default="profile.html", metavar="FILE", help="the page (default: profile.html)"
    )
    parser.add_argument(
        "--plans", type=int, default=5, metavar="N", help="how many plans are shown (default: 5)"
    )
    parser.add_argument("-m", action="store_true", dest="as_module", help="PROGRAM is the name of a module")
    parser.add_argument(
        "program", metavar="PROGRAM", help="a Python file, or a folder or archive with __main__.py"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(run=run, py2=False)


def run(arguments: argparse.Namespace) -> int:
    """Runs the program, also if it ends with an error shows what was seen, and returns its exit status."""
    if arguments.plans < 1:
        raise UsageError(f"--plans is {arguments.plans}: at least one is shown.")
    page = os.path.abspath(arguments.html)  # The program may change the folder.
    if not os.path.isdir(os.path.dirname(page)):
        raise UsageError(f"There is no folder {os.path.dirname(page)} for the page.")
    plans = WatchedPlans()
    WATCHERS.append(plans.watch)
    try:
        return run_program(arguments)
    finally:
        WATCHERS.remove(plans.watch)
        sys.stdout.flush()
        found = plans.profiles(arguments.plans)
        for one in found:
            tell(one.text() + "\n")
        if found:
            save_page(page, f"Profile of {arguments.program}", found)
            tell(f"The page is {page}.")
        else:
            tell("The program has run nothing in a session.")
