"""TensorFlow's protobuf messages, by the names of its own modules: graphflow.protos.graph_pb2 and the rest.

The classes come from the tensorboard package, which carries them for programs without TensorFlow. What it lacks is
built from its fields, in modules of this package. Nothing that builds or runs a graph needs them.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Final

from graphflow._core.common.distribution import to_install

_FROM_TENSORBOARD: Final = "tensorboard.compat.proto"
_BUILT: Final = (
    "boosted_trees_pb2",
    "example_pb2",
    "feature_pb2",
    "projector_config_pb2",
    "queue_runner_pb2",
    "saved_model_pb2",
    "tensor_bundle_pb2",
    "tensorflow_server_pb2",
)
"""The modules of this package: messages that the tensorboard package lacks."""


def __getattr__(name: str) -> ModuleType:
    if not name.endswith("_pb2"):
        raise AttributeError(f"graphflow.protos has no module {name!r}.")
    if name in _BUILT:
        return import_module(f"{__name__}.{name}")
    try:
        module = import_module(f"{_FROM_TENSORBOARD}.{name}")
    except ModuleNotFoundError as error:
        if error.name is not None and not error.name.startswith(_FROM_TENSORBOARD):
            raise ModuleNotFoundError(
                "TensorFlow's protobuf messages come from the tensorboard package, which is not installed: "
                f"{to_install('tensorboard')}",
                name=error.name,
            ) from error
        raise AttributeError(f"graphflow.protos has no module {name!r}.") from error
    globals()[name] = module
    return module
