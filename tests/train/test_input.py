"""Protects input pipelines of queues: what producers and batches give, their names, epochs, and their ends.

Values and names are those of TensorFlow 1.15.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

CONFIG = gf.ConfigProto(operation_timeout_in_ms=60_000)


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as made:
        yield made


def drain(output: Any, most: int = 100) -> list[Any]:
    """What `output` gives until its input ends."""
    found: list[Any] = []
    with gf.Session(config=CONFIG) as session:
        session.run(gf.local_variables_initializer())
        coord = gf.train.Coordinator()
        threads = gf.train.start_queue_runners(session, coord)
        try:
            while len(found) < most:
                found.append(session.run(output))
        except gf.errors.OutOfRangeError:
            pass
        finally:
            coord.request_stop()
        coord.join(threads)
    return found


def types() -> dict[str, str]:
    return {op.name: op.type for op in gf.get_default_graph().get_operations()}


# ---- producers ------------------------------------------------------------------------------------------------------


def test_strings_in_a_seeded_order_for_some_epochs() -> None:
    gf.set_random_seed(3)
    queue = gf.train.string_input_producer(["a", "b", "c"], num_epochs=2, seed=5)
    assert drain(queue.dequeue()) == [b"a", b"b", b"c", b"c", b"a", b"b"]
    found = types()
    assert found["input_producer"] == "FIFOQueueV2"
    assert found["input_producer/input_producer_EnqueueMany"] == "QueueEnqueueManyV2"
    assert found["input_producer/limit_epochs/epochs"] == "VariableV2"
    assert found["input_producer/fraction_of_32_full"] == "ScalarSummary"
    assert [v.name for v in gf.local_variables()] == ["input_producer/limit_epochs/epochs:0"]


def test_no_strings() -> None:
    with pytest.raises(ValueError, match="non-null"):
        gf.train.string_input_producer([])
    strings = gf.placeholder_with_default(gf.constant([], gf.string), [None])
    with gf.Session(config=CONFIG) as session:
        coord = gf.train.Coordinator()
        taken = gf.train.string_input_producer(strings).dequeue()
        gf.train.start_queue_runners(session, coord)
        with pytest.raises(gf.errors.OutOfRangeError):
            session.run(taken)
        with pytest.raises(gf.errors.InvalidArgumentError, match="non-null"):
            coord.join()


def test_ranges_go_on_without_end() -> None:
    assert drain(gf.train.range_input_producer(3, shuffle=False).dequeue(), 8) == [0, 1, 2, 0, 1, 2, 0, 1]
    shuffled = drain(gf.train.range_input_producer(30, num_epochs=2).dequeue())
    assert sorted(shuffled[:30]) == sorted(shuffled[30:]) == list(range(30))


def test_slices_of_several_tensors_belong_together() -> None:
    x = np.arange(10, dtype=np.float32)
    row = gf.train.slice_input_producer([x, np.stack([x, x * 2.0], 1)], num_epochs=1)
    found = drain(row)
    assert sorted(float(a) for a, _ in found) == list(range(10))
    for a, b in found:
        np.testing.assert_array_equal(b, [a, a * 2.0])


def test_rows_need_a_shape() -> None:
    with pytest.raises(ValueError, match="`element_shape` must be specified"):
        gf.train.input_producer(gf.placeholder(gf.float32, [3, None]))
    queue = gf.train.input_producer(gf.placeholder(gf.float32, [3, None]), element_shape=[2])
    assert queue.shapes[0] == [2]


def test_epochs() -> None:
    with pytest.raises(ValueError, match="must be > 0"):
        gf.train.limit_epochs(gf.constant(1), 0)
    assert drain(gf.train.limit_epochs(gf.constant(5), 3)) == [5, 5, 5]


# ---- batches --------------------------------------------------------------------------------------------------------


def test_batches_and_a_smaller_last_one() -> None:
    x = np.arange(10, dtype=np.float32)
    row = gf.train.slice_input_producer([x, np.arange(20).reshape(10, 2)], num_epochs=1, shuffle=False)
    batch = gf.train.batch(row, 4, allow_smaller_final_batch=True)
    assert [t.shape.as_list() for t in batch] == [[None], [None, 2]]
    found = drain(batch)
    assert [a.tolist() for a, _ in found] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert found[2][1].tolist() == [[16, 17], [18, 19]]


def number(count: int, epochs: int | None = 1) -> Any:
    return gf.train.range_input_producer(count, epochs, shuffle=False).dequeue()


def test_the_rest_is_dropped_unless_asked_for() -> None:
    batch = gf.train.batch([number(10)], 4)
    assert batch.shape == [4]
    assert (batch.op.name, batch.op.type) == ("batch", "QueueDequeueManyV2")
    assert [b.tolist() for b in drain(batch)] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_a_dictionary_stays_one() -> None:
    i = number(6)
    batch = gf.train.batch({"i": i, "double": i * 2}, 3)
    assert [{k: v.tolist() for k, v in b.items()} for b in drain(batch)] == [
        {"i": [0, 1, 2], "double": [0, 2, 4]},
        {"i": [3, 4, 5], "double": [6, 8, 10]},
    ]
    assert drain(gf.train.batch({"i": number(2)}, 2))[0]["i"].tolist() == [0, 1]


def test_examples_of_different_sizes_are_padded() -> None:
    found = drain(gf.train.batch([gf.range(number(5))], 2, dynamic_pad=True))
    assert [b.tolist() for b in found] == [[[0], [0]], [[0, 1, 0], [0, 1, 2]]]


def test_only_some_examples() -> None:
    i = number(8)
    assert [b.tolist() for b in drain(gf.train.maybe_batch([i], gf.equal(i % 2, 0), 2))] == [[0, 2], [4, 6]]
    three = gf.train.limit_epochs(gf.constant([1, 2, 3]), 2)
    chosen = gf.train.maybe_batch([three], [True, False, True], 2, enqueue_many=True)
    assert [b.tolist() for b in drain(chosen)] == [[1, 3], [1, 3]]


@pytest.mark.parametrize("threads", [1, 4])
def test_shuffled_batches_hold_every_example_once(threads: int) -> None:
    batch = gf.train.shuffle_batch([number(50)], 10, 30, 20, num_threads=threads, seed=1)
    assert (batch.op.name, batch.shape) == ("shuffle_batch", [10])
    found = np.concatenate(drain(batch))
    assert sorted(found) == list(range(50))
    assert found.tolist() != list(range(50))


def test_several_sources() -> None:
    sources = [[number(10)], [number(10) + 100]]
    found = np.concatenate(drain(gf.train.batch_join(sources, 5)))
    assert sorted(found) == [*range(10), *range(100, 110)]
    sources = [[number(10)], [number(10) + 100]]
    found = np.concatenate(drain(gf.train.shuffle_batch_join(sources, 5, 20, 5)))
    assert sorted(found) == [*range(10), *range(100, 110)]


def test_a_training_loop() -> None:
    """Rows through shuffle_batch into a model: weights reach the solution, and the threads end."""
    rows = np.random.default_rng(0).uniform(-1.0, 1.0, [64, 3]).astype(np.float32)
    x, y = gf.train.slice_input_producer([rows, rows @ np.float32([1.0, -2.0, 3.0])], num_epochs=50, seed=1)
    xs, ys = gf.train.shuffle_batch([x, y], 16, 100, 32, seed=2)
    w = gf.Variable(gf.zeros([3]))
    loss = gf.reduce_mean(gf.square(gf.reduce_sum(xs * w, 1) - ys))
    step = gf.train.GradientDescentOptimizer(0.3).minimize(loss)
    with gf.Session() as session:
        session.run([gf.global_variables_initializer(), gf.local_variables_initializer()])
        coord = gf.train.Coordinator()
        threads = gf.train.start_queue_runners(session, coord)
        steps = 0
        with coord.stop_on_exception():
            while not coord.should_stop():
                session.run(step)
                steps += 1
        coord.join(threads)
        assert steps == 64 * 50 // 16
        np.testing.assert_allclose(session.run(w), [1.0, -2.0, 3.0], atol=1e-3)


def test_wrong_use_is_refused_where_it_is_built() -> None:
    unknown = gf.placeholder(gf.float32)
    one, other = gf.constant(1), gf.constant(1.0)
    calls: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: gf.train.batch([unknown], 2), ValueError, "Cannot infer Tensor's rank"),
        (lambda: gf.train.batch([gf.placeholder(gf.float32, [None])], 2), ValueError, "fully defined"),
        (lambda: gf.train.batch([], 2), ValueError, "at least one tensor"),
        (lambda: gf.train.batch_join([], 2), ValueError, "at least one set"),
        (lambda: gf.train.batch_join([[one], [other]], 2), TypeError, "types to be consistent"),
        (lambda: gf.train.batch_join([{"a": one}, {"b": one}], 2), ValueError, "same keys"),
        (lambda: gf.train.shuffle_batch([one], 2, 5, 5), ValueError, "must be bigger"),
        (lambda: gf.train.maybe_batch([one], [True], 2), ValueError, "cannot be a vector"),
        (lambda: gf.train.slice_input_producer([]), ValueError, "at least one tensor"),
    ]
    for call, error, told in calls:
        with pytest.raises(error, match=told):
            call()


def test_files_that_match_are_looked_up_once(tmp_path: Path) -> None:
    for name in "cab":
        (tmp_path / f"{name}.txt").write_text(f"line of {name}\n")
    names = gf.train.match_filenames_once(f"{tmp_path}/*.txt")
    assert (names.name, names.dtype, names.shape.ndims) == ("matching_filenames:0", gf.string, None)
    assert names in gf.local_variables() and names not in gf.trainable_variables()
    _, line = gf.TextLineReader().read(gf.train.string_input_producer(names, num_epochs=2, shuffle=False))
    assert drain(line) == [f"line of {name}".encode() for name in "abcabc"]
    with gf.Session() as session:
        session.run(names.initializer)
        (tmp_path / "d.txt").touch()
        assert len(session.run(names)) == 3
        session.run(names.initializer)
        assert len(session.run(names)) == 4


@pytest.mark.parametrize("many", [False, True])
def test_the_rank_of_a_batch_of_sparse_tensors_is_known(many):
    sparse = gf.SparseTensor([[0, 0]], [1.0], [1, 2])
    batches = [
        gf.train.batch([sparse], 2, enqueue_many=many),
        gf.train.batch_join([[sparse], [sparse]], 2, enqueue_many=many),
        gf.train.shuffle_batch([sparse], 2, 9, 2, enqueue_many=many),
        gf.train.maybe_shuffle_batch_join([[sparse]], 2, 9, 2, True, enqueue_many=many),
    ]
    rank = 2 if many else 3
    for batch in batches:
        assert batch.dense_shape.shape.as_list() == [rank]
        assert batch.indices.shape.as_list() == [None, rank]


def test_sparse_tensors_of_several_ranks_are_no_batch():
    one, two = gf.SparseTensor([[0]], [1.0], [1]), gf.SparseTensor([[0, 0]], [1.0], [1, 2])
    with pytest.raises(ValueError, match=r"the ranks \[1, 2\]"):
        gf.train.batch_join([[one], [two]], 2)
