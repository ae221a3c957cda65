"""Work on large memory in a few threads: copying and hashing release Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np

LARGE: Final = 16 << 20
"""Bytes that are worth more than one thread."""
_PIECE: Final = 4 << 20


def run_all(function: Callable[[Any], None], items: Iterable[Any], bytes: int) -> None:
    """Calls function(item) for all items, in several threads if they hold many bytes; raises the first error."""
    threads = min(4, os.cpu_count() or 1) if bytes > LARGE else 1
    if threads == 1:
        for item in items:
            function(item)
        return
    failed: list[BaseException] = []

    def guarded(item: Any) -> None:
        if not failed:
            try:
                function(item)
            except BaseException as error:
                failed.append(error)

    with ThreadPoolExecutor(threads, "graphflow-checkpoint") as pool:
        for _ in pool.map(guarded, items):
            pass
    if failed:
        raise failed[0]


def copy_into(target: Any, source: Any) -> None:
    """numpy.copyto; large arrays of one dtype that lie in one piece are copied by several threads."""
    if (
        not isinstance(source, np.ndarray)
        or target.nbytes <= LARGE
        or target.dtype != source.dtype
        or target.dtype.hasobject
        or target.shape != source.shape
        or not (target.flags.c_contiguous and source.flags.c_contiguous)
    ):
        np.copyto(target, source)
        return
    flat, given = target.reshape(-1), source.reshape(-1)
    step = _PIECE // target.itemsize

    def copy(start: int) -> None:
        flat[start : start + step] = given[start : start + step]

    run_all(copy, range(0, flat.size, step), target.nbytes)


def copied(value: Any, dtype: Any) -> Any:
    """A fresh array of a value."""
    if not isinstance(value, np.ndarray) or value.nbytes <= LARGE:
        return np.array(value, dtype, order="C")
    fresh = np.empty(value.shape, dtype)
    copy_into(fresh, value)
    return fresh
