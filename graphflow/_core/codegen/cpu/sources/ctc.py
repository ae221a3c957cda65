"""Kernels of connectionist temporal classification: labels put in order and looked at, then the loss of each sequence.

To which sequence a label belongs is known at the run alone. So there is room for all labels together, with those of a
sequence side by side: one with n labels has 2 * n + 1 places, the labels and blanks around each, and two more in which
nothing ever is, so that loops over places need not look for their ends. What adds up over frames is float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphflow._core.codegen.cpu.kernels.nnkernels import ERROR_INDEX
from graphflow._core.codegen.cpu.programs.machine import Step

_GRAIN_WORK: Final = 16384
_WORK_OF_A_PLACE: Final = 20
"""What a place costs at a frame, in elements of a softmax."""
_MORE: Final = 3
"""Places of a sequence beyond two for each label."""
ROWS: Final = 5
"""Numbers for each place beside the table: whether it lasts, whether it is reached over a blank, its score at a frame,
and what is behind and ahead of it."""


def places(labels: int, batch: int) -> int:
    """The places of so many sequences with so many labels in all."""
    return 2 * labels + _MORE * batch


def labels_source() -> str:
    """Source of the labels of each sequence, in their order; one unit.

    ERROR_INDEX if there is a label of no sequence, a sequence without any, one that has more frames than there are or
    more labels than frames, a label below zero, or one after a null label. Arguments: status; indices, labels, lengths
    of the sequences; the labels that are said, where those of each sequence begin, and how many it says, -1 if it is
    left out; frames, sequences, the blank, labels, whether labels that repeat the one before are left out, and
    sequences that say more than they have frames.
    """
    failed = f"store(status, 0, {ERROR_INDEX}, 4)"
    return f"""
@kernel_function
def kernel(args, begin, end):
    status = pointer_int64(args[0])
    indices = pointer_int64(args[1])
    values = pointer_int32(args[2])
    lengths = pointer_int32(args[3])
    said = pointer_int64(args[4])
    starts = pointer_int64(args[5])
    counts = pointer_int64(args[6])
    frames = args[7]
    batch = args[8]
    blank = args[9]
    given = args[10]
    collapse = args[11]
    leave_out = args[12]
    for sequence in range(batch):
        length = int64(load(lengths, sequence, 0))
        if length < 0 or length > frames:
            {failed}
            return
        store(counts, sequence, 0, 3)
    for k in range(given):
        owner = load(indices, 2 * k, 0)
        if owner < 0 or owner >= batch:
            {failed}
            return
        store(counts, owner, load(counts, owner, 3) + 1, 3)
    total = int64(0)
    for sequence in range(batch):
        own = load(counts, sequence, 3)
        if own == 0:
            {failed}
            return
        store(starts, sequence, total, 2)
        store(counts, sequence, 0, 3)
        total += own
    store(starts, batch, total, 2)
    for k in range(given):
        owner = load(indices, 2 * k, 0)
        own = load(counts, owner, 3)
        store(said, load(starts, owner, 2) + own, int64(load(values, k, 0)), 1)
        store(counts, owner, own + 1, 3)
    for sequence in range(batch):
        first = load(starts, sequence, 2)
        kept = int64(0)
        ended = int64(0)
        before = int64(-1)
        for place in range(first, load(starts, sequence + 1, 2)):
            label = load(said, place, 1)
            if label < 0 or (ended != 0 and label < blank):
                {failed}
                return
            if label >= blank:
                ended = int64(1)
            elif collapse == 0 or label != before:
                store(said, first + kept, label, 1)
                kept += 1
            before = label
        if kept > int64(load(lengths, sequence, 0)):
            if leave_out == 0:
                {failed}
                return
            kept = int64(-1)
        store(counts, sequence, kept, 3)
"""


def labels_steps(kernel: int, addresses: Sequence[int], sizes: Sequence[int]) -> list[Step]:
    """The step; `addresses` and `sizes` are the arguments of the source."""
    return [Step(kernel, [*addresses, *sizes], 0, 1)]


def _added(indent: int, target: str, terms: Sequence[str]) -> str:
    """Lines that make `target` the logarithm of the sum of three numbers whose logarithms the terms are."""
    one, two, three = terms
    lines = (
        f"one = {one}",
        f"two = {two}",
        f"three = {three}",
        "top = maximum(maximum(one, two), three)",
        "base = select(top > never, top, nought)",
        f"{target} = base + f_log(f_exp(one - base) + f_exp(two - base) + f_exp(three - base))",
    )
    return "".join(f"\n{' ' * indent}{line}" for line in lines)


_SCORES: Final = """
            of_blank = to_float64(load(x, source + blank, 0)) - norm
            store(scores, row, of_blank, 6)
            for k in range(kept):
                score = to_float64(load(x, source + load(said, first + k, 0), 0)) - norm
                store(scores, row + 2 * k + 1, score, 6)
                store(scores, row + 2 * k + 2, of_blank, 6)"""
"""The scores of the places of a sequence at a frame, from those of the classes less their norm."""


def paths_source(dtype: str) -> str:
    """Source of losses over all paths that say the labels, and their slopes by the scores; unit: a sequence.

    Arguments: scores; the labels that are said, where those of each sequence begin, how many it says, lengths of the
    sequences; losses, slopes; a table of `places` numbers for each frame, ROWS of them beside it, and a number for each
    frame and sequence; frames, sequences, classes, whether a label that lasts for some frames is said once.
    """
    come = (
        "load(table, before + s, 3) + load(lasts, row + s, 4)",
        "load(table, before + s - 1, 3)",
        "load(table, before + s - 2, 3) + load(skips, row + s, 5)",
    )
    go = (
        "load(ahead, row + s, 7) + load(lasts, row + s, 4)",
        "load(ahead, row + s + 1, 7)",
        "load(ahead, row + s + 2, 7) + load(skips, row + s + 2, 5)",
    )
    return f"""
@kernel_function
def kernel(args, begin, end):
    x = pointer_{dtype}(args[0])
    said = pointer_int64(args[1])
    starts = pointer_int64(args[2])
    counts = pointer_int64(args[3])
    lengths = pointer_int32(args[4])
    losses = pointer_{dtype}(args[5])
    slopes = pointer_{dtype}(args[6])
    table = pointer_float64(args[7])
    lasts = pointer_float64(args[8])
    norms = pointer_float64(args[9])
    frames = args[10]
    batch = args[11]
    classes = args[12]
    merge = args[13]
    row_bytes = 8 * (2 * load(starts, batch, 0) + {_MORE} * batch)
    skips = pointer_float64(args[8] + row_bytes)
    scores = pointer_float64(args[8] + 2 * row_bytes)
    behind = pointer_float64(args[8] + 3 * row_bytes)
    ahead = pointer_float64(args[8] + 4 * row_bytes)
    never = float64(-float('inf'))
    nought = float64(0)
    blank = classes - 1
    for unit in range(begin, end):
        first = load(starts, unit, 0)
        row = 2 * first + {_MORE} * unit
        width = 2 * (load(starts, unit + 1, 0) - first) + {_MORE}
        kept = load(counts, unit, 0)
        length = int64(load(lengths, unit, 0))
        if kept < 0:
            length = int64(0)
        for frame in range(length, frames):
            place = (frame * batch + unit) * classes
            for j in range(classes):
                store(slopes, place + j, {dtype}(0), 1)
        if length == 0:
            store(losses, unit, {dtype}(0), 2)
            continue
        count = 2 * kept + 1
        for s in range(count + 2):
            store(lasts, row + s, nought, 4)
            store(skips, row + s, never, 5)
            store(ahead, row + s, never, 7)
        for k in range(kept):
            again = k > 0 and load(said, first + k - 1, 0) == load(said, first + k, 0)
            if merge == 0:
                store(lasts, row + 2 * k + 1, never, 4)
            if merge == 0 or not again:
                store(skips, row + 2 * k + 1, nought, 5)
        for frame in range(length):
            source = (frame * batch + unit) * classes
            highest = {dtype}(-float('inf'))
            for j in range(classes):
                highest = accumulate_max(highest, load(x, source + j, 0))
            total = {dtype}(0)
            for j in range(classes):
                chance = f_exp(load(x, source + j, 0) - highest)
                store(slopes, source + j, chance, 1)
                total = accumulate_sum(total, chance)
            for j in range(classes):
                store(slopes, source + j, load(slopes, source + j, 1) / total, 1)
            norm = to_float64(highest) + f_log(to_float64(total))
            store(norms, frame * batch + unit, norm, 8){_SCORES}
            at = frames * row + frame * width + 2
            store(table, at - 2, never, 3)
            store(table, at - 1, never, 3)
            if frame == 0:
                for s in range(count):
                    store(table, at + s, select(s < 2, load(scores, row + s, 6), never), 3)
                continue
            before = at - width
            for s in range(count):{_added(16, "come", come)}
                store(table, at + s, come + load(scores, row + s, 6), 3)
        at = frames * row + (length - 1) * width + 2
        one = load(table, at + count - 1, 3)
        two = load(table, at + count - 2, 3)
        top = maximum(one, two)
        base = select(top > never, top, nought)
        every = base + f_log(f_exp(one - base) + f_exp(two - base))
        store(losses, unit, to_{dtype}(-every), 2)
        every = select(every > never, every, nought)
        for turn in range(length):
            frame = length - 1 - turn
            source = (frame * batch + unit) * classes
            at = frames * row + frame * width + 2
            if turn == 0:
                for s in range(count):
                    store(behind, row + s, select(s >= count - 2, nought, never), 9)
            else:
                for s in range(count):{_added(20, "go", go)}
                    store(behind, row + s, go, 9)
            norm = load(norms, frame * batch + unit, 8){_SCORES}
            for s in range(count):
                rest = load(behind, row + s, 9)
                store(ahead, row + s, rest + load(scores, row + s, 6), 7)
                store(behind, row + s, f_exp(rest + load(table, at + s, 3) - every), 9)
            blanks = load(behind, row, 9)
            for k in range(kept):
                label = source + load(said, first + k, 0)
                slope = to_float64(load(slopes, label, 1)) - load(behind, row + 2 * k + 1, 9)
                store(slopes, label, to_{dtype}(slope), 1)
                blanks += load(behind, row + 2 * k + 2, 9)
            slope = to_float64(load(slopes, source + blank, 1)) - blanks
            store(slopes, source + blank, to_{dtype}(slope), 1)
"""


def paths_steps(
    kernel: int, addresses: Sequence[int], frames: int, batch: int, classes: int, labels: int, merge: bool
) -> list[Step]:
    """Steps for so many sequences, which have so many labels together."""
    work = frames * (classes + _WORK_OF_A_PLACE * (2 * labels // batch + 1))
    words = [*addresses, frames, batch, classes, int(merge)]
    return [Step(kernel, words, 0, batch, max(1, _GRAIN_WORK // work))]
