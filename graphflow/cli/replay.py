"""graphflow replay: runs a file that was written when compiled code did not agree with NumPy.

Nothing of the file is code: the plan is read as data, and what the user's functions gave is in it.
"""

from __future__ import annotations

import argparse
from typing import Final

from graphflow._core.common.shown.terminal import tell
from graphflow._core.compiler.reasons import StaysOnNumpy
from graphflow._core.runtime.agreement.replaying import replayed
from graphflow._core.runtime.agreement.report import load
from graphflow.cli import imports
from graphflow.cli.main import UsageError

_EPILOG: Final = """\
The exit status is 0 if compiled code agrees with NumPy here and now, 1 if it does not.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = "Runs a plan from a file in both tiers and says where they part."
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("file", metavar="FILE", help="the file that the warning named")
    parser.add_argument("--plan", action="store_true", help="print the plan first")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of compiled code (1)")
    imports.add_imports(parser)
    parser.set_defaults(run=_replay)


def _replay(arguments: argparse.Namespace) -> int:
    imports.load(arguments)
    try:
        recorded = load(arguments.file)
    except (OSError, ValueError) as error:
        raise UsageError(str(error)) from error
    if arguments.plan:
        tell(str(recorded.plan))
    try:
        apart = replayed(recorded, arguments.threads)
    except StaysOnNumpy as reason:
        raise UsageError(f"The plan is not compiled here: {reason}.") from reason
    tell("Compiled code agrees with NumPy." if apart is None else f"Not the same: {apart}.")
    return 0 if apart is None else 1
