"""NumPy kernels of text made of values, written as TensorFlow writes them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from graphflow._core.kernels.registry import Kernel, Node, kernel


def summarized(value: Any, count: int) -> str:
    """A value as Print and Assert write it: its first `count` elements (all if negative) in brackets."""
    array = np.asarray(value)
    limit = array.size if count < 0 else min(count, array.size)
    items = iter([printed(v) for v in array.reshape(-1)[:limit]])
    left = [limit]

    def axis(number: int) -> str:
        if not left[0] or array.ndim == 0:
            return next(items, "")
        length = array.shape[number]
        if number == array.ndim - 1:
            shown = min(length, left[0])
            left[0] -= shown
            cut = "..." if number and shown < length else ""
            return " ".join(next(items) for _ in range(shown)) + cut
        return "".join(f"[{axis(number + 1)}]" for _ in range(length) if left[0])

    return f"[{axis(0)}{'...' if array.size > limit else ''}]"


def printed(value: Any) -> str:
    """One element."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.bool_ | bool):
        return "1" if value else "0"
    if isinstance(value, np.floating):
        few, all_digits = (15, 17) if isinstance(value, np.float64) else (6, 9)
        short = f"{float(value):.{few}g}"
        exact = np.isnan(value) or type(value)(short) == value
        return short if exact else f"{float(value):.{all_digits}g}"
    return str(value)


def _edges(array: Any, count: int, indent: int) -> str:
    """An array with the first and last `count` elements of each axis."""
    if array.ndim == 0:
        value = array[()]
        return f'"{printed(value)}"' if isinstance(value, bytes) else printed(value)
    length = array.shape[0]
    whole = count < 0 or length <= 2 * count
    chosen = list(range(length)) if whole else [*range(count), *range(length - count, length)]
    items = [_edges(array[i : i + 1].reshape(array.shape[1:]), count, indent + 1) for i in chosen]
    if not whole:
        items.insert(count, "...")
    between = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * indent
    return "[" + between.join(items) + "]"


@kernel("StringFormat")
def _string_format(node: Node) -> Kernel:
    parts = node.attrs["template"].split(node.attrs["placeholder"])
    count = node.attrs["summarize"]

    def run(*values: Any) -> Any:
        texts = [_edges(np.asarray(v, object if isinstance(v, bytes) else None), count, 1) for v in values]
        told = parts[0] + "".join(text + part for text, part in zip(texts, parts[1:], strict=True))
        return np.array(told.encode(), object)

    return run


@kernel("Print", stateful=True, view=True)
def _print(node: Node) -> Kernel:
    message, first, count = node.attrs["message"], node.attrs["first_n"], node.attrs["summarize"]
    key = f"print/{node.name}"  # The count is the session's: an op may be in several plans.

    def run_print(run: Any, value: Any, *data: Any) -> Any:
        times = run.mine(key, itertools.count) if first >= 0 else None
        if times is None or next(times) < first:
            run.write(message + "".join(summarized(d, count) for d in data) + "\n")
        return value

    return run_print


@kernel("PrintV2", stateful=True)
def _print_v2(node: Node) -> Kernel:
    stream, end = node.attrs["output_stream"], node.attrs["end"]

    def run_print(run: Any, text: Any) -> None:
        line = printed(np.asarray(text, object)[()]) + end
        if stream.startswith("file://"):
            with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:
                file.write(line)
        else:
            run.write(line, stream)

    return run_print
