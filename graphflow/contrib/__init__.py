"""What programs use of tf.contrib, a module for each part, so that `from graphflow.contrib import rnn` works, too."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from graphflow._core.common.namespaces import missing

_MODULES = (
    "data", "distribute", "distributions", "framework", "layers", "legacy_seq2seq", "losses", "metrics", "opt", "rnn",
    "seq2seq", "slim", "training", "util",
)  # fmt: skip
_missing = missing("gf.contrib", dict.fromkeys(_MODULES))


def __getattr__(name: str) -> Any:
    return import_module(f"graphflow.contrib.{name}") if name in _MODULES else _missing(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
