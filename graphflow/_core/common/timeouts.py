"""Every time after which something happens by itself: waits, pauses, leases, grace, by subject.

A name ends with its unit. Below each stands the reason for the number, and its guard: the test that fails, or does not
come to its end, if the number is quite another one, or that sets it to a shorter one and sees that what it is for comes
about. docs/timeouts.md is written from here:

    python -m tests.common.timeouts --write

Those of the compile server are in compile_timeouts.py, of waits of a run in waiting/wait_timeouts.py, of files in
files/file_timeouts.py, of groups in cluster/elastic/group_timeouts.py. The compiler process has its own in codegen/cpu.
"""

from __future__ import annotations

from typing import Final

# ---- connections --------------------------------------------------------------------------------------------------

HEARTBEAT_MS: Final = 1000
"""The pause between the heartbeats of each end of a connection. With a longer one, losses are noticed late.

Guard: tests/cluster/faults/test_faults.py::test_promise_5_a_stopped_ps_is_noticed_and_named
"""
HEARTBEAT_TIMEOUT_MS: Final = 3000
"""After so long without a word a peer counts as lost. With the time to the next heartbeat, and to the next look, a
silent peer is noticed within 5 s.

Guard: tests/cluster/faults/test_faults.py::test_promise_5_a_stopped_ps_is_noticed_and_named
"""
STRANGER_SECONDS: Final = 5.0
"""For how long a connection may take to show that it may connect. The proof needs three messages; a loaded machine
needs a second.

Guard: tests/cluster/test_wire_protocol.py::test_the_limits_are_those_of_the_page
"""
OLD_STRANGER_SECONDS: Final = 1.0
"""A stranger that has been there for so long is closed before those that came later.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
MOST_RECONNECT_PAUSE_MS: Final = 100
"""The longest pause between two tries to connect: a task that comes back is met at once.

Guard: tests/transport/test_how_often.py::test_a_client_tries_to_connect_every_moment_however_long_the_server_is_away
"""
RECONNECT_SECONDS: Final = 6.0
"""For how long a connection may not stand after the last time that it ended: the server may be gone. One that has
not begun to serve yet ends connections after `STRANGER_SECONDS`.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
UNHEARD_RECONNECT_SECONDS: Final = 1.0
"""For how long a connection may not stand after it has stood, and nothing came over it.

Guard: tests/transport/test_how_often.py::test_a_connection_that_ends_unheard_may_come_again_for_a_moment
"""
LOST_GOODBYE_MS: Final = 500
"""For how long what was sent may still go out, in the background, once a connection is given up.

Guard: tests/transport/test_how_often.py::test_what_a_client_says_last_may_go_out_for_a_moment_after_it_has_gone
"""
CLIENT_GOODBYE_MS: Final = 500
"""For how long, in the background, the last word of a client may still go out.

Guard: tests/transport/test_how_often.py::test_what_a_client_says_last_may_go_out_for_a_moment_after_it_has_gone
"""
SERVER_GOODBYE_MS: Final = 200
"""How long the last messages to peers have to go out, in the background, when a server ends.

Guard: tests/transport/test_how_often.py::test_the_last_messages_of_a_server_have_a_moment
"""
PORT_RELEASE_SECONDS: Final = 0.5
"""How long a port may be in use still by a server that was just closed: ZeroMQ closes sockets in the background.

Guard: tests/cluster/test_wrong_setups.py::test_the_port_is_taken_or_not_this_machines
"""
TICK_SECONDS: Final = 0.25
"""How often a server looks after what is due: leases, losses, what waits too long.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
ALIVE_SECONDS: Final = 3.0
"""How often a client says that it is there, and frees memory that it does not need: several times within
`LEASE_SECONDS`.

Guard: tests/transport/test_channel.py
    ::test_who_says_that_it_is_alive_says_it_over_a_new_connection_where_the_old_one_is_given_up
"""
WHY_SECONDS: Final = 0.25
"""How long a client whose deadline has passed waits to be told what its run was waiting for.

Guard: tests/transport/test_how_often.py::test_who_has_met_its_deadline_asks_why_for_a_moment
"""
GREET_AGAIN_SECONDS: Final = 10.0
"""How long a client that was forgotten or cut off tries to be taken again, if its options do not say.

Guard: tests/transport/test_how_often.py::test_a_client_that_was_forgotten_tries_to_be_taken_again_for_some_seconds
"""
WELCOME_MARGIN_SECONDS: Final = 1.0
"""How much longer than the server a client waits for a welcome: the server's answer says who is missing.

Guard: tests/cluster/test_wrong_setups.py::test_a_task_was_not_started
"""
DROPPED_LOG_SECONDS: Final = 10.0
"""How often it is logged how many messages were dropped: a flood must not fill the log.

Guard: tests/cluster/test_limits.py::test_what_is_dropped_is_counted_and_logged_now_and_then
"""

# ---- names of hosts -----------------------------------------------------------------------------------------------

LOOK_UP_SECONDS: Final = 5.0
"""After so long without an answer a look-up counts as failed.

Guard: tests/cluster/test_names.py::test_a_name_that_is_lost_stalls_nobody_and_is_named_to_who_needs_it
"""
FRESH_NAME_SECONDS: Final = 2.0
"""For how long an answer is not asked for again.

Guard: tests/cluster/test_names.py::test_the_last_good_answer_stays_in_use_while_there_is_no_newer_one
"""
PROBE_SECONDS: Final = 2.0
"""How long one of several addresses of a host has to answer, before the next one is tried.

Guard: tests/transport/test_how_often.py::test_an_address_that_does_not_answer_gives_way_to_the_next_within_seconds
"""
NAME_LOOK_SECONDS: Final = 0.1
"""How often it is looked where the server is, while its name is not known.

Guard: tests/cluster/test_names.py::test_a_client_waits_for_a_name_that_is_not_there_yet
"""

# ---- processes of one machine -------------------------------------------------------------------------------------

LOCAL_CHANNEL_SLICE_SECONDS: Final = 0.2
"""For how long at most a client's local channel waits at once. Then it checks whether it was interrupted or closed.

Guard: tests/transport/test_local_channels.py::test_a_client_that_waits_is_woken_and_one_that_cannot_write_may_give_up
"""
LISTENER_MAKING_SECONDS: Final = 60.0
"""The socket of a listener is removed if it is older than this and no process listens at it: a younger one is just
being made.

Guard: tests/transport/test_local_channels.py
    ::test_listeners_of_killed_processes_are_removed_and_those_that_are_used_are_not
"""
LOCAL_CHANNEL_ACCEPT_SECONDS: Final = 5.0
"""For how long at most a connection waits for its secret, or to be accepted if the process has no file left.

Guard: tests/transport/test_sockets.py::test_a_local_channel_waits_for_a_file_and_who_is_in_it_notices_that_none_comes
"""
LOCAL_CHANNEL_FILE_SECONDS: Final = 0.01
"""The pause before a listener without a file left tries again to accept a local channel.

Guard: tests/transport/test_how_often.py::test_a_listener_without_a_file_tries_again_soon_and_not_all_the_time
"""
IDLE_PIECES_SECONDS: Final = 60.0
"""How long memory for large values is kept that nothing uses: getting it anew takes longer than filling it.

Guard: tests/transport/frames/test_pieces.py::test_memory_is_used_again_when_no_array_is_on_it
"""
IDLE_SHARED_SECONDS: Final = 5.0
"""How long shared memory is kept that nobody reads: shorter, since all processes of a machine share what there is.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
SHARED_TRIM_SECONDS: Final = 2.0
"""How often a server looks for shared memory that nobody uses.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""

# ---- clusters -----------------------------------------------------------------------------------------------------

CONNECT_SECONDS: Final = 10.0
"""How long a session waits for the tasks that it needs, if its options do not say.

Guard: tests/cluster/test_wire_protocol.py::test_the_limits_are_those_of_the_page
"""
MOST_CONNECT_SECONDS: Final = 86_400.0
"""The longest that a client may ask a server to wait for tasks: a day.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
GREET_GONE_SECONDS: Final = 30.0
"""For how long a task that is gone is greeted if nobody waits for it.

Guard: tests/cluster/test_standing_still.py::test_promise_43_with_the_times_of_the_promise
"""
QUERY_SECONDS: Final = 2.0
"""How long the tasks have to answer what is asked of all of them, if the client does not say.

Guard: tests/cluster/test_wire_protocol.py::test_the_limits_are_those_of_the_page
"""
MOST_QUERY_SECONDS: Final = 60.0
"""The longest that a client may have a server wait for the answers of the others.

Guard: tests/cluster/test_wire_protocol.py::test_the_limits_are_those_of_the_page
"""
IN_USE_SECONDS: Final = 5.0
"""How often a task with a client tells the others that there is one.

Guard: tests/cluster/protocol/test_sessions.py::test_the_others_hear_of_a_client_often_enough_to_stay
"""
LEASE_SECONDS: Final = 15.0
"""A client that was silent for so long has lost its session: what was kept for it is freed. Several times
`ALIVE_SECONDS`.

Guard: tests/cluster/test_limits.py::test_promise_2_who_waits_although_its_session_lapsed_is_told
"""
DEAF_SECONDS: Final = 1.0
"""If the server itself did not listen for so long, that time is not held against clients.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
SERVED_AT_ONCE_SECONDS: Final = 0.001
"""A stage that takes less runs in the thread of the sockets: handing it over, and back, takes about a tenth of
that.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
EARLIER_ATTEMPT_SECONDS: Final = 0.1
"""How often an attempt that waits for an earlier one of the same step looks whether it is to end.

Guard: tests/cluster/test_how_often.py::test_who_waits_for_an_earlier_attempt_notices_its_own_end
"""
STOP_ANSWER_SECONDS: Final = 0.1
"""How long a task that is told to stop goes on, so that its answer goes out.

Guard: tests/cluster/test_server.py::test_promise_3_stop_cluster_ends_every_join_whichever_task_is_asked
"""
RATE_SECONDS: Final = 10.0
"""Over how long a task's steps a second are counted.

Guard: tests/cluster/test_how_often.py::test_rates_are_of_the_last_seconds_and_of_more_than_one_burst
"""
RATE_SAMPLE_SECONDS: Final = 1.0
"""How often the steps are noted from which that rate is made.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
STEP_SHOWN_SECONDS: Final = 3.0
"""A step that has lasted for so long is shown by `graphflow status`, with what it waits for.

Guard: tests/cluster/test_waits.py::test_the_status_shows_the_steps_that_last_and_what_they_wait_for
"""
MOST_REPLICA_WAIT_MS: Final = 1000 * 86_400 * 365
"""The longest that a round may be asked to wait for workers that are gone: a year.

Guard: tests/cluster/test_how_often.py::test_a_round_may_be_asked_to_wait_for_months_and_not_for_centuries
"""
METRICS_SECONDS: Final = 5.0
"""How long a task has to answer the page of its own metrics: Prometheus gives up after ten.

Guard: tests/cli/test_metrics.py::test_served_by_a_task_itself
"""
METRICS_REQUEST_SECONDS: Final = 15.0
"""A connection to that page ends after so long, whoever has not asked or not read by then.

Guard: tests/cli/test_metrics.py::test_strangers_that_do_not_ask_are_few_and_end
"""
# ---- the launcher -------------------------------------------------------------------------------------------------

WATCH_SECONDS: Final = 2.0
"""How often `graphflow status --watch` asks again.

Guard: tests/cli/test_clusters.py::test_a_watch_goes_on_if_the_task_that_was_asked_is_gone
"""
LAUNCHER_POLL_SECONDS: Final = 0.05
"""How often it looks for tasks that have ended, and for what is due.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
LAUNCHER_DRAIN_SECONDS: Final = 1.0
"""How long the last lines of a task that has ended may be on their way.

Guard: tests/cluster/test_launcher.py::test_a_job_is_not_held_up_by_what_a_task_has_left_behind_and_loses_no_line
"""
LAUNCHER_STOP_SECONDS: Final = 1.0
"""How long servers have to answer that they stop; half of that later what is left gets SIGTERM, then SIGKILL.

Guard: tests/cluster/test_launcher.py::test_promise_3_when_the_chief_has_ended_well_nothing_is_left_within_5_s
"""
LAUNCHER_BREAK_SECONDS: Final = 3.0
"""From the first signal to SIGKILL if a job is broken off.

Guard: tests/cluster/test_launcher.py::test_a_task_has_some_seconds_to_end_by_itself_if_the_job_is_broken_off
"""
LAUNCHER_CHIEF_SECONDS: Final = 30.0
"""From the first signal that the launcher gets to the end of the other tasks: until then the chief may save.

Guard: tests/cluster/test_launcher.py::test_the_chief_saves_before_the_others_end
"""
LAUNCHER_RESTART_SECONDS: Final = 1.0
"""How long after its end a task is started again: one that fails at once must not keep a core busy.

Guard: tests/cluster/test_launcher.py::test_a_task_that_fails_at_once_is_started_again_after_a_pause
"""
ENGINE_ANSWER_SECONDS: Final = 120.0
"""How long sbatch or kubectl may take to accept a cluster; a controller that is busy needs a minute.

Guard: tests/cluster/test_engines.py::test_an_engine_that_does_not_answer_is_not_waited_for_for_ever
"""
REGISTRY_ANSWER_SECONDS: Final = 30.0
"""How long the actor that knows where the tasks on Ray are may take to answer; a head that is busy needs seconds.

Guard: tests/engines/test_ray.py::test_a_registry_that_stands_still_is_not_waited_for_for_ever
"""
HOST_LOOK_SECONDS: Final = 60.0
"""How long a host may take to say over ssh what it has, Python's start from a slow disk included.

Guard: tests/cluster/test_hosts.py::test_a_host_that_does_not_answer_is_not_waited_for_for_ever
"""

# ---- collectives and synchronous rounds ---------------------------------------------------------------------------

COLLECTIVE_SECONDS: Final = 1800.0
"""How long a collective operation waits for the other members, if it is not told otherwise.

Guard: tests/collectives/test_how_often.py::test_a_collective_waits_longer_than_a_slow_member_needs_and_not_for_hours
"""
PROGRESS_SLICE_SECONDS: Final = 0.5
"""How often a thread that waits for other members looks at the time.

Guard: tests/collectives/test_how_often.py::test_who_reads_for_all_does_so_for_a_moment_at_a_time
"""
COLLECTIVE_TRIM_SECONDS: Final = 5.0
"""How often memory for the values of collectives is looked through for what nobody uses.

Guard: tests/cluster/test_how_often.py::test_memory_of_collectives_is_looked_through_every_few_seconds
"""
MEMBER_GOODBYE_SECONDS: Final = 0.2
"""How long the goodbye of a task whose local channel has ended may be on its way: it goes through the sockets.

Guard: tests/cluster/test_collective_link.py::test_who_only_sends_learns_that_nobody_receives
"""
MEMBER_BUSY_SECONDS: Final = 30e-6
"""How long a waiting thread keeps asking before it sleeps, if each member has a core: less than waking it takes.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
ROUND_GRACE_SECONDS: Final = 3.0
"""For so long a round waits for a task that is gone to come back, if a run does not say how long.

Guard: tests/resources/rounds/test_sync_rounds.py::test_a_task_that_is_gone_for_a_moment_only_is_waited_for
"""
ROUND_SLOW_SECONDS: Final = 10.0
"""A run that has waited for so long says so, even if nobody is gone.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
ROUND_SAY_SECONDS: Final = 1.0
"""How often a run says at most for whom it waits.

Guard: tests/resources/test_how_often.py::test_a_run_is_told_for_whom_it_waits_about_once_a_second
"""

# ---- runs in one process ------------------------------------------------------------------------------------------

WAIT_LOOK_SECONDS: Final = 0.5
"""How often what waits looks whether its run is to end, and Python whether Control-C came when that woke nobody.

Guard: tests/resources/test_how_often.py::test_who_waits_looks_though_nobody_notifies_it
"""
STALL_CHECK_SECONDS: Final = 10.0
"""A wait of this length is checked: there has to be a thread or a task that can still end it.

Guard: tests/promises/test_missing_parts.py
    ::test_promise_6_a_queue_runner_that_was_not_started_is_named_at_the_first_run
"""
ITERATOR_HOLD_SECONDS: Final = 0.001
"""How often the thread that saves an iterator's state checks whether the iterator's threads stand still.

Guard: tests/resources/test_how_often.py::test_an_iterator_is_saved_soon_after_its_threads_stand_still
"""
ITERATOR_LOOK_SECONDS: Final = 0.2
"""How often a run that waits for an iterator looks whether it is to end.

Guard: tests/resources/test_how_often.py::test_a_run_that_waits_for_an_iterator_notices_that_it_is_to_end
"""
QUICK_STAGE_SECONDS: Final = 100e-6
"""A stage that takes less is not worth waking another thread for.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
DEADLINE_GRACE_SECONDS: Final = 0.02
"""How long what looks at the deadline itself, as loops and waits do, has for saying so in its own words.

Guard: tests/runtime/test_scheduler.py::test_what_looks_at_the_deadline_itself_has_a_moment_to_say_so
"""
IDLE_THREAD_SECONDS: Final = 10.0
"""A thread that had nothing to do for so long ends.

Guard: tests/runtime/test_threads.py::test_those_of_a_burst_end_though_there_is_always_work
"""
COMPILE_AGAIN_SECONDS: Final = 30.0
"""After so long kernels are asked for again that did not come through the compiler's fault; twice as long each
time.

Guard: tests/codegen/cpu/test_compiler.py::test_a_plan_whose_kernels_did_not_come_is_compiled_later
"""
LONGEST_COMPILE_AGAIN_SECONDS: Final = 3600.0
"""The longest pause between two such attempts.

Guard: tests/codegen/cpu/test_compiler.py::test_a_plan_whose_kernels_did_not_come_is_compiled_later
"""
COMPILE_LOOK_SECONDS: Final = 2.0
"""How often a run that waits for the compiler looks whether it is to end.

Guard: tests/runtime/compiled/test_waiting.py::test_a_run_that_waits_ends_with_its_session
"""
REPLAY_COMPILE_SECONDS: Final = 120.0
"""How long `graphflow replay` waits for the kernels of a recorded run.

Guard: tests/runtime/agreement/test_verification.py::test_a_replay_waits_for_kernels_and_not_for_ever
"""

# ---- training programs --------------------------------------------------------------------------------------------

SESSION_LOOK_SECONDS: Final = 0.5
"""How often threads that share a session look whether theirs is to end.

Guard: tests/train/test_how_often.py::test_a_thread_that_waits_while_another_makes_the_session_notices_the_end
"""
SESSION_ABANDON_SECONDS: Final = 5.0
"""How long the end by an error waits for a thread that makes a session, having told it not to.

Guard: tests/train/test_how_often.py::test_an_end_by_an_error_waits_some_seconds_for_who_makes_a_session
"""
INTERRUPTED_RUN_SECONDS: Final = 10.0
"""How long a run may go on after Ctrl-C or SIGTERM before it is interrupted: with the time to save it is the half
minute that Kubernetes leaves a process.

Guard: tests/train/sessions/test_interruptions.py::test_a_run_that_does_not_end_is_interrupted_after_a_while
"""
INTERRUPTED_SAVE_SECONDS: Final = 20.0
"""How long hooks may save after Ctrl-C or SIGTERM.

Guard: tests/train/sessions/test_interruptions.py::test_hooks_that_save_for_too_long_are_interrupted
"""
SIGNAL_LOOK_SECONDS: Final = 0.001
"""How often it is looked whether a signal has come that this process has just sent itself.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
SESSION_POLL_SECONDS: Final = 0.5
"""How often a worker looks at most whether the chief has initialized the model.

Guard: tests/train/test_how_often.py::test_a_worker_looks_every_now_and_then_whether_the_model_is_ready
"""
SESSION_CONNECT_SECONDS: Final = 2.0
"""How often what is awaited is looked at again; a task that comes meanwhile is taken at once.

Guard: tests/train/test_how_often.py::test_a_cluster_that_is_awaited_is_looked_at_again_every_few_seconds
"""
REPLICA_WAIT_MS: Final = 600_000
"""How long a worker may be gone that takes part in synchronous training.

Guard: tests/train/test_how_often.py::test_a_worker_of_synchronous_training_may_be_gone_for_minutes
"""
FIRST_RECOVERY_SECONDS: Final = 0.1
"""How long a session waits before it recovers a second time; twice as long each time.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
LONGEST_RECOVERY_SECONDS: Final = 10.0
"""The longest pause between two recoveries.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
COORDINATOR_PAUSE_SECONDS: Final = 0.1
"""How often a coordinator that joins its threads looks at most whether they have ended.

Guard: tests/train/test_how_often.py::test_a_coordinator_notices_soon_that_its_threads_have_ended
"""
STEP_POLL_SECONDS: Final = 0.5
"""How often a worker that begins later reads the global step.

Guard: tests/train/test_how_often.py::test_a_worker_that_begins_later_reads_the_step_now_and_then_and_says_so_less_often
"""
STEP_LOG_SECONDS: Final = 30.0
"""How often it logs that it waits.

Guard: tests/train/test_how_often.py::test_a_worker_that_begins_later_reads_the_step_now_and_then_and_says_so_less_often
"""
REDRAW_SECONDS: Final = 0.2
"""How often the progress line is drawn on a terminal.

Guard: tests/train/hooks/test_progress.py::test_a_training_session_shows_it_on_a_terminal
"""
PLAIN_PROGRESS_SECONDS: Final = 10.0
"""How often a line of progress is written elsewhere: a log keeps every line.

Guard: tests/train/hooks/test_progress.py::test_it_is_silent_elsewhere_and_where_it_is_switched_off
"""
STATUS_LOG_SECONDS: Final = 10.0
"""How often a wait is written as a line if there is no terminal on which one line can change.

Guard: tests/common/test_waits_and_files.py::test_a_wait_is_logged_a_few_times_a_minute
"""
