"""Trains a classifier of handwritten digits and draws what it got wrong.

The layers live on one CPU device and the loss on another, to show that placement is a matter of `gf.device`
and not of the model. The data lie beside this file; README.md there says whose they are.
"""

import argparse
import math
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import Any

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
    with np.load(Path(__file__).with_name("digits.npz")) as data:
        images = data["images"].reshape(-1, 64).astype(np.float32) / 16.0
        labels = data["labels"].astype(np.int64)
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
    """Two hidden layers; every attribute is a tensor or an op of the default graph."""

    def __init__(self) -> None:
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
        self.step = gf.train.AdamOptimizer(2e-3).minimize(self.loss, name="step")
        self.initialize = gf.global_variables_initializer()

    @staticmethod
    def dense(inputs: gf.Tensor, size: int, outputs: int) -> gf.Tensor:
        """A matrix product and a bias."""
        weights = gf.get_variable("weights", [size, outputs], initializer=gf.glorot_uniform_initializer())
        bias = gf.get_variable("bias", [outputs], initializer=gf.zeros_initializer())
        return gf.matmul(inputs, weights) + bias


def train(session: gf.Session, model: Model, images: Array, labels: Labels, steps: int) -> list[float]:
    """Makes `steps` steps on batches drawn in a fixed order; returns the loss before each of them."""
    losses: list[float] = []
    generator = np.random.default_rng(SEED)
    progress = Progress(steps)
    order = generator.permutation(len(images))
    for done in range(1, steps + 1):
        if len(order) < BATCH:
            order = generator.permutation(len(images))
        batch, order = order[:BATCH], order[BATCH:]
        feed = {model.images: images[batch], model.labels: labels[batch], model.keep: 0.8}
        loss, _ = session.run([model.loss, model.step], feed)
        losses.append(float(loss))
        progress.show(done, f"loss {np.mean(losses[-50:]):.4f}")
    return losses


def scope_of(stats: Any) -> str:
    """The outermost name scope of a traced operation; what only carries a value between devices is told apart."""
    if stats.op in ("Send", "Recv"):
        return "(send, receive)"
    return str(stats.node_name.partition("/")[0])


def show_placement(session: gf.Session, model: Model, images: Array, labels: Labels) -> None:
    """Prints which operations of one training step ran on each device, by their name scope.

    `ConfigProto(log_device_placement=True)` writes every single operation, `session.explain(...)` the whole plan.
    """
    options = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
    traced = gf.RunMetadata()
    feed = {model.images: images[:BATCH], model.labels: labels[:BATCH]}
    session.run([model.loss, model.step], feed, options=options, run_metadata=traced)
    rows: dict[tuple[str, str], Counter[str]] = {}
    for stats in traced.step_stats.nodes():
        if stats.op != "Const":
            rows.setdefault((scope_of(stats), stats.device), Counter())[stats.op] += 1
    width = max(len(scope) for scope, _ in rows)
    print(f"\n{'scope':<{width}}  device        operations of a training step")
    for (scope, device), ops in rows.items():
        names = [f"{op} x {count}" if count > 1 else op for op, count in ops.most_common()]
        text = textwrap.shorten(", ".join(names), 100 - width - 16, placeholder=" ...")
        print(f"{scope:<{width}}  {device.rpartition('/')[2]:<12}  {text}")
    print()


def draw(path: Path, losses: list[float], images: Array, labels: Labels, guesses: Labels) -> None:
    """Writes a PNG: the loss, and the held-out images whose guess is wrong."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    wrong = np.flatnonzero(guesses != labels)[:18]
    figure = pyplot.figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    axes.semilogy(losses, color="tab:blue", alpha=0.25, linewidth=0.8, label="a batch")
    window = max(1, min(50, len(losses)))
    smooth = np.convolve(losses, np.ones(window) / window, mode="valid")
    axes.semilogy(np.arange(window - 1, len(losses)), smooth, color="tab:blue", label=f"mean of {window}")
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
