"""The graphflow command: one module a subcommand, each of which adds its own parser.

A subcommand's module has add_parser(subparsers), which sets `run`, a function of the parsed arguments that returns the
exit status. What a user did wrong is one line on stderr and status 2, never a traceback.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from graphflow.cli.tables import tell

_COMMANDS: Final[tuple[str, ...]] = (
    "launch",
    "serve",
    "status",
    "keygen",
    "checkpoint",
    "saved_model",
    "devices",
    "ops",
    "replay",
    "plan",
)


class UsageError(Exception):
    """The user asked for something that cannot be; the text says why and what to do."""

    status = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments, by default those of the process; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="graphflow", description="Starts and watches clusters, and shows what is on disk."
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        import_module(f"graphflow.cli.{command}").add_parser(subparsers)
    parsed = parser.parse_args(arguments)
    try:
        status: int = parsed.run(parsed)
        sys.stdout.flush()
        return status
    except UsageError as error:
        # What it quotes of a file cannot begin a line.
        tell("\n  ".join(f"graphflow: {error}".splitlines()), sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # The reader, such as `head`, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
