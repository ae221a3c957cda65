"""A worker of test_groups.py: trains by allreduce, saves every ten steps, and writes down what each step has left.

Each line of trail_GENERATION_RANK is the step, how many workers there are, how often the counting variable was raised,
and what the model has become. The training ends at the step that the file "last" names.
"""

from __future__ import annotations

import os
import sys
import time
import zlib
from pathlib import Path

import graphflow as gf

SAVE_STEPS = 10


def main(folder: Path) -> None:
    """Trains until the file says so."""
    strategy = gf.distribute.CollectiveAllReduceStrategy.from_environment()
    server = gf.train.Server.from_environment()
    cluster, _, rank = gf.train.task_from_environment()
    with strategy.scope():
        step = gf.train.get_or_create_global_step()
        counted = gf.get_variable("counted", [], initializer=gf.zeros_initializer())
        model = gf.get_variable("model", initializer=gf.cast(gf.range(3000), gf.float32) * 1e-3)

        def tower() -> gf.Operation:
            wanted = gf.cast(gf.cast(step, gf.int32) * 7 + rank * 3, gf.float32) * 0.37
            loss = gf.reduce_sum(gf.square(gf.sin(model) - gf.sin(wanted + model * 0.1))) - counted
            return gf.train.GradientDescentOptimizer(1.0).minimize(loss, step)

        train = gf.group(strategy.unwrap(strategy.call_for_each_tower(tower)))
    size = cluster.num_tasks("worker")
    generation = os.environ["GRAPHFLOW_INCARNATION"].partition(".")[0]
    with (
        (folder / f"trail_{generation}_{rank}").open("a") as trail,
        gf.train.MonitoredTrainingSession(
            server.target, rank == 0, str(folder / "checkpoints") if rank == 0 else None,
            save_checkpoint_steps=SAVE_STEPS, save_checkpoint_secs=None, save_summaries_steps=None,
            log_step_count_steps=None, config=gf.ConfigProto(compiled="never"),
        ) as session,
    ):  # fmt: skip
        last, done = folder / "last", 0
        while not last.exists() or done < int(last.read_text()):
            session.run(train)
            done, times, values = session.run([step, counted, model])
            trail.write(f"{done} {size} {times:.3f} {zlib.crc32(values.tobytes())}\n")
            trail.flush()
            time.sleep(0.01)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
