"""What authors of ops, kernels, lowering rules, passes, reducers and strategies import: `from graphflow import extend`.

An extension is a package of its own that imports `graphflow` and `graphflow.extend`, and nothing else of graphflow. It
registers what it adds while it is imported:

    GATE = extend.define_op("Gate", ("x: T=float",), infer=extend.same_as_input, gradient=gradient, scalar="...")

    @extend.kernel("Gate")
    def gate(node): ...

Who uses it imports it; so does each process of a cluster that is to run its ops (see `load_extensions`).

Stability. What this package offers, and the fields that docs/extend.md lists, change in a new minor version at the
earliest (from 1.0 on: a new major one), and only after a version in which the old form works and warns with
DeprecationWarning. New names, new optional arguments and new fields may come with any version. No promise is made for
`graphflow._core`, for the order and number of graphflow's own passes between two points, for which instructions they
leave, for what a lowering rule is fused with, for printed plans, and for op types that are not TensorFlow's.

Threads. Register while a module is imported, or at least before the first session that is to see it; registering is
thread-safe. What is registered may be called by several threads at once, so it must not keep state of its own.
"""

from __future__ import annotations

from graphflow._core.common.extensions import load_extensions as load_extensions
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE as NOT_DIFFERENTIABLE
from graphflow._core.graph.op_def import OpDef as OpDef
from graphflow._core.plan.ir import Instruction as Instruction
from graphflow._core.plan.ir import Plan as Plan
from graphflow._core.plan.ir import walk as walk
from graphflow.distribute.reducers.base import Reducer as Reducer
from graphflow.distribute.reducers.base import spread as spread
from graphflow.distribute.reducers.base import total as total
from graphflow.distribute.reducers.pieces import AllToAll as AllToAll
from graphflow.distribute.strategy import DistributionStrategy as DistributionStrategy
from graphflow.distribute.values import Mirrored as Mirrored
from graphflow.distribute.values import PerDevice as PerDevice
from graphflow.distribute.values import devices_from as devices_from
from graphflow.extend.kernels import KernelNode as KernelNode
from graphflow.extend.kernels import kernel as kernel
from graphflow.extend.lowering import Lowering as Lowering
from graphflow.extend.lowering import NativeValue as NativeValue
from graphflow.extend.lowering import lowers as lowers
from graphflow.extend.ops import add_operation as add_operation
from graphflow.extend.ops import broadcast_inputs as broadcast_inputs
from graphflow.extend.ops import define_op as define_op
from graphflow.extend.ops import same_as_input as same_as_input
from graphflow.extend.passes import Registration as Registration
from graphflow.extend.passes import add_pass as add_pass
from graphflow.extend.passes import add_rewrite as add_rewrite
from graphflow.extend.passes import in_place_of as in_place_of
from graphflow.extend.passes import new_instruction as new_instruction
