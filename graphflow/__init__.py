"""graphflow: dataflow graphs with TensorFlow 1's names, run in this process or on a cluster.

import graphflow as gf

x = gf.placeholder(gf.float32, [None, 2])
y = gf.reduce_sum(x * 2.0)
with gf.Session() as sess:
    print(sess.run(y, {x: [[1.0, 2.0]]}))
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphflow import errors as errors
from graphflow import nest as nest
from graphflow._core.common.namespaces import exports, missing, namespace
from graphflow._core.graph import dtypes as dtypes
from graphflow._core.graph.defaults import get_default_graph as get_default_graph
from graphflow._core.graph.defaults import get_default_session as get_default_session
from graphflow._core.graph.defaults import reset_default_graph as reset_default_graph
from graphflow._core.graph.devices import DeviceSpec as DeviceSpec
from graphflow._core.graph.dtypes import DType as DType
from graphflow._core.graph.dtypes import as_dtype as as_dtype
from graphflow._core.graph.elements import Operation as Operation
from graphflow._core.graph.elements import Tensor as Tensor
from graphflow._core.graph.graph import Graph as Graph
from graphflow._core.graph.keys import GraphKeys as GraphKeys
from graphflow._core.graph.op_def import RegisterGradient as RegisterGradient
from graphflow._core.graph.op_def import not_differentiable as NotDifferentiable
from graphflow._core.graph.random_seed import get_seed as get_seed
from graphflow._core.graph.random_seed import set_random_seed as set_random_seed
from graphflow._core.graph.shapes import Dimension as Dimension
from graphflow._core.graph.shapes import TensorShape as TensorShape
from graphflow._core.graph.slices import IndexedSlices as IndexedSlices
from graphflow._core.graph.slices import IndexedSlicesValue as IndexedSlicesValue
from graphflow._core.graph.slices import SparseTensor as SparseTensor
from graphflow._core.graph.slices import SparseTensorValue as SparseTensorValue
from graphflow._core.ops.sparse.elementwise import install as install_sparse_operators
from graphflow._core.ops.state.variable import install_operators
from graphflow._core.session import InteractiveSession as InteractiveSession
from graphflow._core.session import Session as Session
from graphflow.config import ConfigProto as ConfigProto
from graphflow.config import GPUOptions as GPUOptions
from graphflow.config import GraphOptions as GraphOptions
from graphflow.config import OptimizerOptions as OptimizerOptions
from graphflow.config import RunMetadata as RunMetadata
from graphflow.config import RunOptions as RunOptions
from graphflow.errors import OpError as OpError

if TYPE_CHECKING:
    from graphflow import app as app
    from graphflow import bitwise as bitwise
    from graphflow import compat as compat
    from graphflow import contrib as contrib
    from graphflow import data as data
    from graphflow import distribute as distribute
    from graphflow import distributions as distributions
    from graphflow import extend as extend
    from graphflow import flags as flags
    from graphflow import gfile as gfile
    from graphflow import graph_util as graph_util
    from graphflow import image as image
    from graphflow import io as io
    from graphflow import layers as layers
    from graphflow import linalg as linalg
    from graphflow import logging as logging
    from graphflow import losses as losses
    from graphflow import math as math
    from graphflow import metrics as metrics
    from graphflow import nn as nn
    from graphflow import protos as protos
    from graphflow import python_io as python_io
    from graphflow import resource_loader as resource_loader
    from graphflow import saved_model as saved_model
    from graphflow import summary as summary
    from graphflow import test as test
    from graphflow import testing as testing
    from graphflow import train as train
    from graphflow import typing as typing

__version__ = "0.1.0"
NoGradient = NotDifferentiable

globals().update(dtypes.BY_NAME)
globals().update(
    exports(
        "_core.ops.array.array",
        "_core.ops.core",
        "_core.ops.math.math",
        "_core.ops.math.linalg",
        "_core.ops.math.contraction",
        "_core.ops.math.clip",
        "_core.ops.math.decompositions",
        "_core.ops.math.norms",
        "_core.ops.array.indexing",
        "_core.ops.array.layout",
        "_core.ops.math.segments",
        "_core.ops.math.sorting",
        "_core.ops.sparse.sparse",
        "_core.ops.nn.spatial",
        "_core.ops.math.special",
        "_core.ops.strings",
        "_core.ops.random",
        "_core.ops.state.state",
        "_core.ops.state.variable",
        "_core.ops.state.variable_collections",
        "_core.ops.control_flow.assertions",
        "_core.ops.state.get_variable",
        "_core.ops.state.initializers",
        "_core.ops.state.variable_scope",
        "_core.ops.state.variable_creators",
        "_core.ops.state.partitioning",
        "_core.ops.state.template",
        "_core.ops.control_flow.checking",
        "_core.ops.control_flow.printing",
        "_core.ops.control_flow.control_flow",
        "_core.ops.control_flow.tensor_array",
        "_core.ops.control_flow.functional",
        "_core.ops.io.files",
        "_core.ops.control_flow.custom_gradient",
        "_core.interop.import_graph",
        "_core.ops.state.scopes",
        "_core.ops.array.patches",
        "_core.ops.array.edit_distance",
        "_core.ops.io.queues",
        "_core.ops.io.readers",
        "_core.ops.io.parsing",
        "_core.ops.io.sequence_parsing",
        "_core.ops.io.csv",
        "_core.autodiff",
    )
)
install_operators()
install_sparse_operators()

random = namespace(
    "random",
    "Random numbers (tf.random).",
    exports("_core.ops.random") | exports("_core.ops.random", names="RANDOM_EXPORTS"),
)
strings = namespace(
    "strings",
    "Strings (tf.strings).",
    exports("_core.ops.strings", "_core.ops.control_flow.printing", names="STRINGS_EXPORTS"),
)
initializers = namespace(
    "initializers",
    "Initial values of variables (tf.initializers).",
    exports("_core.ops.state.initializers", names="INITIALIZERS_EXPORTS")
    | {
        "variables": globals()["variables_initializer"],
        "global_variables": globals()["global_variables_initializer"],
        "local_variables": globals()["local_variables_initializer"],
    },
)
debugging = namespace(
    "debugging",
    "Assertions and checks (tf.debugging).",
    exports("_core.ops.control_flow.assertions", names="DEBUGGING_EXPORTS")
    | exports("_core.ops.control_flow.checking", names="DEBUGGING_EXPORTS")
    | {name: globals()[name] for name in ("is_finite", "is_inf", "is_nan")},
)
sparse = namespace(
    "sparse", "Sparse tensors (tf.sparse).", exports("_core.ops.sparse.sparse", names="SPARSE_EXPORTS")
)


_MODULES = (
    "app", "bitwise", "compat", "contrib", "data", "distribute", "distributions", "extend", "flags", "gfile",
    "graph_util", "image", "io", "layers", "linalg", "logging", "losses", "math", "metrics", "nn", "protos",
    "python_io", "resource_loader", "saved_model", "summary", "test", "testing", "train", "typing",
)  # fmt: skip
_MESSAGES = {
    "attr_value_pb2": ("AttrValue", "NameAttrList"),
    "event_pb2": ("Event", "LogMessage", "SessionLog"),
    "graph_pb2": ("GraphDef",),
    "meta_graph_pb2": ("MetaGraphDef",),
    "node_def_pb2": ("NodeDef",),
    "op_def_pb2": ("OpDef",),
    "summary_pb2": ("Summary", "SummaryMetadata"),
    "histogram_pb2": ("HistogramProto",),
}
"""The protobuf messages that TensorFlow offers at its top, by the modules of graphflow.protos."""


def _message(module: str, name: str) -> Any:
    return getattr(getattr(import_module("graphflow.protos"), module), name)


_LATER: dict[str, Callable[[], Any]] = {
    name: partial(import_module, f"graphflow.{name}") for name in _MODULES
} | {
    **{name: partial(_message, module, name) for module, names in _MESSAGES.items() for name in names},
}
"""What is imported when it is first used, so that importing graphflow stays quick."""

_missing = missing("gf", globals())


def __getattr__(name: str) -> Any:
    make = _LATER.get(name)
    if make is None:
        return _missing(name)
    globals()[name] = value = make()
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
