"""Linear algebra, as tf.linalg: products, norms, diagonals, decompositions, and what is solved with them."""

from __future__ import annotations

from graphflow.namespaces import missing
from graphflow.nn.moments import l2_normalize
from graphflow.ops.array import eye
from graphflow.ops.array import matrix_transpose as transpose
from graphflow.ops.clip import global_norm
from graphflow.ops.contraction import einsum, tensordot
from graphflow.ops.decompositions import (
    cholesky,
    cholesky_solve,
    logdet,
    qr,
    slogdet,
    svd,
)
from graphflow.ops.decompositions import matrix_determinant as det
from graphflow.ops.decompositions import matrix_inverse as inv
from graphflow.ops.decompositions import matrix_solve as solve
from graphflow.ops.decompositions import matrix_solve_ls as lstsq
from graphflow.ops.decompositions import matrix_triangular_solve as triangular_solve
from graphflow.ops.decompositions import self_adjoint_eig as eigh
from graphflow.ops.decompositions import self_adjoint_eigvals as eigvalsh
from graphflow.ops.linalg import (
    adjoint,
    cross,
    matmul,
    matvec,
    norm,
    tensor_diag,
    tensor_diag_part,
    trace,
)
from graphflow.ops.linalg import matrix_band_part as band_part
from graphflow.ops.linalg import matrix_diag as diag
from graphflow.ops.linalg import matrix_diag_part as diag_part
from graphflow.ops.linalg import matrix_set_diag as set_diag

__getattr__ = missing("gf.linalg", globals())

__all__ = [
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigvalsh",
    "einsum",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "lstsq",
    "matmul",
    "matvec",
    "norm",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
]
