"""The zoo's driver: which of its models have twins in PyTorch, and what it says of the peers."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path
from typing import Final

import pytest
import zoo

TWINS: Final = Path(zoo.__file__).parent / "zoo_torch"


def twins() -> list[str]:
    """The functions that are registered; read from the source, for PyTorch may be missing."""
    trees = [ast.parse(path.read_text("utf-8")) for path in sorted(TWINS.glob("*.py"))]
    functions = [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [f.name for f in functions if any(ast.unparse(d) == "twin" for d in f.decorator_list)]


def trained(*steps: float, problem: str = "", missing: bool = False) -> zoo.Trained:
    return zoo.Trained(1.0, 2.0, list(steps), list(steps), 3.0, problem, missing)


def test_at_least_36_models_have_a_twin_each() -> None:
    found = twins()
    assert len(found) == len(set(found)) >= 36
    assert set(found) <= set(zoo.MODELS)


def test_the_summary_says_in_how_many_models_a_step_is_faster_than_pytorch() -> None:
    ours = {zoo.COLD: trained(), "graphflow": trained(10, 10)}
    measured = {
        "fast": {**ours, "torch": trained(20, 40), "torch-compile": trained(5, 5)},
        "slow": {**ours, "torch": trained(5, 5), "torch-compile": trained(problem="no double backward")},
        "alone": {
            **ours,
            "torch": trained(problem="no twin", missing=True),
            "torch-compile": trained(problem="no twin", missing=True),
        },
    }
    assert zoo.ratios(measured["fast"]) == {"torch": 0.375, "torch-compile": 2.0}
    lines = zoo.summary(measured)
    assert lines == [
        "steady, to torch: below it in 1 of the 2 models that it trains (goal 30 of 36), 0 more fail in it; "
        "the median is 1.19: slow 2.00, fast 0.38.",
        "steady, to torch-compile: below it in 0 of the 1 models that it trains (goal half), 1 more fail "
        "in it; the median is 2.00: fast 2.00.",
        "slow, torch-compile: no double backward.",
    ]


def test_a_round_that_fails_counts_for_no_ratio() -> None:
    results = {zoo.COLD: trained(), "graphflow": trained(10, 10), "tf115": trained(20, problem="ended")}
    assert zoo.ratios(results) == {}


def test_processes_beside_a_measurement_end_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def popen(command: list[str]) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(command))
        return started[-1]

    monkeypatch.setattr(zoo, "Popen", popen)
    with zoo.busy(2):
        assert [other.poll() for other in started] == [None, None]
    assert all(other.returncode is not None for other in started)
