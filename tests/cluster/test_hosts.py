"""Protects `graphflow launch --hosts`: tasks over ssh, with a key that nobody else sees, which end with the launcher.

What stands in for ssh runs the command here through a shell, as sshd does, in a session of its own. One test runs a
real sshd where there is one.
"""

from __future__ import annotations

import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graphflow._core.cluster.launch.hosts import Host, HostError, archive_of, hosts_in, spread
from graphflow._core.cluster.ports import ReservedPorts
from graphflow.cli.main import main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks in /proc")

PROJECT = Path(__file__).resolve().parents[2]
STAND_IN = (
    '#!/bin/bash\nhost="$1"; shift; cd /; export FAR_HOST="$host"; setsid --wait bash -c "$*"; exit $?\n'
)
TASK = """
import os, signal, sys, time
from pathlib import Path
name = os.environ["JOB_NAME"] + " " + os.environ["TASK_INDEX"]
results = Path(sys.argv[1])
def tell(what, text):
    path = results / f".{os.getpid()}"
    path.write_text(str(text))
    path.rename(results / f"{what} of {name}")
"""


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_for(condition: Callable[[], object], what: str) -> None:
    limit = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < limit, what
        time.sleep(0.02)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    (tmp_path / "ssh").write_text(STAND_IN)
    return folder


Begin = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def begin(tmp_path: Path, results: Path) -> Iterator[Begin]:
    """Starts `graphflow launch` with a program, whose folder has a space in its name."""
    started: list[subprocess.Popen[str]] = []
    folder = tmp_path / "a program"
    folder.mkdir()

    def launch(program: str, *options: str, ssh: str = f"bash {tmp_path / 'ssh'}") -> subprocess.Popen[str]:
        (folder / "train.py").write_text(TASK + program)
        words = [sys.executable, "-P", "-m", "graphflow.cli", "launch", "--ssh", ssh, *options]
        process = subprocess.Popen(
            [*words, "train.py", str(results), "$HOME; '{task_index}'"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(PROJECT), "TMPDIR": str(tmp_path)},
        )
        started.append(process)
        return process

    yield launch
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=60)
    for path in results.glob("pid of *"):
        if not ended(int(path.read_text())):
            os.kill(int(path.read_text()), signal.SIGKILL)


# ---- where tasks go --------------------------------------------------------------------------------------------------


def test_hosts_and_the_tasks_that_they_take() -> None:
    assert hosts_in("a,me@b:4, c") == [Host("a", 1, False), Host("me@b", 4, True), Host("c", 1, False)]
    assert hosts_in("me@b")[0].address == "b"
    for text in ("", "a,", "a:0", "a:x", "a,a:2", "-oProxyCommand=x", "a b", "a;ls", "a:2:3", "$(ls)"):
        with pytest.raises(ValueError, match="--hosts"):
            hosts_in(text)
    jobs = {"worker": 2, "ps": 1, "chief": 0}
    assert [(job, index, host.name) for job, index, host in spread(hosts_in("a,b"), jobs)] == [
        ("ps", 0, "a"),
        ("worker", 0, "b"),
        ("worker", 1, "a"),
    ]
    assert [host.name for _, _, host in spread(hosts_in("a,b:3"), {"ps": 2, "worker": 2})] == [
        "a",
        "b",
        "b",
        "b",
    ]
    with pytest.raises(ValueError, match="There are 3 tasks, but --hosts has room for 2"):
        spread(hosts_in("a:1,b:1"), jobs)


def test_a_folder_as_an_archive_has_files_and_nothing_that_leads_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "module.py").write_text("x = 1")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("")
    os.mkfifo(tmp_path / "pipe")
    with tarfile.open(fileobj=io.BytesIO(archive_of(str(tmp_path)))) as archive:
        assert sorted(archive.getnames()) == [".", "./inner", "./inner/module.py"]
    monkeypatch.setattr("graphflow._core.cluster.launch.hosts.MOST_BYTES", 1000)
    (tmp_path / "data").write_bytes(os.urandom(3000))
    with pytest.raises(HostError, match="is larger than"):
        archive_of(str(tmp_path))


@pytest.mark.parametrize(
    ("ssh", "options", "expected"),
    [
        ("no-such-program", [], "no-such-program cannot be run"),
        (
            "bash -c 'echo Permission denied >&2; exit 255'",
            [],
            "a does not answer as it should: Permission denied",
        ),
        ("bash -c 'echo hello'", [], "a does not answer as it should"),
        ("bash", ["--hosts", "a:1,b:1"], "room for 2"),
        ("bash", ["--on", "slurm"], "--hosts is for ssh alone"),
        ("bash {ssh}", ["--python", "/no/python"], "a does not answer as it should"),
        ("bash {ssh}", [], "a has no train.py: put it there, or have the folder copied with --copy"),
    ],
)
def test_a_host_that_cannot_take_part_is_said_before_anything_is_started(
    ssh: str,
    options: list[str],
    expected: str,
    results: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(results)
    (results / "train.py").write_text("")
    ssh = ssh.format(ssh=tmp_path / "ssh")
    if "train.py" in expected:
        (tmp_path / "ssh").write_text(STAND_IN.replace("cd /;", f"rm -f '{results}/train.py';"))
    assert main(["launch", "--hosts", "a,b", "--workers", "2", "--ssh", ssh, *options, "train.py"]) == 2
    assert expected in capsys.readouterr().err


def test_a_host_that_does_not_answer_is_not_waited_for_for_ever(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("graphflow._core.cluster.launch.hosts.HOST_LOOK_SECONDS", 0.2)
    monkeypatch.chdir(results)
    (results / "train.py").write_text("")
    assert main(["launch", "--hosts", "a", "--ssh", "bash -c 'exec sleep 600'", "train.py"]) == 2
    assert "a has not answered for 0.2 s" in capsys.readouterr().err


# ---- runs ------------------------------------------------------------------------------------------------------------


def test_tasks_run_on_their_hosts_with_a_key_that_nobody_else_sees(
    begin: Begin, results: Path, tmp_path: Path
) -> None:
    program = """
folder = Path(os.environ["GRAPHFLOW_KEYS"])
key = (folder / "cluster.key").read_text()
secrets = [line.split()[1] for line in key.splitlines() if line.startswith(("server", "client"))]
assert len(secrets) == 2 and os.getcwd() == os.path.dirname(os.path.abspath(sys.argv[0]))
seen = 0
for process in Path("/proc").glob("[0-9]*"):
    for file in ("cmdline", "environ"):
        try:
            text = (process / file).read_bytes()
        except OSError:
            continue
        seen += 1
        assert not any(secret.encode() in text for secret in secrets), process
assert seen > 2
tell("key", f"{folder.stat().st_mode & 0o777:o} {(folder / 'cluster.key').stat().st_mode & 0o777:o} {key}")
tell("place", os.getcwd())
print(os.environ["FAR_HOST"], sys.argv[2], os.environ["GRAPHFLOW_INCARNATION"], flush=True)
if name == "worker 0":
    while len(list(results.glob("key of *"))) < 3:
        time.sleep(0.02)
    sys.exit(3)
while True:
    time.sleep(0.1)
"""
    options = ["--hosts", "localhost:2,127.0.0.1:1", "--ps-program", "same", "--copy"]
    out, err = begin(program, *options).communicate(timeout=110)
    lines = sorted(out.splitlines())
    assert lines == [
        "[ps 0]     localhost $HOME; '0' 0",
        "[worker 0] 127.0.0.1 $HOME; '0' 0",
        "[worker 1] localhost $HOME; '1' 0",
    ], err
    assert "worker 0 failed after" in err and "exit status 3" in err
    found = {path.read_text() for path in results.glob("key of *")}
    assert len(found) == 1 and found.pop().startswith("700 600 ")
    places = [Path(path.read_text()) for path in results.glob("place of *")]
    assert len(set(places)) == 3 and not any(place.exists() for place in places)
    wait_for(lambda: not list(tmp_path.glob("graphflow-*")), "a folder with a key is left")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_the_launcher(begin: Begin, results: Path, number: signal.Signals) -> None:
    """What a task has started itself is in its group, and ends with it. On Ctrl-C the chief says its last word."""
    outlives(begin, results, number, "--hosts", "localhost:2")


def outlives(begin: Begin, results: Path, number: signal.Signals, *options: str, ssh: str = "") -> None:
    program = """
import subprocess
def leave(number, frame):
    tell("goodbye", number)
    sys.exit(0)
signal.signal(signal.SIGINT, leave if name == "worker 0" else signal.SIG_DFL)
tell("folder", os.environ["GRAPHFLOW_KEYS"])
child = subprocess.Popen(["sleep", "600"])
tell("child", child.pid)
tell("pid", os.getpid())
while True:
    time.sleep(0.1)
"""
    more = {"ssh": ssh} if ssh else {}
    process = begin(program, *options, "--ps", "0", "--workers", "2", **more)
    try:
        wait_for(lambda: len(list(results.glob("pid of *"))) == 2 or process.poll() is not None, "no tasks")
        pids = [int(path.read_text()) for what in ("pid", "child") for path in results.glob(f"{what} of *")]
        assert len(pids) == 4, process.communicate(timeout=60)
        process.send_signal(number)
        process.wait(timeout=100)
        wait_for(lambda: all(map(ended, pids)), "a task is left")
        assert sorted(path.name for path in results.glob("goodbye *")) == ["goodbye of worker 0"] * (
            number == signal.SIGINT
        )
        folders = [Path(path.read_text()) for path in results.glob("folder of *")]
        wait_for(lambda: not any(map(os.path.exists, folders)), "a key is left")
        wait_for(lambda: not list(results.parent.glob("graphflow-*")), "the launcher's key is left")
    finally:
        for path in results.glob("child of *"):
            if not ended(int(path.read_text())):
                os.kill(int(path.read_text()), signal.SIGKILL)


def test_a_real_sshd_ends_the_tasks_of_a_launcher_that_is_killed(
    begin: Begin, results: Path, tmp_path: Path
) -> None:
    daemon = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if daemon is None or shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("there is no sshd on this machine: install the package openssh-server")
    if os.getuid() == 0 and not os.path.isdir("/run/sshd"):
        pytest.skip("sshd of root needs the folder /run/sshd")
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name], check=True, timeout=60
        )
    with ReservedPorts(1) as reserved:
        (port,) = reserved.ports
        (tmp_path / "sshd.conf").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path / 'host'}\nPidFile none\nStrictModes no\n"
            f"AuthorizedKeysFile {tmp_path / 'user.pub'}\nPasswordAuthentication no\nUsePAM no\n"
            f'SetEnv PYTHONPATH="{PROJECT}"\n'
        )
        options = "-F /dev/null -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
        ssh = f"ssh {options} -o LogLevel=ERROR -i {tmp_path / 'user'} -p {port}"
        server = subprocess.Popen([daemon, "-D", "-e", "-f", tmp_path / "sshd.conf"], stderr=subprocess.PIPE)
        try:
            wait_for(lambda: server.poll() is not None or listens(port), "sshd does not listen")
            done = subprocess.run(
                [*ssh.split(), "localhost", "true"], capture_output=True, text=True, timeout=60, check=False
            )
            if done.returncode:
                pytest.skip(f"sshd of this machine lets nobody in: {done.stderr.strip()}")
            outlives(begin, results, signal.SIGKILL, "--hosts", "localhost", ssh=ssh)
        finally:
            server.terminate()
            server.communicate(timeout=60)


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
