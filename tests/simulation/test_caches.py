"""Protects what is taken from the caches before a stage is measured: as much as the system says that they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphflow._core.simulation.caches import OtherWork, cache_sizes

USUAL = (1 << 20, 32 << 20)


@pytest.mark.parametrize(
    ("texts", "sizes"),
    [
        (["32K", "32K", "1024K", "32768K"], (1 << 20, 32 << 20)),
        (["48K", "2M", "105M"], (2 << 20, 105 << 20)),
        (["64K", "64K", "512K"], (64 << 10, 512 << 10)),
        (["", "what", "-1K"], USUAL),
        ([], USUAL),
        (["32K"], USUAL),
    ],
)
def test_the_sizes_are_those_that_linux_says(
    tmp_path: Path, texts: list[str], sizes: tuple[int, int]
) -> None:
    for number, text in enumerate(texts):
        (tmp_path / f"index{number}").mkdir()
        (tmp_path / f"index{number}" / "size").write_text(text + "\n")
    assert cache_sizes(tmp_path) == sizes


def test_where_the_system_says_nothing_usual_sizes_are_taken(tmp_path: Path) -> None:
    assert cache_sizes(tmp_path / "none") == USUAL


def test_other_work_passes() -> None:
    others = OtherWork()
    others.passes(crowded=False)
    others.passes(crowded=True)
