"""Protects estimators under strategies: results are one device's, and TensorFlow 1.15.5's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import graphflow as gf
from tests.estimator import strategy_cases
from tests.estimator.test_canned import assert_same, cleared

RECORDED: Final[dict[str, Any]] = json.loads(Path(strategy_cases.RECORDED).read_text("utf-8"))
__all__ = ["cleared"]


@pytest.mark.parametrize("name", strategy_cases.CASES)
@pytest.mark.parametrize("towers", ["one", "two"])
def test_agrees_with_tensorflow(name: str, towers: str, tmp_path: Path) -> None:
    devices = None if towers == "one" else strategy_cases.DEVICES
    found = strategy_cases.outcome(gf, name, str(tmp_path), devices)
    assert_same(found, RECORDED[name][towers], f"{name}, {towers}")


def regression(mode: str, features: Any, labels: Any) -> gf.estimator.EstimatorSpec:
    w = gf.get_variable("w", [3, 1], initializer=gf.zeros_initializer())
    loss = gf.losses.mean_squared_error(labels, gf.matmul(features, w))
    step = gf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=gf.train.get_global_step())
    return gf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def batches(size: int) -> gf.data.Dataset:
    rows, labels = strategy_cases.data()
    return gf.data.Dataset.from_tensor_slices((rows, labels)).batch(size)


@pytest.mark.parametrize(
    "strategy",
    [
        gf.distribute.OneDeviceStrategy("/cpu:0"),
        gf.distribute.ParameterServerStrategy(),
        gf.distribute.experimental.MultiWorkerMirroredStrategy(num_devices=2),
        gf.contrib.distribute.MirroredStrategy(num_gpus=0),
    ],
    ids=lambda strategy: type(strategy).__name__,
)
def test_every_strategy_trains_as_one_device(strategy: Any, tmp_path: Path) -> None:
    towers = len(strategy.worker_devices)
    values = []
    for number, given in enumerate((None, strategy)):
        config = gf.estimator.RunConfig(str(tmp_path / str(number)), train_distribute=given)
        size = 8 if given is None else 8 // towers
        estimator = gf.estimator.Estimator(
            lambda features, labels, mode: regression(mode, features, labels), config=config
        )
        estimator.train(lambda size=size: batches(size))
        assert estimator.get_variable_value("global_step") == 6
        values.append(estimator.get_variable_value("w"))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-5)


def test_a_config_of_two_strategies(tmp_path: Path) -> None:
    one, two = gf.distribute.OneDeviceStrategy("/cpu:0"), gf.distribute.MirroredStrategy(num_devices=2)
    both = gf.contrib.distribute.DistributeConfig(train_distribute=one, eval_distribute=two)
    config = gf.estimator.RunConfig(str(tmp_path), experimental_distribute=both)
    assert config.train_distribute is one and config.eval_distribute is two
    assert config.replace(save_checkpoints_steps=3).eval_distribute is two
    with pytest.raises(ValueError, match="not both"):
        gf.estimator.RunConfig(train_distribute=one, experimental_distribute=both)


def test_what_a_strategy_cannot_take_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match=r"train_distribute must be a strategy of gf\.distribute, got 3"):
        gf.estimator.RunConfig(train_distribute=3)  # type: ignore[arg-type]
    config = gf.estimator.RunConfig(
        str(tmp_path), train_distribute=gf.distribute.MirroredStrategy(num_devices=2)
    )
    estimator = gf.estimator.Estimator(
        lambda features, labels, mode: regression(mode, features, labels), config=config
    )
    with pytest.raises(ValueError, match=r"an input_fn must return a gf\.data\.Dataset"):
        estimator.train(lambda: strategy_cases.data())
    with pytest.raises(ValueError, match="not divisible by num_replicas_in_sync 2"):
        estimator.train(lambda input_context: batches(input_context.get_per_replica_batch_size(9)))
    workers = (
        '{"cluster": {"worker": ["localhost:1", "localhost:2"]}, "task": {"type": "worker", "index": 0}}'
    )
    monkeypatch.setenv("TF_CONFIG", workers)
    with pytest.raises(ValueError, match="MirroredStrategy trains in one process"):
        gf.estimator.RunConfig(train_distribute=gf.distribute.MirroredStrategy(num_devices=2))
    with pytest.raises(ValueError, match="one tower in a worker"):
        gf.distribute.ParameterServerStrategy(num_gpus_per_worker=2)


def test_hooks_and_scaffolds_are_those_of_the_first_tower(tmp_path: Path) -> None:
    begun = []

    class Begun(gf.train.SessionRunHook):
        def begin(self) -> None:
            begun.append(self)

    made = []

    def model_fn(features: Any, labels: Any, mode: str) -> gf.estimator.EstimatorSpec:
        spec = regression(mode, features, labels)
        made.append(gf.distribute.get_replica_context().tower_id)
        scaffold = gf.train.Scaffold(init_fn=lambda scaffold, session: begun.append("scaffold"))
        return spec._replace(training_hooks=(Begun(),), scaffold=scaffold)

    config = gf.estimator.RunConfig(
        str(tmp_path), train_distribute=gf.distribute.MirroredStrategy(num_devices=2)
    )
    gf.estimator.Estimator(model_fn, config=config).train(lambda: batches(4), steps=1)
    assert made == [0, 1]
    assert len(begun) == 2 and begun[1] == "scaffold"
