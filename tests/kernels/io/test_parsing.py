"""Sequence examples: steps that are alike are read at once, and give what they give one by one."""

from __future__ import annotations

from typing import Any

import pytest

import graphflow as gf

KINDS: dict[str, tuple[Any, Any]] = {
    "int64": (gf.int64, lambda v: gf.train.Feature(int64_list=gf.train.Int64List(value=v))),
    "float32": (gf.float32, lambda v: gf.train.Feature(float_list=gf.train.FloatList(value=v))),
    "string": (gf.string, lambda v: gf.train.Feature(bytes_list=gf.train.BytesList(value=v))),
}
VALUES: dict[str, Any] = {
    "int64": [[1, -1], [2**62, 0], [3, 4]],
    "float32": [[0.5, 1.5], [2.5, 3.5], [4.5, -0.0]],
    "string": [[b"a", b""], [b"b\x00", b"c"], [b"d" * 300, b"e"]],
}


def read(steps: Any, dtype: Any, shape: Any) -> Any:
    """The steps of a message, as parse_single_sequence_example has them."""
    lists = gf.train.FeatureLists(feature_list={"steps": gf.train.FeatureList(feature=steps)})
    serialized = gf.train.SequenceExample(feature_lists=lists).SerializeToString()
    with gf.Graph().as_default(), gf.Session() as session:
        features = {"steps": gf.FixedLenSequenceFeature(shape, dtype)}
        _, found = gf.parse_single_sequence_example(serialized, sequence_features=features)
        return session.run(found["steps"])


@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_one_shape(kind: str) -> None:
    dtype, make = KINDS[kind]
    for count in (0, 1, 3):
        values = VALUES[kind][:count]
        found = read([make(v) for v in values], dtype, [2])
        assert found.shape == (count, 2) and found.dtype == dtype.as_numpy_dtype
        assert found.tolist() == values
        singles = read([make(v[:1]) for v in values], dtype, [])
        assert singles.tolist() == [v[0] for v in values]


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_is_not_alike_is_named(kind: str) -> None:
    dtype, make = KINDS[kind]
    good, short = make(VALUES[kind][0]), make(VALUES[kind][0][:1])
    other = KINDS["string" if kind != "string" else "int64"]
    wrong = other[1](VALUES["string" if kind != "string" else "int64"][0])
    for bad in (short, wrong, gf.train.Feature()):
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"Index: 1\b"):
            read([good, bad, good], dtype, [2])


def test_keys_of_two_ops_are_not_mixed_up() -> None:
    made = {"a": KINDS["int64"][1]([1]), "b": KINDS["int64"][1]([2])}
    serialized = gf.train.Example(features=gf.train.Features(feature=made)).SerializeToString()
    with gf.Graph().as_default(), gf.Session() as session:
        parsed = [
            gf.parse_example([serialized], {key: gf.FixedLenFeature([], gf.int64)})[key] for key in "abab"
        ]
        for _ in range(3):
            assert [int(v[0]) for v in session.run(parsed)] == [1, 2, 1, 2]
