"""Protects signatures: the messages are those of TensorFlow, and what cannot be served is told apart."""

from __future__ import annotations

from typing import Any

import pytest

import graphflow as gf

sm = gf.saved_model


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def test_names_and_constants_are_those_of_tensorflow() -> None:
    assert (
        sm.PREDICT_METHOD_NAME == sm.signature_constants.PREDICT_METHOD_NAME == "tensorflow/serving/predict"
    )
    assert sm.DEFAULT_SERVING_SIGNATURE_DEF_KEY == "serving_default"
    assert (sm.SERVING, sm.tag_constants.TRAINING, sm.tag_constants.EVAL) == ("serve", "train", "eval")
    assert sm.constants.SAVED_MODEL_FILENAME_PB == sm.SAVED_MODEL_FILENAME_PB == "saved_model.pb"
    assert sm.Builder is sm.builder.SavedModelBuilder
    assert sm.load is sm.loader.load and sm.build_tensor_info is sm.utils.build_tensor_info
    assert sm.main_op_with_restore is sm.main_op.main_op_with_restore and callable(sm.main_op.main_op)
    with pytest.raises(AttributeError, match="build_signature_def"):
        _ = sm.build_signature


def test_a_tensor_info_holds_name_dtype_and_shape() -> None:
    info = sm.build_tensor_info(gf.placeholder(gf.int64, [None, 3], name="x"))
    assert (info.name, info.dtype, [d.size for d in info.tensor_shape.dim]) == ("x:0", 9, [-1, 3])
    assert not info.tensor_shape.unknown_rank
    assert sm.build_tensor_info(gf.placeholder(gf.float32, name="y")).tensor_shape.unknown_rank
    assert sm.build_tensor_info(gf.constant("text")).SerializeToString() == b"\x0a\x07Const:0\x10\x07\x1a\x00"


def test_tensors_are_found_again(graph: gf.Graph) -> None:
    x = gf.placeholder(gf.float32, [2], name="x")
    with gf.name_scope("copy"):
        y = gf.placeholder(gf.float32, [2], name="x")
    sparse = gf.SparseTensor([[0, 1]], [1.0], [2, 2])
    info = sm.build_tensor_info(x)
    assert sm.get_tensor_from_tensor_info(info) is x
    assert sm.get_tensor_from_tensor_info(info, graph, import_scope="copy") is y
    found = sm.get_tensor_from_tensor_info(sm.build_tensor_info(sparse))
    assert isinstance(found, gf.SparseTensor)
    assert (found.indices, found.values, found.dense_shape) == (
        sparse.indices,
        sparse.values,
        sparse.dense_shape,
    )
    with pytest.raises(KeyError):
        sm.get_tensor_from_tensor_info(info, gf.Graph())
    with pytest.raises(ValueError, match="names no tensor"):
        sm.get_tensor_from_tensor_info(type(info)(dtype=1))


def test_each_kind_of_signature_is_valid() -> None:
    text, number = gf.constant(["a"], name="text"), gf.constant([1.0], name="number")
    predict = sm.predict_signature_def({"a": text}, {"b": number})
    assert predict.method_name == sm.PREDICT_METHOD_NAME and predict.outputs["b"].name == "number:0"
    regression = sm.regression_signature_def(text, number)
    classification = sm.classification_signature_def(text, text, number)
    assert sorted(classification.outputs) == ["classes", "scores"]
    scores = sm.classification_signature_def(text, None, number)
    for signature in (predict, regression, classification, scores):
        assert sm.is_valid_signature(signature)


def test_signatures_that_nobody_could_serve() -> None:
    text, number = gf.constant(["a"]), gf.constant([1.0])
    info = sm.build_tensor_info
    for inputs, outputs, method in (
        ({}, {"b": number}, sm.PREDICT_METHOD_NAME),
        ({"a": text}, {}, sm.PREDICT_METHOD_NAME),
        ({"a": text}, {"b": number}, "my/method"),
        ({"inputs": number}, {"outputs": number}, sm.REGRESS_METHOD_NAME),
        ({"inputs": text}, {"outputs": text}, sm.REGRESS_METHOD_NAME),
        ({"examples": text}, {"outputs": number}, sm.REGRESS_METHOD_NAME),
        ({"inputs": text}, {"scores": text}, sm.CLASSIFY_METHOD_NAME),
        ({"inputs": text}, {"scores": number, "more": number}, sm.CLASSIFY_METHOD_NAME),
    ):
        signature = sm.build_signature_def(
            {k: info(t) for k, t in inputs.items()}, {k: info(t) for k, t in outputs.items()}, method
        )
        assert not sm.is_valid_signature(signature)
    assert not sm.is_valid_signature(None)


def test_what_a_signature_cannot_be_made_of() -> None:
    text, number = gf.constant(["a"]), gf.constant([1.0])
    with pytest.raises(ValueError, match="inputs cannot be None or empty"):
        sm.predict_signature_def({}, {"b": number})
    with pytest.raises(ValueError, match="outputs cannot be None or empty"):
        sm.predict_signature_def({"a": number}, {})
    with pytest.raises(ValueError, match="examples must be a string Tensor"):
        sm.regression_signature_def(number, number)
    with pytest.raises(ValueError, match="predictions must be a float32 Tensor"):
        sm.regression_signature_def(text, text)
    with pytest.raises(ValueError, match="cannot both be None"):
        sm.classification_signature_def(text, None, None)
    with pytest.raises(ValueError, match="classes must be a string"):
        sm.classification_signature_def(text, number, None)
