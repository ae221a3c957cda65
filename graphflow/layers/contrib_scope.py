"""What the layers of tf.contrib.layers share: their scope, with their names of variables, and how they end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import CollectionNames
from graphflow._core.ops.state.variable_scope import VariableScope, variable_scope
from graphflow.layers.model_variables import model_variable
from graphflow.layers.named_outputs import collect_named_outputs

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import ReuseMode

Activation = Callable[[Tensor], Any] | None
_FORMATS: Mapping[int, tuple[str, str]] = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
"""By how many axes images have beside batch and channels: the one with channels last, and with these first."""
WEIGHTS: Mapping[str, str] = {"kernel": "weights", "bias": "biases"}


def layout(data_format: str | None, axes: int = 2) -> str:
    """The layout of images, or of volumes of three axes, in the terms of gf.layers; ValueError if it is not known."""
    last, first = _FORMATS[axes]
    if data_format not in (None, last, first):
        raise ValueError(f"data_format has to be either {first} or {last}, got {data_format!r}.")
    return "channels_first" if data_format == first else "channels_last"


def collections_of(
    variables_collections: CollectionNames | Mapping[str, CollectionNames] | None, name: str
) -> list[Any]:
    """The collections for a variable, from a list or from one for each variable's name."""
    given = variables_collections
    if isinstance(given, Mapping):
        given = given.get(name)
    return [given] if isinstance(given, str) else list(given or ())


def layer_scope(
    scope: str | VariableScope | None,
    default: str,
    inputs: Any,
    reuse: bool | ReuseMode | None,
    names: Mapping[str, str],
    variables_collections: CollectionNames | Mapping[str, CollectionNames] | None = None,
) -> AbstractContextManager[VariableScope]:
    """A variable scope whose variables are renamed, and are in MODEL_VARIABLES and in the given collections too."""

    def renamed(getter: Any, *args: Any, **kwargs: Any) -> Any:
        before, slash, last = kwargs.pop("name", args[0] if args else "").rpartition("/")
        own = names.get(last, last)
        # A layer with several kernels has the collections of all of them under one name.
        gathered = "weights" if own.endswith("_weights") else own
        kwargs.pop("reuse", None)
        kept = {key: kwargs.pop(key) for key in ("validate_shape", "constraint") if key in kwargs}
        given = [*(kwargs.pop("collections", None) or ()), *collections_of(variables_collections, gathered)]
        make: Callable[..., Any] = model_variable
        return make(
            f"{before}{slash}{own}",
            *args[1:],
            collections=given,
            custom_getter=partial(getter, **kept),
            **kwargs,
        )

    return variable_scope(scope, default, [inputs], reuse=reuse, custom_getter=renamed)


def finished(
    outputs: Any,
    normalizer: Any,
    normalizer_params: Mapping[str, Any] | None,
    activation_fn: Activation,
    outputs_collections: CollectionNames | None,
    alias: str,
) -> Tensor:
    """The outputs normalised and activated, and in their collections."""
    if normalizer is not None:
        outputs = normalizer(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    result: Tensor = collect_named_outputs(outputs_collections, alias, outputs)
    return result
