"""The graphflow command: one module a subcommand, each of which says what it takes, and is loaded if it is given.

A subcommand's module has add_arguments(parser), which sets `run`, a function of the parsed arguments that returns the
exit status. What a user did wrong is one line on stderr and status 2, never a traceback.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final

from graphflow._core.common.distribution import VERSION
from graphflow._core.common.shown.terminal import tell

_COMMANDS: Final[Mapping[str, str]] = {
    "run": "run a program of TensorFlow 1's as it is",
    "check": "list what a program of TensorFlow 1's uses that is not here, without running it",
    "profile": "run a program, and show where the time of its steps goes",
    "simulate": "tell how fast a program would train on a cluster that is not there",
    "launch": "run a program on a cluster on this machine",
    "serve": "serve one task of a cluster",
    "status": "show the tasks of a cluster: state, sessions, variables, traffic, steps",
    "keygen": "make the key of a cluster",
    "checkpoint": "show what a checkpoint holds",
    "saved-model": "show what a SavedModel holds, or run it",
    "export": "write a model as an ONNX file",
    "cache": "show, clear or fill the cache of compiled kernels",
    "devices": "list the devices of this machine",
    "ops": "list the op types: gradient, kernels, compiled code, names",
    "replay": "run a plan again whose compiled code did not agree with NumPy",
    "plan": "show, compare and run plans that are files",
}
"""The commands and what each does; the module of one is imported when it is given."""


class UsageError(Exception):
    """The user asked for something that cannot be; the text says why and what to do."""

    status = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments, by default those of the process; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="graphflow", description="Runs programs, starts and watches clusters, and shows what is on disk."
    )
    parser.add_argument("--version", action="version", version=f"graphflow {VERSION}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    given = sys.argv[1:] if arguments is None else arguments
    for command, text in _COMMANDS.items():
        subparser = subparsers.add_parser(command, help=text)
        if command in given[:1]:
            import_module(f"graphflow.cli.{command.replace('-', '_')}").add_arguments(subparser)
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
