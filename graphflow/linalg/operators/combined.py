"""Operators made of other operators: products, adjoints, inverses, Kronecker products, blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add, mul
from typing import Any

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.ops.array.array import matrix_transpose
from graphflow._core.ops.array.joining import concat, split, stack
from graphflow._core.ops.array.layout import broadcast_dynamic_shape, broadcast_static_shape
from graphflow._core.ops.array.shaping import reshape, shape
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.linalg import adjoint as adjoint_of
from graphflow._core.ops.math.numeric import conj
from graphflow.linalg.operators.algebra import all_hint, implied, rule
from graphflow.linalg.operators.base import LinearOperator, same_batch


class _OfOne(LinearOperator):
    """What is made of one operator, and has its hints."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        """What is made of an operator.

        Args:
            operator: The operator.
            is_non_singular: As LinearOperator takes.
            is_self_adjoint: As LinearOperator takes.
            is_positive_definite: As LinearOperator takes.
            is_square: As LinearOperator takes.
            name: Its name, by default made of that of the operator.

        Raises:
            ValueError: If a hint contradicts that of the operator.
        """
        self.operator: LinearOperator = operator
        name = name or f"{operator.name}_{self._suffix()}"
        hints = (is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        words = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")
        found: dict[str, bool | None] = {}
        for word, given in zip(words, hints, strict=True):
            theirs = getattr(operator, word)
            if None not in (given, theirs) and given != theirs:
                raise ValueError(f"{name}: {word}={given}, but the operator has {word}={theirs}.")
            found[word] = theirs if given is None else given
        super().__init__(operator.dtype, operator.graph_parents, name=name, **found)

    def _suffix(self) -> str:
        raise NotImplementedError

    def _shape(self) -> TensorShape:
        dims = self.operator.shape
        if dims.ndims is None:
            return dims
        return dims[:-2].concatenate([dims[-1], dims[-2]])

    def _shape_tensor(self) -> Tensor:
        sizes = self.operator.shape_tensor()
        return concat([sizes[:-2], sizes[-1:], sizes[-2:-1]], 0)

    def _assert_non_singular(self) -> Operation:
        return self.operator.assert_non_singular()

    def _assert_positive_definite(self) -> Operation:
        return self.operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Operation:
        return self.operator.assert_self_adjoint()


class LinearOperatorAdjoint(_OfOne):
    """The adjoints of an operator's matrices."""

    def _suffix(self) -> str:
        return "adjoint"

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        found: Tensor = self.operator.matmul(x, not adjoint, adjoint_arg)
        return found

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        found: Tensor = self.operator.solve(rhs, not adjoint, adjoint_arg)
        return found

    def _determinant(self) -> Tensor:
        return conj(self.operator.determinant())

    def _log_abs_determinant(self) -> Tensor:
        return self.operator.log_abs_determinant()

    def _trace(self) -> Tensor:
        return conj(self.operator.trace())

    def _diag_part(self) -> Tensor:
        return conj(self.operator.diag_part())

    def _to_dense(self) -> Tensor:
        return adjoint_of(self.operator.to_dense())


class LinearOperatorInversion(_OfOne):
    """The inverses of an operator's matrices: products with them are solutions."""

    def _suffix(self) -> str:
        self.operator._check_solvable()
        return "inv"

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        found: Tensor = self.operator.solve(x, adjoint, adjoint_arg)
        return found

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        found: Tensor = self.operator.matmul(rhs, adjoint, adjoint_arg)
        return found

    def _determinant(self) -> Tensor:
        return 1.0 / self.operator.determinant()

    def _log_abs_determinant(self) -> Tensor:
        return -1.0 * self.operator.log_abs_determinant()


class _OfSeveral(LinearOperator):
    """What is made of several operators of one dtype: what is true of all of them is true of it, for most hints."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        """What is made of operators.

        Args:
            operators: The operators, at least one.
            is_non_singular: As LinearOperator takes; true by itself if all are.
            is_self_adjoint: As LinearOperator takes.
            is_positive_definite: As LinearOperator takes.
            is_square: As LinearOperator takes.
            name: Its name, by default made of those of the operators.

        Raises:
            TypeError: If the dtypes differ.
            ValueError: If there are no operators, or a hint is not true.
        """
        self.operators: list[LinearOperator] = list(operators)
        if not self.operators:
            raise ValueError(f"{type(self).__name__}: at least one operator is needed, got none.")
        name = name or self._separator().join(one.name for one in self.operators)
        if len({one.dtype for one in self.operators}) > 1:
            listed = ", ".join(f"{one.name}: {one.dtype.name}" for one in self.operators)
            raise TypeError(f"{name}: all operators need the same dtype, got {listed}.")

        def follows(given: bool | None, word: str) -> bool | None:
            every = all(getattr(one, word) for one in self.operators)
            return implied(given, every, f"{name}: all operators have {word}, so it has.")

        is_non_singular = follows(is_non_singular, "is_non_singular")
        if self._keeps_hints():
            is_self_adjoint = follows(is_self_adjoint, "is_self_adjoint")
            is_positive_definite = follows(is_positive_definite, "is_positive_definite")
        parents = [parent for one in self.operators for parent in one.graph_parents]
        super().__init__(
            self.operators[0].dtype, parents, is_non_singular, is_self_adjoint, is_positive_definite,
            is_square, name,
        )  # fmt: skip

    def _separator(self) -> str:
        raise NotImplementedError

    def _keeps_hints(self) -> bool:
        return True

    def _all_squares(self) -> bool:
        return all(one.is_square for one in self.operators)

    def _batch_static(self) -> TensorShape:
        return reduce(broadcast_static_shape, [one.batch_shape for one in self.operators])

    def _batch_dynamic(self) -> Tensor:
        return reduce(broadcast_dynamic_shape, [one.batch_shape_tensor() for one in self.operators])

    def _static(self, axis: int) -> list[int | None]:
        return [one.shape.as_list()[axis] for one in self.operators]

    def _shape(self) -> TensorShape:
        if any(one.shape.ndims is None for one in self.operators):
            return TensorShape(None)
        sides = [self._one_side(self._static(axis), axis) for axis in (-2, -1)]
        return self._batch_static().concatenate(sides)

    def _shape_tensor(self) -> Tensor:
        every = [one.shape_tensor() for one in self.operators]
        sides = [self._one_side([sizes[axis] for sizes in every], axis) for axis in (-2, -1)]
        return concat([self._batch_dynamic(), stack(sides)], 0)

    def _one_side(self, sizes: list[Any], axis: int) -> Any:
        """The number of rows (axis -2) or of columns (axis -1), None if it is not known, of those of the operators."""
        raise NotImplementedError


class LinearOperatorComposition(_OfSeveral):
    """The product of operators, of which the last is applied first."""

    def _separator(self) -> str:
        for left, right in zip(self.operators, self.operators[1:]):
            if not left.domain_dimension.is_compatible_with(right.range_dimension):
                raise ValueError(f"{left.shape} and {right.shape} cannot be multiplied.")
        return "_o_"

    def _keeps_hints(self) -> bool:
        return False

    def _one_side(self, sizes: list[Any], axis: int) -> Any:
        return sizes[0] if axis == -2 else sizes[-1]

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        for one in self.operators if adjoint else self.operators[::-1]:
            x = one.matmul(x, adjoint, adjoint_arg)
            adjoint_arg = False
        return x

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if not self._all_squares():
            return super()._solve(rhs, adjoint, adjoint_arg)
        for one in self.operators[::-1] if adjoint else self.operators:
            rhs = one.solve(rhs, adjoint, adjoint_arg)
            adjoint_arg = False
        return rhs

    def _determinant(self) -> Tensor:
        if not self._all_squares():
            return super()._determinant()
        return reduce(mul, [one.determinant() for one in self.operators])

    def _log_abs_determinant(self) -> Tensor:
        if not self._all_squares():
            return super()._log_abs_determinant()
        return reduce(add, [one.log_abs_determinant() for one in self.operators])


class LinearOperatorKronecker(_OfSeveral):
    """The Kronecker product of operators."""

    def _separator(self) -> str:
        return "_x_"

    def _one_side(self, sizes: list[Any], axis: int) -> Any:
        return None if None in sizes else reduce(mul, sizes)

    def _each(self, x: Tensor, step: Callable[[LinearOperator, Tensor], Tensor], rows: bool) -> Tensor:
        """Applies each factor to its own axis of the columns of matrices.

        The factor's axis comes first and goes last after it, behind the axis of the columns, which is first in the end.
        """
        columns = shape(x)[-1]
        for one in self.operators:
            x = reshape(x, concat([shape(x)[:-2], stack([one._rows() if rows else one._columns(), -1])], 0))
            x = matrix_transpose(step(one, x))
        return matrix_transpose(reshape(x, concat([shape(x)[:-2], stack([columns, -1])], 0)))

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return self._each(x, lambda one, part: one.matmul(part, adjoint), adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if not self._all_squares():
            return super()._solve(rhs, adjoint, adjoint_arg)
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return self._each(rhs, lambda one, part: one.solve(part, adjoint), True)

    def _others(self, one: LinearOperator) -> Tensor:
        """How often an operator's determinant counts: as often as the others together have rows."""
        times: Tensor = cast(self._rows() // one._rows(), self.dtype)
        return times

    def _determinant(self) -> Tensor:
        if not self._all_squares():
            return super()._determinant()
        return reduce(mul, [one.determinant() ** self._others(one) for one in self.operators])

    def _log_abs_determinant(self) -> Tensor:
        if not self._all_squares():
            return super()._log_abs_determinant()
        return reduce(add, [one.log_abs_determinant() * self._others(one) for one in self.operators])

    def _trace(self) -> Tensor:
        if not self._all_squares():
            return super()._trace()
        return reduce(mul, [one.trace() for one in self.operators])

    def _assert_non_singular(self) -> Operation:
        return group(*[one.assert_non_singular() for one in self.operators])


class LinearOperatorBlockDiag(_OfSeveral):
    """Square operators as blocks along the diagonal of one."""

    def __init__(
        self,
        operators: Sequence[LinearOperator],
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        """An operator of blocks.

        Args:
            operators: The blocks, at least one, each square.
            is_non_singular: As LinearOperator takes; true by itself if all are.
            is_self_adjoint: As LinearOperator takes; true by itself if all are.
            is_positive_definite: As LinearOperator takes; true by itself if all are.
            is_square: As LinearOperator takes; true by itself.
            name: Its name, by default made of those of the operators.

        Raises:
            TypeError: If the dtypes differ.
            ValueError: If there are no operators, one is not square, or a hint is not true.
        """
        super().__init__(operators, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name)
        if not (is_square and self._all_squares()):
            raise ValueError(f"{self.name}: the blocks of a diagonal need to be square.")

    def _separator(self) -> str:
        return "_ds_"

    def _one_side(self, sizes: list[Any], axis: int) -> Any:
        return None if None in sizes else reduce(add, sizes)

    def _each(self, x: Tensor, step: Callable[[LinearOperator, Tensor], Tensor]) -> Tensor:
        """Applies each block to its own rows of matrices."""
        sizes = [one._rows() for one in self.operators]
        known = all(isinstance(size, int) for size in sizes)
        parts = split(x, sizes if known else stack(sizes), axis=-2, num=len(sizes))
        return concat(same_batch(*map(step, self.operators, parts)), -2)

    def _matmul(self, x: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        x = adjoint_of(x) if adjoint_arg else x
        return self._each(x, lambda one, part: one.matmul(part, adjoint))

    def _solve(self, rhs: Tensor, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        return self._each(rhs, lambda one, part: one.solve(part, adjoint))

    def _determinant(self) -> Tensor:
        return reduce(mul, [one.determinant() for one in self.operators])

    def _log_abs_determinant(self) -> Tensor:
        return reduce(add, [one.log_abs_determinant() for one in self.operators])

    def _trace(self) -> Tensor:
        return reduce(add, [one.trace() for one in self.operators])

    def _assert_non_singular(self) -> Operation:
        return group(*[one.assert_non_singular() for one in self.operators])

    def _assert_positive_definite(self) -> Operation:
        return group(*[one.assert_positive_definite() for one in self.operators])

    def _assert_self_adjoint(self) -> Operation:
        return group(*[one.assert_self_adjoint() for one in self.operators])


def _of_each(one: _OfSeveral, operators: Sequence[LinearOperator]) -> LinearOperator:
    """The same of other operators, with the same hints."""
    hints = (one.is_non_singular, one.is_self_adjoint, one.is_positive_definite, one.is_square)
    return type(one)(operators, *hints)


@rule("adjoint", LinearOperator)
def _adjoint(one: LinearOperator) -> LinearOperator:
    return LinearOperatorAdjoint(one)


@rule("inverse", LinearOperator)
def _inverse(one: LinearOperator) -> LinearOperator:
    return LinearOperatorInversion(one)


@rule("adjoint", LinearOperatorAdjoint)
@rule("inverse", LinearOperatorInversion)
def _back(one: _OfOne) -> LinearOperator:
    return one.operator


@rule("adjoint", LinearOperatorKronecker)
@rule("adjoint", LinearOperatorBlockDiag)
def _each_adjoint(one: _OfSeveral) -> LinearOperator:
    return _of_each(one, [each.adjoint() for each in one.operators])


@rule("inverse", LinearOperatorKronecker)
@rule("inverse", LinearOperatorBlockDiag)
def _each_inverse(one: _OfSeveral) -> LinearOperator:
    return _of_each(one, [each.inverse() for each in one.operators])


@rule("cholesky", LinearOperatorKronecker)
@rule("cholesky", LinearOperatorBlockDiag)
def _each_cholesky(one: _OfSeveral) -> LinearOperator:
    return type(one)([each.cholesky() for each in one.operators], True, is_square=True)


@rule("matmul", LinearOperator, LinearOperator)
def _product(one: LinearOperator, other: LinearOperator) -> LinearOperator:
    return LinearOperatorComposition(
        [one, other], all_hint([one.is_non_singular, other.is_non_singular]), is_square=_square(one, other)
    )


@rule("solve", LinearOperator, LinearOperator)
def _quotient(one: LinearOperator, other: LinearOperator) -> LinearOperator:
    non_singular = all_hint([one.is_non_singular, other.is_non_singular])
    return LinearOperatorComposition([one.inverse(), other], non_singular, is_square=_square(one, other))


@rule("solve", LinearOperatorInversion, LinearOperator)
def _multiplied(one: LinearOperatorInversion, other: LinearOperator) -> LinearOperator:
    found: LinearOperator = one.operator.matmul(other)
    return found


def _square(one: LinearOperator, other: LinearOperator) -> bool | None:
    return all_hint([one.is_square, other.is_square])
