"""Distribution strategies: one model function on several devices or machines (gf.distribute)."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing

globals().update(
    exports(
        "distribute.context", "distribute.strategy", "distribute.values", "distribute.one_device",
        "distribute.mirrored", "distribute.in_graph", "distribute.parameter_server", "distribute.collective",
        "distribute.variables", "distribute.increment",
    )
)  # fmt: skip
globals().update(
    exports(
        "distribute.reducers.base", "distribute.reducers.one_device", "distribute.reducers.ring",
        "distribute.reducers.halving_doubling", "distribute.reducers.hierarchical", "distribute.reducers.packing",
        "_core.ops.distributed.collectives",
    )
)  # fmt: skip
__getattr__ = missing("gf.distribute", globals())
