"""Protects datasets whose elements are datasets or SparseTensors: windows, reductions, batches of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.data.pipelines import D, drain, numbers


def every(dataset: Any) -> list[Any]:
    element = dataset.make_one_shot_iterator().get_next()
    with gf.Session() as session:
        return drain(session, element)


def sparse(n: Any) -> Any:
    return gf.SparseTensorValue(gf.reshape(n, [1, 1]), gf.reshape(n, [1]), [9])


class TestWindows:
    def test_a_failed_element_fails_its_windows_alone(self) -> None:
        values = gf.data.Dataset.from_tensor_slices(np.float32([1, np.nan, 2, np.nan, 3]))
        checked = values.map(lambda x: gf.check_numerics(x, "no number"))
        apart = checked.window(2, shift=2, stride=2, drop_remainder=True).flat_map(lambda w: w.batch(2))
        assert np.array(every(apart)).tolist() == [[1, 2], [2, 3]]
        element = checked.window(2).flat_map(lambda w: w.batch(2)).make_one_shot_iterator().get_next()
        with gf.Session() as session:
            for _ in range(2):
                with pytest.raises(gf.errors.InvalidArgumentError, match="no number"):
                    session.run(element)
            assert session.run(element).tolist() == [3]

    def test_a_failed_element_fails_its_window_after_a_restart_too(self) -> None:
        values = gf.data.Dataset.from_tensor_slices(np.float32([1, 2, np.nan, 4, 5]))
        checked = values.map(lambda x: gf.check_numerics(x, "no number"))
        element = (
            checked.window(3, shift=1).flat_map(lambda w: w.batch(3)).make_one_shot_iterator().get_next()
        )
        with gf.Session() as session:
            with pytest.raises(gf.errors.InvalidArgumentError, match="no number"):
                session.run(element)
            state = session.store.get_state()
        with gf.Session() as session:
            session.store.set_state(state)
            for _ in range(2):
                with pytest.raises(gf.errors.InvalidArgumentError, match="no number"):
                    session.run(element)
            assert [found.tolist() for found in drain(session, element)] == [[4, 5], [5]]

    @pytest.mark.parametrize("sizes", [(0, 3, 1), (3, 0, 1), (3, 3, 0)])
    def test_sizes_are_positive(self, sizes: tuple[int, int, int]) -> None:
        with pytest.raises(gf.errors.InvalidArgumentError, match="must be greater than zero"):
            every(numbers().window(*sizes).flat_map(lambda w: w))

    def test_sparse_tensors_in_windows_of_windows(self) -> None:
        windows = (
            numbers(4).map(sparse).window(2, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(2))
        )
        (found,) = every(windows.window(3).flat_map(lambda w: w.batch(3)))
        assert found.dense_shape.tolist() == [3, 2, 9]
        assert found.values.tolist() == [0, 1, 1, 2, 2, 3]
        assert found.indices.tolist() == [[i, j, i + j] for i in range(3) for j in range(2)]

    def test_what_it_says_of_its_elements(self) -> None:
        windows = gf.data.Dataset.zip({"a": numbers(), "b": numbers()}).window(2)
        spec = gf.data.DatasetSpec(gf.TensorSpec([], gf.int64))
        assert (
            windows.output_types == windows.output_shapes == windows.output_classes == {"a": spec, "b": spec}
        )
        assert windows.element_spec == {"a": spec, "b": spec}
        assert spec.value_type is gf.data.Dataset
        assert numbers().map(sparse).element_spec == gf.SparseTensorSpec([9], gf.int64)


class TestNested:
    def test_batches_of_datasets_become_single_ones_again(self) -> None:
        batches = numbers(7).map(D.from_tensors).batch(3).map(lambda x: x)
        assert every(batches.unbatch().flat_map(lambda nested: nested)) == list(range(7))

    def test_a_dataset_can_be_an_element(self) -> None:
        assert every(D.from_tensors(numbers(3)).repeat(2).flat_map(lambda x: x)) == [0, 1, 2, 0, 1, 2]

    def test_one_that_no_checkpoint_can_hold_says_so(self) -> None:
        element = (
            D.from_tensors(numbers(5)).repeat(3).flat_map(lambda x: x).make_one_shot_iterator().get_next()
        )
        with gf.Session() as session:
            session.run(element)
            with pytest.raises(gf.errors.UnimplementedError, match="flat_map or interleave"):
                session.store.get_state()


class TestReduce:
    def test_states_of_several_components(self) -> None:
        def step(state: Any, value: Any) -> Any:
            return {"sum": state["sum"] + value, "last": gf.reshape(value, [1])}

        result = numbers(5).reduce({"sum": np.int64(0), "last": np.zeros([1], np.int64)}, step)
        with gf.Session() as session:
            for _ in range(2):
                found = session.run(result)
                assert (found["sum"], found["last"].tolist()) == (10, [4])

    def test_sparse_states(self) -> None:
        result = (
            numbers(5).map(sparse).reduce(gf.SparseTensorValue([[0]], np.int64([0]), [9]), lambda _, v: v)
        )
        with gf.Session() as session:
            assert session.run(result).values.tolist() == [4]

    def test_a_state_that_grows_has_no_static_size(self) -> None:
        result = numbers(4).reduce(np.zeros([0], np.int64), lambda s, v: gf.concat([s, [v]], 0))
        assert result.shape.as_list() == [None]
        with gf.Session() as session:
            assert session.run(result).tolist() == [0, 1, 2, 3]

    def test_it_may_take_what_is_fed(self) -> None:
        factor = gf.placeholder(gf.int64, [])
        result = numbers(4).reduce(np.int64(0), lambda s, v: s + v * factor)
        with gf.Session() as session:
            assert session.run(result, {factor: 3}) == 18

    def test_the_state_keeps_its_type(self) -> None:
        with pytest.raises(TypeError, match="new state"):
            numbers(4).reduce(np.int64(0), lambda s, v: gf.cast(s, gf.float32))
        with pytest.raises(gf.errors.InvalidArgumentError):
            numbers(4).reduce(np.int64(0), lambda s, v: ())

    def test_closing_the_session_ends_it(self) -> None:
        result = gf.data.Dataset.from_tensors(1).repeat().reduce(0, lambda s, v: s + v)
        with gf.Session() as session, pytest.raises(gf.errors.DeadlineExceededError):
            session.run(result, options=gf.RunOptions(timeout_in_ms=200))


class TestOptions:
    def test_they_come_from_all_datasets_that_one_is_made_of(self) -> None:
        first, second = gf.data.Options(), gf.data.Options()
        first.experimental_optimization.autotune = True
        second.experimental_deterministic = False
        both = D.zip((numbers().with_options(first), numbers().with_options(second).batch(2))).cache()
        assert both.options().experimental_optimization.autotune is True
        assert both.options().experimental_deterministic is False
        assert numbers().options() == gf.data.Options() != both.options()

    def test_two_values_of_one_option_are_an_error(self) -> None:
        first, second = gf.data.Options(), gf.data.Options()
        first.experimental_threading.private_threadpool_size = 1
        second.experimental_threading.private_threadpool_size = 2
        with pytest.raises(ValueError, match="private_threadpool_size"):
            numbers().with_options(first).with_options(second)

    def test_their_names_and_types_are_checked(self) -> None:
        options = gf.data.Options()
        with pytest.raises(TypeError, match="autotune"):
            options.experimental_optimization.autotune = 3
        with pytest.raises(AttributeError, match="determinism"):
            options.determinism = True  # type: ignore[attr-defined]
