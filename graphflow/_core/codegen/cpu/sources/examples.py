"""Kernels that read serialized Example messages: one finds where features lie, the other takes numbers out of them.

A message is read as protocol buffers say (protobuf.dev/programming-guides/encoding), for the shape that writers give
it: one list of features, each key followed by one value, lists of numbers packed. What is written otherwise, however
well, and what is damaged, is marked and left to the library of protocol buffers, which also words the errors. So a
message that is not marked is one that the library reads, and it reads the same.
"""

from __future__ import annotations

from typing import Final

BYTES, FLOATS, INTEGERS = 1, 2, 3
"""Kinds of lists: the numbers of the fields of Feature."""
COLUMNS: Final = 4
"""Words of the table for a feature of an example: kind (0: absent), begin and end of the values, their number.

A list of bytes with one value has begin and end of that value.
"""


def _indented(lines: list[str], depth: int) -> str:
    return "".join(f"\n{'    ' * depth}{line}" for line in lines)


def _number(target: str, limit: str) -> list[str]:
    """Lines that read a number of at most 35 bits at `at`; `bad` if there is none before the limit."""
    return [
        f"{target} = 0",
        "shift = 0",
        "while True:",
        f"    if at >= {limit} or shift > 28:",
        "        bad = 1",
        "        break",
        "    byte = int64(load(data, at, 0))",
        "    at += 1",
        f"    {target} = {target} | ((byte & 127) << shift)",
        "    if byte < 128:",
        "        break",
        "    shift += 7",
    ]


def _length(stop: str, limit: str) -> list[str]:
    """Lines that read how long what follows is, and with it where it stops."""
    return [*_number("length", limit), f"{stop} = at + length", f"if {stop} > {limit}:", "    bad = 1"]


def scan_source() -> str:
    """Source of the kernel that finds features; unit: an example.

    Words: data, int64 offsets of the examples in it (one more than there are), the keys one after the other, int64
    offsets of the keys, their number, the int64 table [examples, keys, COLUMNS], and for each example an int64 that is
    not zero if it has to be read otherwise. All lie in memory that nothing else changes meanwhile.
    """
    return f"""
@kernel_function
def kernel(args, begin, end):
    data = pointer_uint8(args[0])
    offsets = pointer_int64(args[1])
    keys = pointer_uint8(args[2])
    places = pointer_int64(args[3])
    count = args[4]
    table = pointer_int64(args[5])
    marks = pointer_int64(args[6])
    for row in range(begin, end):
        bad = 0
        seen = 0
        base = row * count * {COLUMNS}
        for k in range(count * {COLUMNS}):
            store(table, base + k, 0, 1)
        at = load(offsets, row, 0)
        stop = load(offsets, row + 1, 0)
        while at < stop and bad == 0:{_indented(_number("tag", "stop"), 3)}
            if tag != 10 or seen != 0:
                bad = 1
            seen = 1{_indented(_length("features_stop", "stop"), 3)}
            while bad == 0 and at < features_stop:{_indented(_number("tag", "features_stop"), 4)}
                if tag != 10:
                    bad = 1{_indented(_length("entry_stop", "features_stop"), 4)}
                if bad == 0:{_indented(_number("tag", "entry_stop"), 5)}
                    if tag != 10:
                        bad = 1{_indented(_length("key_stop", "entry_stop"), 5)}
                    which = -1
                    if bad == 0:
                        size = key_stop - at
                        for k in range(at, key_stop):
                            if load(data, k, 0) >= 128:
                                bad = 1
                        for k in range(count):
                            place = load(places, k, 0)
                            if which < 0 and load(places, k + 1, 0) - place == size:
                                same = 1
                                for j in range(size):
                                    if load(keys, place + j, 0) != load(data, at + j, 0):
                                        same = 0
                                        break
                                if same == 1:
                                    which = k
                        at = key_stop{_indented(_number("tag", "entry_stop"), 6)}
                        if tag != 18:
                            bad = 1{_indented(_length("value_stop", "entry_stop"), 6)}
                        if value_stop != entry_stop:
                            bad = 1
                    kind = 0
                    first = 0
                    last = 0
                    total = 0
                    if bad == 0 and at < value_stop:{_indented(_number("tag", "value_stop"), 6)}
                        if tag == 10:
                            kind = {BYTES}
                        elif tag == 18:
                            kind = {FLOATS}
                        elif tag == 26:
                            kind = {INTEGERS}
                        else:
                            bad = 1{_indented(_length("list_stop", "value_stop"), 6)}
                        if list_stop != value_stop:
                            bad = 1
                        first = at
                        last = list_stop
                        if bad == 0 and kind == {BYTES}:
                            while bad == 0 and at < list_stop:{_indented(_number("tag", "list_stop"), 8)}
                                if tag != 10:
                                    bad = 1{_indented(_length("item_stop", "list_stop"), 8)}
                                total += 1
                                if total == 1:
                                    one_first = at
                                    one_last = item_stop
                                at = item_stop
                            if total == 1:
                                first = one_first
                                last = one_last
                        elif bad == 0 and at < list_stop:{_indented(_number("tag", "list_stop"), 7)}
                            if tag != 10:
                                bad = 1{_indented(_length("packed_stop", "list_stop"), 7)}
                            if packed_stop != list_stop:
                                bad = 1
                            first = at
                            if bad == 0 and kind == {FLOATS}:
                                total = length >> 2
                                if length & 3 != 0:
                                    bad = 1
                            elif bad == 0:
                                run = 0
                                for k in range(at, packed_stop):
                                    if load(data, k, 0) < 128:
                                        total += 1
                                        run = 0
                                    else:
                                        run += 1
                                        if run > 9:
                                            bad = 1
                                if run != 0:
                                    bad = 1
                    at = entry_stop
                    if bad == 0 and which >= 0:
                        cell = base + which * {COLUMNS}
                        store(table, cell, kind, 1)
                        store(table, cell + 1, first, 1)
                        store(table, cell + 2, last, 1)
                        store(table, cell + 3, total, 1)
        store(marks, row, bad, 2)
"""


def numbers_source() -> str:
    """Source of the kernel that takes the numbers of one feature out of examples; unit: an example.

    Words: data, the table, the number of keys, which of them, whether its values are floats (and not integers), for
    each example the place of its first number in the result, and the result, of float32 or int64.
    """
    return f"""
@kernel_function
def kernel(args, begin, end):
    data = pointer_uint8(args[0])
    table = pointer_int64(args[1])
    floats = args[4]
    starts = pointer_int64(args[5])
    found = pointer_int64(args[6])
    for row in range(begin, end):
        cell = (row * args[2] + args[3]) * {COLUMNS}
        place = load(starts, row, 0)
        at = load(table, cell + 1, 0)
        total = load(table, cell + 3, 0)
        if load(table, cell, 0) == 0:
            total = 0
        if floats != 0:
            copy_bytes(args[6] + 4 * place, args[0] + at, 4 * total)
        else:
            for k in range(total):
                value = 0
                shift = 0
                while True:
                    byte = int64(load(data, at, 0))
                    at += 1
                    value = value | ((byte & 127) << shift)
                    if byte < 128:
                        break
                    shift += 7
                store(found, place + k, value, 1)
"""
