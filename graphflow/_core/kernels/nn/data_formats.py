"""The NumPy kernels of axes in another order."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel


def _orders(node: Node) -> tuple[str, str]:
    """The two orders, which must be permutations of the same four or five letters."""
    source, target = str(node.attrs["src_format"]), str(node.attrs["dst_format"])
    for what, order in (("Source", source), ("Destination", target)):
        if len(order) not in (4, 5):
            raise invalid(f"{what} format must be of length 4 or 5, received {order!r}")
    if len(set(source)) != len(source) or sorted(source) != sorted(target):
        raise invalid(
            "Destination and source format must determine a permutation, "
            f"got src_format = {source!r}, dst_format = {target!r}"
        )
    return source, target


@kernel("DataFormatDimMap")
def _dim_map(node: Node) -> Kernel:
    def run(x: Any) -> Any:
        source, target = _orders(node)
        axes = np.array([target.index(letter) for letter in source], x.dtype)
        outside = (x < -len(axes)) | (x >= len(axes))
        if np.any(outside):
            raise invalid(f"There is no axis {np.asarray(x)[outside].flat[0]} in {source!r}")
        return axes[x]

    return run


@kernel("DataFormatVecPermute")
def _vector_permute(node: Node) -> Kernel:
    def run(x: Any) -> Any:
        source, target = _orders(node)
        if np.shape(x) not in ((len(source),), (len(source), 2)):
            raise invalid(
                f"input must be of shape [{len(source)}] or [{len(source)}, 2], but got shape {list(np.shape(x))}"
            )
        return x[[source.index(letter) for letter in target]]

    return run
