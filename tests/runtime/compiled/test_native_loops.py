"""Protects loops that run natively: they give what NumPy gives, with lists, stacks, branches and loops inside.

What ends early, what never begins, what has other shapes, what is wrong: all of it is as on NumPy.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import Model, compiled_plans, flat

PROJECT = Path(__file__).resolve().parents[3]
RNG = np.random.RandomState


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as made:
        yield made


def values(count: int = 2, *shape: int) -> Any:
    return RNG(count).rand(*shape).astype(np.float32)


def matrix_power() -> Any:
    x, turns = gf.placeholder(gf.float32, [4, 4]), gf.placeholder(gf.int32, [])
    w = gf.Variable(values(3, 4, 4))
    result = gf.while_loop(lambda i, a: i < turns, lambda i, a: (i + 1, gf.tanh(a @ w)), [0, x])
    return result, {x: values(1, 4, 4), turns: 5}


def zero_turns() -> Any:
    fetches, feeds = matrix_power()
    return fetches, {key: 0 if key.shape == () else value for key, value in feeds.items()}


def one_turn() -> Any:
    fetches, feeds = matrix_power()
    return fetches, {key: 1 if key.shape == () else value for key, value in feeds.items()}


def ends_early() -> Any:
    x = gf.placeholder(gf.float32, [8])

    def more(i, y, d):
        return gf.logical_and(i < 1000, gf.reduce_max(gf.abs(d)) > 1e-4)

    def better(i: Any, y: Any, d: Any) -> Any:
        following = 0.5 * (y + x / y)
        return i + 1, following, following - y

    return gf.while_loop(more, better, [0, gf.ones([8]), gf.ones([8])]), {x: values(1, 8) * 100 + 1}


def swaps() -> Any:
    a, b = gf.placeholder(gf.float32, [3]), gf.placeholder(gf.float32, [3])
    loop = gf.while_loop(lambda i, x, y, z: i < 5, lambda i, x, y, z: (i + 1, y, x, a), [0, a, b, b])
    return loop, {a: values(1, 3), b: values(2, 3)}


def branches() -> Any:
    x = gf.placeholder(gf.float32, [4, 4])

    def body(i: Any, a: Any) -> Any:
        def even():
            return gf.matmul(a, x) * 0.1

        def odd():
            return gf.cond(i > 5, lambda: gf.tanh(a) + 1.0, lambda: gf.transpose(a))

        b = gf.cond(gf.equal(i % 2, 0), even, odd)
        return i + 1, b / gf.reduce_max(gf.abs(b))

    return gf.while_loop(lambda i, a: i < 9, body, [0, x])[1], {x: values(1, 4, 4)}


def inside_another() -> Any:
    x = gf.placeholder(gf.float32, [6])

    def body(i: Any, a: Any) -> Any:
        inner = gf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, gf.tanh(b) + 0.1 * a), [0, a])[1]
        return i + 1, inner * 0.9

    return gf.while_loop(lambda i, a: i < 7, body, [0, x]), {x: values(1, 6)}


def rows_of_a_map() -> Any:
    x = gf.placeholder(gf.float32, [7, 5])
    return gf.map_fn(lambda row: gf.reduce_sum(row * x, 0), x), {x: values(1, 7, 5)}


def scan() -> Any:
    x = gf.placeholder(gf.float32, [7, 5])
    return gf.scan(lambda a, row: a * 0.5 + gf.tanh(row), x), {x: values(1, 7, 5)}


def list_that_grows() -> Any:
    n = gf.placeholder(gf.int32, [])
    array = gf.TensorArray(gf.float32, 0, dynamic_size=True, element_shape=[2])

    def body(i, ta):
        return (i + 1, ta.write(i, gf.fill([2], gf.cast(i, gf.float32))))

    array = gf.while_loop(lambda i, ta: i < n, body, [0, array])[1]
    return [array.stack(), array.size()], {n: 100}


def rows_never_written() -> Any:
    start = gf.placeholder(gf.int32, [])
    array = gf.TensorArray(gf.float32, 6, element_shape=[2], clear_after_read=False)
    array = gf.while_loop(
        lambda i, ta: i < 6, lambda i, ta: (i + 2, ta.write(i, gf.ones([2]))), [start, array]
    )[1]

    def read(i, total):
        return (i + 1, total + array.read(i))

    return gf.while_loop(lambda i, total: i < 6, read, [0, gf.zeros([2])]), {start: 1}


def rows_by_number() -> Any:
    x, ids = gf.placeholder(gf.float32, [5, 3]), gf.placeholder(gf.int32, [4])

    def body(i: Any, a: Any) -> Any:
        return i + 1, gf.tanh(a + x[ids[i]] * x[-1 - i, :]) + x[:, 1][i]

    total = gf.while_loop(lambda i, a: i < 4, body, [0, gf.zeros([3])])[1]
    return [total, *gf.gradients(total, x)], {x: values(1, 5, 3), ids: [4, 0, -1, 4]}


def trained(loss: Any) -> Any:
    return [loss, gf.train.GradientDescentOptimizer(0.1).minimize(loss)]


def gradient_of_a_loop() -> Any:
    fetches, feeds = matrix_power()
    return trained(gf.reduce_sum(gf.square(fetches[1]))), feeds


def gradient_of_no_turn() -> Any:
    fetches, feeds = zero_turns()
    w = gf.global_variables()[0]
    return trained(gf.reduce_sum(gf.square(fetches[1])) + gf.reduce_sum(w)), feeds


def gradient_of_a_map() -> Any:
    x = gf.placeholder(gf.float32, [7, 5])
    w = gf.Variable(values(2, 5, 5))
    mapped = gf.map_fn(lambda row: gf.reduce_sum(gf.tanh(row * w), 0), x)
    return trained(gf.reduce_sum(mapped)), {x: values(1, 7, 5)}


def gradient_of_branches() -> Any:
    x = gf.placeholder(gf.float32, [3, 3])
    w = gf.Variable(values(2, 3, 3))

    def body(i: Any, a: Any) -> Any:
        return i + 1, gf.cond(gf.equal(i % 3, 0), lambda: gf.tanh(a @ w), lambda: a * gf.sigmoid(w))

    return trained(gf.reduce_sum(gf.while_loop(lambda i, a: i < 5, body, [0, x])[1])), {x: values(1, 3, 3)}


def gradient_inside_another() -> Any:
    x = gf.placeholder(gf.float32, [4])
    w = gf.Variable(values(2, 4))

    def body(i: Any, a: Any) -> Any:
        inner = gf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, gf.tanh(b * w)), [0, a])[1]
        return i + 1, inner * w

    return trained(gf.reduce_sum(gf.while_loop(lambda i, a: i < 4, body, [0, x])[1])), {x: values(1, 4)}


def recurrent(lengths: bool, train: bool) -> Model:
    def model() -> Any:
        x, n = gf.placeholder(gf.float32, [None, None, 4]), gf.placeholder(gf.int32, [None])
        cell = gf.nn.rnn_cell.BasicLSTMCell(8)
        out, state = gf.nn.dynamic_rnn(cell, x, n if lengths else None, dtype=gf.float32)
        loss = gf.reduce_sum(gf.square(out)) + gf.reduce_sum(state.h)
        feeds = {x: values(1, 3, 6, 4)} | ({n: [6, 2, 4]} if lengths else {})
        return trained(loss) if train else [loss, out, state.c], feeds

    return model


def several_rows_of_a_list() -> Any:
    """Gathered, scattered and counted in each turn, with gradients; a list of columns beside it."""
    x, pairs = gf.placeholder(gf.float32, [2, 5]), gf.placeholder(gf.int32, [3, 2])
    w = gf.Variable(values(3, 10, 5))
    options = {"dynamic_size": True, "clear_after_read": False, "infer_shape": False}
    array = gf.TensorArray(gf.float32, 0, **options).scatter([0, 1], x)

    def body(i: Any, ta: Any) -> Any:
        both = gf.reshape(ta.gather(pairs[i]), [1, 10]) * gf.cast(ta.size(), gf.float32)
        row = gf.tanh(gf.matmul(both, w))
        return i + 1, ta.scatter([2 * i + 2, 2 * i + 3], gf.concat([row, row * x[i % 2]], 0))

    array = gf.while_loop(lambda i, ta: i < 3, body, [0, array], parallel_iterations=1)[1]
    return [*trained(gf.reduce_sum(array.stack()[2:])), array.size()], {
        x: values(1, 2, 5),
        pairs: [[0, 1], [2, 2], [5, 0]],
    }


def columns_by_number() -> Any:
    x = gf.placeholder(gf.float32, [3, 4, 2])

    def body(i: Any, a: Any) -> Any:
        return i + 1, gf.tanh(a + x[:, i] * x[:, -1 - i, :]) + gf.tile(a, [gf.shape(a)[1], 1])[:3]

    total = gf.while_loop(lambda i, a: i < 4, body, [0, gf.zeros([3, 2])])[1]
    return [total, *gf.gradients(total, x)], {x: values(1, 3, 4, 2)}


def rows_of_a_table(branches: bool) -> Model:
    """The gradient of a lookup in a loop has a row for each turn, or for those that look up."""

    def model() -> Any:
        ids, turns = gf.placeholder(gf.int32, [None]), gf.placeholder(gf.int32, [])
        table = gf.Variable(values(2, 6, 3))

        def body(i: Any, a: Any) -> Any:
            def found():
                return gf.expand_dims(gf.gather(table, ids[i]), 0)

            row = gf.cond(gf.equal(i % 2, 0), found, lambda: a * 0.5) if branches else found()
            return i + 1, gf.tanh(a + row)

        last = gf.while_loop(lambda i, a: i < turns, body, [0, gf.ones([1, 3])])[1]
        return trained(gf.reduce_sum(last)), {ids: [4, 0, 4, 5, 1], turns: 5}

    return model


def shorter_than_all() -> Any:
    fetches, feeds = recurrent(True, True)()
    return fetches, {key: [3, 2, 1] if key.dtype == gf.int32 else value for key, value in feeds.items()}


MODELS: dict[str, Model] = (
    {
        function.__name__: function
        for function in (
            matrix_power,
            zero_turns,
            one_turn,
            ends_early,
            swaps,
            branches,
            inside_another,
            rows_of_a_map,
            scan,
            list_that_grows,
            rows_never_written,
            rows_by_number,
            gradient_of_a_loop,
            gradient_of_no_turn,
            gradient_of_a_map,
            gradient_of_branches,
            several_rows_of_a_list,
            columns_by_number,
            shorter_than_all,
        )
    }
    | {
        "rows of a table": rows_of_a_table(False),
        "rows of a table, some turns": rows_of_a_table(True),
    }
    | {
        f"recurrent{', lengths' * lengths}{', trained' * train}": recurrent(lengths, train)
        for lengths in (False, True)
        for train in (False, True)
    }
)


def run(model: Model, tier: str, runs: int = 3) -> tuple[list[Any], list[str]]:
    """The results of some runs, then the variables' values; and the loops that do not run natively."""
    with gf.Graph().as_default():
        gf.set_random_seed(1)
        fetches, feeds = model()
        with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            session.run(gf.global_variables_initializer())
            results = [value for _ in range(runs) for value in flat(session.run(fetches, feeds))]
            results += flat([session.run(v) for v in gf.global_variables()])
            plans = compiled_plans(session)
            loops = {name: native for plan in plans for name, native in plan.job.array_loops.items()}
    slow = [name for name, native in loops.items() if not native]
    return results, slow + ["none"] * (tier == "always" and not loops)


@pytest.mark.parametrize("name", MODELS)
def test_both_tiers_agree(name: str) -> None:
    expected, _ = run(MODELS[name], "never")
    found, slow = run(MODELS[name], "always")
    assert not slow
    for one, other in zip(expected, found, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def test_what_is_not_native_agrees_as_well() -> None:
    expected, _ = run(gradient_inside_another, "never")
    found, _ = run(gradient_inside_another, "always")
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def growing() -> Any:
    x = gf.placeholder(gf.float32, [None, 2])
    grown = gf.while_loop(
        lambda i, a: i < 4,
        lambda i, a: (i + 1, gf.concat([a, a[:1] * 0.5], 0)),
        [0, x],
        shape_invariants=[gf.TensorShape([]), gf.TensorShape([None, 2])],
    )
    return grown[1], {x: values(1, 3, 2)}


def test_rows_that_a_loop_gathers_are_joined_behind_it() -> None:
    """In one list, with the rows of branches, those of none, no turn at all, and what looks at them in between."""
    turns, x = gf.placeholder(gf.int32, []), gf.placeholder(gf.float32, [2, 3])
    none = gf.zeros([0, 3])

    def body(i: Any, a: Any, b: Any, c: Any) -> Any:
        new = x * gf.cast(i, gf.float32)
        some = gf.cond(gf.equal(i % 2, 0), lambda: new, lambda: gf.zeros([0, 3]))
        return (
            i + 1,
            gf.concat([a, new], 0),
            gf.concat([b, some], 0),
            gf.concat([c, new + gf.reduce_sum(c)], 0),
        )

    unknown = gf.TensorShape([None, 3])
    shapes = [gf.TensorShape([]), unknown, unknown, unknown]
    grown = gf.while_loop(lambda i, *_: i < turns, body, [0, none, none, none], shapes)[1:]
    with gf.Session() as session:
        data = values(1, 2, 3)
        assert str(session.plan([*grown], [turns, x])[0]).count("TensorArrayWriteV3(") == 2
        for count in (0, 1, 4):
            found = session.run(grown, {turns: count, x: data})
            rows = [data * np.float32(k) for k in range(count)]
            assert all(value.shape[1:] == (3,) for value in found)
            np.testing.assert_array_equal(found[0], np.reshape(rows, (-1, 3)))
            np.testing.assert_array_equal(found[1], np.reshape(rows[::2], (-1, 3)))
            assert len(found[2]) == 2 * count


def test_variables_that_change_their_shape_stay_on_numpy() -> None:
    np.testing.assert_array_equal(run(growing, "never")[0][0], run(growing, "always")[0][0])


def test_other_sizes_and_numbers_of_turns() -> None:
    """One session, many sizes: each is right, whether it is native, being made, or on NumPy."""
    x, n = gf.placeholder(gf.float32, [None, None, 3]), gf.placeholder(gf.int32, [None])
    cell = gf.nn.rnn_cell.GRUCell(4)
    out, _ = gf.nn.dynamic_rnn(cell, x, n, dtype=gf.float32)
    grads = gf.gradients(gf.reduce_sum(gf.square(out)), gf.trainable_variables())
    configs = [gf.ConfigProto(compiled=tier) for tier in ("always", "never")]
    with gf.Session(config=configs[0]) as fast, gf.Session(config=configs[1]) as slow:
        fast.run(gf.global_variables_initializer())
        for v in gf.global_variables():
            v.load(fast.run(v), slow)
        for batch, steps in [(2, 5), (3, 5), (2, 1), (2, 5), (3, 5), (2, 1), (4, 7), (2, 5)]:
            feeds = {x: RNG(steps).rand(batch, steps, 3), n: RNG(batch).randint(0, steps + 1, batch)}
            for one, other in zip(
                fast.run([out, *grads], feeds), slow.run([out, *grads], feeds), strict=True
            ):
                np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


def failing(change: Callable[[Any, Any], Any], **options: Any) -> Callable[[], Any]:
    """A loop of five turns with a list of three rows, of which `change` makes the list to go on with."""

    def model() -> Any:
        array = gf.TensorArray(gf.float32, 3, element_shape=[2], **options)
        start = gf.placeholder(gf.int32, [])
        found = gf.while_loop(lambda i, ta: i < 5, lambda i, ta: (i + 1, change(ta, i)), [start, array])
        return found[1].flow, start

    return model


def read_twice(array: Any, i: Any) -> Any:
    array = array.write(i, gf.ones([2]))
    with gf.control_dependencies([array.read(i)]):
        again = gf.identity(i)
    with gf.control_dependencies([array.read(again)]):
        return array.identity()


def gathered_twice(array: Any, i: Any) -> Any:
    array = array.write(i, gf.ones([2]))
    with gf.control_dependencies([array.gather([i, i])]):
        return array.identity()


MISUSES = {
    "beyond the end": failing(lambda array, i: array.write(i, gf.ones([2]))),
    "before the start": failing(lambda array, i: array.write(i - 7, gf.ones([2]))),
    "written twice": failing(lambda array, i: array.write(i // 2, gf.ones([2]))),
    "read twice": failing(read_twice),
    "gathered twice": failing(gathered_twice),
    "scattered twice": failing(lambda array, i: array.scatter([i, i], gf.ones([2, 2]))),
    "scattered beyond the end": failing(lambda array, i: array.scatter([i, i + 1], gf.ones([2, 2]))),
}


@pytest.mark.parametrize("name", MISUSES)
def test_mistakes_with_lists_are_told_alike(name: str) -> None:
    told = []
    flow, start = MISUSES[name]()
    for tier in ("never", "always"):
        with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            for _ in range(2):
                assert session.run(flow, {start: 5}) == 0.0
            for _ in range(2):
                with pytest.raises(gf.errors.InvalidArgumentError) as caught:
                    session.run(flow, {start: 0})
                told.append(str(caught.value))
            assert session.run(flow, {start: 5}) == 0.0
    assert "test_native_loops.py" in told[0] and "TensorArray" in told[0]
    assert len(set(told)) == 1, told


def test_a_row_that_there_is_not_is_told_alike() -> None:
    x, step = gf.placeholder(gf.float32, [5, 3]), gf.placeholder(gf.int32, [])
    total = gf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a + x[i * step]), [0, gf.zeros([3])])[1]
    told = []
    for tier in ("never", "always"):
        with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            for _ in range(2):
                session.run(total, {x: values(1, 5, 3), step: 1})
            with pytest.raises(gf.errors.InvalidArgumentError) as caught:
                session.run(total, {x: values(1, 5, 3), step: 3})
            told.append(str(caught.value))
    assert told[0] == told[1] and "(6,)" in told[0]


def test_what_a_run_keeps_for_its_gradient_is_its_own() -> None:
    """Its stacks are used again by later runs, which may be shorter, fail, or come at the same time."""
    x, turns = gf.placeholder(gf.float32, [3]), gf.placeholder(gf.int32, [])
    most = gf.placeholder_with_default(1e9, [])

    def turn(i: Any, a: Any) -> Any:
        with gf.control_dependencies([gf.assert_less(gf.reduce_max(a), most)]):
            return i + 1, gf.sin(a) * a + 1.0

    _, last = gf.while_loop(lambda i, a: i < turns, turn, [0, x])
    fetches = [last, gf.gradients(last, x)[0]]
    fed = [{x: values(count, 3), turns: count % 7 + 1} for count in range(24)]
    with gf.Session(config=gf.ConfigProto(compiled="never")) as session:
        expected = [session.run(fetches, feeds) for feeds in fed]
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        for feeds, right in zip(fed, expected, strict=True):
            with pytest.raises(gf.errors.InvalidArgumentError):
                session.run(fetches, {**feeds, turns: 6, most: 1.5})
            np.testing.assert_allclose(session.run(fetches, feeds), right, rtol=1e-4, atol=1e-4)
        found: dict[int, Any] = {}

        def run_some(first: int) -> None:
            for number in range(first, len(fed), 3):
                found[number] = session.run(fetches, fed[number])

        threads = [threading.Thread(target=run_some, args=(first,)) for first in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number, right in enumerate(expected):
            np.testing.assert_allclose(found[number], right, rtol=1e-4, atol=1e-4)


def test_what_fails_inside_names_the_operation_and_its_line() -> None:
    divisor, rows = gf.placeholder(gf.int32, []), gf.placeholder(gf.int32, [2])
    table = gf.constant(values(1, 5, 3))

    def body(i: Any, total: Any) -> Any:
        found = gf.gather(table, rows * (i // divisor), name="looked_up")
        return i + 1, total + gf.reduce_sum(found)

    result = gf.while_loop(lambda i, total: i < 4, body, [1, 0.0])[1]
    told: dict[str, list[str]] = {}
    for tier in ("never", "always"):
        with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            good = {divisor: 1, rows: [0, 1]}
            first = [session.run(result, good) for _ in range(3)]
            for bad in ({divisor: 0, rows: [0, 1]}, {divisor: 1, rows: [0, 3]}):
                with pytest.raises(gf.errors.InvalidArgumentError) as caught:
                    session.run(result, bad)
                told.setdefault(tier, []).append(str(caught.value))
            np.testing.assert_allclose([session.run(result, good)], first[:1], rtol=1e-6)
    assert told["never"] == told["always"]
    assert "looked_up" in told["never"][1] and "test_native_loops.py" in told["never"][1]


def runs_natively(session: gf.Session) -> bool:
    """Whether all loops over arrays of the plans that a session has compiled run without Python."""
    return all(native for plan in compiled_plans(session) for native in plan.job.array_loops.values())


def seconds_computed(thread: threading.Thread) -> float:
    """The processor time that a running thread has had."""
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))


def endless() -> Any:
    """A loop over arrays that ends when its fed step is not 0; and what to feed."""
    x, step = gf.placeholder(gf.float32, [4, 4]), gf.placeholder(gf.int32, [])

    def inner(a):
        return gf.while_loop(lambda j, b: j < 3, lambda j, b: (j + 1, gf.tanh(b @ x)), [0, a])[1]

    found = gf.while_loop(lambda i, a: i < 1, lambda i, a: (i + step, inner(a)), [0, x])[1]
    return found, x, step


def test_a_session_that_is_closed_ends_an_endless_loop() -> None:
    found, x, step = endless()
    session = gf.Session(config=gf.ConfigProto(compiled="always"))
    for _ in range(2):
        session.run(found, {x: values(1, 4, 4), step: 1})
    assert runs_natively(session)
    ended: list[BaseException] = []

    def run_it() -> None:
        try:
            session.run(found, {x: values(1, 4, 4), step: 0})
        except gf.errors.CancelledError as error:
            ended.append(error)

    thread = threading.Thread(target=run_it)
    thread.start()
    while seconds_computed(thread) < 0.5:  # Then it is in the loop.
        thread.join(0.01)
        assert thread.is_alive()
    session.close()
    thread.join(60)
    assert ended and not thread.is_alive()


def test_a_deadline_ends_an_endless_loop() -> None:
    found, x, step = endless()
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        for _ in range(2):
            session.run(found, {x: values(1, 4, 4), step: 1})
        with pytest.raises(gf.errors.DeadlineExceededError):
            options = gf.RunOptions(timeout_in_ms=200)
            session.run(found, {x: values(1, 4, 4), step: 0}, options=options)
        assert session.run(found, {x: values(1, 4, 4), step: 1}).shape == (4, 4)


INTERRUPTED = """
import os, signal, threading, time
import graphflow as gf
import numpy as np
from tests.runtime.compiled.test_native_loops import endless, runs_natively, values

signal.signal(signal.SIGINT, signal.default_int_handler)
found, x, step = endless()
with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
    good = [session.run(found, {x: values(1, 4, 4), step: 1}) for _ in range(2)]
    print(runs_natively(session))
    try:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        session.run(found, {x: values(1, 4, 4), step: 0})
    except KeyboardInterrupt:
        print("interrupted")
    np.testing.assert_array_equal(session.run(found, {x: values(1, 4, 4), step: 1}), good[1])
    print("usable")
"""


def test_an_interrupt_ends_an_endless_loop_and_leaves_the_session_usable() -> None:
    process = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, cwd=PROJECT, timeout=100
    )
    assert process.stdout.split() == ["True", "interrupted", "usable"], process.stderr
