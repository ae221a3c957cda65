"""Protects what dtype a NumPy array becomes: its own, in every op, unless TensorFlow's op states a preference."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import re
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.graph.op_def import own_types, registry
from graphflow._core.interop.op_table import tensorflow_op
from graphflow._core.ops import load_all
from graphflow._core.ops.core import _convert_input

load_all()
for package in ("data", "layers", "metrics", "summary", "train"):
    for found in pkgutil.iter_modules([f"{gf.__path__[0]}/{package}"]):
        importlib.import_module(f"graphflow.{package}.{found.name}")

ARRAYS = [
    np.ones(2, dtype)
    for dtype in ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool", "complex64", "complex128")
]  # fmt: skip
OPS = own_types()
CONVERTED = {"Range", "Conj", "ConjugateTranspose", "AdjustContrastv2", "AdjustHue", "AdjustSaturation"}
"""Ops that only ever see tensors: their functions convert the arguments first, in TensorFlow too."""


@pytest.mark.parametrize("name", OPS)
def test_an_array_keeps_its_dtype_in_every_op(name: str) -> None:
    definition = registry()[name]
    for spec in definition.inputs:
        if spec.variable is None or spec.ref or spec.preferred is not None:
            continue
        for array in ARRAYS:
            dtype = gf.as_dtype(array.dtype)
            if dtype in spec.allowed:
                with gf.Graph().as_default():
                    assert _convert_input(definition, spec, spec.name, array, {}).dtype is dtype


@pytest.mark.parametrize("name", OPS)
def test_an_op_prefers_what_tensorflow_prefers(name: str) -> None:
    """Of the dtypes that show: those that an output has."""
    known = tensorflow_op(name)
    if known is None or name.endswith(("Grad", "GradientArgs")) or name in CONVERTED:
        return
    definition = registry()[name]
    shown = {output.type for output in known.outputs}
    for spec, wanted in zip(definition.inputs, known.inputs, strict=False):
        attribute = known.attributes.get(wanted.type)
        if attribute is None or not attribute.optional or wanted.type not in shown or spec.variable is None:
            continue
        first = next(s for s in definition.inputs if s.variable == spec.variable)
        if len(first.allowed) > 1:
            assert first.preferred is gf.as_dtype(attribute.default), f"{spec.name}: {attribute.default}"


OTHERS = {
    "NoGradient", "add_check_numerics_ops", "add_to_collection", "add_to_collections", "all_variables",
    "as_dtype", "assert_proper_iterable", "assert_same_float_dtype", "assert_variables_initialized",
    "broadcast_static_shape", "colocate_with", "container",
    "control_dependencies", "create_partitioned_variables", "decode_base64",
    "decode_compressed", "decode_csv", "decode_json_example", "decode_raw", "parse_tensor", "serialize_tensor",
    "deserialize_many_sparse", "serialize_many_sparse", "serialize_sparse",
    "delete_session_tensor", "device",
    "distributions.Distribution", "distributions.RegisterKL", "distributions.ReparameterizationType",
    "encode_base64", "fixed_size_partitioner", "get_collection", "get_collection_ref",
    "get_default_graph", "get_default_session", "get_local_variable", "get_seed", "get_session_handle",
    "get_session_tensor", "get_variable_scope", "recompute_grad",
    "hessians", "image.decode_and_crop_jpeg", "image.decode_bmp", "image.decode_gif", "image.decode_image",
    "image.decode_jpeg", "image.decode_png", "image.extract_jpeg_shape", "image.is_jpeg", "import_graph_def",
    "init_scope",
    "initialize_all_variables", "initialize_local_variables", "initialize_variables",
    "is_tensor", "is_variable_initialized", "local_variables",
    "linalg.matrix_rank", "linalg.tridiagonal_solve", "losses.get_losses", "make_ndarray",
    "make_tensor_proto", "profile",
    "losses.get_regularization_loss", "losses.get_regularization_losses", "losses.get_total_loss",
    "make_template", "matching_files", "min_max_variable_partitioner", "model_variables",
    "moving_average_variables", "nn.raw_rnn", "nn.static_state_saving_rnn",
    "no_op", "no_regularizer", "op_scope", "parse_example",
    "parse_single_example", "parse_single_sequence_example", "placeholder", "print", "read_file",
    "regex_replace", "register_tensor_conversion_function", "report_uninitialized_variables",
    "reset_default_graph", "set_random_seed", "sparse_maximum", "sparse_merge", "sparse_minimum",
    "sparse_placeholder", "sparse_reset_shape", "sparse_softmax", "sparse_to_indicator", "string_join", "string_split",
    "sparse_split", "string_to_hash_bucket", "string_to_hash_bucket_strong",
    "string_strip", "substr", "tables_initializer", "trainable_variables", "variable_axis_size_partitioner",
    "variable_creator_scope", "variable_op_scope", "write_file",
}  # fmt: skip
"""What takes no tensor, or none whose dtype a caller chooses with an array, or what TensorFlow does not have."""
NAMESPACES = ("", "math", "nn", "image", "linalg", "losses", "metrics", "layers", "distributions", "sparse", "bitwise",
              "random", "debugging")  # fmt: skip


def public_functions() -> dict[str, list[str]]:
    """Every public function and distribution that TensorFlow has too, with all its names."""
    found: dict[int, list[str]] = {}
    for space in NAMESPACES:
        module: Any = getattr(gf, space) if space else gf
        for name in sorted(dir(module)):
            value = getattr(module, name)
            callable_ = inspect.isfunction(value) or (space == "distributions" and inspect.isclass(value))
            if name.startswith("_") or isinstance(value, ModuleType) or not callable_:
                continue
            found.setdefault(id(value), []).append(f"{space}.{name}" if space else name)
    return {min(names, key=len): names for names in found.values()}


def test_every_public_function_that_takes_tensors_is_in_the_table() -> None:
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir, "oracle"))
    try:
        import harness
    finally:
        sys.path.pop(0)
    text = "\n".join(case.name for case in harness.families()["numpy_dtypes"].cases)
    mentioned = set(re.findall(r"tf\.([\w.]*\w)\(", text))
    public = public_functions()
    left_out = {short for short, names in public.items() if not mentioned & set(names)}
    assert left_out - OTHERS == set(), (
        "put them into tests/oracle/cases/numpy_dtypes.py, or into OTHERS if TensorFlow has none such"
    )
    assert OTHERS - left_out == set(), "these are in the table, or gone"


def test_sizes_of_a_shape_stand_in_lists_as_numbers() -> None:
    x = gf.placeholder(gf.float32, [16, 3, None])
    for sizes in ([x.shape[0], -1], (x.shape[0], -1), [-1, x.shape[1], x.shape[0]]):
        assert gf.reshape(x, sizes).shape.as_list()[sizes.index(-1)] is None
    assert gf.constant([[x.shape[0], 2]]).dtype is gf.int32
    with pytest.raises(TypeError, match="Failed to convert"):
        gf.reshape(x, [x.shape[2], -1])
