"""Protects the hooks that end training by what evaluations found, and contrib's heads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

hooks: Any = gf.estimator.experimental


def model(folder: Path, **config: Any) -> gf.estimator.Estimator:
    def model_fn(features: Any, labels: Any, mode: str) -> gf.estimator.EstimatorSpec:
        loss = gf.reduce_sum(features)
        step = gf.assign_add(gf.train.get_or_create_global_step(), 1).op
        return gf.estimator.EstimatorSpec(mode, {"a": features}, loss, step)

    return gf.estimator.Estimator(model_fn, str(folder), gf.estimator.RunConfig(**config))


def steps_of(estimator: gf.estimator.Estimator, hook: Any) -> int:
    estimator.train(lambda: gf.data.Dataset.from_tensors([1.0]).repeat(), [hook], max_steps=20)
    return int(estimator.get_variable_value("global_step"))


def evaluated(folder: Path, values: dict[int, float]) -> None:
    writer = gf.summary.FileWriter(str(folder))
    for step, value in values.items():
        writer.add_summary(gf.Summary(value=[gf.Summary.Value(tag="score", simple_value=value)]), step)
    writer.close()


@pytest.mark.parametrize(
    ("hook", "arguments", "ends"),
    [
        ("stop_if_higher_hook", {"threshold": 4.0}, True),
        ("stop_if_higher_hook", {"threshold": 4.0, "min_steps": 3}, False),
        ("stop_if_higher_hook", {"threshold": 6.0}, False),
        ("stop_if_lower_hook", {"threshold": 2.0}, True),
        ("stop_if_lower_hook", {"threshold": 0.5}, False),
        ("stop_if_no_increase_hook", {"max_steps_without_increase": 2}, True),
        ("stop_if_no_increase_hook", {"max_steps_without_increase": 3}, False),
        ("stop_if_no_decrease_hook", {"max_steps_without_decrease": 1}, False),
        ("stop_if_no_decrease_hook", {"max_steps_without_decrease": 1, "min_steps": 1, "eval_dir": "other"}, True),
    ],
)  # fmt: skip
def test_training_ends_by_what_evaluations_found(
    tmp_path: Path, hook: str, arguments: dict[str, Any], ends: bool
) -> None:
    pytest.importorskip("tensorboard")
    estimator = model(tmp_path / "model")
    evaluated(tmp_path / "model" / "eval", {1: 2.0, 2: 5.0, 3: 3.0, 4: 1.0})
    evaluated(tmp_path / "other", {0: 9.0, 1: 1.0, 2: 2.0})
    if "eval_dir" in arguments:
        arguments = {**arguments, "eval_dir": str(tmp_path / arguments["eval_dir"])}
    made = getattr(hooks, hook)(estimator, "score", run_every_secs=None, run_every_steps=5, **arguments)
    assert steps_of(estimator, made) == (1 if ends else 20)


def test_the_function_is_asked_every_so_many_steps_and_ends_training_for_all(tmp_path: Path) -> None:
    asked: list[int] = []
    estimator = model(tmp_path)
    hook = hooks.make_early_stopping_hook(
        estimator, lambda: asked.append(0) or len(asked) == 3, run_every_secs=None, run_every_steps=5
    )
    assert steps_of(estimator, hook) == 11


def test_a_worker_ends_when_the_chief_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = {"chief": ["localhost:1"], "worker": ["localhost:2"], "ps": ["localhost:3"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0}}))
    estimator = model(tmp_path)
    hook = hooks.make_early_stopping_hook(estimator, lambda: False)
    with gf.Graph().as_default():
        step = gf.train.get_or_create_global_step()
        hook.begin()
        (stop,) = (v for v in gf.global_variables() if v.op.name == "signal_early_stopping/STOP")
        said = stop.assign(True).op
        with gf.train.MonitoredSession(hooks=[hook]) as session:
            session.run(step)
            assert not session.should_stop()
            session.run(said)
            if not session.should_stop():
                session.run(step)
            assert session.should_stop()


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="Estimator"):
        hooks.make_early_stopping_hook("no estimator", lambda: True)
    with pytest.raises(ValueError, match="Only one of"):
        hooks.make_early_stopping_hook(model(tmp_path), lambda: True, 1, 1)


@pytest.mark.parametrize(
    ("head", "labels", "logits", "loss"),
    [
        (gf.contrib.estimator.binary_classification_head(), [[1], [0]], [[0.0], [0.0]], np.log(2.0)),
        (gf.contrib.estimator.multi_class_head(3), [[1], [0]], [[0.0] * 3] * 2, np.log(3.0)),
        (gf.contrib.estimator.regression_head(), [[1.0], [0.0]], [[0.0], [0.0]], 0.5),
    ],
)
def test_heads_of_contrib_take_the_mean(head: Any, labels: Any, logits: Any, loss: float) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        spec = head.create_estimator_spec(
            features={"x": gf.zeros([2, 1])}, mode=gf.estimator.ModeKeys.EVAL,
            logits=gf.constant(logits), labels=gf.constant(labels),
        )  # fmt: skip
        assert session.run(spec.loss) == pytest.approx(loss)
