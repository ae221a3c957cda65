"""Protects what may be used where: a value of a loop's turn is no value outside of that loop."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import graphflow as gf


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def _of_a_loop() -> gf.Tensor:
    """A tensor of the body of a loop that is built."""
    found: list[gf.Tensor] = []

    def body(i: gf.Tensor) -> gf.Tensor:
        found.append(i * 2)
        return i + found[0]

    gf.while_loop(lambda i: i < 10, body, [1])
    return found[0]


def _in_a_cond(tensor: gf.Tensor | None = None) -> None:
    def branch() -> gf.Tensor:
        return gf.add(_of_a_loop() if tensor is None else tensor, 1)

    gf.cond(gf.placeholder(gf.bool, []), branch, lambda: 0)


def _in_another_loop(tensor: gf.Tensor | None = None) -> None:
    made = _of_a_loop() if tensor is None else tensor
    gf.while_loop(lambda i: i < 3, lambda i: i + made, [0])


def test_a_value_of_a_loop_is_refused_outside_of_it() -> None:
    inside = _of_a_loop()
    words = "Cannot use 'while/mul' as input to '{}' because 'while/mul' is in a while loop"
    with pytest.raises(ValueError, match=words.format("Add")):
        gf.add(inside, 1)
    with pytest.raises(ValueError, match=words.format("cond/Add")):
        _in_a_cond(inside)
    with pytest.raises(ValueError, match="'while_1/add' because they are in different while loops"):
        _in_another_loop(inside)


def test_so_it_is_inside_of_a_branch() -> None:
    predicate = gf.placeholder(gf.bool, [])
    with pytest.raises(ValueError, match="'cond/cond/while/mul' is in a while loop"):
        gf.cond(predicate, lambda: [_in_a_cond(), gf.constant(0)][1], lambda: 0)
    with pytest.raises(ValueError, match="'cond_1/while_1/add' because they are in different while loops"):
        gf.cond(predicate, lambda: [_in_another_loop(), gf.constant(0)][1], lambda: 0)


def test_so_it_is_inside_of_a_loop() -> None:
    with pytest.raises(
        ValueError, match="'while/while/mul' as input to 'while/Add' because they are in different"
    ):
        gf.while_loop(lambda i: i < 3, lambda i: gf.add(i, _of_a_loop()), [0])
    with pytest.raises(ValueError, match="different while loops"):
        gf.while_loop(lambda i: i < 3, lambda i: _of_a_loop(), [0])


def test_what_is_around_a_loop_is_used_in_it() -> None:
    def body(i: gf.Tensor) -> gf.Tensor:
        twice = i * 2
        return i + gf.while_loop(lambda j: j < 3, lambda j: j + twice, [0])

    with gf.Session() as session:
        assert session.run(gf.while_loop(lambda i: i < 10, body, [1])) == 15
