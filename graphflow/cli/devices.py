"""graphflow devices: what a program on this machine can compute with, and why there is no GPU if there is none."""

from __future__ import annotations

import argparse

from graphflow._core.codegen.gpu.discovery import Found, found
from graphflow._core.common.shown.tables import readable_size, table
from graphflow._core.common.shown.terminal import tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = "Lists the devices of this machine."
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the devices."""
    return show(found())


def show(here: Found) -> int:
    """Prints what was found: a line a device, and one that says why no GPU is used."""
    rows = [("DEVICE", "NAME", "MEMORY", "COMPUTE CAPABILITY"), ("/device:CPU:0", "CPU", "", "")]
    for gpu in here.gpus:
        major, minor = gpu.capability
        memory = readable_size(gpu.memory) if gpu.memory else ""
        capability = f"{major}.{minor}" if major else ""
        rows.append((f"/device:GPU:{gpu.index}", gpu.name, memory, capability))
    tell(table(rows))
    if here.problem:
        tell(f"No GPU is used: {here.problem} What asks for one runs on the CPU under allow_soft_placement.")
    return 0
