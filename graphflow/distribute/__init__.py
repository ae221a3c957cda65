"""Distribution strategies: one model function on several devices or machines (gf.distribute)."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing
from graphflow.distribute.context import install_default as _install_default
from graphflow.distribute.default import DefaultStrategy as _DefaultStrategy

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
_install_default(_DefaultStrategy())
__getattr__ = missing("gf.distribute", globals())
