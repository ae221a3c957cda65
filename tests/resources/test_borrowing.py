"""Protects borrowed values of variables: a borrower sees no later change; without one nothing is copied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphflow._core.graph import dtypes
from graphflow._core.resources.borrowing import BORROW_FROM_BYTES, borrowed_from
from graphflow._core.resources.store import ResourceStore
from graphflow._core.resources.variables import VariableCell
from graphflow._core.transport.shared import PartnerMemory, SharedMemory

COUNT = max(BORROW_FROM_BYTES, 64 << 10) // 4


@pytest.fixture(params=[False, True], ids=["alone", "shared"])
def store(request: pytest.FixtureRequest) -> Iterator[ResourceStore]:
    yield from _store(request.param)


def _store(shares: bool) -> Iterator[ResourceStore]:
    memory = SharedMemory()
    memory.has_partners = shares and memory.usable
    found = ResourceStore()
    found.memory = memory
    found.enter()
    yield found
    memory.close()


def _cell(store: ResourceStore, name: str = "v", value: float = 0) -> VariableCell:
    cell = store.variable(name, dtypes.float32, ("here.py", 1), (COUNT,))
    cell.assign(np.full(COUNT, value, np.float32))
    return cell


def _modify(cell: VariableCell, number: int) -> None:
    def change(array: Any) -> None:
        array[:] = number

    cell.modify(change)


def _together(cell: VariableCell, number: int) -> None:
    def change(arrays: list[Any]) -> None:
        for array in arrays:
            array[:] = number

    VariableCell.change_together([cell], change)


CHANGES: dict[str, Callable[[VariableCell, int], None]] = {
    "assign": lambda cell, number: cell.assign(np.full(COUNT, number, np.float32)),
    "update": lambda cell, number: cell.update(lambda old, out: np.add(0 * old, number, out=out)),
    "modify": _modify,
    "together": _together,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_made_in_place_when_the_loan_has_ended_and_not_before(
    store: ResourceStore, change: str
) -> None:
    cell = _cell(store, value=1)
    borrowed = cell.borrow()
    view = borrowed.reshape(2, -1)[1].view(np.uint8)
    kept = view.copy()
    before = cell.value
    del borrowed
    CHANGES[change](cell, 2)
    assert cell.value is not before and cell.value[0] == cell.value[-1] == 2
    np.testing.assert_array_equal(view, kept)
    del view
    before = cell.value
    CHANGES[change](cell, 3)
    assert cell.value is before and cell.value[0] == cell.value[-1] == 3


def test_a_loan_is_read_only_and_no_copy_from_the_second_on(store: ResourceStore) -> None:
    cell = _cell(store)
    borrowed = cell.borrow()
    assert (
        not borrowed.flags.writeable
        and borrowed_from(borrowed) is cell.value
        and cell.borrow().ctypes.data == borrowed.ctypes.data
    )
    small = store.variable("small", dtypes.float32, ("here.py", 1), ())
    small.assign(np.float32(3))
    assert small.borrow() == 3


def test_a_value_is_made_ones_own_before_a_change_in_place(store: ResourceStore) -> None:
    cell = _cell(store, value=5)
    borrowed = cell.borrow()
    before = cell.value
    cell.copy_if_borrowed()
    assert cell.value is not before and cell.value[0] == 5
    del borrowed
    before = cell.value
    cell.copy_if_borrowed()
    assert cell.value is before


@settings(max_examples=60, deadline=None)
@given(
    st.booleans(),
    st.lists(
        st.tuples(st.sampled_from([*CHANGES, "borrow", "pin", "end", "copy_if_borrowed"]), st.integers(0, 1))
    ),
)
def test_who_was_lent_a_value_keeps_it(shares: bool, steps: list[tuple[str, int]]) -> None:
    for store in _store(shares):
        cells = [_cell(store, "a"), _cell(store, "b")]
        memory = store.memory
        assert isinstance(memory, SharedMemory)
        partner = PartnerMemory(memory.address)
        out: list[tuple[Any, float]] = []
        for number, (what, which) in enumerate(steps, 1):
            cell = cells[which]
            if what == "borrow":
                out.append((cell.borrow(), float(cell.value[0])))
            elif what == "pin" and memory.has_partners:
                handle = memory.pin(cell.borrow(), "partner")
                assert handle is not None
                read = np.frombuffer(partner.read(handle, 4 * COUNT).data, np.float32)
                out.append((read, float(cell.value[0])))
            elif what == "end" and out:
                del out[which % len(out)]
            elif what == "copy_if_borrowed":
                cell.copy_if_borrowed()
            elif what in CHANGES:
                CHANGES[what](cell, number)
                assert cell.value[0] == cell.value[-1] == number
            for array, value in out:
                assert array[0] == array[-1] == value
