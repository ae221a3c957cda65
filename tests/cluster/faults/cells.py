"""One cell of the table: a fault at a moment, what happened, and in how many seconds.

The process at the moment stops there by itself, and goes on once the fault has been made: so the moment is exact. What
was killed is started again after half a second, as whoever looks after a cluster does; what was stopped goes on after
seven seconds, which is longer than its peers wait for a sign of life.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

import graphflow as gf
from tests.cluster.faults.lab import Lab, Process
from tests.cluster.faults.task import LIFE

FAULTS: Final = ("SIGKILL", "SIGTERM", "SIGSTOP")
VICTIMS: Final = ("ps", "chief", "worker", "client")
MOMENTS: Final = ("connect", "init", "step", "save", "restore", "shutdown")
STOPPED_SECONDS: Final = 7.0
AWAY_SECONDS: Final = 0.5
LIMIT_SECONDS: Final = 20.0
"""In which everything goes on after the cause is gone."""


@dataclass
class Outcome:
    """What happened in a cell: seconds are None where there was nothing to measure."""

    fault: str
    victim: str
    moment: str
    noticed: float | None = None
    """From the fault to the first word of another process about it."""
    resumed: float | None = None
    """From the restart, or SIGCONT, until every process trains again."""
    seconds: float = 0.0
    """From the fault to the end of all processes."""
    lost: int = 0
    """Acknowledged updates that are not in the last checkpoint."""
    twice: int = 0
    backwards: int = 0
    """How many steps the global step went back."""
    recoveries: int = 0

    def text(self) -> str:
        """The cell in the table."""
        parts = []
        if self.noticed is not None:
            parts.append(f"noticed in {self.noticed:.1f} s")
        if self.resumed is not None:
            parts.append(f"goes on {self.resumed:.1f} s after its return")
        elif self.moment == "shutdown":
            parts.append(f"all ended in {self.seconds:.1f} s")
        if self.backwards:
            parts.append(f"back by {self.backwards} steps, as logged")
        parts.append(f"{self.lost} updates lost" if self.lost else "nothing lost")
        return "; ".join(parts)


def run(fault: str, victim: str, moment: str) -> Outcome:
    """Makes a cell happen; Late where something hangs, AssertionError where something is wrong."""
    with Lab() as lab:
        return _Cell(lab, fault, victim, moment).run()


class _Cell:
    def __init__(self, lab: Lab, fault: str, victim: str, moment: str) -> None:
        self.lab = lab
        self.outcome = Outcome(fault, victim, moment)
        self.fault, self.victim, self.moment = fault, victim, moment
        self.anchor = (
            "chief"
            if victim == "ps" or (victim == "worker" and moment in ("init", "save", "restore"))
            else victim
        )
        self.all_end = victim == "ps" and moment == "shutdown"
        """The worker is at its end, too: without the chief, nobody restores what a parameter server has lost."""
        self.with_client = victim == "client"

    def run(self) -> Outcome:
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
            lab.tell(lab.latest[self.anchor], "finish")
        lab.heard(self.anchor, f"AT {self.moment}")
        if self.victim == "worker" and self.anchor == "chief":
            lab.heard("worker", "CONNECTS")
        begun = time.monotonic()
        self.strike()
        back = time.monotonic()
        anchors = lab.latest[self.anchor]
        lab.tell(anchors, "go")
        if self.moment != "shutdown" or (self.fault != "SIGSTOP" and not self.all_end):
            self.until_all_train(back)
            self.outcome.resumed = max(self.first_after(p, back) for p in self.trainers()) - back
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
            gf.get_variable("counts", initializer=np.zeros(1 << 16, np.float32))
            gf.get_variable("weights", initializer=np.full(16, 40, np.float32))
            with gf.Session() as session:
                session.run(gf.global_variables_initializer())
                session.run(step.assign(40))
                gf.train.Saver(sharded=False).save(session, f"{self.lab.folder}/model/model.ckpt", step)

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
        lab, process = self.lab, self.lab.latest[self.victim]
        os.kill(process.pid, getattr(signal, self.fault))
        if process.role != self.anchor:
            lab.tell(lab.latest[self.anchor], "go")
            if self.all_end:
                lab.tell(lab.latest["worker"], "go")
        if self.fault == "SIGSTOP":
            self.pass_time(STOPPED_SECONDS)
            os.kill(process.pid, signal.SIGCONT)
            return
        lab.ended(process)
        self.pass_time(AWAY_SECONDS)
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
        roles = [r for r in ("client", "worker", "chief") if r in lab.latest]
        for role in roles:
            lab.tell(lab.latest[role], "finish")
            status = lab.ended(lab.latest[role], LIMIT_SECONDS)
            assert status == 0, f"{role} ended with {status}\n{lab.story()}"
        stopped = gf.train.stop_cluster(f"zmq://{lab.cluster['ps'][0]}", 1.0)
        assert lab.ended(lab.latest["ps"], 5) == 0, lab.story()
        del stopped

    def notice(self, begun: float) -> None:
        """When another process first spoke of the victim."""
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
        counts = gf.train.load_variable(f"{lab.folder}/model", "counts")
        acknowledged = {
            tag
            for p in lab.processes.values()
            if p.role in ("chief", "worker")
            for _, tag, _ in p.acknowledged
        }
        outcome.lost = sum(bool(counts[tag] == 0) for tag in acknowledged)
        outcome.twice = int((counts > 1).sum())
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
        before_first_save = (self.victim, self.moment) == ("chief", "init")
        if (
            self.victim != "ps"
            and not (self.victim == "client" and self.moment == "restore")
            and not before_first_save
        ):
            assert not outcome.lost, f"{outcome.lost} acknowledged updates were lost\n{lab.story()}"
            assert outcome.backwards <= 0, lab.story()
        assert counts.shape[0] > 4 * LIFE


if __name__ == "__main__":
    import sys

    print(run(*sys.argv[1:4]).text())
