"""Gives back to the driver what nobody holds any more: device memory, pinned memory, events and streams.

Numba keeps it and frees it all when the eleventh comes, in whichever thread drops that one. If no GPU is current
there, the driver refuses, the memory is lost, and a traceback is on stderr. So each GPU gets a queue that makes it
current.
"""

from __future__ import annotations

import atexit
import logging
from importlib import import_module
from typing import Any, Final

_LOG: Final = logging.getLogger("graphflow")


def give_back_with(context: Any) -> None:
    """Has what is allocated in a context of Numba's from now on given back with the context being current.

    Memory of the device is freed when it is dropped, what has no size to speak of by tens.
    """
    driver = import_module("numba.cuda.cudadrv.driver")

    class Queue(driver._PendingDeallocs):  # type: ignore[misc, name-defined]
        ended = False

        def clear(self) -> None:
            if self.ended:
                return
            try:
                driver.driver.cuCtxPushCurrent(context.handle)
                try:
                    super().clear()
                finally:
                    driver.driver.cuCtxPopCurrent()
            except driver.CudaAPIError:  # A GPU that has failed frees nothing, and each run says that it has.
                _LOG.debug("Memory of a GPU was not given back.", exc_info=True)

        def end(self) -> None:
            """The process ends, and its memory with it; cuda.core may have unloaded what waits here already."""
            self.ended = True

    context.deallocations = context.memory_manager.deallocations = queue = Queue(capacity=1)
    atexit.register(queue.end)
