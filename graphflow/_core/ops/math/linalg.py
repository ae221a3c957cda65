"""Products of matrices and tensors, diagonals and bands."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import OpDef, Signature, op_def
from graphflow._core.graph.shapes import Dims
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.math import casting, numeric, reductions
from graphflow._core.ops.math.broadcasting import unbroadcast
from graphflow._core.ops.math.elementwise import binary, unary
from graphflow._core.ops.rules import require_rank, require_rank_at_least, same_as_input

PRODUCT = "float|int32|int64|complex"


def _contracted(columns: int | None, rows: int | None, a: Dims, b: Dims) -> None:
    if columns is not None and rows is not None and columns != rows:
        raise ValueError(
            f"Dimensions must be equal, but are {columns} and {rows}: inner dimensions of "
            f"{shapes.text(a)} x {shapes.text(b)}. Transpose an input, or check the layer's size."
        )


def _matmul_infer(op: Operation) -> Signature:
    a, b = (require_rank(x.dims, 2, f"input '{label}'") or () for x, label in zip(op.inputs, "ab"))
    rows, inner_a = reversed(a) if op.attrs["transpose_a"] else a
    inner_b, columns = reversed(b) if op.attrs["transpose_b"] else b
    _contracted(inner_a, inner_b, op.inputs[0].dims, op.inputs[1].dims)
    return [(op.inputs[0].dtype, (rows, columns))]


def _batch_infer(op: Operation) -> Signature:
    a, b = (require_rank_at_least(x.dims, 2, f"input '{label}'") for x, label in zip(op.inputs, "xy"))
    if a is None or b is None:
        return [(op.inputs[0].dtype, None)]
    rows, inner_a = reversed(a[-2:]) if op.attrs["adj_x"] else a[-2:]
    inner_b, columns = reversed(b[-2:]) if op.attrs["adj_y"] else b[-2:]
    _contracted(inner_a, inner_b, a, b)
    return [(op.inputs[0].dtype, (shapes.broadcast(a[:-2], b[:-2]) or ()) + (rows, columns))]


def _product_gradients(
    product: Any, flip_a: bool, flip_b: bool, a: Tensor, b: Tensor, g: Tensor
) -> tuple[Any, Any]:
    """The gradients of a product, of which each factor may have been flipped (transposed, or adjoint)."""
    a_gradient = product(b, g, flip_b, True) if flip_a else product(g, b, False, not flip_b)
    b_gradient = product(g, a, True, flip_a) if flip_b else product(a, g, not flip_a, False)
    return a_gradient, b_gradient


def _matmul_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    def product(x: Tensor, y: Tensor, flip_x: bool, flip_y: bool) -> Tensor:
        return apply(MATMUL, (x, y), {"transpose_a": flip_x, "transpose_b": flip_y}).outputs[0]

    a, b = map(numeric.conj, op.inputs)
    return _product_gradients(product, op.attrs["transpose_a"], op.attrs["transpose_b"], a, b, g)


def _batch_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    def product(x: Tensor, y: Tensor, flip_x: bool, flip_y: bool) -> Tensor:
        return apply(BATCH_MATMUL, (x, y), {"adj_x": flip_x, "adj_y": flip_y}).outputs[0]

    a, b = op.inputs
    grads = _product_gradients(product, op.attrs["adj_x"], op.attrs["adj_y"], a, b, g)
    return unbroadcast(grads[0], a), unbroadcast(grads[1], b)


MATMUL = op_def("MatMul", (f"a: T={PRODUCT}", "b: T"), infer=_matmul_infer, gradient=_matmul_gradient)
BATCH_MATMUL = op_def(
    "BatchMatMulV2", (f"x: T={PRODUCT}", "y: T"), infer=_batch_infer, gradient=_batch_gradient
)


def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of two matrices, or of the matrices in the last two axes of larger tensors (tf.matmul).

    Args:
        a: A tensor [..., n, k] of floats, complex numbers, int32 or int64.
        b: A tensor [..., k, m] of the same dtype; the axes before the last two are broadcast.
        transpose_a: Whether `a` is transposed before.
        transpose_b: Whether `b` is transposed before.
        adjoint_a: Whether `a` is transposed and conjugated before.
        adjoint_b: Whether `b` is transposed and conjugated before.
        a_is_sparse: Changes nothing: that a factor has many zeros is not made use of.
        b_is_sparse: Changes nothing.
        name: A name for the operation.

    Returns:
        A tensor [..., n, m] of the same dtype.

    Raises:
        ValueError: The inner extents differ, or a factor is to be both transposed and adjoint.

    Examples:
        >>> gf.Session().run(gf.matmul([[1.0, 2.0]], [[3.0], [4.0]]))
        array([[11.]], dtype=float32)
    """
    with op_scope(name, "MatMul", (a, b)) as scope:
        for side, transpose, adjoint in (("a", transpose_a, adjoint_a), ("b", transpose_b, adjoint_b)):
            if transpose and adjoint:
                raise ValueError(f"Only one of transpose_{side} and adjoint_{side} can be True.")
        dtype = next((x.dtype for x in (a, b) if isinstance(x, Tensor)), None)
        a = convert_to_tensor(a, preferred_dtype=dtype, name="a")
        b = convert_to_tensor(b, preferred_dtype=a.dtype, name="b")
        batched = (a.dims is None or len(a.dims) > 2) and (b.dims is None or len(b.dims) >= 2)
        batched = batched or (b.dims is None or len(b.dims) > 2) and (a.dims is None or len(a.dims) >= 2)
        if batched:
            a = numeric.conj(a) if transpose_a else a
            b = numeric.conj(b) if transpose_b else b
            attrs = {"adj_x": bool(transpose_a or adjoint_a), "adj_y": bool(transpose_b or adjoint_b)}
            return apply(BATCH_MATMUL, (a, b), attrs, scope).outputs[0]
        if {a.dtype, b.dtype} == {dtypes.bfloat16, dtypes.float32}:
            a, b = casting.cast(a, dtypes.float32), casting.cast(b, dtypes.float32)
        a = numeric.conj(a) if adjoint_a else a
        b = numeric.conj(b) if adjoint_b else b
        attrs = {"transpose_a": bool(transpose_a or adjoint_a), "transpose_b": bool(transpose_b or adjoint_b)}
        return apply(MATMUL, (a, b), attrs, scope).outputs[0]


def sparse_matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of two matrices, sparse or not (tf.sparse_matmul).

    Args:
        a: A matrix.
        b: A matrix.
        transpose_a: Whether `a` is transposed first.
        transpose_b: Whether `b` is.
        a_is_sparse: Accepted, and not needed.
        b_is_sparse: Accepted, and not needed.
        name: A name for the operation.

    Returns:
        A matrix.
    """
    return matmul(a, b, transpose_a, transpose_b, name=name or "SparseMatMul")


def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of matrices and vectors, in the last axes (tf.linalg.matvec).

    Args:
        a: Matrices in the last two axes.
        b: Vectors in the last axis.
        transpose_a: Whether the matrices are transposed first.
        adjoint_a: Whether they are conjugated, too.
        a_is_sparse: Accepted, and not needed.
        b_is_sparse: Accepted, and not needed.
        name: A name for the operation.

    Returns:
        Vectors.
    """
    with op_scope(name, "MatVec", (a, b)):
        column = array.expand_dims(b, axis=-1)
        return array.squeeze(matmul(a, column, transpose_a, adjoint_a=adjoint_a), axis=-1)


# ---- diagonals and bands -------------------------------------------------------------------------------------------


def _matrix_diag_infer(op: Operation) -> Signature:
    dims = require_rank_at_least(op.inputs[0].dims, 1, "the diagonal")
    return [(op.inputs[0].dtype, None if dims is None else (*dims, dims[-1]))]


def _smaller(rows: int | None, columns: int | None) -> int | None:
    if 0 in (rows, columns):
        return 0
    return None if rows is None or columns is None else min(rows, columns)


def _matrix_diag_part_infer(op: Operation) -> Signature:
    dims = require_rank_at_least(op.inputs[0].dims, 2, "the input")
    return [(op.inputs[0].dtype, None if dims is None else (*dims[:-2], _smaller(*dims[-2:])))]


def _matrix_set_diag_infer(op: Operation) -> Signature:
    x, diagonal = op.inputs
    dims = require_rank_at_least(x.dims, 2, "the input")
    require_rank_at_least(diagonal.dims, 1, "the diagonal")
    if dims is not None:
        shapes.merge((*dims[:-2], _smaller(*dims[-2:])), diagonal.dims)
    return [(x.dtype, dims)]


def _matrix_diag_part_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    return (matrix_set_diag(array.zeros_like(op.inputs[0]), g),)


def _matrix_set_diag_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    return matrix_set_diag(g, array.zeros_like(op.inputs[1])), matrix_diag_part(g)


def _diag_infer(op: Operation) -> Signature:
    dims = require_rank_at_least(op.inputs[0].dims, 1, "the diagonal")
    return [(op.inputs[0].dtype, None if dims is None else dims + dims)]


def _diag_part_infer(op: Operation) -> Signature:
    dims = op.inputs[0].dims
    if dims is None:
        return [(op.inputs[0].dtype, None)]
    if len(dims) % 2 or not dims:
        raise ValueError(
            f"Input must have even and non-zero rank, but is rank {len(dims)} with shape {shapes.text(dims)}."
        )
    half = len(dims) // 2
    return [(op.inputs[0].dtype, shapes.merge(dims[:half], dims[half:]))]


def _band_gradient(op: Operation, g: Tensor) -> tuple[Tensor, None, None]:
    return matrix_band_part(g, op.inputs[1], op.inputs[2]), None, None


def _band_infer(op: Operation) -> Signature:
    require_rank_at_least(op.inputs[0].dims, 2, "the input")
    return same_as_input(op)


def _cross_infer(op: Operation) -> Signature:
    dims = require_rank_at_least(shapes.merge(op.inputs[0].dims, op.inputs[1].dims), 1, "the vectors")
    if dims is not None and dims[-1] not in (3, None):
        raise ValueError(
            f"Dimension must be 3 but is {dims[-1]}: the vectors of a cross product have 3 elements."
        )
    return [(op.inputs[0].dtype, dims)]


def _cross_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    a, b = op.inputs
    return cross(b, g), cross(g, a)


def _tridiagonal_infer(op: Operation) -> Signature:
    diagonals = require_rank_at_least(op.inputs[0].dims, 2, "the diagonals")
    rhs = require_rank_at_least(op.inputs[1].dims, 2, "the right-hand side")
    if diagonals is None or rhs is None:
        return [(op.inputs[0].dtype, rhs)]
    if diagonals[-2] not in (None, 3):
        raise ValueError(
            f"Expected 3 diagonals, got {diagonals[-2]}: their shape is {shapes.text(diagonals)}."
        )
    outer = shapes.merge((*diagonals[:-2], diagonals[-1]), rhs[:-1])
    return [(op.inputs[0].dtype, (*(outer or ()), rhs[-1]))]


def _moved(x: Tensor, forward: bool) -> Tensor:
    """The rows one place on or back, with a row of zeros in the place that is free."""
    zero = array.zeros_like(x[..., :1, :])
    return array.concat([zero, x[..., :-1, :]] if forward else [x[..., 1:, :], zero], -2)


def _tridiagonal_gradient(op: Operation, g: Tensor) -> tuple[Tensor, Tensor]:
    """The adjoint matrix is solved; of the outer product with the solution three diagonals count."""
    diagonals, x = op.inputs[0], op.outputs[0]
    above, middle, below = (numeric.conj(diagonals[..., i : i + 1, :]) for i in range(3))
    columns = [array.matrix_transpose(row) for row in (below, middle, above)]
    turned = array.concat([_moved(columns[0], False), columns[1], _moved(columns[2], True)], -1)
    attrs = {"partial_pivoting": op.attrs["partial_pivoting"]}
    rhs_gradient = apply(TRIDIAGONAL_SOLVE, (array.matrix_transpose(turned), g), attrs).outputs[0]
    other = numeric.conj(x)
    products = [
        reductions.reduce_sum(rhs_gradient * factor, -1, True)
        for factor in (_moved(other, False), other, _moved(other, True))
    ]
    return numeric.negative(array.matrix_transpose(array.concat(products, -1))), rhs_gradient


def _logarithm_infer(op: Operation) -> Signature:
    x = op.inputs[0]
    dims = x.shape.with_rank_at_least(2)
    if dims.ndims is None:
        return [(x.dtype, None)]
    side = dims[-1:].merge_with(dims[-2:-1])
    return [(x.dtype, tuple(dims[:-2].concatenate(side).concatenate(side).as_list()))]


def _logarithm_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    return (_of_matrix_function(MATRIX_LOGARITHM, op, g),)


def _square_root_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    return (_of_matrix_function(MATRIX_SQUARE_ROOT, op, g),)


def _of_matrix_function(function: OpDef, op: Operation, g: Tensor) -> Tensor:
    """The derivative in a direction is a block of the function of a matrix of twice the size."""
    turned = adjoint(op.inputs[0])
    upper = array.concat([turned, g], -1)
    lower = array.concat([array.zeros_like(g), turned], -1)
    whole = apply(function, (array.concat([upper, lower], -2),), {}).outputs[0]
    half = array.shape(g)[-1]
    found = whole[..., :half, half:]
    found.set_shape(op.inputs[0].dims)
    return found


TRIDIAGONAL_SOLVE = op_def(
    "TridiagonalSolve", ("diagonals: T=float32|float64|complex", "rhs: T"), infer=_tridiagonal_infer,
    gradient=_tridiagonal_gradient,
)  # fmt: skip
MATRIX_LOGARITHM = op_def(
    "MatrixLogarithm", ("input: T=complex",), infer=_logarithm_infer, gradient=_logarithm_gradient
)
MATRIX_SQUARE_ROOT = op_def(
    "MatrixSquareRoot",
    ("input: T=float|complex",),
    infer=_logarithm_infer,
    gradient=_square_root_gradient,
)
DIAGONAL = "float|int32|int64|complex"
MATRIX_DIAG = op_def(
    "MatrixDiag", ("diagonal: T",), infer=_matrix_diag_infer, gradient=lambda op, g: (matrix_diag_part(g),)
)
MATRIX_DIAG_PART = op_def(
    "MatrixDiagPart", ("input: T",), infer=_matrix_diag_part_infer, gradient=_matrix_diag_part_gradient
)
MATRIX_SET_DIAG = op_def(
    "MatrixSetDiag",
    ("input: T", "diagonal: T"),
    infer=_matrix_set_diag_infer,
    gradient=_matrix_set_diag_gradient,
)
DIAG = op_def(
    "Diag", (f"diagonal: T={DIAGONAL}",), infer=_diag_infer, gradient=lambda op, g: (tensor_diag_part(g),)
)
DIAG_PART = op_def(
    "DiagPart", (f"input: T={DIAGONAL}",), infer=_diag_part_infer, gradient=lambda op, g: (tensor_diag(g),)
)
BAND_PART = op_def(
    "MatrixBandPart",
    ("input: T", "num_lower: Tindex=index", "num_upper: Tindex"),
    infer=_band_infer,
    gradient=_band_gradient,
)
CROSS = op_def("Cross", ("a: T=real", "b: T"), infer=_cross_infer, gradient=_cross_gradient)


def matrix_diag(diagonal: TensorLike, name: str | None = "diag") -> Tensor:
    """Matrices with these diagonals, from the last axis, and zeros elsewhere (tf.matrix_diag).

    Args:
        diagonal: Vectors in the last axis.
        name: A name for the operation.

    Returns:
        Matrices with these diagonals.
    """
    return unary(MATRIX_DIAG, diagonal, name)


def matrix_diag_part(input: TensorLike, name: str | None = "diag_part") -> Tensor:
    """The main diagonals of the matrices in the last two axes (tf.matrix_diag_part).

    Args:
        input: Matrices in the last two axes.
        name: A name for the operation.

    Returns:
        The diagonals, of one axis less.
    """
    return unary(MATRIX_DIAG_PART, input, name)


def matrix_set_diag(input: TensorLike, diagonal: TensorLike, name: str | None = "set_diag") -> Tensor:
    """The matrices with other main diagonals (tf.matrix_set_diag).

    Args:
        input: Matrices in the last two axes.
        diagonal: The diagonals, of one axis less.
        name: A name for the operation.

    Returns:
        Matrices of the same shape.
    """
    return apply(MATRIX_SET_DIAG, (input, diagonal), name=name).outputs[0]


def tensor_diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of twice the rank, with the elements on its diagonal (tf.diag).

    Args:
        diagonal: A tensor.
        name: A name for the operation.

    Returns:
        A tensor of shape [*shape, *shape].
    """
    return unary(DIAG, diagonal, name)


def tensor_diag_part(input: TensorLike, name: str | None = None) -> Tensor:
    """The diagonal of a tensor whose shape is one shape twice (tf.diag_part).

    Args:
        input: A tensor of shape [*shape, *shape].
        name: A name for the operation.

    Returns:
        A tensor of shape `shape`.
    """
    return unary(DIAG_PART, input, name)


def matrix_band_part(
    input: TensorLike, num_lower: IntTensorLike, num_upper: IntTensorLike, name: str | None = None
) -> Tensor:
    """The matrices with zeros outside a band around the diagonal (tf.matrix_band_part).

    num_lower and num_upper count the diagonals that are kept below and above; negative keeps all.

    Args:
        input: Matrices in the last two axes.
        num_lower: Diagonals below, an int64 scalar.
        num_upper: Diagonals above.
        name: A name for the operation.

    Returns:
        Matrices of the same shape.
    """
    if not isinstance(num_lower, Tensor) and not isinstance(num_upper, Tensor):
        with op_scope(name, "MatrixBandPart", (input,)) as scope:
            num_lower = convert_to_tensor(num_lower, dtype=dtypes.int64, name="num_lower")
            num_upper = convert_to_tensor(num_upper, dtype=dtypes.int64, name="num_upper")
            return apply(BAND_PART, (input, num_lower, num_upper), name=scope).outputs[0]
    return apply(BAND_PART, (input, num_lower, num_upper), name=name).outputs[0]


def trace(x: TensorLike, name: str | None = None) -> Tensor:
    """The sum of the main diagonals of the matrices in the last two axes (tf.trace).

    Args:
        x: Matrices in the last two axes.
        name: A name for the operation.

    Returns:
        The traces.
    """
    with op_scope(name, "Trace", (x,)) as scope:
        x = convert_to_tensor(x, name="x")
        return reductions.reduce_sum(matrix_diag_part(x), [-1], name=scope)


def cross(a: TensorLike, b: TensorLike, name: str | None = None) -> Tensor:
    """The cross product of vectors of three elements, in the last axis (tf.cross).

    Args:
        a: A tensor of numbers.
        b: A tensor of the same shape and dtype.
        name: A name for the operation.

    Returns:
        A tensor like `a`.
    """
    return binary(CROSS, a, b, name)


def logm(input: TensorLike, name: str | None = None) -> Tensor:
    """The principal logarithms of square complex matrices (tf.linalg.logm).

    Args:
        input: Square complex matrices in the last two axes.
        name: A name for the operation.

    Returns:
        Matrices of the same shape, whose exponentials the given ones are; NaNs for singular ones, which have none.

    Raises:
        TypeError: For another dtype than complex64 and complex128.
        ValueError: For what is no square matrix.
    """
    return apply(MATRIX_LOGARITHM, (input,), {}, name).outputs[0]


def sqrtm(input: TensorLike, name: str | None = None) -> Tensor:
    """The principal square roots of square matrices (tf.linalg.sqrtm).

    Args:
        input: Square matrices in the last two axes, of floats or complex numbers.
        name: A name for the operation.

    Returns:
        Matrices of the same shape, whose squares the given ones are; NaNs for those that have no root, or none of
        real numbers.

    Raises:
        TypeError: For another dtype.
        ValueError: For what is no square matrix.

    Examples:
        >>> gf.Session().run(gf.linalg.sqrtm([[4.0, 4.0], [0.0, 4.0]]))
        array([[2., 1.],
               [0., 2.]], dtype=float32)
    """
    return apply(MATRIX_SQUARE_ROOT, (input,), {}, name).outputs[0]


def adjoint(matrix: TensorLike, name: str | None = None) -> Tensor:
    """The transposed conjugate of the matrices in the last two axes (tf.linalg.adjoint).

    Args:
        matrix: Matrices in the last two axes.
        name: A name for the operation.

    Returns:
        Matrices.
    """
    with op_scope(name, "adjoint", (matrix,)):
        return array.matrix_transpose(convert_to_tensor(matrix, name="matrix"), conjugate=True)
