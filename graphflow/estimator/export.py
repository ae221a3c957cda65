"""What a SavedModel of an estimator takes and gives: receivers of requests, and the outputs of each signature."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.ops.array.shaping import placeholder
from graphflow._core.ops.io.parsing import parse_example
from graphflow.estimator.inputs import parts_of
from graphflow.saved_model.signature_def_utils import (
    classification_signature_def,
    predict_signature_def,
    regression_signature_def,
)

_ONE_FEATURE = "feature"
_ONE_RECEIVER = "input"
_ONE_LABEL = "label"
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
        # A head of several calls its predictions by pairs of names.
        self.outputs = {
            "/".join(name) if isinstance(name, tuple) else name: value for name, value in self.outputs.items()
        }
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
        self.features: Mapping[Any, Any] = _checked(features, "feature", _ONE_FEATURE, str | int)
        self.receiver_tensors: dict[str, Tensor] = _receivers(receiver_tensors)
        self.receiver_tensors_alternatives: dict[str, dict[str, Tensor]] = {
            name: _receivers(tensors) for name, tensors in (receiver_tensors_alternatives or {}).items()
        }

    def __iter__(self) -> Iterator[Any]:
        """Its three parts, as a receiver of TensorFlow's is a tuple."""
        yield from (self.features, self.receiver_tensors, self.receiver_tensors_alternatives or None)


class TensorServingInputReceiver(ServingInputReceiver):
    """As ServingInputReceiver, for a model function that takes one tensor instead of a dictionary.

    Args:
        features: A tensor.
        receiver_tensors: A tensor, or a dictionary of tensors: what is fed.
        receiver_tensors_alternatives: Other tensors that may be fed instead, by the name of a signature.

    Raises:
        ValueError: The features are no tensor.
    """

    def __init__(
        self,
        features: Tensor,
        receiver_tensors: Tensor | Mapping[str, Tensor],
        receiver_tensors_alternatives: Mapping[str, Mapping[str, Tensor]] | None = None,
    ) -> None:
        if features is not None and not isinstance(features, Tensor | SparseTensor):
            raise ValueError(f"feature must be a Tensor or SparseTensor, got {features!r}.")
        super().__init__(features, receiver_tensors, receiver_tensors_alternatives)
        self.features: Any = features


class UnsupervisedInputReceiver(ServingInputReceiver):
    """As ServingInputReceiver, of examples without labels (UnsupervisedInputReceiver of TensorFlow's export).

    Args:
        features: A tensor, or a dictionary of tensors or SparseTensors: what the model function is given.
        receiver_tensors: A tensor, or a dictionary of tensors: what is fed.
    """

    def __init__(self, features: Any, receiver_tensors: Tensor | Mapping[str, Tensor]) -> None:
        super().__init__(features, receiver_tensors)


class SupervisedInputReceiver:
    """How examples to train or to evaluate become features and labels (SupervisedInputReceiver of TensorFlow's export).

    Args:
        features: A tensor or SparseTensor, or these by name.
        labels: The same.
        receiver_tensors: A tensor or SparseTensor, or these by name: what is fed.

    Raises:
        ValueError: One of these is no tensor, or a name is none.
    """

    def __init__(self, features: Any, labels: Any, receiver_tensors: Any) -> None:
        _checked(features, "feature", _ONE_FEATURE, str | int)
        _checked(labels, "label", _ONE_LABEL, str | int)
        self.features: Any = features
        self.labels: Any = labels
        self.receiver_tensors: dict[str, Any] = _receivers(receiver_tensors)

    def __iter__(self) -> Iterator[Any]:
        """Its three parts, as a receiver of TensorFlow's is a tuple."""
        yield from (self.features, self.labels, self.receiver_tensors)


def _receivers(tensors: Any) -> dict[str, Any]:
    return _checked(tensors, "receiver_tensor", _ONE_RECEIVER, str)


def _checked(tensors: Any, what: str, one: str, names: Any) -> dict[Any, Any]:
    """Tensors by name; ValueError if something else stands there, or a name is of another type."""
    if tensors is None:
        raise ValueError(f"{what}s must be defined.")
    found = dict(tensors) if isinstance(tensors, Mapping) else {one: tensors}
    for name, tensor in found.items():
        if not isinstance(name, names):
            kinds = "strings" if names is str else "strings or ints"
            raise ValueError(f"{what} keys must be {kinds}: {name!r}.")
        if not isinstance(tensor, Tensor | SparseTensor):
            known = f"{what} {name}" if isinstance(tensors, Mapping) else what
            raise ValueError(f"{known} must be a Tensor or SparseTensor, got {tensor!r}.")
    return found


def _placeholder_like(tensor: Any, batch: int | None) -> Tensor:
    shape = tensor.shape
    dims = None if shape.ndims is None else [batch, *shape.as_list()[1:]]
    return placeholder(tensor.dtype, dims, name=tensor.op.name.rpartition("/")[2])


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
        fed = {name: _placeholder_like(tensor, default_batch_size) for name, tensor in features.items()}
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


def build_raw_supervised_input_receiver_fn(
    features: Any, labels: Any, default_batch_size: int | None = None
) -> Callable[[], SupervisedInputReceiver]:
    """A function that receives features and labels as they are.

    TensorFlow: tf.estimator.experimental.build_raw_supervised_input_receiver_fn.

    Args:
        features: A tensor, or tensors by name, of which dtype and static shape are taken.
        labels: The same.
        default_batch_size: The first size of all; None for any.

    Returns:
        A function without arguments that makes placeholders.

    Raises:
        ValueError: A feature and a label have one name.
    """
    given = [
        (each, dict(each) if isinstance(each, Mapping) else {one: each})
        for each, one in ((features, _ONE_RECEIVER), (labels, _ONE_LABEL))
    ]
    both = set(given[0][1]) & set(given[1][1])
    if both:
        raise ValueError(f"Features and labels must have distinct keys. Found overlapping keys: {both}")

    def receive() -> SupervisedInputReceiver:
        received, fed = [], {}
        for each, named in given:
            made = {name: _placeholder_like(tensor, default_batch_size) for name, tensor in named.items()}
            received.append(made if isinstance(each, Mapping) else next(iter(made.values())))
            fed.update(made)
        return SupervisedInputReceiver(received[0], received[1], fed)

    return receive


def build_supervised_input_receiver_fn_from_input_fn(
    input_fn: Callable[..., Any], **input_fn_args: Any
) -> Callable[[], SupervisedInputReceiver]:
    """A function that receives features and labels such as an input function gives.

    TensorFlow: tf.contrib.estimator.build_supervised_input_receiver_fn_from_input_fn.

    Args:
        input_fn: As Estimator.train takes; called once, in a graph of its own.
        **input_fn_args: Its arguments.

    Returns:
        A function without arguments that makes placeholders.

    Raises:
        ValueError: A feature and a label have one name.
    """
    with Graph().as_default():
        features, labels = parts_of(input_fn(**input_fn_args))
    return build_raw_supervised_input_receiver_fn(features, labels)
