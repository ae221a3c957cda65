"""Protects `graphflow launch`: roles, output, ends (promise 3), the root cause last (promise 11), nothing left behind.

Most programs here do not import graphflow, which makes them start in milliseconds; two train on a real cluster.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from graphflow._core.cluster.launch.children import out_of_memory_kills, reason_of
from graphflow._core.cluster.launch.launcher import roles
from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.cluster.server.task_output import Lines, last_words, prefix
from tests.machine_clock import MachineClock

PROJECT = Path(__file__).resolve().parents[2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks in /proc")
ROLE = """
import os, sys, time, signal
name = os.environ["JOB_NAME"] + " " + os.environ["TASK_INDEX"]
def link(path):
    try:
        return os.readlink(path)
    except OSError:
        return None
def await_the_end_of(other):
    "The launcher, its parent, closes the output of a task when it notes that this one has ended."
    while not (output := link("output of " + other)):
        time.sleep(0.01)
    files = f"/proc/{os.getppid()}/fd/"
    while output in [link(files + number) for number in os.listdir(files)]:
        time.sleep(0.01)
if not os.path.islink("output of " + name) and os.path.isdir("/proc/self/fd"):
    os.symlink(link("/proc/self/fd/1"), "output of " + name)
"""


class Launch:
    """A run of `graphflow launch`; `left` are the processes that have its mark in their environment."""

    def __init__(self, folder: Path, program: str, *options: str) -> None:
        self.mark = f"GRAPHFLOW_TEST={secrets.token_hex(8)}"
        self._program = folder / "program.py"
        self._errors = folder / "standard error"
        self._program.write_text(ROLE + program)
        key, value = self.mark.split("=")
        with self._errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "graphflow.cli", "launch", *options, str(self._program), "--flag"],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(PROJECT), key: value},
            )

    def finish(self, seconds: float = 100.0) -> tuple[int, str, str]:
        out, _ = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, self._errors.read_text()

    def finish_soon(self, clock: MachineClock, seconds: float = 5.0) -> tuple[int, str, str]:
        """As finish(), by a clock that goes as fast as the machine."""
        begun = clock.seconds
        found = self.finish()
        assert clock.seconds - begun < seconds
        return found

    def await_words(self, text: str) -> None:
        """Until the launcher has said something."""
        limit = time.monotonic() + 60
        while text not in self._errors.read_text():
            assert time.monotonic() < limit, self._errors.read_text()
            time.sleep(0.01)

    def left(self) -> list[int]:
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != self.process.pid:
                try:
                    if self.mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                        found.append(int(folder.name))
                except OSError:
                    continue
        return found

    def wait_for(self, file: str, count: int = 1, seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while len(list(self._program.parent.glob(file))) < count:
            assert time.monotonic() < deadline and self.process.poll() is None, self._errors.read_text()
            time.sleep(0.01)


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[object]:
    started: list[Launch] = []

    def begin(program: str, *options: str) -> Launch:
        started.append(Launch(tmp_path, program, *options))
        return started[-1]

    yield begin
    for found in started:
        if found.process.poll() is None:
            found.process.kill()
        found.process.communicate()
        for pid in found.left() if sys.platform == "linux" else ():
            os.kill(pid, signal.SIGKILL)


# ---- what the tasks are told -----------------------------------------------------------------------------------------


def test_every_role_learns_the_cluster_and_its_task_from_environment_and_arguments() -> None:
    addresses = {"ps": ["a:1"], "worker": ["b:1", "b:2"]}
    command = [
        "train.py",
        "--ps={ps_hosts}",
        "--workers={worker_hosts}",
        "--me={job_name}/{task_index}",
        "{x}",
    ]
    ps, first, second = roles(addresses, command, ["serve"], {"HOME": "/"}, local_devices=2)
    assert ps.serves and ps.command == ["serve"]
    assert second.name == "worker 1" and not second.serves
    assert second.command == ["train.py", "--ps=a:1", "--workers=b:1,b:2", "--me=worker/1", "{x}"]
    assert json.loads(second.environment["TF_CONFIG"]) == {
        "cluster": addresses,
        "task": {"type": "worker", "index": 1},
        "local_devices": 2,
    }
    expected = {"JOB_NAME": "worker", "TASK_INDEX": "1", "PS_HOSTS": "a:1", "WORKER_HOSTS": "b:1,b:2"}
    assert expected.items() <= second.environment.items() and second.environment["HOME"] == "/"
    assert not roles(addresses, command, None, {})[0].serves
    assert first.environment["TASK_INDEX"] == "0"


@LINUX
def test_reserved_ports_are_taken_by_nobody_but_a_server_that_reuses_addresses() -> None:
    with ReservedPorts(3) as reserved:
        assert len(set(reserved.ports)) == 3
        for port in reserved.ports:
            with socket.socket() as other, pytest.raises(OSError):
                other.bind(("127.0.0.1", port))
            for _ in range(2):
                with socket.socket() as server:
                    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    server.bind(("127.0.0.1", port))
                    server.listen()


# ---- output ----------------------------------------------------------------------------------------------------------


def test_lines_are_whole_and_begin_with_their_task() -> None:
    out = io.StringIO()
    lines = Lines(prefix("ps 0", 0, len("worker 1"), False), out)
    lines.feed(b"one\ntw")
    assert out.getvalue() == "[ps 0]     one\n"
    lines.feed(b"o\r\n\n\xff")
    lines.feed(b"")
    assert out.getvalue() == "[ps 0]     one\n[ps 0]     two\n[ps 0]\n[ps 0]     �\n"
    assert list(lines.kept) == ["one", "two", "", "�"]


def test_a_line_without_an_end_is_cut_and_nothing_of_it_is_lost() -> None:
    """Each piece that comes is looked at once: what has come before is not gone through again."""
    out = io.StringIO()
    lines = Lines("", out)
    for _ in range(3000):
        lines.feed(b"x" * 1000)
    lines.feed(b"")
    assert [len(line) for line in out.getvalue().splitlines()] == [1 << 20, 1 << 20, 3_000_000 - (2 << 20)]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_of_a_line_that_is_written_over_the_last_state_counts(size: int) -> None:
    r"""However it is cut into pieces: progress lines are written with "\r" before or behind them."""
    data = b"begins\r\n\r 10 %\r 20 %\r 100 %\nnext\n\n\n5 of 9\r6 of 9\r\nlast\n\r 7 %"
    out = io.StringIO()
    lines = Lines("[ps 0] ", out)
    for start in range(0, len(data), size):
        lines.feed(data[start : start + size])
    lines.feed(b"")
    assert list(lines.kept) == ["begins", " 100 %", "next", "", "", "6 of 9", "last", " 7 %"]
    assert out.getvalue() == "".join(f"[ps 0] {text}".rstrip() + "\n" for text in lines.kept)


def test_a_progress_line_is_seen_as_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    out = io.StringIO()
    lines = Lines("[ps 0] ", out, terminal=True)
    for text in (b"\r 10 %", b"\r 20 %", b"\r 20 %", b"\r" + b"#" * 100, b"\n"):
        lines.feed(text)
    shown = out.getvalue().split("\r")
    assert shown == [
        "[ps 0]  10 %\033[K", "[ps 0]  20 %\033[K", f"[ps 0] {'#' * 32}\033[K", f"[ps 0] {'#' * 100}\033[K\n",
    ]  # fmt: skip
    out = io.StringIO()  # A file has a line of it every now and then.
    monkeypatch.setattr("graphflow._core.cluster.server.task_output.PLAIN_PROGRESS_SECONDS", 0.0)
    lines = Lines("[ps 0] ", out)
    for text in (b"\r 10 %", b"\r 20 %", b"\n"):
        lines.feed(text)
    assert out.getvalue() == "[ps 0]  10 %\n[ps 0]  20 %\n[ps 0]  20 %\n"


def test_tasks_have_colours_of_their_own_on_a_terminal_alone() -> None:
    first, second = prefix("ps 0", 0, 8, True), prefix("worker 0", 1, 8, True)
    assert first.startswith("\033[") and "\033[0m" in first
    assert first.split("m")[0] != second.split("m")[0]
    assert "\033" not in prefix("ps 0", 0, 8, False)


def test_the_last_traceback_is_found_with_what_it_was_raised_from() -> None:
    old = ["Traceback (most recent call last):", "  old", "OldError: handled", "and went on"]
    inner = ["Traceback (most recent call last):", "  inner", "KeyError: 1", ""]
    chained = ["During handling of the above exception, another exception occurred:", ""]
    outer = ["Traceback (most recent call last):", "  outer", "ValueError: 2"]
    assert last_words([*old, *inner, *chained, *outer]) == [*inner, *chained, *outer]
    assert last_words([str(i) for i in range(100)])[-1] == "99"


def test_promise_11_an_end_is_put_into_words(tmp_path: Path) -> None:
    assert reason_of(3, 0, 0) == "exit status 3"
    assert reason_of(-signal.SIGSEGV, 0, 0) == "killed by SIGSEGV"
    assert "killed by SIGKILL, out of memory" in reason_of(-signal.SIGKILL, 1, 3_000_000_000)
    assert "3.0 GB" in reason_of(-signal.SIGKILL, 1, 3_000_000_000)
    assert "not for want of memory" in reason_of(-signal.SIGKILL, 0, 0)
    counters = tmp_path / "vmstat"
    counters.write_text("nr_free_pages 5\noom_kill 7\n")
    assert out_of_memory_kills(counters) == 7
    assert out_of_memory_kills(tmp_path / "absent") == 0


# ---- ends ------------------------------------------------------------------------------------------------------------

CAUSE = """
if name == "worker 1":
    raise ValueError("the cause")
await_the_end_of("worker 1")
raise RuntimeError("the consequence")
"""


@LINUX
def test_promise_11_the_first_failure_comes_last_and_the_status_is_the_chiefs(launch: type[Launch]) -> None:
    status, _, err = launch(CAUSE, "--ps", "0").finish()
    assert status == 1
    lines = err.splitlines()
    assert lines[-1] == "ValueError: the cause"
    assert any(line.startswith("[worker 0] RuntimeError: the consequence") for line in lines)
    assert sum("worker 1 failed first" in line for line in lines) == 1
    assert any("worker 1 failed (exit status 1); the others go on" in line for line in lines)


@pytest.mark.parametrize(
    ("program", "status", "reason"),
    [
        ("sys.exit(7)", 7, "exit status 7"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", 128 + signal.SIGSEGV, "killed by SIGSEGV"),
    ],
)
def test_promise_11_exit_codes_and_signals_of_the_chief(
    launch: type[Launch], program: str, status: int, reason: str
) -> None:
    started = launch(program, "--ps", "0", "--workers", "1")
    found, _, err = started.finish()
    assert found == status
    assert reason in err.splitlines()[-1]


@LINUX
def test_a_worker_that_fails_does_not_change_the_status_of_a_chief_that_ends_well(
    launch: type[Launch],
) -> None:
    program = "if name == 'worker 1': sys.exit(3)\nawait_the_end_of('worker 1')\nprint(name, sys.argv[1])\n"
    status, out, err = launch(program, "--ps", "0", "--chief").finish()
    assert status == 0
    assert "[chief 0]  chief 0 --flag" in out.splitlines()
    assert "worker 1 failed after" in err.splitlines()[-1]


@LINUX
def test_promise_11_a_worker_that_fails_after_the_chief_has_ended_is_told_of(launch: type[Launch]) -> None:
    program = "if name == 'worker 1':\n    await_the_end_of('worker 0')\n    raise ValueError('at the end')\n"
    status, _, err = launch(program, "--ps", "0", "--grace", "90").finish()
    assert status == 0
    assert "[launch]   worker 1 failed (exit status 1), after worker 0 had ended well" in err.splitlines()
    assert err.splitlines()[-1] == "ValueError: at the end"


PLAIN = """
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
open("ready " + name, "w").close()
if name == "worker 0" and len(sys.argv) > 1 and os.path.exists("chief ends"):
    while not os.path.exists("ready worker 1"):
        time.sleep(0.01)
    sys.exit(0)
time.sleep(100)
"""
STUBBORN = (
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + PLAIN
)


@LINUX
def test_promise_3_when_the_chief_has_ended_well_nothing_is_left_within_5_s(
    launch: type[Launch], tmp_path: Path
) -> None:
    (tmp_path / "chief ends").touch()
    with MachineClock() as clock:
        started = launch(STUBBORN, "--ps", "0", "--grace", "0.2")
        started.wait_for("ready*", 2)
        status, _, _ = started.finish_soon(clock)
    assert status == 0
    assert started.left() == []


@LINUX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_launcher_leaves_nothing(launch: type[Launch], number: signal.Signals) -> None:
    with MachineClock() as clock:
        started = launch(STUBBORN if number == signal.SIGINT else PLAIN, "--ps", "0")
        started.wait_for("ready*", 2)
        started.process.send_signal(number)
        if number == signal.SIGINT:  # A second one does not wait.
            started.await_words("SIGINT: ending all tasks")
            started.process.send_signal(number)
        status, _, err = started.finish_soon(clock)
    assert status == 128 + number
    assert ("SIGINT: killing all tasks" if number == signal.SIGINT else "SIGTERM") in err
    assert started.left() == []


@LINUX
def test_the_chief_saves_before_the_others_end(launch: type[Launch], tmp_path: Path) -> None:
    """It may need what is on a ps for that; the other workers are told after it, too."""
    program = """
def told(number, frame):
    if name == "worker 0":
        others = [task for task in ("ps 0", "worker 1") if os.path.exists("told " + task)]
        open("told first", "w").write(repr(others))
    open("told " + name, "w").close()
    os._exit(0)
signal.signal(signal.SIGTERM, told)
open("ready " + name, "w").close()
time.sleep(100)
"""
    started = launch(program, "--ps", "1", "--ps-program", "same")
    started.wait_for("ready*", 3)
    started.process.send_signal(signal.SIGTERM)
    status, _, err = started.finish(seconds=40.0)
    assert status == 128 + signal.SIGTERM
    assert "SIGTERM: ending all tasks, worker 0 first" in err
    assert (tmp_path / "told first").read_text() == "[]"
    assert len(list(tmp_path.glob("told *"))) == 4
    assert started.left() == []


SAVED = """
import graphflow as gf
server, job, index = gf.train.Server.from_environment(), os.environ["JOB_NAME"], int(os.environ["TASK_INDEX"])
if job == "ps":
    server.join()
with gf.device(gf.train.replica_device_setter(cluster=server.server_def.cluster)):
    step = gf.train.get_or_create_global_step()
    count = step.assign_add(1)
with gf.train.MonitoredTrainingSession(
    server.target, index == 0, "model", save_checkpoint_secs=100_000, save_summaries_steps=None,
    log_step_count_steps=None,
) as session:
    while not session.should_stop():
        if session.run(count) > 20:
            open("ready " + name, "w").close()
"""


@pytest.mark.timeout(400)  # A cluster that imports and trains, beside whatever else this machine does.
def test_a_job_that_is_interrupted_has_saved(launch: type[Launch], tmp_path: Path) -> None:
    started = launch(SAVED, "--workers", "1")
    started.wait_for("ready*", seconds=200.0)
    started.process.send_signal(signal.SIGINT)
    status, _, err = started.finish(seconds=150.0)
    assert status == 128 + signal.SIGINT, err
    steps = {int(path.stem.rpartition("-")[2]) for path in (tmp_path / "model").glob("model.ckpt-*.meta")}
    assert min(steps) == 0 and max(steps) > 20, err


@LINUX
def test_tasks_do_not_outlive_a_launcher_that_is_killed(launch: type[Launch]) -> None:
    started = launch("open('ready ' + name, 'w').close()\ntime.sleep(100)\n", "--ps", "0")
    started.wait_for("ready*", 2)
    started.process.kill()
    started.process.wait()
    deadline = time.monotonic() + 60
    while started.left() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert started.left() == []


@LINUX
def test_what_tasks_have_started_does_not_outlive_a_launcher_that_is_killed_either(
    launch: type[Launch],
) -> None:
    """A shell that runs the program is killed by the kernel; the program, which it has started, is not."""
    program = """
import subprocess
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
open(f"ready {name}", "w").close()
time.sleep(600)
"""
    started = launch(program, "--ps", "0")
    started.wait_for("ready*", 2)
    assert len(started.left()) == 5  # Two tasks, what they have started, and who clears up.
    started.process.kill()
    started.process.wait()
    deadline = time.monotonic() + 60
    while started.left() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert started.left() == []


def test_a_task_that_fails_at_once_is_started_again_after_a_pause(
    launch: type[Launch], tmp_path: Path
) -> None:
    program = """
with open("began " + name, "a") as file:
    file.write(f"{time.time()}\\n")
if name == "worker 1" and len(open("began worker 1").readlines()) < 3:
    sys.exit(3)
while not os.path.exists("began worker 1") or len(open("began worker 1").readlines()) < 3:
    time.sleep(0.01)
"""
    status, _, err = launch(program, "--ps", "0", "--restart", "2").finish()
    assert status == 0, err
    first, second, third = map(float, (tmp_path / "began worker 1").read_text().split())
    assert min(second - first, third - second) > 0.3


@LINUX
def test_a_job_is_not_held_up_by_what_a_task_has_left_behind_and_loses_no_line(
    launch: type[Launch], tmp_path: Path
) -> None:
    """What was left behind has the task's output, which therefore never ends."""
    program = """
parent = os.getpid()
if name == "worker 0" and os.fork() == 0:
    os.setsid()
    with open("left", "w") as file:
        file.write(str(os.getpid()))
    while os.getppid() == parent:
        time.sleep(0.001)
    print("late", flush=True)
    time.sleep(100)
while not os.path.exists("left"):
    time.sleep(0.01)
os._exit(0)
"""
    started = launch(program, "--ps", "0", "--grace", "0.2")
    try:
        status, out, err = started.finish()
        assert status == 0, err
        assert "late" in out
    finally:
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)


@LINUX
def test_a_task_has_some_seconds_to_end_by_itself_if_the_job_is_broken_off(
    launch: type[Launch], tmp_path: Path
) -> None:
    program = """
def end(number, frame):
    time.sleep(0.3)
    open("tidied up", "w").close()
if name == "worker 0":
    while not os.path.exists("there"):
        time.sleep(0.01)
    sys.exit(3)
signal.signal(signal.SIGTERM, end)
open("there", "w").close()
while True:
    time.sleep(1)
"""
    started = launch(program, "--ps", "0")
    status, _, err = started.finish()
    assert status == 3, err
    assert (tmp_path / "tidied up").exists()
    assert started.left() == []


def test_a_task_that_fails_is_started_again_as_often_as_was_asked(launch: type[Launch]) -> None:
    program = """
tries = len([f for f in os.listdir() if f.startswith("try " + name)])
open(f"try {name} {tries}", "w").close()
if name == "worker 1" and tries < 1:
    sys.exit(3)
while not os.path.exists("try worker 1 1"):
    time.sleep(0.01)
print(name, "ends at try", tries)
"""
    status, out, err = launch(program, "--ps", "0", "--restart", "1").finish()
    assert status == 0
    assert "worker 1 failed (exit status 3) and is started again, 1 of 1" in err
    assert "[worker 0] worker 0 ends at try 0" in out.splitlines()


# ---- on a real cluster -----------------------------------------------------------------------------------------------

TRAIN = """
import graphflow as gf
cluster, job, index = gf.train.task_from_environment()
server = gf.train.Server.from_environment()
if job == "ps":
    server.join()
    print("joined")
    sys.exit(0)
with gf.device(gf.train.replica_device_setter(cluster=cluster, worker_device=f"/job:{job}/task:{index}")):
    weight = gf.Variable(5.0)
    step = gf.train.get_or_create_global_step()
    train = gf.train.GradientDescentOptimizer(0.1).minimize(gf.square(weight), global_step=step)
config = gf.ConfigProto(device_filters=["/job:ps", f"/job:{job}/task:{index}"])
hooks = [gf.train.StopAtStepHook(last_step=40)]
with gf.train.MonitoredTrainingSession(server.target, index == 0, hooks=hooks, config=config) as session:
    steps = 0
    while not session.should_stop():
        session.run(train)
        steps += 1
print("made", steps, "steps")
"""


@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], id="serve"),
        pytest.param(["--ps-program", "same"], id="same", marks=pytest.mark.slow),
    ],
)
def test_promise_3_a_training_ends_with_every_task_stopped_in_order(
    launch: type[Launch], options: list[str]
) -> None:
    started = launch(TRAIN, *options)
    status, out, err = started.finish()
    assert status == 0, err
    made = [int(line.split()[-2]) for line in out.splitlines() if "made" in line]
    assert 40 <= sum(made) <= 42  # Each worker may have read the step before the other's last update.
    assert ("[ps 0]     joined" if options else "[ps 0]     ps 0 has stopped") in out.splitlines()
    assert "failed" not in err
    if sys.platform == "linux":
        assert started.left() == []


def test_a_ps_runs_nothing_of_the_working_directory_and_knows_the_programs_own_modules(
    launch: object, tmp_path: Path
) -> None:
    """A function of a module of the program goes to the ps by its name; yaml.py and others there are not asked for."""
    for name in ("base64", "numba", "zmq", "numpy", "cloudpickle", "graphflow", "math", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"print('bait {name}', flush=True)")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "helpers.py").write_text("def triple(x):\n    return x * 3\n")
    program = tmp_path / "mine" / "train.py"
    program.write_text(
        "import os, sys\n"
        "import graphflow as gf, helpers, numpy as np\n"
        "server = gf.train.Server.from_environment()\n"
        "with gf.device('/job:ps/task:0'): y = gf.py_func(helpers.triple, [gf.constant(np.float32(2))], gf.float32)\n"
        "with gf.Session(server.target) as session: print('it is', session.run(y))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-m", "graphflow.cli", "launch", "--workers", "1", str(program)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert "it is 6.0" in done.stdout and "bait" not in done.stdout + done.stderr
