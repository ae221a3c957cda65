"""Protects gf.train.Checkpoint where TensorFlow's answers are not recorded: sessions, other files, keras's optimizers.

What it writes and how it restores is compared with TensorFlow in tests/oracle/cases/checkpoints.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def test_a_checkpoint_of_a_saver_is_restored_by_names(tmp_path: Path) -> None:
    v, w = gf.Variable([1.0, 2.0], name="v"), gf.Variable(3, name="w")
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        path = gf.train.Saver([v]).save(session, str(tmp_path / "model"), write_meta_graph=False)
        session.run([v.assign([0.0, 0.0]).op, w.assign(0).op])
        status = gf.train.Checkpoint(any_name=v, other=w).restore(path)
        with pytest.raises(AssertionError, match="has not: save_counter, w"):
            status.assert_consumed()
        status.run_restore_ops()
        assert session.run(v).tolist() == [1.0, 2.0] and session.run(w) == 0


def test_it_says_that_it_needs_a_session(tmp_path: Path) -> None:
    checkpoint = gf.train.Checkpoint(v=gf.Variable(1.0))
    if gf.get_default_session() is None:
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            path = checkpoint.save(str(tmp_path / "model"))
            checkpoint.restore(path).run_restore_ops(session)
    with pytest.raises(gf.errors.NotFoundError):
        checkpoint.restore(str(tmp_path / "nothing"))


def test_the_state_of_keras_optimizers_comes_back(tmp_path: Path) -> None:
    model = gf.keras.Sequential([gf.keras.layers.Dense(2, input_shape=(3,))])
    optimizer = gf.keras.optimizers.Adam(0.5)
    step = optimizer.minimize(lambda: gf.reduce_sum(model(gf.ones([1, 3]))), model.trainable_variables)
    checkpoint = gf.train.Checkpoint(model=model, optimizer=optimizer)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        session.run(step)
        path = checkpoint.save(str(tmp_path / "model"))
        names = {name.partition("/.ATTRIBUTES")[0] for name, _ in gf.train.list_variables(path)}
        assert {"optimizer/iter", "optimizer/learning_rate"} <= names
        assert "model/layer_with_weights-0/kernel/.OPTIMIZER_SLOT/optimizer/m" in names
        wanted = session.run(optimizer.weights)
        session.run(step)
        checkpoint.restore(path).assert_consumed().run_restore_ops()
        for value, before in zip(session.run(optimizer.weights), wanted, strict=True):
            np.testing.assert_array_equal(value, before)


def test_a_restore_is_one_operation_until_there_is_more_to_restore(tmp_path: Path) -> None:
    checkpoint = gf.train.Checkpoint(v=gf.Variable(1.0), net=gf.train.Checkpoint(w=gf.Variable(2.0)))
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        path = checkpoint.save(str(tmp_path / "model"))
        fewer = gf.train.Checkpoint(v=checkpoint.v)  # type: ignore[attr-defined]
        status = fewer.restore(path)
        status.run_restore_ops()
        before = len(gf.get_default_graph().get_operations())
        status.run_restore_ops()
        assert len(gf.get_default_graph().get_operations()) == before
        fewer.net = gf.train.Checkpoint(w=gf.Variable(0.0))  # type: ignore[attr-defined]
        status.assert_consumed().run_restore_ops()
        assert session.run(fewer.net.w) == 2.0  # type: ignore[attr-defined]
        before = len(gf.get_default_graph().get_operations())
        assert checkpoint.save(str(tmp_path / "model")).endswith("model-2")
        assert len(gf.get_default_graph().get_operations()) == before


def test_a_checkpoint_that_is_kept_for_hours_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1e9]
    monkeypatch.setattr("time.time", lambda: now[0])
    checkpoint = gf.train.Checkpoint(v=gf.Variable(1.0))
    manager = gf.train.CheckpointManager(checkpoint, str(tmp_path), 1, keep_checkpoint_every_n_hours=1)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        for _ in range(5):
            now[0] += 2000
            manager.save()
    kept = sorted(p.name for p in tmp_path.glob("ckpt-*"))
    assert [name.partition(".")[0] for name in kept] == ["ckpt-2", "ckpt-4", "ckpt-5"]
