"""Sequence examples read: features of the whole and lists of features, one for each step, as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.io.parsing import (
    FixedLenSequenceFeature,
    Request,
    VarLenFeature,
    collect,
    sparse_outputs,
)


def _infer(op: Operation) -> Signature:
    attrs = op.attrs
    found = [o for group in sparse_outputs(attrs["context_sparse_types"], 1) for o in group]
    found += zip(attrs["Tcontext_dense"], map(shapes.as_dims, attrs["context_dense_shapes"]), strict=True)
    found += [o for group in sparse_outputs(attrs["feature_list_sparse_types"], 2) for o in group]
    for dtype, shape in zip(
        attrs["feature_list_dense_types"], attrs["feature_list_dense_shapes"], strict=True
    ):
        dims = shapes.as_dims(shape)
        found.append((dtype, None if dims is None else (None, *dims)))
    return found


PARSE_SINGLE_SEQUENCE_EXAMPLE = op_def(
    "ParseSingleSequenceExample",
    (
        "serialized: string",
        "feature_list_dense_missing_assumed_empty: string",
        "context_sparse_keys*: string",
        "context_dense_keys*: string",
        "feature_list_sparse_keys*: string",
        "feature_list_dense_keys*: string",
        "context_dense_defaults*: any",
        "debug_name: string",
    ),
    infer=_infer,
    gradient=NOT_DIFFERENTIABLE,
    dynamic_shape=True,
)


def _batch_infer(op: Operation) -> Signature:
    attrs, dims = op.attrs, op.inputs[0].dims
    count = None if dims is None else dims[0]

    def dense(types: str, forms: str, outer: tuple[int | None, ...]) -> Signature:
        known = map(shapes.as_dims, attrs[forms])
        return [(t, None if d is None else (*outer, *d)) for t, d in zip(attrs[types], known, strict=True)]

    found = [o for group in sparse_outputs(attrs["context_sparse_types"], 2) for o in group]
    found += dense("Tcontext_dense", "context_dense_shapes", (count,))
    found += [o for group in sparse_outputs(attrs["feature_list_sparse_types"], 3) for o in group]
    found += dense("feature_list_dense_types", "feature_list_dense_shapes", (count, None))
    return found + [(dtypes.int64, (count,)) for _ in attrs["feature_list_dense_types"]]


PARSE_SEQUENCE_EXAMPLE = op_def(
    "ParseSequenceExample",
    ("serialized: string", "debug_name: string", "context_dense_defaults*: any"),
    infer=_batch_infer,
    gradient=NOT_DIFFERENTIABLE,
    dynamic_shape=True,
)


def _lists(features: Mapping[str, Any]) -> tuple[Request, list[str]]:
    """The feature lists that are asked for, and which of them may be missing."""
    request, optional = Request(), []
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, VarLenFeature):
            request.add(key, feature)
        elif isinstance(feature, FixedLenSequenceFeature):
            shape = TensorShape(feature.shape)
            if not feature.dtype or feature.shape is None or not shape.is_fully_defined():
                raise ValueError(f"The type and the shape of feature {key} must be known, got {feature!r}.")
            request.dense_keys.append(key)
            request.dense_types.append(as_dtype(feature.dtype))
            request.dense_shapes.append(shape)
            if feature.allow_missing:
                optional.append(key)
        else:
            raise ValueError(
                f"Invalid sequence feature {key}: {feature!r}. It must be a FixedLenSequenceFeature or VarLenFeature."
            )
    return request, optional


def _attrs(context: Request, lists: Request) -> dict[str, Any]:
    return {
        "Ncontext_sparse": len(context.sparse_keys),
        "Ncontext_dense": len(context.dense_keys),
        "Nfeature_list_sparse": len(lists.sparse_keys),
        "Nfeature_list_dense": len(lists.dense_keys),
        "context_sparse_types": context.sparse_types,
        "Tcontext_dense": context.dense_types,
        "feature_list_dense_types": lists.dense_types,
        "context_dense_shapes": context.dense_shapes,
        "feature_list_sparse_types": lists.sparse_types,
        "feature_list_dense_shapes": lists.dense_shapes,
    }


def parse_single_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The features of one serialized SequenceExample message, a scalar (tf.parse_single_sequence_example).

    Gives two dictionaries.

    Args:
        serialized: A scalar string.
        context_features: As the features of parse_single_example.
        sequence_features: For each name a FixedLenSequenceFeature (gives a tensor of shape [steps, ...]) or
            VarLenFeature (a SparseTensor of shape [steps, longest]); a list that is not there is an error
            when it runs, unless allow_missing is set.
        example_name: A name for errors.
        name: A name for the operation.

    Returns:
        Two dictionaries: the context, and the sequences.
    """
    if not context_features and not sequence_features:
        raise ValueError("Missing features.")
    with op_scope(name, "ParseSingleSequenceExample", [serialized]):
        serialized = convert_to_tensor(serialized, dtypes.string, name="serialized")
        context = Request.of(context_features) if context_features else Request()
        lists, optional = _lists(sequence_features or {})
        attrs = _attrs(context, lists)
        inputs = (
            serialized, optional, context.sparse_keys, context.dense_keys, lists.sparse_keys, lists.dense_keys,
            context.defaults, "" if example_name is None else example_name,
        )  # fmt: skip
        outputs = apply(PARSE_SINGLE_SEQUENCE_EXAMPLE, inputs, attrs, None).outputs
        cut = 3 * len(context.sparse_keys) + len(context.dense_keys)
        return collect(context, outputs[:cut]), collect(lists, outputs[cut:])


def parse_sequence_example(
    serialized: TensorLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: TensorLike | None = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The features of a vector of serialized SequenceExample messages (tf.io.parse_sequence_example).

    Args:
        serialized: A vector of strings.
        context_features: As the features of parse_example.
        sequence_features: For each name a FixedLenSequenceFeature (gives a tensor [batch, longest, ...], with zeros or
            empty strings behind shorter lists) or VarLenFeature (a SparseTensor [batch, longest, most values]); a list
            that is not there is an error when it runs, unless allow_missing is set.
        example_names: Names for errors, a vector.
        name: A name for the operation.

    Returns:
        Three dictionaries: the context, the sequences, and the lengths of those of FixedLenSequenceFeature.

    Raises:
        ValueError: If no feature is asked for.
    """
    if not context_features and not sequence_features:
        raise ValueError("Missing features.")
    with op_scope(name, "ParseSequenceExample", [serialized]):
        serialized = convert_to_tensor(serialized, dtypes.string, name="serialized")
        context = Request.of(context_features) if context_features else Request()
        lists, optional = _lists(sequence_features or {})
        attrs = _attrs(context, lists) | {
            "context_sparse_keys": context.sparse_keys,
            "context_dense_keys": context.dense_keys,
            "feature_list_sparse_keys": lists.sparse_keys,
            "feature_list_dense_keys": lists.dense_keys,
            "feature_list_dense_missing_assumed_empty": optional,
        }
        inputs = (serialized, [] if example_names is None else example_names, context.defaults)
        outputs = apply(PARSE_SEQUENCE_EXAMPLE, inputs, attrs, None).outputs
        cut, count = 3 * len(context.sparse_keys) + len(context.dense_keys), len(lists.dense_keys)
        behind = len(outputs) - count
        lengths = dict(zip(lists.dense_keys, outputs[behind:], strict=True))
        return collect(context, outputs[:cut]), collect(lists, outputs[cut:behind]), lengths
