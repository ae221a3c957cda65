"""Bijectors of vectors that are linear: products with a matrix, and other orders of the elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array.array import (
    expand_dims,
    eye,
    gather,
    identity,
    invert_permutation,
    range_,
    shape,
    size,
    zeros_like,
)
from graphflow._core.ops.control_flow.assertions import assert_equal, assert_none_equal
from graphflow._core.ops.core import constant, constant_value, convert_to_tensor, op_scope
from graphflow._core.ops.math.decompositions import matrix_solve, matrix_triangular_solve, slogdet
from graphflow._core.ops.math.linalg import matmul, matrix_band_part, matrix_diag, matrix_diag_part
from graphflow._core.ops.math.math import abs_, cast, log
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.math.sorting import sort
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow.contrib.distributions.bijectors.bijector import Bijector
from graphflow.contrib.distributions.linear import products, solutions


class Affine(Bijector):
    """y = scale @ x + shift, of vectors (tf.contrib.distributions.bijectors.Affine).

    scale = scale_identity_multiplier * I + diag(scale_diag) + scale_tril + u @ diag(scale_perturb_diag) @ u.T, u being
    scale_perturb_factor; it is I if none of them is given. Gradients flow to all of them.

    Args:
        shift: [..., size]; zero if it is not given.
        scale_identity_multiplier: A scalar.
        scale_diag: [..., size].
        scale_tril: [..., size, size], of which only the lower triangle counts.
        scale_perturb_factor: [..., size, rank].
        scale_perturb_diag: [..., rank]; ones if it is not given.
        validate_args: Whether it is checked at the run that the diagonal has no zero.
        name: A name for the operations.

    Raises:
        ValueError: If there is a scale_perturb_diag without scale_perturb_factor.

    Examples:
        >>> affine = gf.contrib.distributions.bijectors.Affine([1.0, 2.0], scale_diag=[2.0, 3.0])
        >>> with gf.Session() as session:
        ...     print(session.run(affine.forward([1.0, 1.0])))
        [3. 5.]
    """

    def __init__(
        self,
        shift: TensorLike | None = None,
        scale_identity_multiplier: TensorLike | None = None,
        scale_diag: TensorLike | None = None,
        scale_tril: TensorLike | None = None,
        scale_perturb_factor: TensorLike | None = None,
        scale_perturb_diag: TensorLike | None = None,
        validate_args: bool = False,
        name: str = "affine",
    ) -> None:
        if scale_perturb_diag is not None and scale_perturb_factor is None:
            raise ValueError("Affine: with scale_perturb_diag, scale_perturb_factor must be specified.")
        given = {
            "shift": shift, "scale_identity_multiplier": scale_identity_multiplier, "scale_diag": scale_diag,
            "scale_tril": scale_tril, "scale_perturb_factor": scale_perturb_factor,
            "scale_perturb_diag": scale_perturb_diag,
        }  # fmt: skip
        with op_scope(name, "", [value for value in given.values() if value is not None]):
            found = {
                argument: convert_to_tensor(value, name=argument)
                for argument, value in given.items()
                if value is not None
            }
            self._shift = found.get("shift")
            multiplier, diagonal = found.get("scale_identity_multiplier"), found.get("scale_diag")
            if multiplier is not None and diagonal is not None:
                diagonal = diagonal + expand_dims(multiplier, -1)
                multiplier = None
            self._multiplier, self._diagonal = multiplier, diagonal
            self._matrix, self._is_triangular = self._dense(found)
            if validate_args and self._is_triangular:
                self._check_diagonal()
        super().__init__(list(found.values()), True, validate_args, None, 1, name=name)

    def _dense(self, found: dict[str, Tensor]) -> tuple[Tensor | None, bool]:
        """The matrix if it is more than a diagonal, and whether it is triangular."""
        triangle, factor = found.get("scale_tril"), found.get("scale_perturb_factor")
        if triangle is None and factor is None:
            return None, True
        matrix: Any = 0.0 if triangle is None else matrix_band_part(triangle, -1, 0)
        sized: Any = triangle if factor is None else factor
        rows = shape(sized)[-2]
        if self._diagonal is not None:
            matrix = matrix + matrix_diag(self._diagonal)
        elif self._multiplier is not None:
            spread = expand_dims(expand_dims(self._multiplier, -1), -1)
            matrix = matrix + spread * eye(rows, dtype=sized.dtype)
        elif triangle is None:
            matrix = matrix + eye(rows, dtype=sized.dtype)
        if factor is not None:
            weights = found.get("scale_perturb_diag")
            weighted = factor if weights is None else factor * expand_dims(weights, -2)
            matrix = matrix + matmul(weighted, factor, transpose_b=True)
        return matrix, factor is None

    def _check_diagonal(self) -> None:
        if self._matrix is not None:
            self._matrix = _without_zeros(self._matrix, matrix_diag_part(self._matrix))
        elif self._diagonal is not None:
            self._diagonal = _without_zeros(self._diagonal, self._diagonal)
        elif self._multiplier is not None:
            self._multiplier = _without_zeros(self._multiplier, self._multiplier)

    @property
    def shift(self) -> Tensor | None:
        """What is added, or None."""
        return self._shift

    def _forward(self, x: Tensor) -> Tensor:
        if self._matrix is not None:
            y = products(self._matrix, x)
        elif self._diagonal is not None:
            y = x * self._diagonal
        else:
            y = x if self._multiplier is None else x * expand_dims(self._multiplier, -1)
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: Tensor) -> Tensor:
        x = y if self._shift is None else y - self._shift
        if self._matrix is not None:
            return solutions(
                self._matrix, x, matrix_triangular_solve if self._is_triangular else matrix_solve
            )
        if self._diagonal is not None:
            return x / self._diagonal
        return x if self._multiplier is None else x / expand_dims(self._multiplier, -1)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        if self._matrix is not None and self._is_triangular:
            return reduce_sum(log(abs_(matrix_diag_part(self._matrix))), -1)
        if self._matrix is not None:
            return slogdet(self._matrix)[1]
        if self._diagonal is not None:
            return reduce_sum(log(abs_(self._diagonal)), -1)
        if self._multiplier is None:
            return constant(0.0, dtype=x.dtype)
        return cast(shape(x)[-1], x.dtype) * log(abs_(self._multiplier))


def _without_zeros(value: Tensor, diagonal: Tensor) -> Tensor:
    check = assert_none_equal(diagonal, zeros_like(diagonal), message="diagonal part must be non-zero")
    with control_dependencies([check] if check is not None else []):
        return identity(value)


class Permute(Bijector):
    """The elements of vectors in another order (tf.contrib.distributions.bijectors.Permute).

    Args:
        permutation: For each element of y that of x, a vector of whole numbers.
        validate_args: Whether it is checked at the run that each number is there once.
        name: A name for the operations.

    Raises:
        TypeError: If `permutation` is not of whole numbers.
        ValueError: If it is known and has not each number once.

    Examples:
        >>> swapped = gf.contrib.distributions.bijectors.Permute([1, 2, 0])
        >>> with gf.Session() as session:
        ...     print(session.run(swapped.forward([0.0, 1.0, 2.0])))
        [1. 2. 0.]
    """

    def __init__(
        self, permutation: IntTensorLike, validate_args: bool = False, name: str | None = None
    ) -> None:
        with op_scope(name, "permute", [permutation]):
            self._permutation = convert_to_tensor(permutation, name="permutation")
        if not self._permutation.dtype.is_integer:
            raise TypeError(f"permutation.dtype ({self._permutation.dtype.name}) should be `int`-like.")
        known = constant_value(self._permutation)
        if known is not None and sorted(known.tolist()) != list(range(np.size(known))):
            raise ValueError(
                f"Permutation over `d` must contain exactly one of each of `{{0, 1, ..., d}}`, not {known.tolist()}."
            )
        if known is None and validate_args:
            ordered = sort(self._permutation)
            message = "Permutation over `d` must contain exactly one of each of `{0, 1, ..., d}`."
            check = assert_equal(ordered, cast(range_(size(ordered)), ordered.dtype), message=message)
            with control_dependencies([check] if check is not None else []):
                self._permutation = identity(self._permutation)
        super().__init__([self._permutation], True, validate_args, None, 1, name=name or "permute")

    @property
    def permutation(self) -> Tensor:
        """For each element of y that of x."""
        return self._permutation

    def _forward(self, x: Tensor) -> Tensor:
        return gather(x, self._permutation, axis=-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return gather(y, invert_permutation(self._permutation), axis=-1)

    def _forward_log_det_jacobian(self, x: Tensor) -> Tensor:
        return constant(0.0, dtype=x.dtype)

    def _inverse_log_det_jacobian(self, y: Tensor) -> Tensor:
        return constant(0.0, dtype=y.dtype)
