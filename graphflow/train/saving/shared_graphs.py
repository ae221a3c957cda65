"""The graphs beside checkpoints: the same one lies on the disk once, and large constants are told of.

A graph does not change while it is trained, but every checkpoint that is kept has one beside it. Arrays that a program
holds, such as a data set's, are constants of the graph, and may take far more bytes than the checkpoints themselves.
"""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from typing import Any, Final

from graphflow._core.checkpoint.atomic import link_atomically
from graphflow._core.checkpoint.opening import files_of

_log = logging.getLogger(__name__)

_FEWEST_BYTES: Final = 64 << 10
"""Smaller graphs are written each time: a file of its own is worth more than so little room."""
_TOLD_BYTES: Final = 4 << 20
"""Constants of so many bytes are told of, if they are more than the checkpoint. Less, and once, is in nobody's way."""
_BLOCK: Final = 1 << 20


class SharedGraphs:
    """The graph files of one saver."""

    def __init__(self) -> None:
        self._newest = ""
        """The last file that was written."""
        self._told = False

    def written(self, path: str, graph_def: Any, prefix: str) -> None:
        """A graph was written to `path`, beside the checkpoint of this prefix.

        If the saver's last one is the same to the byte, both names mean one file from now on (a hard link). A file
        system that knows no links has two, as before. A file that somebody changed since is no longer the same.
        """
        if self._newest and os.path.dirname(self._newest) == os.path.dirname(path):
            with suppress(OSError):
                _share(self._newest, path)
        self._newest = path
        if not self._told:
            self._tell(path, graph_def, prefix)

    def _tell(self, path: str, graph_def: Any, prefix: str) -> None:
        """Logs, once, if the graph is larger than the checkpoint because of constants."""
        with suppress(OSError):
            size = os.path.getsize(path)
            if size < _TOLD_BYTES or size <= sum(map(os.path.getsize, files_of(prefix))):
                return
            found = _constants(graph_def)
            total = sum(found.values())
            if total < max(_TOLD_BYTES, size // 2):
                return
            self._told = True
            largest = max(found, key=lambda name: found[name])
            _log.info(
                "The graph beside each checkpoint, %s, has %d bytes, %d of them in constants; the largest is %r with "
                "%d. If they are a program's arrays, such as a data set's, feed them to placeholders when an "
                "initializable iterator begins, or take gf.data.Dataset.from_generator; "
                "save(write_meta_graph=False) writes no graph.",
                path, size, total, largest, found[largest],
            )  # fmt: skip


def _constants(graph_def: Any) -> dict[str, int]:
    """The bytes of the constants in a GraphDef and its functions, by the name of the node."""
    found = {node.name: _bytes(node) for node in graph_def.node if node.op == "Const"}
    for function in graph_def.library.function:
        name = function.signature.name
        found |= {f"{name}/{n.name}": _bytes(n) for n in function.node_def if n.op == "Const"}
    return found


def _bytes(node: Any) -> int:
    return int(node.attr["value"].ByteSize())


def _share(earlier: str, path: str) -> None:
    """Makes `path` another name of the file `earlier` if both hold the same bytes. OSError if it cannot be."""
    with _opened(earlier) as first, _opened(path) as second:
        one, other = os.fstat(first.fileno()), os.fstat(second.fileno())
        own = all(stat.S_ISREG(s.st_mode) and s.st_uid == os.geteuid() for s in (one, other))
        if (
            not own
            or one.st_size != other.st_size
            or one.st_size < _FEWEST_BYTES
            or os.path.samestat(one, other)
        ):
            return
        while block := first.read(_BLOCK):
            if block != second.read(len(block)):
                return
    link_atomically(earlier, path)


def _opened(path: str) -> Any:
    return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb")
