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

from graphflow._core.common.namespaces import attach

__getattr__, __dir__, __all__ = attach(__name__)
