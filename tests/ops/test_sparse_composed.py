"""Protects sparse_merge, sparse_softmax and what else is written on the ops of SparseTensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf


def sparse(indices: Any, values: Any, shape: Any) -> Any:
    return gf.SparseTensor(np.array(indices, np.int64), values, shape)


def run(*fetches: Any) -> Any:
    with gf.Session() as session:
        return session.run(fetches[0] if len(fetches) == 1 else fetches)


def test_ids_say_where_values_are() -> None:
    ids = sparse([[0, 0], [1, 0], [1, 1]], gf.constant([2, 3, 0]), [2, 2])
    merged = run(
        gf.sparse_merge(ids, sparse(ids.indices.eval(session=gf.Session()), [1.0, 2.0, 3.0], [2, 2]), 4)
    )
    assert merged.indices.tolist() == [[0, 2], [1, 0], [1, 3]]
    assert merged.values.tolist() == [1.0, 3.0, 2.0] and merged.dense_shape.tolist() == [2, 4]
    two = run(gf.sparse_merge([ids, ids], ids, [4, 5]))
    assert two.indices.tolist() == [[0, 2, 2], [1, 0, 0], [1, 3, 3]] and two.dense_shape.tolist() == [2, 4, 5]
    unsorted = run(gf.sparse.merge(ids, ids, 4, already_sorted=True))
    assert unsorted.indices.tolist() == [[0, 2], [1, 3], [1, 0]]
    assert run(gf.sparse_to_indicator(ids, 4)).tolist() == [
        [False, False, True, False],
        [True, False, False, True],
    ]
    with pytest.raises(TypeError, match="both lists"):
        gf.sparse_merge([ids], ids, 4)
    with pytest.raises(ValueError, match="one length"):
        gf.sparse_merge([ids], ids, [4, 5])


def test_a_shape_is_as_small_as_can_be_or_as_is_said() -> None:
    x = sparse([[0, 1], [2, 0]], [1.0, 2.0], [9, 9])
    assert run(gf.sparse_reset_shape(x)).dense_shape.tolist() == [3, 2]
    assert run(gf.sparse_reset_shape(x, [9, 10])).dense_shape.tolist() == [9, 10]
    nothing = sparse(np.zeros([0, 2]), np.zeros([0], np.float32), [9, 9])
    assert run(gf.sparse_reset_shape(nothing)).dense_shape.tolist() == [0, 0]
    for wrong in ([9, 8], [9, 9, 9]):
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"too small|ranks"):
            run(gf.sparse_reset_shape(x, gf.placeholder_with_default(wrong, [len(wrong)])))


def test_a_softmax_is_of_the_values_that_there_are() -> None:
    values = gf.constant([1.0, 3.0, 2.0, 1000.0])
    x = sparse([[0, 0, 1], [0, 0, 2], [0, 1, 0], [1, 1, 3]], values, [2, 2, 4])
    found = gf.sparse_softmax(x)
    gradient = gf.gradients(found.values[0], values)[0]
    softmax, slope = run(found, gradient)
    one = np.exp([1.0, 3.0]) / np.exp([1.0, 3.0]).sum()
    np.testing.assert_allclose(softmax.values, [*one, 1.0, 1.0], rtol=1e-6)
    np.testing.assert_allclose(slope, [one[0] * one[1], -one[0] * one[1], 0.0, 0.0], atol=1e-6)
    assert softmax.indices.tolist() == [[0, 0, 1], [0, 0, 2], [0, 1, 0], [1, 1, 3]]


def test_the_larger_and_the_smaller_count_what_is_not_there_as_0() -> None:
    a, b = sparse([[0], [3]], [-1.0, 5.0], [4]), sparse([[1], [3]], [2.0, 7.0], [4])
    larger, smaller = run(gf.sparse_maximum(a, b), gf.sparse.minimum(a, b))
    assert larger.indices.ravel().tolist() == smaller.indices.ravel().tolist() == [0, 1, 3]
    assert larger.values.tolist() == [0.0, 2.0, 7.0] and smaller.values.tolist() == [-1.0, 0.0, 5.0]


def test_parts_that_differ_in_another_axis_are_not_joined() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        first, second = (gf.SparseTensor([[0, 0]], [1], dims) for dims in ([3, 3], [2, 3]))
        with pytest.raises(gf.errors.InvalidArgumentError, match="Input shapes must match but for axis 1"):
            session.run(gf.sparse_concat(1, [first, second]))
        assert session.run(gf.sparse_concat(0, [first, second])).dense_shape.tolist() == [5, 3]
        fed = gf.sparse_placeholder(gf.int32)
        joined = gf.sparse_concat(-1, [first, fed])
        assert joined.indices.shape.as_list() == [None, 2] and joined.dense_shape.shape.as_list() == [2]
        with pytest.raises(gf.errors.InvalidArgumentError, match="Input shapes must match"):
            session.run(joined, {fed: gf.SparseTensorValue([[0, 0]], [1], [2, 3])})
        found = session.run(joined, {fed: gf.SparseTensorValue([[0, 1]], [5], [3, 2])})
        assert (found.indices.tolist(), found.dense_shape.tolist()) == ([[0, 0], [0, 4]], [3, 5])


def test_what_does_not_fit_a_sparse_tensor_is_refused_where_it_is_written() -> None:
    with gf.Graph().as_default():
        sparse = gf.SparseTensor([[0, 0], [1, 2]], [1, 2], [2, 3])
        with pytest.raises(ValueError, match=r"to_retain must be a vector"):
            gf.sparse_retain(sparse, [True, False, True])
        with pytest.raises(ValueError, match=r"At most one dimension can be inferred"):
            gf.sparse_reshape(sparse, [-1, 2, -1])
        with pytest.raises(ValueError, match="Cannot reshape a tensor with 6 elements"):
            gf.sparse_reshape(sparse, [-1, 4])
        with pytest.raises(ValueError, match="Cannot reshape a tensor with 6 elements"):
            gf.sparse_reshape(sparse, [2, 2])


def test_the_extent_that_follows_of_a_sparse_shape_is_known() -> None:
    with gf.Graph().as_default():
        sparse = gf.SparseTensor([[0, 0], [1, 2]], [1, 2], [2, 3])
        assert gf.sparse_reshape(sparse, [3, -1]).shape.as_list() == [3, 2]
        fed = gf.placeholder(gf.int64, [1])
        assert gf.sparse_reshape(sparse, gf.concat([[6], fed], 0)).shape.as_list() == [6, 1]


def test_ids_that_are_values_are_merged() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        ids, weights = (
            gf.SparseTensorValue([[0, 0], [1, 0]], values, [2, 1]) for values in ([4, 1], [0.5, 2.0])
        )
        found = session.run(gf.sparse_merge(ids, weights, 5))
        assert (found.indices.tolist(), found.values.tolist()) == ([[0, 4], [1, 1]], [0.5, 2.0])
