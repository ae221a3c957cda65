"""Datasets that call functions: map, filter, flat_map and interleave."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.plan.functions import LoweredFunction
from graphflow._core.plan.ir import Origin
from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.base import (
    INTERRUPTIONS,
    Block,
    Context,
    DatasetBase,
    Element,
    Elements,
    owned,
)
from graphflow._core.resources.datasets.states import State

_TOGETHER = 256
"""How many elements are made at once for a buffer: a block of them stays in the processor's cache."""


class FunctionDataset(DatasetBase):
    """The elements of a dataset, and a function of each: what the datasets of this module have in common.

    captured: values of the function's last inputs.
    """

    def __init__(
        self, origin: Origin, source: DatasetBase, function: LoweredFunction, captured: Sequence[Any]
    ) -> None:
        super().__init__(origin)
        self.source = source
        self.function = function
        self.captured = tuple(captured)

    def call(self, runner: Any, element: Element) -> tuple[Any, ...]:
        """The function's outputs for an element; its errors also name this dataset."""
        try:
            result: tuple[Any, ...] = runner((*element, *self.captured))
            return result
        except errors.OpError as error:
            raise self.within(error) from error

    def within(self, error: errors.OpError) -> errors.OpError:
        """An error of the function, which says where the function is used."""
        kind: Any = type(error)
        return kind(None, error.op, f"{error.message}\nIn the function of {self.origin}.")  # type: ignore[no-any-return]


class MapDataset(FunctionDataset):
    """A function of each element.

    nested: whether it gives datasets. keeps_count: whether it is an error if the function comes to an end by itself, as
    by StopIteration of a Python function; otherwise the elements end there.
    """

    nested = False
    keeps_count = False

    def cardinality(self) -> int:
        """As many as the source has."""
        return self.source.cardinality()

    def walk(self, context: Context) -> Elements:
        """A walk from the first element on."""
        return MapElements(self, self.source.walk(context), context)

    def within(self, error: errors.OpError) -> errors.OpError:
        """An error of the function, which says where the function is used."""
        found = super().within(error)
        if not self.keeps_count or not isinstance(error, errors.OutOfRangeError):
            return found
        text = f"Function invocation produced OutOfRangeError: {found.message}"
        return errors.InvalidArgumentError(None, found.op, text)

    def call(self, runner: Any, element: Element) -> tuple[Any, ...]:
        """The function's outputs for an element; those that are datasets can be made again."""
        if not self.nested:
            return super().call(runner, element)
        drawn = runner.get_state() if runner.random else {}
        call = self.function.name, (*element, *self.captured), drawn
        found = super().call(runner, element)
        return tuple(
            MadeDataset(self.origin, call, number, value) if isinstance(value, DatasetBase) else value
            for number, value in enumerate(found)
        )


class MadeDataset(DatasetBase):
    """A dataset that a function gave: a state holds the call, which makes it again.

    call: the function's name, its arguments, and the random states before it. output: which of the results it is.
    """

    kept_as = "call"

    def __init__(
        self, origin: Origin, call: tuple[str, Element, State], output: int, made: DatasetBase | None
    ) -> None:
        super().__init__(origin)
        self._call = call
        self._output = output
        self._made = made

    def walk(self, context: Context) -> Elements:
        """A walk over the dataset, which is made if it came from a state."""
        if self._made is None:
            name, arguments, drawn = self._call
            runner = context.function_named(name)
            now = runner.get_state()
            runner.set_state(drawn)
            self._made = runner(arguments)[self._output]
            runner.set_state(now)
        return self._made.walk(context)

    def as_state(self) -> State:
        """The call."""
        name, arguments, drawn = self._call
        state: State = {"function": states.text(name), "output": states.number(self._output)}
        states.put_origin(state, self.origin)
        states.put_elements(state, "arguments", [arguments])
        states.put(state, "drawn", drawn)
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> MadeDataset:
        """The dataset of a call."""
        (arguments,) = states.get_elements(state, "arguments") or [()]
        call = states.get_text(state, "function"), arguments, states.get(state, "drawn")
        return cls(states.get_origin(state), call, states.integer(state, "output"), None)


class _FunctionElements(Elements):
    """A walk that calls a function for each element of another walk, or for many at once."""

    def __init__(self, dataset: FunctionDataset, inner: Elements, context: Context) -> None:
        self._dataset = dataset
        self._inner = inner
        self._runner = context.function(dataset.function)
        self._pending: deque[Element] = deque()
        """Elements that were taken together; since one of them failed, they are made one by one."""
        self._late: errors.OpError | None = None
        """What the source failed with after the pending elements."""

    def get_state(self) -> State:
        """The source's position, and what was taken from it."""
        state: State = {}
        states.put_elements(state, "pending", list(self._pending))
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Restores a state that get_state returned."""
        self._pending = deque(states.get_elements(state, "pending"))
        self._inner.set_state(states.get(state, "source"))


class MapElements(_FunctionElements):
    """A walk over what a function makes of each element."""

    fresh = True

    def next(self, run: Any) -> Element | None:
        """The function of the next element."""
        element: Element | None
        if self._pending:
            element = self._pending.popleft()
        elif self._late is not None:
            error, self._late = self._late, None
            raise error
        else:
            element = self._inner.next(run)
        try:
            return None if element is None else self._dataset.call(self._runner, element)
        except errors.OutOfRangeError:
            return None  # The function came to an end by itself.

    def block(self, run: Any, count: int) -> Block:
        """The function of the next elements."""
        taken = None if self._pending or self._late is not None else self._taken(run, count)
        if taken is None:
            return super().block(run, count)
        if not taken.count:
            return taken
        found = self._together(taken)
        if found is not None:
            return Block(taken.count, found)
        self._pending.extend(taken.elements())
        return super().block(run, count)

    def extend(self, run: Any, found: list[Element], count: int) -> bool:
        """Appends the function of the next elements, made together if that can be."""
        while count and not self._pending and self._late is None and self._runner.takes_rows:
            asked = min(count, _TOGETHER)
            taken = self._taken(run, asked)
            if taken is None:
                break
            columns = self._together(taken) if taken.count else ()
            if columns is None:
                self._pending.extend(taken.elements())
                break
            found += [tuple([owned(value) for value in e]) for e in Block(taken.count, columns).elements()]
            count -= taken.count
            if taken.count < asked:
                break
        return super().extend(run, found, count)

    def _taken(self, run: Any, count: int) -> Block | None:
        """The next elements of the source. None if it fails: those before the error are pending then, and the error
        comes after them, as it does if elements are made one by one.
        """
        if self._inner.table is not None or not self._runner.takes_rows:
            return self._inner.block(run, count)
        rows: list[Element] = []
        try:
            self._inner.extend(run, rows, count)
        except INTERRUPTIONS:
            self._pending.extend(rows)
            raise
        except errors.OpError as error:
            self._pending.extend(rows)
            self._late = error
            return None
        return Block.of(rows).stacked()

    def _together(self, taken: Block) -> Sequence[np.ndarray[Any, Any]] | None:
        """The function of some elements at once, in columns; None if that cannot be done."""
        if taken.columns is None:
            return None
        found: Sequence[np.ndarray[Any, Any]] | None = self._runner.rows(
            taken.columns, self._dataset.captured, taken.count
        )
        return found


class FilterDataset(FunctionDataset):
    """The elements for which a function is true."""

    def walk(self, context: Context) -> Elements:
        """A walk from the first element on."""
        return FilterElements(self, self.source.walk(context), context)


class FilterElements(_FunctionElements):
    """A walk that leaves elements out."""

    def __init__(self, dataset: FilterDataset, inner: Elements, context: Context) -> None:
        super().__init__(dataset, inner, context)
        self.fresh = inner.fresh

    def next(self, run: Any) -> Element | None:
        """The next element that is kept."""
        while True:
            element = self._pending.popleft() if self._pending else self._inner.next(run)
            if element is None or bool(self._dataset.call(self._runner, element)[0]):
                return element

    def block(self, run: Any, count: int) -> Block:
        """The next elements that are kept."""
        if self._inner.table is None or self._pending:
            return super().block(run, count)
        parts: list[np.ndarray[Any, Any]] = []
        table, kept = self._inner.table, 0
        while kept < count:
            ids = self._inner.ids(run, count - kept)
            asked = count - kept
            if len(ids):
                columns = table.gather(ids)
                mask = self._runner.rows(columns, self._dataset.captured, len(ids))
                if mask is None:
                    self._pending.extend(Block(len(ids), columns).elements())
                    rest = super().block(run, count - kept)
                    before = Block(kept, table.gather(np.concatenate(parts))).elements() if kept else []
                    return Block.of([*before, *rest.elements()])
                parts.append(ids[mask[0]])
                kept += len(parts[-1])
            if len(ids) < asked:
                break
        ids = np.concatenate(parts) if parts else np.empty(0, np.int64)
        return Block(len(ids), table.gather(ids))


class _Opened:
    """The dataset that a function made of one element, and the walk over it.

    The function's random states before the call are kept, so that it makes the same dataset again after a restore.
    """

    def __init__(self, dataset: FunctionDataset, runner: Any, context: Context, element: Element) -> None:
        self.element = element
        self.drawn = runner.get_state() if runner.random else {}
        (inner,) = dataset.call(runner, element)
        self.walk = inner.walk(context)

    def get_state(self) -> State:
        state: State = {}
        states.put_elements(state, "element", [self.element])
        states.put(state, "drawn", self.drawn)
        states.put(state, "walk", self.walk.get_state())
        return state


class InterleaveDataset(FunctionDataset):
    """The elements of the datasets that a function makes of each element, some datasets at a time in turns.

    cycle: how many are open at once. length: how many elements in a row come from one. With one open at a time it is
    flat_map.
    """

    def __init__(
        self,
        origin: Origin,
        source: DatasetBase,
        function: LoweredFunction,
        captured: Sequence[Any],
        cycle: int = 1,
        length: int = 1,
    ) -> None:
        super().__init__(origin, source, function, captured)
        self.cycle = cycle
        self.length = length

    def walk(self, context: Context) -> Elements:
        """A walk from the first element on."""
        return InterleaveElements(self, self.source.walk(context), context)


class InterleaveElements(Elements):
    """A walk over several walks in turns; the order is TensorFlow's."""

    def __init__(self, dataset: InterleaveDataset, inner: Elements, context: Context) -> None:
        self._dataset = dataset
        self._inner = inner
        self._context = context
        self._runner = context.function(dataset.function)
        self._open: list[_Opened | None] = [None] * dataset.cycle
        self._turn = 0
        self._in_turn = 0
        self._exhausted = False

    def next(self, run: Any) -> Element | None:
        """The next element of the dataset whose turn it is."""
        while not self._exhausted or any(self._open):
            current = self._open[self._turn]
            if current is not None:
                element: Element | None = current.walk.next(run)
                if element is not None:
                    self._in_turn += 1
                    if self._in_turn == self._dataset.length:
                        self._advance()
                    return element
                self._open[self._turn] = None
                self._advance()
            elif self._exhausted:
                self._advance()
            else:
                taken = self._inner.next(run)
                if taken is None:
                    self._exhausted = True
                else:
                    self._open[self._turn] = _Opened(self._dataset, self._runner, self._context, taken)
        return None

    def _advance(self) -> None:
        self._in_turn = 0
        self._turn = (self._turn + 1) % self._dataset.cycle

    def get_state(self) -> State:
        """The source's position, and those in the open datasets."""
        state = {
            "turn": states.number(self._turn),
            "in_turn": states.number(self._in_turn),
            "exhausted": states.number(self._exhausted),
        }
        for number, opened in enumerate(self._open):
            if opened is not None:
                states.put(state, f"open{number}", opened.get_state())
        states.put(state, "source", self._inner.get_state())
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on there: the open datasets are made of their elements again."""
        self._turn, self._in_turn = states.integer(state, "turn"), states.integer(state, "in_turn")
        self._exhausted = bool(states.integer(state, "exhausted"))
        self._inner.set_state(states.get(state, "source"))
        now = self._runner.get_state()
        for number in range(self._dataset.cycle):
            saved = states.get(state, f"open{number}")
            self._open[number] = None
            if saved:
                (element,) = states.get_elements(saved, "element")
                self._runner.set_state(states.get(saved, "drawn"))
                opened = _Opened(self._dataset, self._runner, self._context, element)
                opened.walk.set_state(states.get(saved, "walk"))
                self._open[number] = opened
        self._runner.set_state(now)
