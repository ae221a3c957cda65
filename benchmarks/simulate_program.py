"""A task of a cluster that trains, and says how long its steps take: `simulate.py` starts one for each.

Run as `PYTHON simulate_program.py JSON`. A ps serves. A worker trains on and on; "SECONDS" on its input is answered
with the seconds of a step, the mean over that time, and how many there were; "end" ends it.
"""

import json
import os
import sys
import threading
import time
from typing import Any

from simulate_models import MODELS, batch, strategy

import graphflow as gf


def main(told: dict[str, Any]) -> None:
    config = gf.ConfigProto(
        compiled="always", tcp_only=told["tcp"], cluster_keys=told["keys"], connect_timeout_in_ms=60_000
    )
    server = gf.train.Server(told["cluster"], told["job"], told["index"], config=config)
    if told["job"] == "ps":
        server.join()
        return
    made = strategy(gf, told["strategy"], told["cluster"], told["job"], told["index"])
    with made.scope():
        arrays = batch(told["model"])
        given = []
        if arrays is not None:
            data = gf.data.Dataset.from_tensors(arrays).repeat()
            given = list(made.distribute_dataset(data).get_next())
        result = made.call_for_each_tower(lambda *parts: MODELS[told["model"]](gf, *parts), *given)
        train = gf.group(*[getattr(value, "op", value) for value in made.unwrap(result)])
    first = told["index"] == 0
    with gf.train.MonitoredTrainingSession(server.target, first, config=config) as monitored:
        monitored.run_step_fn(lambda context: _train(context.session, train))


def _train(session: Any, train: Any) -> None:
    """Trains until it is told to end, without hooks."""
    for _ in range(20):
        session.run(train)
    ended: list[float] = []
    threading.Thread(target=_answer, args=(ended,), daemon=True).start()
    print("ready", flush=True)
    while True:
        session.run(train)
        ended.append(time.perf_counter())


def _answer(ended: list[float]) -> None:
    for line in sys.stdin:
        if line.strip() == "end":
            os._exit(0)
        first = len(ended)
        time.sleep(float(line))
        while len(ended) <= first + 1:
            time.sleep(0.01)
        times = ended[max(0, first - 1) :]
        print((times[-1] - times[0]) / (len(times) - 1), len(ended) - first, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
