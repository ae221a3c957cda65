"""Protects bits: the same graph in one process, over two tasks and over five gives the same ones, in both tiers.

The programs are built once for each number of tasks, on devices chosen by the number of a part, and run for some steps;
everything fetched is compared byte by byte with what one device of one process gives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.cluster.serving import serve_all, spec_of

Place = Callable[[int], str]
Program = Callable[[Place], Iterator[Any]]
"""Builds a graph with parts on places 0, 1, ...; yields what to initialize, and then what to fetch in each step."""
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: gf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: gf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: gf.train.AdamOptimizer(0.01),
    "rmsprop": lambda: gf.train.RMSPropOptimizer(0.01, momentum=0.5),
    "adagrad": lambda: gf.train.AdagradOptimizer(0.1),
    "ftrl": lambda: gf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
}


def data(*shape: int) -> Any:
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def network(optimizer: str) -> Program:
    def build(place: Place) -> Iterator[Any]:
        hidden = gf.constant(data(12, 7))
        for layer, (size, units) in enumerate([(7, 9), (9, 5)]):
            with gf.device(place(layer)):
                w = gf.get_variable(f"w{layer}", [size, units], initializer=gf.glorot_uniform_initializer())
                b = gf.get_variable(f"b{layer}", [units], initializer=gf.zeros_initializer())
            with gf.device(place(layer + 2)):
                hidden = gf.tanh(gf.matmul(hidden, w) + b)
        with gf.device(place(4)):
            labels = gf.constant(np.arange(12) % 5)
            loss = gf.reduce_mean(
                gf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=hidden)
            )
        step = OPTIMIZERS[optimizer]().minimize(loss, gf.train.get_or_create_global_step())
        yield gf.global_variables_initializer()
        for _ in range(4):
            yield [loss, step]
        yield gf.global_variables()

    return build


def embedding(place: Place) -> Iterator[Any]:
    tables = []
    for shard in range(3):
        with gf.device(place(shard)):
            tables.append(
                gf.get_variable(f"table{shard}", [10, 4], initializer=gf.random_normal_initializer())
            )
    with gf.device(place(3)):
        ids = gf.constant([3, 17, 3, 29, 0, 11, 17])
        found = gf.nn.embedding_lookup(tables, ids)
    with gf.device(place(4)):
        loss = gf.reduce_sum(gf.square(found) * gf.constant(data(7, 4)))
    step = gf.train.AdamOptimizer(0.05).minimize(loss)
    more = gf.train.AdagradOptimizer(0.05).minimize(loss * 0.5)
    yield gf.global_variables_initializer()
    for _ in range(3):
        yield [loss, step]
        yield [loss, more]
    yield gf.global_variables()


def control_flow(place: Place) -> Iterator[Any]:
    with gf.device(place(0)):
        x = gf.get_variable("x", initializer=gf.constant(data(6)))
    with gf.device(place(1)):
        limit = gf.reduce_sum(gf.abs(x)) * 3.0
    with gf.device(place(2)):
        _, total = gf.while_loop(
            lambda i, v: gf.reduce_sum(gf.abs(v)) < limit, lambda i, v: (i + 1, v * 1.3 + gf.sin(v)),
            [gf.constant(0), x * 0.1],
        )  # fmt: skip
    with gf.device(place(3)):
        chosen = gf.cond(gf.reduce_sum(total) > 0.0, lambda: gf.exp(-total), lambda: gf.sqrt(gf.abs(total)))
    with gf.device(place(4)):
        loss = gf.reduce_mean(chosen * x)
    gradient = gf.gradients(loss, x)[0]
    step = x.assign_sub(0.1 * gradient)
    yield gf.global_variables_initializer()
    for _ in range(4):
        yield [loss, gradient, step]
    yield x


def randomness(place: Place) -> Iterator[Any]:
    drawn = []
    for part in range(5):
        with gf.device(place(part)):
            drawn += [gf.random_normal([5]), gf.random_uniform([3, 2], -1.0, 1.0, seed=part)]
            drawn.append(gf.random_shuffle(gf.range(9)))
            drawn.append(gf.nn.dropout(gf.ones([10]), keep_prob=0.5))
    with gf.device(place(2)):
        drawn.append(gf.truncated_normal([4]) + drawn[0][:4])
    yield gf.no_op()
    for _ in range(3):
        yield drawn


def queues(place: Place) -> Iterator[Any]:
    with gf.device(place(1)):
        ordered = gf.FIFOQueue(20, [gf.float32, gf.int32], [[3], []])
    with gf.device(place(2)):
        shuffled = gf.RandomShuffleQueue(20, 0, [gf.float32], [[3]], seed=5)
    with gf.device(place(3)):
        fill = ordered.enqueue_many([gf.random_uniform([8, 3]), gf.range(8)])
    with gf.device(place(4)):
        rows, numbers = ordered.dequeue_many(4)
        move = shuffled.enqueue_many([rows * gf.cast(gf.expand_dims(numbers, 1), gf.float32)])
    with gf.device(place(0)):
        result = gf.exp(shuffled.dequeue_many(4))
    yield fill
    for _ in range(2):
        yield move
        yield [result, ordered.size(), shuffled.size()]


PROGRAMS: dict[str, Program] = {
    **{name: network(name) for name in OPTIMIZERS},
    "embedding": embedding,
    "control_flow": control_flow,
    "randomness": randomness,
    "queues": queues,
}


def run(program: Program, place: Place, target: str, config: Any) -> Iterator[bytes]:
    """The bytes of everything that the steps of a program give."""
    with gf.Graph().as_default():
        gf.set_random_seed(7)
        fetches = list(program(place))
        with gf.Session(target, config=config) as session:
            session.run(fetches[0])
            for fetch in fetches[1:]:
                for value in (
                    gf.nest.flatten(session.run(fetch)) if isinstance(fetch, list) else [session.run(fetch)]
                ):
                    yield b"" if value is None else np.asarray(value).tobytes()


@pytest.fixture(scope="module")
def tier(request: pytest.FixtureRequest) -> Iterator[tuple[str, dict[int, str]]]:
    """A tier, and the targets of clusters of two tasks and of five that keep to it."""
    with ExitStack() as stack:
        targets = {}
        for count in (2, 5):
            config = gf.ConfigProto(compiled=request.param)
            targets[count] = serve_all(stack, spec_of(stack, part=count), config=config)[-1].target
        yield request.param, targets


COMPILES_LONG = {"control_flow", "embedding", "randomness"}
CASES = [
    pytest.param(name, tier, marks=[pytest.mark.slow] if tier == "always" and name in COMPILES_LONG else [])
    for tier in ("never", "always")
    for name in PROGRAMS
]


@pytest.mark.parametrize(("name", "tier"), CASES, indirect=["tier"])
def test_one_process_two_tasks_and_five_give_the_same_bits(
    name: str, tier: tuple[str, dict[int, str]]
) -> None:
    compiled, targets = tier
    config = gf.ConfigProto(compiled=compiled)
    expected = list(run(PROGRAMS[name], lambda part: "/cpu:0", "", config))
    assert len(expected) > 2 and any(expected)
    five = gf.ConfigProto(compiled=compiled, device_count={"CPU": 5})
    found = {"five devices": list(run(PROGRAMS[name], lambda part: f"/cpu:{part}", "", five))}
    for count, target in targets.items():

        def place(part: int, count: int = count) -> str:
            return f"/job:part/task:{part % count}"

        found[f"{count} tasks"] = list(run(PROGRAMS[name], place, target, config))
        gf.Session.reset(target)
    for where, values in found.items():
        assert len(values) == len(expected)
        different = [i for i, (a, b) in enumerate(zip(expected, values, strict=True)) if a != b]
        assert not different, f"over {where} the values {different} of {len(expected)} differ"


@pytest.mark.parametrize("tier", ["never"], indirect=True)
def test_promise_38_each_session_on_a_cluster_begins_its_random_sequences_anew(
    tier: tuple[str, dict[int, str]],
) -> None:
    _, targets = tier
    config = gf.ConfigProto()
    first, second = (
        list(run(randomness, lambda part: f"/job:part/task:{part}", targets[5], config)) for _ in range(2)
    )
    assert first == second and len(set(first)) > 20


def test_what_operations_keep_for_a_session_goes_with_it() -> None:
    with ExitStack() as stack:
        servers = serve_all(stack, spec_of(stack, part=2))
        list(run(randomness, lambda part: f"/job:part/task:{part % 2}", servers[0].target, gf.ConfigProto()))
        deadline = time.monotonic() + 10.0
        while any(server._service.subgraphs.kept for server in servers) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert [server._service.subgraphs.kept for server in servers] == [{}, {}]
