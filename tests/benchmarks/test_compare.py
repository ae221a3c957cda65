"""Protects the benchmark's arithmetic: ratios are taken within a round, and a broken limit is never called kept."""

import sys
from pathlib import Path

import compare
import pytest

import graphflow as gf


def test_ratio_is_taken_within_rounds() -> None:
    # The machine was slow in the second round; taken over all rounds at once the ratio would not be a half.
    results = {
        "tf115": compare.Result(times=[10.0, 80.0, 10.0]),
        "tf2": compare.Result(times=[20.0, 40.0, 20.0]),
        "graphflow": compare.Result(times=[5.0, 20.0, 5.0]),
    }
    assert compare.ratio(results, compare.TENSORFLOWS) == pytest.approx(0.5)


def test_peer_with_a_problem_is_left_out() -> None:
    results = {
        "tf2": compare.Result(times=[1.0], problem="no answer"),
        "graphflow": compare.Result(times=[5.0]),
    }
    assert compare.ratio(results, ["tf2"]) is None
    assert compare.verdict("mlp_sgd", results) == ""


@pytest.mark.parametrize(
    ("ours", "torch", "expected"),
    [
        (30.0, 90.0, "goal"),
        (50.0, 90.0, "within"),
        (70.0, 90.0, "over the limit"),
        (50.0, 45.0, "slower than torch"),
    ],
)
def test_verdict(ours: float, torch: float, expected: str) -> None:
    results = {
        "tf2": compare.Result(times=[100.0]),
        "torch": compare.Result(times=[torch]),
        "graphflow": compare.Result(times=[ours]),
    }
    assert compare.verdict("mlp_sgd", results) == expected


def test_own_failure_is_no_success() -> None:
    results = {"tf2": compare.Result(times=[1.0]), "graphflow": compare.Result(problem="ValueError")}
    assert compare.verdict("mlp_sgd", results) == "failed"


def test_different_work_is_told() -> None:
    results = {
        "tf2": compare.Result(check=2.0),
        "jax": compare.Result(check=2.0001),
        "torch": compare.Result(check=3.0),
    }
    assert compare.disagreement(results) == "tf2 has 2, but torch has 3"
    assert compare.disagreement({"tf2": compare.Result(check=2.0)}) == ""


def test_not_a_number_is_different_work() -> None:
    results = {"tf2": compare.Result(check=2.0), "graphflow": compare.Result(check=float("nan"))}
    assert "graphflow" in compare.disagreement(results)


def test_results_go_into_the_readme_as_it_is() -> None:
    readme = (Path(compare.__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    once = compare.included(readme, "| new |")
    assert "| new |" in once
    assert compare.included(once, "| newer |") == once.replace("| new |", "| newer |")
    assert once.startswith(readme.partition("<!--")[0])
    assert once.endswith(readme.rpartition("-->")[2])
    with pytest.raises(ValueError, match="no marks"):
        compare.included("no marks here", "")


def test_the_version_is_that_of_what_lies_here() -> None:
    assert compare.version("graphflow", sys.executable) == gf.__version__
