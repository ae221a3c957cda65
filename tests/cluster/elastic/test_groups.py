"""Protects `graphflow launch --standalone` and `--nnodes`: workers that come and go, as processes, train on as one.

Each step counts once: a group goes on from the newest checkpoint, one that has ended in order from its last step. And
all workers have the same model, to the bit, after each step.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graphflow._core.transport import keys
from tests.cluster.elastic.worker_of_group import SAVE_STEPS

PROJECT = Path(__file__).resolve().parents[3]
WITHIN = 240.0

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="children end with their launcher as on Linux"
)


class Launchers:
    """The launchers of a test, each with its own output."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._began: list[tuple[subprocess.Popen[bytes], Path]] = []

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """Begins one with these options and this program."""
        path = self.folder / f"launcher {len(self._began)}"
        with path.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "graphflow.cli", "launch", *words],
                stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": str(PROJECT), "NO_COLOR": "1"},
            )  # fmt: skip
        self._began.append((process, path))
        return process

    def text(self, which: int = -1) -> str:
        """What a launcher and its workers have said."""
        return self._began[which][1].read_text()

    def until(self, there: Callable[[], object], what: str) -> None:
        """Waits for a state."""
        limit = time.monotonic() + WITHIN
        while not there():
            texts = "\n".join(f"--- {path.name}\n{path.read_text()[-3000:]}" for _, path in self._began)
            assert time.monotonic() < limit, f"waited for {what}\n{texts}"
            time.sleep(0.02)

    def ended(self, process: subprocess.Popen[bytes]) -> int:
        """Waits for the end of a launcher: its status."""
        self.until(lambda: process.poll() is not None, "the end of a launcher")
        return process.returncode

    def rendezvous(self) -> str:
        """The address that the first launcher names."""
        self.until(lambda: "--rendezvous" in self.text(0), "the address of the rendezvous")
        return re.findall(r"--rendezvous (\S+)", self.text(0))[0]

    def close(self) -> None:
        for process, _ in self._began:
            if process.poll() is None:
                process.kill()
            process.wait()


@pytest.fixture
def launchers(tmp_path: Path) -> Iterator[Launchers]:
    found = Launchers(tmp_path)
    yield found
    found.close()


class Trail:
    """What the workers of all groups have written down: by generation and rank, the lines of each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> dict[int, dict[int, list[tuple[int, int, float, str]]]]:
        """The steps, sizes, counts and models of each worker; a line that is not whole yet is left out."""
        found: dict[int, dict[int, list[tuple[int, int, float, str]]]] = {}
        for path in self._folder.glob("trail_*"):
            _, generation, rank = path.name.split("_")
            lines = [line.split() for line in path.read_text().split("\n")[:-1]]
            rows = [(int(step), int(size), float(count), model) for step, size, count, model in lines]
            found.setdefault(int(generation), {})[int(rank)] = rows
        return dict(sorted(found.items()))

    def steps_with(self, size: int, after: int = 0) -> list[tuple[int, int]]:
        """The generation and step of each step of the chief's that so many workers have made, in later groups."""
        return [
            (generation, row[0])
            for generation, workers in self.read().items()
            for row in workers.get(0, [])
            if row[1] == size and generation > after
        ]

    def check(self) -> list[tuple[int, int, int]]:
        """Of each group that made steps its size, and the step from which it went on and that it came to."""
        found = []
        for workers in self.read().values():
            steps = [row[0] for row in workers.get(0, [])]
            if not steps:
                continue
            assert steps == list(range(steps[0], steps[-1] + 1)), "a step is there twice, or not at all"
            by_step: dict[int, set[str]] = {}
            for rows in workers.values():
                for step, _, count, model in rows:
                    assert abs(count - step) < 0.01, "an update counts twice, or not at all"
                    by_step.setdefault(step, set()).add(model)
            assert all(len(models) == 1 for models in by_step.values()), "the workers' models differ"
            assert max(by_step) <= steps[-1] + 1
            found.append((workers[0][0][1], steps[0] - 1, max(by_step)))
        return found


def finish(folder: Path, trail: Trail) -> None:
    """Has all workers end at one step that none has come to yet."""
    workers = trail.read()[max(trail.read())]
    (folder / "last.new").write_text(str(30 + max(row[0] for rows in workers.values() for row in rows)))
    (folder / "last.new").rename(folder / "last")


def test_a_node_that_is_lost_is_left_out_and_one_that_comes_is_taken_in(
    launchers: Launchers, tmp_path: Path
) -> None:
    keys.make(tmp_path / "keys")
    program = [
        "--keys",
        str(tmp_path / "keys"),
        str(Path(__file__).with_name("worker_of_group.py")),
        str(tmp_path),
    ]
    trail = Trail(tmp_path)
    first = launchers.begin("--nnodes", "1:2", *program)
    join = ["--nnodes", "1:2", "--rendezvous", launchers.rendezvous(), *program]
    lost = launchers.begin(*join)
    launchers.until(lambda: len(trail.steps_with(2)) > 12, "steps of two workers")
    both = max(trail.read())
    lost.kill()
    launchers.until(lambda: len(trail.steps_with(1, both)) > 3, "steps of one worker")
    alone = max(trail.read())
    leaves = launchers.begin(*join)
    launchers.until(lambda: len(trail.steps_with(2, alone)) > 3, "steps of two workers again")
    again = max(trail.read())
    leaves.terminate()
    assert launchers.ended(leaves) == 128 + signal.SIGTERM
    launchers.until(lambda: len(trail.steps_with(1, again)) > 3, "steps of one worker again")
    finish(tmp_path, trail)
    assert launchers.ended(first) == 0, launchers.text(0)
    *_, two, one, two_again, one_again = trail.check()
    assert [group[0] for group in (two, one, two_again, one_again)] == [2, 1, 2, 1]
    # After a loss training goes on from the newest checkpoint, otherwise from where it was, which may not be noted yet.
    assert two[2] - SAVE_STEPS - 1 <= one[1] <= two[2]
    assert 0 <= two_again[1] - one[2] <= 1 and 0 <= one_again[1] - two_again[2] <= 1
    text = launchers.text(0)
    assert "is lost: nothing was heard of it for" in text and "joins" in text and "leaves" in text


def test_a_worker_that_is_killed_on_one_machine_has_the_group_begin_anew(
    launchers: Launchers, tmp_path: Path
) -> None:
    program = [str(Path(__file__).with_name("worker_of_group.py")), str(tmp_path)]
    trail = Trail(tmp_path)
    launcher = launchers.begin("--standalone", "--workers", "2", "--restart", "1", *program)
    launchers.until(lambda: len(trail.steps_with(2)) > 12, "steps of two workers")
    children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
    worker = next(pid for pid in children if b"TASK_INDEX=1" in Path(f"/proc/{pid}/environ").read_bytes())
    os.kill(int(worker), signal.SIGKILL)
    launchers.until(lambda: len(trail.steps_with(2, 1)) > 3, "steps of the next group")
    finish(tmp_path, trail)
    assert launchers.ended(launcher) == 0, launchers.text()
    (size, start, end), (size_again, start_again, _) = trail.check()
    assert (size, size_again, start) == (2, 2, 0)
    assert end - SAVE_STEPS - 1 <= start_again <= end + 1
    assert "worker 1 failed (killed by SIGKILL" in launchers.text()


WAITS = """
import os, sys, time
generation = os.environ["GRAPHFLOW_INCARNATION"].partition(".")[0]
open(f"{sys.argv[1]}/{sys.argv[2]} {generation}", "w").write(str(os.getpid()))
time.sleep(600)
"""


def _has_ended(path: Path) -> bool:
    """Whether the process whose number a file has is gone, or only still to be reaped."""
    try:
        return Path(f"/proc/{path.read_text()}/stat").read_text().rpartition(") ")[2][0] in "ZX"
    except FileNotFoundError:
        return True


def test_the_workers_of_a_launcher_that_stands_still_have_ended_before_others_go_on_without_them(
    launchers: Launchers, tmp_path: Path
) -> None:
    program = tmp_path / "waits.py"
    program.write_text(WAITS)
    launchers.begin("--nnodes", "1:2", str(program), str(tmp_path), "a")
    words = ["--nnodes", "1:2", "--rendezvous", launchers.rendezvous(), str(program), str(tmp_path), "b"]
    stopped = launchers.begin(*words)
    launchers.until(lambda: list(tmp_path.glob("b *")), "the second node")
    (path,) = tmp_path.glob("b *")
    generation = int(path.name.split()[1])
    launchers.until(path.read_text, "the process of its worker")
    stopped.send_signal(signal.SIGSTOP)
    launchers.until((tmp_path / f"a {generation + 1}").exists, "the first node to go on alone")
    assert _has_ended(path), "there were two groups"
    stopped.send_signal(signal.SIGCONT)
    launchers.until((tmp_path / f"b {generation + 2}").exists, "both nodes")
    assert not Path(f"/proc/{path.read_text()}").exists()
    assert "the rendezvous has not answered for" in launchers.text(1)
    stopped.terminate()
    assert launchers.ended(stopped) == 128 + signal.SIGTERM


def test_a_launcher_says_where_it_waits_and_that_its_keys_are_others(
    launchers: Launchers, tmp_path: Path
) -> None:
    program = tmp_path / "waits.py"
    program.write_text(WAITS)
    for folder in ("ours", "theirs"):
        keys.make(tmp_path / folder)
    waits = launchers.begin(
        "--nnodes", "2", "--keys", str(tmp_path / "ours"), str(program), str(tmp_path), "a"
    )
    launchers.until(
        lambda: "1 of at least 2 nodes" in launchers.text(0), "the first node to say on whom it waits"
    )
    refused = launchers.begin(
        "--nnodes", "2", "--rendezvous", launchers.rendezvous(), "--keys", str(tmp_path / "theirs"),
        str(program), str(tmp_path), "b",
    )  # fmt: skip
    launchers.until(lambda: "it refuses the key or token of this node" in launchers.text(), "the refusal")
    for process in (refused, waits):
        process.send_signal(signal.SIGINT)
        assert launchers.ended(process) == 128 + signal.SIGINT
