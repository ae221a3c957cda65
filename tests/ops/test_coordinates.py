"""Protects what unravel_index refuses, which TensorFlow's kernel for processors lets through or not by its inputs."""

from __future__ import annotations

import pytest

import graphflow as gf


@pytest.mark.parametrize(
    ("indices", "dims", "words"),
    [
        ([2, 9], [3, 3], "index is out of bound as with dims"),
        ([-1], [3, 3], "index is out of bound as with dims"),
        (1, [100000, 100000], "Input dims product is causing integer overflow"),
        (1, [-1, 3], "negative size"),
    ],
)
def test_refused(indices: object, dims: list[int], words: str) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        result = gf.unravel_index(indices, dims)
        with pytest.raises(gf.errors.InvalidArgumentError, match=words):
            session.run(result)
