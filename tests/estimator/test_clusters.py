"""Protects estimators on a cluster: one program in every task, and an evaluator beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np
import graphflow as gf

rows = np.random.RandomState(0).randn(64, 3).astype("f")

def model_fn(features, labels, mode):
    w = gf.get_variable("w", [3, 1], initializer=gf.zeros_initializer())
    assert mode != "train" or w.device == "/job:ps/task:0", w.device
    loss = gf.losses.mean_squared_error(labels, gf.matmul(features["x"], w))
    optimizer = gf.train.GradientDescentOptimizer(0.05)
    train = optimizer.minimize(loss, global_step=gf.train.get_global_step())
    return gf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

rows_of = gf.estimator.inputs.numpy_input_fn({"x": rows}, rows[:, :1], 16, None, shuffle=False)
estimator = gf.estimator.Estimator(model_fn, "model", gf.estimator.RunConfig(save_checkpoints_steps=20))
found, _ = gf.estimator.train_and_evaluate(
    estimator,
    gf.estimator.TrainSpec(rows_of, max_steps=60),
    gf.estimator.EvalSpec(rows_of, steps=4, start_delay_secs=0, throttle_secs=0),
)
task = f"{estimator.config.task_type} {estimator.config.task_id}"
print(task, "ends", None if found is None else int(found["global_step"]) >= 60, flush=True)
"""


def test_one_program_trains_in_every_task_and_an_evaluator_follows(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    cluster = '{"ps": ["localhost:1"], "chief": ["localhost:2"]}'
    following = {"TF_CONFIG": f'{{"cluster": {cluster}, "task": {{"type": "evaluator", "index": 0}}}}'}
    evaluator = subprocess.Popen(
        [sys.executable, "program.py"], cwd=tmp_path, env={**environment, **following}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        done = subprocess.run(
            [sys.executable, "-m", "graphflow", "launch", "--ps", "1", "--workers", "1", "--chief", "--grace", "60",
             "program.py"],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert "chief 0 ends None" in done.stdout and "worker 0 ends None" in done.stdout, done.stdout
        out, err = evaluator.communicate(timeout=100)
    finally:
        evaluator.kill()
        evaluator.communicate()
    assert out.splitlines()[-1:] == ["evaluator 0 ends True"], err
    found = gf.train.latest_checkpoint(str(tmp_path / "model"))
    assert found is not None and int(found.rpartition("-")[2]) >= 60


UNDER_A_STRATEGY = """
import sys
import numpy as np
import graphflow as gf

def model_fn(features, labels, mode):
    w = gf.get_variable("w", [3, 1], initializer=gf.zeros_initializer())
    loss = gf.losses.mean_squared_error(labels, gf.matmul(features, w))
    train = gf.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=gf.train.get_global_step())
    return gf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

def input_fn(input_context=None):
    rows = np.sin(np.arange(192.0).reshape(64, 3)).astype("f")
    data = gf.data.Dataset.from_tensor_slices((rows, rows[:, :1]))
    size = 16
    if input_context is not None:
        data = data.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
        size = input_context.get_per_replica_batch_size(size)
    return data.batch(size).repeat()

def run(folder, strategy):
    config = gf.estimator.RunConfig(folder, train_distribute=strategy, save_checkpoints_steps=10)
    estimator = gf.estimator.Estimator(model_fn, config=config)
    gf.estimator.train_and_evaluate(
        estimator,
        gf.estimator.TrainSpec(input_fn, max_steps=20),
        gf.estimator.EvalSpec(input_fn, steps=1, throttle_secs=0),
    )
    return estimator

if __name__ == "__main__":
    found = run("model", getattr(gf.contrib.distribute, sys.argv[1])())
    print(found.config.task_type, found.config.task_id, "ends", flush=True)
"""


@pytest.mark.parametrize(
    ("strategy", "tasks"),
    [
        ("CollectiveAllReduceStrategy", ["--workers", "2"]),
        ("ParameterServerStrategy", ["--ps", "1", "--workers", "1"]),
    ],
)
def test_one_program_trains_under_a_strategy_in_every_task(
    strategy: str, tasks: list[str], tmp_path: Path
) -> None:
    (tmp_path / "under.py").write_text(UNDER_A_STRATEGY)
    done = subprocess.run(
        [sys.executable, "-m", "graphflow", "launch", *tasks, "--grace", "60", "under.py", strategy],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PROJECT)}, capture_output=True, text=True, timeout=200,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "worker 0 ends" in done.stdout, done.stdout
    alone: dict[str, Any] = {"__name__": "under"}
    exec(UNDER_A_STRATEGY, alone)
    one = alone["run"](str(tmp_path / "one"), None)
    names = gf.train.list_variables(str(tmp_path / "model"))
    assert names == gf.train.list_variables(str(tmp_path / "one"))
    assert gf.train.load_variable(str(tmp_path / "model"), "global_step") == 20
    np.testing.assert_allclose(
        gf.train.load_variable(str(tmp_path / "model"), "w"), one.get_variable_value("w"), rtol=1e-5
    )
