"""Specs of a dataset's elements, as programs find them inside of TensorFlow (tensorflow.python.data.util.structure)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.slices import SparseTensor
from graphflow.data import structure
from graphflow.data.specs import SparseTensorSpec, TensorSpec, TypeSpec, specs_for, types_and_shapes


def are_compatible(spec1: Any, spec2: Any) -> bool:
    """Whether two structures of specs nest alike, and what stands in the one fits what stands in the other."""
    return structure.same_structure(spec1, spec2) and all(
        one.is_compatible_with(other)
        for one, other in zip(structure.flatten(spec1), structure.flatten(spec2), strict=True)
    )


def type_spec_from_value(element: Any, use_fallback: bool = True) -> Any:
    """The structure of the specs of an element; TypeError for what is no value."""
    return specs_for(*structure.signature(structure.to_tensors(element)))


def convert_legacy_structure(output_types: Any, output_shapes: Any, output_classes: Any) -> Any:
    """The structure of specs that three structures, of dtypes, of shapes and of classes, say; TypeError for others."""

    def spec(dtype: DType, shape: TensorShape, kind: Any) -> TypeSpec:
        if isinstance(kind, TypeSpec):
            return kind
        if kind is SparseTensor:
            return SparseTensorSpec(shape, dtype)
        if kind is Tensor:
            return TensorSpec(shape, dtype)
        raise TypeError(f"Could not build a structure for output class {kind!r}")

    triples = zip(
        *(structure.flatten(one) for one in (output_types, output_shapes, output_classes)), strict=True
    )
    return structure.pack(output_classes, [spec(*each) for each in triples])


def get_flat_tensor_types(element_spec: Any) -> list[DType]:
    """The dtypes of the tensors that stand for an element in operations."""
    types: list[DType] = structure.attributes(*types_and_shapes(element_spec))["output_types"]
    return types


def get_flat_tensor_shapes(element_spec: Any) -> list[TensorShape]:
    """The shapes of the tensors that stand for an element in operations."""
    shapes: list[TensorShape] = structure.attributes(*types_and_shapes(element_spec))["output_shapes"]
    return shapes
