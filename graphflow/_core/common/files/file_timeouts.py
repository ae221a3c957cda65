"""The times of files. As in timeouts.py."""

from __future__ import annotations

from typing import Final

# ---- files --------------------------------------------------------------------------------------------------------

LEFT_FILE_SECONDS: Final = 3600.0
"""Nobody writes a file for so long: an older temporary file is that of a process which ended meanwhile.

Guard: tests/common/test_waits_and_files.py::test_files_that_nobody_can_be_writing_are_removed
"""
EVENT_DELAY_SECONDS: Final = 1.0
"""The longest that an event stays in memory before it is written.

Guard: tests/resources/test_event_files.py::test_written_within_a_second_without_a_flush
"""
REMOTE_EVENTS_SECONDS: Final = 30.0
"""How often an event file of an object store is brought there while nobody flushes it: each time all of it is.

Guard: tests/summary/test_remote_events.py::test_what_is_not_flushed_comes_there_now_and_then
"""
UNDISTURBED_SECONDS: Final = 10.0
"""How long reading or restoring a checkpoint waits on a task for a stage that changes variables, to have all of it or
nothing.

Guard: tests/cluster/test_deduplication.py::test_a_snapshot_waits_for_a_change_but_not_for_ever
"""
MOST_HOLD_SECONDS: Final = 600.0
"""The longest that rounds of synchronous training wait for a checkpoint that is read. At first that is
`UNDISTURBED_SECONDS`; after one that took longer, twice as long as that one took.

Guard: tests/resources/test_round_machine.py::test_a_checkpoint_that_takes_longer_is_told_and_has_more_time_then
"""
