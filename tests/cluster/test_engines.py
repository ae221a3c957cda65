"""Protects `graphflow launch --on`: what engines are given, and one task of a cluster that an engine has started.

The engines themselves are not here: sbatch and kubectl are stand-ins, which keep what they got.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import graphflow as gf
from graphflow._core.cluster.launch.children import Child
from graphflow._core.cluster.ports import ReservedPorts
from graphflow.cli.main import main


def stand_in(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of this name, the only one that is found."""
    path = folder / name
    path.write_text(f"#!/bin/bash\n{text}")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TF_CONFIG", raising=False)
    path = tmp_path / "my train.py"
    path.write_text("")
    return path


# ---- Slurm -----------------------------------------------------------------------------------------------------------


def test_the_script_for_slurm(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = [
        "--ps",
        "2",
        "--workers",
        "3",
        "--chief",
        "--local-devices",
        "2",
        "--restart",
        "4",
        "--import",
        "ext",
    ]
    more = ["--sbatch=--time=1:00", "--sbatch=--gpus-per-task=1", "--python", "/opt/py thon"]
    assert main(["launch", "--on", "slurm", "--print", *options, *more, program.name, "--x", "a b;c"]) == 0
    text = capsys.readouterr().out
    head, *lines = text.splitlines()
    assert head == "#!/bin/bash"
    assert [line for line in lines if line.startswith("#SBATCH")] == [
        "#SBATCH --job-name=my-train",
        "#SBATCH --ntasks=6",
        "#SBATCH --output=my-train-%j.log",
        "#SBATCH --open-mode=append",
        "#SBATCH --time=1:00",
        "#SBATCH --gpus-per-task=1",
    ]
    assert f"cd {shlex.quote(str(program.parent))}" in lines
    assert (
        "export GRAPHFLOW_JOBS=chief=1,ps=2,worker=3" in lines and "export GRAPHFLOW_LOCAL_DEVICES=2" in lines
    )
    words = shlex.split(text[text.index("srun") :])
    assert words[:2] == ["srun", "--ntasks=6"] and "--kill-on-bad-exit=1" in words
    assert words[words.index("/opt/py thon") :] == [
        *["/opt/py thon", "-P", "-m", "graphflow.cli", "launch", "--on", "environment", "--restart", "4"],
        *["--ps-program", "serve", "--import", "ext", "my train.py", "--x", "a b;c"],
    ]
    subprocess.run(["bash", "-n"], input=text, text=True, check=True, timeout=60)
    assert main(["launch", "--on", "slurm", "--print", "--keys", "k e", program.name]) == 0
    text = capsys.readouterr().out
    assert (
        f"export GRAPHFLOW_KEYS={shlex.quote(str(program.parent / 'k e'))}\n" in text and "keygen" not in text
    )


def test_a_key_of_the_job_is_its_users_alone_and_goes_with_it(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script runs as it is; srun is one that looks at the key."""
    assert main(["launch", "--on", "slurm", "--print", program.name]) == 0
    stand_in(program.parent, "srun", 'stat -c %a "$GRAPHFLOW_KEYS" "$GRAPHFLOW_KEYS"/*; exit 3', monkeypatch)
    done = subprocess.run(
        ["bash"],
        input=capsys.readouterr().out,
        env={**os.environ, "HOME": str(program.parent), "SLURM_JOB_ID": "7"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (3, "700\n600\n"), done.stderr
    assert list((program.parent / ".graphflow").iterdir()) == []


def test_a_job_is_submitted(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = ["launch", "--on", "slurm", "--name", "night", program.name]
    monkeypatch.setenv("PATH", str(program.parent))
    assert main(launch) == 2
    assert "There is no sbatch here" in capsys.readouterr().err
    stand_in(program.parent, "sbatch", 'cat > got; echo "$@" >> got; echo "12;main"', monkeypatch)
    assert main(launch) == 0
    log = program.parent / "night-12.log"
    assert capsys.readouterr().out == f"job 12 is submitted; its output is in {log}\n"
    got = (program.parent / "got").read_text()
    assert got.startswith("#!/bin/bash\n#SBATCH --job-name=night\n") and got.endswith("--parsable\n")
    stand_in(program.parent, "sbatch", 'cat > got; echo "no such partition" >&2; exit 1', monkeypatch)
    assert main(launch) == 2
    assert capsys.readouterr().err == "graphflow: sbatch: no such partition\n"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--on", "slurm", "--sbatch=time=1"], "An option of sbatch is like"),
        (["--on", "slurm", "--sbatch=--time=1\nrm -rf x"], "An option of sbatch is like"),
        (["--on", "slurm", "--name", "My Job"], "small letters"),
        (["--on", "slurm", "--bind", "0.0.0.0"], "--bind is for a cluster on this machine"),
        (["--print"], "--print is for --on"),
        (["--on", "environment"], "TF_CONFIG is not set"),
    ],
)
def test_what_cannot_be_is_said(
    options: list[str], expected: str, program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["launch", *options, program.name]) == 2
    assert expected in capsys.readouterr().err


# ---- one task of a cluster that an engine has started ----------------------------------------------------------------


def one_task(
    program: Path, text: str, job: str, index: int, monkeypatch: pytest.MonkeyPatch, *options: str
) -> int:
    program.write_text(f"import os, signal, sys, time\n{text}")
    with ReservedPorts(3) as reserved:
        ps, *workers = [f"localhost:{port}" for port in reserved.ports]
        config = {"cluster": {"ps": [ps], "worker": workers}, "task": {"type": job, "index": index}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        return main(
            ["launch", "--on", "environment", "--ps-program", "same", *options, program.name, "{task_index}"]
        )


def test_a_worker_that_fails_does_not_end_what_the_engine_runs(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = "print(sys.argv[1], os.environ['GRAPHFLOW_INCARNATION'], flush=True); sys.exit('lost')"
    monkeypatch.setenv("GRAPHFLOW_INCARNATION", "b7")
    assert one_task(program, text, "worker", 1, monkeypatch, "--restart", "1") == 0
    found = capfd.readouterr()
    assert found.out == "[worker 1] 1 b7.0\n[worker 1] 1 b7.1\n"
    assert (
        "is started again, 1 of 1" in found.err
        and "worker 1 failed (exit status 1); the others go on" in found.err
    )


def test_a_server_that_fails_ends_it(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert one_task(program, "sys.exit(5)", "ps", 0, monkeypatch) == 5
    assert "the job cannot go on without it" in capfd.readouterr().err


def test_the_chief_elsewhere_says_when_it_has_ended(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = "os.kill(os.getppid(), signal.SIGUSR1); time.sleep(600)"
    before = signal.getsignal(signal.SIGUSR1)
    assert one_task(program, text, "worker", 1, monkeypatch) == 0
    assert signal.getsignal(signal.SIGUSR1) is before
    assert "worker 0 has ended well" in capfd.readouterr().err


def test_the_chiefs_end_stops_the_servers_of_the_others_and_the_step(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is in this process; scancel is a stand-in."""
    stand_in(program.parent, "scancel", 'echo "$@" > cancelled', monkeypatch)
    monkeypatch.setenv("SLURM_JOB_ID", "4")
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    other = gf.train.Server.create_local_server()
    try:
        cluster = {"ps": [other.target.removeprefix("zmq://")], "worker": ["localhost:1"]}
        config = {"cluster": cluster, "task": {"type": "worker", "index": 0}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(config))
        usr1 = signal.getsignal(signal.SIGUSR1)
        try:
            assert main(["launch", "--on", "environment", program.name]) == 0
        finally:
            signal.signal(signal.SIGUSR1, usr1)
        other.join()
    finally:
        other.stop()
    assert (program.parent / "cancelled").read_text() == "--quiet --signal=USR1 4.0\n"


def test_a_server_may_ignore_the_signal_that_an_engine_sends_to_all() -> None:
    text = "import signal; print(signal.getsignal(signal.SIGTERM) is signal.SIG_IGN)"
    for ignored in ((signal.SIGTERM,), ()):
        child = Child([sys.executable, "-c", text], os.environ, ignored)
        assert child.stdout.read() == f"{bool(ignored)}\n".encode()
        while child.look() is None:
            time.sleep(0.01)
        child.close()
