"""Kernels of regular expressions: Python's, over arrays of bytes objects."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.kernels.strings import string_array


def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise invalid(f"Invalid pattern: {pattern.decode(errors='replace')}, error: {error}") from None


def _scalar(value: Any, what: str) -> bytes:
    array = np.asarray(value, object)
    if array.ndim:
        raise invalid(f"{what} must be scalar, but received {list(array.shape)}")
    text: bytes = array.item()
    return text


def _replaced(x: Any, pattern: re.Pattern[bytes], rewrite: bytes, everywhere: bool) -> Any:
    array = np.asarray(x, object)
    template = re.sub(rb"\\(\d)", rb"\\g<\1>", rewrite)
    found = [pattern.sub(template, text, count=0 if everywhere else 1) for text in array.reshape(-1)]
    return string_array(found, array.shape)


def _matched(x: Any, pattern: re.Pattern[bytes]) -> Any:
    array = np.asarray(x, object)
    found = [pattern.fullmatch(text) is not None for text in array.reshape(-1)]
    return np.array(found, np.bool_).reshape(array.shape)


@kernel("StaticRegexReplace")
def _static_replace(node: Node) -> Kernel:
    pattern, rewrite = _compiled(node.attrs["pattern"].encode()), node.attrs["rewrite"].encode()
    everywhere = node.attrs["replace_global"]
    return lambda x: _replaced(x, pattern, rewrite, everywhere)


@kernel("RegexReplace")
def _replace(node: Node) -> Kernel:
    everywhere = node.attrs["replace_global"]

    def run(x: Any, pattern: Any, rewrite: Any) -> Any:
        return _replaced(x, _compiled(_scalar(pattern, "Pattern")), _scalar(rewrite, "Rewrite"), everywhere)

    return run


@kernel("StaticRegexFullMatch")
def _static_full_match(node: Node) -> Kernel:
    pattern = _compiled(node.attrs["pattern"].encode())
    return lambda x: _matched(x, pattern)


@kernel("RegexFullMatch")
def _full_match(node: Node) -> Kernel:
    return lambda x, pattern: _matched(x, _compiled(_scalar(pattern, "Pattern")))
