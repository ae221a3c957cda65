"""Kernels that read serialized Example messages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

import graphflow.protos as protos
from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.dtypes import DType
from graphflow._core.kernels.io.example_columns import Column, read_columns
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow.errors import InvalidArgumentError

_LISTS: Final = {dtypes.float32: "float_list", dtypes.int64: "int64_list", dtypes.string: "bytes_list"}
_NAMES: Final = {dtypes.float32: "float", dtypes.int64: "int64", dtypes.string: "string"}
"""Of dtypes as TensorFlow's messages write them."""
_TYPES: Final = {kind: _NAMES[dtype] for dtype, kind in _LISTS.items()}


class _Place(NamedTuple):
    """Where a feature stands, for messages: in which example, or in which step of a feature list.

    name: the example's; None where examples have none. number: the example's in its batch, or the step's.
    """

    name: str | None
    number: int | None = None
    step: bool = False

    def wrong(self, message: str) -> InvalidArgumentError:
        """An error at this place."""
        name = "" if self.name is None else f"Name: {self.name or '<unknown>'}, "
        return InvalidArgumentError(None, None, f"{name}{message}")

    def of(self, key: str, kind: str = "Key") -> str:
        """The place of a feature, in words."""
        return f"{kind}: {key}." if self.number is None else f"{kind}: {key}, Index: {self.number}."


@dataclass(frozen=True)
class _Feature:
    """A feature that is asked for; `dims` is None for one of any length, dims[0] for a sequence."""

    key: str
    dtype: DType
    dims: tuple[int | None, ...] | None = None

    @cached_property
    def _list(self) -> str:
        """The field of a message that holds values of the dtype."""
        return _LISTS[self.dtype]

    @cached_property
    def _is_text(self) -> bool:
        return self.dtype is dtypes.string

    @cached_property
    def _native(self) -> Any:
        return self.dtype.native

    @cached_property
    def _sequence(self) -> bool:
        return self.dims is not None and None in self.dims

    @cached_property
    def _size(self) -> int:
        """The number of values of an example, or of each row of its sequence."""
        assert self.dims is not None
        return shapes.size_of(self.dims[1:] if self._sequence else self.dims) or 0

    def read(self, features: Any, place: _Place) -> Any:
        """The feature's values in an example, as a vector; None if the example does not have it."""
        return self.values(features.get(self.key), place)

    def values(self, feature: Any, place: _Place) -> Any:
        """The values of a message as a vector; None if there are none."""
        kind = None if feature is None else feature.WhichOneof("kind")
        if kind is None:
            return None
        if kind != self._list:
            wanted = _NAMES[self.dtype]
            raise place.wrong(
                f"{place.of(self.key, 'Feature list')}  Data types don't match. Expected type: {wanted}  Feature is: "
                f"{kind}"
                if place.step
                else f"{place.of(self.key)}  Data types don't match. Data type: {_TYPES[kind]} but expected type: "
                f"{wanted}"
            )
        values = getattr(feature, kind).value
        if not self._is_text:
            return np.fromiter(values, self._native, len(values))
        found = np.empty(len(values), object)
        found[:] = list(values)
        return found

    def steps(self, messages: Any) -> Any:
        """The values of many messages, a row for each; None unless each holds as many as are asked for."""
        if self._sequence or not self._size or not len(messages):
            return None
        field, size = self._list, self._size
        lists = [getattr(message, field).value for message in messages]  # Of another kind it is empty.
        if set(map(len, lists)) != {size}:
            return None
        assert self.dims is not None
        found = np.empty(len(lists) * size, self._native)
        found[:] = [value for values in lists for value in values]
        return found.reshape(len(lists), *self.dims)

    def dense(self, features: Any, default: Any, place: _Place) -> Any:
        """The feature's values in an example, in their shape, or the default value."""
        assert self.dims is not None
        values = self.read(features, place)
        sequence = self._sequence
        if values is None:
            if sequence:
                return self.blank((0, *self.dims[1:]), default)
            if default.size == 0 and 0 not in self.dims:
                if place.step:
                    raise place.wrong(
                        f"{place.of(self.key, 'Feature list')}  Data types don't match. Expected type: "
                        f"{_NAMES[self.dtype]}, but the step has no values."
                    )
                raise place.wrong(
                    f"Feature: {self.key} (data type: {_NAMES[self.dtype]}) is required but could not be found. Give "
                    "it a default_value if it may be missing."
                )
            return default.reshape(self.dims)
        size = self._size
        if sequence and (size == 0 or values.size % size == 0):
            return values.reshape(-1 if size else 0, *self.dims[1:])
        if values.size != size:
            kind = "bytes" if self._is_text else _NAMES[self.dtype]
            shape = f"[{','.join('?' if n is None else str(n) for n in self.dims)}]"
            raise place.wrong(
                f"{place.of(self.key)}  Number of {kind} values is not a multiple of stride length. Saw {values.size} "
                f"values but output shape is: {shape}"
                if sequence
                else f"{place.of(self.key)}  Number of {kind} values != expected.  values size: {values.size} but "
                f"output shape: {shape}"
            )
        return values.reshape(self.dims)

    def blank(self, shape: Sequence[Any], default: Any) -> Any:
        """An array filled with the default value."""
        fill = default.reshape(-1)[0] if default.size else (b"" if self._is_text else 0)
        return np.full(shape, fill, self._native)

    def batch(self, values: Sequence[Any], default: Any) -> Any:
        """One array of the dense values of several examples."""
        assert self.dims is not None
        if None not in self.dims:
            out = self.blank((len(values), *self.dims), default)
        else:
            out = self.blank((len(values), max((len(v) for v in values), default=0), *self.dims[1:]), default)
        for number, value in enumerate(values):
            if None in self.dims:
                out[number, : len(value)] = value
            else:
                out[number] = value if value.ndim else value[()]
        return out

    def sparse(self, values: Sequence[Any]) -> tuple[Any, Any, Any]:
        """Indices, values and shape of several examples."""
        lengths = [0 if v is None else len(v) for v in values]
        rows = np.repeat(np.arange(len(values), dtype=np.int64), lengths)
        columns = [np.arange(n, dtype=np.int64) for n in lengths]
        indices = np.stack([rows, np.concatenate([*columns, np.zeros(0, np.int64)])], 1)
        found = np.concatenate([*(v for v in values if v is not None), np.zeros(0, self.dtype.native)])
        return (
            indices,
            found.astype(self.dtype.native),
            np.array([len(values), max(lengths, default=0)], np.int64),
        )


def _features(data: bytes, place: _Place) -> Any:
    return _message(protos.example_pb2.Example, data, place).features.feature


def _message(kind: Any, data: bytes, place: _Place) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return kind.FromString(data)
    except DecodeError as error:
        raise place.wrong(
            f"Could not parse example input, value: {data[:40]!r} ({len(data)} bytes)"
        ) from error


def _text(key: Any) -> str:
    return key if isinstance(key, str) else bytes(key).decode(errors="replace")


def _columns(sparse: Sequence[_Feature], dense: Sequence[_Feature], defaults: Sequence[Any]) -> list[Column]:
    """What is asked for, as example_columns has it."""
    return [
        *(Column(f.key, f.dtype) for f in sparse),
        *(Column(f.key, f.dtype, f.dims, d) for f, d in zip(dense, defaults, strict=True)),
    ]


def _dense_features(node: Node, keys: Sequence[Any]) -> list[_Feature]:
    types, dims = node.attrs["Tdense"], [shapes.as_dims(s) for s in node.attrs["dense_shapes"]]
    return [_Feature(_text(k), t, d) for k, t, d in zip(keys, types, dims, strict=True)]


def _sparse_features(node: Node, keys: Sequence[Any]) -> list[_Feature]:
    return [_Feature(_text(k), t) for k, t in zip(keys, node.attrs["sparse_types"], strict=True)]


_KEPT_KEYS: Final = 4
"""Keys are inputs of ops, which could change but do not: what was made of the last ones is kept."""


_ALONE: Final = _Place(None)


@kernel("ParseSingleExample")
def _parse_single(node: Node) -> Kernel:
    sparse = _sparse_features(node, node.attrs["sparse_keys"])
    dense = _dense_features(node, node.attrs["dense_keys"])

    def parse(serialized: Any, *defaults: Any) -> Any:
        features = _features(np.asarray(serialized, object).item(), _ALONE)
        found = [f.sparse([f.read(features, _ALONE)]) for f in sparse]
        return _outputs(
            [
                *(indices[:, 1:] for indices, _, _ in found),
                *(values for _, values, _ in found),
                *(shape[1:] for _, _, shape in found),
                *(f.dense(features, np.asarray(d), _ALONE) for f, d in zip(dense, defaults, strict=True)),
            ]
        )

    return parse


def rows_parser(node: Node) -> Kernel | None:
    """A function (messages, *defaults) that gives the outputs of ParseSingleExample for many messages, one below the
    other, or None if it cannot; None if the op has outputs whose sizes differ from message to message.
    """
    dense = _dense_features(node, node.attrs["dense_keys"])
    if node.attrs["sparse_keys"] or any(f.dims is None or None in f.dims for f in dense):
        return None

    def parse(messages: Any, *defaults: Any) -> Any:
        columns = _columns((), dense, [np.asarray(d) for d in defaults])
        return read_columns(messages.tolist(), columns)

    return parse


@kernel("ParseExample")
def _parse(node: Node) -> Kernel:
    count, dense_count = node.attrs["Nsparse"], node.attrs["Ndense"]

    @lru_cache(_KEPT_KEYS)
    def features(*keys: Any) -> tuple[list[_Feature], list[_Feature]]:
        return _sparse_features(node, keys[:count]), _dense_features(node, keys[count:])

    def parse(serialized: Any, names: Any, *rest: Any) -> Any:
        sparse, dense = features(*[k.item() for k in rest[: count + dense_count]])
        defaults = [np.asarray(d) for d in rest[count + dense_count :]]
        data = np.asarray(serialized, object)
        labels = [_text(n) for n in np.asarray(names, object).reshape(-1)] or [""] * data.size
        if data.ndim != 1 or len(labels) != len(data):
            raise InvalidArgumentError(
                None,
                None,
                f"Expected a vector of examples and as many names, got shapes {list(data.shape)} and "
                f"{list(np.shape(names))}.",
            )
        read = read_columns(data.tolist(), _columns(sparse, dense, defaults))
        if read is not None:
            triples = read[:count]
            return _outputs([*(part[k] for k in range(3) for part in triples), *read[count:]])
        places = [_Place(label, number) for number, label in enumerate(labels)]
        parsed = [(_features(d, place), place) for d, place in zip(data, places, strict=True)]
        found = [f.sparse([f.read(features, place) for features, place in parsed]) for f in sparse]
        return _outputs(
            [
                *(part[position] for position in range(3) for part in found),
                *(
                    f.batch([f.dense(features, default, place) for features, place in parsed], default)
                    for f, default in zip(dense, defaults, strict=True)
                ),
            ]
        )

    return parse


@kernel("ParseSingleSequenceExample")
def _parse_sequence(node: Node) -> Kernel:
    attrs = node.attrs
    counts = [
        attrs[f"N{n}"]
        for n in ("context_sparse", "context_dense", "feature_list_sparse", "feature_list_dense")
    ]
    context_shapes, list_shapes = (
        [shapes.as_dims(s) for s in attrs[f"{n}_dense_shapes"]] for n in ("context", "feature_list")
    )

    @lru_cache(_KEPT_KEYS)
    def features(*given: Any) -> tuple[list[_Feature], ...]:
        rest = [_text(k) for k in given]
        keys: list[list[str]] = []
        for count in counts:
            keys.append(rest[:count])
            rest = rest[count:]
        return (
            [_Feature(k, t) for k, t in zip(keys[0], attrs["context_sparse_types"], strict=True)],
            [
                _Feature(k, t, d)
                for k, t, d in zip(keys[1], attrs["Tcontext_dense"], context_shapes, strict=True)
            ],
            [_Feature(k, t) for k, t in zip(keys[2], attrs["feature_list_sparse_types"], strict=True)],
            [
                _Feature(k, t, d)
                for k, t, d in zip(keys[3], attrs["feature_list_dense_types"], list_shapes, strict=True)
            ],
        )

    def parse(serialized: Any, optional: Any, *rest: Any) -> Any:
        *keys_and_defaults, debug_name = rest
        place = _Place(_text(np.asarray(debug_name, object).item()))
        sparse, dense, steps, rows_of = features(*[k.item() for k in keys_and_defaults[: sum(counts)]])
        defaults = [np.asarray(d) for d in keys_and_defaults[sum(counts) :]]
        message = _message(protos.example_pb2.SequenceExample, np.asarray(serialized, object).item(), place)
        given, lists = message.context.feature, message.feature_lists.feature_list
        found = [f.sparse([f.read(given, place)]) for f in sparse]
        rows = [f.sparse(_steps(f, lists, place)) for f in steps]
        allowed = {_text(k) for k in np.asarray(optional, object).reshape(-1)}
        columns = [_column(f, _listed(lists, f, allowed, place), place) for f in rows_of]
        return _outputs(
            [
                *(indices[:, 1:] for indices, _, _ in found),
                *(values for _, values, _ in found),
                *(shape[1:] for _, _, shape in found),
                *(f.dense(given, d, place) for f, d in zip(dense, defaults, strict=True)),
                *(part[position] for position in range(3) for part in rows),
                *columns,
            ]
        )

    return parse


def _steps(feature: _Feature, lists: Any, place: _Place) -> list[Any]:
    """The values of each step of a feature list; none if it is missing."""
    if feature.key not in lists:
        return []
    return [
        feature.values(message, place._replace(number=number, step=True))
        for number, message in enumerate(lists[feature.key].feature)
    ]


def _listed(lists: Any, feature: _Feature, optional: Collection[str], place: _Place) -> Any:
    """The messages of a feature list; InvalidArgumentError if it is missing and may not be."""
    if feature.key in lists:
        return lists[feature.key].feature
    if feature.key not in optional:
        raise place.wrong(
            f"Feature list '{feature.key}' is required but could not be found.  Did you mean to include it in "
            "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults? A FixedLenSequenceFeature with "
            "allow_missing=True is."
        )
    return []


def _column(feature: _Feature, messages: Any, place: _Place) -> Any:
    """The values of a feature list, a row for each step."""
    assert feature.dims is not None
    plain = feature.steps(messages)
    if plain is not None:
        return plain
    found = [
        feature.dense({feature.key: m}, np.zeros(0), place._replace(number=n, step=True))
        for n, m in enumerate(messages)
    ]
    return feature.batch(found, np.zeros(0))


def _outputs(values: list[Any]) -> Any:
    """The outputs as a kernel returns them: single numbers are NumPy scalars."""
    plain = [v[()] if v.ndim == 0 and v.dtype != object else v for v in values]
    return tuple(plain) if len(plain) > 1 else plain[0]


@kernel("ParseSequenceExample")
def _parse_sequences(node: Node) -> Kernel:
    attrs = node.attrs

    def asked(what: str, types: str, dense: bool) -> list[_Feature]:
        keys = attrs[f"{what}_keys"]
        forms = [shapes.as_dims(s) for s in attrs[f"{what}_shapes"]] if dense else [None] * len(keys)
        return [_Feature(_text(k), t, d) for k, t, d in zip(keys, attrs[types], forms, strict=True)]

    sparse, dense = (
        asked("context_sparse", "context_sparse_types", False),
        asked("context_dense", "Tcontext_dense", True),
    )
    steps, rows_of = (
        asked("feature_list_sparse", "feature_list_sparse_types", False),
        asked("feature_list_dense", "feature_list_dense_types", True),
    )
    optional = {_text(key) for key in attrs["feature_list_dense_missing_assumed_empty"]}

    def parse(serialized: Any, debug_name: Any, *defaults: Any) -> Any:
        data = np.asarray(serialized, object)
        names = [_text(n) for n in np.asarray(debug_name, object).reshape(-1)] or [""] * data.size
        if data.ndim != 1 or len(names) != len(data):
            raise InvalidArgumentError(
                None,
                None,
                f"Expected a vector of examples and as many names, got shapes {list(data.shape)} and "
                f"{list(np.shape(debug_name))}.",
            )
        places = [_Place(name, number) for number, name in enumerate(names)]
        messages = [
            _message(protos.example_pb2.SequenceExample, d, place)
            for d, place in zip(data, places, strict=True)
        ]
        contexts = [(m.context.feature, place) for m, place in zip(messages, places, strict=True)]
        lists = [(m.feature_lists.feature_list, place) for m, place in zip(messages, places, strict=True)]
        found = [f.sparse([f.read(given, place) for given, place in contexts]) for f in sparse]
        given_defaults = [np.asarray(d) for d in defaults]
        whole = [
            f.batch([f.dense(given, d, place) for given, place in contexts], d)
            for f, d in zip(dense, given_defaults, strict=True)
        ]
        rows = [_sparse_rows(f, lists) for f in steps]
        columns = [
            [_column(f, _listed(own, f, optional, place), place) for own, place in lists] for f in rows_of
        ]
        return _outputs(
            [
                *(part[position] for position in range(3) for part in found),
                *whole,
                *(part[position] for position in range(3) for part in rows),
                *(_padded(f, column) for f, column in zip(rows_of, columns, strict=True)),
                *(np.array([len(own) for own in column], np.int64) for column in columns),
            ]
        )

    return parse


def _sparse_rows(feature: _Feature, lists: Sequence[tuple[Any, _Place]]) -> tuple[Any, Any, Any]:
    """Indices, values and shape of a feature list of several examples: [examples, steps, values]."""
    parts = []
    for own, place in lists:
        parts.append(feature.sparse(_steps(feature, own, place)))
    numbered = [np.insert(indices, 0, number, axis=1) for number, (indices, _, _) in enumerate(parts)]
    longest = np.max([shape for _, _, shape in parts] or [np.zeros(2, np.int64)], axis=0)
    values = np.concatenate([*(v for _, v, _ in parts), np.zeros(0, feature.dtype.native)])
    return (
        np.concatenate([*numbered, np.zeros((0, 3), np.int64)]),
        values.astype(feature.dtype.native),
        np.array([len(lists), *longest], np.int64),
    )


def _padded(feature: _Feature, columns: Sequence[Any]) -> Any:
    """Columns of several examples as one array, the shorter ones with zeros or empty strings behind them."""
    assert feature.dims is not None
    longest = max((len(column) for column in columns), default=0)
    result = feature.blank((len(columns), longest, *feature.dims), np.zeros(0))
    for row, column in zip(result, columns, strict=True):
        row[: len(column)] = column
    return result
