"""Steps of a cluster in simulated time: what clients, masters and tasks do, as the real ones do it.

A client's run goes to its master, which begins the step at each task. A task runs the stages of its devices in order,
each when it has what it receives, and sends what others wait for. When a task is through it tells the master, and the
client gets its answer. Short stages run in the thread of the sockets, long ones in a thread of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

from graphflow._core.common.timeouts import SERVED_AT_ONCE_SECONDS
from graphflow._core.simulation.engine import Clock
from graphflow._core.simulation.machine import SimulatedCluster, stragglers
from graphflow._core.simulation.network import Network, Task
from graphflow._core.simulation.planned import Contribution, PlannedStep, Stage
from graphflow._core.simulation.rounds import Change, Group, Rounds

Watch = Callable[[str, str, str, float, float], None]
"""Is told of what took time: task, row ("CPU:0", "step"), name, from when to when."""


class Client:
    """A program that runs one step after the other.

    first: when its first step began. ended: when each of its steps was through.
    """

    def __init__(self, task: Task, random: Random) -> None:
        self.task = task
        self.random = random
        self.begun = 0.0
        self.first = 0.0
        self.ended: list[float] = []
        self.steps = 0

    def durations(self, since: float) -> list[float]:
        """Seconds of each step that has ended after a moment."""
        times = [self.first, *self.ended]
        return [end - begin for begin, end in pairwise(times) if end > since]


class _Run:
    """One run of the step by one client. rounds: the round that it is in, by name."""

    __slots__ = ("client", "number", "parts", "pending", "rounds")

    def __init__(self, client: Client, number: int) -> None:
        self.client = client
        self.number = number
        self.parts: dict[str, _Part] = {}
        self.pending = 0
        self.rounds: dict[str, int] = {}


class _Part:
    """What a task does of a run. name: of the task in the plan. slower: by what factor it is, in this run.

    next: of each device the number of its next stage; below 0 while one is at work. came: the edges that have brought
    what they bring.
    """

    __slots__ = ("begun", "came", "left", "name", "next", "run", "slower", "stages", "task")

    def __init__(
        self, run: _Run, name: str, task: Task, stages: Sequence[Sequence[Stage]], slower: float
    ) -> None:
        self.run = run
        self.name = name
        self.task = task
        self.stages = stages
        self.slower = slower
        self.next = [0] * len(stages)
        self.left = sum(1 for found in stages if found)
        self.came: set[int] = set()
        self.begun = False


class ClusterRun:
    """A cluster that trains: a client for each worker if the step is one of between-graph training, one otherwise.

    spread: seconds over which the clients begin. watch: told of what takes time, for a trace.
    """

    def __init__(
        self, step: PlannedStep, cluster: SimulatedCluster, replicated: bool, seed: int = 0, spread: float = 0.0,
        watch: Watch | None = None,
    ) -> None:  # fmt: skip
        self.clock = Clock()
        self.network = Network(self.clock, cluster, Random(f"{seed}/network"))
        self.step = step
        self._watch = watch
        self._spread = spread
        self._left = [0]
        """How many steps are still to end."""
        self._factor = stragglers(cluster.stragglers)
        tasks = self.network.tasks
        own = [name for name in tasks if "/job:worker/" in name] if replicated else [step.own]
        self.clients = [Client(tasks[name], Random(f"{seed}/{name}")) for name in own]
        self.rounds: dict[str, Rounds] = {}
        self._changes: dict[tuple[str, int], Change] = {}
        self._groups = self._made_groups()
        self._gathered = 1
        """How many gradients of each variable a round has."""
        self._local: dict[str, Sequence[Sequence[Stage]]] = {
            task: list(devices.values()) for task, devices in step.stages.items()
        }
        for found in step.all_stages():
            if found.arrives is not None:
                self.rounds.setdefault(found.arrives.name, Rounds(found.arrives.needed))
                self._gathered = max(self._gathered, found.arrives.needed)

    def _made_groups(self) -> dict[str, Group]:
        places: dict[str, list[tuple[str, str]]] = {}
        whats: dict[str, Contribution] = {}
        for task, devices in self.step.stages.items():
            for device, stages in devices.items():
                for what in (c for stage in stages for c in stage.awaits):
                    whats[what.name] = what
                    places.setdefault(what.name, []).append((task, device))
        groups = {}
        for name, found in places.items():
            members = [
                (client.task if task == self.step.own else self.network.tasks[task], device)
                for client in self.clients
                for task, device in found
            ]
            groups[name] = Group(self.network, whats[name], members)
        return groups

    # ---- the run as a whole -----------------------------------------------------------------------------------------

    def run(self, steps: int) -> None:
        """Trains until so many more steps have ended for each client, on average.

        Raises:
            RuntimeError: It came to rest before: what it waits for cannot come.
        """
        left = self._left = [steps * len(self.clients)]
        for client in self.clients:
            if not client.steps:
                self.clock.after(client.random.random() * self._spread, self._begin, client)
        if not self.clock.run(lambda: left[0] <= 0):
            raise RuntimeError("The simulated cluster came to rest: its workers wait for what nobody brings.")

    # ---- client and master -----------------------------------------------------------------------------------

    def _begin(self, client: Client) -> None:
        client.begun = self.clock.now
        if not client.steps:
            client.first = client.begun
        client.steps += 1
        run = _Run(client, client.steps)
        costs = self.network.costs
        seconds = costs.own_step if self.step.alone else costs.step
        client.task.host.cores.work(seconds / client.task.speed, self._asked, run)

    def _asked(self, run: _Run) -> None:
        """The master begins the step at each task, at its own one last."""
        own = run.client.task
        # What is of the client's own task in the plan is on that of each client in turn.
        names = sorted(self.step.stages, key=lambda name: name == self.step.own)
        run.pending = len(names)
        for name in names:
            task = own if name == self.step.own else self.network.tasks[name]
            slower = self._factor(run.client.random) if task.job == "worker" else 1.0
            run.parts[name] = _Part(run, name, task, self._local[name], slower)
        for name, part in run.parts.items():
            if part.task is own:
                self._part_begins(part)
            else:
                size = self.step.fed.get(name, 0)
                self.network.tell(own, part.task, size, self._part_begins, part)

    def _part_begins(self, part: _Part) -> None:
        part.begun = True
        if not part.left:
            self._part_ends(part)
        for device in range(len(part.stages)):
            self._look(part, device)

    def _part_ends(self, part: _Part) -> None:
        own = part.run.client.task
        if part.task is own:
            self._told(part.run)
        else:
            self.network.tell(part.task, own, self.step.fetched.get(part.name, 0), self._told, part.run)

    def _told(self, run: _Run) -> None:
        run.pending -= 1
        if run.pending:
            return
        client = run.client
        client.ended.append(self.clock.now)
        self._left[0] -= 1
        if self._watch is not None:
            self._watch(client.task.name, "step", f"step {run.number}", client.begun, self.clock.now)
        self._begin(client)

    # ---- stages -----------------------------------------------------------------------------------------------------

    def _look(self, part: _Part, device: int) -> None:
        """Begins the next stage of a device if what it receives is there; it is not looked for while one runs."""
        stages = part.stages[device]
        at = part.next[device]
        if not part.begun or at < 0 or at >= len(stages):
            return
        stage = stages[at]
        if stage.receives and not part.came.issuperset(stage.receives):
            return
        part.next[device] = ~at  # It is at work.
        self._enter(part, device, stage)

    def _enter(self, part: _Part, device: int, stage: Stage) -> None:
        """Waits as the stage does, then computes it."""
        run = part.run
        seconds = stage.seconds + (stage.crowded if part.task.host.crowded else 0.0)
        if stage.begins is not None:
            run.rounds[stage.begins.name] = self.rounds[stage.begins.name].begin()
        if stage.arrives is not None:
            number = run.rounds[stage.arrives.name]
            then = lambda: self._compute(part, device, stage, seconds)  # noqa: E731
            self.rounds[stage.arrives.name].arrive(number, then)
        elif stage.awaits:
            left = [len(stage.awaits)]

            def one() -> None:
                left[0] -= 1
                if not left[0]:
                    self._compute(part, device, stage, seconds)

            for what in stage.awaits:
                self._groups[what.name].wait(run.number, (part.task, stage.device), one)
        elif stage.claims and run.rounds:
            number = next(iter(run.rounds.values()))
            change = self._changes.setdefault((part.task.name, id(stage)), Change())

            def claimed(makes: bool) -> None:
                takes = self._change_seconds(stage, seconds) if makes else stage.again
                self._compute(part, device, stage, takes, change if makes else None)

            change.claim(number, claimed)
        else:
            self._compute(part, device, stage, seconds)

    def _change_seconds(self, stage: Stage, measured: float) -> float:
        """Core-seconds of the changes of a round: one whole gradient was measured, and as many rows as are said."""
        if stage.rows_of:
            measured = stage.again + (measured - stage.again) * self._gathered / stage.rows_of
        return measured + (self._gathered - 1) * stage.gathered / self.network.costs.reduce_rate

    def _compute(
        self,
        part: _Part,
        device: int,
        stage: Stage,
        seconds: float,
        change: Change | None = None,
    ) -> None:
        task = part.task
        shared = seconds * part.slower * stage.divisible
        seconds = seconds * part.slower + self.network.costs.stage
        done = self._computed, part, device, stage, change, self.clock.now
        at_once = seconds < SERVED_AT_ONCE_SECONDS and not stage.blocks and not self.step.alone
        if at_once and "/device:GPU:" not in stage.device:
            task.computed += seconds
            task.sockets.work(seconds / task.speed, *done)
        else:
            seconds += 0.0 if self.step.alone else self.network.costs.thread_switch
            self.network.compute(task, stage.device, seconds, shared, *done)

    def _computed(
        self,
        part: _Part,
        device: int,
        stage: Stage,
        change: Change | None,
        begun: float,
    ) -> None:
        task, run = part.task, part.run
        if self._watch is not None:
            self._watch(task.name, stage.device.rpartition("/device:")[2], stage.name, begun, self.clock.now)
        if change is not None:
            change.done()
        if stage.advances:
            for which, number in run.rounds.items():
                self.rounds[which].advance(number)
        for what in stage.brings:
            self._groups[what].bring(run.number, (task, stage.device))
        part.next[device] = ~part.next[device] + 1
        if part.next[device] == len(part.stages[device]):
            part.left -= 1
        told = bool(part.left)
        for to, edges, size in stage.sends:
            there = run.parts[to]
            if there.task is task:
                self._came(there, edges)
            elif not told and there.task is run.client.task:
                told = True  # What a last stage sends to the master goes with the word of its end.
                size += self.step.fetched.get(part.name, 0)
                self.network.tell(task, there.task, size, self._came_at_the_end, there, edges)
            else:
                self.network.tell(task, there.task, size, self._came, there, edges)
        if not told:
            self._part_ends(part)
        elif part.left:
            self._look(part, device)

    def _came_at_the_end(self, part: _Part, edges: Sequence[int]) -> None:
        self._came(part, edges)
        self._told(part.run)

    def _came(self, part: _Part, edges: Sequence[int]) -> None:
        part.came.update(edges)
        for device in range(len(part.stages)):
            self._look(part, device)
