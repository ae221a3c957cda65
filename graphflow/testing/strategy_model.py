"""What check_strategy trains: a small model, under strategies and, for comparison, on one device.

Everything is fixed by numbers, not by seeds, because operations' seeds follow from the number of operations before
them, which differs between strategies.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.math.math import add_n, tanh
from graphflow._core.ops.state.initializers import Constant
from graphflow._core.ops.state.variable_collections import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
)
from graphflow._core.ops.state.variable_scope import AUTO_REUSE, get_variable_scope, variable_scope
from graphflow._core.session import Session
from graphflow.config import ConfigProto
from graphflow.data.dataset import Dataset
from graphflow.distribute.strategy import DistributionStrategy
from graphflow.layers.core import dense
from graphflow.layers.normalization import batch_normalization
from graphflow.losses.functions import mean_squared_error
from graphflow.train.saving.checkpoint_utils import list_variables
from graphflow.train.saving.saver import Saver
from graphflow.train.steps import get_or_create_global_step

_random = np.random.RandomState(7)
FEATURES = _random.normal(size=(24, 4, 3)).astype(np.float32)
LABELS = (FEATURES @ np.array([[0.5], [-1.0], [0.25]], np.float32) + 0.1).astype(np.float32)
HIDDEN = _random.normal(size=(3, 5)).astype(np.float32)
OUTPUT = _random.normal(size=(5, 1)).astype(np.float32)

Optimizer = Callable[[], Any]


def loss_of(features: TensorLike, labels: TensorLike, normalised: bool = False) -> Any:
    """The loss of a batch; the variables are made in the current variable scope.

    Args:
        features: Floats [batch, features].
        labels: Floats [batch, 1].
        normalised: Whether the hidden layer is normalised by batch.

    Returns:
        A scalar.
    """
    hidden = dense(features, 5, activation=tanh, kernel_initializer=Constant(HIDDEN), name="hidden")
    if normalised:
        hidden = batch_normalization(hidden, training=True, momentum=0.5, name="normal")
    output = dense(hidden, 1, kernel_initializer=Constant(OUTPUT), name="output")
    return mean_squared_error(labels, output)


def batches() -> Dataset:
    """The data, a batch an element, again and again."""
    return Dataset.from_tensor_slices((FEATURES, LABELS)).repeat()


@dataclass
class Trained:
    """What a training gave.

    Args:
        losses: The losses of the first tower, one for each step.
        values: The values of the variables by name.
        copies: The values of all copies of each variable, by its name.
    """

    losses: list[float] = field(default_factory=list)
    values: dict[str, np.ndarray] = field(default_factory=dict)
    copies: dict[str, list[np.ndarray]] = field(default_factory=dict)


def config_for(strategy: DistributionStrategy) -> ConfigProto:
    """A session's configuration with as many CPU devices as the strategy names.

    Args:
        strategy: The strategy.

    Returns:
        The configuration.
    """
    specs = [DeviceSpec.from_string(device) for device in strategy.worker_devices]
    return ConfigProto(device_count={"CPU": 1 + max(spec.device_index or 0 for spec in specs)})


class Clients:
    """The programs that a strategy is used in: one, or several that train together, each in a thread here.

    Args:
        strategies: One for each.
        targets: Where each one's session connects to, "" for this process.
    """

    def __init__(self, strategies: Sequence[DistributionStrategy], targets: Sequence[str]) -> None:
        self.strategies: list[DistributionStrategy] = list(strategies)
        self.targets: list[str] = list(targets)
        self.towers: int = sum(len(s.worker_devices) for s in strategies)

    def each(self, program: Callable[[int, DistributionStrategy, Callable[[], None]], Any]) -> list[Any]:
        """Calls a function in each client, in a graph of its own.

        Servers forget all state before, so that no program finds another's. What the first one raised is raised
        here.

        Args:
            program: Called as program(index, strategy, wait_for_others).

        Returns:
            What each returned.
        """
        for target in self.targets:
            if target:
                Session.reset(target)
        results: list[Any] = [None] * len(self.strategies)
        errors: list[BaseException] = []
        barrier = threading.Barrier(len(self.strategies))

        def client(index: int) -> None:
            try:
                with Graph().as_default():
                    results[index] = program(index, self.strategies[index], lambda: void(barrier.wait(60)))
            except threading.BrokenBarrierError:
                pass
            except BaseException as error:
                errors.append(error)
                barrier.abort()

        if len(self.strategies) == 1:
            client(0)
        else:
            threads = [threading.Thread(target=client, args=(i,)) for i in range(len(self.strategies))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if errors:
            raise errors[0]
        return results

    def session(self, index: int) -> Session:
        """A session of a client.

        Args:
            index: The number of the client.

        Returns:
            The session.
        """
        return Session(self.targets[index], config=config_for(self.strategies[index]))

    def train(
        self,
        optimizer: Optimizer,
        steps: int,
        normalised: bool = False,
        save_to: str | None = None,
        restore_from: str | None = None,
    ) -> list[Trained]:
        """Trains the model by steps of every client, from its beginning or a checkpoint.

        Args:
            optimizer: A function that makes the optimizer.
            steps: How many steps are trained.
            normalised: Whether the hidden layer is normalised by batch.
            save_to: The prefix of a checkpoint that is written at the end; None for none.
            restore_from: The prefix of a checkpoint to begin with; None for initial values.

        Returns:
            What each client found.
        """

        def tower(batch: Any) -> Any:
            features, labels = batch
            loss = loss_of(features, labels, normalised)
            step = get_or_create_global_step()
            graph = loss.graph
            with graph.control_dependencies(graph.get_collection(GraphKeys.UPDATE_OPS)):
                return loss, optimizer().minimize(loss, global_step=step)

        def program(index: int, strategy: DistributionStrategy, wait: Callable[[], None]) -> Trained:
            found = Trained()
            with strategy.scope():
                iterator = strategy.distribute_dataset(batches())
                loss, train_op = strategy.call_for_each_tower(tower, iterator.get_next())
                losses = strategy.unwrap(loss)
                step = group(strategy.unwrap(train_op))
                begin = group(global_variables_initializer(), local_variables_initializer())
                variables = {v.name: v for v in global_variables()}
                copies = {name: strategy.unwrap(v) for name, v in variables.items()}
                saver = Saver(None if restore_from is None else _in_checkpoint(restore_from))
            wait()
            with self.session(index) as session:
                if strategy.should_init:
                    session.run(begin)
                    if restore_from is not None:
                        saver.restore(session, restore_from)
                wait()
                for _ in range(steps):
                    found.losses.append(float(np.mean(session.run([losses, step])[0])))
                wait()
                found.values, found.copies = session.run([variables, copies])
                if save_to is not None and index == 0:
                    saver.save(session, save_to)
                wait()
            return found

        return self.each(program)


def _in_checkpoint(path: str) -> list[Any]:
    """The variables that a checkpoint has; a strategy may have some of its own besides."""
    names = {name for name, _ in list_variables(path)}
    return [variable for variable in global_variables() if variable.op.name in names]


def void(_: object) -> None:
    """Nothing.

    Args:
        _: Anything.
    """


def train_alone(
    optimizer: Optimizer,
    steps: int,
    towers: int,
    save_to: str | None = None,
    restore_from: str | None = None,
) -> Trained:
    """The same training without a strategy: each step on the mean loss of as many batches as there are towers.

    Args:
        optimizer: A function that makes the optimizer.
        steps: How many steps are trained.
        towers: How many batches a step is trained on.
        save_to: The prefix of a checkpoint that is written at the end; None for none.
        restore_from: The prefix of a checkpoint to begin with; None for initial values.

    Returns:
        What was found.
    """
    found = Trained()
    with Graph().as_default():
        iterator = batches().make_one_shot_iterator()
        elements: list[Any] = []
        before: list[Any] = []
        for _ in range(towers):
            with iterator._iterator_resource.graph.control_dependencies(before):
                elements.append(iterator.get_next())
            before = [elements[-1][0].op]
        losses = []
        for element in elements:
            with variable_scope(get_variable_scope(), reuse=AUTO_REUSE):
                losses.append(loss_of(*element))
        loss = add_n(losses) / float(towers)
        train_op = optimizer().minimize(loss, global_step=get_or_create_global_step())
        begin = global_variables_initializer()
        saver = Saver(None if restore_from is None else _in_checkpoint(restore_from))
        with Session() as session:
            session.run(begin)
            if restore_from is not None:
                saver.restore(session, restore_from)
            for _ in range(steps):
                found.losses.append(float(session.run([loss, train_op])[0]))
            found.values = session.run({v.name: v for v in global_variables()})
            if save_to is not None:
                saver.save(session, save_to)
    return found
