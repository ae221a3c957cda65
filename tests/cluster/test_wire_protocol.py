"""Protects docs/wire-protocol.md: layouts, kinds, types and limits in it are those of the code."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from graphflow._core.cluster.protocol import master_steps, sessions, task_steps, welcomes
from graphflow._core.cluster.server import admin, fields, handshake, registrar
from graphflow._core.collectives import rounds as collective_rounds
from graphflow._core.graph import dtypes
from graphflow._core.transport import local_channels, shared, strangers, zeromq
from graphflow._core.transport.frames import collective_frames, message, pieces, tensors
from graphflow._core.transport.frames.message import QUESTIONS, Kind, Way

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "wire-protocol.md").read_text(encoding="utf-8")


def _rows(heading: str) -> list[list[str]]:
    """The cells of the table that begins with this row."""
    lines = PAGE[PAGE.index(heading) :].splitlines()
    table = lines[: next((n for n, line in enumerate(lines) if not line.startswith("|")), len(lines))]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table if not line.startswith("|--")
    ]


def test_the_header_is_as_the_page_says() -> None:
    header = _rows("| offset | bytes | field |\n|--|--|--|\n| 0 | 2 |")[1:]
    format_ = f"<2sBBI{'Q' * 4}"
    assert message.HEADER.format == format_ and format_ in PAGE and message.HEADER.size == 40
    place = 0
    for (offset, size, _), code in zip(header, ("2s", "B", "B", "I", "Q", "Q", "Q", "Q"), strict=True):
        assert (int(offset), int(size)) == (place, struct.calcsize(f"<{code}"))
        place += int(size)
    assert f"version {message.VERSION} of the protocol" in PAGE and message.MAGIC == b"GF"


def test_the_table_of_tensors_is_as_the_page_says() -> None:
    rows = _rows("| offset | bytes | field |\n|--|--|--|\n| 0 | 1 |")[1:]
    assert tensors.HEAD.format == "<BBHIQ" and tensors.HEAD.format in PAGE
    place = 0
    for (offset, size, _), code in zip(rows, "BBHIQ", strict=False):
        assert (int(offset), int(size)) == (place, struct.calcsize(f"<{code}"))
        place += int(size)
    assert str(tensors.SMALL) in rows[-1][2] and f"at most {tensors.MOST_AXES}" in rows[1][2]
    assert f"a handle of {shared.HANDLE.size} bytes" in rows[-1][2] and shared.HANDLE.format in PAGE
    numbers, names = _rows("| 1 | 2 | 3 |")
    assert {int(n): name for n, name in zip(numbers, names, strict=True)} == {
        number: dtype.name for number, dtype in tensors.NUMPY_OF.items()
    } | {tensors.STRING: dtypes.string.name}


def test_the_kinds_are_those_of_the_page() -> None:
    rows = [row for row in _rows("| number | kind |")[1:] if row[0]]
    assert [(int(number), kind) for number, kind, *_ in rows] == [(k.value, k.name) for k in message.Kind]


def test_the_kinds_go_the_ways_of_the_page() -> None:
    ways = {"client, task": Way.FROM_CLIENT, "task, task": Way.FROM_TASK, "task, client": Way.TO_CLIENT}
    found: dict[str, Way] = {}
    name = ""
    for row in _rows("| number | kind |")[1:]:
        name = row[1] or name
        like = row[2].removeprefix("as ")
        found[name] = found.get(name, Way(0)) | (found[like] if like != row[2] else ways[row[2]])
    assert found == {kind.name: kind.ways & (ways["client, task"] | ways["task, task"] | ways["task, client"])
                     for kind in Kind}  # fmt: skip


def test_the_page_names_every_question() -> None:
    section = PAGE[PAGE.index("## Questions to all tasks") :].partition("\n## ")[0]
    assert not [kind.name for kind in QUESTIONS if not re.search(rf"\b{kind.name}\b", section)]


def test_the_frame_of_a_collective_is_as_the_page_says() -> None:
    rows = _rows("| offset | bytes | field |\n|--|--|--|\n| 0 | 1 | 1: a value")[1:-1]
    assert collective_frames.HEAD.format in PAGE and f"head is {collective_frames.HEAD.size} bytes" in PAGE
    place = 0
    for (offset, size, _), code in zip(rows, "BBBBHHqqQQqQ", strict=True):
        assert (int(offset), int(size)) == (place, struct.calcsize(f"<{code}"))
        place += int(size)
    assert (
        f"less than {collective_rounds.LARGE:,} bytes" in PAGE
        and f"multiple of {collective_rounds.ALIGNED}" in PAGE
    )


def test_every_field_that_is_read_of_a_message_is_on_the_page() -> None:
    package = Path(message.__file__).parents[2]
    read = re.compile(
        r"""details(?:\.get\(|\[)"(\w+)"|(?:name|text)_of\(details, "(\w+)"\)|address\["(\w+)"\]"""
    )
    files = [*package.glob("cluster/**/*.py"), *package.glob("transport/**/*.py")]
    found = {
        name
        for file in files
        for names in read.findall(file.read_text(encoding="utf-8"))
        for name in names
        if name
    }
    assert {"token", "lines", "traced", "inode", "once"} <= found
    assert [name for name in sorted(found) if f"`{name}`" not in PAGE] == []


def test_the_limits_are_those_of_the_page() -> None:
    units = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}

    def amount(text: str) -> int:
        number, unit = re.findall(r"([\d,]+) ?(\w+)?", text)[-1]
        return int(number.replace(",", "")) * units.get(unit, 1)

    assert [amount(text) for _, text in _rows("| what | most |")[1:]] == [
        local_channels.MOST_FRAME_BYTES,
        local_channels.MOST_FRAMES,
        tensors.MOST_TENSORS,
        message.MOST_DETAILS,
        zeromq.MOST_WHOLE,
        strangers.MOST_STRANGERS,
        strangers.MOST_STRANGER_BYTES,
        fields._MOST_NAME,
        sessions.MOST_SOCKETS,
        sessions.MOST_SESSIONS,
        welcomes.MOST_WAITING,
        registrar.MOST_PLANS,
        master_steps.MOST_STEPS,
        task_steps.MOST_EARLY_STEPS,
        task_steps.MOST_EARLY_BYTES,
    ]
    kibibytes = pieces.MOST_WHOLE_BYTES >> 10
    assert pieces.MOST_WHOLE_BYTES == pieces.PIECE_BYTES and PAGE.count(f"{kibibytes} KiB") == 2
    assert f"within {strangers.STRANGER_SECONDS:.0f} seconds" in PAGE
    assert (
        f"at most {admin.MOST_QUERY_SECONDS:.0f}" in PAGE and f"by default {admin.QUERY_SECONDS:.0f}" in PAGE
    )
    assert f"for {sessions.LEASE_SECONDS:.0f} seconds" in PAGE
    assert f"by default {handshake.CONNECT_SECONDS:.0f}" in PAGE
