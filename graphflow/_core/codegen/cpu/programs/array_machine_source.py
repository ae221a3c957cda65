"""The source of the array machine's interpreter, and how its argument words lie.

It has the protocol of a region's kernel and cuts the work as that does. It walks the rows of the space (all axes but
the last), and takes a row in blocks that stay in the first-level cache; for a block it calls the block kernels of the
program one after another. Their operands are entries of a table of addresses, on the native stack with the registers:

    status, count of the block, operands (inputs, results, partial results), words, constants, coordinates, registers

An instruction is four words: a block kernel's address, its operands, its operation, and the entry that says for how
many elements; address 0 copies an entry. Sections of instructions run at fixed places: once a call, at a row, at a run
(which is what reductions add up in one go), at a block, and where a level of reductions begins and ends.
"""

from __future__ import annotations

from graphflow._core.codegen.cpu.regions.region_source import RUN

(
    ARG_STATUS,
    ARG_BLOCK_ROWS,
    ARG_RANK,
    ARG_PREFIX,
    ARG_OPERANDS,
    ARG_WORDS,
    ARG_CONSTANTS,
    ARG_REGISTERS,
    ARG_LENGTH,
    ARG_PITCH,
    ARG_REDUCES,
    ARG_UNITS,
    ARG_SECTIONS,
) = range(13)

SECTIONS = (
    *("call", "row", "row start", "run start", "block", "run end", "row end"),
    *("finish start", "finish step", "finish end"),
)
ARG_SIZES = ARG_SECTIONS + 2 * len(SECTIONS)
LEVEL_WORDS = 4
"""Of each level: where its first and where its last instructions begin and end."""
OPERAND_WORDS = 2
"""Before an operand's strides in bytes: its address, and by how many bytes that of each unit lies after the last."""
INSTRUCTION_WORDS = 4

ENTRY_STATUS, ENTRY_COUNT, ENTRY_OPERANDS = range(3)
TABLE_ENTRIES = 1024
REGISTER_BYTES = 1 << 16
MAX_RANK = 16


def _section(begin: str, end: str, indent: str) -> str:
    lines = [
        f"at = {begin}",
        f"stop = {end}",
        "while at < stop:",
        "    function = args[at]",
        "    packed = args[at + 1]",
        "    if function == 0:",
        "        table[packed & 0xFFFF] = table[(packed >> 16) & 0xFFFF]",
        "    else:",
        "        call_kernel(function, table_address, packed, args[at + 2] | table[args[at + 3]])",
        f"    at += {INSTRUCTION_WORDS}",
    ]
    return "\n".join(indent + line for line in lines)


def _named(name: str, indent: str) -> str:
    position = ARG_SECTIONS + 2 * SECTIONS.index(name)
    return _section(f"args[{position}]", f"args[{position + 1}]", indent)


def _level(offset: int, indent: str) -> str:
    first = f"levels + level * {LEVEL_WORDS} + {offset}"
    return _section(f"args[{first}]", f"args[{first} + 1]", indent)


def interpreter_source() -> str:
    """Source of the interpreter."""
    step = 8 * " "
    return f"""@kernel_function
def kernel(args, begin, end):
    block_rows = args[{ARG_BLOCK_ROWS}]
    rank = args[{ARG_RANK}]
    prefix = args[{ARG_PREFIX}]
    operands = args[{ARG_OPERANDS}]
    length = args[{ARG_LENGTH}]
    reduces = args[{ARG_REDUCES}]
    last = rank - 1
    levels = {ARG_SIZES} + rank
    places = levels + {LEVEL_WORDS} * rank
    place_words = {OPERAND_WORDS} + rank
    table = stack_int64({TABLE_ENTRIES})
    registers = stack_int64({REGISTER_BYTES // 8})
    coordinates = stack_int64({MAX_RANK})
    table_address = address_at(table, 0)
    table[{ENTRY_STATUS}] = args[{ARG_STATUS}]
    table[{ENTRY_COUNT}] = length
    for k in range(operands):
        table[{ENTRY_OPERANDS} + k] = args[places + k * place_words]
    entry = {ENTRY_OPERANDS} + operands
    source = places + operands * place_words
    for k in range(args[{ARG_WORDS}]):
        table[entry + k] = args[source + k]
    entry += args[{ARG_WORDS}]
    source += args[{ARG_WORDS}]
    for k in range(args[{ARG_CONSTANTS}]):
        table[entry + k] = address_at(args, source + k)
    entry += args[{ARG_CONSTANTS}]
    for k in range(rank):
        table[entry + k] = address_at(coordinates, k)
        coordinates[k] = 0
    entry += rank
    for k in range(args[{ARG_REGISTERS}]):
        table[entry + k] = address_at(registers, 0) + k * args[{ARG_PITCH}]
    if begin < 0:
{_named("finish start", step)}
        for unit in range(1, args[{ARG_UNITS}]):
            for k in range(operands):
                place = places + k * place_words
                table[{ENTRY_OPERANDS} + k] = args[place] + unit * args[place + 1]
{_named("finish step", step + "    ")}
{_named("finish end", step)}
        return
{_named("call", "    ")}
    group = begin
    while group < end:
        unit = int64(0)
        low = int64(0)
        high = args[{ARG_SIZES} + last]
        for axis in range(rank):
            coordinates[axis] = 0
        if block_rows > 0:
            unit = group
            group += 1
            first = unit * block_rows
            after = min(first + block_rows, args[{ARG_SIZES}])
            rows = int64(1)
            if last == 0:
                low = first
                high = after
            else:
                coordinates[0] = first
                rows = after - first
                for axis in range(1, last):
                    rows *= args[{ARG_SIZES} + axis]
        elif last == 0:
            low = begin
            high = end
            rows = int64(1)
            group = end
        else:
            rest = begin
            for k in range(prefix):
                axis = prefix - 1 - k
                coordinates[axis] = rest % args[{ARG_SIZES} + axis]
                rest = rest // args[{ARG_SIZES} + axis]
            rows = end - begin
            for axis in range(prefix, last):
                rows *= args[{ARG_SIZES} + axis]
            group = end
        begins = prefix
        for row in range(rows):
            for k in range(operands):
                place = places + k * place_words
                address = args[place] + unit * args[place + 1]
                for axis in range(last):
                    address += coordinates[axis] * args[place + {OPERAND_WORDS} + axis]
                table[{ENTRY_OPERANDS} + k] = address + low * args[place + {OPERAND_WORDS} + last]
            table[{ENTRY_COUNT}] = min(length, high - low)
{_named("row", step + "    ")}
            if reduces != 0:
                for level in range(begins, rank):
{_level(0, step + 3 * "    ")}
{_named("row start", step + 2 * "    ")}
            position = low
            while position < high:
                count = min(length, high - position)
                table[{ENTRY_COUNT}] = count
                coordinates[last] = position
                if reduces != 0 and (position - low) % {RUN} == 0:
{_named("run start", step + 3 * "    ")}
{_named("block", step + 2 * "    ")}
                position += count
                if reduces != 0 and ((position - low) % {RUN} == 0 or position >= high):
{_named("run end", step + 3 * "    ")}
                if position < high:
                    for k in range(operands):
                        place = places + k * place_words + {OPERAND_WORDS} + last
                        table[{ENTRY_OPERANDS} + k] += length * args[place]
            if reduces != 0:
{_named("row end", step + 2 * "    ")}
                ends = last
                while ends > prefix and coordinates[ends - 1] == args[{ARG_SIZES} + ends - 1] - 1:
                    ends -= 1
                if row == rows - 1:
                    ends = prefix
                for level in range(ends, rank):
{_level(2, step + 3 * "    ")}
            begins = last
            while begins > 0:
                coordinates[begins - 1] += 1
                if coordinates[begins - 1] < args[{ARG_SIZES} + begins - 1]:
                    break
                coordinates[begins - 1] = 0
                begins -= 1
"""
