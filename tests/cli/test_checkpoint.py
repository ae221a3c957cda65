"""Protects `graphflow checkpoint show`: what it lists, that it finds damage, and what it says to a wrong path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow.cli.main import main


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    """A checkpoint with a matrix, a partitioned variable, a random state and a text."""
    with gf.Graph().as_default(), gf.Session() as session:
        gf.get_variable("dense/kernel", initializer=np.arange(6, dtype=np.float32).reshape(2, 3))
        gf.get_variable("words", initializer=["a", "bc"])
        gf.get_variable(
            "table", [4, 2], gf.int32, gf.ones_initializer(), partitioner=gf.fixed_size_partitioner(2)
        )
        session.run(gf.global_variables_initializer())
        session.run(gf.random_normal([2], seed=1, name="noise"))
        return str(gf.train.Saver().save(session, str(tmp_path / "model"), 7, write_meta_graph=False))


def test_lists_everything_and_checks_it(prefix: str, capsys: Any) -> None:
    for path in (prefix, prefix + ".safetensors", str(Path(prefix).parent)):
        assert main(["checkpoint", "show", path]) == 0
        text = capsys.readouterr().out
        lines = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
        assert f"{prefix}.safetensors: 3 tensors, 75 bytes" in text
        assert lines["dense/kernel"][1:] == ["float32", "[2,", "3]", "24"]
        assert lines["table"][1:] == ["int32", "[4,", "2]", "32", "2", "slices"]
        assert lines["[2:4,"] == ["[2:4,", "0:2]", "16"]
        assert "graphflow/state/" in text and "Every checksum holds (5 of 5)." in text


def test_values_and_quick(prefix: str, capsys: Any) -> None:
    arguments = ["checkpoint", "show", prefix, "--quick", "--values", "dense/kernel", "--values", "words"]
    assert main([*arguments, "--values", "graphflow/state/"]) == 0
    text = capsys.readouterr().out
    assert "checksum" not in text
    assert "dense/kernel: float32 [2, 3]\n  least 0, greatest 5, mean 2.5, std 1.70783" in text
    assert "words: string [2]\n  [b'a' b'bc']" in text and "random/noise/RandomStandardNormal" in text
    assert main(["checkpoint", "show", prefix, "--values", "dense"]) == 2
    assert "has no tensor dense; it has: dense/kernel, table, words" in capsys.readouterr().err


def test_damage_is_named_and_is_the_exit_status(prefix: str, capsys: Any) -> None:
    path = Path(prefix + ".safetensors")
    data = bytearray(path.read_bytes())
    data[bytes(data).index(np.arange(6, dtype=np.float32).tobytes())] ^= 1
    path.write_bytes(data)
    assert main(["checkpoint", "show", prefix, "--values", "dense/kernel"]) == 1
    text = capsys.readouterr().out
    assert "DAMAGED: checksum" in text and "1 of 5 checksums do not hold: dense/kernel" in text
    path.write_bytes(data[:100])
    assert main(["checkpoint", "show", prefix]) == 1
    assert "is not a whole checkpoint" in capsys.readouterr().err


def test_a_wrong_path_is_one_line_and_status_2(tmp_path: Path, capsys: Any) -> None:
    assert main(["checkpoint", "show", str(tmp_path)]) == 2
    assert "has no `checkpoint` file" in capsys.readouterr().err
    assert main(["checkpoint", "show", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
