"""The four configurations in which graphflow runs the zoo: NumPy, compiled code, two devices, and a cluster.

Each runs the same program as the recorder, from the same weights. What differs is where operations are placed and in
which tier plans run.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import kept
import programs
from serving import serve_all, spec_of

import graphflow as gf
from graphflow.fetches import fetch_key
from graphflow.plan.ir import Plan, walk
from graphflow.runtime.compiled.nodes import PythonNode
from graphflow.runtime.compiled.tier import TieredExecutable
from graphflow.runtime.staged import StagedExecutable

PLACEMENTS = ("numpy", "compiled", "devices", "cluster")


@dataclass(frozen=True)
class PlanReport:
    """What became of a plan: the number of its instructions, of those that compiled code computes, and the types of
    those that run on NumPy between them."""

    instructions: int
    compiled: int = 0
    on_numpy: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a placement gave, as a recording keeps it; and what became of the plans of a step, in order."""

    found: dict[str, Any]
    steps: tuple[PlanReport, ...] = ()


def alternately(op: Any) -> str:
    """The device of an operation on two devices: by a hash of its variable scope."""
    scopes = [part.removesuffix("_grad") for part in op.name.split("/")[:-1]]
    if scopes and scopes[0].startswith("gradients"):
        del scopes[0]
    return f"/cpu:{zlib.crc32('/'.join(scopes[:2]).encode()) % 2}"


@functools.lru_cache(maxsize=2)
def built(name: str, placement: str) -> programs.Program:
    """A model in the graph of a placement."""
    if placement == "devices":
        return programs.build(gf, name, alternately)
    if placement == "cluster":
        setter = gf.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:0")
        return programs.build(gf, name, setter)
    return programs.build(gf, name)


@contextmanager
def cluster() -> Iterator[str]:
    """The target of a cluster in this process, of a parameter server and a worker."""
    with ExitStack() as stack:
        yield serve_all(stack, spec_of(stack, ps=1, worker=1))[-1].target


@contextmanager
def session_of(program: programs.Program, placement: str, target: str) -> Iterator[Any]:
    """A session of a placement; the states that a cluster keeps end with it."""
    tier = "never" if placement == "numpy" else "always"
    config = gf.ConfigProto(compiled=tier, device_count={"CPU": 2 if placement == "devices" else 1})
    where = target if placement == "cluster" else ""
    try:
        with gf.Session(where, graph=program.graph, config=config) as session:
            yield session
    finally:
        if where:
            gf.Session.reset(where)


def run(program: programs.Program, placement: str, target: str = "") -> Outcome:
    """Runs a program in a placement; target: of the cluster."""
    with session_of(program, placement, target) as session:
        programs.initialize(gf, program, session)
        programs.begin(program, session, programs.start(program, programs.values(program, session)))
        initial = programs.values(program, session)
        found = programs.look(program, session)
        found.update(programs.train(program, session, initial))
        return Outcome(kept.keep_all(found), tuple(reports(program, session)))


@functools.lru_cache(maxsize=8)
def outcome(name: str, placement: str, target: str = "") -> Outcome:
    """What a model gives in a placement."""
    graph = "one device" if placement in ("numpy", "compiled") else placement
    return run(built(name, graph), placement, target)


# ---- what became of plans -------------------------------------------------------------------------------------------


def reports(program: programs.Program, session: Any) -> Iterator[PlanReport]:
    """What became of the plans of a step, which a session has run."""
    feeds = list(program.feeds(0))
    for fetch in [[program.losses, program.train[0]], *program.train[1:]]:
        prepared = session._prepared[fetch_key(fetch), tuple(feeds) or None]
        yield report(session.plan(fetch, feeds)[0], prepared.executable)


def report(plan: Plan, executable: Any) -> PlanReport:
    """What became of a plan; one of a cluster is not looked into."""
    drafts = [
        state.compiled._draft
        for part in stages(executable)
        for state in part._states.values()
        if state.compiled is not None
    ]
    compiled, on_numpy = 0, []
    while drafts:
        draft = drafts.pop()
        loops = {loop.instruction.name for loop in draft.loops}
        nodes = [node for group in draft.groups for node in group.nodes]
        compiled += len({n.instruction.name for n in nodes if not isinstance(n, PythonNode)})
        found = [n.instruction for n in nodes if isinstance(n, PythonNode)]
        on_numpy += [i.type for i in found if i.name not in loops]
        drafts += [loop.draft for loop in draft.loops]
    return PlanReport(sum(1 for _ in walk(plan)), compiled, tuple(sorted(on_numpy)))


def stages(executable: Any) -> list[TieredExecutable]:
    """The parts of what runs a plan that may become compiled."""
    if isinstance(executable, StagedExecutable):
        parts = [runner.executable for each in executable.runners.values() for runner in each]
    else:
        parts = [executable]
    return [part for part in parts if isinstance(part, TieredExecutable)]
