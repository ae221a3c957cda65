"""Protects dtypes, shapes and device specs: the values that everything else is described with."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphflow as gf
from graphflow._core.graph import dtypes, shapes

DIMS = st.none() | st.lists(st.none() | st.integers(0, 3), max_size=3).map(tuple)


@pytest.mark.parametrize(
    ("given_", "name"),
    [
        ("float32", "float32"), ("float", "float32"), ("half", "float16"), ("double", "float64"), (np.int8, "int8"),
        (np.dtype(">i4"), "int32"), (float, "float32"), (int, "int32"), (bool, "bool"), (str, "string"), (1, "float32"),
        (101, "float32"), ("float32_ref", "float32"), (np.dtype("S3"), "string"), ("bfloat16", "bfloat16"),
    ],
)  # fmt: skip
def test_as_dtype(given_: Any, name: str) -> None:
    assert gf.as_dtype(given_) is dtypes.BY_NAME[name]


@pytest.mark.parametrize(
    "bad", [None, "nothing", object(), 9999, np.dtype([("a", "f4")]), np.datetime64, [1]]
)
def test_no_dtype_is_a_type_error(bad: Any) -> None:
    with pytest.raises(TypeError, match="Cannot convert"):
        gf.as_dtype(bad)


def test_dtypes_are_single_objects() -> None:
    assert pickle.loads(pickle.dumps(gf.float32)) is gf.float32 is copy.deepcopy(gf.float32)
    assert gf.float32 == "float32" and gf.float32 == np.float32 and gf.float32 != None  # noqa: E711
    assert gf.int8.min == -128 and gf.float16.max == 65504 and gf.bool.is_bool and gf.uint8.is_unsigned
    with pytest.raises(TypeError):
        _ = gf.string.max
    with pytest.raises(TypeError, match="no NumPy type"):
        _ = gf.resource.as_numpy_dtype


@given(DIMS, DIMS)
def test_merged_shapes_know_what_both_know(a: shapes.Dims, b: shapes.Dims) -> None:
    if not shapes.compatible(a, b):
        with pytest.raises(ValueError, match="not compatible"):
            shapes.merge(a, b)
        return
    merged = shapes.merge(a, b)
    assert shapes.merge(b, a) == merged and shapes.compatible(merged, a) and shapes.compatible(merged, b)
    assert shapes.merge(merged, a) == merged
    general = shapes.relax(a, b)
    assert shapes.compatible(general, a) and shapes.compatible(general, b)


@given(st.lists(st.integers(0, 3), max_size=3), st.lists(st.integers(0, 3), max_size=3))
def test_broadcasting_is_numpys(a: list[int], b: list[int]) -> None:
    try:
        expected = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            shapes.broadcast(tuple(a), tuple(b))
        return
    assert shapes.broadcast(tuple(a), tuple(b)) == expected


@given(st.lists(st.integers(1, 3), max_size=3), st.data())
def test_broadcasting_what_is_partly_known_promises_nothing_wrong(a: list[int], data: Any) -> None:
    b = data.draw(st.lists(st.integers(1, 3), max_size=3))
    known_a = tuple(data.draw(st.sampled_from([d, None])) for d in a)
    known_b = tuple(data.draw(st.sampled_from([d, None])) for d in b)
    try:
        actual = np.broadcast_shapes(tuple(a), tuple(b))
    except ValueError:
        return
    assert shapes.compatible(shapes.broadcast(known_a, known_b), actual)


def test_tensor_shapes() -> None:
    shape = gf.TensorShape([2, None])
    assert str(shape) == "(2, ?)" and shape.as_list() == [2, None] and shape.ndims == 2
    assert (shape + [3]).as_list() == [2, None, 3] and ([1] + shape).as_list() == [1, 2, None]
    assert shape[0] == 2 and shape[1].value is None and shape[:1].as_list() == [2]
    assert bool(gf.TensorShape([])) and not gf.TensorShape(None) and shape == gf.TensorShape([2, None])
    for wrong in ([-2], ["x"], [1.5], 3.5, object()):
        with pytest.raises((TypeError, ValueError)):
            gf.TensorShape(wrong)
    with pytest.raises(ValueError):
        len(gf.TensorShape(None))


def test_dimensions_do_arithmetic_with_the_unknown() -> None:
    two, unknown = gf.Dimension(2), gf.Dimension(None)
    assert (two * 3 + 1).value == 7 and (two + unknown).value is None and (7 // two).value == 3
    assert (two == 2) is True and (unknown == 2) is None and [10, 20, 30][two] == 30
    with pytest.raises(ValueError):
        two.merge_with(3)
    with pytest.raises(TypeError):
        int(unknown)


def test_device_specs() -> None:
    spec = gf.DeviceSpec.from_string("/job:ps/task:3/cpu:0")
    assert spec.to_string() == "/job:ps/task:3/device:CPU:0" and (spec.job, spec.task) == ("ps", 3)
    spec.merge_from(gf.DeviceSpec(task=4, device_type="GPU"))
    assert spec.to_string() == "/job:ps/task:4/device:GPU:0"
    assert gf.DeviceSpec.from_string("/device:CPU:*").device_index is None
    assert gf.DeviceSpec.from_string("/cpu:0") == gf.DeviceSpec(device_type="CPU", device_index=0)
    with pytest.raises(ValueError, match="multiple device types"):
        gf.DeviceSpec.from_string("/cpu:0/gpu:0")
