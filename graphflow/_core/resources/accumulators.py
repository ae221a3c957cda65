"""Accumulators of gradients: what runs of workers add, and one run takes, once there is enough of it.

An accumulator counts steps. A gradient of an earlier step than its own came too late: it is dropped. Taking the
gradients begins the next step. A run that takes and is given up puts its gradients back.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np

from graphflow._core.common.records import dataclass
from graphflow._core.common.waiting.conditions import Condition
from graphflow._core.graph import shapes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.shapes import Dims
from graphflow.errors import InvalidArgumentError

_LOG: Final = logging.getLogger("graphflow")
Array: TypeAlias = "np.ndarray[Any, Any]"
Sum = TypeVar("Sum")
"""What gradients have been added up to."""


@dataclass(frozen=True)
class AccumulatorConfig:
    """The settings of an accumulator; two ops that share one must have the same.

    dims: of the gradients. mean: whether it gives their mean, otherwise it gives their sum.
    """

    kind: str
    dtype: DType
    dims: Dims
    mean: bool


def _invalid(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, text)


class Accumulator(Generic[Sum]):
    """What dense and sparse accumulators share. Thread-safe; Saveable."""

    def __init__(self, name: str, config: AccumulatorConfig) -> None:
        self.config = config
        self.title = f"{config.kind} {name!r}"
        """The accumulator as messages call it."""
        self._condition = Condition()
        self._sum: Sum | None = None
        self._count = 0
        self._step = 0
        self._late = 0
        """How many gradients of this step's time came too late."""
        self._life = 0
        """How often its state was set. Gradients that were taken before that do not go back."""

    # ---- what the two kinds differ in -----------------------------------------------------------------------------

    @abstractmethod
    def _checked(self, gradient: tuple[Array, ...]) -> Sum:
        """A gradient as a sum of one; InvalidArgumentError if it does not fit."""

    @abstractmethod
    def _fits(self, held: Sum, more: Sum) -> None:
        """InvalidArgumentError if two sums have different shapes."""

    @abstractmethod
    def _added(self, held: Sum, more: Sum) -> Sum:
        """The sum of two, which may be the first, changed."""

    @abstractmethod
    def _result(self, held: Sum, count: int) -> Any:
        """What a run gets that takes."""

    @abstractmethod
    def _arrays(self, held: Sum) -> dict[str, Array]:
        """A sum as arrays by name, for a checkpoint."""

    @abstractmethod
    def _of_arrays(self, arrays: Mapping[str, Array]) -> Sum:
        """What `_arrays` was given."""

    # ---- adding and taking ----------------------------------------------------------------------------------------

    def check_same(self, asked: AccumulatorConfig) -> None:
        """InvalidArgumentError if another op that shares this accumulator asks for another kind."""
        if asked != self.config:
            raise _invalid(
                f"The shared {self.title} is {self.config}, but {asked} is asked for. Use another shared_name."
            )

    def apply(self, run: Any, local_step: int, gradient: tuple[Array, ...]) -> None:
        """Adds a gradient, unless it is of an earlier step."""
        more = self._checked(gradient)
        with self._condition:
            if local_step < self._step:
                self._late += 1
                return
            if self._sum is not None:
                self._fits(self._sum, more)
            run.begin_change()
            self._add(more, 1)

    def _add(self, more: Sum, count: int) -> None:
        self._sum = more if self._sum is None else self._added(self._sum, more)
        self._count += count
        self._condition.notify_all()

    def take(self, run: Any, required: int) -> Any:
        """The mean or the sum of all gradients, once there are `required`; then there is none, and the step is next."""
        if required < 1:
            raise _invalid(f"num_required must be at least 1, got {required}: {self.title} gives gradients.")

        def attempt() -> tuple[Sum, int] | None:
            if self._count < required:
                return None
            assert self._sum is not None
            taken, step = (self._sum, self._count), self._step
            self._sum, self._count, self._late = None, 0, 0
            self._step += 1
            run.took(partial(self._give_back, *taken, step, self._life))
            return taken

        return self._result(*run.store.wait(self._condition, attempt, run, self._awaited(run, required)))

    def _awaited(self, run: Any, required: int) -> Callable[[], str]:
        def awaited() -> str:
            late = f"; {self._late} came too late and were dropped" if self._late else ""
            absent = sorted(run.store.absent.since(also_unmet=True))
            gone = f"; absent are {', '.join(absent)}" if absent else ""
            return (
                f"gradients in {self.title}: {self._count} of {required} have been applied for step {self._step}"
                f"{late}{gone}"
            )

        return awaited

    def _give_back(self, taken: Sum, count: int, step: int, life: int) -> None:
        with self._condition:
            if life != self._life:
                return
            self._step = min(self._step, step)
            try:
                if self._sum is not None:
                    self._fits(self._sum, taken)
            except InvalidArgumentError as error:
                _LOG.warning("%d gradients of a run that was given up are lost: %s", count, error.message)
                return
            self._add(taken, count)

    def set_step(self, run: Any, step: int) -> None:
        """Sets the step: gradients of earlier ones are dropped from now on."""
        with self._condition:
            if step < self._step:
                _LOG.warning("%s goes back from step %d to %d.", self.title, self._step, step)
            run.begin_change()
            self._step = step

    @property
    def count(self) -> int:
        """How many gradients it holds."""
        return self._count

    # ---- saving ---------------------------------------------------------------------------------------------------

    def get_state(self) -> Mapping[str, Any]:
        """What it holds: "count", "step", and the arrays of the sum, if there is one."""
        with self._condition:
            held = {} if self._sum is None else self._arrays(self._sum)
            counts = {"count": np.array(self._count), "step": np.array(self._step)}
            return counts | {name: array.copy() for name, array in held.items()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned; ValueError for anything that it cannot have returned."""
        try:
            count, step = int(state["count"]), int(state["step"])
            held = self._of_arrays(state) if count else None
        except (KeyError, TypeError) as error:
            raise ValueError(f"The state is not one of {self.title}: {error}.") from error
        with self._condition:
            self._life += 1
            self._sum, self._count, self._step, self._late = held, count, step, 0
            self._condition.notify_all()


class DenseAccumulator(Accumulator[Array]):
    """Gradients that are arrays of one shape."""

    def _checked(self, gradient: tuple[Array, ...]) -> Array:
        (value,) = gradient
        if not shapes.compatible(self.config.dims, np.shape(value)):
            raise _invalid(
                f"{self.title} takes gradients of shape {shapes.text(self.config.dims)}, got "
                f"{shapes.text(np.shape(value))}."
            )
        return np.array(value)

    def _fits(self, held: Array, more: Array) -> None:
        if held.shape != more.shape:
            raise _invalid(
                f"{self.title} holds gradients of shape {shapes.text(held.shape)}, got {shapes.text(more.shape)}."
            )

    def _added(self, held: Array, more: Array) -> Array:
        held += more
        return held

    def _result(self, held: Array, count: int) -> Any:
        found = held / held.dtype.type(count) if self.config.mean else held
        return np.asarray(found, held.dtype)[()]

    def _arrays(self, held: Array) -> dict[str, Array]:
        return {"sum": held}

    def _of_arrays(self, arrays: Mapping[str, Array]) -> Array:
        return self._checked((np.array(arrays["sum"], self.config.dtype.native),))


@dataclass(frozen=True)
class Rows:
    """Rows of a sum by their index, in order, each once; counts: how many gradients have had each of them."""

    indices: Array
    values: Array
    counts: Array


class SparseAccumulator(Accumulator[Rows]):
    """Gradients that are rows by index. A mean is that of the gradients that have had a row, not that of all."""

    def _checked(self, gradient: tuple[Array, ...]) -> Rows:
        indices, values, *given = gradient
        self._check_rows(indices, values)
        dims = self.config.dims or ()
        if given:
            self._check_dims("shape", dims, tuple(given[0].tolist()))
        limit = given[0][0] if given and len(given[0]) else dims[0] if dims else None
        if limit is not None and np.any(wrong := (indices < 0) | (indices >= limit)):
            slice_ = int(np.argmax(wrong))
            raise _invalid(
                f"{self.title}: Shape mismatch: index of slice {slice_} exceeded limits of shape; index is "
                f"{indices[slice_]} exceeded {limit}: its rows are 0 to {limit - 1}."
            )
        self._check_dims("values", (None, *dims[1:]) if dims else (), values.shape)
        return _summed(indices, values, np.ones_like(indices), once=True)

    def _check_rows(self, indices: Array, values: Array) -> None:
        if np.ndim(indices) != 1:
            raise _invalid(
                f"{self.title}: Input indices should be vector but received shape: {shapes.text(np.shape(indices))}."
            )
        if not np.ndim(values):
            raise _invalid(
                f"{self.title}: Values cannot be 0-dimensional. Their first axis is that of the indices."
            )
        if len(values) != len(indices):
            raise _invalid(
                f"{self.title}: Expected {len(indices)} non-empty input values, got {len(values)}: a row for "
                "each index."
            )

    def _check_dims(self, what: str, expected: tuple[int | None, ...], found: tuple[int, ...]) -> None:
        """The axes that are expected must be there; behind them there may be others."""
        if len(found) < len(expected):
            raise _invalid(
                f"{self.title}: Shape mismatch: expected {what} rank at least {len(expected)}, got {len(found)}."
            )
        for axis, (wanted, given) in enumerate(zip(expected, found, strict=False)):
            if wanted is not None and wanted != given:
                raise _invalid(
                    f"{self.title}: Shape mismatch: expected {what} dim {axis} to be {wanted}, got {given}."
                )

    def _fits(self, held: Rows, more: Rows) -> None:
        if held.values.shape[1:] != more.values.shape[1:]:
            self._check_like(held.values.shape, more.values.shape)

    def _check_like(self, held: tuple[int, ...], more: tuple[int, ...]) -> None:
        """Raises that rows of one shape cannot be added to those of another."""
        if len(held) != len(more):
            raise _invalid(
                f"{self.title}: Shape mismatch: expected values rank {len(held)}, got {len(more)}."
            )
        axis = next(axis for axis in range(1, len(held)) if held[axis] != more[axis])
        raise _invalid(
            f"{self.title}: Shape mismatch: expected values dim {axis} to be {held[axis]}, got {more[axis]}."
        )

    def _added(self, held: Rows, more: Rows) -> Rows:
        return _summed(
            np.concatenate([held.indices, more.indices]),
            np.concatenate([held.values, more.values]),
            np.concatenate([held.counts, more.counts]),
        )

    def _result(self, held: Rows, count: int) -> Any:
        values = held.values
        if self.config.mean:
            each = held.counts.reshape([-1, *[1] * (values.ndim - 1)])
            values = (values / each.astype(values.dtype)).astype(values.dtype)
        first = self.config.dims[0] if self.config.dims else None
        return held.indices, values, np.array([-1 if first is None else first, *values.shape[1:]], np.int64)

    def _arrays(self, held: Rows) -> dict[str, Array]:
        return {"indices": held.indices, "values": held.values, "counts": held.counts}

    def _of_arrays(self, arrays: Mapping[str, Array]) -> Rows:
        indices, counts = (np.array(arrays[name], np.int64) for name in ("indices", "counts"))
        values = np.array(arrays["values"], self.config.dtype.native)
        self._check_rows(indices, values)
        return Rows(indices, values, counts)


def _summed(indices: Array, values: Array, counts: Array, once: bool = False) -> Rows:
    """The rows by index, those of one index added; once: they are of one gradient."""
    found, position = np.unique(indices, return_inverse=True)
    total = np.zeros((len(found), *values.shape[1:]), values.dtype)
    np.add.at(total, position, values)
    number = np.zeros_like(found)
    np.add.at(number, position, counts)
    return Rows(found, total, np.minimum(number, 1) if once else number)
