"""Linear algebra, as tf.linalg: products, norms, diagonals, decompositions, and what is solved with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphflow._core.common.namespaces import missing as _missing
from graphflow._core.ops.array.array import eye
from graphflow._core.ops.array.array import matrix_transpose as transpose
from graphflow._core.ops.math.clip import global_norm
from graphflow._core.ops.math.contraction import einsum, tensordot
from graphflow._core.ops.math.decompositions import cholesky, cholesky_solve, logdet, qr, slogdet, svd
from graphflow._core.ops.math.decompositions import matrix_determinant as det
from graphflow._core.ops.math.decompositions import matrix_inverse as inv
from graphflow._core.ops.math.decompositions import matrix_solve as solve
from graphflow._core.ops.math.decompositions import matrix_solve_ls as lstsq
from graphflow._core.ops.math.decompositions import matrix_triangular_solve as triangular_solve
from graphflow._core.ops.math.decompositions import self_adjoint_eig as eigh
from graphflow._core.ops.math.decompositions import self_adjoint_eigvals as eigvalsh
from graphflow._core.ops.math.linalg import (
    adjoint,
    cross,
    matmul,
    matvec,
    tensor_diag,
    tensor_diag_part,
    trace,
)
from graphflow._core.ops.math.linalg import matrix_band_part as band_part
from graphflow._core.ops.math.linalg import matrix_diag as diag
from graphflow._core.ops.math.linalg import matrix_diag_part as diag_part
from graphflow._core.ops.math.linalg import matrix_set_diag as set_diag
from graphflow._core.ops.math.norms import norm
from graphflow.nn.moments import l2_normalize

if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.linalg", globals())

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
