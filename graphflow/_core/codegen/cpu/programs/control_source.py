"""Sources of the kernels that run loops and branches natively, and that keep rows in lists and on stacks.

A loop or branch is one step of a program. Its parts (condition and body, or the two branches) are programs of their
own, which the kernel gives to the sequencer turn after turn. If a part comes back because it waits for Python (see
ASK), because a loop inside it does, or because it is time to look at signals, the kernel comes back too, with AGAIN; it
notes in PHASE where it was, and goes on there when it is called with RESUME.

A list (of a TensorArray) and a stack are told to kernels by a descriptor, words in memory that Python and kernels
share. A kernel does what is plain: a row that fits, written once and read once. Whatever else comes up (no room, a row
that was never written, a mistake of the program) is ASKed of Python, which does it or raises, and the part goes on
behind it.
"""

from __future__ import annotations

from typing import Final

from graphflow._core.codegen.cpu.programs.machine_source import (
    CONTROL_NEXT,
    CONTROL_RESUME,
    CONTROL_STATUS,
    POOL_CALLERS,
    RESUME,
    STATUS_AGAIN,
)
from graphflow._core.kernels.control_flow.rows import (
    CAPACITY,
    CLEARED,
    CLEARS,
    COUNT,
    READ,
    ROOM,
    ROW_BYTES,
    ROWS,
    SHAPED,
    SIZE,
    STATES,
    SUMS,
    WRITTEN,
)

ASK: Final = 7
"""The status of a part one step of which Python is to do."""

# Words of a loop or branch. A table has three words an entry: where to, where from, how many bytes.
(
    STATUS,
    SEQUENCER,
    POOL,
    PREDICATE,
    PHASE,
    FIRST,
    FIRST_COUNT,
    SECOND,
    SECOND_COUNT,
    STARTS,
    STARTS_COUNT,
    ENDS,
    ENDS_COUNT,
    OTHER_ENDS,
    OTHER_ENDS_COUNT,
    TIMES,
    CLOCK,
) = range(17)
WORDS: Final = CLOCK + 1
"""FIRST and SECOND: condition and body, or the branches. STARTS: what is copied before the first turn. ENDS: what is
copied after each turn, or after the first branch; OTHER_ENDS: after the loop, or after the second branch. TIMES: the
address of times(), CLOCK: where it writes."""
BEGUN, IN_FIRST, IN_SECOND, BETWEEN = range(4)

_TICKS = 10
"""A loop comes back to Python after so many ticks of times(), which are hundredths of a second."""
_FEWEST_LOOKS = 4096

_COPY = """
{indent}table = pointer_int64(args[{table}])
{indent}for entry in range(args[{count}]):
{indent}    copy_bytes(table[3 * entry], table[3 * entry + 1], table[3 * entry + 2])"""

_CALL = f"""
{{indent}}part = pointer_int64(args[{{part}}])
{{indent}}if phase == {{resumed}}:
{{indent}}    part[{CONTROL_RESUME}] = 1 if part[{CONTROL_STATUS}] == {STATUS_AGAIN} else 0
{{indent}}    part[{CONTROL_STATUS}] = 0
{{indent}}    call_kernel(args[{SEQUENCER}], args[{{part}}], part[{CONTROL_NEXT}], args[{{part}} + 1])
{{indent}}else:
{{indent}}    part[{CONTROL_RESUME}] = 0
{{indent}}    part[{CONTROL_STATUS}] = 0
{{indent}}    call_kernel(args[{SEQUENCER}], args[{{part}}], 0, args[{{part}} + 1])
{{indent}}if part[{CONTROL_STATUS}] != 0:
{{indent}}    args[{PHASE}] = {{resumed}}
{{indent}}    waits = part[{CONTROL_STATUS}] == {ASK} or part[{CONTROL_STATUS}] == {STATUS_AGAIN}
{{indent}}    status[0] = {STATUS_AGAIN} if waits else part[{CONTROL_STATUS}]"""

_ENTER = f"""
    pool = args[{POOL}]
    if pool != 0:
        atomic_add(pool + {8 * POOL_CALLERS}, -1)"""
_LEAVE = f"""
    if pool != 0:
        atomic_add(pool + {8 * POOL_CALLERS}, 1)
"""

LOOP_SOURCE: Final = f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[{STATUS}])
    phase = {BEGUN}
    if begin == {RESUME}:
        phase = args[{PHASE}]{_ENTER}
    interval = 1
    turns = 0
    ticks = call_word(args[{TIMES}], args[{CLOCK}])
    last = ticks
    if phase == {BEGUN}:{_COPY.format(indent=" " * 8, table=STARTS, count=STARTS_COUNT)}
    while True:
        if phase != {IN_SECOND}:{_CALL.format(indent=" " * 12, part=FIRST, resumed=IN_FIRST)}
                break
            if pointer_uint8(args[{PREDICATE}])[0] == 0:{
    _COPY.format(indent=" " * 16, table=OTHER_ENDS, count=OTHER_ENDS_COUNT)
}
                break{_CALL.format(indent=" " * 8, part=SECOND, resumed=IN_SECOND)}
            break{_COPY.format(indent=" " * 8, table=ENDS, count=ENDS_COUNT)}
        phase = {BETWEEN}
        turns += 1
        if turns >= interval:
            turns = 0
            now = call_word(args[{TIMES}], args[{CLOCK}])
            if now - ticks >= {_TICKS} or now < ticks:
                args[{PHASE}] = {BETWEEN}
                status[0] = {STATUS_AGAIN}
                break
            interval = min(2 * interval, {_FEWEST_LOOKS}) if now == last else 1
            last = now{_LEAVE}"""

BRANCH_SOURCE: Final = f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[{STATUS}])
    phase = {BEGUN}
    if begin == {RESUME}:
        phase = args[{PHASE}]{_ENTER}
    if phase == {BEGUN}:
        phase = {IN_FIRST} if pointer_uint8(args[{PREDICATE}])[0] != 0 else {IN_SECOND}
        args[{PHASE}] = phase
        pointer_int64(args[{FIRST} + 2 * (phase - {IN_FIRST})])[{CONTROL_NEXT}] = 0
        pointer_int64(args[{FIRST} + 2 * (phase - {IN_FIRST})])[{CONTROL_STATUS}] = 0
    if phase == {IN_FIRST}:{_CALL.format(indent=" " * 8, part=FIRST, resumed=IN_FIRST)}
        else:{_COPY.format(indent=" " * 12, table=ENDS, count=ENDS_COUNT)}
    else:{_CALL.format(indent=" " * 8, part=SECOND, resumed=IN_SECOND)}
        else:{_COPY.format(indent=" " * 12, table=OTHER_ENDS, count=OTHER_ENDS_COUNT)}{_LEAVE}"""

# Arguments of what uses a list: status, descriptor, where the index is, where the row is, its bytes; of a write also
# where the flow goes and how elements are added. Of several rows: status, descriptor, where the indices are, where the
# rows are, bytes of a row, how many indices; of a scatter also where the flow goes and how elements are added. Of what
# uses a stack: status, descriptor, where the row is, its bytes.
_ADDED: Final = ("float32", "float64", "int32", "int64")


def adding(dtype: str) -> int:
    """How rows of a dtype are added, for WRITE_SOURCE; 0 if that is left to Python."""
    return _ADDED.index(dtype) + 1 if dtype in _ADDED else 0


def _sums(row: str = "args[3]", kind: int = 6) -> str:
    """Adds the row at an address to the row `index` of a list; `kind`: the word that says how."""
    lines = []
    for number, dtype in enumerate(_ADDED):
        wide = 4 if dtype.endswith("32") else 8
        total = "target[k] + source[k]" if dtype != "int32" else "to_int32(target[k] + source[k])"
        lines.append(f"""
            if args[{kind}] == {number + 1}:
                target = pointer_{dtype}(array[{ROWS}] + index * args[4])
                source = pointer_{dtype}({row})
                for k in range(args[4] // {wide}):
                    target[k] = {total}""")
    return "".join(lines)


def _of_list(known: int, first: str, body: str) -> str:
    """A kernel that does `body` at the row of a list whose index is under the word `known`, and else ASKs.

    `first` is done in any case. The body's last `if` is followed by what its conditions leave to Python.
    """
    return f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    array = pointer_int64(args[1])
    index = int64(pointer_int32(args[2])[0]){first}
    if index < 0 or index >= array[{known}] or array[{ROW_BYTES}] != args[4]:
        status[0] = {ASK}
    else:{body}
        else:
            status[0] = {ASK}
"""


_STATE: Final = f"""
        states = pointer_uint8(array[{STATES}])
        state = int64(states[index])"""

WRITE_SOURCE: Final = _of_list(
    ROOM,
    """
    pointer_float32(args[5])[0] = float32(0.0)""",
    f"""
        if index >= array[{SIZE}]:
            array[{SIZE}] = index + 1{_STATE}
        if (state & {WRITTEN | READ | CLEARED}) == 0:
            copy_bytes(array[{ROWS}] + index * args[4], args[3], args[4])
            states[index] = to_uint8(state | {WRITTEN})
        elif (state & {READ | CLEARED}) == 0 and array[{SUMS}] != 0 and args[6] != 0:{_sums()}""",
)

READ_SOURCE: Final = _of_list(
    SIZE,
    "",
    f"""{_STATE}
        if (state & {WRITTEN | CLEARED}) == {WRITTEN}:
            copy_bytes(args[3], array[{ROWS}] + index * args[4], args[4])
            states[index] = to_uint8(state | {READ} | ({CLEARED} if array[{CLEARS}] != 0 else 0))""",
)

GATHER_SOURCE: Final = f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    array = pointer_int64(args[1])
    indices = pointer_int32(args[2])
    states = pointer_uint8(array[{STATES}])
    read = {READ} | ({CLEARED} if array[{CLEARS}] != 0 else 0)
    done = 0
    if array[{ROW_BYTES}] == args[4]:
        while done < args[5]:
            index = int64(indices[done])
            if index < 0 or index >= array[{SIZE}]:
                break
            state = int64(states[index])
            if (state & {WRITTEN | CLEARED}) != {WRITTEN}:
                break
            copy_bytes(args[3] + done * args[4], array[{ROWS}] + index * args[4], args[4])
            states[index] = to_uint8(state | read)
            done += 1
    if done < args[5]:
        status[0] = {ASK}
        if array[{CLEARS}] != 0:
            for k in range(done):
                index = int64(indices[k])
                states[index] = to_uint8(int64(states[index]) & {WRITTEN | SHAPED})
"""
"""What was read before something is ASKed is read again by Python; so where reads clear it is unread first."""

SCATTER_SOURCE: Final = f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    array = pointer_int64(args[1])
    indices = pointer_int32(args[2])
    states = pointer_uint8(array[{STATES}])
    adds = array[{SUMS}] != 0 and args[7] != 0
    pointer_float32(args[6])[0] = float32(0.0)
    fits = 0
    if array[{ROW_BYTES}] == args[4]:
        while fits < args[5]:
            index = int64(indices[fits])
            if index < 0 or index >= array[{ROOM}]:
                break
            state = int64(states[index])
            if (state & {READ | CLEARED}) != 0:
                break
            if not adds:
                if (state & {WRITTEN}) != 0:
                    break
                states[index] = to_uint8(state | {WRITTEN})
            fits += 1
    if fits < args[5]:
        status[0] = {ASK}
        if not adds:
            for k in range(fits):
                index = int64(indices[k])
                states[index] = to_uint8(int64(states[index]) & {SHAPED})
    else:
        for place in range(fits):
            index = int64(indices[place])
            state = int64(states[index])
            row = args[3] + place * args[4]
            if index >= array[{SIZE}]:
                array[{SIZE}] = index + 1
            if not adds or (state & {WRITTEN}) == 0:
                copy_bytes(array[{ROWS}] + index * args[4], row, args[4])
                states[index] = to_uint8(state | {WRITTEN})
                continue{_sums("row", 7)}
"""
"""Nothing is written before it is known that all rows may be; until then a mark says which are named twice."""

SIZE_SOURCE: Final = f"""
@kernel_function
def kernel(args, begin, end):
    pointer_int32(args[1])[0] = to_int32(pointer_int64(args[0])[{SIZE}])
"""


def _of_stack(asks: str, body: str) -> str:
    """A kernel that does `body` with a row of a stack, unless `asks` or the row is of another size; then it ASKs."""
    return f"""
@kernel_function
def kernel(args, begin, end):
    stack = pointer_int64(args[1])
    if {asks} or stack[{ROW_BYTES}] != args[3]:
        pointer_int64(args[0])[0] = {ASK}
    else:{body}
"""


PUSH_SOURCE: Final = _of_stack(
    f"stack[{COUNT}] >= stack[{CAPACITY}]",
    f"""
        copy_bytes(stack[{ROWS}] + stack[{COUNT}] * args[3], args[2], args[3])
        stack[{COUNT}] += 1""",
)

POP_SOURCE: Final = _of_stack(
    f"stack[{COUNT}] <= 0",
    f"""
        stack[{COUNT}] -= 1
        copy_bytes(args[2], stack[{ROWS}] + stack[{COUNT}] * args[3], args[3])""",
)
