"""Protects promise 36: what is larger than 2 GB is no special case.

These tests take some gigabytes of memory and of disk, so they are slow ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

SIZE = 3 << 30
"""Bytes: 3 GB."""


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def large() -> Any:
    """Zeros, which take no memory while they are only read, and a mark at each end."""
    value = np.zeros([3, SIZE // 3], np.uint8)
    value[0, 0], value[-1, -1] = 7, 9
    return value


def ends(tensor: Any) -> Any:
    """The marks of a tensor: its first and its last element."""
    return gf.stack([tensor[0, 0], tensor[-1, -1]])


@pytest.mark.slow
def test_promise_36_a_feed_of_3_gb() -> None:
    x = gf.placeholder(gf.uint8, [3, None])
    with gf.Session() as session:
        assert session.run(ends(x), {x: large()}).tolist() == [7, 9]


@pytest.mark.slow
def test_promise_36_a_constant_of_3_gb(tmp_path: Path) -> None:
    constant = gf.constant(large(), name="large")
    with gf.Session() as session:
        assert session.run(ends(constant)).tolist() == [7, 9]
        # A message of protocol buffers holds no more than 2 GB: that is said, and nothing is written.
        with pytest.raises(ValueError, match="2 GB"):
            gf.saved_model.simple_save(session, tmp_path / "model", {"x": constant}, {"y": constant})
    assert not (tmp_path / "model").exists()


@pytest.mark.slow
def test_promise_36_training_over_a_constant_of_3_gb(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    w = gf.get_variable("w", initializer=1.0)
    loss = gf.to_float(gf.reduce_sum(ends(gf.constant(large(), name="large")))) * w
    step = gf.train.get_or_create_global_step()
    train = gf.train.GradientDescentOptimizer(0.5).minimize(loss, step)
    with gf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path), progress=False) as session:
        session.run(train)
    assert "The graph is not written" in caplog.text and "without their graphs" in caplog.text
    prefix = gf.train.latest_checkpoint(str(tmp_path))
    assert gf.train.load_variable(prefix, "w") == -7.0 and prefix.endswith("-1")


@pytest.mark.slow
def test_promise_36_a_checkpoint_of_3_gb(tmp_path: Path) -> None:
    value = gf.placeholder(gf.uint8, [3, SIZE // 3])
    large_one = gf.Variable(value, name="large", trainable=False)
    behind = gf.Variable(5.0, name="small_one_behind_it")
    saver = gf.train.Saver()
    with gf.Session() as session:
        session.run(large_one.initializer, {value: large()})
        session.run(behind.initializer)
        prefix = saver.save(session, str(tmp_path / "model"), write_meta_graph=False)
    assert (tmp_path / "model.safetensors").stat().st_size > SIZE
    with gf.Session() as session:
        saver.restore(session, prefix)
        assert session.run(ends(large_one)).tolist() == [7, 9]
        assert session.run(behind) == 5.0
