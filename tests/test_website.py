"""Protects the reference: its pages have every public name, and each object is described on one of them.

That the site can be built, without a link that leads nowhere, is shown by `make docs`, which CI runs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import graphflow as gf
from tests.test_exports import public_names

WEBSITE = Path(gf.__file__).parent.parent / "website"


def test_the_reference_has_every_public_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(WEBSITE)
    import names

    modules = names.public_modules()
    listed = {name.shown for module in modules for name in module.names} | {m.shown for m in modules}
    assert not [name for name in public_names() if name not in listed and not name.startswith("gf.protos.")]
    best = names.described(modules)
    assert best["graphflow._core.ops.math.numeric.abs_"].path == "graphflow.abs"
    assert {name.path for name in best.values()} <= {n.path for module in modules for n in module.names}
    for name in best.values():
        assert names.summary(name), name
    sys.modules.pop("names")
