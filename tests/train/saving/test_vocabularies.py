"""Variables that begin with rows of a checkpoint for the same words; the values are those of TensorFlow 1.15.5."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf


@pytest.fixture
def old(tmp_path: Path) -> str:
    """A checkpoint with a matrix of three words and three classes, and their files."""
    (tmp_path / "old").write_text("apple\nbanana\nguava\norange\n")
    (tmp_path / "new").write_text("orange\nguava\nbanana\napple\nraspberry\nblueberry\n")
    with gf.Graph().as_default(), gf.Session() as session:
        gf.get_variable(
            "fruit", initializer=np.array([[0.5, 0.0], [1.0, 0.1], [1.5, 0.2], [2.0, 0.3]], np.float32)
        )
        session.run(gf.global_variables_initializer())
        return gf.train.Saver().save(session, str(tmp_path / "model"))


def begin(
    old: str,
    name: str,
    shape: list[int],
    vocabulary: dict[str, Any],
    parts: int | None = None,
    **settings: Any,
) -> Any:
    folder = Path(old).parent
    size = vocabulary.pop("new_vocab_size", 6)
    info = gf.train.VocabInfo(
        str(folder / "new"), size, vocabulary.pop("num_oov_buckets", 1), str(folder / "old"), **vocabulary
    )
    partitioner = None if parts is None else gf.fixed_size_partitioner(parts)
    with gf.Graph().as_default(), gf.Session() as session:
        variable = gf.get_variable(name, shape, partitioner=partitioner)
        gf.train.warm_start(old, ".*", {name: info}, **settings)
        session.run(gf.global_variables_initializer())
        return session.run(gf.convert_to_tensor(variable))


ROWS = [[2.0, 0.3], [1.5, 0.2], [1.0, 0.1], [0.5, 0.0]]


@pytest.mark.parametrize("parts", [None, 2, 3])
def test_rows_go_with_their_words(old: str, parts: int | None) -> None:
    np.testing.assert_allclose(begin(old, "fruit", [7, 2], {}, parts), [*ROWS, [0, 0], [0, 0], [0, 0]])


def test_new_words_begin_as_is_said(old: str) -> None:
    info = {"backup_initializer": gf.constant_initializer(9.0), "num_oov_buckets": 2}
    np.testing.assert_allclose(begin(old, "fruit", [8, 2], info), [*ROWS, [9, 9], [9, 9], [9, 9], [9, 9]])


def test_the_old_vocabulary_may_be_cut(old: str) -> None:
    found = begin(old, "fruit", [7, 2], {"old_vocab_size": 2})
    np.testing.assert_allclose(found, [[0, 0], [0, 0], *ROWS[2:], [0, 0], [0, 0], [0, 0]])


def test_the_variable_may_have_had_another_name(old: str) -> None:
    found = begin(old, "fruits", [7, 2], {}, var_name_to_prev_var_name={"fruits": "fruit"})
    np.testing.assert_allclose(found[:4], ROWS)


def test_columns_may_be_for_words(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("a\nb\nc\n")
    (tmp_path / "new").write_text("c\nd\na\n")
    with gf.Graph().as_default(), gf.Session() as session:
        gf.get_variable("kernel", initializer=np.arange(6, dtype=np.float32).reshape(2, 3))
        session.run(gf.global_variables_initializer())
        old = gf.train.Saver().save(session, str(tmp_path / "model"))
    found = begin(old, "kernel", [2, 3], {"new_vocab_size": 3, "num_oov_buckets": 0, "axis": 1})
    np.testing.assert_allclose(found, [[2, 0, 0], [5, 0, 3]])


def test_what_does_not_fit_is_refused(old: str) -> None:
    with pytest.raises(ValueError, match="7 rows in axis 0 for a vocabulary of 6 words and 3 buckets"):
        begin(old, "fruit", [7, 2], {"num_oov_buckets": 3})
    with pytest.raises(ValueError, match=r"has 6 words, fewer than 9"):
        begin(old, "fruit", [10, 2], {"new_vocab_size": 9})
    with pytest.raises(ValueError, match=r"fruit \(7, 3\) doesn't match with shape of tensor fruit \(4, 2\)"):
        begin(old, "fruit", [7, 3], {})
    with pytest.raises(ValueError, match="axis"):
        gf.train.VocabInfo("new", 1, 0, "old", axis=2)
    with (
        gf.Graph().as_default(),
        pytest.raises(ValueError, match="var_name_to_vocab_info that were not used"),
    ):
        gf.get_variable("fruit", [7, 2])
        gf.train.warm_start(old, ".*", {"fruits": gf.train.VocabInfo("new", 1, 0, "old")})


def test_without_names_of_variables_those_alone_begin_that_have_a_vocabulary(old: str) -> None:
    info = gf.train.VocabInfo(str(Path(old).parent / "new"), 6, 1, str(Path(old).parent / "old"))
    with gf.Graph().as_default(), gf.Session() as session:
        gf.get_variable("other", initializer=7.0)
        variable = gf.get_variable("fruit", [7, 2])
        gf.train.warm_start(old, None, {"fruit": info})
        session.run(gf.global_variables_initializer())
        np.testing.assert_allclose(session.run(variable), [*ROWS, [0, 0], [0, 0], [0, 0]])
    with gf.Graph().as_default(), gf.Session() as session:
        variable = gf.get_variable("fruit", initializer=np.full([4, 2], 7.0, np.float32))
        gf.train.warm_start(old, None)
        session.run(gf.global_variables_initializer())
        assert session.run(variable).tolist() == [[7.0, 7.0]] * 4
