"""Protects what goes over the socket of the compile server: it arrives whole however it is cut, and is bounded."""

from __future__ import annotations

import json
import random
import struct
import zlib

import pytest

from graphflow._core.codegen.cpu.service import messages
from graphflow._core.codegen.cpu.service.link import Link


def frame(data: bytes) -> bytes:
    return struct.pack("!I", len(data)) + data


def test_messages_arrive_whole_however_they_are_cut() -> None:
    sources = [f"text {number} " * number for number in range(200)]
    stream = b"".join(messages.pack_sources("e", sources))
    for seed in range(20):
        draw, parser, found, rest = random.Random(seed), messages.Parser(), [], stream
        while rest:
            size = draw.choice([1, 3, 100, 5000])
            found += parser.feed(rest[:size])
            rest = rest[size:]
        assert [source for message in found for source in message["sources"]] == sources


def test_the_largest_source_fits_whatever_it_holds() -> None:
    draw = random.Random(0)
    for low, high in ((32, 126), (0x800, 0xD000), (0x10000, 0x10FFFF)):
        source = "".join(chr(draw.randint(low, high)) for _ in range(messages.MOST_SOURCE_CHARACTERS))
        assert Link.takes(source) and not Link.takes(source + "x")
        (message,) = messages.Parser().feed(b"".join(messages.pack_sources("e", [source])))
        assert message["sources"] == [source]


@pytest.mark.parametrize(
    "data",
    [
        b"garbage",
        zlib.compress(b"[1]"),
        zlib.compress(b"{"),
        zlib.compress(b"\xff"),
        zlib.compress(b"[" * 100_000),
        zlib.compress(b'{"a": "' + b"x" * messages.MOST_TEXT_BYTES + b'"}'),
        zlib.compress(b"{}") + b"more",
        zlib.compress(json.dumps({"a": 1}).encode())[:-3],
    ],
    ids=["garbage", "list", "cut", "bytes", "deep", "bomb", "more", "not whole"],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(messages.BadFrame):
        messages.Parser().feed(frame(data))


def test_a_long_frame_is_refused_before_it_is_there() -> None:
    with pytest.raises(messages.BadFrame, match="frame of"):
        messages.Parser().feed(struct.pack("!I", messages.MOST_FRAME_BYTES + 1))
