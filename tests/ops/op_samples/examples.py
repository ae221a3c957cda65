"""Samples of ops that read records: serialized Example messages, and comma-separated values."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

import graphflow as gf
from tests.ops.op_samples.sample import Draw, Random, Sample, strings


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


def _csv(random: Random) -> Iterable[Sample]:
    for shape in ((3,), (), (0,), (2, 2)):
        numbers = random.integers(-9, 9, shape)
        texts = random.choice(["a", "two words", ""], shape)
        records = strings(
            [f"{n},{t}" for n, t in zip(np.ravel(numbers), np.ravel(texts), strict=True)]
        ).reshape(shape)
        filled = strings([t or "none" for t in np.ravel(texts)]).reshape(shape)
        expected = numbers.astype(np.int32), filled
        attrs = {"field_delim": ",", "use_quote_delim": True, "na_value": "", "select_cols": []}
        defaults = [np.zeros(0, np.int32), strings(["none"])]
        yield Sample((records, defaults), attrs, lambda *_, expected=expected: expected, constants=(1,))


def _sequence(random: Random) -> Iterable[Sample]:
    for steps in (0, 1, 3):
        x, tokens = random.random(2, np.float32), random.integers(0, 9, (steps, 2))
        context = {"x": gf.train.Feature(float_list=gf.train.FloatList(value=x))}
        listed = [gf.train.Feature(int64_list=gf.train.Int64List(value=row)) for row in tokens]
        message = gf.train.SequenceExample(
            context=gf.train.Features(feature=context),
            feature_lists=gf.train.FeatureLists(
                feature_list={"tokens": gf.train.FeatureList(feature=listed)}
            ),
        )
        attrs = {
            "Ncontext_sparse": 0, "Ncontext_dense": 1, "Nfeature_list_sparse": 0, "Nfeature_list_dense": 1,
            "context_sparse_types": [], "Tcontext_dense": [gf.float32], "context_dense_shapes": [(2,)],
            "feature_list_sparse_types": [], "feature_list_dense_types": [gf.int64],
            "feature_list_dense_shapes": [(2,)],
        }  # fmt: skip
        inputs = (
            strings(message.SerializeToString()), strings([]), [], [strings("x")], [], [strings("tokens")],
            [np.zeros(0, np.float32)], strings(""),
        )  # fmt: skip
        expected = x, tokens
        yield Sample(inputs, attrs, lambda *_, expected=expected: expected, constants=(1, 2, 3, 4, 5, 6, 7))


def _sequences(random: Random) -> Iterable[Sample]:
    for lengths in ((2, 0, 1), (0,), ()):
        rows = [random.integers(0, 9, (n, 2)) for n in lengths]
        messages = []
        for steps in rows:
            listed = [gf.train.Feature(int64_list=gf.train.Int64List(value=row)) for row in steps]
            lists = gf.train.FeatureLists(feature_list={"tokens": gf.train.FeatureList(feature=listed)})
            messages.append(gf.train.SequenceExample(feature_lists=lists).SerializeToString())
        attrs = {
            "Ncontext_sparse": 0, "Ncontext_dense": 0, "Nfeature_list_sparse": 0, "Nfeature_list_dense": 1,
            "context_sparse_types": [], "Tcontext_dense": [], "context_dense_shapes": [],
            "feature_list_sparse_types": [], "feature_list_dense_types": [gf.int64],
            "feature_list_dense_shapes": [(2,)], "context_sparse_keys": [], "context_dense_keys": [],
            "feature_list_sparse_keys": [], "feature_list_dense_keys": ["tokens"],
            "feature_list_dense_missing_assumed_empty": [],
        }  # fmt: skip
        padded = np.zeros((len(rows), max(lengths, default=0), 2), np.int64)
        for target, steps in zip(padded, rows, strict=True):
            target[: len(steps)] = steps
        expected = padded, np.array(lengths, np.int64)
        yield Sample(
            (strings(messages), strings([]), []),
            attrs,
            lambda *_, expected=expected: expected,
            constants=(1, 2),
        )


def _tensor_proto(array: Any) -> bytes:
    data: bytes = gf.make_tensor_proto(array).SerializeToString()
    return data


def _parsed_tensor(random: Random) -> Iterable[Sample]:
    for array in (random.random((2, 3), np.float32), random.integers(0, 9, 4), strings([b"a", b"bc"])):
        dtype = gf.string if array.dtype == object else gf.as_dtype(array.dtype)
        yield Sample(
            (np.array(_tensor_proto(array), object),), {"out_type": dtype}, lambda _, expected=array: expected
        )


def _serialized_tensor(random: Random) -> Iterable[Sample]:
    for array in (random.random((2, 3), np.float32), random.integers(0, 9, 4), strings([b"a", b"bc"])):
        dtype = gf.string if array.dtype == object else gf.as_dtype(array.dtype)
        yield Sample((array,), {"T": dtype}, lambda x: np.array(_tensor_proto(x), object))


def _of_json(random: Random) -> Iterable[Sample]:
    for count in (0, 1, 3):
        numbers = random.integers(0, 99, count)
        texts = [
            b'{"features": {"feature": {"labels": {"int64List": {"value": ["%d"]}}}}}' % number
            for number in numbers
        ]
        labels = [
            gf.train.Feature(int64_list=gf.train.Int64List(value=[number])) for number in numbers.tolist()
        ]
        expected = [
            gf.train.Example(features=gf.train.Features(feature={"labels": label})).SerializeToString()
            for label in labels
        ]
        yield Sample((strings(texts),), {}, lambda _, expected=expected: strings(expected))


def _decompressed(random: Random) -> Iterable[Sample]:
    for kind, compress in (("ZLIB", zlib.compress), ("GZIP", gzip.compress), ("", bytes)):
        texts = [bytes(random.integers(0, 256, size, np.uint8)) for size in (0, 5, 300)]
        yield Sample(
            (strings([compress(text) for text in texts]),),
            {"compression_type": kind},
            lambda _, expected=texts: strings(expected),
        )


TABLE: dict[str, Draw] = {
    "ParseTensor": _parsed_tensor,
    "SerializeTensor": _serialized_tensor,
    "DecodeJSONExample": _of_json,
    "DecodeCompressed": _decompressed,
    "DecodeCSV": _csv,
    "ParseSingleExample": _single,
    "ParseExample": _several,
    "ParseSingleSequenceExample": _sequence,
    "ParseSequenceExample": _sequences,
}
