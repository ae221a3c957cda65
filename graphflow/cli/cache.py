"""graphflow cache: which compiled kernels are kept, how to be rid of them, how to have them before they are needed."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from graphflow._core.codegen import shared
from graphflow._core.codegen.cpu.cache import KernelCache
from graphflow._core.codegen.cpu.service.link import look
from graphflow._core.codegen.generic import generic_sources
from graphflow._core.common.compile_timeouts import WARM_END_SECONDS, WARM_LOOK_SECONDS
from graphflow._core.common.shown.tables import readable_size
from graphflow._core.common.shown.terminal import tell
from graphflow._core.runtime.compiled.due import WARMING
from graphflow.cli.main import UsageError

_WARM_EPILOG: Final = """\
examples:
  graphflow cache warm
  graphflow cache warm train.py --steps 100
  graphflow cache warm --seconds 60 graphflow launch --ps 1 --workers 2 train.py

A plan asks for its kernels in its fourth run, for the sizes that are fed to it: let the program make a few steps with
those of the real one. Without PROGRAM, those kernels are made that are made for no plan, some eighty of them: with
these a program that this machine has never seen runs as native code while its own are compiled.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = "Shows, clears and fills the cache of compiled kernels."
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    info = commands.add_parser(
        "info",
        help="show what is kept",
        description="Says where kernels are kept, how many, and what the compile server does.",
    )
    info.set_defaults(run=_info)
    clear = commands.add_parser(
        "clear",
        help="remove what is kept",
        description="Removes all kernels, of every version of graphflow. Programs that run are not disturbed.",
    )
    clear.set_defaults(run=_clear)
    warm = commands.add_parser(
        "warm",
        help="run a program and wait for its kernels",
        description="Runs a program, and waits until all kernels that it has asked for are made.",
        epilog=_WARM_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="graphflow cache warm [options] [PROGRAM [arguments ...]]",
    )
    warm.add_argument(
        "--seconds", type=float, metavar="N", help="end the program, or the waiting, after N seconds"
    )
    warm.add_argument("program", nargs="?", metavar="PROGRAM", help="a Python file, or a command")
    warm.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    warm.set_defaults(run=_warm)


def _entries(folder: Path) -> list[Path]:
    """The folders that kernels lie in: each has the first two digits of their names."""
    digits = "[0-9a-f]"
    return [path for path in folder.glob(digits * 2) if path.is_dir() and not path.is_symlink()]


def _kernels(folder: Path) -> list[int]:
    """The sizes of the kernels that are kept, of processors and of GPUs."""
    sizes = []
    for path in (path for entry in _entries(folder) for path in entry.iterdir()):
        with suppress(OSError):
            if path.suffix != ".tmp":
                sizes.append(path.stat().st_size)
    return sizes


def _info(arguments: argparse.Namespace) -> int:
    cache = KernelCache()
    sizes, server = _kernels(cache.directory), look(cache)
    tell(f"folder: {cache.directory}{'' if cache.home.lasting else ' (of this process alone)'}")
    tell(f"kernels: {len(sizes)}, {readable_size(sum(sizes))}")
    if server is None:
        tell("compile server: none runs")
    else:
        tell(f"compile server: process {server[0]}, {server[1]} kernels to make")
    return 0


def _clear(arguments: argparse.Namespace) -> int:
    folder = KernelCache().directory
    count = len(_kernels(folder))
    for entry in _entries(folder):
        shutil.rmtree(entry, ignore_errors=True)
    left = len(_kernels(folder))
    tell(f"{count - left} kernels removed from {folder}")
    return 1 if left else 0


def _warm(arguments: argparse.Namespace) -> int:
    cache = KernelCache()
    if not cache.home.lasting:
        raise UsageError("There is no folder in which kernels could be kept; the log says why.")
    if arguments.seconds is not None and not arguments.seconds > 0:
        raise UsageError(f"--seconds is {arguments.seconds}; it must be positive.")
    before = len(_kernels(cache.directory))
    status = 0
    if arguments.program is None:
        _make_generic(arguments.seconds)
    else:
        status = _run(arguments.program, arguments.arguments, arguments.seconds)
        while (server := look(cache)) is not None and server[1]:
            time.sleep(WARM_LOOK_SECONDS)
    tell(f"{max(0, len(_kernels(cache.directory)) - before)} kernels made")
    return status


def _make_generic(seconds: float | None) -> None:
    """Has the kernels made that are made for no plan, and waits for them, so long at most."""
    made = shared.compiler().compile_many(generic_sources())
    end = time.monotonic() + (seconds or float("inf"))
    while not all(kernel.done() for kernel in made) and time.monotonic() < end:
        time.sleep(WARM_LOOK_SECONDS)  # The compiler has a deadline for each.


def _run(program: str, arguments: list[str], seconds: float | None) -> int:
    """Runs a program to its end, or for so long; its exit status, 0 if it was ended."""
    command = [sys.executable, program, *arguments] if program.endswith(".py") else [program, *arguments]
    try:
        process = subprocess.Popen(command, env={**os.environ, WARMING: "1"})
    except OSError as error:
        raise UsageError(f"{program} cannot be run: {error}") from error
    try:
        status = process.wait(seconds)
        return status if status >= 0 else 128 - status
    except subprocess.TimeoutExpired:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(WARM_END_SECONDS)
        return 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
