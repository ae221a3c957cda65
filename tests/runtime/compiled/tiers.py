"""Runs one model in both tiers, for the tests beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphflow as gf
from graphflow._core.compiler.nodes import PythonNode
from graphflow._core.runtime.compiled.build import CompiledPlan
from graphflow._core.session import executable_for, executables

Model = Callable[[], tuple[Any, dict[Any, Any]]]
"""Builds a graph; returns what to fetch and what to feed."""


def compiled_plans(session: gf.Session) -> list[CompiledPlan]:
    """The compiled plans that a session has made."""
    return [plan for executable in executables(session) for plan in executable.compiled()]


def groups_of(session: gf.Session) -> list[str]:
    """For each group of a session's compiled plans the types of its operations."""
    return [
        " ".join(node.instruction.type for node in group.nodes)
        for plan in compiled_plans(session)
        for segment in plan.segments
        for group in getattr(segment, "groups", ())
    ]


def left_to_numpy(model: Model, runs: int = 2) -> list[str]:
    """The types of the operations that stay on NumPy in a model's compiled plans, constants and variables aside."""
    with gf.Graph().as_default():
        fetches, feeds = model()
        with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
            session.run(gf.global_variables_initializer())
            for _ in range(runs):
                session.run(fetches, feeds)
            jobs = [plan._job for plan in executable_for(session, fetches, list(feeds)).compiled()]
    assert jobs, "nothing was compiled"
    nodes = [node for job in jobs for group in job.groups for node in group.nodes]
    return sorted(node.instruction.type for node in nodes if isinstance(node, PythonNode))


def run(model: Model, tier: str, runs: int = 3, threads: int = 2) -> tuple[list[Any], list[str]]:
    """The results of some runs and then the variables' values, all flat; and the groups of the plan."""
    results: list[Any] = []
    with gf.Graph().as_default():
        fetches, feeds = model()
        config = gf.ConfigProto(compiled=tier, intra_op_parallelism_threads=threads)
        with gf.Session(config=config) as session:
            session.run(gf.global_variables_initializer())
            for _ in range(runs):
                results += flat(session.run(fetches, feeds))
            groups = groups_of(session)
            results += flat([session.run(v) for v in gf.global_variables()])
    return results, groups


def flat(values: Any) -> list[Any]:
    """The arrays of a structure of fetches."""
    if isinstance(values, Sequence) and not isinstance(values, np.ndarray | bytes | str):
        return [array for value in values for array in flat(value)]
    return [] if values is None else [np.asarray(values)]


def check(model: Model, runs: int = 3, tolerance: float = 2e-5) -> list[str]:
    """Asserts that both tiers agree, and that the compiled one gives the same bits with one and two threads."""
    expected, _ = run(model, "never", runs)
    got, groups = run(model, "always", runs)
    alone, _ = run(model, "always", runs, threads=1)
    assert groups, "nothing was compiled"
    assert len(got) == len(expected)
    for mine, theirs, single in zip(got, expected, alone, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        scale = max(1.0, float(np.max(np.abs(theirs), initial=0))) if theirs.dtype.kind == "f" else 1.0
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * scale)
        np.testing.assert_array_equal(mine, single)
    return groups
