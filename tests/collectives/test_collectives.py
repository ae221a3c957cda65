"""Protects collectives between the devices of one process: values, bits, gradients, errors, and that nobody hangs."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphflow as gf
from graphflow._core.runtime.context import RunContext
from tests.overdue import overdue

GROUP = 5
DTYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with gf.Graph().as_default():
        yield


def session(devices: int = 5, **options: Any) -> gf.Session:
    return gf.Session(config=gf.ConfigProto(device_count={"CPU": devices}, **options))


def on_each(values: Sequence[Any], build: Callable[[Any], Any]) -> list[Any]:
    """What `build` makes of each value, each on a device of its own."""
    built = []
    for device, value in enumerate(values):
        with gf.device(f"/cpu:{device}"):
            built.append(build(value))
    return built


def reference(values: Sequence[Any], merge: str, final: str) -> Any:
    """The values reduced one after the other, in their own dtype."""
    total = values[0].copy()
    with np.errstate(all="ignore"):
        for value in values[1:]:
            total = FUNCTIONS[merge](total, value)
        if final == "div":
            if total.dtype.kind in "iu":
                return (np.sign(total) * (np.abs(total) // total.dtype.type(len(values)))).astype(total.dtype)
            total = total / total.dtype.type(len(values))
    return total


@st.composite
def cases(draw: Any) -> tuple[list[Any], str, str]:
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.sampled_from([(), (0,), (1,), (7,), (3, 5), (2, 0, 3), (129,), (40_003,), (17, 1001)]))
    size = draw(st.integers(1, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = [np.asarray(random.uniform(-9, 9, shape)).astype(dtype) for _ in range(size)]
    return values, draw(st.sampled_from(list(FUNCTIONS))), draw(st.sampled_from(["id", "div"]))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(cases())
@pytest.mark.filterwarnings("ignore:The graph grew")
def test_a_reduction_has_the_bits_of_the_members_order_on_each(case: tuple[list[Any], str, str]) -> None:
    values, merge, final = case
    with gf.Graph().as_default(), session(len(values)) as s:
        sums = on_each(
            values, lambda v: gf.distribute.all_reduce(gf.constant(v), len(values), GROUP, 1, merge, final)
        )
        wanted = reference(values, merge, final)
        for found in s.run(sums):
            assert found.dtype == wanted.dtype and found.shape == wanted.shape
            assert found.tobytes() == wanted.tobytes()
        assert all(t.shape == wanted.shape and t.dtype.as_numpy_dtype == wanted.dtype for t in sums)


def test_gathered_rows_come_in_the_order_of_the_members_and_may_differ_where_they_are_not_known() -> None:
    fed = [gf.placeholder(gf.float32, [None, 2]) for _ in range(3)]
    known = [gf.placeholder(gf.float32, [2, 2]) for _ in range(3)]
    all_rows = on_each(fed, lambda x: gf.distribute.all_gather(x, 3, GROUP, 1))
    all_known = on_each(known, lambda x: gf.distribute.all_gather(x, 3, GROUP, 2))
    assert all_rows[0].shape.as_list() == [None, 2] and all_known[0].shape.as_list() == [6, 2]
    with session(3) as s:
        for rows in [(1, 2, 0), (0, 0, 0), (9000, 1, 20_000)]:
            values = [np.random.default_rng(n).normal(size=(r, 2)).astype("f") for n, r in enumerate(rows)]
            for found in s.run(all_rows, dict(zip(fed, values, strict=True))):
                np.testing.assert_array_equal(found, np.concatenate(values))
    with pytest.raises(ValueError, match="A scalar has no rows"):
        gf.distribute.all_gather(1.0, 2, GROUP, 3)


@pytest.mark.parametrize("rows", [1, 20_000])
def test_each_member_gets_its_rows_of_every_value(rows: int) -> None:
    values = [np.random.default_rng(n).normal(size=(3 * rows, 2)).astype("f") for n in range(3)]
    fed = [gf.placeholder(gf.float32, [None, 2]) for _ in range(3)]
    found = on_each(fed, lambda x: gf.distribute.all_to_all(x, 3, GROUP, 1))
    with session(3) as s:
        for rank, got in enumerate(s.run(found, dict(zip(fed, values, strict=True)))):
            own = slice(rank * rows, (rank + 1) * rows)
            np.testing.assert_array_equal(got, np.concatenate([value[own] for value in values]))
        with pytest.raises(gf.errors.InvalidArgumentError, match="must be a multiple of 3"):
            s.run(found, dict.fromkeys(fed, np.zeros((4, 2))))
    with pytest.raises(ValueError, match="must be a multiple of 3, got the shape"):
        gf.distribute.all_to_all(gf.zeros([4]), 3, GROUP, 2)


@pytest.mark.parametrize("shape", [(), (3,), (200, 101)])
def test_a_broadcast_gives_the_value_to_all(shape: tuple[int, ...]) -> None:
    value = np.random.default_rng(0).normal(size=shape)
    with gf.device("/cpu:1"):
        sent = gf.distribute.broadcast_send(gf.constant(value), 3, GROUP, 1)
    received = []
    for device in (0, 2):
        with gf.device(f"/cpu:{device}"):
            received.append(gf.distribute.broadcast_recv(shape, gf.float64, 3, GROUP, 1))
    with session(3) as s:
        for found in s.run([sent, *received]):
            np.testing.assert_array_equal(found, value)


def test_gradients_go_through_reductions_and_gathering() -> None:
    random = np.random.default_rng(0)
    values = [random.normal(size=(2, 3)) for _ in range(3)]
    weights = [random.normal(size=(2, 3)) for _ in range(3)]
    more = [random.normal(size=(6, 3)) for _ in range(3)]
    xs = [gf.constant(v) for v in values]
    key = iter(range(1, 100))

    def gradient(build: Callable[[int, Any, int], Any], w: Sequence[Any]) -> list[Any]:
        """Of the sum over the members of what each computes, with respect to each member's value."""
        instance = next(key)
        outs = on_each(range(3), lambda i: build(i, xs[i], instance))
        return on_each(range(3), lambda i: gf.gradients(gf.reduce_sum(outs[i] * w[i]), [xs[i]])[0])

    def reduced(merge: str, final: str) -> list[Any]:
        return gradient(lambda i, x, k: gf.distribute.all_reduce(x, 3, GROUP, k, merge, final), weights)

    found = {
        "add": reduced("add", "id"), "mean": reduced("add", "div"), "mul": reduced("mul", "id"),
        "max": reduced("max", "id"), "min": reduced("min", "id"),
        "gather": gradient(lambda i, x, k: gf.distribute.all_gather(x, 3, GROUP, k), more),
        "exchange": gradient(
            lambda i, x, k: gf.transpose(gf.distribute.all_to_all(gf.transpose(x), 3, GROUP, k)), weights
        ),
    }  # fmt: skip
    total, product, stacked = sum(weights), np.prod(values, 0), np.stack(values)
    with session(3) as s:
        got = s.run(found)
    for i in range(3):
        np.testing.assert_allclose(got["add"][i], total)
        np.testing.assert_allclose(got["mean"][i], total / 3)
        np.testing.assert_allclose(got["mul"][i], total * product / values[i])
        np.testing.assert_allclose(got["max"][i], total * (values[i] == stacked.max(0)))
        np.testing.assert_allclose(got["min"][i], total * (values[i] == stacked.min(0)))
        np.testing.assert_allclose(got["gather"][i], sum(more)[2 * i : 2 * i + 2])
        np.testing.assert_allclose(got["exchange"][i], np.stack([w[:, i] for w in weights], 1))


def test_devices_may_come_to_their_operations_in_different_orders() -> None:
    keys = {0: (1, 2, 3), 1: (3, 1, 2), 2: (2, 3, 1)}
    sums: dict[tuple[int, int], Any] = {}
    for device, order in keys.items():
        with gf.device(f"/cpu:{device}"):
            for key in order:
                sums[device, key] = gf.distribute.all_reduce(gf.constant(10.0 * key + device), 3, GROUP, key)
    with session(3, operation_timeout_in_ms=60_000) as s:
        found = s.run(sums)
    assert found == {(device, key): 30.0 * key + 3 for device, key in sums}


def test_what_does_not_need_a_sum_is_computed_while_it_is_waited_for() -> None:
    with gf.device("/cpu:0"):
        x = gf.placeholder(gf.float32, [4])
        total = gf.distribute.all_reduce(gf.sqrt(x), 2, GROUP, 1, name="total")
        later = gf.exp(gf.sin(x), name="later")
        result = gf.add(total, later, name="result")
    plan, _ = session(2).plan(result, [x])
    names = [i.name for i in plan.instructions]
    assert names.index("total/begin") < names.index("later") < names.index("total") < names.index("result")


def test_two_groups_at_once_and_threads_of_one_session() -> None:
    fed = [gf.placeholder(gf.int64, []) for _ in range(4)]
    pairs = on_each(fed, lambda x: x + 0)
    groups = [(0, 1), (2, 3)]
    sums = {}
    for number, pair in enumerate(groups):
        for device in pair:
            with gf.device(f"/cpu:{device}"):
                sums[device] = gf.distribute.all_reduce(pairs[device], 2, 100 + number, 1)
    with session(4) as s:
        failed: list[BaseException] = []

        def use(pair: tuple[int, int], start: int) -> None:
            try:
                for n in range(start, start + 30):
                    feeds = {fed[pair[0]]: n, fed[pair[1]]: 1000}
                    assert s.run([sums[d] for d in pair], feeds) == [n + 1000] * 2
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=use, args=(pair, 100 * k)) for k, pair in enumerate(groups)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed


def test_members_of_different_runs_meet() -> None:
    fed = gf.placeholder(gf.float32, [])
    sums = on_each(range(2), lambda i: gf.distribute.all_reduce(fed + 0.0, 2, GROUP, 1))
    with session(2) as s:
        found: list[Any] = [None, None]

        def use(device: int) -> None:
            found[device] = [s.run(sums[device], {fed: 10 * n + device}) for n in range(20)]

        threads = [threading.Thread(target=use, args=(device,)) for device in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found[0] == found[1] == [20.0 * n + 1 for n in range(20)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (([1.0, 2.0], [1.0, 2.0, 3.0]), r"float32\[2\].*float32\[3\]"),
        ((1.0, np.float64(1.0)), r"float32\[\].*float64\[\]"),
    ],
)
def test_values_that_do_not_fit_name_both_members(values: Any, message: str) -> None:
    sums = on_each(values, lambda v: gf.distribute.all_reduce(gf.constant(v), 2, GROUP, 1))
    with session(2) as s:
        with pytest.raises(gf.errors.InvalidArgumentError, match=message) as caught:
            s.run(sums)
        assert "CPU:0" in str(caught.value) and "CPU:1" in str(caught.value)


def test_other_operations_under_one_key_are_an_error() -> None:
    with gf.device("/cpu:0"):
        first = gf.distribute.all_reduce(1.0, 2, GROUP, 1)
    with gf.device("/cpu:1"):
        second = gf.distribute.all_reduce(1.0, 2, GROUP, 1, "max")
    with session(2) as s, pytest.raises(gf.errors.InvalidArgumentError, match=r"add, id.*max, id"):
        s.run([first, second])


def test_one_device_twice_in_an_instance_is_an_error() -> None:
    with gf.device("/cpu:0"):
        sums = [gf.distribute.all_reduce(float(n), 2, GROUP, 1) for n in range(2)]
    with session(2) as s, pytest.raises(gf.errors.InvalidArgumentError, match="twice in one run"):
        s.run(sums)


def test_a_deadline_names_the_operation_and_who_is_missing() -> None:
    with gf.device("/cpu:0"):
        alone = gf.distribute.all_reduce(1.0, 2, GROUP, 1, name="loss_sum")
        short = gf.distribute.all_reduce(1.0, 2, GROUP, 2, timeout=0.1, name="short")
    with session(2) as s:
        overdue(lambda options: s.run(alone, options=options), "'loss_sum'.*waits for 1 of 2 members")
        with pytest.raises(gf.errors.DeadlineExceededError, match=r"After 0.1 s 'short'.*longer timeout"):
            s.run(short)


def test_a_failure_of_one_member_reaches_the_others_and_the_next_run_is_right() -> None:
    fed = gf.placeholder(gf.float32, [])
    with gf.device("/cpu:0"):
        with gf.control_dependencies([gf.Assert(fed > 0.0, ["bad"])]):
            value = gf.identity(fed)
        first = gf.distribute.all_reduce(value, 2, GROUP, 1)
    with gf.device("/cpu:1"):
        second = gf.distribute.all_reduce(fed + 1.0, 2, GROUP, 1)
    with session(2) as s:
        assert s.run([first, second], {fed: 1.0}) == [3.0, 3.0]
        with pytest.raises(gf.errors.InvalidArgumentError, match="bad"):
            s.run([first, second], {fed: -1.0})
        assert s.run([first, second], {fed: 2.0}) == [5.0, 5.0]


def test_the_error_is_that_of_the_member_that_failed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    fed = gf.placeholder(gf.float32, [])
    with gf.device("/cpu:0"):
        with gf.control_dependencies([gf.Assert(fed > 0.0, ["bad"])]):
            value = gf.identity(fed)
        first = gf.distribute.all_reduce(value, 2, GROUP, 1)
    with gf.device("/cpu:1"):
        second = gf.distribute.all_reduce(fed + 1.0, 2, GROUP, 1)
    failed = RunContext.failed
    calls = itertools.count()

    def slowly(run: RunContext, error: BaseException) -> None:
        slow = not next(calls)
        failed(run, error)
        if slow:
            time.sleep(0.2)  # The other member, which waits, ends meanwhile.

    with session(2) as s:
        assert s.run([first, second], {fed: 1.0}) == [3.0, 3.0]
        monkeypatch.setattr(RunContext, "failed", slowly)
        with pytest.raises(gf.errors.InvalidArgumentError, match="bad"):
            s.run([first, second], {fed: -1.0})


def waiting(s: gf.Session, run: Callable[[], Any]) -> tuple[threading.Thread, list[BaseException]]:
    """A thread with a run that waits for another member, and what the run will raise."""
    caught: list[BaseException] = []

    def use() -> None:
        try:
            run()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    while not s.store.waiting():
        thread.join(0.01)
    return thread, caught


def test_a_member_that_gives_up_ends_the_wait_of_the_others_with_its_reason() -> None:
    fed = gf.placeholder(gf.float32, [])
    sums = on_each(range(3), lambda i: gf.distribute.all_reduce(fed + float(i), 3, GROUP, 1, name=f"sum{i}"))
    with session(3) as s:
        assert s.run(sums, {fed: 1.0}) == [6.0] * 3
        thread, caught = waiting(s, lambda: s.run(sums[1], {fed: 1.0}))
        overdue(
            lambda options: s.run(sums[0], {fed: 1.0}, options=options),
            r"step 2 of the instance 1: .*CPU:2 \(last heard",
        )
        thread.join(60)
        assert isinstance(caught[0], gf.errors.AbortedError) and "'sum0'" in str(caught[0])
        assert s.run(sums, {fed: 2.0}) == [9.0] * 3


def test_closing_the_session_ends_who_waits() -> None:
    with gf.device("/cpu:0"):
        alone = gf.distribute.all_reduce(1.0, 2, GROUP, 1)
    s = session(2)
    thread, caught = waiting(s, lambda: s.run(alone))
    s.close()
    thread.join(60)
    assert isinstance(caught[0], gf.errors.CancelledError)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"group_size": 0}, "group_size must be at least 1"),
        ({"group_key": "a"}, "group_key must be an int"),
        ({"instance_key": True}, "instance_key must be an int"),
        ({"merge": "sub"}, "merge must be one of add, mul, min, max"),
        ({"final": "sqrt"}, "final must be one of id, div"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0"),
    ],
)
def test_wrong_arguments_raise_where_the_operation_is_built(change: dict[str, Any], error: str) -> None:
    arguments = {"tensor": 1.0, "group_size": 2, "group_key": 1, "instance_key": 1, **change}
    with pytest.raises((TypeError, ValueError), match=error):
        gf.distribute.all_reduce(**arguments)
    with pytest.raises(TypeError):
        gf.distribute.all_reduce("text", 2, 1, 1)


def test_collectives_in_a_loop_meet_in_each_iteration() -> None:
    def build(device: int) -> Any:
        def body(i: Any, total: Any) -> Any:
            return i + 1, gf.distribute.all_reduce(total, 2, GROUP, 1)

        return gf.while_loop(lambda i, _: i < 4, body, (0, gf.constant(device + 1.0)))[1]

    with session(2) as s:
        assert s.run(on_each(range(2), build)) == [24.0, 24.0]
