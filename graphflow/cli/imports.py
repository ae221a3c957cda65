"""The option --import: modules of extensions for a process in which no program of the user's imports them."""

from __future__ import annotations

import argparse

from graphflow._core.common.extensions import import_extensions, load_extensions
from graphflow.cli.main import UsageError


def add_imports(parser: argparse.ArgumentParser) -> None:
    """Adds --import MODULE, which may be given several times, to a subcommand that needs ops of extensions."""
    parser.add_argument(
        "--import", metavar="MODULE", dest="imports", action="append", default=[],
        help="import this module first, an extension that defines ops; may be given several times",
    )  # fmt: skip


def import_words(arguments: argparse.Namespace) -> list[str]:
    """The same options as words of a command line, for another process."""
    return [word for module in arguments.imports for word in ("--import", module)]


def load(arguments: argparse.Namespace) -> None:
    """Imports the extensions that are installed, then the modules that --import names; UsageError if one fails."""
    load_extensions()
    try:
        import_extensions(arguments.imports)
    except ImportError as error:
        raise UsageError(f"--import: {error}") from error
