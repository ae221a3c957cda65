"""The four configurations in which graphflow runs the zoo: NumPy, compiled code, two devices, and a cluster.

Each runs the same program as the recorder, from the same weights. What differs is where operations are placed and in
which tier plans run.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import graphflow as gf
from graphflow._core.compiler.nodes import PythonNode
from graphflow._core.plan.ir import walk
from graphflow._core.runtime.compiled.tier import TieredExecutable
from graphflow._core.session import executable_for
from tests.cluster.serving import serve_all, spec_of
from tests.zoo import kept, programs

PLACEMENTS = ("numpy", "compiled", "devices", "cluster")
COMPILED_FOR_EVERYTHING = frozenset({
    "bayes_by_backprop", "capsnet", "dcgan", "densenet", "dqn", "gat", "gradient_accumulation",
    "hierarchical_attention", "lstm_lengths", "maml", "memory_network", "mlp", "neural_turing_machine", "nmt",
    "pixelcnn", "ppo", "resnet", "scheduled_sampling", "static_rnn", "tcn", "transformer", "vae", "wavenet", "yolo",
})  # fmt: skip
"""Models that are compiled with --everything alone, since a model's kernels take ten seconds or more to make.

Each type of operation that these have is in one of the others as well, which have half of the zoo's operations.
"""


@dataclass(frozen=True)
class PlanReport:
    """What became of a plan.

    instructions, compiled: how many it has, and how many of them compiled code computes. on_numpy: the types of those
    that run on NumPy between them. reasons: the classes of reasons why it, or a stage of it, stays on NumPy whole.
    """

    instructions: int
    compiled: int
    on_numpy: tuple[str, ...]
    reasons: tuple[str, ...]


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
def session_of(program: programs.Program, placement: str, target: str, tier: str) -> Iterator[Any]:
    """A session of a placement; the states that a cluster keeps end with it."""
    config = gf.ConfigProto(compiled=tier, device_count={"CPU": 2 if placement == "devices" else 1})
    where = target if placement == "cluster" else ""
    try:
        with gf.Session(where, graph=program.graph, config=config) as session:
            yield session
    finally:
        if where:
            gf.Session.reset(where)


def run(program: programs.Program, placement: str, target: str = "", tier: str = "never") -> Outcome:
    """Runs a program in a placement, which the placement "compiled" alone decides the tier of.

    target: of the cluster. tier: "never" or "always", as `compiled` of ConfigProto.
    """
    tier = "always" if placement == "compiled" else tier
    with session_of(program, placement, target, tier) as session:
        programs.initialize(gf, program, session)
        programs.begin(program, session, programs.start(program, programs.values(program, session)))
        initial = programs.values(program, session)
        found = programs.look(program, session)
        found.update(programs.train(program, session, initial))
        steps = tuple(reports(program, session)) if placement == "compiled" else ()
        return Outcome(kept.keep_all(found), steps)


@functools.lru_cache(maxsize=8)
def outcome(name: str, placement: str, target: str = "", tier: str = "never") -> Outcome:
    """What a model gives in a placement."""
    graph = "one device" if placement in ("numpy", "compiled") else placement
    return run(built(name, graph), placement, target, tier)


def tier_of(name: str, everything: bool) -> str:
    """The tier of a model on several devices or tasks: compiled for everything, and for one of six models always.

    Parts of a plan have kernels of their own, half as many again as the whole, and those take time to compile.
    """
    return "always" if everything or not zlib.crc32(name.encode()) % 6 else "never"


# ---- what became of plans -------------------------------------------------------------------------------------------


def reports(program: programs.Program, session: Any) -> Iterator[PlanReport]:
    """What became of the plans of a step, which a session has run on one device."""
    feeds = list(program.feeds(0))
    for fetch in [[program.losses, program.train[0]], *program.train[1:]]:
        yield report(stages(executable_for(session, fetch, feeds)))


def report(parts: Sequence[TieredExecutable]) -> PlanReport:
    """What became of a plan, of the stages that it consists of."""
    compiled, on_numpy = 0, []
    for part in parts:
        counts = [work(found.job) for found in part.compiled()]
        count, others = max(counts, key=lambda each: each[0], default=(0, []))
        compiled += count
        on_numpy += others
    reasons = {type(reason).__name__ for part in parts for reason in part.reasons()}
    instructions = sum(1 for part in parts for _ in walk(part.plan))
    return PlanReport(instructions, compiled, tuple(sorted(on_numpy)), tuple(sorted(reasons)))


def work(job: Any) -> tuple[int, list[str]]:
    """The number of instructions that a compiled plan computes, with its loops, and the types of the others."""
    loops = {loop.instruction.name for loop in job.loops}
    nodes = [node for group in job.groups for node in group.nodes]
    compiled = len({node.instruction.name for node in nodes if not isinstance(node, PythonNode)})
    found = [node.instruction for node in nodes if isinstance(node, PythonNode)]
    others = [i.type for i in found if i.name not in loops]
    for loop in job.loops:
        inside, more = work(loop.job)
        compiled += inside
        others += more
    return compiled, others


def stages(executable: Any) -> list[TieredExecutable]:
    """The parts of what runs a plan that may become compiled."""
    return [part for part in executable.parts() if isinstance(part, TieredExecutable)]
