"""A mirrored training step on two CPU devices, built by hand, against the same step on one device.

usage: python devices.py [--rounds N] [--steps N] [WORKLOAD ...]    WORKLOAD: cnn, mlp

The batch is split in two, and each device has a tower with its own copy of the variables; gradients are exchanged and
summed, and each device updates its copy: what MirroredStrategy builds. It is measured against one device that is given
one thread and one that is given two, in turns, so that what else the machine does falls on all alike. Prints the
medians in milliseconds, how many times faster two devices are, and whether the losses agree.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphflow as gf

BATCH = {"cnn": 64, "mlp": 128}
Loss = Callable[[Any, Any, Callable[..., Any]], Any]


def cnn(images: Any, labels: Any, variable: Callable[..., Any]) -> Any:
    """The loss of two convolutions, two poolings and two dense layers."""

    def layer(inputs: Any, kernel: Any) -> Any:
        hidden = gf.nn.relu(gf.nn.conv2d(inputs, kernel, [1, 1, 1, 1], "SAME"))
        return gf.nn.max_pool(hidden, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    hidden = layer(gf.reshape(images, [-1, 28, 28, 1]), variable(5, 5, 1, 32))
    hidden = layer(hidden, variable(5, 5, 32, 64))
    hidden = gf.nn.relu(gf.matmul(gf.reshape(hidden, [-1, 7 * 7 * 64]), variable(7 * 7 * 64, 1024)))
    return mean_loss(gf.matmul(hidden, variable(1024, 10)), labels)


def mlp(images: Any, labels: Any, variable: Callable[..., Any]) -> Any:
    """The loss of a perceptron with two hidden layers of 256."""
    hidden = images
    for inputs, outputs in ((784, 256), (256, 256)):
        hidden = gf.nn.relu(gf.matmul(hidden, variable(inputs, outputs)) + variable(outputs))
    return mean_loss(gf.matmul(hidden, variable(256, 10)) + variable(10), labels)


def mean_loss(logits: Any, labels: Any) -> Any:
    """The mean cross-entropy."""
    return gf.reduce_mean(gf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=labels))


MODELS: dict[str, Loss] = {"cnn": cnn, "mlp": mlp}


def mirrored(name: str, devices: int) -> tuple[Any, Any, dict[Any, Any]]:
    """The training step and the loss of `devices` towers, and what is fed."""
    model, batch = MODELS[name], BATCH[name]
    images = gf.placeholder(gf.float32, [batch, 784])
    labels = gf.placeholder(gf.float32, [batch, 10])
    share = batch // devices
    losses, towers = [], []
    for k in range(devices):
        source = np.random.RandomState(0)
        own: list[Any] = []

        def variable(*shape: int, own: list[Any] = own, source: Any = source) -> Any:
            own.append(gf.Variable(source.randn(*shape).astype(np.float32) * np.float32(0.05)))
            return own[-1]

        with gf.device(f"/cpu:{k}"):
            part = slice(k * share, (k + 1) * share)
            losses.append(model(images[part], labels[part], variable))
            towers.append((own, gf.gradients(losses[-1], own)))
    steps = []
    for k, (own, gradients) in enumerate(towers):
        with gf.device(f"/cpu:{k}"):
            if devices > 1:
                every = zip(*(g for _, g in towers), strict=True)
                gradients = [gf.add_n(list(each)) / float(devices) for each in every]
            optimizer = gf.train.AdamOptimizer(1e-3)
            steps.append(optimizer.apply_gradients(zip(gradients, own, strict=True)))
    source = np.random.RandomState(1)
    feed = {
        images: source.rand(batch, 784).astype(np.float32),
        labels: np.eye(10, dtype=np.float32)[source.randint(0, 10, batch)],
    }
    with gf.device("/cpu:0"):
        loss = gf.add_n(losses) / float(devices)
    return gf.group(*steps), loss, feed


class Contender:
    """One way to run the step."""

    def __init__(self, name: str, devices: int, threads: int) -> None:
        self.times: list[float] = []
        self._graph = gf.Graph()
        with self._graph.as_default():
            self._step, self._loss, self._feed = mirrored(name, devices)
            config = gf.ConfigProto(
                device_count={"CPU": devices}, intra_op_parallelism_threads=threads, compiled="always"
            )
            self._session = gf.Session(config=config)
            self._session.run(gf.global_variables_initializer())

    def loss(self) -> float:
        """The loss with the variables as they are now."""
        return float(self._session.run(self._loss, self._feed))

    def warm(self, seconds: float) -> None:
        """Runs it until it is compiled."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self._session.run(self._step, self._feed)

    def time(self, steps: int) -> None:
        """Takes the time of some steps."""
        for _ in range(steps):
            began = time.perf_counter()
            self._session.run(self._step, self._feed)
            self.times.append(time.perf_counter() - began)

    def milliseconds(self) -> float:
        """The median."""
        return 1e3 * statistics.median(self.times)


def measure(name: str, rounds: int, steps: int, seconds: float) -> str:
    """The line of a workload."""
    one, both, two = (Contender(name, *how) for how in ((1, 1), (1, 2), (2, 2)))
    contenders = [one, both, two]
    agree = np.ptp([contender.loss() for contender in contenders]) < 1e-5
    for contender in contenders:
        contender.warm(seconds)
    for _ in range(rounds):
        for contender in contenders:
            contender.time(steps)
    base, threaded, mine = (contender.milliseconds() for contender in contenders)
    return (
        f"{name}: one device, one thread {base:.2f} ms; two threads {threaded:.2f} ms; two devices {mine:.2f} ms: "
        f"{base / mine:.2f} times and {threaded / mine:.2f} times as fast; losses agree: {agree}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=list(MODELS), metavar="WORKLOAD")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each is warmed up")
    options = parser.parse_args(arguments)
    for name in options.workloads:
        print(measure(name, options.rounds, options.steps, options.seconds), flush=True)


if __name__ == "__main__":
    main()
