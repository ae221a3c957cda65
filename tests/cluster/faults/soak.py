"""Trains for minutes while a random task is killed every few seconds: `make soak`, with SOAK_ARGS for its options.

Two parameter servers, four workers of which the first is the chief, and a client that is never killed, which shows what
many recoveries leave behind. What was killed is started again after half a second, as whoever looks after a cluster
does. Nothing may hang: each process takes a step at least every half minute. Nothing may leak: what a process holds is
noted when it has settled, and compared with what it holds at its end.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.cluster.faults import cells
from tests.cluster.faults.lab import Lab, Process

PS: Final = ("ps", "ps:1")
WORKERS: Final = ("chief", "worker", "worker:2", "worker:3")
CLIENT: Final = "client"
_AWAY_SECONDS: Final = 0.5
_PAUSE_SECONDS: Final = 0.05
"""Between the steps of a process: what is watched is not how fast they are."""
_SILENT_SECONDS: Final = 30.0
_SETTLED_SECONDS: Final = 20.0
"""After which a process has met all its peers, and its pools and caches have their size."""
_LIMIT_SECONDS: Final = 60.0
_MOST_MORE: Final = {"threads": 8, "sockets": 8, "memory": 16, "files": 24, "MB": 24}
"""What a process may hold more at its end than when it had settled."""


@dataclass
class Life:
    """One process of the soak, from its start."""

    process: Process
    begun: float
    settled: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    heard: float = 0.0
    steps: int = 0


@dataclass
class Result:
    """What came of it."""

    seconds: float
    kills: dict[str, int]
    steps: int
    recoveries: int
    lost: int
    twice: int
    longest_pause: float
    """The longest time in which a process that was not killed took no step."""
    growth: dict[str, dict[str, int]]
    """By role, what the process that lived for longest held more at its end than when it had settled."""

    def text(self) -> str:
        """In a sentence or two."""
        kills = ", ".join(f"{role} {count}" for role, count in sorted(self.kills.items()))
        growth = "; ".join(
            f"{role} " + " ".join(f"{count:+d} {kind}" for kind, count in found.items())
            for role, found in sorted(self.growth.items())
        )
        return (
            f"{self.seconds:.0f} s, {sum(self.kills.values())} kills ({kills}), {self.steps} steps acknowledged, "
            f"{self.recoveries} recoveries of sessions; {self.lost} updates lost with parameter servers, "
            f"{self.twice} applied twice; longest pause of a process {self.longest_pause:.1f} s; "
            f"held at the end beyond what was held after {_SETTLED_SECONDS:.0f} s: {growth or 'nothing to compare'}"
        )


class Soak:
    """Runs it; AssertionError where something hangs, leaks or ends."""

    def __init__(self, lab: Lab, seconds: float, every: float, seed: int) -> None:
        self._lab = lab
        self._seconds, self._every = seconds, every
        self._chance = random.Random(seed)
        self._lives: list[Life] = []
        self._kills: dict[str, int] = {}
        self._longest_pause = 0.0
        per_life = int((seconds + 2 * _LIMIT_SECONDS) / _PAUSE_SECONDS)
        self._size = per_life * (len(WORKERS) + int(seconds / every) + 1)
        self._per_life = per_life

    def run(self) -> Result:
        """All of it."""
        lab = self._lab
        for role in (*PS, *WORKERS, CLIENT):
            self._start(role)
        begun = time.monotonic()
        self._until_all_train(begun)
        begun = time.monotonic()
        number = 0
        while (number + 1) * self._every <= self._seconds:
            number += 1
            self._watch(begun + number * self._every)
            role = self._chance.choice((*PS, *WORKERS))
            self._kills[role] = self._kills.get(role, 0) + 1
            process = lab.latest[role]
            os.kill(process.pid, signal.SIGKILL)
            lab.ended(process)
            self._note()
            self._watch(time.monotonic() + _AWAY_SECONDS)
            self._start(role)
            self._say(time.monotonic() - begun, role)
        self._watch(begun + self._seconds)
        self._until_all_train(time.monotonic())
        seconds = time.monotonic() - begun
        self._note()
        self._finish()
        return self._result(seconds)

    def _start(self, role: str) -> None:
        arguments = {}
        if role in WORKERS:
            place = self._per_life * sum(life.process.role in WORKERS for life in self._lives)
            arguments = {
                "save_steps": 100, "size": self._size, "tags": (place, place + self._per_life),
                "pause": _PAUSE_SECONDS, "max_recoveries": 1000,
            }  # fmt: skip
        elif role == CLIENT:
            arguments = {"pause": _PAUSE_SECONDS}
        process = self._lab.start(role, **arguments)
        now = time.monotonic()
        self._lives.append(Life(process, now, heard=now))

    def _living(self) -> list[Life]:
        return [life for life in self._lives if life.process.status is None]

    def _watch(self, until: float) -> None:
        """Takes in events until a time, and looks whether somebody is silent or has settled."""
        while (now := time.monotonic()) < until:
            self._lab.wait(lambda: True, "nothing")
            self._lab._take(min(0.5, until - now))
            for life in self._living():
                acknowledged = life.process.acknowledged
                for at, _, _ in acknowledged[life.steps :]:
                    self._longest_pause = max(self._longest_pause, at - life.heard)
                    life.heard = at
                life.steps = len(acknowledged)
                silent = now - life.heard
                assert life.process.role in PS or silent < _SILENT_SECONDS, (
                    f"{life.process.name} took no step for {silent:.0f} s\n{self._lab.story()}"
                )
                if not life.settled and now - life.begun > _SETTLED_SECONDS:
                    life.settled = self._holds(life.process)
                elif life.settled:
                    life.last = self._holds(life.process)

    def _until_all_train(self, since: float) -> None:
        for role in (*WORKERS, CLIENT):
            self._lab.wait(
                lambda p=self._lab.latest[role]: any(at > since for at, _, _ in p.acknowledged),
                f"{role} to train",
                _LIMIT_SECONDS,
            )

    def _holds(self, process: Process) -> dict[str, int]:
        found = self._lab.holds(process)
        resident = Path(f"/proc/{process.pid}/statm").read_text().split()
        found["MB"] = (int(resident[1]) - int(resident[2])) * os.sysconf("SC_PAGE_SIZE") >> 20
        return found

    def _note(self) -> None:
        """Compares what the processes hold with what they held."""
        for life in self._lives:
            for kind, count in self._more(life).items():
                assert count <= _MOST_MORE[kind], (
                    f"{life.process.name} has {count} {kind} more than when it had settled: {life.last}"
                )

    @staticmethod
    def _more(life: Life) -> dict[str, int]:
        return {kind: life.last[kind] - count for kind, count in life.settled.items()} if life.last else {}

    def _say(self, seconds: float, role: str) -> None:
        held = {life.process.name: life.last for life in self._living() if life.last}
        total = {k: sum(h[k] for h in held.values()) for k in _MOST_MORE}
        steps = sum(len(p.acknowledged) for p in self._lab.processes.values())
        text = ", ".join(f"{count} {kind}" for kind, count in total.items())
        print(
            f"{seconds:5.0f} s  killed {role:9} {steps:7} steps  {len(held)} settled processes: {text}",
            flush=True,
        )

    def _finish(self) -> None:
        lab = self._lab
        for role in (CLIENT, *WORKERS[1:], WORKERS[0]):
            lab.tell(lab.latest[role], "finish")
            assert lab.ended(lab.latest[role], _LIMIT_SECONDS) == 0, lab.story()
        lab.start("stopper")
        for role in (*PS, "stopper"):
            assert lab.ended(lab.latest[role], 10) == 0, lab.story()
        assert not lab.left(), f"left: {lab.left()}"

    def _result(self, seconds: float) -> Result:
        lost, twice = cells.applied(self._lab, f"{self._lab.folder}/model")
        assert not twice, f"{twice} gradients were applied twice"
        growth: dict[str, dict[str, int]] = {}
        longest: dict[str, float] = {}
        for life in self._lives:
            role = life.process.role.partition(":")[0]
            if life.last and life.steps >= longest.get(role, 0):
                longest[role] = life.steps
                growth[role] = self._more(life)
        acknowledged = sum(len(p.acknowledged) for p in self._lab.processes.values())
        recoveries = sum("Recovery " in event.text for event in self._lab.events)
        return Result(
            seconds, self._kills, acknowledged, recoveries, lost, twice, self._longest_pause, growth
        )


def soak(seconds: float, every: float, seed: int) -> Result:
    """Runs one."""
    with Lab(ps=len(PS), workers=len(WORKERS)) as lab:
        return Soak(lab, seconds, every, seed).run()


def main(arguments: Sequence[str]) -> int:
    """The program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="how long it lasts (600)")
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two kills (10)")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of who is killed (1)")
    options = parser.parse_args(arguments)
    print(soak(options.seconds, options.every, options.seed).text())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
