"""graphflow: dataflow graphs with TensorFlow 1's names, run in this process or on a cluster.

    import graphflow as gf

    x = gf.placeholder(gf.float32, [None, 2])
    y = gf.reduce_sum(x * 2.0)
    with gf.Session() as sess:
        print(sess.run(y, {x: [[1.0, 2.0]]}))
"""

from __future__ import annotations

import importlib

from graphflow import errors
from graphflow.config import ConfigProto, GPUOptions, GraphOptions, OptimizerOptions, RunMetadata, RunOptions
from graphflow.graph import dtypes as _dtypes
from graphflow.graph.defaults import get_default_graph, get_default_session, reset_default_graph
from graphflow.graph.devices import DeviceSpec
from graphflow.graph.dtypes import DType, as_dtype
from graphflow.graph.elements import Operation, Tensor
from graphflow.graph.graph import Graph
from graphflow.graph.graph_def import GraphDef, NodeDef
from graphflow.graph.keys import GraphKeys
from graphflow.graph.op_def import RegisterGradient, not_differentiable as NotDifferentiable, not_differentiable as NoGradient
from graphflow.graph.random_seed import get_seed, set_random_seed
from graphflow.graph.shapes import Dimension, TensorShape
from graphflow.graph.slices import IndexedSlices, IndexedSlicesValue, SparseTensor, SparseTensorValue
from graphflow.session import InteractiveSession, Session

for _module in (
    "core",
    "array",
    "math",
    "state",
    "variable",
    "indexing",
    "layout",
    "segments",
    "sorting",
    "spatial",
    "sparse",
    "strings",
    "linalg",
    "decompositions",
    "contraction",
    "clip",
    "checking",
    "control_flow",
):
    globals().update(importlib.import_module(f"graphflow.ops.{_module}").EXPORTS)
for _dtype in _dtypes.ALL:
    globals()[_dtype.name] = _dtype
globals().update(importlib.import_module("graphflow.autodiff").EXPORTS)
importlib.import_module("graphflow.ops.variable").install_operators()

from graphflow import bitwise, linalg, math  # noqa: E402
