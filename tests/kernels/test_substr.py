"""Protects substr by characters: they are counted as UTF-8 has them, from both ends."""

from __future__ import annotations

import pytest

import graphflow as gf

WORD = "He\xc3\xc3\U0001f604"


@pytest.mark.parametrize(
    ("pos", "length", "found"),
    [
        (1, 3, WORD[1:4]),
        (-4, 3, WORD[1:4]),
        (-1, 9, WORD[4:]),
        (5, 1, ""),
        (0, 0, ""),
        (2, -1, ""),
        (0, 5, WORD),
    ],
)
def test_characters_are_counted(pos: int, length: int, found: str) -> None:
    """Of one to four bytes; what is behind the end is left out."""
    part = gf.strings.substr(WORD.encode(), pos, length, unit="UTF8_CHAR")
    with gf.Session() as session:
        assert session.run(part) == found.encode()


def test_where_there_are_no_characters() -> None:
    """An error of the run, and another unit one of the graph."""
    far = gf.strings.substr(WORD.encode(), gf.constant([6, -6]), [1, 1], unit="UTF8_CHAR")
    with gf.Session() as session, pytest.raises(gf.errors.InvalidArgumentError, match="out of range"):
        session.run(far)
    with pytest.raises(ValueError, match="unit"):
        gf.strings.substr(b"a", 0, 1, unit="LETTER")


def test_the_unit_stands_in_a_graph_that_is_sent() -> None:
    """And is read again."""
    gf.strings.substr(WORD.encode(), 4, 1, unit="UTF8_CHAR", name="last")
    sent = gf.get_default_graph().as_graph_def()
    with gf.Graph().as_default() as graph:
        gf.import_graph_def(sent, name="")
        with gf.Session(graph=graph) as session:
            assert session.run("last:0") == WORD[4].encode()
