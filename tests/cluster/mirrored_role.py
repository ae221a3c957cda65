"""A worker of test_mirrored_workers.py: trains with CollectiveAllReduceStrategy under MonitoredTrainingSession.

It writes a line for each thing that happens: "step N WEIGHT", and "failed SECONDS MESSAGE" where a step raised.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import numpy as np

import graphflow as gf

FEATURES = np.random.RandomState(3).normal(size=(48, 2)).astype(np.float32)
LABELS = FEATURES @ np.array([1.0, -2.0], np.float32)


def run(folder: str, name: str, role: str, index: int, life: int, spec: Any, steps: int) -> None:
    """One worker."""
    logging.basicConfig(level=logging.INFO)
    server = gf.train.Server(spec, role, index)
    strategy = gf.distribute.CollectiveAllReduceStrategy(spec, role, index, timeout=60.0)

    def tower(batch: Any) -> Any:
        features, labels = batch
        weights = gf.get_variable("weights", [2], initializer=gf.random_normal_initializer())
        loss = gf.losses.mean_squared_error(labels, gf.reduce_sum(features * weights, 1))
        step = gf.train.get_or_create_global_step()
        return weights, gf.train.MomentumOptimizer(0.05, 0.5).minimize(loss, global_step=step)

    with strategy.scope():
        data = gf.data.Dataset.from_tensor_slices((FEATURES, LABELS)).batch(2).repeat()
        iterator = strategy.distribute_dataset(data)
        weights, train_op = strategy.call_for_each_tower(tower, iterator.get_next())
        weights = strategy.unwrap(weights)[0]
        step_op = gf.group(strategy.unwrap(train_op))
        global_step = gf.train.get_global_step()
    hook = _Failures()
    with gf.train.MonitoredTrainingSession(
        server.target, is_chief=index == 0, checkpoint_dir=str(Path(folder) / f"private_{index}"),
        save_checkpoint_steps=5, save_checkpoint_secs=None, save_summaries_steps=None, log_step_count_steps=None,
        hooks=[gf.train.StopAtStepHook(last_step=steps), hook],
    ) as session:  # fmt: skip
        print("ready", flush=True)
        while not session.should_stop():
            time.sleep(0.02)
            session.run(step_op)
            now, values = session.run_step_fn(lambda context: context.session.run([global_step, weights]))
            print("step", int(now), " ".join(float(v).hex() for v in values), flush=True)


class _Failures(gf.train.SessionRunHook):
    """Tells of sessions made anew."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        print("session", flush=True)
