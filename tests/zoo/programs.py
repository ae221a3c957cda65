"""The zoo's models as programs: how one is built, from which weights it begins, and what its runs give.

A model is a file of `models/` with one function, `build(tf, data)`, which writes an architecture as people wrote it for
TensorFlow 1: with layers, slim or tf.nn, in variable scopes, with the optimizer of its paper. It is given TensorFlow
1.15 by the recorder and graphflow by the tests, and `data`, a RandomState of its own to make inputs from, and gives

    losses    a scalar tensor by name, for the gradients of all trainable variables, or (tensor, list of variables)
    train     operations that a step runs one after the other
    feeds     a function from the number of a step to its feed_dict
    outputs   further tensors by name that are compared (optional)

Weights come from their names, so that recordings need hold none: after its initializers have run, each float variable
whose elements are not all equal, and each trainable one, is given values that depend on its name and shape alone.

This file and the models must stay valid under Python 3.7 and import neither TensorFlow nor graphflow.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.zoo import kept

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 20
GRAPH_SEED = 2019
SHADOW = "/ExponentialMovingAverage"


def names() -> list[str]:
    """All models, in order."""
    files = os.listdir(os.path.join(HERE, "models"))
    return sorted(f[:-3] for f in files if f.endswith(".py") and not f.startswith("_"))


def architecture(name: str) -> Any:
    """The module of a model."""
    path = os.path.join(HERE, "models", name + ".py")
    spec = importlib.util.spec_from_file_location("zoo_model_" + name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass
class Program:
    """A model in a graph of its own, with the gradients of its losses, by "loss/variable"."""

    name: str
    graph: Any
    losses: dict[str, Any]
    train: list[Any]
    feeds: Callable[[int], dict[Any, Any]]
    outputs: dict[str, Any]
    gradients: dict[str, Any]
    variables: list[Any]
    trainable: set[str] = field(default_factory=set)

    def observed(self) -> dict[str, Any]:
        """What the weights at the start give: all losses, outputs and gradients."""
        found = {"loss/" + name: tensor for name, tensor in self.losses.items()}
        found.update(("output/" + name, tensor) for name, tensor in self.outputs.items())
        found.update(("gradient/" + name, tensor) for name, tensor in self.gradients.items())
        return found


def build(tf: Any, name: str, device: Any = None) -> Program:
    """Builds a model in a graph of its own, under a device or device function."""
    return build_with(tf, name, architecture(name).build, device)


def build_with(
    tf: Any, name: str, builder: Callable[[Any, Any], dict[str, Any]], device: Any = None
) -> Program:
    """The program of one function `build`."""
    data = np.random.RandomState(zlib.crc32(name.encode()))
    graph = tf.Graph()
    with graph.as_default(), contextlib.nullcontext() if device is None else tf.device(device):
        tf.set_random_seed(GRAPH_SEED)
        built = builder(tf, data)
        losses, gradients = {}, {}
        for key, loss in built["losses"].items():
            loss, variables = loss if isinstance(loss, tuple) else (loss, tf.trainable_variables())
            losses[key] = loss
            for variable, gradient in zip(variables, tf.gradients(loss, variables)):
                if gradient is not None:
                    dense = tf.convert_to_tensor(gradient)
                    gradients[key + "/" + variable.op.name] = dense
        return Program(
            name=name,
            graph=graph,
            losses=losses,
            train=built["train"],
            feeds=built["feeds"],
            outputs=built.get("outputs", {}),
            gradients=gradients,
            variables=tf.global_variables(),
            trainable={v.op.name for v in tf.trainable_variables()},
        )


def initialize(tf: Any, program: Program, session: Any) -> None:
    """Runs all initializers."""
    with program.graph.as_default():
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])


def values(program: Program, session: Any) -> dict[str, Any]:
    """The values of all variables, by name."""
    return session.run({v.op.name: v for v in program.variables})


def start(program: Program, initial: dict[str, Any]) -> dict[str, Any]:
    """The values to begin with, by name, of those variables that do not keep what their initializers gave."""
    chosen = {}
    for name, value in initial.items():
        value = np.asarray(value)
        if value.dtype.kind != "f" or name.endswith(SHADOW):
            continue
        even = value.size <= 1 or bool(np.all(value == value.flat[0]))
        if name not in program.trainable and even:
            continue
        random = np.random.RandomState(zlib.crc32(name.encode()))
        noise = random.standard_normal(value.shape)
        if value.ndim < 2:
            chosen[name] = 0.1 * noise + (value if even else 0.0)
        else:
            chosen[name] = noise / np.sqrt(np.prod(value.shape[:-1]))
        chosen[name] = np.asarray(chosen[name], value.dtype)
    for name in initial:
        if name.endswith(SHADOW) and name[: -len(SHADOW)] in chosen:
            chosen[name] = chosen[name[: -len(SHADOW)]]
    return chosen


def begin(program: Program, session: Any, chosen: dict[str, Any]) -> None:
    """Gives variables the values that they begin with."""
    which = [v for v in program.variables if v.op.name in chosen]
    session.run([v.initializer for v in which], {v.initial_value: chosen[v.op.name] for v in which})


def look(program: Program, session: Any) -> dict[str, Any]:
    """All losses, outputs and gradients at the start: those of a second run, which compiled code may compute."""
    feeds = program.feeds(0)
    fetches = program.observed()
    session.run(fetches, feeds)
    return session.run(fetches, feeds)


def train(program: Program, session: Any, initial: dict[str, Any]) -> dict[str, Any]:
    """The losses of all steps, by how much the steps have changed each variable, and how large that was before."""
    losses = {name: [] for name in program.losses}  # type: ignore[var-annotated]
    for step in range(STEPS):
        feeds = program.feeds(step)
        found, _ = session.run([program.losses, program.train[0]], feeds)
        for operation in program.train[1:]:
            session.run(operation, feeds)
        for name, value in found.items():
            losses[name].append(value)
    result = {"losses/" + name: np.stack(series) for name, series in losses.items()}
    for name, value in values(program, session).items():
        value = np.asarray(value)
        if value.dtype.kind == "f":
            before = np.asarray(initial[name], value.dtype)
            result["change/" + name] = value - before
            result[kept.WEIGHTS + name] = np.max(np.abs(before), initial=0.0)
        else:
            result["change/" + name] = value
    return result
