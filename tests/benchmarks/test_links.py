"""Protects the benchmark of links: its limits, that it says where it cannot run, and that nothing of a link is left."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import links
import namespaces
import pytest
from links import KEYS, PLAIN, RAW, TENSORFLOW, Result


def results(link: str, **seconds: list[float]) -> dict[tuple[str, str], Result]:
    names = {"raw": RAW, "tensorflow": TENSORFLOW, "plain": PLAIN, "keys": KEYS}
    return {(link, names[peer]): Result(taken) for peer, taken in seconds.items()}


def test_limits_are_of_throughput_where_much_moves_and_of_time_where_little_does() -> None:
    good = results(
        "quiet", raw=[1.0, 1.0, 9.0], tensorflow=[4.0, 4.0, 4.0], plain=[1.25, 1.25, 9.0], keys=[4.0] * 3
    )
    assert links.ratio(good, "quiet", PLAIN, RAW, "pull_100mb") == pytest.approx(0.8)
    assert links.ratio(good, "quiet", PLAIN, TENSORFLOW, "null_step") == pytest.approx(0.3125)
    assert links.broken(good, "pull_100mb") == links.broken(good, "null_step") == []
    slow = results("quiet", raw=[1.0], tensorflow=[2.5], plain=[1.5], keys=[2.6])
    assert [line.split(":")[1] for line in links.broken(slow, "push_100mb")] == [
        " graphflow has 1.67 of TensorFlow, at least 2.0",
        " graphflow has 0.67 of raw TCP, at least 0.7",
        " graphflow, keys has 0.96 of TensorFlow, at least 1.0",
    ]
    assert links.broken(slow, "null_step") == ["null_step, quiet: 0.60 of TensorFlow's time, at most 0.4"]
    full = results("1 Gbit/s", raw=[1.0], tensorflow=[1.1], plain=[1.1], keys=[1.2])
    assert links.broken(full, "pull_100mb") == []
    failed = {**good, ("quiet", PLAIN): Result([], "it ended")}
    assert links.broken(failed, "fetch_100mb") == ["quiet, graphflow: it ended"]
    assert "it ended" in links.row(failed, "quiet", "pull_100mb")


def test_without_root_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "argv", ["links.py"])
    assert links.main() == links.CANNOT_RUN
    assert "cannot run here: network namespaces need root" in capsys.readouterr().err


@pytest.fixture
def _can_make_links() -> Iterator[None]:
    try:
        with namespaces.Link():
            pass
    except namespaces.NoLink as error:
        pytest.skip(str(error))
    yield


@pytest.mark.usefixtures("_can_make_links")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_link_however_the_program_ends(number: int) -> None:
    code = (
        "import namespaces, signal, subprocess, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # Whoever runs the tests may have it ignored.\n"
        "with namespaces.Link() as link:\n"
        "    link.limit('100mbit')\n"
        "    child = subprocess.Popen([*link.inside(1), 'sleep', '600'])\n"
        "    while not namespaces.run('ip', 'netns', 'pids', link.names[1]):\n"
        "        time.sleep(0.01)\n"
        "    print(*link.names, flush=True)\n"
        "    time.sleep(600)\n"
    )
    folder = Path(namespaces.__file__).parent
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{folder.parent}:{folder}"},
    )
    assert process.stdout is not None
    try:
        names = process.stdout.readline().split()
        assert len(names) == 2 and set(names) <= set(namespaces.namespaces())
        process.send_signal(number)
        process.wait(60.0)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    if number == signal.SIGKILL:
        namespaces.remove_left_over(namespaces.NAME)
    assert not set(names) & set(namespaces.namespaces())


@pytest.mark.usefixtures("_can_make_links")
def test_processes_at_the_two_ends_have_nothing_in_common_but_the_link() -> None:
    with namespaces.Link() as link:
        number = subprocess.run(
            [*link.inside(0), "sh", "-c", "echo $$"], capture_output=True, text=True
        ).stdout
        assert int(number) < 10, "it has process numbers of its own"
        for end in (0, 1):
            files = subprocess.run(
                [*link.inside(end), "ls", "-A", str(namespaces.LOCAL)], capture_output=True
            )
            assert files.stdout == b"" and files.returncode == 0
