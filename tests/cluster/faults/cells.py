"""One cell of the table: a fault at a moment, what happened, and in how many seconds.

The process at the moment stops there by itself, and goes on once the fault has been made: so the moment is exact. What
was killed is started again after half a second, as whoever looks after a cluster does; what was stopped or cut off goes
on after seven seconds, which is longer than its peers wait for a sign of life. After each cell nothing may be left.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np

import graphflow as gf
from tests.cluster.faults import frames
from tests.cluster.faults.disk import Disk
from tests.cluster.faults.lab import Lab, Process
from tests.cluster.faults.network import Network
from tests.cluster.faults.task import TAGS

SIGNALS: Final = ("SIGKILL", "SIGTERM", "SIGSTOP")
LINKS: Final[dict[str, dict[str, Any]]] = {
    "cut": {"cut": True},
    "one-way cut": {"cut": True, "one_way": True},
    "short cut": {"cut": True},
    "delay": {"delay": 0.1, "jitter": 0.1},
    "loss": {"loss": 0.1},
}
"""What happens to the links of the victim, and which of them."""
LONG_STOP: Final = "SIGSTOP beyond the lease"
FULL_DISK: Final = "full disk"
ROWS: Final = (
    *((fault, victim) for fault in SIGNALS for victim in ("ps", "chief", "worker", "client")),
    (LONG_STOP, "client"),
    *(("cut", victim) for victim in ("ps", "chief", "worker", "client")),
    *(("one-way cut", victim) for victim in ("ps", "worker")),
    *((fault, "all") for fault in ("short cut", "delay", "loss")),
    *((f"{kind} frames", "ps") for kind in frames.KINDS),
    (FULL_DISK, "chief"),
)
"""Faults, and to whom they happen."""
MOMENTS: Final = ("connect", "init", "step", "save", "rename", "restore", "shutdown")
"""At "save" nothing is written yet; at "rename" the temporary file is, and has not got its name."""
SECONDS: Final = {
    "short cut": 0.7,
    LONG_STOP: 20.0,
    FULL_DISK: 1.0,
    **{f"{k} frames": 1.5 for k in frames.KINDS},
}
"""How long a fault lasts that is not SIGKILL or SIGTERM, if not seven seconds."""
STOPPED_SECONDS: Final = 7.0
AWAY_SECONDS: Final = 0.5
LIMIT_SECONDS: Final = 100.0
"""In which everything goes on after the cause is gone."""
_UNDISTURBED_SECONDS: Final = 0.3
_SETTLING_SECONDS: Final = 60.0
"""In which idle threads end, and what was held for a peer that is gone is freed."""
_MORE: Final = {"threads": 4, "sockets": 3, "memory": 8, "files": 10}
"""By how much undisturbed processes differ: threads of pools, memory that is used again."""


@dataclass
class Outcome:
    """What happened in a cell: seconds are None where there was nothing to measure."""

    fault: str
    victim: str
    moment: str
    noticed: float | None = None
    """From the fault to the first word of another process about it."""
    resumed: float | None = None
    """From the restart, SIGCONT or the mended link until every process trains again."""
    seconds: float = 0.0
    """From the fault to the end of all processes."""
    lost: int = 0
    """Acknowledged updates that are not in the last checkpoint."""
    twice: int = 0
    backwards: int = 0
    """How many steps the global step went back."""
    recoveries: int = 0
    sent: int = 0
    """Frames that nobody should have sent."""
    failed: str = ""
    """The error of the victim, where the fault is one that ends it."""
    network: str = ""
    """What the network was made of."""

    def text(self) -> str:
        """The cell in the table."""
        parts = [f"{self.sent} frames"] if self.sent else []
        if self.failed:
            parts.append(f"ended with {self.failed}")
        if self.noticed is not None:
            parts.append(f"noticed in {self.noticed:.1f} s")
        if self.resumed is not None:
            returns = self.fault in ("SIGKILL", "SIGTERM") or self.failed
            if (
                not returns
                and not self.recoveries
                and self.noticed is None
                and self.resumed < _UNDISTURBED_SECONDS
            ):
                parts.append("undisturbed")
            else:
                parts.append(
                    f"goes on {self.resumed:.1f} s after {'its return' if returns else 'the end of it'}"
                )
        elif self.moment == "shutdown":
            parts.append(f"all ended in {self.seconds:.1f} s")
        if self.backwards:
            parts.append(f"back by {self.backwards} steps, as logged")
        parts.append(f"{self.lost} updates lost" if self.lost else "nothing lost")
        return "; ".join(parts)


def run(fault: str, victim: str, moment: str) -> Outcome:
    """Makes a cell happen; Late where something hangs, AssertionError where something is wrong."""
    with ExitStack() as stack:
        network = stack.enter_context(Network()) if fault in LINKS else None
        lab = stack.enter_context(Lab(network))
        outcome = _Cell(lab, stack, fault, victim, moment).run()
        outcome.network = network.kind if network else ""
        return outcome


@cache
def undisturbed(over_network: bool) -> dict[str, dict[str, int]]:
    """What the processes of a lab hold to which nothing happens, by role."""
    with ExitStack() as stack:
        lab = stack.enter_context(Lab(stack.enter_context(Network()) if over_network else None))
        roles = ("ps", "chief", "worker", "client")
        for role in roles:
            lab.start(role)
        trainers = [lab.latest[role] for role in roles[1:]]
        lab.wait(lambda: all(len(p.acknowledged) >= 10 for p in trainers), "all to train", 60)
        begun = time.monotonic()
        lab.wait(lambda: time.monotonic() > begun + 4.0, "clients to have told that they are there")
        return {role: lab.holds(lab.latest[role]) for role in roles}


def applied(lab: Lab, model: str) -> tuple[int, int]:
    """How many acknowledged updates are not in the last checkpoint, and how many are there twice."""
    counts = gf.train.load_variable(model, "counts")
    trainers = [p for p in lab.processes.values() if p.role in ("chief", "worker")]
    acknowledged = {tag for process in trainers for _, tag, _ in process.acknowledged}
    return sum(bool(counts[tag] == 0) for tag in acknowledged), int((counts > 1).sum())


class _Cell:
    def __init__(self, lab: Lab, stack: ExitStack, fault: str, victim: str, moment: str) -> None:
        self.lab, self.stack = lab, stack
        self.outcome = Outcome(fault, victim, moment)
        self.fault, self.victim, self.moment = fault, victim, moment
        self.anchor = self.who_stops()
        self.dies = fault in ("SIGKILL", "SIGTERM")
        self.all_end = self.dies_or_stops and victim == "ps" and moment == "shutdown"
        """The worker is at its end, too: without the chief, nobody restores what a parameter server has lost."""
        self.with_client = victim == "client"
        self.model = f"{lab.folder}/model"

    def who_stops(self) -> str:
        """Whose moment it is: the parameter server writes the client's checkpoints, and has no other moments."""
        if self.victim in ("ps", "all") or (
            self.victim == "worker" and self.moment in ("init", "save", "rename", "restore")
        ):
            return "chief"
        return "ps" if (self.victim, self.moment) == ("client", "rename") else self.victim

    @property
    def dies_or_stops(self) -> bool:
        return self.fault in SIGNALS

    def run(self) -> Outcome:
        held = undisturbed(self.fault in LINKS)
        if self.fault == FULL_DISK:
            self.disk = self.stack.enter_context(Disk(self.model))
        if self.moment == "restore" and self.victim != "client":
            self.earlier()
        lab = self.lab
        for role in ("ps", "chief", "worker", *(["client"] if self.with_client else [])):
            at_it = role == self.anchor or (role == "worker" and self.all_end)
            lab.start(role, *([self.moment] if at_it else []))
        if self.moment == "restore" and self.victim == "client":
            self.client_restores()
        if self.moment == "shutdown":
            self.until_all_train(0.0)
            if self.all_end:
                lab.tell(lab.latest["worker"], "finish")
                lab.heard("worker", "AT shutdown")
            elif (
                self.anchor == "chief" and not self.dies and self.fault != FULL_DISK
            ):  # So that its last checkpoint has everything.
                for role in ("worker", *(["client"] if self.with_client else [])):
                    lab.tell(lab.latest[role], "finish")
                    assert lab.ended(lab.latest[role]) == 0, lab.story()
            lab.tell(lab.latest[self.anchor], "finish")
        lab.heard(self.anchor, f"AT {self.moment}")
        if self.victim == "worker" and self.anchor == "chief":
            lab.heard("worker", "CONNECTS")
        survivors = [p for p in lab.latest.values() if p.status is None]
        begun = time.monotonic()
        self.strike()
        back = time.monotonic()
        lab.tell(lab.latest[self.anchor], "go")
        if self.moment != "shutdown" or (self.dies and not self.all_end) or self.outcome.failed:
            self.until_all_train(back)
            self.outcome.resumed = max(self.first_after(p, back) for p in self.trainers()) - back
        self.survivors_hold_no_more([p for p in survivors if p.status is None], held)
        self.finish()
        self.outcome.seconds = time.monotonic() - begun
        self.notice(begun)
        self.check()
        return self.outcome

    # ---- before ---------------------------------------------------------------------------------------------------

    def earlier(self) -> None:
        """An earlier training, in this process, that left a checkpoint."""
        with gf.Graph().as_default():
            step = gf.train.get_or_create_global_step()
            gf.get_variable("counts", initializer=np.zeros(TAGS, np.float32))
            gf.get_variable("weights", initializer=np.full(16, 40, np.float32))
            with gf.Session() as session:
                session.run(gf.global_variables_initializer())
                session.run(step.assign(40))
                gf.train.Saver(sharded=False).save(session, f"{self.model}/model.ckpt", step)

    def client_restores(self) -> None:
        """The client has saved; the parameter server is started again, so that the client restores."""
        lab = self.lab
        lab.heard("client", "SAVED")
        os.kill(lab.latest["ps"].pid, signal.SIGKILL)
        lab.ended(lab.latest["ps"])
        lab.start("ps")

    # ---- the fault ------------------------------------------------------------------------------------------------

    def strike(self) -> None:
        """Does it, and undoes it."""
        lab = self.lab
        seconds = SECONDS.get(self.fault, STOPPED_SECONDS)
        if self.fault in LINKS:
            assert lab.network is not None
            lab.network.disturb(self.victim, **LINKS[self.fault])
            lab.tell(lab.latest[self.anchor], "go")
            self.pass_time(seconds)
            one_way = LINKS[self.fault].get("one_way", False)
            lab.network.disturb(self.victim, one_way=one_way)
        elif self.fault == FULL_DISK:
            self.fill_disk(seconds)
        elif self.fault.endswith("frames"):
            sender = frames.Sender(self.fault.partition(" ")[0], lab.cluster["ps"][0])
            with sender:
                lab.tell(lab.latest[self.anchor], "go")
                self.pass_time(seconds)
            self.outcome.sent = sender.count
        else:
            self.signal(seconds)

    def signal(self, seconds: float) -> None:
        """Kills a process and starts it again, or stops it for a while."""
        lab, process = self.lab, self.lab.latest[self.victim]
        os.kill(process.pid, getattr(signal, self.fault.partition(" ")[0]))
        if process.role != self.anchor:
            lab.tell(lab.latest[self.anchor], "go")
            if self.all_end:
                lab.tell(lab.latest["worker"], "go")
        if not self.dies:
            self.pass_time(seconds)
            if self.fault == LONG_STOP:
                (ps,) = (
                    t
                    for t in gf.train.cluster_status(f"zmq://{lab.cluster['ps'][0]}", 5.0)
                    if "ps" in t["task"]
                )
                assert not ps["sessions"] and not ps["steps"]["in_flight_as_master"], ps
            os.kill(process.pid, signal.SIGCONT)
            return
        lab.ended(process)
        self.pass_time(AWAY_SECONDS)
        lab.start(self.victim)

    def fill_disk(self, seconds: float) -> None:
        """Fills the disk of the checkpoints for a while; a process that ends of it is started again after that."""
        lab, process = self.lab, self.lab.latest[self.victim]
        process.may_fail = True
        with self.disk.full(process.pid):
            lab.tell(process, "go")
            self.pass_time(seconds)
        if process.status is not None:
            said = lab.log(process)
            assert "ResourceExhaustedError" in said and self.model in said, lab.story()
            self.outcome.failed = "ResourceExhaustedError"
            lab.start(self.victim)

    def pass_time(self, seconds: float) -> None:
        """Takes in events for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.lab._take(min(0.1, max(0.0, end - time.monotonic())))

    # ---- after ----------------------------------------------------------------------------------------------------

    def trainers(self) -> list[Process]:
        return [
            self.lab.latest[role] for role in ("chief", "worker", *(["client"] if self.with_client else []))
        ]

    def until_all_train(self, since: float) -> None:
        """Waits until each process has had three steps since a time."""
        for process in self.trainers():
            self.lab.wait(
                lambda p=process: sum(at > since for at, _, _ in p.acknowledged) >= 3,
                f"three more steps of {process.name}",
                LIMIT_SECONDS,
            )

    def first_after(self, process: Process, since: float) -> float:
        return next(at for at, _, _ in process.acknowledged if at > since)

    def finish(self) -> None:
        """Ends the training: the client, the worker, the chief, whose last checkpoint has everything, and the ps."""
        lab = self.lab
        for role in ("client", "worker", "chief"):
            if role not in lab.latest or lab.latest[role].status == 0:
                continue
            lab.tell(lab.latest[role], "finish")
            status = lab.ended(lab.latest[role], LIMIT_SECONDS)
            assert status == 0, f"{role} ended with {status}\n{lab.story()}"
        lab.start("stopper")
        for role in ("ps", "stopper"):
            assert lab.ended(lab.latest[role], LIMIT_SECONDS) == 0, lab.story()
        assert not lab.left(), f"left: {lab.left()}\n{lab.story()}"

    def survivors_hold_no_more(self, survivors: list[Process], held: dict[str, dict[str, int]]) -> None:
        """Waits until those to whom nothing happened hold what they would hold if nothing had."""

        def beyond() -> list[str]:
            return [
                f"{process.name} has {count} {kind}, not {most}"
                for process in survivors
                if process.status is None
                for kind, count in self.lab.holds(process).items()
                if count > (most := held[process.role][kind] + _MORE[kind])
            ]

        end = time.monotonic() + _SETTLING_SECONDS
        while (found := beyond()) and time.monotonic() < end:
            self.pass_time(0.2)
        assert not found, f"{found}\n{self.lab.story()}"

    def notice(self, begun: float) -> None:
        """When another process first spoke of the victim; before it has connected, nobody can miss it."""
        if self.moment == "connect":
            return
        job = {
            "ps": "/job:ps",
            "chief": "/job:worker/replica:0/task:0",
            "worker": "/job:worker/replica:0/task:1",
        }
        name = job.get(self.victim, "-")
        for event in self.lab.events:
            other = not event.who.startswith(self.victim)
            if (
                other
                and event.at > begun
                and name in event.text
                and ("gone" in event.text or "again" in event.text)
            ):
                self.outcome.noticed = event.at - begun
                return

    def check(self) -> None:
        """What was applied is what was acknowledged, once."""
        lab, outcome = self.lab, self.outcome
        outcome.lost, outcome.twice = applied(lab, self.model)
        for process in lab.processes.values():
            if process.role in ("chief", "worker"):
                steps = [step for _, _, step in process.acknowledged]
                back = max((a - b for a, b in pairwise(steps)), default=0)
                outcome.backwards = max(outcome.backwards, back)
                said = [e.text for e in lab.events if e.who == process.name]
                told = any(
                    "Training goes back" in text or "The global step went back" in text for text in said
                )
                assert back <= 0 or told, f"{process.name} did not say that the step went back\n{lab.story()}"
        outcome.recoveries = sum(e.words[0] == "RECOVERY" for e in lab.events)
        assert not outcome.twice, f"{outcome.twice} gradients were applied twice\n{lab.story()}"
        with_ps = (self.dies and self.victim == "ps") or (self.victim, self.moment) == ("client", "restore")
        if not with_ps:
            assert not outcome.lost, f"{outcome.lost} acknowledged updates were lost\n{lab.story()}"
            assert outcome.backwards <= 0, lab.story()
        if self.fault.endswith("frames") or self.fault == "short cut":
            assert not outcome.recoveries and outcome.noticed is None, lab.story()


if __name__ == "__main__":
    import sys

    found = run(*sys.argv[1:4])
    print(found.text(), f"({found.network})" if found.network else "")
