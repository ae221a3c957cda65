"""Every op, defined once: signature, shape rule, gradient. Kernels are in graphflow._core.kernels.

Whoever makes a tensor imports a module of this package, so it is here that tensors get their operators, and that sparse
ones learn to become dense. `graph`, which is under it, knows no op.
"""

from __future__ import annotations

from graphflow._core.common.modules import import_all
from graphflow._core.ops import operators
from graphflow._core.ops.math import segments as segments
from graphflow._core.ops.sparse import elementwise
from graphflow._core.ops.sparse import sparse as sparse

operators.install()
elementwise.install()


def load_all() -> None:
    """Loads every module of ops, for code that may meet an op of any type: most are loaded at first use."""
    import_all(__name__, __path__)
