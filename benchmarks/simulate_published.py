"""Simulates clusters whose figures were published, and shows both: `make bench-simulate-published`.

* Abadi et al., TensorFlow: a system for large-scale machine learning (OSDI 2016), sections 6.2 and 6.3: steps without
  a model on 16 parameter servers, and Inception-v3 on 17 with up to 200 workers and backup workers.
* Sergeev and Del Balso, Horovod (2018): allreduce against parameter servers on up to 128 GPUs.

What a worker computes in a step is given, not measured: no such GPUs are here. Sizes, placement, plans and messages are
those that graphflow has for these models.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import graphflow as gf

MB = 1_000_000
LINK = "10Gbit"
TENSORFLOW = gf.distribute.MessageCosts(network_rate=0.92e9, network_message=0.0, interrupt_rate=math.inf)
"""TensorFlow 1.15 gets 100 MB over TCP at this rate here (benchmarks/cluster.md); all else costs what it does here."""
INCEPTION, PS_INCEPTION = 24 * MB, 17
"""Parameters of Inception-v3."""
K40_SECONDS = 1.55
"""A step of a batch of 32 on the GPUs of 2016, without waiting."""
BATCH = 32
P100_SECONDS = 0.45
"""A step of a batch of 64 on the GPUs of 2017."""


def variables(count: int, parameters: int) -> list[Any]:
    """Parameters in so many variables, which go to the parameter servers in turn."""
    return [
        gf.get_variable(f"v{n}", [parameters // count], initializer=gf.zeros_initializer())
        for n in range(count)
    ]


def null_step(model: int, workers: int, in_rounds: bool) -> Any:
    """A step in which each worker gets `model` bytes from 16 parameter servers, and changes a number on each."""

    def build() -> Any:
        found = variables(16, model // 4) if model else []
        counts = [gf.get_variable(f"c{n}", [], initializer=gf.zeros_initializer()) for n in range(16)]
        fetched = gf.add_n([gf.reduce_sum(v) for v in found] + counts)
        optimizer: Any = gf.train.GradientDescentOptimizer(0.1)
        if in_rounds:
            optimizer = gf.train.SyncReplicasOptimizer(optimizer, workers)
        with gf.control_dependencies([fetched]):
            loss = gf.add_n([gf.identity(c) for c in counts])
        step = gf.train.get_or_create_global_step()
        return gf.group(fetched, optimizer.minimize(loss, global_step=step, var_list=counts))

    return build


def trained(count: int, parameters: int, wrap: Any = lambda optimizer: optimizer) -> Any:
    """A step with a gradient of every parameter."""

    def build() -> Any:
        loss = gf.add_n([gf.reduce_sum(gf.square(v)) for v in variables(count, parameters)])
        step = gf.train.get_or_create_global_step()
        return wrap(gf.train.GradientDescentOptimizer(0.1)).minimize(loss, global_step=step)

    return build


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def null_steps() -> None:
    published = {0: (1.8, 8.8), 100 * MB: (147, 613), 1000 * MB: (1010, 7160)}
    row("each worker gets", "workers", "at its own pace", "in rounds", "published, in rounds")
    row("--", "--:", "--:", "--:", "--:")
    for model, (one, hundred) in published.items():
        for workers in (1, 10, 25, 50, 100):
            found = []
            for in_rounds in (False, True):
                cluster = gf.distribute.SimulatedCluster(16, workers, LINK, "30us", cores=4, costs=TENSORFLOW)
                given = {"worker": 0.0, "ps": 0.0}
                step = null_step(model, workers, in_rounds)
                found.append(gf.distribute.simulate(step, None, cluster, seconds=given, steps=4))
            known = {1: f"{one:,} ms", 100: f"{hundred:,} ms"}.get(workers, "")
            name = f"{model // MB:,} MB" if model else "16 numbers"
            row(name, workers, *(f"{1e3 * each.step_seconds:,.1f} ms" for each in found), known)
    print()


def inception() -> None:
    row("workers", "images/s", "each", "sync, images/s", "what holds the asynchronous ones up")
    row("--:", "--:", "--:", "--:", "--")
    for workers in (25, 100, 200):
        found = []
        for synchronous in (False, True):
            cluster = gf.distribute.SimulatedCluster(
                PS_INCEPTION, workers, LINK, "30us", cores=8, stragglers="lognormal:0.05", costs=TENSORFLOW
            )
            strategy = gf.distribute.ParameterServerStrategy(synchronous=synchronous)
            seconds = {"worker": K40_SECONDS, "ps": 0.004}
            step = trained(96, INCEPTION)
            found.append(gf.distribute.simulate(step, strategy, cluster, seconds=seconds, steps=6))
        images = found[0].steps_per_second * BATCH
        in_rounds = found[1].steps_per_second * BATCH * workers
        row(workers, f"{images:,.0f}", f"{images / workers:.1f}", f"{in_rounds:,.0f}", found[0].bottleneck)
    print()


def backup_workers() -> None:
    """Rounds of 50 workers, which up to five others stand by."""
    row("backup workers", "seconds of a round", "gained", "gained for the GPUs used", "late")
    row("--:", "--:", "--:", "--:", "--:")
    base = 0.0
    for backup in range(6):
        wrap = lambda optimizer, n=backup: gf.train.SyncReplicasOptimizer(optimizer, 50, 50 + n)  # noqa: E731
        cluster = gf.distribute.SimulatedCluster(
            PS_INCEPTION, 50 + backup, LINK, "30us", cores=8, stragglers=heavy_tail, costs=TENSORFLOW
        )
        seconds = {"worker": K40_SECONDS, "ps": 0.004}
        found = gf.distribute.simulate(trained(96, INCEPTION, wrap), None, cluster, seconds=seconds, steps=25)
        round_seconds = 1 / found.steps_per_second
        base = base or round_seconds
        gain = base / round_seconds
        row(
            backup,
            f"{round_seconds:.2f}",
            f"{gain - 1:+.1%}",
            f"{gain * 50 / (50 + backup) - 1:+.1%}",
            f"{found.late:.1%}",
        )
    print()


def heavy_tail(random: Any) -> float:
    """Workers that are much alike, of which one in a hundred steps takes much longer."""
    return random.lognormvariate(0.0, 0.04) * (1.0 + (random.random() < 0.02) * random.uniform(0.1, 0.5))


def allreduce_against_ps() -> None:
    """Four GPUs of a host share its link of 25 Gbit/s, as there; a parameter server runs on each host."""
    row("GPUs", "parameters", "allreduce, of linear", "parameter servers, of linear")
    row("--:", "--:", "--:", "--:")
    for name, parameters in (("Inception V3", 24 * MB), ("VGG-16", 138 * MB)):
        for gpus in (4, 32, 128):
            shares = []
            for strategy in (
                gf.distribute.CollectiveAllReduceStrategy(), gf.distribute.ParameterServerStrategy(synchronous=True),
            ):  # fmt: skip
                ps = gpus // 4 if isinstance(strategy, gf.distribute.ParameterServerStrategy) else 0
                cluster = gf.distribute.SimulatedCluster(
                    ps, gpus, "25Gbit", "30us", cores=16, hosts=gpus // 4
                )
                given = {"worker": P100_SECONDS, "ps": 0.002}
                found = gf.distribute.simulate(
                    trained(96, parameters), strategy, cluster, seconds=given, steps=2
                )
                shares.append(P100_SECONDS * found.steps_per_second)
            row(gpus, name, *(f"{share:.0%}" for share in shares))
    print()


def main() -> None:
    """Prints all tables, or those that are named."""
    begun = time.perf_counter()
    parts = {part.__name__: part for part in (null_steps, inception, backup_workers, allreduce_against_ps)}
    for part in [parts[name] for name in sys.argv[1:]] or parts.values():
        print(f"### {part.__name__}\n")
        part()
    print(f"{time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()
