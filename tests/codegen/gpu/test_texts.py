"""Protects where kernels' texts lie, beside which Numba keeps machine code: what must not be taken for each other must
not share a file.
"""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.device


def test_each_kind_of_arguments_has_a_file_of_its_own() -> None:
    """Of two processes that compile one text for two kinds at once, one could find the other's code under its own."""
    from graphflow._core.codegen.gpu.toolkit import _path, device, elementwise_launch

    text = "def kernel(count, x, scale):\n    pass\n"
    with device(0).current():
        blocks = [device(0).allocate(3, dtype) for dtype in ("float32", "int32")]
    launches = [elementwise_launch(text, 3, [3, block, scale]) for block in blocks for scale in (1.0, 2)]
    assert [launch.kinds for launch in launches] == [
        ("int", "float32", "float"),
        ("int", "float32", "int"),
        ("int", "int32", "float"),
        ("int", "int32", "int"),
    ]
    assert len({_path(text, launch.kinds) for launch in launches}) == len(launches)
    assert _path(text, launches[0].kinds) == _path(text, launches[0].kinds)
