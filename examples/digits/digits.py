"""Trains a classifier of handwritten digits and draws what it got wrong.

The layers live on one CPU device and the loss on another, to show that placement is a matter of `gf.device`
and not of the model; cluster.py beside it trains the same model on several tasks. The data lie here too; README.md
says whose they are.
"""

import argparse
import math
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import graphflow as gf

HELD_OUT = 360
BATCH = 64
SEED = 7

Array = NDArray[np.float32]
Labels = NDArray[np.int64]


def load() -> tuple[Array, Labels, Array, Labels]:
    """Training images and labels, then the held-out ones; images are rows of 64 values in [0, 1]."""
    pictures, classes = gf.examples.digits()
    images = pictures.reshape(-1, 64).astype(np.float32) / 16.0
    labels = classes.astype(np.int64)
    order = np.random.default_rng(SEED).permutation(len(images))
    held_out, training = order[:HELD_OUT], order[HELD_OUT:]
    return images[training], labels[training], images[held_out], labels[held_out]


class Progress:
    """A bar that redraws itself on a terminal; elsewhere a line every tenth of the way."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.start = time.perf_counter()
        self.shown = self.start
        self.terminal = sys.stdout.isatty()

    def show(self, done: int, text: str) -> None:
        """Shows that `done` of all steps are made, and a word on how it goes."""
        last = done == self.total
        if self.terminal:
            now = time.perf_counter()
            if now - self.shown < 0.05 and not last:
                return
            self.shown = now
            filled = 40 * done // self.total
            bar = "█" * filled + "░" * (40 - filled)
            seconds = now - self.start
            print(
                f"\r{bar} {done}/{self.total} {seconds:.1f} s  {text}", end="\n" if last else "", flush=True
            )
        elif last or done % max(1, self.total // 10) == 0:
            print(f"step {done}/{self.total}  {text}", flush=True)


class Model:
    """Two hidden layers; every attribute is a tensor or an op of the default graph. A step adds 1 to global_step."""

    def __init__(self, global_step: gf.Variable | None = None) -> None:
        self.images = gf.placeholder(gf.float32, [None, 64], name="images")
        self.labels = gf.placeholder(gf.int64, [None], name="labels")
        self.keep = gf.placeholder_with_default(1.0, [], name="keep")
        with gf.device("/cpu:0"):
            hidden = self.images
            for name, (inputs, outputs) in {"first": (64, 128), "second": (128, 64)}.items():
                with gf.variable_scope(name):
                    hidden = gf.nn.relu(self.dense(hidden, inputs, outputs))
                    hidden = gf.nn.dropout(hidden, keep_prob=self.keep)
            with gf.variable_scope("logits"):
                logits = self.dense(hidden, 64, 10)
        with gf.device("/cpu:1"):
            with gf.name_scope("loss"):
                one_hot = gf.one_hot(self.labels, 10)
                losses = gf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=one_hot)
                self.loss = gf.reduce_mean(losses)
            with gf.name_scope("accuracy"):
                self.predictions = gf.argmax(logits, axis=1)
                right = gf.equal(self.predictions, self.labels)
                self.accuracy = gf.reduce_mean(gf.cast(right, gf.float32))
        self.step = gf.train.AdamOptimizer(2e-3).minimize(self.loss, global_step, name="step")
        self.initialize = gf.global_variables_initializer()

    @staticmethod
    def dense(inputs: gf.Tensor, size: int, outputs: int) -> gf.Tensor:
        """A matrix product and a bias."""
        weights = gf.get_variable("weights", [size, outputs], initializer=gf.glorot_uniform_initializer())
        bias = gf.get_variable("bias", [outputs], initializer=gf.zeros_initializer())
        return gf.matmul(inputs, weights) + bias


def batches(count: int, seed: int) -> Iterator[Labels]:
    """The indices of one batch after the other, for ever: all examples in a new order each time."""
    generator = np.random.default_rng(seed)
    while True:
        order = generator.permutation(count)
        for start in range(0, count - BATCH + 1, BATCH):
            yield order[start : start + BATCH]


def train(session: gf.Session, model: Model, images: Array, labels: Labels, steps: int) -> list[float]:
    """Makes `steps` steps on batches drawn in a fixed order; returns the loss before each of them."""
    losses: list[float] = []
    progress = Progress(steps)
    for done, batch in zip(range(1, steps + 1), batches(len(images), SEED), strict=False):
        feed = {model.images: images[batch], model.labels: labels[batch], model.keep: 0.8}
        loss, _ = session.run([model.loss, model.step], feed)
        losses.append(float(loss))
        progress.show(done, f"loss {np.mean(losses[-50:]):.4f}")
    return losses


def show_placement(session: gf.Session, model: Model, images: Array, labels: Labels) -> None:
    """Prints which operations of one training step ran on each device, by their name scope.

    `ConfigProto(log_device_placement=True)` writes every single operation, `session.explain(...)` the whole plan.
    """
    options = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
    traced = gf.RunMetadata()
    feed = {model.images: images[:BATCH], model.labels: labels[:BATCH]}
    session.run([model.loss, model.step], feed, options=options, run_metadata=traced)
    ran = [
        (stats.node_name, stats.op, stats.device.rpartition("/")[2]) for stats in traced.step_stats.nodes()
    ]
    print(f"\n{placement(ran)}\n")


def placement(operations: Iterable[tuple[str, str, str]]) -> str:
    """A table of operations, each a name, a type and a place: what is where, by the outermost name scope."""
    rows: dict[tuple[str, str], Counter[str]] = {}
    for name, op, place in operations:
        scope = "(send, receive)" if op in ("Send", "Recv") else name.partition("/")[0]
        if op != "Const":
            rows.setdefault((scope, place), Counter())[op] += 1
    width = max(len(scope) for scope, _ in rows)
    places = max(len(place) for _, place in rows)
    lines = [f"{'scope':<{width}}  {'device':<{places}}  operations of a training step"]
    for (scope, place), ops in rows.items():
        names = [f"{op} x {count}" if count > 1 else op for op, count in ops.most_common()]
        text = textwrap.shorten(", ".join(names), 100 - width - places - 4, placeholder=" ...")
        lines.append(f"{scope:<{width}}  {place:<{places}}  {text}")
    return "\n".join(lines)


def draw(
    path: Path, losses: list[float], images: Array, labels: Labels, guesses: Labels,
    steps: Sequence[int] | None = None,
) -> None:  # fmt: skip
    """Writes a PNG: the loss, at these steps or at each, and the held-out images whose guess is wrong."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    wrong = np.flatnonzero(guesses != labels)[:18]
    figure = pyplot.figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    places = np.arange(len(losses)) if steps is None else np.asarray(steps)
    axes.semilogy(places, losses, color="tab:blue", alpha=0.25, linewidth=0.8, label="a batch")
    window = max(1, min(50, len(losses)))
    smooth = np.convolve(losses, np.ones(window) / window, mode="valid")
    axes.semilogy(places[window - 1 :], smooth, color="tab:blue", label=f"mean of {window}")
    axes.set(xlabel="step", ylabel="cross entropy", title="Training loss")
    axes.legend()
    right.suptitle(f"{np.sum(guesses != labels)} of {len(labels)} held-out images guessed wrong")
    columns = max(1, math.ceil(math.sqrt(len(wrong))))
    rows = max(1, math.ceil(len(wrong) / columns))
    panels = right.subplots(rows, columns, squeeze=False).ravel()
    for panel in panels:
        panel.axis("off")
    for panel, index in zip(panels, wrong, strict=False):
        panel.imshow(images[index].reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        panel.set_title(f"{labels[index]}, not {guesses[index]}", fontsize=9)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main() -> int:
    """Trains, reports and draws; the exit code is 1 where the accuracy is below 96 %."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500, help="training steps (default: %(default)s)")
    parser.add_argument(
        "--out", type=Path, default=Path("digits.png"), help="the picture (default: %(default)s)"
    )
    arguments = parser.parse_args()
    if arguments.steps < 1:
        parser.error("--steps must be at least 1")

    start = time.perf_counter()
    images, labels, held_out_images, held_out_labels = load()
    print(f"{len(images)} images to train on, {len(held_out_images)} held out")
    gf.set_random_seed(SEED)
    model = Model()
    with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2})) as session:
        session.run(model.initialize)
        show_placement(session, model, images, labels)
        losses = train(session, model, images, labels, arguments.steps)
        accuracy, guesses = session.run(
            [model.accuracy, model.predictions],
            {model.images: held_out_images, model.labels: held_out_labels},
        )
    print(f"held-out accuracy {accuracy:.2%} after {time.perf_counter() - start:.1f} s")
    draw(arguments.out, losses, held_out_images, held_out_labels, guesses)
    print(f"loss curve and wrong images: {arguments.out}")
    return 0 if accuracy >= 0.96 else 1


if __name__ == "__main__":
    sys.exit(main())
