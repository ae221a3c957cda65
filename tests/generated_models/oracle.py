"""Compares programs with TensorFlow 1.15: python -m tests.generated_models.oracle --tensorflow PATH_OF_ITS_PYTHON.

TensorFlow runs the same text in a process of its own. What rounding explains is judged as between the tiers. Left out
are programs that keep what an identity of a variable gives: in TensorFlow it may change with the variable.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from . import harness
from .comparison import Reference
from .generating import generate


def recorded(folder: Path, seed: int, runs: int) -> list[Any] | str:
    """What TensorFlow gave, or why it gave nothing."""
    errors = json.loads((folder / f"{seed}.json").read_text("utf-8"))
    if "all" in errors:
        return str(errors["all"])
    results: list[Any] = [errors.get(str(number), {}) for number in range(runs)]
    with np.load(folder / f"{seed}.npz") as arrays:
        for key in arrays.files:
            number, _, name = key.partition(" ")
            results[int(number)][name.replace("|", "/")] = arrays[key]
    return results


def main() -> int:
    """Exit status 1 if a program differs."""
    parser = argparse.ArgumentParser("python -m tests.generated_models.oracle", description=__doc__)
    parser.add_argument("--tensorflow", required=True, help="a Python that has TensorFlow 1.15")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--programs", type=int, default=100)
    options = parser.parse_args()
    harness.GATED = True
    seeds = range(options.first_seed, options.first_seed + options.programs)
    programs = [p for p in map(generate, seeds) if not re.search(r"tf\.identity\(w\d+\)", p.text())]
    different = refused = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = [{"seed": p.seed, "text": p.text(), "dtype": p.dtype, "batches": p.batches} for p in programs]
        (folder / "programs.json").write_text(json.dumps(texts), "utf-8")
        script = Path(__file__).with_name("recording.py")
        with subprocess.Popen(
            [options.tensorflow, str(script), str(folder / "programs.json"), name],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            for program, _ in zip(programs, process.stdout):
                reference = Reference(program)
                found = recorded(folder, program.seed, len(program.batches) + 1)
                if isinstance(found, str):
                    refused += 1
                    print(f"seed {program.seed}: TensorFlow: {found}", flush=True)
                    continue
                apart = list(reference.differences(found))
                different += bool(apart)
                for difference in apart[:4]:
                    print(f"seed {program.seed}: {difference}", flush=True)
    print(f"{len(programs)} programs, {different} differ, {refused} that TensorFlow does not run")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
