"""The ops that measure and limit staleness. The steps live in the store, under the shared name of the optimizer."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.staleness import Staleness


def _steps(run: Any, node: Node) -> Staleness:
    name, waits = node.attrs["shared_name"], bool(node.attrs["waits"])
    limit = None if node.attrs["limit"] < 0 else int(node.attrs["limit"])
    steps: Staleness = run.store.other(f"staleness/{name}", lambda: Staleness(name, limit, waits))
    steps.check(limit, waits)
    return steps


@kernel("StalenessBegin", stateful=True)
def _begin(node: Node) -> Kernel:
    return lambda run: _steps(run, node).begin(run)


@kernel("StalenessAdmit", stateful=True)
def _admit(node: Node) -> Kernel:
    def admit(run: Any, ticket: Any) -> Any:
        staleness, admitted = _steps(run, node).admit(run, ticket)
        return np.int64(staleness), np.bool_(admitted)

    return admit


@kernel("StalenessDone", stateful=True)
def _done(node: Node) -> Kernel:
    return lambda run, ticket: _steps(run, node).done(ticket)
