"""Protects the form of messages: what is sent arrives, nothing is copied, and nothing that comes is believed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from graphflow._core.graph import dtypes
from graphflow._core.transport.frames.message import Kind, Message
from graphflow._core.transport.frames.tensors import BadMessage

_TYPES = [np.dtype(d.as_numpy_dtype) for d in dtypes.ALL if d.is_numpy_compatible and d is not dtypes.string]
_SHAPES = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
_NUMERIC = st.sampled_from(_TYPES).flatmap(lambda dtype: arrays.arrays(dtype, _SHAPES))
_STRINGS = arrays.arrays(object, _SHAPES, elements=st.binary(max_size=5), fill=st.nothing())
_WORDS = st.integers(0, 2**64 - 1)
_DETAILS = st.dictionaries(
    st.text(max_size=3), st.one_of(st.integers(), st.text(max_size=3), st.booleans()), max_size=3
)


def _sent(message: Message) -> Message:
    return Message.of([bytes(frame) for frame in message.frames()])


@given(st.sampled_from(Kind), _WORDS, _WORDS, _DETAILS, st.lists(st.one_of(_NUMERIC, _STRINGS), max_size=3))
def test_what_is_sent_arrives(
    kind: Kind, a: int, b: int, details: dict[str, Any], values: list[np.ndarray]
) -> None:
    found = _sent(Message(kind, a, b, 7, details, values))
    assert (found.kind, found.a, found.b, found.c, found.details) == (kind, a, b, 7, details)
    for expected, value in zip(values, found.tensors, strict=True):
        assert value.dtype == expected.dtype and value.shape == expected.shape
        assert value.tolist() == expected.tolist() or value.tobytes() == expected.tobytes()
        assert not value.flags.writeable


def test_large_buffers_share_memory_on_both_sides() -> None:
    array = np.arange(1200.0).reshape(30, 40)
    frames = Message(Kind.TENSOR, tensors=[1, array]).frames()
    assert np.shares_memory(np.frombuffer(frames[1]), array)
    _, value = Message.of(frames).tensors
    assert np.shares_memory(value, array)


def test_a_large_buffer_is_one_frame_however_long_it_is() -> None:
    sent = [np.arange(25_001, dtype=np.uint8), np.ones(5_000, np.uint8), np.ones(40 << 20, np.uint8)]
    frames = Message(Kind.TENSOR, 1, tensors=sent).frames()
    assert [len(frame) for frame in frames[1:]] == [25_001, 5_000, 40 << 20]
    found = Message.of([bytes(frame) for frame in frames]).tensors
    assert all(np.array_equal(a, b) for a, b in zip(found, sent, strict=True))
    assert not found[0].flags.writeable
    for wrong in (frames[:3], [*frames[:3], frames[3][:-1]], [*frames, b"x"], [*frames[:2], frames[3]]):
        with pytest.raises(BadMessage):
            Message.of([bytes(frame) for frame in wrong])


def test_values_in_other_orders_arrive_alike() -> None:
    array = np.arange(24).reshape(2, 3, 4)
    values = [array.T, array[:, ::2], np.float32(3.5), b"text", np.array(b"more", object)]
    found = _sent(Message(Kind.TENSOR, tensors=values)).tensors
    assert [f.tolist() for f in found] == [array.T.tolist(), array[:, ::2].tolist(), 3.5, b"text", b"more"]


@pytest.mark.parametrize("value", [object(), np.array([1, None], object), np.array(["text"]), {"a": 1}])
def test_what_is_no_tensor_is_not_sent(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be sent"):
        Message(Kind.TENSOR, tensors=[value]).frames()


def test_what_has_no_value_arrives_as_that() -> None:
    values = [None, np.arange(3.0), None, np.ones(2000), None]
    for kind in (Kind.TENSOR, Kind.DONE):
        found = _sent(Message(kind, tensors=values)).tensors
        assert [None if f is None else f.tolist() for f in found] == [
            None if v is None else v.tolist() for v in values
        ]


@pytest.mark.parametrize("kind", sorted(set(Kind) - {Kind.TENSOR, Kind.DONE}))
def test_only_edges_are_without_a_value(kind: Kind) -> None:
    with pytest.raises(BadMessage, match="no value"):
        _sent(Message(kind, tensors=[1.0, None]))


@pytest.mark.parametrize("place", [1, 2, 8])
def test_what_has_no_value_has_no_axes_nor_a_buffer(place: int) -> None:
    head = bytearray(b"".join(map(bytes, Message(Kind.TENSOR, tensors=[None]).frames())))
    assert Message.of([bytes(head)]).tensors == [None]
    head[len(head) - 16 + place] = 1
    with pytest.raises(BadMessage):
        Message.of([bytes(head) + bytes(8)])


def _damaged(frames: list[bytes], chance: random.Random) -> list[bytes]:
    frames = [bytes(frame) for frame in frames]
    for _ in range(chance.randint(1, 3)):
        which = chance.randrange(len(frames))
        data = bytearray(frames[which])
        action = chance.randrange(6)
        if action == 0 and data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        elif action == 1:
            del data[chance.randrange(len(data) + 1) :]
        elif action == 2:
            data += chance.randbytes(chance.randint(1, 40))
        elif action == 3 and data:
            place = chance.randrange(len(data))
            data[place : place + 8] = chance.choice([b"\xff" * 8, b"\x00" * 8, chance.randbytes(8)])
        elif action == 4 and len(frames) > 1:
            del frames[which]
            continue
        else:
            frames.insert(which, chance.randbytes(chance.randint(0, 64)))
            continue
        frames[which] = bytes(data)
    return frames


def test_damaged_messages_are_refused_or_read_as_they_are() -> None:
    chance = random.Random(11)
    refused, large = 0, np.arange(5000, dtype=np.uint8)
    for _ in range(3000):
        values = [
            np.arange(6.0).reshape(2, 3),
            np.array([b"a", b"bcd"], object),
            np.array([True, False]),
            large,
        ]
        frames = Message(Kind.RUN, 1, 2, 3, {"name": "x", "list": [1, 2]}, values).frames()
        try:
            message = Message.of(_damaged([bytes(f) for f in frames], chance))
        except BadMessage:
            refused += 1
            continue
        assert all(isinstance(value, np.ndarray) for value in message.tensors)
        Message(message.kind, message.a, message.b, message.c, message.details, message.tensors).frames()
    assert 1000 < refused < 3000


@pytest.mark.parametrize(
    "details", [b"[1]", b"{", b"\xff", b'{"a": ' + b"[" * 100_000, b"1", b'{"a": NaN, "a'], ids=range(6)
)
def test_details_are_a_json_object(details: bytes) -> None:
    frames = Message(Kind.HELLO).frames()
    with pytest.raises(BadMessage, match="details"):
        Message.of([frames[0][:8] + len(details).to_bytes(8, "little") + frames[0][16:] + details])


@pytest.mark.parametrize("shape", [(2**63, 2), (2**62, 4, 0), (2**64 - 1, 0), (3,), (2**32, 2**32)])
def test_a_shape_that_the_buffer_does_not_fill_is_refused(shape: tuple[int, ...]) -> None:
    values = np.zeros((2,) * len(shape), np.float32)
    head = bytes(Message(Kind.TENSOR, tensors=[values]).frames()[0])
    sizes = b"".join(n.to_bytes(8, "little") for n in shape)
    with pytest.raises(BadMessage):
        Message.of([head[: -len(sizes) - values.nbytes] + sizes + values.tobytes()])
