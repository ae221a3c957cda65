"""Progress on the terminal (tf.keras.utils.Progbar)."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any


class Progbar:
    """A bar of progress with the means of values (tf.keras.utils.Progbar).

    Args:
        target: Steps in all, None if that is not known.
        width: Characters of the bar.
        verbose: 0 is silent, 1 a bar that moves, 2 one line at the end.
        interval: Seconds between two prints at least.
        stateful_metrics: Names of values that are shown as they are, not averaged.
        unit_name: What a step is called.
    """

    def __init__(
        self,
        target: int | None,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Sequence[str] | None = None,
        unit_name: str = "step",
    ) -> None:
        self.target = target
        self.width = width
        self.verbose = verbose
        self.interval = interval
        self.stateful_metrics: set[str] = set(stateful_metrics or ())
        self.unit_name = unit_name
        self._sums: dict[str, list[float]] = {}
        self._seen = 0
        self._start = time.monotonic()
        self._shown = 0.0
        self._length = 0

    def update(self, current: int, values: Sequence[tuple[str, Any]] | None = None) -> None:
        """Shows that `current` steps are done, with values of the last ones.

        Args:
            current: How many steps are done.
            values: Pairs (name, value) of the last steps.
        """
        for name, value in values or ():
            if name in self.stateful_metrics:
                self._sums[name] = [float(value), 1]
            else:
                total, count = self._sums.get(name, [0.0, 0])
                steps = max(current - self._seen, 1)
                self._sums[name] = [total + float(value) * steps, count + steps]
        self._seen = current
        now = time.monotonic()
        last = self.target is not None and current >= self.target
        if self.verbose == 1:
            if now - self._shown < self.interval and not last:
                return
            self._show(current, now, last)
            self._shown = now
        elif self.verbose == 2 and last:
            print(f"{current}/{current}{self._text(now)}")

    def _show(self, current: int, now: float, last: bool) -> None:
        if self.target is not None:
            done = int(self.width * current / self.target) if self.target else self.width
            bar = "=" * max(done - 1, 0) + (">" if done and not last else "=" if done else "")
            line = f"{current:{len(str(self.target))}d}/{self.target} [{bar.ljust(self.width, '.')}]"
        else:
            line = f"{current:7d}/Unknown"
        line += self._text(now)
        end = "\n" if last else ""
        sys.stdout.write("\r" + line.ljust(self._length) + end)
        sys.stdout.flush()
        self._length = len(line)

    def _text(self, now: float) -> str:
        spent = now - self._start
        each = spent / self._seen if self._seen else 0.0
        unit = (
            f"{each:.0f}s" if each >= 1 else f"{each * 1e3:.0f}ms" if each >= 1e-3 else f"{each * 1e6:.0f}us"
        )
        text = f" - {spent:.0f}s {unit}/{self.unit_name}"
        for name, (total, count) in self._sums.items():
            mean = total / max(count, 1)
            text += f" - {name}: {mean:.4f}" if abs(mean) > 1e-3 else f" - {name}: {mean:.4e}"
        return text

    def add(self, n: int, values: Sequence[tuple[str, Any]] | None = None) -> None:
        """Shows that n more steps are done.

        Args:
            n: How many steps more are done.
            values: Pairs (name, value) of the last steps.
        """
        self.update(self._seen + n, values)
