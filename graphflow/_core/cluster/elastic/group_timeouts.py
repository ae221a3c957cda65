"""The times of groups of workers that form anew, as common/timeouts.py has the others."""

from __future__ import annotations

from typing import Final

# ---- groups that form anew ----------------------------------------------------------------------------------------

NODE_BEAT_SECONDS: Final = 0.25
"""How often a launcher of a group tells the rendezvous what it does: often enough within `NODE_LEASE_SECONDS`.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
NODE_LEASE_SECONDS: Final = 6.0
"""A launcher that the rendezvous has not answered for so long kills its workers, since the others may go on without
them a little later. A busy machine answers within a second.

Guard: tests/cluster/elastic/test_groups.py::test_a_node_that_is_lost_is_left_out_and_one_that_comes_is_taken_in
"""
NODE_SAY_SECONDS: Final = 10.0
"""How often a launcher says again on whom it waits.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
NODE_GOODBYE_SECONDS: Final = 2.0
"""How long the last word of a launcher that leaves may take: without it the node counts as lost some seconds later.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
GROUP_SETTLE_SECONDS: Final = 3.0
"""How long a group waits for more nodes once there are enough: those that are started together come within that.

Guard: tests/cluster/elastic/test_rendezvous.py
    ::test_a_group_begins_with_the_least_nodes_after_a_moment_and_with_the_most_at_once
"""
GROUP_WAIT_SECONDS: Final = 600.0
"""How long launchers wait for enough nodes, or for the rendezvous: who rents machines gets them minutes apart.

Guard: tests/cluster/elastic/test_rendezvous.py::test_too_few_nodes_are_not_waited_for_for_ever
"""
