"""Clusters as jobs of Slurm: the script for sbatch, and how the chief's end ends the step.

The tasks are those of one step, each begun by srun as `graphflow launch --on environment`, which finds out which task
it is. They are spread over the nodes in turn, so that parameter servers do not share one as long as there are others.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from graphflow._core.cluster.resolvers.base import JOBS_VARIABLE, LOCAL_DEVICES_VARIABLE
from graphflow._core.common.timeouts import LAUNCHER_STOP_SECONDS
from graphflow._core.transport import keys

_SCRIPT: Final = """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --ntasks={count}
#SBATCH --output={output}
#SBATCH --open-mode=append
{options}
set -eu
cd {folder}
unset TF_CONFIG JOB_NAME TASK_INDEX PS_HOSTS WORKER_HOSTS CHIEF_HOSTS
export {jobs_variable}={jobs}
export {devices_variable}={devices}
export GRAPHFLOW_BIND=0.0.0.0
{keys}
srun --ntasks={count} --distribution=cyclic --kill-on-bad-exit=1 --wait=0 \\
    {command}
"""
_NEW_KEYS: Final = """\
# A key of this job's own, in a folder that all nodes see and nobody else may read.
keys="$HOME/.graphflow/slurm-${{SLURM_CLUSTER_NAME:-}}"
export {variable}="$keys-$SLURM_JOB_ID"
# A job whose script Slurm has killed at once has left its key: it opens nothing any more, and goes.
for left in "$keys"-*; do
    state=$(env -u SLURM_CLUSTERS scontrol --oneliner show job "${{left##*-}}" 2>&1) || true
    case "$state " in
    *"Invalid job id"* | {ended}) rm -rf -- "$left" ;;
    esac
done
trap 'rm -rf -- "${variable}"' EXIT
trap : TERM  # The tasks need the key until they have ended.
rm -rf -- "${variable}"
{keygen} "${variable}" > /dev/null"""

_ENDED: Final = (
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT",
)  # fmt: skip
"""The states of a job that is over, and of which no processes are left: until then it is COMPLETING."""


def script(
    name: str,
    jobs: Mapping[str, int],
    command: Sequence[str],
    keygen: Sequence[str],
    folder: str,
    keys_folder: str = "",
    local_devices: int = 1,
    options: Sequence[str] = (),
) -> str:
    """The text for sbatch. Words are quoted; `options` are lines for #SBATCH.

    ValueError for an option that is none, and for a word that a terminal would obey.

    command: what each task runs. keygen: makes a key in the folder that is its last argument; not used with
    keys_folder, a folder with a key that all nodes see.
    """
    for option in options:
        if not option.startswith("-") or not option.isprintable():
            raise ValueError(f"An option of sbatch is like --time=10:00, got {option!r}.")
    for word in (*command, folder, keys_folder):
        if not word.replace("\n", "").replace("\t", "").isprintable():
            raise ValueError(f"A script cannot hold {word!r}: it has signs that cannot be printed.")
    if keys_folder:
        text = f"export {keys.VARIABLE}={shlex.quote(keys_folder)}"
    else:
        text = _NEW_KEYS.format(
            variable=keys.VARIABLE,
            keygen=shlex.join(keygen),
            ended=" | ".join(f'*" JobState={state} "*' for state in _ENDED),
        )
    return _SCRIPT.format(
        name=name,
        count=sum(jobs.values()),
        output=f"{name}-%j.log",
        options="".join(f"#SBATCH {option}\n" for option in options),
        folder=shlex.quote(folder),
        jobs_variable=JOBS_VARIABLE,
        jobs=",".join(f"{job}={count}" for job, count in sorted(jobs.items()) if count),
        devices_variable=LOCAL_DEVICES_VARIABLE,
        devices=local_devices,
        keys=text,
        command=shlex.join(command),
    )


def end_step(environment: Mapping[str, str] = os.environ) -> None:
    """Tells all tasks of this process's step, if it is in one, that the chief has ended well: SIGUSR1."""
    job, step = environment.get("SLURM_JOB_ID"), environment.get("SLURM_STEP_ID")
    program = shutil.which("scancel")
    if job and step and program:
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(
                [program, "--quiet", "--signal=USR1", f"{job}.{step}"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=10 * LAUNCHER_STOP_SECONDS,
                check=False,
            )
