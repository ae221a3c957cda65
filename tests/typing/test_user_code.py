"""Protects what type checkers tell users: right programs are taken, each typical mistake is found, types are true."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphflow as gf
from tests.typing import accepted, model

PROJECT = Path(gf.__file__).parent.parent
FOLDER = Path(__file__).parent
RIGHT = [str(FOLDER / "model.py"), str(FOLDER / "accepted.py")]
MISTAKES = FOLDER / "mistakes.py"
WRONG = {
    number
    for number, line in enumerate(MISTAKES.read_text("utf-8").splitlines(), 1)
    if line.endswith("# wrong")
}
KNOWN = 0.97
"""The share of public symbols whose type pyright knows in full, without a guess; may only grow."""


def told(name: str, found: set[int]) -> str:
    lines = MISTAKES.read_text("utf-8").splitlines()
    missed, more = sorted(WRONG - found), sorted(found - WRONG)
    return f"{name} misses {[lines[n - 1] for n in missed]}, and complains of {[lines[n - 1] for n in more]}"


@pytest.mark.timeout(400)  # It looks at the whole package where the linter has not before.
def test_mypy_takes_right_programs_and_finds_mistakes() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *RIGHT, str(MISTAKES)],
        cwd=PROJECT, capture_output=True, text=True, timeout=380,
    )  # fmt: skip
    errors = [
        re.match(r"(.*?):(\d+): error: ", line) for line in done.stdout.splitlines() if ": error: " in line
    ]
    of_right = [found for found in errors if found is None or not found[1].endswith("mistakes.py")]
    assert not of_right, done.stdout
    lines = {int(found[2]) for found in errors if found}
    assert lines == WRONG, told("mypy", lines)


@pytest.mark.timeout(400)
def test_pyright_takes_right_programs_and_finds_mistakes() -> None:
    pytest.importorskip("pyright")
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, *RIGHT, str(MISTAKES)],
        cwd=PROJECT, capture_output=True, text=True, timeout=380,
    )  # fmt: skip
    errors = [e for e in json.loads(done.stdout)["generalDiagnostics"] if e["severity"] == "error"]
    assert not [e for e in errors if not e["file"].endswith("mistakes.py")], done.stdout
    lines = {e["range"]["start"]["line"] + 1 for e in errors}
    assert lines == WRONG, told("pyright", lines)


@pytest.mark.timeout(400)
def test_the_types_of_public_names_are_known() -> None:
    pytest.importorskip("pyright")
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "--ignoreexternal",
         "--verifytypes", "graphflow"],
        cwd=PROJECT, capture_output=True, text=True, timeout=380, env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )  # fmt: skip
    found = json.loads(done.stdout)["typeCompleteness"]
    counts = found["exportedSymbolCounts"]
    assert counts["withKnownType"] > 4500
    unknown = [s["name"] for s in found["symbols"] if s["isExported"] and not s["isTypeKnown"]]
    assert found["completenessScore"] >= KNOWN, f"{found['completenessScore']:.2%}: {unknown}"


def test_programs_that_type_checkers_take_run(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    with gf.Graph().as_default():
        gf.set_random_seed(1)
        data, labels = rng.normal(size=[12, 64]).astype(np.float32), rng.integers(0, model.CLASSES, 12)
        assert 0.0 <= model.train(data, labels, str(tmp_path)) <= 1.0
        assert gf.train.latest_checkpoint(str(tmp_path)) is not None
    with gf.Graph().as_default():
        losses = model.estimate(str(tmp_path / "loop"), steps=3)
        assert len(losses) == 3 and np.isfinite(losses).all()


def test_what_the_types_admit_is_taken(tmp_path: Path) -> None:
    with gf.Graph().as_default():
        for value in accepted.tensors():
            assert isinstance(gf.convert_to_tensor(value), gf.Tensor), value
        for shape in accepted.sizes():
            assert gf.zeros(shape).dtype is gf.float32, shape
        for axis in accepted.axes():
            assert gf.reduce_sum(gf.ones([2, 3]), axis).dtype is gf.float32, axis
        for known in accepted.shapes():
            assert isinstance(gf.placeholder(gf.float32, known).shape, gf.TensorShape), known
        for dtype in accepted.dtypes():
            assert isinstance(gf.as_dtype(dtype), gf.DType), dtype
        for device in accepted.devices():
            with gf.device(device):
                assert gf.no_op().device.endswith("CPU:0"), device
        for rate in accepted.numbers():
            assert isinstance(gf.nn.dropout(gf.ones([2]), rate=rate), gf.Tensor), rate
        for number, initializer in enumerate(accepted.initializers()):
            made = gf.get_variable(f"a{number}", [2, 3], initializer=initializer)
            assert made.shape == [2, 3], initializer
        for number, given in enumerate(accepted.values()):
            assert gf.get_variable(f"b{number}", initializer=given).dtype is gf.float32, given
        for number, regularizer in enumerate(accepted.regularizers()):
            gf.get_variable(f"c{number}", [2], regularizer=regularizer)
        assert len(gf.get_collection(gf.GraphKeys.REGULARIZATION_LOSSES)) == 2
        for activation in accepted.activations():
            assert gf.layers.dense(gf.ones([1, 2]), 3, activation).shape == [1, 3], activation
        for folder in accepted.paths(tmp_path):
            gf.summary.FileWriter(folder).close()
            assert Path(folder).is_dir()
