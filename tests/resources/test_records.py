"""Record files: byte for byte TensorFlow's, and what is damaged is never taken for data."""

import io
import random
import struct
import tracemalloc

import pytest

from graphflow._core.resources.records import masked_checksum, read_records, record, write_record
from graphflow.errors import DataLossError

DATA = [b"hello", b"", bytes(range(256)) * 7, b"end"]


def written() -> bytes:
    file = io.BytesIO()
    for data in DATA:
        write_record(file, data)
    return file.getvalue()


def read(content: bytes) -> tuple[list[bytes], bool]:
    """The records before the end or the error, and whether there was an error."""
    found: list[bytes] = []
    try:
        for data in read_records(io.BytesIO(content), "some.records"):
            found.append(data)
    except DataLossError as error:
        assert "some.records: the record at byte" in str(error)
        return found, True
    return found, False


def test_layout() -> None:
    # Recorded from TFRecordWriter of TensorFlow 1.15.
    assert record(b"hello").hex() == "0500000000000000eab2043e68656c6c6fbb1f1c19"


def test_round_trip() -> None:
    assert read(written()) == (DATA, False)


def test_cut_off_anywhere() -> None:
    content = written()
    ends = [0]
    for data in DATA:
        ends.append(ends[-1] + len(record(data)))
    for size in range(len(content)):
        found, damaged = read(content[:size])
        assert found == DATA[: sum(end <= size for end in ends) - 1]
        assert damaged == (size not in ends)


def test_damage_is_found() -> None:
    generator = random.Random(0)
    content = written()
    for _ in range(500):
        changed = bytearray(content)
        changed[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
        found, damaged = read(bytes(changed))
        assert damaged
        assert found == DATA[: len(found)]


def test_length_that_lies_allocates_nothing() -> None:
    length = struct.pack("<Q", 1 << 60)
    content = length + struct.pack("<I", masked_checksum(length)) + b"little"
    tracemalloc.start()
    assert read(content) == ([], True)
    assert tracemalloc.get_traced_memory()[1] < 1 << 26
    tracemalloc.stop()


def test_limit() -> None:
    content = io.BytesIO(record(b"x" * 100))
    with pytest.raises(DataLossError, match="100 bytes, more than the 99 that are allowed"):
        list(read_records(content, limit=99))
