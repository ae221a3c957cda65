"""What the tests of plans on GPUs share: they compare the GPU with NumPy themselves, from the first run on.

So plans are trusted at once here, without the run on NumPy that comes before that otherwise; test_agreement.py is about
that run.
"""

from __future__ import annotations

import pytest

from graphflow._core.runtime.agreement import verification


@pytest.fixture(autouse=True)
def trusted_plans(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may be copied for a verified run, unless a test is marked `verified_plans`."""
    if request.node.get_closest_marker("verified_plans") is None:
        monkeypatch.setattr(verification, "BUDGET_BYTES", -1)
