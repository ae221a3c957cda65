"""graphflow keygen: the key of a cluster whose tasks are on several machines."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from graphflow._core.common.shown.terminal import tell
from graphflow._core.transport import keys
from graphflow.cli.main import UsageError

_EPILOG: Final = """\
example:
  graphflow keygen ~/.graphflow-keys
  scp -rp ~/.graphflow-keys other-machine:
  graphflow serve --keys ~/.graphflow-keys --cluster ... --job ps --task 0

Who has the key can run programs on every machine of the cluster: keep it as you keep your SSH keys.
"""


def add_keys(parser: argparse.ArgumentParser) -> None:
    """Adds --keys, the folder of the cluster's key, to a subcommand that begins or asks a cluster."""
    parser.add_argument(
        "--keys", metavar="FOLDER", default="",
        help=f"the folder of the cluster's key, see `graphflow keygen` (default: from {keys.VARIABLE})",
    )  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = (
        "Makes the key that a cluster beyond one machine needs, in a folder to copy to every machine."
    )
    parser.epilog = _EPILOG
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "folder", metavar="FOLDER", type=Path, help="where the key goes; made if it is missing"
    )
    parser.set_defaults(run=_keygen)


def _keygen(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.folder.expanduser()
    try:
        path = keys.make(folder)
    except FileExistsError:
        raise UsageError(
            f"{folder / keys.FILE} is there already; delete it on every machine to make another."
        ) from None
    except OSError as error:
        raise UsageError(str(error)) from error
    tell(
        f"{path} is the key of your cluster: copy the folder to every machine that takes part, and to no other."
    )
    return 0
