"""graphflow checkpoint: what is in a checkpoint, and whether it is whole.

Nothing of a checkpoint is run: it is read as numbers and text alone, so a file from anywhere may be looked at.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.checkpoint.bundle_names import INDEX, data_path
from graphflow._core.checkpoint.layout import SUFFIX, Record
from graphflow._core.checkpoint.opening import open_checkpoint
from graphflow._core.checkpoint.reader import HIDDEN, CheckpointFile, existing_path
from graphflow._core.checkpoint.regions import parse_region
from graphflow._core.checkpoint.resource_state import STATE, unpack_state
from graphflow._core.common.arrays import kind_of
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.common.printable import printable
from graphflow._core.common.shown.tables import readable_size, table
from graphflow._core.common.shown.terminal import tell
from graphflow.cli.main import UsageError
from graphflow.train.saving.checkpoint_management import latest_checkpoint

_EPILOG: Final = """\
examples:
  graphflow checkpoint show training/model-1000
  graphflow checkpoint show training                       the folder's latest
  graphflow checkpoint show training --values dense/kernel

The exit status is 1 if a checksum does not hold.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.description = "Shows what a checkpoint holds."
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    show = actions.add_parser(
        "show",
        help="list names, shapes, dtypes and bytes, and check every checksum",
        description="Lists the tensors of a checkpoint, graphflow's or TensorFlow's, and checks every checksum.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    show.add_argument("path", metavar="PATH", help="a prefix, a file, or a folder with a `checkpoint` file")
    show.add_argument(
        "--values", metavar="NAME", action="append", default=[],
        help="print a summary of this tensor's values; may be given again",
    )  # fmt: skip
    show.add_argument("--quick", action="store_true", help="read the header alone: no checksum of a tensor")
    show.set_defaults(run=_show)


class Damaged(UsageError):
    """A file that is no whole checkpoint."""

    status = 1


def _show(arguments: argparse.Namespace) -> int:
    try:
        prefix = _prefix(arguments.path)
        file = open_checkpoint(prefix)
    except errors.DataLossError as error:
        raise Damaged(str(error)) from None
    except errors.OpError as error:
        raise UsageError(str(error)) from None
    unknown = [name for name in arguments.values if name not in file]
    if unknown:
        raise UsageError(f"{file.where} has no tensor {_names(unknown)}; it has: {_names(file.names())}")
    bad: dict[Record, str] = {}
    if not arguments.quick:
        with _progress(sum(r.end - r.begin for r in file.records)) as advance:
            bad = dict(file.damaged(file.records, advance))
    tell(
        f"{file.where}: {_count(len(file.names()), 'tensor')}, {readable_size(_bytes(file, file.names()))}\n"
    )
    _print_table(file, bad)
    if not arguments.quick:
        tell(f"\n{_verdict(file.records, bad)}")
    for name in arguments.values:
        tell()
        _print_values(file, name)
    return 1 if bad else 0


def _prefix(path: str) -> str:
    """The prefix that a path means; UsageError if there is no checkpoint."""
    path = user_path(path)
    if storage.is_folder(path) and not storage.is_file(existing_path(path)):
        found = latest_checkpoint(path)
        if found is None:
            raise UsageError(
                f"the folder {path} has no `checkpoint` file, or none of its checkpoints is whole"
            )
        return found
    if not storage.is_file(path):
        return path
    return path.removesuffix(SUFFIX).removesuffix(INDEX).removesuffix(data_path(""))


def _bytes(file: CheckpointFile, names: Sequence[str]) -> int:
    wanted = set(names)
    return sum(r.end - r.begin for r in file.records if r.name in wanted)


def _print_table(file: CheckpointFile, bad: dict[Record, str]) -> None:
    """A line for each tensor, and under it one for each slice."""
    rows = [("name", "dtype", "shape", "bytes", "")]
    parts: dict[str, list[Record]] = {}
    for record in file.records:
        parts.setdefault(record.name, []).append(record)
    for name in file.names(hidden=True):
        records = parts[name]
        shape, dtype = str(list(records[0].shape)), records[0].dtype.name
        size = sum(r.end - r.begin for r in records)
        remark = _damage(records[0], bad) if not records[0].slice_text else _count(len(records), "slice")
        if name.startswith(HIDDEN):
            remark = remark or "state of " + (name.removeprefix(STATE) or "random ops, iterators, queues")
        rows.append((name, dtype, shape, f"{size:,}", remark))
        for record in records:
            if record.slice_text:
                ranges = parse_region(record.slice_text, record.shape)
                text = ", ".join(f"{o}:{o + n}" for o, n in zip(ranges.offsets, ranges.lengths, strict=True))
                rows.append(("", "", f"[{text}]", f"{record.end - record.begin:,}", _damage(record, bad)))
    tell(table(rows, right=(3,)))


def _damage(record: Record, bad: dict[Record, str]) -> str:
    return "" if record not in bad else f"DAMAGED: checksum {bad[record]}, expected {record.checksum}"


def _verdict(records: Sequence[Record], bad: dict[Record, str]) -> str:
    if not bad:
        return f"Every checksum holds ({len(records)} of {len(records)})."
    names = _names(sorted({record.name for record in bad}))
    return f"{len(bad)} of {len(records)} checksums do not hold: {names}"


def _print_values(file: CheckpointFile, name: str) -> None:
    """The least, the greatest, the mean of a tensor, and its first and last values."""
    try:
        (value,) = file.read([(name, None)])
    except errors.OpError as error:
        tell(f"{_names([name])}: {error}")
        return
    tell(f"{_names([name])}: {file.dtype(name).name} {list(value.shape)}")
    if name.startswith(STATE):
        for owner, state in unpack_state(value)[1].items():
            tell(
                f"  {_names([owner])}: "
                + ", ".join(f"{_names([k])} {list(v.shape)}" for k, v in state.items())
            )
        return
    if value.size and kind_of(value.dtype) in "iuf":
        wide = value.astype(np.float64) if kind_of(value.dtype) == "f" else value
        finite = wide[np.isfinite(wide)]
        if finite.size:
            tell(
                f"  least {finite.min():g}, greatest {finite.max():g}, mean {finite.mean():g}, std {finite.std():g}"
            )
        if finite.size < wide.size:
            tell(f"  {np.isnan(wide).sum()} NaN, {np.isinf(wide).sum()} infinite")
    tell("  " + np.array2string(value, threshold=20, edgeitems=3, prefix="  "))


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """Yields advance(bytes), which shows on a terminal how far the check of a long file is; None if none looks."""
    if not sys.stderr.isatty() or total < 1 << 28:
        yield None
        return
    lock, done = threading.Lock(), [0]

    def advance(size: int) -> None:
        with lock:
            before = done[0] * 100 // total
            done[0] += size
            if done[0] * 100 // total > before:
                sys.stderr.write(f"\rchecking {done[0] * 100 // total:3d} % of {readable_size(total)}")
                sys.stderr.flush()

    try:
        yield advance
    finally:
        sys.stderr.write("\r\x1b[K")


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(printable, names))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
