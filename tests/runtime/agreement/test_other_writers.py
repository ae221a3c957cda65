"""Protects what other threads write while a compiled plan is compared with NumPy: it must not be undone."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.runtime.agreement import verification


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("other", ["added", "assigned", "rows", "together", "none"])
def test_no_update_is_lost_when_a_plan_goes_over_to_compiled_code(
    monkeypatch: pytest.MonkeyPatch, moment: str, other: str
) -> None:
    """Another thread writes before or after NumPy has done the run that is compared, whose writes it then has."""
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [3])
        w = gf.get_variable("w", initializer=np.zeros(3, np.float32))
        slot = gf.get_variable("slot", initializer=np.zeros(3, np.float32))
        step = gf.assign_add(w, gf.tanh(x * 0.0) + 1.0).op
        writes = {
            "added": gf.assign_add(w, [10.0] * 3).op,
            "assigned": gf.assign(w, [100.0] * 3).op,
            "rows": gf.scatter_add(w, [0, 1, 2], [10.0] * 3).op,
            "together": gf.train.MomentumOptimizer(1.0, 0.0).apply_gradients([(gf.constant([-10.0] * 3), w)]),
            "none": gf.assign_add(slot, [10.0] * 3).op,
        }
        compared = []
        with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
            real_run = verification._real_run

            def elsewhere() -> None:
                thread = threading.Thread(target=session.run, args=[writes[other]])
                thread.start()
                thread.join(60)
                assert not thread.is_alive()
                compared.append(threading.get_ident())

            def disturbed(*arguments: Any) -> Any:
                monkeypatch.setattr(verification, "_real_run", real_run)
                if moment == "before":
                    elsewhere()
                results = real_run(*arguments)
                if moment == "after":
                    elsewhere()
                return results

            session.run(gf.global_variables_initializer())
            session.run(writes[other])  # So that this plan is not compared itself meanwhile.
            session.run(writes["added"])
            before = float(session.run(w)[0])
            monkeypatch.setattr(verification, "_real_run", disturbed)
            for _ in range(5):
                session.run(step, {x: np.ones(3)})
            found = session.run(w).tolist()
    expected = {"assigned": 105.0 if moment == "before" else None, "none": before + 5}.get(other, before + 15)
    assert compared, "no run was compared"
    if expected is None:  # Assigned after the first, second, ... of the five steps.
        assert found[0] in [100.0 + k for k in range(5)] and found == found[:1] * 3
    else:
        assert found in ([expected] * 3, [expected - 1] * 3 if other == "assigned" else [expected] * 3)
