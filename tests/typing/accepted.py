"""Values that the types of gf.typing admit, by type: type checkers agree, and the library takes each of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import graphflow as gf
from graphflow import typing as of


class Column:
    """An array of another library."""

    def __array__(
        self, dtype: object = None, copy: object = None
    ) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        return np.ones([2], np.float32)


class Lazy:
    """What becomes a tensor when it is used."""

    dtype = gf.float32

    def as_graph_tensor(self, dtype: gf.DType | None = None, name: str | None = None) -> gf.Tensor:
        return gf.ones([2])


def tensors() -> Sequence[of.TensorLike]:
    """What gf.convert_to_tensor takes."""
    two = gf.constant([1.0, 2.0])
    mixed = [two[0], 3.0]
    return [
        two, gf.Variable([1.0, 2.0]), gf.get_variable("v", [2]),
        gf.IndexedSlices(two, gf.constant([0, 1]), gf.constant([2])),
        np.ones([2], np.float32), np.float32(1.0), True, 1, 1.0, 1j, "text", b"bytes", [1, 2], (1.0, 2.0), [[1], [2]],
        [two, two], [two, [3.0, 4.0]], mixed, ["a", "b"], range(3), [np.ones(2), np.ones(2)], Column(), Lazy(),
        gf.TensorShape([2, 3]), gf.Dimension(2), two.shape[0],
    ]  # fmt: skip


def sizes() -> Sequence[of.IntTensorLike]:
    """What gf.zeros takes as a shape."""
    two = gf.constant([1, 2])
    mixed = [two[0], 3]
    return [
        two, gf.Variable([1, 2]), [2, 3], (2, 3), [two[0], 3], mixed, [np.int64(2), 3], np.array([2, 3]),
        gf.TensorShape([2, 3]), [gf.Dimension(2), 3], gf.ones([2, 3]).shape, [],
    ]  # fmt: skip


def axes() -> Sequence[of.IntTensorLike | None]:
    """What gf.reduce_sum takes as axes of a matrix."""
    return [None, 0, -1, [0], [0, 1], (1,), np.int32(1), np.array([0, 1]), gf.constant(1), gf.constant([0])]


def shapes() -> Sequence[of.ShapeLike]:
    """What gf.placeholder takes as a shape."""
    two = gf.ones([2, 3]).shape
    unknown = gf.Dimension(None)
    known: list[of.ShapeLike] = [two, two[:1], two.as_list(), np.array([2, 3]), [np.int64(2)], 2, (2,), []]
    return [*known, None, [2, None], [unknown, 2], gf.TensorShape(None)]


def dtypes() -> Sequence[of.DTypeLike]:
    """What gf.as_dtype takes."""
    return [
        gf.float32,
        "float32",
        "half",
        np.float32,
        np.dtype("int64"),
        float,
        int,
        bool,
        str,
        bytes,
        complex,
        1,
    ]


def devices() -> Sequence[of.DeviceLike]:
    """What gf.device takes."""
    return ["/cpu:0", gf.DeviceSpec(device_type="CPU", device_index=0), lambda op: "/cpu:0"]


def numbers() -> Sequence[of.NumberLike]:
    """What gf.nn.dropout takes as a rate."""
    return [0.5, 0, np.float32(0.5), gf.constant(0.5), gf.Variable(0.5), np.array(0.5, np.float32)]


def initializers() -> Sequence[of.InitializerLike | None]:
    """What gf.get_variable takes for a variable of shape [2, 3], given the shape if it is a function of one."""
    return [
        None, gf.zeros_initializer(), gf.zeros_initializer, lambda shape, dtype, partition_info: gf.ones(shape, dtype),
        gf.glorot_uniform_initializer(),
    ]  # fmt: skip


def values() -> Sequence[of.InitializerLike]:
    """What gf.get_variable takes without a shape."""
    return [gf.ones([2, 3]), np.ones([2, 3], np.float32), lambda: gf.ones([2, 3]), [[1.0, 2.0]], 3.0]


def regularizers() -> Sequence[of.Regularizer | None]:
    """What gf.get_variable takes to regularize."""
    return [
        None,
        gf.contrib.layers.l2_regularizer(0.1),
        lambda w: gf.reduce_sum(gf.abs(w)),
        gf.no_regularizer,
    ]


def activations() -> Sequence[of.Activation | str | None]:
    """What gf.layers.dense takes as an activation."""
    return [None, "relu", gf.nn.relu, gf.tanh, lambda x: x * 2.0]


def paths(folder: Path) -> Sequence[str | Path]:
    """What a gf.summary.FileWriter takes as its folder."""
    return [str(folder / "a"), folder / "b"]
