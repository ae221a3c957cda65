"""What a monitored session and its hooks know of the global step, by one reading for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import graphflow.errors as errors
from graphflow._core.graph.graph import Graph
from graphflow.train.hooks.session_run_hook import StepReader
from graphflow.train.steps import find_global_step


class Steps:
    """The readers of the global step that the hooks have, and the session's `own`, None if there is no global step."""

    def __init__(self, graph: Graph, hooks: Sequence[Any]) -> None:
        self._hooks = hooks
        step = find_global_step(graph)
        self.own: StepReader | None = None if step is None else StepReader(step)

    def share(self) -> bool:
        """Lets the hooks know the step by one reading; whether there are any who want to."""
        own = self.own
        if own is None:
            return False
        readers = [r for r in self._readers() if r is not own and r.tensor.op is own.tensor.op]
        for reader in readers:
            reader.reading = own.reading
        return bool(readers)

    def read(self, session: Any) -> int | None:
        """The step of a session, None if there is none or it cannot be read."""
        if self.own is None or session is None:
            return None
        try:
            return self.own.read(session)
        except (errors.OpError, RuntimeError):  # the session may be what failed
            return None

    def last_seen(self, session: Any) -> int | None:
        """The highest step that this process has seen since it has had this session; read now if it can be."""
        seen = [reader.last for reader in self._readers() if reader.last is not None]
        now = self.read(session)
        return max(seen if now is None else [*seen, now], default=None)

    def begin_anew(self, session: Any) -> int | None:
        """All readers go on from the step of a session that took the place of another; returns it."""
        after = self.read(session)
        for reader in self._readers():
            reader.reading.last = reader.reading.expected = after
            reader.reading.seen += 1
        return after

    def _readers(self) -> list[StepReader]:
        found = [v for hook in self._hooks for v in getattr(hook, "__dict__", {}).values()]
        found = [v for v in found if isinstance(v, StepReader)]
        return found if self.own is None else [*found, self.own]
