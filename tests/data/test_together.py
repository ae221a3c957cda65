"""Protects functions of elements that are no rows of a table: taken together, they give what one by one gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.runtime.functions import FunctionRunner
from tests.data.pipelines import D, drain, messages, noisy, parsed


def events(session: Any, following: Any) -> list[Any]:
    """Elements and the first lines of errors, in order, to the end."""
    found: list[Any] = []
    while True:
        try:
            found.append(np.asarray(session.run(following)).tolist())
        except gf.errors.OutOfRangeError:
            return found
        except gf.errors.InvalidArgumentError as error:
            found.append(error.message.splitlines()[0])


def batched(singles: list[Any], size: int) -> list[Any]:
    """What a batch makes of single elements and errors: an error drops what the batch has."""
    found: list[Any] = []
    rows: list[Any] = []
    for single in singles:
        if isinstance(single, str):
            found.append(single)
            rows = []
            continue
        rows.append(single)
        if len(rows) == size:
            found.append(rows)
            rows = []
    return found + ([rows] if rows else [])


def failing(count: int, at: set[int]) -> Any:
    """Numbers that are no rows of a table; making some of them fails."""
    wrong = np.array(sorted(at) or [-1])
    return D.range(count).flat_map(
        lambda n: D.from_tensors(n // gf.cast(gf.reduce_all(gf.not_equal(n, wrong)), gf.int64))
    )


@pytest.mark.parametrize("source_fails", [set(), {0}, {5}, {3, 4}, {11}], ids=str)
@pytest.mark.parametrize("function_fails", [(), (2,), (5, 9)], ids=str)
@pytest.mark.parametrize("size", [1, 4, 20])
def test_errors_come_where_they_come_one_by_one(source_fails: Any, function_fails: Any, size: int) -> None:
    wrong = np.array(function_fails or (-1,))

    def build(n: Any) -> Any:
        divisor = gf.cast(gf.reduce_all(gf.not_equal(n, wrong)), gf.int64)
        return noisy(n) + gf.cast(n // divisor, gf.float32)

    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="never")) as session:
        data = failing(12, source_fails).map(build)
        singles = events(session, data.make_one_shot_iterator().get_next())
        together = events(session, data.batch(size).make_one_shot_iterator().get_next())
    assert together == batched(singles, size)


@pytest.mark.parametrize("source_fails", [set(), {0}, {5}, {11}], ids=str)
def test_a_shuffle_loses_nothing_before_an_error(source_fails: Any) -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="never")) as session:
        data = failing(12, source_fails).map(lambda n: n * 2).shuffle(5, seed=1)
        found = events(session, data.make_one_shot_iterator().get_next())
    numbers = [value for value in found if not isinstance(value, str)]
    assert sorted(numbers) == [2 * n for n in range(12) if n not in source_fails]
    assert len(found) - len(numbers) == len(source_fails)


def test_messages_are_parsed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    rows = FunctionRunner.rows

    def counted(self: Any, columns: Any, captured: Any, count: int) -> Any:
        found = rows(self, columns, captured, count)
        counts.append(count if found is not None else -count)
        return found

    monkeypatch.setattr(FunctionRunner, "rows", counted)
    with gf.Graph().as_default(), gf.Session() as session:
        following = messages().map(parsed).batch(13).make_one_shot_iterator().get_next()
        ((pixels, labels),) = drain(session, following)
    assert counts == [13]
    assert labels.tolist() == [*range(7), -1, *range(8, 13)]
    np.testing.assert_array_equal(pixels[:, 0], np.arange(13, dtype=np.float32) / np.float32(255))


def test_a_damaged_message_is_named_alone() -> None:
    def strings() -> Any:
        for number, message in enumerate([b"\xff", *[b""] * 6]):
            yield message if number != 3 else b"\x0a\x7f"

    features = {"n": gf.FixedLenFeature([], gf.int64, 5)}
    with gf.Graph().as_default(), gf.Session() as session:
        data = D.from_generator(strings, gf.string, [])
        data = data.map(lambda s: gf.parse_single_example(s, features)["n"]).batch(2)
        following = data.make_one_shot_iterator().get_next()
        found: list[Any] = []
        for _ in range(5):
            try:
                found.append(session.run(following).tolist())
            except gf.errors.InvalidArgumentError as error:
                assert "Could not parse" in error.message and "MapDataset" in error.message
                found.append("damaged")
    assert found == ["damaged", [5, 5], "damaged", [5, 5], [5]]


def test_texts_of_different_sizes_go_one_by_one() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        words = D.range(6).flat_map(lambda n: D.from_tensors(gf.as_string(10 ** (n % 3))))
        data = words.map(lambda w: gf.decode_raw(w, gf.uint8)).padded_batch(3, [None])
        found = drain(session, data.make_one_shot_iterator().get_next())
    assert [batch.tolist() for batch in found] == [[[49, 0, 0], [49, 48, 0], [49, 48, 48]]] * 2
