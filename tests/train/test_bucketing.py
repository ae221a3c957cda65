"""Protects batches of buckets: which examples are together, how they are padded and how they end, as in TensorFlow."""

from __future__ import annotations

from typing import Any

import pytest

import graphflow as gf


def _all(fetches: Any) -> list[Any]:
    found = []
    with gf.Session() as session:
        session.run(gf.local_variables_initializer())
        coordinator = gf.train.Coordinator()
        threads = gf.train.start_queue_runners(session, coordinator)
        with pytest.raises(gf.errors.OutOfRangeError):
            while True:
                found.append(session.run(fetches))
        coordinator.request_stop()
        coordinator.join(threads)
    return found


def test_examples_of_about_one_length_are_together() -> None:
    number = gf.train.range_input_producer(12, shuffle=False, num_epochs=1).dequeue()
    lengths, batch = gf.contrib.training.bucket_by_sequence_length(
        number,
        [number, gf.fill([number], number)],
        2,
        [3, 6],
        dynamic_pad=True,
        allow_smaller_final_batch=True,
    )
    assert lengths.shape.as_list() == [None] and batch[1].shape.as_list() == [None, None]
    found = _all([lengths, *batch])
    # In which order buckets are read is a matter of threads, in TensorFlow too.
    assert sorted(run[0].tolist() for run in found) == [[0, 1], [2], [3, 4], [5], [6, 7], [8, 9], [10, 11]]
    padded = next(run[2].tolist() for run in found if run[0][0] == 3)
    assert padded == [[3, 3, 3, 0], [4, 4, 4, 4]]


def test_a_bucket_has_a_size_of_its_own_and_drops_what_does_not_fill_it() -> None:
    number = gf.train.range_input_producer(12, shuffle=False, num_epochs=1).dequeue()
    which, batch = gf.contrib.training.bucket(
        {"number": number, "double": number * 2}, number % 2, [2, 4], 2, keep_input=number < 11
    )
    found = [(int(w), b["number"].tolist(), b["double"].tolist()) for w, b in _all([which, batch])]
    assert sorted(found) == [
        (0, [0, 2], [0, 4]),
        (0, [4, 6], [8, 12]),
        (0, [8, 10], [16, 20]),
        (1, [1, 3, 5, 7], [2, 6, 10, 14]),
    ]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        gf.contrib.training.bucket_by_sequence_length(3, [gf.constant(1)], 2, [])
    with pytest.raises(ValueError, match="saw: 5 before 5"):
        gf.contrib.training.bucket_by_sequence_length(3, [gf.constant(1)], 2, [5, 5])
    with pytest.raises(ValueError, match="batch_size is a list it must have num_buckets"):
        gf.contrib.training.bucket([gf.constant(1)], 0, [2], 2)
