"""Samples of ops that read serialized Example messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import graphflow as gf
from op_samples.sample import Draw, Random, Sample, strings


def _example(x: Any, labels: Any) -> bytes:
    feature = {
        "x": gf.train.Feature(float_list=gf.train.FloatList(value=x)),
        "labels": gf.train.Feature(int64_list=gf.train.Int64List(value=labels)),
    }
    data: bytes = gf.train.Example(features=gf.train.Features(feature=feature)).SerializeToString()
    return data


def _single(random: Random) -> Iterable[Sample]:
    for count in (0, 1, 3):
        x, labels = random.random(2, np.float32), random.integers(0, 9, count)
        attrs = {
            "num_sparse": 1, "sparse_keys": ["labels"], "dense_keys": ["x"], "sparse_types": [gf.int64],
            "Tdense": [gf.float32], "dense_shapes": [(2,)],
        }  # fmt: skip
        expected = np.arange(count)[:, None], labels, np.array([count]), x
        inputs = strings(_example(x, labels)), [np.zeros(0, np.float32)]
        yield Sample(inputs, attrs, lambda *_, expected=expected: expected, constants=(1,))


def _several(random: Random) -> Iterable[Sample]:
    for counts in ((2, 0, 1), (0,), ()):
        rows = [(random.random(2, np.float32), random.integers(0, 9, n)) for n in counts]
        attrs = {
            "Nsparse": 1, "Ndense": 1, "sparse_types": [gf.int64], "Tdense": [gf.float32], "dense_shapes": [(2,)],
        }  # fmt: skip
        places = [(row, n) for row, count in enumerate(counts) for n in range(count)]
        expected = (
            np.array(places, np.int64).reshape(-1, 2),
            np.array([label for _, labels in rows for label in labels], np.int64),
            np.array([len(counts), max(counts, default=0)]),
            np.array([x for x, _ in rows], np.float32).reshape(-1, 2),
        )
        serialized = strings([_example(*row) for row in rows])
        inputs = (serialized, strings([]), [strings("labels")], [strings("x")], [np.zeros(0, np.float32)])
        yield Sample(inputs, attrs, lambda *_, expected=expected: expected, constants=(1, 2, 3, 4))


TABLE: dict[str, Draw] = {"ParseSingleExample": _single, "ParseExample": _several}
