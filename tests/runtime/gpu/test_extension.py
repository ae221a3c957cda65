"""Protects that ops of extensions run on a GPU, by the same text and the same rule as on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.extend import acme
from tests.runtime.gpu.both_devices import on_both

pytestmark = pytest.mark.device


def test_both_devices_compute_ops_of_extensions_and_their_gradients() -> None:
    rows = np.random.default_rng(0).standard_normal((7, 33)).astype(np.float32)

    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, rows.shape)
        normal, size = acme.row_norm(x * 2.0)
        y = acme.quick_gelu(normal) + size[:, None]
        return [y, size, gf.gradients(y, x)[0]], {x: rows}

    cpu, gpu = on_both(build, 2)
    for got, wanted in zip(gpu[1], cpu[1], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
