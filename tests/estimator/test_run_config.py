"""Protects what an estimator is told of its cluster: properties, which a subclass may define otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow.estimator.run_config import TaskType


def test_a_subclass_says_itself_whether_it_is_chief() -> None:
    """As programs' tests do, whose property is read while the base is made."""

    class Told(gf.estimator.RunConfig):
        def __init__(self) -> None:
            super().__init__()
            self._is_chief = False

        @property
        def is_chief(self) -> bool:
            return self._is_chief

    assert not Told().is_chief
    assert not Told().replace(model_dir="x").is_chief


def test_the_task_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its job and number, and how many there are."""
    cluster = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}
    told = {"cluster": cluster, "task": {"type": TaskType.WORKER, "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(told))
    config = gf.estimator.RunConfig()
    assert (config.task_type, config.task_id, config.is_chief) == ("worker", 1, False)
    assert (config.num_ps_replicas, config.num_worker_replicas) == (1, 3)
    assert (config.global_id_in_cluster, config.service) == (2, None)


def test_the_platform_may_say_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under "service", which is a dictionary."""
    monkeypatch.setenv("TF_CONFIG", json.dumps({"service": {"a": 1}}))
    config = gf.estimator.RunConfig()
    assert (config.service, config.global_id_in_cluster) == ({"a": 1}, 0)
    monkeypatch.setenv("TF_CONFIG", json.dumps({"service": 1}))
    with pytest.raises(TypeError, match="service"):
        gf.estimator.RunConfig()


def test_the_folder_that_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TF_CONFIG", json.dumps({"model_dir": str(tmp_path)}))
    assert gf.estimator.RunConfig().model_dir == str(tmp_path)
    assert gf.estimator.RunConfig(str(tmp_path)).model_dir == str(tmp_path)
    with pytest.raises(ValueError, match="both must be the same"):
        gf.estimator.RunConfig(str(tmp_path / "other"))
    monkeypatch.setenv("TF_CONFIG", json.dumps({"model_dir": ""}))
    with pytest.raises(ValueError, match="in TF_CONFIG should be non-empty"):
        gf.estimator.RunConfig()


@pytest.mark.parametrize(
    ("cluster", "task", "match"),
    [
        ({}, {"type": "chief", "index": 0}, 'must be "worker"'),
        ({}, {"type": "worker", "index": 1}, "index must be 0"),
        ({"chief": ["a:1"]}, {"type": "chief"}, "index must be set"),
        ({"master": ["a:1"], "chief": ["b:1"]}, {"type": "master", "index": 0}, "take one of them"),
        ({"master": ["a:1"]}, {"type": "evaluator", "index": 0}, "which evaluates"),
    ],
)
def test_a_task_that_cannot_be_is_refused(
    cluster: Any, task: Any, match: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    with pytest.raises(ValueError, match=match):
        gf.estimator.RunConfig()


@pytest.mark.parametrize(
    "wrong",
    [
        {"session_config": {}}, {"keep_checkpoint_every_n_hours": 0}, {"session_creation_timeout_secs": -1},
        {"tf_random_seed": 1.5},
    ],
)  # fmt: skip
def test_arguments_of_another_kind_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        gf.estimator.RunConfig(**wrong)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        gf.estimator.RunConfig().replace(**wrong)
