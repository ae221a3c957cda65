"""Values that may be missing."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf

Dataset = gf.data.Dataset
Optional = gf.data.experimental.Optional


def test_an_optional_has_a_value_or_none() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        some = Optional.from_value({"a": 37.0, "b": (["Foo"], gf.SparseTensor([[0, 1]], [5], [2, 2]))})
        none = Optional.none_from_structure(gf.TensorSpec([], gf.float32))
        assert session.run([some.has_value(), none.has_value()]) == [True, False]
        found = session.run(some.get_value())
        assert (
            found["a"] == 37.0 and found["b"][0].tolist() == [b"Foo"] and found["b"][1].values.tolist() == [5]
        )
        assert none.value_structure.is_compatible_with(gf.TensorSpec([], gf.float32))
        with pytest.raises(gf.errors.InvalidArgumentError, match="does not have a value"):
            session.run(none.get_value())


def test_the_next_element_is_missing_at_the_end() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        data = Dataset.from_tensor_slices((np.arange(2), [[1.0], [2.0]]))
        iterator = data.make_initializable_iterator()
        following = gf.data.experimental.get_next_as_optional(iterator)
        there, value = following.has_value(), following.get_value()
        assert value[1].shape.as_list() == [1]
        with pytest.raises(gf.errors.FailedPreconditionError):
            session.run(there)
        session.run(iterator.initializer)
        for row in range(2):
            has, (number, vector) = session.run([there, value])
            assert has and number == row and vector.tolist() == [row + 1.0]
        assert not session.run(there)
        with pytest.raises(gf.errors.InvalidArgumentError):
            session.run(value)


def test_optionals_are_components_of_elements() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        data = Dataset.range(3).map(lambda n: (n, Optional.from_value((n, n * 2))))
        assert isinstance(data.element_spec[1], gf.OptionalSpec)
        summed = data.map(lambda n, pair: n + pair.get_value()[1])
        following = summed.make_one_shot_iterator().get_next()
        assert [int(session.run(following)) for _ in range(3)] == [0, 3, 6]
        _, optional = data.make_one_shot_iterator().get_next()
        assert isinstance(optional, Optional)
        assert [int(v) for v in session.run(optional.get_value())] == [0, 0]


def test_a_branch_takes_the_value_if_there_is_one() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        iterator = Dataset.range(2).make_one_shot_iterator()
        following = gf.data.experimental.get_next_as_optional(iterator)
        minus_one = gf.constant(-1, gf.int64)
        found = gf.cond(following.has_value(), following.get_value, lambda: minus_one)
        assert [int(session.run(found)) for _ in range(3)] == [0, 1, -1]
