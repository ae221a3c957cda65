"""Protects reading of TensorFlow's checkpoints: the values are the same to the bit, and damage is found.

data/tensorflow was written by TensorFlow 1.15: record_bundle.py.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf

RECORDED = Path(__file__).parent / "data" / "tensorflow"
STRINGS = [[b"", b"a\0b"], [b"\xff" * 300, "ä".encode()]]


def expected() -> dict[str, Any]:
    with np.load(RECORDED / "values.npz") as values:
        return {name: values[name] for name in values.files}


def test_every_tensor_is_read_to_the_bit() -> None:
    prefix = gf.train.latest_checkpoint(str(RECORDED))
    assert prefix == str(RECORDED / "model-12") and gf.train.checkpoint_exists(prefix)
    reader = gf.train.load_checkpoint(prefix)
    values = expected()
    assert reader.get_variable_to_shape_map().keys() == values.keys() | {"strings"}
    for name, value in values.items():
        found = reader.get_tensor(name)
        assert (found.dtype, found.shape, found.tobytes()) == (value.dtype, value.shape, value.tobytes()), (
            name
        )
    assert reader.get_tensor("strings").tolist() == STRINGS


def test_a_program_goes_on_from_it_with_other_partitions() -> None:
    values = expected()
    with gf.Graph().as_default(), gf.Session() as session:
        rows = gf.get_variable("rows", [200, 2], partitioner=gf.fixed_size_partitioner(4))
        columns = gf.get_variable("columns", [2, 3, 70])
        other = gf.get_variable("scalar", [], gf.float64)
        gf.train.Saver().restore(session, str(RECORDED / "model-12"))
        whole = session.run([gf.convert_to_tensor(rows), columns, other])
    for name, found in zip(("rows", "columns", "scalar"), whole, strict=True):
        assert found.tobytes() == values[name].tobytes()


def test_a_lost_file_of_data_is_named(tmp_path: Path) -> None:
    for path in RECORDED.glob("model-12.*"):
        shutil.copy(path, tmp_path)
    (tmp_path / "model-12.data-00001-of-00003").unlink()
    with pytest.raises(gf.errors.NotFoundError, match="data-00001-of-00003"):
        gf.train.load_checkpoint(str(tmp_path / "model-12"))


def test_damage_is_found(tmp_path: Path, everything: bool) -> None:
    values: dict[str, Any] = {name: value.tobytes() for name, value in expected().items()}
    files = sorted(RECORDED.glob("model-12.*"))
    generator = random.Random(7)
    refused = 0
    for _ in range(3000 if everything else 200):
        for path in files:
            shutil.copyfile(path, tmp_path / path.name)
        damaged = tmp_path / generator.choice(files).name
        data = bytearray(damaged.read_bytes())
        for _ in range(generator.choice((1, 1, 3))):
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
            if not data:
                break
        damaged.write_bytes(data)
        try:
            reader = gf.train.load_checkpoint(str(tmp_path / "model-12"))
        except gf.errors.DataLossError:
            refused += 1
            continue
        assert reader.get_variable_to_shape_map().keys() == values.keys() | {"strings"}
        for name in reader.get_variable_to_shape_map():
            try:
                found = reader.get_tensor(name)
            except gf.errors.DataLossError:
                refused += 1
            else:
                assert found.tolist() == STRINGS if name == "strings" else found.tobytes() == values[name]
    assert refused > 100


MAGIC = bytes.fromhex("57fb808b247547db")


@pytest.mark.parametrize("data", [b"", b"\0" * 47, b"\0" * 40 + MAGIC, b"\xff" * 40 + MAGIC])
def test_what_is_no_index(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.index").write_bytes(data)
    with pytest.raises(gf.errors.DataLossError, match=r"model\.index is not a whole checkpoint"):
        gf.train.load_checkpoint(str(tmp_path / "model"))
