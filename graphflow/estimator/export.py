"""What a SavedModel of an estimator takes and gives: receivers of requests, and the outputs of each signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.shaping import placeholder
from graphflow._core.ops.io.parsing import parse_example
from graphflow.saved_model.signature_def_utils import (
    classification_signature_def,
    predict_signature_def,
    regression_signature_def,
)

_ONE_FEATURE = "feature"
_ONE_RECEIVER = "input"
_ONE_OUTPUT = "output"


class ExportOutput:
    """What a signature of a SavedModel gives; one of the classes below."""

    def signature(self, receivers: Mapping[str, Tensor]) -> Any:
        """The SignatureDef message for what is received.

        Args:
            receivers: {name: tensor} that are fed.
        """
        raise NotImplementedError


class PredictOutput(ExportOutput):
    """Tensors by name, for TensorFlow Serving's Predict.

    Args:
        outputs: A dictionary of tensors, or one tensor, whose name is then "output".

    Raises:
        ValueError: If there is none, or one is no tensor.
    """

    def __init__(self, outputs: Mapping[str, Tensor] | Tensor) -> None:
        self.outputs: dict[str, Tensor] = (
            {_ONE_OUTPUT: outputs} if isinstance(outputs, Tensor) else dict(outputs)
        )
        for name, value in self.outputs.items():
            if not isinstance(name, str) or not isinstance(value, Tensor):
                raise ValueError(f"Prediction outputs must be Tensors by name, got {name!r}: {value!r}.")

    def signature(self, receivers: Mapping[str, Tensor]) -> Any:
        """The SignatureDef message for what is received.

        Args:
            receivers: {name: tensor} that are fed.
        """
        return predict_signature_def(receivers, self.outputs)


class ClassificationOutput(ExportOutput):
    """Classes, scores or both, for TensorFlow Serving's Classify.

    Args:
        scores: A float32 tensor.
        classes: A string tensor.

    Raises:
        ValueError: If both are missing, or of other dtypes.
    """

    def __init__(self, scores: Tensor | None = None, classes: Tensor | None = None) -> None:
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        if scores is not None and not scores.dtype.is_floating:
            raise ValueError(f"Classification scores must be a float tensor, got {scores}.")
        if classes is not None and classes.dtype != dtypes.string:
            raise ValueError(f"Classification classes must be a string tensor, got {classes}.")
        self.scores: Tensor | None = scores
        self.classes: Tensor | None = classes

    def signature(self, receivers: Mapping[str, Tensor]) -> Any:
        """The SignatureDef message for what is received.

        Args:
            receivers: {name: tensor} that are fed.
        """
        return classification_signature_def(_only(receivers), self.classes, self.scores)


class RegressionOutput(ExportOutput):
    """A number for each example, for TensorFlow Serving's Regress.

    Args:
        value: A float32 tensor.

    Raises:
        ValueError: If it is of another dtype.
    """

    def __init__(self, value: Tensor) -> None:
        if not isinstance(value, Tensor) or not value.dtype.is_floating:
            raise ValueError(f"Regression output value must be a float tensor, got {value!r}.")
        self.value = value

    def signature(self, receivers: Mapping[str, Tensor]) -> Any:
        """The SignatureDef message for what is received.

        Args:
            receivers: {name: tensor} that are fed.
        """
        return regression_signature_def(_only(receivers), self.value)


def _only(receivers: Mapping[str, Tensor]) -> Tensor:
    if len(receivers) != 1:
        raise ValueError(
            f"Classification and regression take one string tensor of serialised Examples, not {dict(receivers)}."
        )
    return next(iter(receivers.values()))


class ServingInputReceiver:
    """How requests become features: tensors that are fed, and the features made of them.

    Args:
        features: A tensor, or a dictionary of tensors or SparseTensors: what the model function is given.
        receiver_tensors: A tensor, or a dictionary of tensors: what is fed.
        receiver_tensors_alternatives: Other tensors that may be fed instead, by the name of a signature.

    Raises:
        ValueError: If there is none, or what is fed is no tensor.
    """

    def __init__(
        self,
        features: Any,
        receiver_tensors: Tensor | Mapping[str, Tensor],
        receiver_tensors_alternatives: Mapping[str, Mapping[str, Tensor]] | None = None,
    ) -> None:
        if features is None or receiver_tensors is None:
            raise ValueError("features and receiver_tensors must be defined.")
        self.features: Mapping[str, Any] = (
            features if isinstance(features, Mapping) else {_ONE_FEATURE: features}
        )
        self.receiver_tensors: dict[str, Tensor] = _receivers(receiver_tensors)
        self.receiver_tensors_alternatives: dict[str, dict[str, Tensor]] = {
            name: _receivers(tensors) for name, tensors in (receiver_tensors_alternatives or {}).items()
        }


class TensorServingInputReceiver(ServingInputReceiver):
    """As ServingInputReceiver, for a model function that takes one tensor instead of a dictionary.

    Args:
        features: A tensor.
        receiver_tensors: A tensor, or a dictionary of tensors: what is fed.
        receiver_tensors_alternatives: Other tensors that may be fed instead, by the name of a signature.
    """

    def __init__(
        self,
        features: Tensor,
        receiver_tensors: Tensor | Mapping[str, Tensor],
        receiver_tensors_alternatives: Mapping[str, Mapping[str, Tensor]] | None = None,
    ) -> None:
        super().__init__(features, receiver_tensors, receiver_tensors_alternatives)
        self.features: Any = features


def _receivers(tensors: Tensor | Mapping[str, Tensor]) -> dict[str, Tensor]:
    found = dict(tensors) if isinstance(tensors, Mapping) else {_ONE_RECEIVER: tensors}
    for name, tensor in found.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"receiver_tensor {name!r} must be a Tensor, got {tensor!r}.")
    return found


def build_raw_serving_input_receiver_fn(
    features: Mapping[str, Tensor], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function that receives features as they are.

    Args:
        features: A tensor of each feature, of which dtype and static shape are taken.
        default_batch_size: The first size of all; None for any.

    Returns:
        A function without arguments, for Estimator.export_saved_model.
    """

    def receive() -> ServingInputReceiver:
        fed = {}
        for name, tensor in features.items():
            shape = tensor.shape.as_list()
            shape[0] = default_batch_size
            fed[name] = placeholder(tensor.dtype, shape, name=tensor.op.name.rpartition("/")[2])
        return ServingInputReceiver(dict(fed), fed)

    return receive


def build_parsing_serving_input_receiver_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], ServingInputReceiver]:
    """A function that receives serialised Examples.

    Args:
        feature_spec: gf.FixedLenFeature, gf.VarLenFeature and the like by name, as gf.parse_example takes.
        default_batch_size: The number of Examples; None for any.

    Returns:
        A function without arguments, for Estimator.export_saved_model.
    """

    def receive() -> ServingInputReceiver:
        serialized = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parse_example(serialized, feature_spec), {"examples": serialized})

    return receive
