"""Source of the two functions that run native programs: the sequencer and the worker threads' loop.

A job is published in one word, generation << 20 | pieces left, and claimed by compare-and-swap: whoever takes
piece k while the word is unchanged knows that the job's description is unchanged too, so late threads can
never run a stale job. A worker spins for some microseconds between jobs (a wake-up through the kernel costs
more than most steps) and then sleeps on a semaphore.

Programs that run at the same time, such as those of several devices, share the cores: each counts as a caller of its
pool, and a step is given only as many workers as there are threads beyond the callers. With as many programs as
threads each keeps to its own core; when one ends, the others have its core from their next step on.
"""

from __future__ import annotations

# Words of a step.
STEP_KERNEL, STEP_ARGS, STEP_BEGIN, STEP_END, STEP_GRAIN = range(5)
STEP_WORDS = 5

# Words of a program's control block.
CONTROL_PROGRAM, CONTROL_STATUS, CONTROL_NEXT, CONTROL_POOL, CONTROL_RESUME = range(5)
CONTROL_WORDS = 5

# A kernel that writes this status wants to be called again with begin = RESUME (it came back so that signals are seen).
STATUS_AGAIN = 3
RESUME = -2

# Words of a pool; what different threads write lies in different cache lines.
(
    POOL_JOB,
    POOL_UNFINISHED,
    POOL_DESCRIPTION,
    POOL_PARKED,
    POOL_STOP,
    POOL_BUSY,
    POOL_CONSTANTS,
    POOL_CALLERS,
) = range(0, 64, 8)
POOL_WORDS = 72
PIECE_BITS = 20

_CLAIM = f"""
        while True:
            job = atomic_load(pool)
            left = job & {2**PIECE_BITS - 1}
            if left == 0:
                break
            words = pointer_int64(pool + {8 * POOL_DESCRIPTION})
            function = words[0]
            function_args = words[1]
            first = words[2]
            last = words[3]
            grain = words[4]
            pieces = words[5]
            if atomic_replace(pool, job, job - 1):
                piece_begin = first + (pieces - left) * grain
                piece_end = piece_begin + grain
                if piece_end > last:
                    piece_end = last
                call_kernel(function, function_args, piece_begin, piece_end)
                atomic_add(pool + {8 * POOL_UNFINISHED}, -1)
"""

WORKER_SOURCE = f"""
@kernel_function
def kernel(args, begin, end):
    pool = begin
    constants = pointer_int64(pool + {8 * POOL_CONSTANTS})
    semaphore = constants[0]
    wait = constants[2]
    spin_limit = constants[4]
    parked = pool + {8 * POOL_PARKED}
    spins = 0
    while True:
        if atomic_load(pool + {8 * POOL_STOP}) != 0:
            return
        if (atomic_load(pool) & {2**PIECE_BITS - 1}) == 0:
            spins += 1
            if spins < spin_limit:
                relax()
                continue
            spins = 0
            atomic_add(parked, 1)
            must_wait = True
            if (atomic_load(pool) & {2**PIECE_BITS - 1}) != 0 or atomic_load(pool + {8 * POOL_STOP}) != 0:
                count = atomic_load(parked)
                while count > 0 and must_wait:
                    if atomic_replace(parked, count, count - 1):
                        must_wait = False
                    count = atomic_load(parked)
            if must_wait:
                while call_word(wait, semaphore) != 0:
                    relax()
            continue
        spins = 0
{_CLAIM}
"""

SEQUENCER_SOURCE = f"""
@kernel_function
def kernel(args, begin, end):
    program = args[{CONTROL_PROGRAM}]
    pool = args[{CONTROL_POOL}]
    status_address = program - {8 * (CONTROL_WORDS - CONTROL_STATUS)}
    resume = args[{CONTROL_RESUME}]
    args[{CONTROL_RESUME}] = 0
    threads = 1
    if pool != 0:
        atomic_add(pool + {8 * POOL_CALLERS}, 1)
        threads = pointer_int64(pool + {8 * POOL_CONSTANTS})[5]
    following = end
    for step in range(begin, end):
        status = atomic_load(status_address)
        if status != 0:
            following = step
            break
        words = pointer_int64(program + step * {8 * STEP_WORDS})
        step_kernel = words[{STEP_KERNEL}]
        step_args = words[{STEP_ARGS}]
        step_begin = words[{STEP_BEGIN}]
        step_end = words[{STEP_END}]
        step_grain = words[{STEP_GRAIN}]
        if resume != 0:
            resume = 0
            call_kernel(step_kernel, step_args, {RESUME}, step_end)
            continue
        if step_grain <= 0 or pool == 0 or step_end - step_begin <= step_grain:
            call_kernel(step_kernel, step_args, step_begin, step_end)
            continue
        spare = threads - atomic_load(pool + {8 * POOL_CALLERS})
        if spare <= 0 or not atomic_replace(pool + {8 * POOL_BUSY}, 0, 1):
            call_kernel(step_kernel, step_args, step_begin, step_end)
            continue
        while (step_end - step_begin) // step_grain >= {2**PIECE_BITS - 2}:
            step_grain *= 2
        count = (step_end - step_begin + step_grain - 1) // step_grain
        description = pointer_int64(pool + {8 * POOL_DESCRIPTION})
        description[0] = step_kernel
        description[1] = step_args
        description[2] = step_begin
        description[3] = step_end
        description[4] = step_grain
        description[5] = count
        atomic_store(pool + {8 * POOL_UNFINISHED}, count)
        generation = (atomic_load(pool) >> {PIECE_BITS}) + 1
        atomic_store(pool, (generation << {PIECE_BITS}) | count)
        constants = pointer_int64(pool + {8 * POOL_CONSTANTS})
        parked = pool + {8 * POOL_PARKED}
        wanted = min(count - 1, spare)
        while wanted > 0:
            sleeping = atomic_load(parked)
            if sleeping <= 0:
                break
            if atomic_replace(parked, sleeping, sleeping - 1):
                call_word(constants[1], constants[0])
                wanted -= 1
{_CLAIM}
        spins = 0
        while atomic_load(pool + {8 * POOL_UNFINISHED}) > 0:
            spins += 1
            if spins < 4000:
                relax()
            else:
                call_word(constants[3], 0)
        atomic_store(pool + {8 * POOL_BUSY}, 0)
    args[{CONTROL_NEXT}] = following - 1 if atomic_load(status_address) == {STATUS_AGAIN} else following
    if pool != 0:
        atomic_add(pool + {8 * POOL_CALLERS}, -1)
"""
