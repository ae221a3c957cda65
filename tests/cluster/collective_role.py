"""A process of test_collective_kills.py: a worker with a copy of the model, kept equal to the others' by allreduce.

Each has a MonitoredTrainingSession on its own server. Worker 0 keeps checkpoints; whenever a session is made, the
others take the variables from worker 0, so all of them go on from the checkpoint that it has found.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import graphflow as gf

WORKERS = 4
GROUP = 1
CONFIG = gf.ConfigProto(compiled="never")
"""One tier in all runs: its sines may differ from the other's in the last bit."""


def gradients(model: Any, step: Any, worker: int) -> Any:
    """The gradient of a worker at a step; the sum over the workers depends on the order in which it is taken."""
    wanted = gf.cast(gf.cast(step, gf.int32) * 7 + worker * 3, gf.float32) * 0.37
    return gf.gradients(gf.reduce_mean(gf.square(gf.sin(model) - gf.sin(wanted + model * 0.1))), [model])[0]


def initial() -> Any:
    """The model before training: large enough to be reduced in shares."""
    return gf.cast(gf.range(50_000), gf.float32) * 1e-3


class Sharing(gf.train.SessionRunHook):
    """Has all workers begin with worker 0's variables, each time that a session is made."""

    def __init__(self, worker: int) -> None:
        self._worker = worker

    def begin(self) -> None:
        begins = []
        for key, variable in enumerate(gf.global_variables()):
            value = gf.distribute.broadcast(variable.value(), self._worker == 0, WORKERS, GROUP, 100 + key)
            begins.append(value.op if self._worker == 0 else gf.assign(variable, value).op)
        self._share = gf.group(*begins)

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._share)


def run(folder: str, name: str, role: str, index: int, life: int, spec: Any, steps: int) -> None:
    """One worker."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    train(folder, name, index, spec, steps)
    os._exit(0)


def train(folder: str, name: str, index: int, spec: Any, steps: int) -> None:
    """What a worker does."""
    server = gf.train.Server(spec, "worker", index)
    with gf.device(f"/job:worker/task:{index}"):
        counter = gf.train.get_or_create_global_step()
        model = gf.get_variable("model", initializer=initial())
        total = gf.distribute.all_reduce(
            gradients(model, counter, index), WORKERS, GROUP, 1, final="div", name="total"
        )
        train_op = gf.train.AdamOptimizer(0.03125).apply_gradients([(total, model)], counter)
        acknowledged = (Path(folder) / f"acknowledged_{name}").open("a")
        with gf.train.MonitoredTrainingSession(
            server.target, True, str(Path(folder) / "checkpoints") if index == 0 else None, config=CONFIG,
            hooks=[Sharing(index)], save_checkpoint_steps=10 if index == 0 else None, save_checkpoint_secs=None,
            save_summaries_steps=None, log_step_count_steps=None,
        ) as session:  # fmt: skip
            step = 0
            while step < steps:
                session.run(train_op)
                step = int(session.run(counter))
                acknowledged.write(f"{step}\n")
                acknowledged.flush()
            found = [number.hex() for number in session.run(model).tolist()[::1000]]
            reasons = [f"{type(r.reason).__name__}: {r.reason}" for r in session.recoveries]
            (Path(folder) / f"result_{index}").write_text(json.dumps({"model": found, "reasons": reasons}))
