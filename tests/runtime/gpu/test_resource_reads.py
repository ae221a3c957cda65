"""Protects what was read of a resource variable on a GPU: it stays when the variable is assigned later in the run."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf
from tests.plan.test_variable_reads import BUILDERS, made
from tests.runtime.gpu.both_devices import plans, session

pytestmark = pytest.mark.device


@pytest.mark.parametrize("name", BUILDERS)
def test_what_was_read_stays_when_the_variable_is_assigned(name: str) -> None:
    with gf.Graph().as_default(), gf.device("/gpu:0"), session(compiled="never", verify_plans=True) as one:
        fetches, expected = BUILDERS[name](made())
        for _ in range(3):
            one.run(gf.global_variables_initializer())
            for found, right in zip(one.run(fetches), expected, strict=True):
                np.testing.assert_allclose(found, right, rtol=1e-6)
        assert plans(one)
