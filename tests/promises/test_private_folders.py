"""Protects promise 12: checkpoints need no disk that tasks share; what lies on several devices is gathered by one.

Here the devices are those of one process: one of them writes, the others send it what they hold.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

DEVICES = 3


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def variables(devices: int) -> list[Any]:
    """Five variables and one in parts, spread over devices."""
    made = []
    for number in range(5):
        with gf.device(f"/cpu:{number % devices}"):
            made.append(
                gf.get_variable(
                    f"v{number}", [number + 1, 7], initializer=gf.random_normal_initializer(seed=number)
                )
            )
    with gf.device(
        lambda op: f"/cpu:{int(op.name.split('part_')[1][0]) % devices}" if "part_" in op.name else ""
    ):
        parts = gf.get_variable(
            "parts",
            [10, 4],
            partitioner=gf.fixed_size_partitioner(5),
            initializer=gf.random_normal_initializer(seed=9),
        )
    return [*made, gf.convert_to_tensor(parts)]


def session(devices: int) -> gf.Session:
    return gf.Session(config=gf.ConfigProto(device_count={"CPU": devices}))


@pytest.mark.parametrize("sharded", [False, True])
def test_promise_12_one_device_writes_for_all_into_its_own_folder(tmp_path: Path, sharded: bool) -> None:
    made = variables(DEVICES)
    saver = gf.train.Saver(sharded=sharded)
    with session(DEVICES) as first:
        first.run(gf.global_variables_initializer())
        values = first.run(made)
        plan = first.explain(saver.saver_def.save_tensor_name)
        (tmp_path / "chief").mkdir()
        prefix = saver.save(first, str(tmp_path / "chief" / "model"), 7)
    writers = {line.rsplit("@ ", 1)[1] for line in plan.splitlines() if "= SaveV2(" in line}
    holders = {line.rsplit("@ ", 1)[1] for line in plan.splitlines() if "= VariableV2(" in line}
    assert len(writers) == 1 and len(holders) == DEVICES
    assert [
        name for name in os.listdir(tmp_path / "chief") if name.startswith("model-7.") and "meta" not in name
    ] == ["model-7.safetensors"]
    # Elsewhere, with other devices, from a copy of that folder alone.
    (tmp_path / "chief").rename(tmp_path / "elsewhere")
    for devices in (1, 2, DEVICES):
        with gf.Graph().as_default(), session(devices) as other:
            again = variables(devices)
            gf.train.Saver().restore(other, prefix.replace("chief", "elsewhere"))
            for value, restored in zip(values, other.run(again), strict=True):
                assert value.tobytes() == np.asarray(restored).tobytes()


def test_promise_12_a_training_session_gathers_too(tmp_path: Path) -> None:
    def trained(steps: int, folder: Path) -> tuple[int, list[bytes]]:
        with gf.Graph().as_default():
            gf.set_random_seed(3)
            with gf.device("/cpu:1"):
                w = gf.get_variable("w", [4, 4])
            with gf.device("/cpu:2"):
                b = gf.get_variable("b", [4])
            loss = gf.reduce_sum(gf.square(gf.matmul(w, w) + b - 1.0))
            step = gf.train.get_or_create_global_step()
            train = gf.train.AdamOptimizer(0.01).minimize(loss, step)
            config = gf.ConfigProto(device_count={"CPU": DEVICES})
            with gf.train.MonitoredTrainingSession(
                checkpoint_dir=str(folder), save_checkpoint_steps=5, save_summaries_steps=None, config=config,
                hooks=[gf.train.StopAtStepHook(last_step=steps)], progress=False,
            ) as monitored:  # fmt: skip
                while not monitored.should_stop():
                    monitored.run(train)
            with gf.Session(config=config) as reader:
                gf.train.Saver().restore(reader, gf.train.latest_checkpoint(str(folder)))
                return int(reader.run(step)), [reader.run(v).tobytes() for v in gf.global_variables()]

    whole = trained(20, tmp_path / "whole")
    trained(10, tmp_path / "halves")
    assert trained(20, tmp_path / "halves") == whole and whole[0] == 20
