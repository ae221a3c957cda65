"""Protects that rows which a loop gathers by concat, and which are kept in a list, are what concat makes of them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import graphflow as gf

ALONE = """
import sys
import graphflow as gf
none = gf.zeros([0, 3])
loop = gf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, gf.concat([a, [[1.0, 2.0, 3.0]]], 0)), [0, none],
                     [gf.TensorShape([]), gf.TensorShape([None, 3])])
with gf.Session(config=gf.ConfigProto(compiled=sys.argv[1])) as session:
    print(session.run(loop[1]).tolist())
"""


def _grown(start: Any, known: Any) -> Any:
    turns, x = gf.placeholder(gf.int32, []), gf.placeholder(gf.float32)
    loop = gf.while_loop(
        lambda i, a: i < turns,
        lambda i, a: (i + 1, gf.concat([a, x], 0)),
        [0, gf.constant(start)],
        shape_invariants=[gf.TensorShape([]), gf.TensorShape(known)],
    )
    return loop[1], turns, x


@pytest.mark.parametrize("tier", ["never", "always"])
def test_a_program_without_lists_of_its_own_has_them(tier: str) -> None:
    """Ops are loaded at first use: the plan is the first to use those of lists there."""
    done = subprocess.run([sys.executable, "-c", ALONE, tier], capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]\n"


@pytest.mark.parametrize("tier", ["never", "always"])
@pytest.mark.parametrize(
    ("shape", "known"), [((0, 3), [None, None]), ((0, 3), None), ((0,), [None]), ((0, 2, 0), None)]
)
def test_no_turn_gives_no_rows_of_the_shape_that_they_begin_with(
    shape: tuple[int, ...], known: Any, tier: str
) -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
        rows, turns, x = _grown(np.zeros(shape, np.float32), known)
        for count in (0, 1, 3):
            found = session.run(rows, {turns: count, x: np.ones((2, *shape[1:]))})
            assert found.shape == (2 * count, *shape[1:]) and found.all()


@pytest.mark.parametrize("tier", ["never", "always"])
def test_rows_of_another_shape_are_an_error_of_the_concat(tier: str) -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
        rows, turns, x = _grown(np.zeros((0, 3), np.float32), None)
        with pytest.raises(
            gf.errors.InvalidArgumentError,
            match=r"while/concat.*all axes but the first",
        ):
            session.run(rows, {turns: 2, x: np.ones((2, 4))})
