"""On PYTHONPATH, this makes every graph ask for the GPU, so that programs written for the CPU run there.

What has no kernel there goes to the CPU. For tests: programs say `with gf.device("/gpu:0")` themselves. Where
EMULATED_GPU is set, that GPU is tests/emulated_gpu, which must be on PYTHONPATH as well.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from graphflow._core.graph.scopes import Scopes
from graphflow.config import ConfigProto

_scopes, _config = Scopes.__init__, ConfigProto.__init__


def _on_gpu(self: Scopes, *arguments: Any, **named: Any) -> None:
    _scopes(self, *arguments, **named)
    self.devices = ("/device:GPU:0",)


def _soft(self: ConfigProto, *arguments: Any, **named: Any) -> None:
    _config(self, *arguments, **named)
    self.allow_soft_placement = True


Scopes.__init__ = _on_gpu  # type: ignore[method-assign]
ConfigProto.__init__ = _soft  # type: ignore[method-assign]

if "EMULATED_GPU" in os.environ:
    import_module("tests.emulated_gpu.emulation").begin()
