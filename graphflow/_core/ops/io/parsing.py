"""Examples read: the features of serialized Example messages as tensors.

What a program says of each feature (FixedLenFeature and its kin) becomes the keys, dtypes, shapes and default values
that the ops take, as in TensorFlow: an empty default value means that the feature must be there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import Dims, TensorShape
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.shaping import expand_dims, reshape, squeeze
from graphflow._core.ops.array.slicing import slice_
from graphflow._core.ops.core import apply, constant, convert_to_tensor, op_scope
from graphflow._core.ops.sparse.composed import sparse_merge


class FixedLenFeature(NamedTuple):
    """A feature of a fixed shape (tf.FixedLenFeature); `default_value` stands for one that is not there.

    Examples:
        >>> example = gf.train.Example()
        >>> example.features.feature["age"].int64_list.value.append(29)
        >>> features = {"age": gf.FixedLenFeature([], gf.int64)}
        >>> gf.Session().run(gf.parse_single_example(example.SerializeToString(), features))
        {'age': np.int64(29)}
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature of any length, read as a SparseTensor (tf.VarLenFeature)."""

    dtype: Any


class SparseFeature(NamedTuple):
    """Values of one feature at the places that others say, read as one SparseTensor (tf.SparseFeature).

    `index_key` names the feature of the places, or a list of one for each axis of `size`; `value_key` that of the
    values. With `already_sorted` the places are taken to be in order.
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


class FixedLenSequenceFeature(NamedTuple):
    """A feature of any number of elements of a fixed shape (tf.FixedLenSequenceFeature).

    Several examples are filled up to the longest with default_value, or zeros. `allow_missing` must be True.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


def sparse_outputs(types: Sequence[DType], rank: int) -> list[list[tuple[DType, Dims]]]:
    """The outputs of sparse features: all indices, all values, all shapes."""
    return [
        [(dtypes.int64, (None, rank)) for _ in types],
        [(t, (None,)) for t in types],
        [(dtypes.int64, (rank,)) for _ in types],
    ]


def _one(op: Operation) -> Signature:
    attrs = op.attrs
    dense = [(t, shapes.as_dims(s)) for t, s in zip(attrs["Tdense"], attrs["dense_shapes"], strict=True)]
    return [o for group in sparse_outputs(attrs["sparse_types"], 1) for o in group] + dense


def _many(op: Operation) -> Signature:
    attrs = op.attrs
    dims = op.inputs[0].dims
    count = None if dims is None else dims[0]
    dense: list[tuple[DType, Dims]] = []
    for dtype, shape in zip(attrs["Tdense"], attrs["dense_shapes"], strict=True):
        known = shapes.as_dims(shape)
        dense.append((dtype, None if known is None else (count, *known)))
    return [o for group in sparse_outputs(attrs["sparse_types"], 2) for o in group] + dense


PARSE_SINGLE_EXAMPLE = op_def(
    "ParseSingleExample",
    ("serialized: string", "dense_defaults*: any"),
    infer=_one,
    gradient=NOT_DIFFERENTIABLE,
    dynamic_shape=True,
)
PARSE_EXAMPLE = op_def(
    "ParseExample",
    (
        "serialized: string",
        "names: string",
        "sparse_keys*: string",
        "dense_keys*: string",
        "dense_defaults*: any",
    ),
    infer=_many,
    gradient=NOT_DIFFERENTIABLE,
    dynamic_shape=True,
)


@dataclass
class Request:
    """The features that are asked for, in the order of their names."""

    sparse_keys: list[str] = field(default_factory=list)
    sparse_types: list[DType] = field(default_factory=list)
    dense_keys: list[str] = field(default_factory=list)
    dense_types: list[DType] = field(default_factory=list)
    dense_shapes: list[TensorShape] = field(default_factory=list)
    defaults: list[Any] = field(default_factory=list)
    merged: dict[str, SparseFeature] = field(default_factory=dict)
    """The features that are made of others."""
    hidden: set[str] = field(default_factory=set)
    """The features that are read for these alone."""

    @staticmethod
    def of(features: Mapping[str, Any]) -> Request:
        """The features that a dictionary asks for; ValueError or TypeError if that cannot be."""
        if not features:
            raise ValueError("Missing: features was empty.")
        request = Request()
        for key in sorted(features):
            request.add(key, features[key])
        request.hidden -= {k for k, feature in features.items() if not isinstance(feature, SparseFeature)}
        return request

    def add(self, key: str, feature: Any) -> None:
        """Asks for a feature."""
        if isinstance(feature, SparseFeature):
            self._add_merged(key, feature)
            return
        if not isinstance(feature, FixedLenFeature | VarLenFeature | FixedLenSequenceFeature):
            raise ValueError(
                f"Invalid feature {key}: {feature!r}. It must be a FixedLenFeature, VarLenFeature, SparseFeature or "
                "FixedLenSequenceFeature."
            )
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")
        dtype = as_dtype(feature.dtype)
        if dtype not in (dtypes.float32, dtypes.int64, dtypes.string):
            raise TypeError(
                f"The feature {key} has type {dtype.name}, but an Example holds float32, int64 and string: read one "
                "of these and use gf.cast."
            )
        if isinstance(feature, VarLenFeature):
            self._add_sparse(key, dtype)
            return
        if feature.shape is None:
            raise ValueError(f"Missing shape for feature {key}.")
        shape = TensorShape(feature.shape)
        if isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise ValueError(
                    f"Unsupported: FixedLenSequenceFeature requires allow_missing to be True, for feature {key}."
                )
            shape = TensorShape([None]).concatenate(shape)
            if not shape[1:].is_fully_defined():
                raise ValueError(
                    f"All dimensions of shape for feature {key} need to be known but received {feature.shape}."
                )
        elif not shape.is_fully_defined():
            if shape.ndims and shape[1:].is_fully_defined():
                raise ValueError(
                    f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature."
                )
            raise ValueError(
                f"All dimensions of shape for feature {key} need to be known but received {feature.shape}."
            )
        self.dense_keys.append(key)
        self.dense_types.append(dtype)
        self.dense_shapes.append(shape)
        self.defaults.append(self._default(key, dtype, shape, feature.default_value))

    def _add_merged(self, key: str, feature: SparseFeature) -> None:
        for what, given in (("index_key", feature.index_key), ("value_key", feature.value_key)):
            if not given:
                raise ValueError(f"Missing {what} for SparseFeature {feature}.")
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")
        self.merged[key] = feature
        indices = [feature.index_key] if isinstance(feature.index_key, str) else feature.index_key
        parts = [*((index, dtypes.int64) for index in sorted(indices)), (feature.value_key, feature.dtype)]
        for name, dtype in parts:
            self.hidden.add(name)
            self._add_sparse(name, as_dtype(dtype))

    def _add_sparse(self, key: str, dtype: DType) -> None:
        """Asks for a feature of any length, once."""
        if key in self.sparse_keys:
            found = self.sparse_types[self.sparse_keys.index(key)]
            if found is not dtype:
                raise ValueError(f"Conflicting type {found.name} vs {dtype.name} for feature {key}.")
            return
        self.sparse_keys.append(key)
        self.sparse_types.append(dtype)

    @staticmethod
    def _default(key: str, dtype: DType, shape: TensorShape, value: Any) -> Tensor:
        if not shape.is_fully_defined():
            zero = "" if dtype is dtypes.string else 0
            if value is None:
                return constant(zero, dtype)
            return reshape(convert_to_tensor(value, dtype, name=f"key_{_name(key)}"), [])  # It fills up.
        if value is None:
            return constant([], dtype)
        given = convert_to_tensor(value, dtype, name=f"key_{_name(key)}")
        return reshape(given, shape)


def _name(key: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)


def collect(request: Request, outputs: Sequence[Tensor]) -> dict[str, Any]:
    """The outputs by the names of the features."""
    count = len(request.sparse_keys)
    indices, values, dense_shapes, dense = (
        outputs[:count], outputs[count : 2 * count], outputs[2 * count : 3 * count], outputs[3 * count :],
    )  # fmt: skip
    sparse = [SparseTensor(*parts) for parts in zip(indices, values, dense_shapes, strict=True)]
    found: dict[str, Any] = dict(zip(request.sparse_keys, sparse, strict=True))
    merged = {}
    for key, feature in request.merged.items():
        names = feature.index_key
        ids = found[names] if isinstance(names, str) else [found[name] for name in names]
        values = found[feature.value_key]
        merged[key] = sparse_merge(ids, values, feature.size, None, feature.already_sorted)
    shown = {key: value for key, value in found.items() if key not in request.hidden}
    return shown | dict(zip(request.dense_keys, dense, strict=True)) | merged


def parse_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """The features of a vector of serialized Example messages, as a dictionary (tf.parse_example).

    When it runs, InvalidArgumentError for what is no Example, for a feature of another type or shape, and for
    one that is not there and has no default value.

    Args:
        serialized: A vector of strings.
        features: For each name a FixedLenFeature (gives a tensor of shape [batch, ...]), VarLenFeature (a
            SparseTensor), SparseFeature (another, of two features) or FixedLenSequenceFeature ([batch, longest, ...]).
        name: A name for the operation.
        example_names: Strings that errors call the examples.
    """
    with op_scope(name, "ParseExample", [serialized]):
        serialized = convert_to_tensor(serialized, dtypes.string, name="serialized")
        request = Request.of(features)
        names = [] if example_names is None else example_names
        attrs = {
            "Nsparse": len(request.sparse_keys),
            "Ndense": len(request.dense_keys),
            "sparse_types": request.sparse_types,
            "Tdense": request.dense_types,
            "dense_shapes": request.dense_shapes,
        }
        inputs = (serialized, names, request.sparse_keys, request.dense_keys, request.defaults)
        return collect(request, apply(PARSE_EXAMPLE, inputs, attrs, None).outputs)


def parse_single_example(
    serialized: TensorLike,
    features: Mapping[str, Any],
    name: str | None = None,
    example_names: TensorLike | None = None,
) -> dict[str, Any]:
    """The features of one serialized Example message, a scalar, as a dictionary (tf.parse_single_example).

    As parse_example, but without the axis of the batch: a SparseTensor is a vector.

    Args:
        serialized: A scalar string.
        features: {name: FixedLenFeature, VarLenFeature, SparseFeature or FixedLenSequenceFeature}.
        name: A name for the operation.
        example_names: A name for errors.

    Returns:
        {name: tensor or SparseTensor}.
    """
    if example_names is not None:
        with op_scope(name, "ParseSingleExample", [serialized]):
            many = parse_example(
                expand_dims(serialized, 0), features, example_names=expand_dims(example_names, 0)
            )
            return {key: _first(value, key) for key, value in many.items()}
    with op_scope(name, "ParseSingleExample", [serialized]):
        serialized = convert_to_tensor(serialized, dtypes.string, name="serialized")
        request = Request.of(features)
        attrs = {
            "num_sparse": len(request.sparse_keys),
            "sparse_keys": request.sparse_keys,
            "dense_keys": request.dense_keys,
            "sparse_types": request.sparse_types,
            "Tdense": request.dense_types,
            "dense_shapes": request.dense_shapes,
        }
        return collect(
            request, apply(PARSE_SINGLE_EXAMPLE, (serialized, request.defaults), attrs, None).outputs
        )


def _first(value: Any, key: str) -> Any:
    """The outputs for one example, from a batch of one."""
    label = _name(key)
    if not isinstance(value, SparseTensor):
        return squeeze(value, [0], name=f"Squeeze_{label}")
    return SparseTensor(
        slice_(value.indices, [0, 1], [-1, -1], name=f"Slice_Indices_{label}"),
        value.values,
        slice_(value.dense_shape, [1], [-1], name=f"Squeeze_Shape_{label}"),
    )
