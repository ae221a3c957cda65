"""Protects `graphflow plan`: a plan goes to a file and comes back the same, and bad files are one line."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.plan import files
from graphflow._core.plan.encode import BadPlan
from graphflow._core.plan.ir import Plan
from graphflow.cli.main import main


def planned(build: Callable[[], tuple[Any, list[gf.Tensor]]]) -> Plan:
    with gf.Graph().as_default():
        fetches, feeds = build()
        with gf.Session() as session:
            return session.plan(fetches, feeds)[0]


def model() -> tuple[Any, list[gf.Tensor]]:
    x = gf.placeholder(gf.float32, [None, 3], name="x")
    weights = gf.get_variable("weights", [3, 2])
    product = gf.matmul(x, weights, name="product")
    branch = gf.cond(
        gf.reduce_sum(x) > 0.0, lambda: gf.nn.relu(product), lambda: gf.tanh(product), name="branch"
    )
    loop = gf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.0), [0, 1.0], name="loop")
    words = gf.string_join([gf.constant(["a", "b"]), gf.constant(["\xe4", ""])], name="words")
    return [branch, loop[1], words, weights.assign_add(gf.ones([3, 2]))], [x]


def doubled() -> tuple[Any, list[gf.Tensor]]:
    x = gf.placeholder(gf.float64, [3], name="x")
    return gf.multiply(x, 2.0, name="y"), [x]


@pytest.fixture
def saved(tmp_path: Path) -> Callable[..., str]:
    def save(build: Callable[[], Any], name: str = "plan.json") -> str:
        files.save(str(tmp_path / name), planned(build))
        return str(tmp_path / name)

    return save


def test_a_plan_comes_back_as_it_was(saved: Callable[..., str]) -> None:
    path = saved(model)
    text = Path(path).read_text()
    loaded = files.load(path)
    assert files.to_text(loaded) == text
    assert str(loaded) == str(files.from_text(text)) and "branch = If(" in str(loaded)
    assert loaded.feed_types == ((gf.float32, (None, 3)),)


def test_show_prints_the_plan(saved: Callable[..., str], capsys: Any) -> None:
    path = saved(doubled)
    assert main(["plan", "show", path]) == 0
    assert capsys.readouterr().out == f"{files.load(path)}\n"


def test_diff_tells_what_differs_attributes_and_long_constants_included(
    saved: Callable[..., str], capsys: Any
) -> None:
    def product(scale: float, turned: bool) -> Callable[[], Any]:
        def build() -> Any:
            x = gf.placeholder(gf.float32, [20, 20], name="x")
            return gf.matmul(
                x, gf.constant(np.full([20, 20], scale)[:], gf.float32, name="c"), turned, name="y"
            ), [x]

        return build

    first = saved(product(1.0, False), "first")
    assert main(["plan", "diff", first, saved(product(1.0, False), "same")]) == 0
    assert capsys.readouterr().out == "The plans are the same.\n"
    assert main(["plan", "diff", first, saved(product(1.5, False), "constant")]) == 1
    lines = [line[:3] for line in capsys.readouterr().out.splitlines() if line[:1] in "+-"]
    assert lines == ["---", "+++", "-c ", "+c "]
    assert main(["plan", "diff", first, saved(product(1.0, True), "turned")]) == 1
    out = capsys.readouterr().out
    assert "transpose_a=False" in out and "transpose_a=True" in out


def test_run_runs_on_numpy_and_compiled_with_what_is_given(
    saved: Callable[..., str], tmp_path: Path, capsys: Any
) -> None:
    np.savez(tmp_path / "feeds.npz", **{"x:0": np.array([1.0, -2.0, 0.5])})
    assert main(["plan", "run", saved(doubled), "--feeds", str(tmp_path / "feeds.npz")]) == 0
    assert capsys.readouterr().out == "y:0 = [ 2., -4.,  1.]\nCompiled code agrees with NumPy.\n"


def test_run_draws_what_is_not_given(saved: Callable[..., str], capsys: Any) -> None:
    path, shown = saved(model), []
    for options in ([], ["--seed", "1"], ["--seed", "1"], ["--size", "5"]):
        assert main(["plan", "run", path, *options]) == 0
        shown.append(capsys.readouterr().out)
        assert "loop/Exit_1:0 = 8." in shown[-1]
    assert shown[0] != shown[1] == shown[2]
    assert main(["plan", "run", path, "--numpy"]) == 0
    assert capsys.readouterr().out == shown[0].partition("Compiled")[0].partition("The plan is")[0]


def test_help_names_the_commands(capsys: Any) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["plan", "--help"])
    out = capsys.readouterr().out
    assert "show" in out and "diff" in out and "run" in out


def test_a_python_function_is_neither_written_nor_read(tmp_path: Path) -> None:
    def called() -> Any:
        return gf.py_func(lambda: 1.0, [], gf.float64), []

    with pytest.raises(ValueError, match="no plain data"):
        files.save(str(tmp_path / "plan.json"), planned(called))
    assert not (tmp_path / "plan.json").exists()
    tree = json.loads(files.to_text(planned(doubled)))
    tree["plan"][0][-1][6].append(["function", {"python": 0}])
    with pytest.raises(BadPlan, match="Python function"):
        files.from_text(json.dumps(tree))


def test_what_reaches_out_of_the_plan_is_not_run(
    saved: Callable[..., str], tmp_path: Path, capsys: Any
) -> None:
    def written() -> Any:
        return gf.write_file(str(tmp_path / "made"), "text", name="written"), []

    assert main(["plan", "run", saved(written)]) == 2
    assert "WriteFile 'written' reaches out of the plan" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"file": "graphflow plan", "format": 9}', "[" * 100_000, "\xff", '{"file": 1}'],
)
def test_what_is_no_plan_is_one_line(text: str, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "bad").write_bytes(text.encode("latin-1"))
    for command in (["show"], ["diff", str(tmp_path / "bad")], ["run"]):
        assert main(["plan", *command, str(tmp_path / "bad")]) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1 and "no file of a plan" in lines[0] and "bad" in lines[0]
    assert main(["plan", "show", str(tmp_path / "absent")]) == 2
    assert "absent" in capsys.readouterr().err


def _spoiled(tree: Any, chance: random.Random) -> None:
    """Replaces something in a tree by something else."""
    while isinstance(tree, list | dict) and tree:
        key = chance.choice(list(range(len(tree))) if isinstance(tree, list) else list(tree))
        if chance.random() < 0.3 or not isinstance(tree[key], list | dict) or not tree[key]:
            others = [
                None,
                0,
                -1,
                1 << 40,
                "",
                "x:0",
                "Const",
                [],
                {},
                [None],
                {"array": 0, "scalar": False},
                True,
            ]
            tree[key] = chance.choice(others)
            return
        tree = tree[key]


def test_a_spoiled_plan_is_told_in_one_line(tmp_path: Path, capsys: Any) -> None:
    text = files.to_text(planned(model))
    path = str(tmp_path / "plan.json")
    refused = 0
    for seed in range(150):
        tree = json.loads(text)
        for _ in range(1 + seed % 3):
            _spoiled(tree, random.Random(seed))
        Path(path).write_text(json.dumps(tree))
        for command in (["show"], ["diff", path], ["run", "--numpy"]):
            status = main(["plan", *command, path])
            lines = capsys.readouterr().err.splitlines()
            assert status == (2 if lines else 0) and len(lines) < 2, (seed, command, lines)
            refused += bool(lines)
    assert refused > 100
