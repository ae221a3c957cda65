"""Protects files of records: what is written comes back, compressed or not, and damage is found."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf

RECORDS = [b"", b"first", bytes(range(256)) * 300]
KINDS = gf.python_io.TFRecordCompressionType


@pytest.mark.parametrize("kind", [None, "", "GZIP", "ZLIB", KINDS.NONE, KINDS.GZIP, KINDS.ZLIB])
def test_what_is_written_comes_back(tmp_path: Path, kind: Any) -> None:
    path, options = str(tmp_path / "records"), gf.python_io.TFRecordOptions(kind)
    with gf.python_io.TFRecordWriter(path, options) as writer:
        for record in RECORDS:
            writer.write(record)
            writer.flush()
    assert list(gf.python_io.tf_record_iterator(path, options)) == RECORDS
    assert list(gf.python_io.tf_record_iterator(path.encode(), kind)) == RECORDS
    with pytest.raises(gf.errors.FailedPreconditionError, match="is closed"):
        writer.write(b"late")
    writer.flush()
    writer.close()


def test_compressed_files_are_those_of_the_usual_tools_and_always_the_same(tmp_path: Path) -> None:
    files = {}
    for kind in ("", "GZIP", "ZLIB"):
        for turn in (1, 2):
            with gf.python_io.TFRecordWriter(tmp_path / f"{kind}{turn}", kind) as writer:
                for record in RECORDS:
                    writer.write(record)
        files[kind] = (tmp_path / f"{kind}1").read_bytes()
        assert files[kind] == (tmp_path / f"{kind}2").read_bytes()
    assert gzip.decompress(files["GZIP"]) == zlib.decompress(files["ZLIB"]) == files[""]


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_damage_is_found(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "records"
    with gf.python_io.TFRecordWriter(path, kind) as writer:
        for record in RECORDS:
            writer.write(record)
    whole = path.read_bytes()
    step = max(1, len(whole) // 60)
    for position in range(1, len(whole), step):
        path.write_bytes(whole[:position])
        try:
            found = list(gf.python_io.tf_record_iterator(path, kind))
            assert not kind and found == RECORDS[: len(found)]  # cut off between two records
        except gf.errors.DataLossError as error:
            assert str(path) in error.message
        flipped = bytearray(whole)
        flipped[position] ^= 16
        path.write_bytes(flipped)
        try:
            assert list(gf.python_io.tf_record_iterator(path, kind)) == RECORDS  # a byte of gzip's header
            assert kind == "GZIP"
        except gf.errors.DataLossError:
            pass


def test_wrong_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Not a valid compression type"):
        gf.python_io.TFRecordOptions("ZIP")
    with pytest.raises(gf.errors.NotFoundError):
        list(gf.python_io.tf_record_iterator(tmp_path / "nothing"))
    with pytest.raises(gf.errors.NotFoundError):
        gf.python_io.TFRecordWriter(tmp_path / "no" / "folder")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
@pytest.mark.parametrize("options", [None, "GZIP", "ZLIB"])
def test_a_full_disk_is_told_of_with_the_file(options: Any) -> None:
    writer = gf.python_io.TFRecordWriter("/dev/full", options)
    told = "Cannot write /dev/full: No space left"
    with pytest.raises(gf.errors.ResourceExhaustedError, match=told), writer:
        for _ in range(100):
            writer.write(os.urandom(1000))
