"""Protects how array operations say what is wrong, and where, and that they refuse it at its line, as in TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf


def fed(value: Any) -> Any:
    return gf.placeholder_with_default(value, [None] * np.ndim(value))


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: gf.gather(fed([[1], [2]]), [[7]]), r"indices\[0,0\] = 7 is not in \[0, 2\)"),
        (lambda: gf.gather_nd(fed([1, 2, 3]), [[[0], [7]]]), r"\[0,1\] = \[7\] does not index into param shape \[3\]"),
        (lambda: gf.gather_nd(gf.zeros([0, 3]), fed([[0, 0]])), "Requested more than 0 entries, but params is empty"),
        (lambda: gf.dynamic_partition(gf.constant(1), fed(17), 7)[0], r"partitions = 17 is not in \[0, 7\)"),
        (lambda: gf.sparse_to_dense([1], [4], [2], [0]), "default_value should be a scalar"),
        (lambda: gf.sparse_to_dense([1, 2], [4], fed([1, 2, 3])), r"incorrect shape \[3\], should be \[\] or \[2\]"),
    ],
)  # fmt: skip
def test_a_wrong_element_is_named_by_its_place(build: Any, told: str) -> None:
    with pytest.raises(gf.errors.InvalidArgumentError, match=told):
        gf.Session().run(build())


@pytest.mark.parametrize(
    ("build", "told"),
    [
        (lambda: gf.roll(7, 1, 0), "Shape must be at least rank 1 but is rank 0"),
        (lambda: gf.roll([[1, 2]], [[0, 1]], 1), "Shape must be at most rank 1 but is rank 2"),
        (lambda: gf.roll([[1, 2]], 1, [[0, 1]]), "Shape must be at most rank 1 but is rank 2"),
        (lambda: gf.roll([[1, 2]], [1], [0, 1]), "both shapes must be equal"),
        (lambda: gf.substr(["abc"], [1], [1, 2]), "pos and len must have equal shapes"),
        (lambda: gf.sparse_to_dense([1], [[5], [3]], 1), "Shape must be rank 1 but is rank 2"),
        (lambda: gf.split(gf.ones([10]), gf.constant([2, 2, 6]), num=4), "given 3 sizes, but num=4"),
        (lambda: gf.transpose(gf.ones([2, 3]), [[0, 1]]), "Shape must be rank 1 but is rank 2"),
        (lambda: gf.split(gf.ones([3]), [-2, 5]), "Split size at index 0 must be >= 0. Got: -2"),
        (lambda: gf.decode_csv(["a"], [[""]], select_cols=[-1]), "select_cols contains negative values"),
        (
            lambda: gf.decode_csv(["a"], [[""], [""]], select_cols=[1, 0]),
            "select_cols is not strictly increasing",
        ),
        (
            lambda: gf.decode_csv(["a"], [[""]], select_cols=[0, 1]),
            "Length of select_cols and record_defaults",
        ),
    ],
)
def test_shapes_that_do_not_fit_are_refused_at_the_line(build: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        build()


def test_indices_may_share_all_axes_but_their_last() -> None:
    params, indices = np.arange(24).reshape(2, 3, 4), [[[1], [0], [3]], [[2], [2], [1]]]
    found = gf.gather(params, indices, batch_dims=None)
    np.testing.assert_array_equal(gf.Session().run(found), np.take_along_axis(params, np.array(indices), 2))
    with pytest.raises(ValueError, match="needs indices of known rank"):
        gf.gather(params, 1, batch_dims=None)


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
def test_windows_of_volumes_are_those_of_slices(padding: str) -> None:
    volume = np.random.RandomState(0).rand(2, 5, 4, 3, 2)
    found = gf.extract_volume_patches(gf.constant(volume), [1, 2, 3, 1, 1], [1, 2, 1, 2, 1], padding)
    counts = {"VALID": (2, 2, 2), "SAME": (3, 4, 2)}[padding]
    assert found.shape.as_list() == [2, *counts, 12]
    edges = {"VALID": [(0, 0)] * 5, "SAME": [(0, 0), (0, 1), (1, 1), (0, 0), (0, 0)]}[padding]
    padded = np.pad(volume, edges)
    expected = np.empty(found.shape.as_list())
    for at in np.ndindex(*counts):
        p, r, c = at[0] * 2, at[1], at[2] * 2
        expected[:, *at] = padded[:, p : p + 2, r : r + 3, c : c + 1].reshape(2, -1)
    gradient = gf.gradients(found, [found.op.inputs[0]])[0]
    with gf.Session() as session:
        np.testing.assert_array_equal(session.run(found), expected)
        assert session.run(gradient).sum() > 0


def example(**features: Any) -> bytes:
    made = gf.train.Example()
    for name, values in features.items():
        if name == "index" or name == "column":
            made.features.feature[name].int64_list.value.extend(values)
        else:
            made.features.feature[name].float_list.value.extend(values)
    return bytes(made.SerializeToString())


def test_a_sparse_feature_is_made_of_places_and_values() -> None:
    rows = [example(value=[3, 4], index=[5, 10]), example(), example(value=[1, 2, -1], index=[0, 9, 3])]
    features = {
        "sparse": gf.SparseFeature(["index"], "value", gf.float32, [13]),
        "value": gf.VarLenFeature(gf.float32),
    }
    many = gf.parse_example(rows, features)
    one = gf.parse_single_example(rows[2], {"sparse": gf.SparseFeature("index", "value", gf.float32, 13)})
    assert set(many) == {"sparse", "value"} and set(one) == {"sparse"}
    found, single = gf.Session().run([many["sparse"], one["sparse"]])
    np.testing.assert_array_equal(found.indices, [[0, 5], [0, 10], [2, 0], [2, 3], [2, 9]])
    np.testing.assert_array_equal(found.values, [3, 4, 1, -1, 2])
    np.testing.assert_array_equal(found.dense_shape, [3, 13])
    np.testing.assert_array_equal(single.indices, [[0], [3], [9]])
    np.testing.assert_array_equal(single.values, [1, -1, 2])


def test_a_sparse_feature_may_have_several_axes() -> None:
    rows = [example(value=[3, 4], index=[1, 0], column=[0, 2])]
    feature = gf.SparseFeature(["index", "column"], "value", gf.float32, [2, 3])
    found = gf.Session().run(gf.parse_example(rows, {"x": feature})["x"])
    np.testing.assert_array_equal(found.indices, [[0, 0, 2], [0, 1, 0]])
    np.testing.assert_array_equal(found.values, [4, 3])


@pytest.mark.parametrize(
    ("feature", "told"),
    [
        (gf.SparseFeature("", "value", gf.float32, 3), "Missing index_key"),
        (gf.SparseFeature("index", "", gf.float32, 3), "Missing value_key"),
        (gf.SparseFeature("index", "value", None, 3), "Missing type"),
        (gf.SparseFeature("index", "index", gf.float32, 3), "Conflicting type int64 vs float32"),
    ],
)
def test_a_sparse_feature_that_cannot_be_read_is_refused(feature: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        gf.parse_example([b""], {"x": feature})


@pytest.mark.parametrize(
    ("build", "given", "told"),
    [
        (
            lambda x: gf.roll([[1, 2], [3, 4]], gf.cast(x, gf.int32), [0]),
            [[1]],
            "shift must be a scalar or a 1-D",
        ),
        (
            lambda x: gf.roll([[1, 2], [3, 4]], [1], gf.cast(x, gf.int32)),
            [[1]],
            "axis must be a scalar or a 1-D",
        ),
        (lambda x: gf.matrix_diag(x), 1.0, "diagonal must be at least 1-dim"),
        (lambda x: gf.matrix_set_diag([[1.0]], x), 1.0, "diagonal must be at least 1-dim"),
        (
            lambda x: gf.matrix_set_diag(gf.zeros([2, 3, 3]), x),
            [[1.0]],
            "first dimensions of diagonal don't match",
        ),
    ],
)
def test_ranks_that_are_known_at_the_run_are_told(build: Any, given: Any, told: str) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32)
        with pytest.raises(gf.errors.InvalidArgumentError, match=told):
            session.run(build(x), {x: given})


def test_a_tensor_of_a_large_shape_has_large_numbers() -> None:
    with gf.Graph().as_default():
        large = gf.TensorShape([2**31, 2])
        assert gf.convert_to_tensor(gf.TensorShape([2**31 - 1, 2])).dtype is gf.int32
        assert gf.convert_to_tensor(large).dtype is gf.int64
        with pytest.raises(ValueError, match=r"a dimension is too large \(2147483648\)"):
            gf.convert_to_tensor(large, gf.int32)


def test_serialized_sparse_tensors_that_do_not_fit_are_told_by_their_place() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        whole = [gf.SparseTensor([[0] * rank], [1], [2] * rank) for rank in (2, 3)]
        both = session.run([gf.serialize_sparse(one) for one in whole])
        with pytest.raises(
            gf.errors.InvalidArgumentError, match=r"rank prior to SparseTensor\[1\] was: 2 but .* is: 3"
        ):
            session.run(gf.deserialize_many_sparse(both, gf.int32))
        told = r"Requested SparseTensor of type int64 but SparseTensor\[0\]\.values\.dtype\(\) == int32"
        with pytest.raises(gf.errors.InvalidArgumentError, match=told):
            session.run(gf.deserialize_many_sparse(both[:1], gf.int64))
