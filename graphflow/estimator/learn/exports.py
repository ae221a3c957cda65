"""What a SavedModel is given, and when one is written, as gf.contrib.learn says it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, NamedTuple

from graphflow.estimator.export import ServingInputReceiver, build_parsing_serving_input_receiver_fn
from graphflow.estimator.exporters import LatestExporter


class InputFnOps(NamedTuple):
    """What a serving input function of gf.contrib.learn gives (tf.contrib.learn.InputFnOps)."""

    features: Any
    """The features of the model, by name."""

    labels: Any
    """None."""

    default_inputs: Any
    """What is fed, by name."""


def receiving(serving_input_fn: Callable[[], Any]) -> Callable[[], ServingInputReceiver]:
    """The function as gf.estimator takes it.

    Args:
        serving_input_fn: Gives InputFnOps, or a ServingInputReceiver.

    Raises:
        ValueError: If it is none.
    """
    if not callable(serving_input_fn):
        raise ValueError("serving_input_fn must be defined.")

    def receive() -> ServingInputReceiver:
        found = serving_input_fn()
        if isinstance(found, ServingInputReceiver):
            return found
        features, _, inputs = found
        return ServingInputReceiver(features, inputs)

    return receive


def build_parsing_serving_input_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """A function that receives serialised Examples (tf.contrib.learn.build_parsing_serving_input_fn).

    Args:
        feature_spec: gf.FixedLenFeature, gf.VarLenFeature and the like by name, as gf.parse_example takes.
        default_batch_size: The number of Examples; None for any.

    Returns:
        A function without arguments, for Estimator.export_savedmodel and make_export_strategy.
    """
    receive = build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size)

    def build() -> InputFnOps:
        receiver = receive()
        return InputFnOps(receiver.features, None, receiver.receiver_tensors)

    return build


class ExportStrategy(NamedTuple):
    """When and how an Experiment exports its model (tf.contrib.learn.ExportStrategy)."""

    name: str
    """Of the folder, under `export` of the model's."""

    export_fn: Callable[..., Any]
    """A function of the estimator, the folder, and any of `checkpoint_path` and `eval_result` by name."""

    strip_default_attrs: bool | None = None
    """Given to export_fn if it has an argument of that name."""

    def export(
        self,
        estimator: Any,
        export_path: str | os.PathLike[str],
        checkpoint_path: str | None = None,
        eval_result: Mapping[str, Any] | None = None,
    ) -> Any:
        """Calls the function.

        Args:
            estimator: The estimator.
            export_path: The folder.
            checkpoint_path: The checkpoint that is exported.
            eval_result: What its evaluation gave.

        Returns:
            What the function gives.
        """
        named = {
            "checkpoint_path": checkpoint_path,
            "eval_result": eval_result,
            "strip_default_attrs": self.strip_default_attrs,
        }
        taken = signature(self.export_fn).parameters
        return self.export_fn(
            estimator, export_path, **{name: value for name, value in named.items() if name in taken}
        )


def make_export_strategy(
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """Writes a SavedModel after each evaluation (tf.contrib.learn.make_export_strategy).

    Args:
        serving_input_fn: Gives InputFnOps, or a ServingInputReceiver.
        default_output_alternative_key: Not needed: the predictions are the outputs.
        assets_extra: Files to copy: from paths under assets.extra to where they are.
        as_text: Whether the graph is written as text.
        exports_to_keep: How many of the last ones are kept; None for all.
        strip_default_attrs: Not needed.

    Returns:
        The strategy, of the name "Servo".
    """
    exporter = LatestExporter("Servo", receiving(serving_input_fn), assets_extra, as_text, exports_to_keep)

    def export(estimator: Any, export_dir_base: str, checkpoint_path: str | None = None) -> Any:
        core = getattr(estimator, "core", estimator)
        path = checkpoint_path or core.latest_checkpoint()
        return exporter.export(core, export_dir_base, path, {}, False)

    return ExportStrategy("Servo", export, strip_default_attrs)
