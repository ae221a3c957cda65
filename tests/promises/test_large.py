"""Protects promise 36: nothing ends at 2 GB. A constant, a feed and a checkpoint of 3 GB work."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

SIZE = 3 << 30
ENDS = (0, 1, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, SIZE - 1)
"""Where the values are that are looked at: at both ends and around 2 GB."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


@pytest.fixture
def large() -> Any:
    """3 GB of bytes, most of them zero; skips where there is no memory for several of these."""
    pages = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if pages < 4 * SIZE:
        pytest.skip(f"needs {4 * SIZE >> 30} GB of free memory, there are {pages >> 30}")
    array = np.zeros(SIZE, np.uint8)
    array[list(ENDS)] = range(1, len(ENDS) + 1)
    return array


def at_ends(tensor: Any) -> Any:
    """The values at ENDS and the size, taken by ops."""
    return gf.stack([tensor[place] for place in ENDS]), gf.size(tensor, out_type=gf.int64)


def check(values: Any) -> None:
    found, size = values
    assert found.tolist() == list(range(1, len(ENDS) + 1)) and size == SIZE


def test_promise_36_a_constant_of_3_gb(large: Any) -> None:
    constant = gf.constant(large)
    del large
    with gf.Session() as session:
        check(session.run(at_ends(constant)))


def test_promise_36_a_feed_of_3_gb(large: Any) -> None:
    fed = gf.placeholder(gf.uint8, [None])
    wanted = at_ends(fed)
    with gf.Session() as session:
        for _ in range(2):
            check(session.run(wanted, {fed: large}))


def test_promise_36_a_checkpoint_of_3_gb(large: Any, tmp_path: Path) -> None:
    if shutil.disk_usage(tmp_path).free < 2 * SIZE:
        pytest.skip(f"needs {2 * SIZE >> 30} GB of free disk")
    variable = gf.get_variable("v", [SIZE], gf.uint8, gf.zeros_initializer())
    count = gf.get_variable("n", initializer=5)
    saver = gf.train.Saver()
    with gf.Session() as session:
        variable.load(large, session)
        session.run(count.initializer)
        prefix = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
    del large
    assert os.path.getsize(f"{prefix}.safetensors") > SIZE
    with gf.Session() as session:
        saver.restore(session, gf.train.latest_checkpoint(str(tmp_path)))
        check(session.run(at_ends(variable)))
        assert session.run(count) == 5
    os.unlink(f"{prefix}.safetensors")


def test_promise_36_training_over_a_constant_of_3_gb(
    large: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No message holds such a graph: what is written of it is left out and said, and the training goes on."""
    w = gf.get_variable("w", initializer=1.0)
    constant = gf.constant(large, name="large")
    loss = gf.to_float(gf.reduce_sum(at_ends(constant)[0])) * w
    train = gf.train.GradientDescentOptimizer(0.5).minimize(loss, gf.train.get_or_create_global_step())
    with gf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), progress=False) as session:
        session.run(train)
    assert "The graph is not written" in caplog.text and "without their graphs" in caplog.text
    prefix = gf.train.latest_checkpoint(str(tmp_path))
    assert gf.train.load_variable(prefix, "w") == 1.0 - 21 / 2 and prefix.endswith("-1")
    with gf.Graph().as_default(), gf.Session() as other, pytest.raises(ValueError, match="2 GB"):
        again = gf.constant(large, name="large")
        gf.saved_model.simple_save(other, tmp_path / "model", {"x": again}, {"y": again})
    assert not (tmp_path / "model").exists()
