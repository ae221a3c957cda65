"""Kernels that read files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from graphflow.checkpoint.atomic import os_error
from graphflow.kernels.cpu.array import invalid
from graphflow.kernels.registry import Kernel, Node, kernel


@kernel("ReadFile", stateful=True)
def _read_file(node: Node) -> Kernel:
    def read(run: Any, filename: Any) -> Any:
        names = np.asarray(filename, object)
        if names.size != 1:
            raise invalid(f"Input filename tensor must be scalar but had shape: {list(names.shape)}")
        path = os.fsdecode(names.item())
        try:
            with open(path, "rb") as file:
                return np.array(file.read(), object)
        except OSError as error:
            raise os_error(error, path, "Cannot read") from error
        except ValueError as error:  # a zero byte in the name
            raise invalid(f"Cannot read {path!r}: {error}") from error

    return read
