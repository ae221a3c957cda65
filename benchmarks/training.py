"""Measures what surrounds a training step, in one run: input pipelines, checkpoints, hooks and summaries.

Runs input_pipeline.py, checkpoints.py and hooks.py against both TensorFlows, whose environments are made as for
compare.py, and writes training.md beside this file.
"""

import argparse
import os
import platform
import subprocess
import sys
from pathlib import Path

from compare import PEERS, PROJECT, TENSORFLOWS, prepare, processor, version

HERE = Path(__file__).resolve().parent


def output_of(command: list[str]) -> str:
    """What a benchmark prints; what it says besides goes to the terminal."""
    print(" ".join(command[1:3]), file=sys.stderr, flush=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PROJECT), str(HERE)])}
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    if process.returncode not in (0, 1):  # 1: a limit is broken, which the table shows
        raise SystemExit(f"{command} failed, status {process.returncode}")
    return process.stdout.strip()


def report(pythons: dict[str, str], folder: Path) -> str:
    """The page."""
    peers = [
        f"{pythons[name]}={PEERS[name].module}" for name in (*TENSORFLOWS, "graphflow") if name in pythons
    ]
    names = [name for name in (*TENSORFLOWS, "graphflow") if name in pythons]
    pipelines = output_of([sys.executable, str(HERE / "input_pipeline.py"), "--compare", *peers])
    saved = output_of(
        [sys.executable, str(HERE / "checkpoints.py"), "--venv-dir", str(folder), "--rounds", "3"]
    )
    hooks = [
        f"{name}\n{output_of([python, '-W', 'ignore', str(HERE / 'hooks.py'), PEERS[name].module])}"
        for name, python in pythons.items()
        if name != "tf2"  # Its loop of hooks is that of 1.15.
    ]
    versions = ", ".join(f"{name} {version(name, python)}" for name, python in pythons.items())
    rows = "\n\n".join(hooks)
    return f"""# Around the training step

Written by `make bench-training` on {processor()}, {os.cpu_count()} cores, Python {platform.python_version()}:
{versions}.

## Input pipelines

Examples per second ({", ".join(names)}), and the ratio of graphflow's to the faster TensorFlow's; at least 2.0 is asked
for. `python benchmarks/input_pipeline.py` says what each is.

```text
{pipelines}
```

## Checkpoints

Gigabytes a second, and the ratio of graphflow's to the faster TensorFlow's; at least 1.5 is asked for.

{saved}

## Hooks and summaries

A step with the hooks of an ordinary training against the bare one; they may add a tenth.

```text
{rows}
```
"""


def main() -> None:
    """Measures and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv-dir", type=Path, default=PROJECT / ".bench", help="the peers' environments")
    options = parser.parse_args()
    folder = options.venv_dir.absolute()
    made = {name: prepare(name, folder) for name in (*TENSORFLOWS, "graphflow")}
    page = report({name: python for name, python in made.items() if python}, folder)
    (HERE / "training.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
