"""Signatures: the names, dtypes and shapes by which a model is called (tf.saved_model.signature_def_utils)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import graphflow.protos as protos
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor
from graphflow.saved_model import signature_constants as names
from graphflow.saved_model.utils import build_tensor_info


def build_signature_def(
    inputs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    method_name: str | None = None,
) -> Any:
    """A SignatureDef message from TensorInfo messages by name.

    Args:
        inputs: {name: TensorInfo}, or None.
        outputs: {name: TensorInfo}, or None.
        method_name: The name of the method, or None.

    Returns:
        A SignatureDef message.
    """
    signature = protos.meta_graph_pb2.SignatureDef(method_name=method_name or "")
    for key, info in (inputs or {}).items():
        signature.inputs[key].CopyFrom(info)
    for key, info in (outputs or {}).items():
        signature.outputs[key].CopyFrom(info)
    return signature


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """A signature for TensorFlow Serving's Predict, from tensors by name.

    Args:
        inputs: {name: tensor}.
        outputs: {name: tensor}.

    Returns:
        A SignatureDef message.

    Raises:
        ValueError: If there are none.
    """
    for what, tensors in (("inputs", inputs), ("outputs", outputs)):
        if not tensors:
            raise ValueError(f"Prediction {what} cannot be None or empty.")
    return build_signature_def(
        {key: build_tensor_info(tensor) for key, tensor in inputs.items()},
        {key: build_tensor_info(tensor) for key, tensor in outputs.items()},
        names.PREDICT_METHOD_NAME,
    )


def regression_signature_def(examples: Tensor, predictions: Tensor) -> Any:
    """A signature for TensorFlow Serving's Regress: a string tensor gives a float32 tensor; ValueError otherwise.

    Args:
        examples: The tensor of serialized examples.
        predictions: A tensor of floats.

    Returns:
        A SignatureDef message.
    """
    return build_signature_def(
        {names.REGRESS_INPUTS: _info("Regression examples", examples, dtypes.string)},
        {names.REGRESS_OUTPUTS: _info("Regression predictions", predictions, dtypes.float32)},
        names.REGRESS_METHOD_NAME,
    )


def classification_signature_def(examples: Tensor, classes: Tensor | None, scores: Tensor | None) -> Any:
    """A signature for TensorFlow Serving's Classify.

    A string tensor gives string classes, float32 scores or both; ValueError otherwise.

    Args:
        examples: The tensor of serialized examples.
        classes: A tensor of strings, or None.
        scores: A tensor of floats, or None.

    Returns:
        A SignatureDef message.
    """
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    outputs = {}
    if classes is not None:
        outputs[names.CLASSIFY_OUTPUT_CLASSES] = _info("Classification classes", classes, dtypes.string)
    if scores is not None:
        outputs[names.CLASSIFY_OUTPUT_SCORES] = _info("Classification scores", scores, dtypes.float32)
    return build_signature_def(
        {names.CLASSIFY_INPUTS: _info("Classification examples", examples, dtypes.string)},
        outputs,
        names.CLASSIFY_METHOD_NAME,
    )


def _info(what: str, tensor: Any, dtype: DType) -> Any:
    if tensor is None:
        raise ValueError(f"{what} cannot be None.")
    if not isinstance(tensor, Tensor) or tensor.dtype != dtype:
        raise ValueError(f"{what} must be a {dtype.name} Tensor, not {tensor!r}.")
    return build_tensor_info(tensor)


def is_valid_signature(signature_def: Any) -> bool:
    """Whether TensorFlow Serving can serve it: its method is Predict, Regress or Classify, with what that needs.

    Args:
        signature_def: A SignatureDef message.
    """
    if signature_def is None or not signature_def.inputs or not signature_def.outputs:
        return False
    method = signature_def.method_name
    if method == names.PREDICT_METHOD_NAME:
        return True
    if method == names.REGRESS_METHOD_NAME:
        return (
            _dtypes(signature_def.inputs) == {names.REGRESS_INPUTS: dtypes.string.as_datatype_enum}
            and _dtypes(signature_def.outputs) == {names.REGRESS_OUTPUTS: dtypes.float32.as_datatype_enum}
        )  # fmt: skip
    if method == names.CLASSIFY_METHOD_NAME:
        allowed = {
            names.CLASSIFY_OUTPUT_CLASSES: dtypes.string.as_datatype_enum,
            names.CLASSIFY_OUTPUT_SCORES: dtypes.float32.as_datatype_enum,
        }
        return (
            _dtypes(signature_def.inputs) == {names.CLASSIFY_INPUTS: dtypes.string.as_datatype_enum}
            and _dtypes(signature_def.outputs).items() <= allowed.items()
        )  # fmt: skip
    return False


def _dtypes(tensors: Mapping[str, Any]) -> dict[str, int]:
    return {key: info.dtype for key, info in tensors.items()}
