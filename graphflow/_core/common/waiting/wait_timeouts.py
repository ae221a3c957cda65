"""The times after which an operation of a run that waits does not hold up others of it; as in timeouts.py."""

from __future__ import annotations

from typing import Final

# ---- waits of one run ---------------------------------------------------------------------------------------------

WATCH_LOOK_SECONDS: Final = 0.01
"""How often a run in which one operation may wait for another is looked at.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
WAIT_PATIENCE_SECONDS: Final = 0.02
"""After a wait of this length, as for an element of a queue, what does not depend on it goes on beside it. Runs whose
waits are shorter do everything in one order, on one thread.

Guard: tests/runtime/test_concurrent_waits.py::test_short_waits_end_in_the_order_of_building
"""
FUNCTION_PATIENCE_SECONDS: Final = 0.1
"""The same for a Python function, which may compute rather than wait: the next one would disturb it then.

Guard: tests/runtime/test_concurrent_waits.py::test_python_functions_that_compute_are_called_one_after_the_other
"""
STILL_PAUSE_SECONDS: Final = 1.0
"""The longest pause between two looks of which anything comes at a run that stands still: the first time is the longest
patience, and each pause is as long as the wait was until then.

Guard: tests/common/waiting/test_stillness.py::test_a_wait_that_lasts_is_told_of_ever_less_often
"""
WATCH_IDLE_SECONDS: Final = 0.5
"""After so long without a run that is to be looked at the thread that looks ends.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
