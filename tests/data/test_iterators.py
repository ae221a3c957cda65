"""Protects iterators as users meet them: one step a run, restarts, sharing, messages, and what belongs to whom."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.data.pipelines import D, drain
from tests.left_over import new_threads
from tests.overdue import overdue


def prefetching(before: set[threading.Thread]) -> int:
    """How many threads prefetch that did not then: those of other tests may go on for a while."""
    return sum(thread.name.startswith("graphflow prefetch") for thread in new_threads(before))


def no_prefetching(before: set[threading.Thread]) -> bool:
    for _ in range(6000):
        gc.collect()
        if not prefetching(before):
            return True
        time.sleep(0.01)
    return False


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default():
        yield


def test_an_iterator_that_was_not_initialised_is_named() -> None:
    iterator = D.range(3).make_initializable_iterator()
    with (
        gf.Session() as session,
        pytest.raises(
            gf.errors.FailedPreconditionError, match=r"(?s)IteratorV2.*test_iterators\.py:\d+.*initializer"
        ),
    ):
        session.run(iterator.get_next())


def test_the_end_comes_again_and_again() -> None:
    following = D.range(1).prefetch(1).make_one_shot_iterator().get_next()
    with gf.Session() as session:
        assert session.run(following) == 0
        for _ in range(3):
            with pytest.raises(gf.errors.OutOfRangeError, match="End of sequence"):
                session.run(following)


def test_an_error_of_a_function_names_the_users_line_and_the_dataset() -> None:
    data = D.range(3).map(lambda n: gf.constant(6) // gf.cast(n, gf.int32)).prefetch(2)
    following = data.make_one_shot_iterator().get_next()
    with gf.Session() as session:
        with pytest.raises(gf.errors.InvalidArgumentError) as caught:
            session.run(following)
        message = str(caught.value)
        assert (
            "FloorDiv" in message
            and "test_iterators.py" in message
            and "In the function of MapDataset" in message
        )
        assert drain(session, following) == [6, 3]


def test_batches_of_different_shapes_name_both() -> None:
    data = D.range(2, 4).map(lambda n: gf.fill([gf.cast(n, gf.int32)], n)).batch(2)
    following = data.make_one_shot_iterator().get_next()
    with (
        gf.Session() as session,
        pytest.raises(
            gf.errors.InvalidArgumentError,
            match=r"(?s)BatchDatasetV2.*component 0.*\[2\].*element 1.*\[3\]",
        ),
    ):
        session.run(following)


def test_an_error_while_a_function_is_built_names_the_users_line() -> None:
    with pytest.raises(ValueError, match=r"(?s)MatMul.*test_iterators\.py"):
        D.from_tensors(np.zeros([2, 3])).map(lambda x: gf.matmul(x, x))


def test_what_is_fetched_belongs_to_the_caller() -> None:
    source = np.arange(6.0).reshape(3, 2)
    datasets = [
        D.from_tensors(source).repeat(2),
        D.from_tensor_slices(source).repeat(),
        D.from_tensor_slices(source).map(lambda x: x).cache().repeat(),
        D.from_tensors(source).map(lambda x: x).repeat(),
        D.from_tensors(source).cache().repeat(),
        D.from_tensors(source).cache().prefetch(1).repeat(),
    ]
    tensors = [dataset.make_one_shot_iterator().get_next() for dataset in datasets]
    with gf.Session() as session:
        for tensor in tensors:
            expected = source if tensor.shape.ndims == 2 else source[0]
            for _ in range(4 if tensor is not tensors[0] else 2):
                value = session.run(tensor)
                value[...] = -1
        again = [dataset.make_one_shot_iterator().get_next() for dataset in datasets]
        for tensor in again:
            expected = source if tensor.shape.ndims == 2 else source[0]
            np.testing.assert_array_equal(session.run(tensor), expected)
    assert source[0, 1] == 1.0


def test_a_fed_source_may_change_after_the_initializer() -> None:
    rows = gf.placeholder(gf.float32, [None, 2])
    iterator = D.from_tensor_slices(rows).make_initializable_iterator()
    following = iterator.get_next()
    data = np.arange(4, dtype=np.float32).reshape(2, 2)
    with gf.Session() as session:
        session.run(iterator.initializer, {rows: data})
        data[:] = -1
        assert session.run(following).tolist() == [0.0, 1.0]


def test_iterators_with_one_shared_name_share_a_position() -> None:
    one, two = (D.range(5).make_initializable_iterator(shared_name="both") for _ in range(2))
    first, second = one.get_next(), two.get_next()
    with gf.Session() as session:
        session.run(one.initializer)
        assert [session.run(first), session.run(second), session.run(first)] == [0, 1, 2]


def test_sessions_do_not_share_iterators() -> None:
    following = D.range(5).make_one_shot_iterator().get_next()
    with gf.Session() as one, gf.Session() as two:
        assert [one.run(following), one.run(following), two.run(following)] == [0, 1, 0]


def test_several_threads_get_each_element_once() -> None:
    following = D.range(400).map(lambda n: n * 2).prefetch(4).make_one_shot_iterator().get_next()
    found: list[int] = []
    with gf.Session() as session:
        threads = [threading.Thread(target=lambda: found.extend(drain(session, following))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == list(range(0, 800, 2))


def test_a_variable_is_read_when_the_iterator_begins() -> None:
    variable = gf.Variable(10, dtype=gf.int64)
    data = D.range(3).map(lambda n: n + variable)
    with pytest.raises(ValueError, match="make_initializable_iterator"):
        data.make_one_shot_iterator()
    iterator = data.make_initializable_iterator()
    following = iterator.get_next()
    with gf.Session() as session:
        session.run(variable.initializer)
        session.run(iterator.initializer)
        assert drain(session, following) == [10, 11, 12]
        session.run(variable.assign(20))
        session.run(iterator.initializer)
        assert drain(session, following) == [20, 21, 22]


def test_a_function_takes_what_is_around_it_from_inside_branches_and_loops() -> None:
    limit = gf.placeholder(gf.int64, [])

    def build(n: Any) -> Any:
        grown = gf.while_loop(lambda i: i < limit, lambda i: i + limit + 1, [n])
        inner = D.range(2).map(lambda m: m + n * limit)
        return D.from_tensors(gf.cond(n > 1, lambda: n * limit, lambda: grown)).concatenate(inner)

    iterator = D.range(4).flat_map(build).make_initializable_iterator()
    following = iterator.get_next()
    with gf.Session() as session:
        session.run(iterator.initializer, {limit: 10})
        assert drain(session, following) == [11, 0, 1, 12, 10, 11, 20, 20, 21, 30, 30, 31]


def test_every_way_of_running_takes_datasets() -> None:
    iterator = D.range(5).map(lambda n: n * 2).batch(2).make_initializable_iterator()
    following = iterator.get_next()
    with gf.device("/cpu:1"):
        elsewhere = following + 1
    config = gf.ConfigProto(device_count={"CPU": 2}, check_numerics=True)
    with gf.Session(config=config) as session:
        session.run(iterator.initializer)
        metadata = gf.RunMetadata()
        options = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
        assert session.run(following, options=options, run_metadata=metadata).tolist() == [0, 2]
        assert "IteratorGetNext" in [stats.op for stats in metadata.step_stats.nodes()]
        assert session.run(elsewhere).tolist() == [5, 7]
        assert "IteratorGetNext" in session.explain(following)
    for compiled in ("never", "always"):
        with gf.Session(config=gf.ConfigProto(compiled=compiled, device_count={"CPU": 2})) as session:
            session.run(iterator.initializer)
            assert [session.run(elsewhere).tolist() for _ in range(3)] == [[1, 3], [5, 7], [9]]


def test_a_wrong_string_handle_is_an_error() -> None:
    handle = gf.placeholder(gf.string, [])
    following = gf.data.Iterator.from_string_handle(handle, gf.int64, []).get_next()
    with gf.Session() as session:
        for wrong in (b"nonsense", b"\xff\xfe", b"iterator/none"):
            with pytest.raises(gf.errors.OpError):
                session.run(following, {handle: wrong})


def test_prefetch_overlaps_with_the_step_and_does_not_run_ahead_too_far() -> None:
    made: list[int] = []
    lock = threading.Event()

    def note(n: Any) -> Any:
        made.append(int(n))
        if n == 3:
            lock.set()
        return n

    data = D.range(50).map(lambda n: gf.py_func(note, [n], gf.int64)).prefetch(3)
    following = data.make_one_shot_iterator().get_next()
    with gf.Session() as session:
        assert session.run(following) == 0
        assert lock.wait(60), "the thread makes three more while nothing is asked for"
        time.sleep(0.05)
        assert made == [0, 1, 2, 3]


def test_an_error_comes_at_its_place_through_prefetch() -> None:
    def fail_at_two(n: Any) -> Any:
        if n == 2:
            raise ValueError("two")
        return n

    data = D.range(5).map(lambda n: gf.py_func(fail_at_two, [n], gf.int64), num_parallel_calls=3).prefetch(4)
    following = data.make_one_shot_iterator().get_next()
    with gf.Session() as session:
        assert [session.run(following), session.run(following)] == [0, 1]
        with pytest.raises(gf.errors.InvalidArgumentError, match="two"):
            session.run(following)
        assert drain(session, following) == [3, 4]


def test_an_error_of_the_source_keeps_its_place() -> None:
    source = D.range(5).map(lambda n: 12 // (n - 2))
    data = source.map(lambda n: gf.py_func(lambda v: v, [n], gf.int64), num_parallel_calls=4)
    following = data.make_one_shot_iterator().get_next()
    with gf.Session() as session:
        assert [session.run(following), session.run(following)] == [-6, -12]
        with pytest.raises(gf.errors.InvalidArgumentError, match="division"):
            session.run(following)
        assert drain(session, following) == [12, 6]


@pytest.mark.parametrize("end", ["close", "initialize", "drop"])
def test_threads_end_with_their_iterator(end: str) -> None:
    data = D.range(10).repeat().map(lambda n: gf.py_func(lambda v: v, [n], gf.int64), 2).prefetch(2)
    iterator = gf.data.Iterator.from_structure(gf.int64, [])
    start, other = iterator.make_initializer(data), iterator.make_initializer(D.range(3))
    following = iterator.get_next()
    session = gf.Session()
    before = set(threading.enumerate())
    session.run(start)
    session.run(following)
    assert prefetching(before) >= 1
    if end == "initialize":
        session.run(other)
        assert no_prefetching(before)
        assert session.run(following) == 0
    if end == "drop":
        del session
    else:
        session.close()
    assert no_prefetching(before)


def test_closing_the_session_ends_a_wait() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(n: Any) -> Any:
        begun.set()
        go_on.wait(100)
        return n

    data = D.range(5).map(lambda n: gf.py_func(slow, [n], gf.int64)).prefetch(1)
    following = data.make_one_shot_iterator().get_next()
    session = gf.Session()
    raised: list[BaseException] = []

    def wait() -> None:
        try:
            session.run(following)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    assert begun.wait(60)
    session.close()
    thread.join(60)
    assert not thread.is_alive()
    go_on.set()
    assert isinstance(raised[0], gf.errors.CancelledError)


def test_a_deadline_ends_a_wait() -> None:
    go_on = threading.Event()

    def slow(n: Any) -> Any:
        go_on.wait(100)
        return n

    data = D.range(5).map(lambda n: gf.py_func(slow, [n], gf.int64)).prefetch(1)
    following = data.make_one_shot_iterator().get_next()
    with gf.Session() as session:
        overdue(lambda options: session.run(following, options=options), "PrefetchDataset")
        go_on.set()
        assert drain(session, following) == [0, 1, 2, 3, 4]


def test_a_cache_file_outlives_the_program(tmp_path: Path) -> None:
    path = str(tmp_path / "cache")
    calls: list[int] = []

    def note(n: Any) -> Any:
        calls.append(int(n))
        return n * 2

    def read() -> list[Any]:
        with gf.Graph().as_default(), gf.Session() as session:
            data = D.range(4).map(lambda n: (gf.py_func(note, [n], gf.int64), gf.as_string(n))).cache(path)
            return drain(session, data.repeat(2).make_one_shot_iterator().get_next())

    first = read()
    assert read() == first and calls == [0, 1, 2, 3]
    assert os.listdir(tmp_path) == ["cache.npz"]
    (tmp_path / "cache.npz").write_bytes(b"no archive")
    with pytest.raises(gf.errors.InvalidArgumentError, match="damaged"):
        read()


def test_lines_of_files(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "a.txt").write_bytes(b"one\ntwo\r\n\nlast")
    (tmp_path / "b.txt").write_bytes(b"three\n")
    with gzip.open(tmp_path / "c.gz", "wb") as file:
        file.write(b"packed\n")
    listed = D.list_files(str(tmp_path / "*.txt"), shuffle=False).flat_map(gf.data.TextLineDataset)
    packed = gf.data.TextLineDataset([str(tmp_path / "c.gz")], "GZIP")
    missing = gf.data.TextLineDataset(str(tmp_path / "none"))
    tensors = [dataset.make_one_shot_iterator().get_next() for dataset in (listed, packed, missing)]
    with gf.Session() as session:
        assert drain(session, tensors[0]) == [b"one", b"two", b"", b"last", b"three"]
        assert drain(session, tensors[1]) == [b"packed"]
        with pytest.raises(gf.errors.NotFoundError, match="none"):
            session.run(tensors[2])


def test_wrong_elements_of_a_generator_are_errors() -> None:
    def build(value: Any, types: Any, shapes: Any = None) -> Any:
        return D.from_generator(lambda: iter([value]), types, shapes).make_one_shot_iterator().get_next()

    wrong = [
        build("text", gf.int32),
        build([1.5], gf.int32),
        build([1, 2], gf.int32, [3]),
        build((1, 2), (gf.int32, gf.int32, gf.int32)),
        build([[1], [2, 3]], gf.int32),
        build(None, gf.float32),
    ]

    def failing() -> Any:
        yield 1
        raise KeyError("lost")

    broken = D.from_generator(failing, gf.int32).make_one_shot_iterator().get_next()
    with gf.Session() as session:
        for tensor in wrong:
            with pytest.raises(gf.errors.InvalidArgumentError, match="generator"):
                session.run(tensor)
        assert session.run(broken) == 1
        with pytest.raises(gf.errors.UnknownError, match=r"KeyError.*lost"):
            session.run(broken)


def test_a_training_step_reads_its_data() -> None:
    gf.set_random_seed(0)
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    data = D.from_tensor_slices((x, 3 * x + 1)).shuffle(64).repeat().batch(16).prefetch(2)
    features, targets = data.make_one_shot_iterator().get_next()
    slope, offset = gf.Variable(0.0), gf.Variable(0.0)
    loss = gf.reduce_mean(gf.square(slope * features + offset - targets))
    train = gf.train.GradientDescentOptimizer(0.3).minimize(loss)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        for _ in range(200):
            session.run(train)
        assert np.allclose(session.run([slope, offset]), [3.0, 1.0], atol=1e-3)


def test_transformations_to_apply() -> None:
    data = gf.data.experimental
    r = D.range(7)
    datasets = [
        r.apply(data.map_and_batch(lambda n: n * 2, 3, drop_remainder=True)),
        r.apply(data.shuffle_and_repeat(3, 2, seed=1)),
        r.apply(gf.contrib.data.batch_and_drop_remainder(4)),
        r.batch(2).apply(data.unbatch()),
        r.apply(data.enumerate_dataset(3)).take(1),
        data.Counter(5, 2).take(2),
    ]
    tensors = [dataset.make_one_shot_iterator().get_next() for dataset in datasets]
    with gf.Session() as session:
        found = [drain(session, tensor) for tensor in tensors]
    assert [batch.tolist() for batch in found[0]] == [[0, 2, 4], [6, 8, 10]]
    assert sorted(found[1]) == sorted(2 * list(range(7)))
    assert found[2][0].tolist() == [0, 1, 2, 3] and len(found[2]) == 1
    assert found[3:] == [list(range(7)), [(3, 0)], [5, 7]]


def test_a_dataset_tells_what_it_is() -> None:
    data = D.from_tensor_slices({"x": np.zeros([4, 2], np.float32), "n": [1, 2, 3, 4]})
    assert data.output_types == {"x": gf.float32, "n": gf.int32}
    assert data.output_shapes["x"].as_list() == [2]
    assert data.output_classes == {"x": gf.Tensor, "n": gf.Tensor}
    with pytest.raises(RuntimeError, match="get_next"):
        iter(data)
    sparse = D.from_tensors((gf.SparseTensor([[0]], [1], [2]), 0.5))
    assert sparse.output_classes == (gf.SparseTensor, gf.Tensor)
    assert sparse.output_types == (gf.int32, gf.float32)
    with pytest.raises(TypeError, match="IndexedSlices"):
        D.from_tensors(gf.IndexedSlices([1.0], [0]))


def test_runs_that_end_in_time_leave_the_sides_of_a_zip_together() -> None:
    def slowly(number: Any) -> Any:
        time.sleep(0.004)
        return number

    numbers = D.range(40)
    made = numbers.map(lambda n: gf.py_func(slowly, [n], gf.int64)).prefetch(1)
    following = D.zip((numbers, made)).batch(2).make_one_shot_iterator().get_next()
    found: list[list[int]] = []
    ended = 0
    limit = time.monotonic() + 60
    with gf.Session() as session:
        while time.monotonic() < limit:
            options = gf.RunOptions(timeout_in_ms=1 + ended % 3 + ended // 50)
            try:
                found += [side.tolist() for side in session.run(following, options=options)]
            except gf.errors.DeadlineExceededError:
                ended += 1
            except gf.errors.OutOfRangeError:
                break
    assert ended and len(found) > 2
    assert found[::2] == found[1::2] == sorted(found[::2])
    assert all(b - a == 1 and a % 2 == 0 for a, b in found)


def test_the_functions_of_an_iterator_are_its_methods() -> None:
    dataset = D.range(3).map(lambda x: {"x": x, "y": gf.cast(x, gf.float32)})
    first = gf.data.make_one_shot_iterator(dataset)
    second = gf.data.make_initializable_iterator(dataset, shared_name="mine")
    for either in (dataset, first, second):
        assert gf.data.get_output_types(either) == {"x": gf.int64, "y": gf.float32}
        assert {name: shape.as_list() for name, shape in gf.data.get_output_shapes(either).items()} == {
            "x": [],
            "y": [],
        }
        assert gf.data.get_output_classes(either) == {"x": gf.Tensor, "y": gf.Tensor}
    with gf.Session() as session:
        session.run(second.initializer)
        assert session.run([first.get_next()["x"], second.get_next()["y"]]) == [0, 0.0]
    assert second.initializer.inputs[1].op.get_attr("shared_name") == b"mine"
