"""Products of the NumPy tier take one core for a while after BLAS's threads had to wait for one.

The threads of OpenBLAS wait for one another by turning round. If another program has one of their cores, each product
waits for whole time slices of it (measured on two cores beside one and beside two busy programs: 128 x 128 by 128 x
128, which takes 45 us on one thread, took 1.4 and 33 ms on two; 512 x 512 by 512 x 512 took 46 ms and not 10). On cores
that are free two threads take 0.6 of the time from about 2 million multiply-adds on. Neither number of threads is right
for both, so the products themselves say which it is: one that took far longer than its size explains, while the system
took a core from this process, has met neighbours. Then BLAS keeps to one core, for 50 ms at first and for twice as long
whenever the next attempt ends in the same way; an attempt costs one slow product.

A product rounds otherwise on two threads than on one, so only runs whose results may depend on the moment take part:
those of a program that draws random numbers without a seed, as for the moment at which compiled code takes over.
"""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager
from resource import RUSAGE_SELF, getrusage
from types import TracebackType
from typing import Any, Final

import numpy as np

from graphflow._core.common.compile_timeouts import (
    CORE_LOSSES_LOOK_SECONDS,
    FIRST_ONE_CORE_SECONDS,
    LONGEST_ONE_CORE_SECONDS,
    SLOW_PRODUCT_SECONDS,
)
from graphflow._core.kernels.math.products import PRODUCTS
from graphflow._core.runtime.compiled.cores import one_core

_ON_ONE_THREAD: Final = 1 << 18
"""Multiply-adds of a product up to which OpenBLAS takes one thread anyway."""
_ELEMENT_MOVED: Final = 16
"""An element read or written counts as so many multiply-adds: a product with a vector waits for memory."""
_TIMES_SLOWER: Final = 3.0
"""A product was held up if it takes so many times as long as by the fastest so far, and SLOW_PRODUCT_SECONDS more."""
_SLOWEST: Final = 1e9
"""Multiply-adds a second that any core does: what is expected before a product was timed."""
_GOOD_PAUSES: Final = 8
"""After attempts that went well for so many pauses, the next pause is as short as the first."""


def core_losses() -> int:
    """How often the system has taken a core from a thread of this process that wanted to go on."""
    return getrusage(RUSAGE_SELF).ru_nivcsw


class CoreSharing:
    """A context for runs with products: in it BLAS keeps to one core while neighbours want the others. Thread-safe.

    Nests, and any number of threads may be in it. When the last leaves, BLAS has its threads back.
    """

    def __init__(self) -> None:
        self.until = 0.0
        """When, by time.monotonic(), BLAS may have all cores again."""
        self._lock = threading.Lock()
        self._runs = 0
        self._held: AbstractContextManager[None] | None = None
        self._losses = 0
        self._looked = -1.0
        self._fastest = _SLOWEST
        self._pause = FIRST_ONE_CORE_SECONDS
        self._resumed = 0.0

    def __enter__(self) -> None:
        with self._lock:
            self._runs += 1
            if self._runs == 1:
                now = time.monotonic()
                if now > self._looked + CORE_LOSSES_LOOK_SECONDS:
                    self._looked, self._losses = now, core_losses()
                if now < self.until:
                    self._hold()
                PRODUCTS.multiply = self._multiply

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._runs -= 1
            if self._runs == 0:
                PRODUCTS.multiply = np.matmul
                self._release()

    def _multiply(self, x: Any, y: Any, out: Any = None) -> Any:
        """np.matmul, which takes note of how long BLAS needed."""
        if x.shape[-2] * x.shape[-1] * y.shape[-1] <= _ON_ONE_THREAD or x.dtype.kind not in "fc":
            return np.matmul(x, y, out)
        begun = time.monotonic()
        if self._held is not None:
            if begun < self.until:
                return np.matmul(x, y, out)
            self._try_again(begun)
        result = np.matmul(x, y, out)
        ended = time.monotonic()
        moved = _ELEMENT_MOVED * (x.size + y.size + result.size)
        work = (x.shape[-1] * result.size + moved) * x.itemsize / 4
        if ended - begun > SLOW_PRODUCT_SECONDS + _TIMES_SLOWER * work / self._fastest:
            self._was_slow(ended)
        elif work > self._fastest * (ended - begun):
            self._fastest = work / max(ended - begun, 1e-9)
        return result

    def _try_again(self, now: float) -> None:
        """Gives BLAS its threads back, to see how they do."""
        with self._lock:
            self._release()
            self._resumed = now

    def _was_slow(self, now: float) -> None:
        """Has BLAS keep to one core for a while if a core was taken from this process."""
        losses = core_losses()
        with self._lock:
            lost, self._losses = losses > self._losses, losses
            if not lost or self._runs == 0 or self._held is not None:
                return
            good = now - self._resumed > _GOOD_PAUSES * self._pause
            self._pause = FIRST_ONE_CORE_SECONDS if good else min(2 * self._pause, LONGEST_ONE_CORE_SECONDS)
            self.until = now + self._pause
            self._hold()

    def _hold(self) -> None:
        self._held = one_core()
        self._held.__enter__()

    def _release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.__exit__(None, None, None)


SHARING: Final = CoreSharing()
"""The context of this process."""
