"""Protects restoring without a copy: memory is given to one variable only, and never before all of it was checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.checkpoint.donation import donated, take_donated
from graphflow._core.checkpoint.reader import CheckpointFile
from graphflow._core.checkpoint.writer import Entry, write_checkpoint
from graphflow._core.ops.state.checkpoints import restore_v2

LARGE = np.arange(1 << 20, dtype=np.float32)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    made = str(tmp_path / "model")
    small = np.arange(3, dtype=np.float32)
    write_checkpoint(made, [Entry("a", LARGE), Entry("b", -LARGE), Entry("small", small)])
    return made


def test_a_gift_is_taken_once_and_only_as_it_is() -> None:
    memory = np.arange(6.0)
    array = donated(memory)
    assert take_donated(array[:3], np.float64) is None
    assert take_donated(array.copy(), np.float64) is None
    assert take_donated(array, np.float32) is None
    assert take_donated(memory, np.float64) is None
    assert take_donated(array, np.float64) is memory
    assert take_donated(array, np.float64) is None


def test_large_first_values_are_not_copied(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given_away: list[Any] = []
    read = CheckpointFile.read

    def watched(self: Any, wanted: Any, give: Any = ()) -> Any:
        given_away.append(sorted(wanted[n][0] for n in give))
        return read(self, wanted, give)

    monkeypatch.setattr(CheckpointFile, "read", watched)
    a = gf.get_variable("a", LARGE.shape)
    b = gf.get_variable("b", LARGE.shape)
    gf.get_variable("small", [3])
    saver = gf.train.Saver(gf.global_variables())
    with gf.Session() as session:
        saver.restore(session, prefix)
        np.testing.assert_array_equal(session.run(a), LARGE)
        np.testing.assert_array_equal(session.run(b), -LARGE)
        session.run(a.assign_add(np.ones_like(LARGE)))
        np.testing.assert_array_equal(session.run(b), -LARGE)
        saver.restore(session, prefix)
        np.testing.assert_array_equal(session.run(a), LARGE)
    assert given_away == [["a", "b", "small"], []]


def test_a_value_that_others_take_is_copied(prefix: str) -> None:
    first = gf.get_variable("first", LARGE.shape)
    second = gf.get_variable("second", LARGE.shape)
    third = gf.get_variable("third", LARGE.shape)
    value, other = restore_v2(prefix, ["a", "b"], ["", ""], [gf.float32, gf.float32], None, [LARGE.shape] * 2)
    assigned = [gf.assign(first, value).op, gf.assign(second, value).op, gf.assign(third, other).op]
    with gf.Session() as session:
        fetched = session.run([other, *assigned])[0]
        session.run([first.assign_add(np.ones_like(LARGE)).op, third.assign_add(np.ones_like(LARGE)).op])
        np.testing.assert_array_equal(session.run(second), LARGE)
        np.testing.assert_array_equal(fetched, -LARGE)
        np.testing.assert_array_equal(session.run(third), 1 - LARGE)


def test_a_fed_value_stays_its_owners(prefix: str) -> None:
    variable = gf.get_variable("v", LARGE.shape)
    (value,) = restore_v2(prefix, ["a"], [""], [gf.float32], None, [LARGE.shape])
    assigned = gf.assign(variable, value).op
    fed = np.zeros_like(LARGE)
    with gf.Session() as session:
        session.run(assigned, {value: fed})
        session.run(variable.assign_add(np.ones_like(LARGE)).op)
        assert not fed.any()


@pytest.mark.parametrize("damage", ["flipped", "cut"])
def test_nothing_is_set_where_one_tensor_is_damaged(prefix: str, damage: str) -> None:
    for name in "ab":
        gf.get_variable(name, LARGE.shape)
    saver = gf.train.Saver(gf.global_variables())
    with open(f"{prefix}.safetensors", "r+b") as file:
        file.seek(-(LARGE.nbytes // 2), 2)
        if damage == "cut":
            file.truncate()
        else:
            file.write(b"!")
    with gf.Session() as session:
        with pytest.raises(gf.errors.DataLossError, match=r"model\.safetensors"):
            saver.restore(session, prefix)
        assert session.run(gf.report_uninitialized_variables()).tolist() == [b"a", b"b"]
