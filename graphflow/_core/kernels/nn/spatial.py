"""NumPy kernels of the ops that move blocks of an image between space, depth and batch."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import checked, invalid
from graphflow._core.kernels.array.layout import pad
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple


def _space_and_depth(node: Node, to_depth: bool) -> Kernel:
    block, layout = node.attrs["block_size"], node.attrs["data_format"]

    def run(x: Any) -> Any:
        rows = x.transpose(0, 2, 3, 1) if layout == "NCHW" else x
        n, h, w, c = rows.shape
        if to_depth:
            if h % block or w % block:
                raise invalid(f"Image height {h} and width {w} should be divisible by block_size {block}")
            parts = rows.reshape(n, h // block, block, w // block, block, c).transpose(0, 1, 3, 2, 4, 5)
            result = parts.reshape(n, h // block, w // block, c * block * block)
        else:
            if c % (block * block):
                raise invalid(f"Input depth {c} should be divisible by the square of block_size {block}")
            parts = rows.reshape(n, h, w, block, block, c // (block * block)).transpose(0, 1, 3, 2, 4, 5)
            result = parts.reshape(n, h * block, w * block, c // (block * block))
        return result.transpose(0, 3, 1, 2) if layout == "NCHW" else result

    return run


kernel("SpaceToDepth")(partial(_space_and_depth, to_depth=True))
kernel("DepthToSpace")(partial(_space_and_depth, to_depth=False))


def _space_to_batch(x: Any, block_shape: Any, paddings: Any) -> Any:
    blocks = block_shape.tolist()
    count = len(blocks)
    full = np.zeros((x.ndim, 2), np.int64)
    full[1 : 1 + count] = paddings
    padded = pad(x, full)
    batch, space, rest = padded.shape[0], padded.shape[1 : 1 + count], padded.shape[1 + count :]
    if any(b < 1 or s % b for s, b in zip(space, blocks, strict=True)):
        raise invalid(f"padded shape {space} is not divisible by block_shape {blocks}")
    pairs = [n for s, b in zip(space, blocks, strict=True) for n in (s // b, b)]
    parts = padded.reshape(batch, *pairs, *rest)
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, parts.ndim)]
    return parts.transpose(order).reshape(
        batch * math.prod(blocks), *(s // b for s, b in zip(space, blocks, strict=True)), *rest
    )


def _batch_to_space(x: Any, block_shape: Any, crops: Any) -> Any:
    blocks = block_shape.tolist()
    count, product = len(blocks), math.prod(blocks)
    if any(b < 1 for b in blocks) or x.shape[0] % product:
        raise invalid(
            f"Input batch dimension ({x.shape[0]}) is not divisible by product of block sizes ({product})"
        )
    batch, space, rest = x.shape[0] // product, x.shape[1 : 1 + count], x.shape[1 + count :]
    parts = x.reshape(*blocks, batch, *space, *rest)
    order = [count, *(n for i in range(count) for n in (count + 1 + i, i)), *range(2 * count + 1, parts.ndim)]
    whole = parts.transpose(order).reshape(batch, *(s * b for s, b in zip(space, blocks, strict=True)), *rest)
    cuts = []
    for extent, (start, end) in zip(whole.shape[1 : 1 + count], crops.tolist(), strict=True):
        if start < 0 or end < 0 or start + end > extent:
            raise invalid(f"crops ({start}, {end}) do not fit an axis of length {extent}")
        cuts.append(slice(start, extent - end))
    return whole[(slice(None), *cuts)].copy()


simple("SpaceToBatchND", checked(_space_to_batch))
simple("BatchToSpaceND", checked(_batch_to_space))
