"""check_strategy: what every distribution strategy has to keep, tried out on one.

Each property is a function, which raises AssertionError with what was expected and what came. They use the public
interface alone, so they hold for a strategy that overrides the five methods and for one that overrides all of them.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import constant
from graphflow._core.ops.math.math import cast
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Zeros
from graphflow._core.ops.state.variable_collections import global_variables_initializer, trainable_variables
from graphflow._core.ops.state.variable_proto import VariableAggregation
from graphflow.data.dataset import Dataset
from graphflow.distribute.context import get_cross_tower_context, get_distribution_strategy, get_tower_context
from graphflow.distribute.strategy import DistributionStrategy
from graphflow.errors import OutOfRangeError
from graphflow.testing.strategy_model import Clients, Trained, train_alone
from graphflow.train.optimizers.standard import AdamOptimizer, GradientDescentOptimizer, MomentumOptimizer
from graphflow.train.steps import get_or_create_global_step

OPTIMIZERS: Final[dict[str, Callable[[], Any]]] = {
    "GradientDescentOptimizer": lambda: GradientDescentOptimizer(0.1),
    "MomentumOptimizer": lambda: MomentumOptimizer(0.01, 0.9),
    "AdamOptimizer": lambda: AdamOptimizer(0.02),
}


class _Check:
    def __init__(self, clients: Clients, synchronous: bool, tolerance: float) -> None:
        self.clients = clients
        self.synchronous = synchronous
        self.tolerance = tolerance

    def same(self, what: str, found: Any, expected: Any) -> None:
        """Raises AssertionError if numbers differ by more than the order of summation can make."""
        if not np.allclose(found, expected, rtol=self.tolerance, atol=self.tolerance):
            raise AssertionError(f"{what}: expected {expected!r}, got {found!r}")

    def same_training(self, found: Trained, expected: Trained) -> None:
        """The variables, and all their copies, are those of a training on one device."""
        missing = sorted(expected.values.keys() - found.values.keys())
        if missing:
            raise AssertionError(
                f"of one device's variables there are no {missing}, only {sorted(found.values)}"
            )
        for name, value in expected.values.items():
            self.same(f"{name} after training", found.values[name], value)
            for copy in found.copies[name]:
                self.same(f"a copy of {name} after training", copy, value)


def _towers(check: _Check) -> None:
    """Every tower is called once, in order, and knows who it is."""

    def program(index: int, strategy: DistributionStrategy, wait: Callable[[], None]) -> None:
        count = len(strategy.worker_devices)
        seen: list[Any] = []

        def tower(own: Any) -> Any:
            context = get_tower_context()
            assert context is not None, "get_tower_context() is None inside of a tower"
            assert get_cross_tower_context() is None, (
                "get_cross_tower_context() is not None inside of a tower"
            )
            assert get_distribution_strategy() is strategy, (
                "get_distribution_strategy() is another one in a tower"
            )
            seen.append((context.tower_id, context.num_towers))
            return constant(float(context.tower_id)) + own

        with strategy.scope():
            assert get_cross_tower_context() is strategy, "get_cross_tower_context() is not the strategy"
            assert get_tower_context() is None, "get_tower_context() is not None outside of the towers"
            values = strategy.unwrap(strategy.call_for_each_tower(tower, 1.0))
        expected = [(i, strategy.num_towers) for i in range(count)]
        assert seen == expected, f"the towers' (tower_id, num_towers) were {seen}, expected {expected}"
        with check.clients.session(index) as session:
            check.same("the towers' results", session.run(values), [i + 1.0 for i in range(count)])

    check.clients.each(program)


def _reduction(check: _Check) -> None:
    """Sums and means of what the towers have, dense and sparse, come to a variable."""

    def program(index: int, strategy: DistributionStrategy, wait: Callable[[], None]) -> None:
        first = sum(len(s.worker_devices) for s in check.clients.strategies[:index])

        def tower() -> Any:
            context = get_tower_context()
            assert context is not None
            mine = float(first + context.tower_id + 1)
            rows = IndexedSlices(constant([[mine]]), constant([0]), constant([2, 1]))
            return constant([mine, 10.0 * mine]), rows

        with strategy.scope():
            variable = get_variable("where", initializer=np.zeros(2, np.float32))
            dense, sparse = strategy.call_for_each_tower(tower)
            found = {
                how: strategy.unwrap(strategy.reduce(how, dense, variable))
                for how in (VariableAggregation.SUM, VariableAggregation.MEAN)
            }
            gathered = strategy.unwrap(strategy.reduce(VariableAggregation.SUM, sparse, variable))
            rows = [reduce_sum(one.values) for one in gathered]
            assert all(isinstance(one, IndexedSlices) for one in gathered), "sparse values became dense"
            begin = global_variables_initializer()
        wait()
        with check.clients.session(index) as session:
            if strategy.should_init:
                session.run(begin)
            wait()
            sums, means, totals = session.run(
                [found[VariableAggregation.SUM], found[VariableAggregation.MEAN], rows]
            )
            wait()
        own = len(strategy.worker_devices)
        begin_at, together = (0, check.clients.towers) if strategy.num_towers > own else (first, own)
        total = sum(begin_at + i + 1.0 for i in range(together))
        for value in sums:
            check.same("reduce(SUM)", value, [total, 10 * total])
        for value in means:
            check.same("reduce(MEAN)", value, [total / together, 10 * total / together])
        for value in totals:
            check.same("reduce(SUM) of IndexedSlices", value, total)

    check.clients.each(program)


def _training(check: _Check) -> None:
    """A training gives the numbers of one device; an asynchronous one comes to a smaller loss."""
    for name, optimizer in OPTIMIZERS.items():
        try:
            trained = check.clients.train(optimizer, 5 if check.synchronous else 40)
            if not check.synchronous:
                _came_down(trained, 0.7)
                continue
            expected = train_alone(optimizer, 5, check.clients.towers)
            for found in trained:
                check.same_training(found, expected)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


def _came_down(trained: Sequence[Trained], share: float) -> None:
    """The loss ends below that share of what it was; single steps say little, as each has another batch.

    Of clients that train at their own pace one may begin when another is through: the first loss is the largest one.
    """
    begin = max(float(np.mean(found.losses[:4])) for found in trained)
    end = min(float(np.mean(found.losses[-8:])) for found in trained)
    assert end < share * begin, f"the loss went from {begin} to {end} in {len(trained[0].losses)} steps"


def _updates(check: _Check) -> None:
    """No update is lost, and none is applied twice."""
    steps = 7

    def program(index: int, strategy: DistributionStrategy, wait: Callable[[], None]) -> tuple[Any, Any]:
        def tower() -> Any:
            weight = get_variable("weight", [3], initializer=Zeros())
            step = get_or_create_global_step()
            return GradientDescentOptimizer(1.0, use_locking=True).minimize(
                reduce_sum(weight), global_step=step
            )

        with strategy.scope():
            train_op = group(strategy.unwrap(strategy.call_for_each_tower(tower)))
            begin = global_variables_initializer()
            copies = strategy.unwrap(trainable_variables()[0])
        wait()
        with check.clients.session(index) as session:
            if strategy.should_init:
                session.run(begin)
            wait()
            for _ in range(steps):
                session.run(train_op)
            wait()
            found = session.run(copies)
            wait()
            return found, strategy.num_towers

    expected = float(steps)
    if not check.synchronous:
        expected *= len(check.clients.strategies)
    for copies, _ in check.clients.each(program):
        for copy in copies:
            check.same(f"a weight after {steps} steps of gradient 1", copy, [-expected] * 3)


def _normalisation(check: _Check) -> None:
    """Batch normalisation has moving averages that are those of the data, and trains."""
    optimizer = OPTIMIZERS["GradientDescentOptimizer"]
    trained = check.clients.train(optimizer, 24, normalised=True)
    for found in trained:
        names = [name for name in found.values if "moving" in name]
        assert sorted(names) == ["normal/moving_mean:0", "normal/moving_variance:0"], names
        variance = found.values["normal/moving_variance:0"]
        assert np.all(np.isfinite(variance)) and np.all(variance > 0), f"moving_variance is {variance}"
        assert np.all(variance < 1.0), f"moving_variance {variance} is larger than any tanh can have"
    for together in [[found] for found in trained] if check.synchronous else [trained]:
        _came_down(together, 1.0)


def _datasets(check: _Check) -> None:
    """All towers together get each element once."""
    count = 12 * check.clients.towers

    def program(index: int, strategy: DistributionStrategy, wait: Callable[[], None]) -> list[int]:
        with strategy.scope():
            data = Dataset.range(count).shuffle(count).batch(3)
            iterator = strategy.distribute_dataset(data)
            taken = strategy.call_for_each_tower(lambda x: cast(x, "int32"), iterator.get_next())
            values = strategy.unwrap(taken)
        found: list[int] = []
        with check.clients.session(index) as session:
            try:
                while True:
                    for part in session.run(values):
                        found += [int(x) for x in part]
            except OutOfRangeError:
                pass
        return found

    seen = Counter(element for part in check.clients.each(program) for element in part)
    wrong = {e: seen[e] for e in range(count) if seen[e] != 1}
    assert not wrong, f"of {count} elements these were seen other than once: {wrong}"


def _checkpoints(check: _Check) -> None:
    """A checkpoint goes from the strategy to one device and back, and training goes on the same."""
    optimizer = OPTIMIZERS["MomentumOptimizer"]
    towers = check.clients.towers
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = str(Path(folder) / "ours"), str(Path(folder) / "theirs")
        trained = check.clients.train(optimizer, 2, save_to=ours)
        alone = train_alone(optimizer, 0, towers, save_to=theirs, restore_from=ours)
        for name, value in alone.values.items():
            check.same(f"{name} on one device, from the checkpoint", value, trained[0].values[name])
        back = check.clients.train(optimizer, 2, restore_from=theirs)
        if check.synchronous:
            expected = train_alone(optimizer, 2, towers, restore_from=theirs)
            for found in back:
                check.same_training(found, expected)


PROPERTIES: Final[dict[str, Callable[[_Check], None]]] = {
    "towers": _towers,
    "reduction": _reduction,
    "training": _training,
    "updates": _updates,
    "normalisation": _normalisation,
    "datasets": _datasets,
    "checkpoints": _checkpoints,
}


def check_strategy(
    strategy: DistributionStrategy | Sequence[DistributionStrategy],
    *,
    synchronous: bool = True,
    targets: Sequence[str] = (),
    tolerance: float = 1e-5,
    properties: Sequence[str] = tuple(PROPERTIES),
) -> None:
    """Tries out whether a strategy keeps what every strategy has to, and prints a line for each property.

    The servers there lose all their state.

    The properties: towers, reduction, training (with three optimizers and their slots), updates,
    normalisation, datasets, checkpoints (to one device and back). AssertionError naming each that failed and
    why.

    Args:
        strategy: One; or, if several programs train together, each one's, with the target of each one's
            session in `targets`; their clients then run in threads.
        synchronous: Whether a step of all towers is to give the numbers of a step of one device on all their
            batches, which is compared up to `tolerance`; otherwise training must come to a smaller loss, and
            no update may be lost.
        targets: The sessions' targets.
        tolerance: The largest relative difference.
        properties: Which of its properties to check.
    """
    strategies = [strategy] if isinstance(strategy, DistributionStrategy) else list(strategy)
    clients = Clients(strategies, list(targets) or [""] * len(strategies))
    check = _Check(clients, synchronous, tolerance)
    failed = []
    for name in properties:
        try:
            PROPERTIES[name](check)
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}: {error}")
            print(f"{name}: failed")
        else:
            print(f"{name}: ok")
    if failed:
        raise AssertionError(f"{type(strategies[0]).__name__}: " + "\n".join(failed))
