"""Protects datasets of slices of a sparse tensor: what each slice is, what is refused, that an iterator goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf

Dataset = gf.data.Dataset


@pytest.fixture
def session() -> Iterator[gf.Session]:
    with gf.Graph().as_default(), gf.Session() as session:
        yield session


def slices(session: gf.Session, given: Any) -> list[Any]:
    """The slices of a sparse tensor that is fed, as lists."""
    fed = gf.sparse_placeholder(gf.float64)
    iterator = Dataset.from_sparse_tensor_slices(fed).make_initializable_iterator()
    session.run(iterator.initializer, {fed: given})
    element = iterator.get_next()
    found = []
    while True:
        try:
            found.append([part.tolist() for part in session.run(element)])
        except gf.errors.OutOfRangeError:
            return found


def test_each_slice_has_its_indices_values_and_shape(session: gf.Session) -> None:
    given = gf.SparseTensorValue([[0, 1], [0, 2], [2, 0]], [1.0, 2.0, 3.0], [4, 3])
    assert slices(session, given) == [
        [[[1], [2]], [1.0, 2.0], [3]],
        [[], [], [3]],
        [[[0]], [3.0], [3]],
        [[], [], [3]],
    ]


def test_an_empty_one_has_no_slices_and_a_vector_has_slices_without_axes(session: gf.Session) -> None:
    empty = gf.SparseTensorValue(np.zeros([0, 4], np.int64), np.zeros(0), [0, 4, 37, 9])
    assert slices(session, empty) == []
    assert slices(session, gf.SparseTensorValue([[1]], [5.0], [2])) == [[[], [], []], [[[]], [5.0], []]]


def test_types_and_shapes_are_known_as_far_as_those_of_the_tensor() -> None:
    with gf.Graph().as_default():
        dataset = Dataset.from_sparse_tensor_slices(gf.SparseTensor([[0, 1, 2]], ["a"], [2, 3, 4]))
        assert dataset.output_types == (gf.int64, gf.string, gf.int64)
        assert [shape.as_list() for shape in dataset.output_shapes] == [[None, 2], [None], [2]]
        of_values = Dataset.from_sparse_tensor_slices(gf.SparseTensorValue([[0, 1]], [1.0], [2, 3]))
        assert [shape.as_list() for shape in of_values.output_shapes] == [[None, 1], [None], [1]]
        with pytest.raises(TypeError, match="must be a SparseTensor"):
            Dataset.from_sparse_tensor_slices(gf.constant([1]))


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (gf.SparseTensorValue([[1, 0], [0, 0]], [1.0, 2.0], [2, 2]), gf.errors.UnimplementedError),
        (
            gf.SparseTensorValue(np.zeros([0, 4], np.int64), [1.0, 2.0], [0, 4, 3, 9]),
            gf.errors.InvalidArgumentError,
        ),
        (gf.SparseTensorValue([[0, 0]], [1.0], [2]), gf.errors.InvalidArgumentError),
        (gf.SparseTensorValue([[2, 0]], [1.0], [2, 2]), gf.errors.InvalidArgumentError),
    ],
    ids=["another order", "more values", "another rank", "a row that is not there"],
)
def test_what_does_not_fit_together_is_refused(
    session: gf.Session, given: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        slices(session, given)
