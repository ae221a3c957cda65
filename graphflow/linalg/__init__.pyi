"""Linear algebra, as tf.linalg: products, norms, diagonals, decompositions, and what is solved with them."""

from graphflow.linalg.operators.base import LinearOperator as LinearOperator
from graphflow.linalg.operators.combined import LinearOperatorAdjoint as LinearOperatorAdjoint
from graphflow.linalg.operators.combined import LinearOperatorBlockDiag as LinearOperatorBlockDiag
from graphflow.linalg.operators.structured import LinearOperatorCirculant as LinearOperatorCirculant
from graphflow.linalg.operators.structured import LinearOperatorCirculant2D as LinearOperatorCirculant2D
from graphflow.linalg.operators.structured import LinearOperatorCirculant3D as LinearOperatorCirculant3D
from graphflow.linalg.operators.combined import LinearOperatorComposition as LinearOperatorComposition
from graphflow.linalg.operators.diagonal import LinearOperatorDiag as LinearOperatorDiag
from graphflow.linalg.operators.dense import LinearOperatorFullMatrix as LinearOperatorFullMatrix
from graphflow.linalg.operators.structured import LinearOperatorHouseholder as LinearOperatorHouseholder
from graphflow.linalg.operators.diagonal import LinearOperatorIdentity as LinearOperatorIdentity
from graphflow.linalg.operators.combined import LinearOperatorInversion as LinearOperatorInversion
from graphflow.linalg.operators.combined import LinearOperatorKronecker as LinearOperatorKronecker
from graphflow.linalg.operators.low_rank import LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate
from graphflow.linalg.operators.dense import LinearOperatorLowerTriangular as LinearOperatorLowerTriangular
from graphflow.linalg.operators.diagonal import LinearOperatorScaledIdentity as LinearOperatorScaledIdentity
from graphflow.linalg.operators.structured import LinearOperatorToeplitz as LinearOperatorToeplitz
from graphflow.linalg.operators.diagonal import LinearOperatorZeros as LinearOperatorZeros
from graphflow._core.ops.math.linalg import adjoint as adjoint
from graphflow._core.ops.math.linalg import matrix_band_part as _band_part
band_part = _band_part
from graphflow._core.ops.math.decompositions import cholesky as cholesky
from graphflow._core.ops.math.decompositions import cholesky_solve as cholesky_solve
from graphflow._core.ops.math.linalg import cross as cross
from graphflow._core.ops.math.decompositions import matrix_determinant as _det
det = _det
from graphflow._core.ops.math.linalg import matrix_diag as _diag
diag = _diag
from graphflow._core.ops.math.linalg import matrix_diag_part as _diag_part
diag_part = _diag_part
from graphflow._core.ops.math.decompositions import self_adjoint_eig as _eigh
eigh = _eigh
from graphflow._core.ops.math.decompositions import self_adjoint_eigvals as _eigvalsh
eigvalsh = _eigvalsh
from graphflow._core.ops.math.contraction import einsum as einsum
from graphflow._core.ops.array.array import eye as eye
from graphflow._core.ops.math.clip import global_norm as global_norm
from graphflow._core.ops.math.decompositions import matrix_inverse as _inv
inv = _inv
from graphflow.linalg.matrix_functions import expm as expm
from graphflow.linalg.matrix_functions import matrix_rank as matrix_rank
from graphflow.linalg.matrix_functions import pinv as pinv
from graphflow.linalg.tridiagonal import tridiagonal_matmul as tridiagonal_matmul
from graphflow.linalg.tridiagonal import tridiagonal_solve as tridiagonal_solve
from graphflow.nn.normalization import l2_normalize as l2_normalize
from graphflow._core.ops.math.decompositions import logdet as logdet
from graphflow._core.ops.math.linalg import logm as logm
from graphflow._core.ops.math.linalg import sqrtm as sqrtm
from graphflow._core.ops.math.decompositions import matrix_solve_ls as _lstsq
lstsq = _lstsq
from graphflow._core.ops.math.linalg import matmul as matmul
from graphflow._core.ops.math.linalg import matvec as matvec
from graphflow._core.ops.math.norms import norm as norm
from graphflow.linalg.matrix_functions import normalize as normalize
from graphflow._core.ops.math.decompositions import qr as qr
from graphflow._core.ops.math.linalg import matrix_set_diag as _set_diag
set_diag = _set_diag
from graphflow._core.ops.math.decompositions import slogdet as slogdet
from graphflow._core.ops.math.decompositions import matrix_solve as _solve
solve = _solve
from graphflow._core.ops.math.decompositions import svd as svd
from graphflow._core.ops.math.linalg import tensor_diag as tensor_diag
from graphflow._core.ops.math.linalg import tensor_diag_part as tensor_diag_part
from graphflow._core.ops.math.contraction import tensordot as tensordot
from graphflow._core.ops.math.linalg import trace as trace
from graphflow._core.ops.array.array import matrix_transpose as _transpose
transpose = _transpose
matrix_transpose = _transpose
from graphflow._core.ops.math.decompositions import matrix_triangular_solve as _triangular_solve
triangular_solve = _triangular_solve
