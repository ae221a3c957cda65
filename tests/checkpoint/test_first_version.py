"""Protects reading of checkpoints of TensorFlow's first version: values are the same to the bit, damage is found.

data/first_version was written by TensorFlow 1.15: record_bundle.py.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.checkpoint import reader
from graphflow._core.checkpoint.bundle_entries import varint
from graphflow._core.checkpoint.first_version import _varints

RECORDED = Path(__file__).parent / "data" / "first_version"
STRINGS = [[b"", b"a\0b"], [b"\xff" * 300, "ä".encode()]]


def expected() -> dict[str, Any]:
    with np.load(RECORDED / "values.npz") as values:
        return {name: values[name] for name in values.files}


def test_every_tensor_is_read_to_the_bit() -> None:
    prefix = gf.train.latest_checkpoint(str(RECORDED))
    assert prefix == str(RECORDED / "model.ckpt") and gf.train.checkpoint_exists(prefix)
    checkpoint = gf.train.load_checkpoint(prefix)
    values = expected()
    assert checkpoint.get_variable_to_shape_map().keys() == values.keys() | {"strings"}
    for name, value in values.items():
        found = np.asarray(checkpoint.get_tensor(name))
        assert (found.dtype, found.shape, found.tobytes()) == (value.dtype, value.shape, value.tobytes()), (
            name
        )
    assert checkpoint.get_tensor("strings").tolist() == STRINGS


def test_a_program_goes_on_from_it(tmp_path: Path) -> None:
    """With other partitions, and leaves a checkpoint of its own."""
    values = expected()
    with gf.Graph().as_default(), gf.Session() as session:
        rows = gf.get_variable("rows", [20, 2], partitioner=gf.fixed_size_partitioner(2))
        whole = gf.convert_to_tensor(rows)
        number = gf.get_variable("scalar", [], gf.float64)
        saver = gf.train.Saver()
        saver.restore(session, str(RECORDED / "model.ckpt"))
        assert session.run(whole).tobytes() == values["rows"].tobytes() and session.run(number) == 7.5
        shutil.copy(RECORDED / "model.ckpt", tmp_path)
        session.run(number.assign(8.0))
        prefix = saver.save(session, str(tmp_path / "model.ckpt"), write_meta_graph=False)
        assert gf.train.load_variable(prefix, "scalar") == 8.0  # What was written last under a name counts.


def test_large_tensors_become_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of which a variable that has no value takes the memory."""
    monkeypatch.setattr(reader, "_GIVEN", 1)
    with gf.Graph().as_default(), gf.Session() as session:
        w = gf.get_variable("of/float32", [2, 3])
        gf.train.Saver([w]).restore(session, str(RECORDED / "model.ckpt"))
        session.run(w.assign_add(gf.ones([2, 3])))
        assert session.run(w).tobytes() == (expected()["of/float32"] + np.float32(1)).tobytes()


def test_numbers_of_seven_bits_a_byte() -> None:
    numbers = [0, 1, 127, 128, 300, 1 << 31, (1 << 63) - 1, (1 << 64) - 1, 1 << 63]
    found = _varints(memoryview(b"".join(map(varint, numbers))))
    assert found.tolist() == [*numbers[:-2], -1, -(1 << 63)] and _varints(memoryview(b"")).tolist() == []


def test_damage_is_found(tmp_path: Path, everything: bool) -> None:
    values = expected()
    whole = (RECORDED / "model.ckpt").read_bytes()
    damaged = tmp_path / "model.ckpt"
    generator = random.Random(7)
    refused = 0
    for _ in range(2000 if everything else 200):
        data = bytearray(whole)
        place = generator.randrange(len(data))
        kind = generator.randrange(4)
        if kind == 0:
            data[place] ^= 1 << generator.randrange(8)
        elif kind == 1:
            data[place] = generator.choice((0, 0x7F, 0xFF))
        elif kind == 2:
            del data[place : place + generator.choice((1, 20, len(data)))]
        else:
            data[place:place] = data[:place][-generator.choice((1, 8, 50)) :]
        damaged.write_bytes(data)
        try:
            checkpoint = gf.train.load_checkpoint(str(damaged))
        except gf.errors.DataLossError:
            refused += 1
            continue
        assert checkpoint.get_variable_to_shape_map().keys() == values.keys() | {"strings"}
        for name, value in values.items():
            assert np.asarray(checkpoint.get_tensor(name)).tobytes() == value.tobytes()
    assert refused > 100


@pytest.mark.parametrize("data", [b"", b"no checkpoint at all" * 10, b"\0" * 48])
def test_another_kind_of_file(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.ckpt").write_bytes(data)
    with pytest.raises(gf.errors.DataLossError, match=r"model\.ckpt is not a whole checkpoint"):
        gf.train.load_checkpoint(str(tmp_path / "model.ckpt"))
