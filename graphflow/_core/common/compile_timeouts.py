"""The times of what compiles kernels: the compile server, its clients, compiler processes; and those of products that
meet other programs on their cores. As in timeouts.py.
"""

from __future__ import annotations

from typing import Final

# ---- the compiler of kernels --------------------------------------------------------------------------------------

COMPILE_SECONDS: Final = 120.0
"""How long one kernel may take to compile: the largest takes some seconds of a core, of which it has a small share.

Guard: tests/codegen/cpu/test_helper.py::test_a_compiler_that_does_not_answer_is_ended
"""
COMPILER_PAUSE_SECONDS: Final = 10.0
"""For how long a compiler process that died several times in a row is not started; twice as long each time.

Guard: tests/codegen/cpu/test_helper.py::test_a_helper_that_dies_is_left_alone_ever_longer
"""
LONGEST_COMPILER_PAUSE_SECONDS: Final = 600.0
"""The longest such pause: what killed it may be mended.

Guard: tests/codegen/cpu/test_helper.py::test_a_helper_that_dies_is_left_alone_ever_longer
"""
COMPILER_JOIN_SECONDS: Final = 1.0
"""How long who closes a compiler waits for its thread: that of a killed process sees its end at once.

Guard: tests/codegen/cpu/test_compiler.py::test_waiting_can_time_out
"""
COMPILER_EXIT_SECONDS: Final = 5.0
"""How long a compiler process that has closed its output may take to end, so that its status can be said.

Guard: tests/codegen/cpu/test_helper.py::test_how_it_ended_is_said
"""
LAST_REQUESTS_SECONDS: Final = 2.0
"""How long a program that ends may take to send its last requests to the compile server, which it may have to start.

Guard: tests/codegen/cpu/service/test_server.py::test_a_program_that_ends_does_not_wait_long_for_a_server
"""
AHEAD_PAUSE_SECONDS: Final = 0.001
"""How long the thread that imports the compiler pauses after each module, so that all others have their turns.

Guard: tests/runtime/compiled/test_ahead.py::test_the_hot_plan_finds_all_modules_imported
"""
AHEAD_WAIT_SECONDS: Final = 5.0
"""How long a fork and the end of a program wait for the module that is being imported, which takes milliseconds.

Guard: tests/runtime/compiled/test_ahead.py::test_a_fork_does_not_wait_for_ever
"""
KERNEL_LOOK_SECONDS: Final = 0.002
"""How often a run that waits for kernels looks whether they are there: a run is not held up longer than it has to be.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
COMPILE_SERVER_IDLE_SECONDS: Final = 20.0
"""How long the compile server stays when it has nothing to do: the next program of a series finds it with Numba loaded,
which takes a second, and a machine is not left with 150 MB in use.

Guard: tests/codegen/cpu/service/test_server.py::test_an_idle_server_ends_and_leaves_nothing
"""
COMPILE_SERVER_LOOK_SECONDS: Final = 1.0
"""How often the compile server looks whether its folder is still there, and whether a kernel is overdue.

Guard: tests/codegen/cpu/service/test_server.py::test_a_server_whose_folder_was_removed_ends
"""
COMPILE_SERVER_ALIVE_SECONDS: Final = 3.0
"""How often the compile server says that it is there to those who wait for kernels.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
COMPILE_SERVER_SILENT_SECONDS: Final = 30.0
"""After so long without a word from the compile server a process compiles for itself: ten words were missed.

Guard: tests/codegen/cpu/service/test_link.py::test_a_server_that_says_nothing_is_not_waited_for
"""
COMPILE_SERVER_START_SECONDS: Final = 10.0
"""How long a process waits for a compile server that ends to be gone, or for another process to have started one.

Guard: tests/codegen/cpu/service/test_link.py::test_a_lock_that_nobody_serves_behind_is_not_waited_for
"""
COMPILE_SERVER_POLL_SECONDS: Final = 0.02
"""How often it is looked meanwhile.

Guard: tests/common/test_timeouts.py::test_times_that_depend_on_each_other_are_in_order
"""
COMPILE_SERVER_STRANGER_SECONDS: Final = 5.0
"""How long a connection to the compile server has to ask for something: a client asks at once.

Guard: tests/codegen/cpu/service/test_attacks.py::test_who_says_nothing_is_closed
"""
COMPILE_SERVER_LEFT_SECONDS: Final = 86_400.0
"""After so long the socket of a compile server that was killed is removed by the next one of another version.

Guard: tests/codegen/cpu/service/test_link.py::test_sockets_of_killed_servers_are_removed
"""
WARM_LOOK_SECONDS: Final = 0.1
"""How often `graphflow cache warm` looks whether the compile server has made what a program has asked for.

Guard: tests/cli/test_cache.py::test_warm_runs_a_program_and_waits_for_its_kernels
"""
WARM_END_SECONDS: Final = 5.0
"""How long a program that `graphflow cache warm --seconds` asks to end may take before it is killed.

Guard: tests/cli/test_cache.py::test_warm_ends_a_program_that_goes_on
"""
NUMPY_FIRST_SECONDS: Final = 0.2
"""A plan of fixed bits stays on NumPy for as many runs as take so long by an estimate: small programs are over before.

Guard: tests/runtime/compiled/test_due.py::test_a_thousand_quick_steps_wait_for_no_compiler
"""

COMPILER_TOLD_SECONDS: Final = 5.0
"""A run that has waited for the compiler for so long says so: whoever looks on would take it for hung.

Guard: tests/runtime/compiled/test_combination.py::test_a_long_wait_for_the_compiler_is_told_once
"""

# ---- cores that other programs want -------------------------------------------------------------------------------

SHORT_RUN_SECONDS: Final = 0.0003
"""To watch a run for neighbours costs 2 us. After one that was shorter the next is not watched, unless some are known.

Guard: tests/runtime/compiled/test_sharing.py::test_runs_with_products_are_watched_after_one_that_took_long
"""
SLOW_PRODUCT_SECONDS: Final = 0.002
"""A product that was held up takes so much longer than its size explains: less, and the cores are not worth giving up.

Guard: tests/runtime/compiled/test_sharing.py::test_a_product_that_is_a_little_late_was_not_held_up
"""
CORE_LOSSES_LOOK_SECONDS: Final = 0.01
"""Cores lost for so long before a run are not held against its products; short runs save the question.

Guard: tests/runtime/compiled/test_sharing.py::test_cores_lost_before_a_run_are_not_held_against_its_products
"""
FIRST_ONE_CORE_SECONDS: Final = 0.05
"""For how long products first keep to one core after they met neighbours; twice as long each time that they are there.

Guard: tests/runtime/compiled/test_sharing.py::test_products_have_all_cores_again_after_the_neighbours_have_gone
"""
LONGEST_ONE_CORE_SECONDS: Final = 2.0
"""The longest such time: an attempt costs one slow product.

Guard: tests/runtime/compiled/test_sharing.py::test_attempts_become_rare_beside_steady_neighbours
"""
OTHERS_WAIT_SECONDS: Final = 1.0
"""For how long a program's first session looks whether its other threads wait, before OpenBLAS keeps its kernels.

Guard: tests/codegen/test_openblas.py::test_threads_that_wait_a_moment_later_change_nothing
"""
OTHERS_LOOK_SECONDS: Final = 0.001
"""How often it looks meanwhile.

Guard: tests/codegen/test_openblas.py::test_threads_that_wait_a_moment_later_change_nothing
"""
