"""Protects what a checkpoint saves of iterators: after it, exactly the elements come that would have come next."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.data.pipelines import PIPELINES, D, assert_same, drain, noisy, numbers


def through_a_file(state: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The state as a checkpoint gives it back: numeric arrays of their own, nothing else."""
    for arrays in state.values():
        for name, array in arrays.items():
            assert isinstance(array, np.ndarray) and array.dtype.kind in "biuf", (name, array)
    return {name: {key: a.copy() for key, a in arrays.items()} for name, arrays in state.items()}


@pytest.mark.parametrize("one_shot", [True, False])
@pytest.mark.parametrize("name", PIPELINES)
def test_a_restored_iterator_goes_on(name: str, one_shot: bool) -> None:
    def build() -> tuple[Any, Any]:
        gf.set_random_seed(11)
        dataset = PIPELINES[name]()
        iterator = dataset.make_one_shot_iterator() if one_shot else dataset.make_initializable_iterator()
        return iterator.get_next(), None if one_shot else iterator.initializer

    with gf.Graph().as_default(), gf.Session() as session:
        following, initializer = build()
        if initializer is not None:
            session.run(initializer)
        every = drain(session, following)
    assert every
    for taken in (0, len(every) // 2, len(every)) if one_shot else (1, len(every) - 1):
        with gf.Graph().as_default(), gf.Session() as session:
            following, initializer = build()
            if initializer is not None:
                session.run(initializer)
            assert_same(drain(session, following, taken), every[:taken])
            state = through_a_file(session.store.get_state())
            # Going on changes nothing of what was saved.
            assert_same(drain(session, following, 1), every[taken : taken + 1])
            session.store.set_state(state)
            assert_same(drain(session, following), every[taken:])
        with gf.Graph().as_default(), gf.Session() as session:
            following, _ = build()
            session.store.set_state(state)
            assert_same(drain(session, following), every[taken:])


def test_the_first_initializer_after_a_restore_keeps_the_position() -> None:
    with gf.Graph().as_default():
        iterator = numbers(6).make_initializable_iterator()
        following = iterator.get_next()
        with gf.Session() as session:
            session.run(iterator.initializer)
            assert drain(session, following, 2) == [0, 1]
            state = session.store.get_state()
            drain(session, following)
            ended = session.store.get_state()
        with gf.Session() as session:
            session.store.set_state(state)
            session.run(iterator.initializer)
            assert drain(session, following) == [2, 3, 4, 5]
            session.run(iterator.initializer)
            assert drain(session, following, 2) == [0, 1]
            session.store.set_state(ended)
            session.run(iterator.initializer)
            assert drain(session, following) == [0, 1, 2, 3, 4, 5]


def test_a_dataset_of_feeds_needs_its_initializer_again() -> None:
    with gf.Graph().as_default():
        stop = gf.placeholder(gf.int64, [], name="stop")
        iterator = D.range(stop).make_initializable_iterator()
        following = iterator.get_next()
        with gf.Session() as session:
            session.run(iterator.initializer, {stop: 5})
            assert drain(session, following, 3) == [0, 1, 2]
            state = session.store.get_state()
        with gf.Session() as session:
            session.store.set_state(state)
            with pytest.raises(gf.errors.FailedPreconditionError, match=r"(?s)restored.*'stop'.*initializer"):
                session.run(following)
            session.run(iterator.initializer, {stop: 5})
            assert drain(session, following) == [3, 4]


def test_an_iterator_of_several_datasets_goes_on_in_the_one_it_had() -> None:
    with gf.Graph().as_default():
        gf.set_random_seed(1)
        iterator = gf.data.Iterator.from_structure(gf.int64, [])
        training = iterator.make_initializer(numbers(5).shuffle(5))
        testing = iterator.make_initializer(D.range(10, 14))
        following = iterator.get_next()
        with gf.Session() as session:
            session.run(training)
            drain(session, following, 2)
            state = session.store.get_state()
            rest = drain(session, following)
        with gf.Session() as session:
            session.store.set_state(state)
            assert drain(session, following) == rest
            session.store.set_state(state)
            session.run(testing)
            assert drain(session, following) == [10, 11, 12, 13]


def test_a_state_of_another_program_is_an_error() -> None:
    with gf.Graph().as_default():
        one = numbers().make_one_shot_iterator().get_next()
        with gf.Session() as session:
            session.run(one)
            state = session.store.get_state()
    with gf.Graph().as_default():
        other = D.range(3).make_one_shot_iterator().get_next()
        with gf.Session() as session:
            (name,) = state
            session.store.set_state({name: {k: v for k, v in state[name].items() if "position" not in k}})
            with pytest.raises(gf.errors.InvalidArgumentError, match="saved by another program"):
                session.run(other)


def test_states_that_were_damaged_are_errors() -> None:
    for name in (
        "everything",
        "shuffle_elements",
        "interleave",
        "prefetch_inside",
        "cache_ragged",
        "map_parallel",
    ):
        with gf.Graph().as_default():
            following = PIPELINES[name]().make_one_shot_iterator().get_next()
            with gf.Session() as session:
                drain(session, following, 2)
                state = session.store.get_state()
            ((iterator, arrays),) = state.items()
            for key in arrays:
                if key == "dataset":
                    continue  # Of another dataset: it begins anew.
                for damaged in (None, np.zeros([2, 0], np.float64), np.array(-5)):
                    kept = {k: v for k, v in arrays.items() if k != key}
                    if damaged is not None:
                        kept[key] = damaged
                    with gf.Session() as session:
                        session.store.set_state({iterator: kept})
                        with suppress(gf.errors.OpError):  # And no other exception, no crash and no hang.
                            drain(session, following, 40)


def test_random_states_of_functions_belong_to_the_iterator() -> None:
    with gf.Graph().as_default():
        dataset = numbers(3).map(noisy)
        iterators = [dataset.make_initializable_iterator() for _ in range(2)]
        tensors = [iterator.get_next() for iterator in iterators]
        with gf.Session() as session:
            session.run([iterator.initializer for iterator in iterators])
            first = session.run(tensors[0])
            assert session.run(tensors[1]) == first
            assert session.run(tensors[0]) != first + 1
            session.run(iterators[0].initializer)
            assert session.run(tensors[0]) == first
