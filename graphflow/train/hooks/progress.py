"""One line on the terminal that says how far training is, rewritten in place (status_line.py)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from graphflow._core.common.shown.status_line import NotebookLine, StatusLine, notebook_bar, seconds_text
from graphflow._core.common.timeouts import PLAIN_PROGRESS_SECONDS, REDRAW_SECONDS
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys

_LOSS_NAME: Final = re.compile(r"(^|[/_])(loss|cost)(_\d+)?$", re.IGNORECASE)


class TrainingProgress:
    """The progress line of a training loop: step, rate, loss if a run has computed one anyway, time left."""

    def __init__(self, graph: Graph, losses: list[Any], last_step: Callable[[], int | None]) -> None:
        bar = notebook_bar()
        self._line = StatusLine() if bar is None else NotebookLine(bar)
        self._period = REDRAW_SECONDS if self._line.on_terminal else PLAIN_PROGRESS_SECONDS
        self._losses = {
            t for t in [*graph.get_collection(GraphKeys.LOSSES), *losses] if isinstance(t, Tensor)
        }
        self._last_step = last_step
        self._next = time.monotonic() + self._period
        self._points: list[tuple[float, int]] = []
        self._loss: Any = None

    def begin(self, step: int) -> None:
        """A session begins at a step: the rate is counted anew."""
        self._points = [(time.monotonic(), step)]

    def due(self) -> bool:
        """Whether it is time to draw the line again."""
        return time.monotonic() >= self._next

    def update(self, step: int, fetches: Any, values: Any) -> None:
        """Draws the line after a run that reached `step`, and fetched these values."""
        now = time.monotonic()
        self._next = now + self._period
        self._points.append((now, step))
        while len(self._points) > 2 and now - self._points[1][0] > 10:
            del self._points[0]
        loss = self._find_loss(fetches, values)
        if loss is not None:
            self._loss = loss
        self._line.show(self._text(step), step, self._last_step())

    def _text(self, step: int) -> str:
        last = self._last_step()
        parts = [f"step {step}" if last is None else f"step {step} of {last}"]
        (start, first), (now, _) = self._points[0], self._points[-1]
        rate = (step - first) / (now - start) if now > start else 0.0
        if rate > 0:
            parts.append(f"{rate:.3g} steps/s" if rate < 100 else f"{rate:.0f} steps/s")
        if self._loss is not None:
            parts.append(f"loss {self._loss:.4g}")
        if rate > 0 and last is not None and last > step:
            parts.append(f"{seconds_text((last - step) / rate)} left")
        return " · ".join(parts)

    def _find_loss(self, fetches: Any, values: Any) -> float | None:
        """The value of a fetched tensor that is known to be a loss, or is a scalar named so."""
        if values is None:
            return None
        if isinstance(fetches, Tensor):
            if fetches in self._losses or (fetches.dtype.is_floating and _LOSS_NAME.search(fetches.op.name)):
                return float(values) if np.ndim(values) == 0 else None
            return None
        pairs: Any = ()
        if isinstance(fetches, Mapping):
            pairs = zip(fetches.values(), values.values(), strict=True)
        elif isinstance(fetches, list | tuple):
            pairs = zip(fetches, values, strict=True)
        found = [loss for f, v in pairs if (loss := self._find_loss(f, v)) is not None]
        return found[0] if found else None

    def close(self) -> None:
        """Leaves the last state on the terminal."""
        self._line.close()
