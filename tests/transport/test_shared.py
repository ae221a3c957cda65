"""Protects shared memory between processes: what is read there stays as it was, however long somebody reads it and
whoever is killed; nothing is left behind; nothing but a partner's memory is opened."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphflow._core.transport.frames.message import Kind, Message
from graphflow._core.transport.frames.tensors import BadMessage
from graphflow._core.transport.shared import (
    HANDLE,
    SHARED_FROM,
    PartnerMemory,
    SharedMemory,
    SharedMemoryError,
)
from graphflow._core.transport.sharing import Sharing

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs memfd_create and /proc")

COUNT = SHARED_FROM // 4


@pytest.fixture
def memory() -> Iterator[SharedMemory]:
    found = SharedMemory()
    found.has_partners = True
    yield found
    found.close()


def _read(partner: PartnerMemory, handle: bytes, count: int = COUNT) -> Any:
    return np.frombuffer(partner.read(handle, 4 * count).data, np.float32)


def _files() -> dict[int, int]:
    """The files of shared memory that this process has open, their inodes by number.

    Of all files it would be no test of this memory: what earlier tests have left in cycles or to threads is closed at
    any time.
    """
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # The folder's own is closed meanwhile, and others may be.
            if os.readlink(f"/proc/self/fd/{name}").startswith("/memfd:graphflow"):
                found[int(name)] = os.fstat(int(name)).st_ino
    return found


def _opened_since(before: dict[int, int]) -> int:
    """How many files of shared memory are open that were not then."""
    return len(_files().items() - before.items())


def test_a_partner_reads_what_is_leased_and_cannot_write_to_it(memory: SharedMemory) -> None:
    partner = PartnerMemory(memory.address)
    array = np.arange(COUNT, dtype=np.float32)
    handle = memory.pin(array, "partner")
    assert handle is not None and len(handle) == HANDLE.size
    found = _read(partner, handle)
    np.testing.assert_array_equal(found, array)
    assert not found.flags.writeable
    with pytest.raises(ValueError):
        found.flags.writeable = True


def test_what_lies_there_already_is_not_copied_and_counts_as_leased_until_it_is_read(
    memory: SharedMemory,
) -> None:
    partner = PartnerMemory(memory.address)
    array = memory.copied(np.ones(COUNT, np.float32))
    assert memory.holds(array) and memory.holds(array[3:]) and not memory.holds(np.ones(COUNT))
    size = memory.size
    handle = memory.pin(array, "partner")
    assert handle is not None and memory.pinned(array) and memory.size == size
    found = _read(partner, handle)
    assert memory.pinned(array)
    del found
    assert not memory.pinned(array)


def test_a_part_of_an_array_there_goes_as_what_it_is(memory: SharedMemory) -> None:
    partner = PartnerMemory(memory.address)
    array = memory.copied(np.arange(3 * COUNT, dtype=np.float32))
    for part in (array[COUNT : 2 * COUNT], array[::3], array.reshape(3, -1).T):
        handle = memory.pin(part, "partner")
        assert handle is not None
        np.testing.assert_array_equal(_read(partner, handle, part.size), part.reshape(-1))


def test_a_thousand_transfers_leave_no_file_and_take_no_more_memory(memory: SharedMemory) -> None:
    before = _files()
    partner = PartnerMemory(memory.address)
    sizes, files = set(), set()
    for number in range(1000):
        handle = memory.pin(np.full(COUNT, number, np.float32), "partner")
        assert handle is not None
        assert _read(partner, handle)[-1] == number
        if number > 10:
            sizes.add(memory.size)
            files.add(_opened_since(before))
    assert len(sizes) == 1 and len(files) == 1


def test_closing_frees_every_file() -> None:
    before = _files()
    memory = SharedMemory()
    memory.has_partners = True
    arrays = [memory.copied(np.zeros(COUNT, np.float32)) for _ in range(5)]
    assert _opened_since(before) > 1
    memory.close()
    del arrays, memory
    assert not _opened_since(before)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["copy", "pin", "release", "drop", "trim", "abandon"]), st.integers(0, 7))
    )
)
def test_what_is_read_never_changes(steps: list[tuple[str, int]]) -> None:
    memory = SharedMemory()
    memory.has_partners = True
    partner = PartnerMemory(memory.address)
    here: dict[int, Any] = {}
    read: dict[int, tuple[Any, float]] = {}
    for count, (what, place) in enumerate(steps):
        if what == "copy":
            here[place] = memory.copied(np.full(COUNT, count, np.float32))
        elif what == "pin" and place in here:
            handle = memory.pin(here[place], place % 2)
            assert handle is not None
            read[count] = _read(partner, handle), float(here[place][0])
        elif what == "release" and read:
            del read[next(iter(read))]
        elif what == "drop":
            here.pop(place, None)
        elif what == "trim":
            memory.trim()
            partner.trim()
        elif what == "abandon":
            memory.abandon(place % 2)
        for array, value in read.values():
            assert array[0] == array[-1] == value
    memory.close()


def _share_and_wait(pipe: Connection) -> None:
    memory = SharedMemory()
    memory.has_partners = True
    pipe.send((dict(memory.address), memory.pin(np.full(COUNT, 7, np.float32), "parent")))
    time.sleep(60)


def _open_and_wait(pipe: Connection) -> None:
    address, handle = pipe.recv()
    found = _read(PartnerMemory(address), handle)
    pipe.send(float(found[0]))
    time.sleep(60)


@pytest.fixture
def pipe() -> Iterator[Any]:
    """Starts a process with one end of a pipe; the other end and the process."""
    children = []

    def start(function: Any) -> Any:
        mine, theirs = multiprocessing.Pipe()
        child = multiprocessing.get_context("fork").Process(target=function, args=(theirs,))
        child.start()
        children.append(child)
        return mine, child

    yield start
    for child in children:
        child.kill()
        child.join()


def test_what_a_killed_process_shared_stays_readable_where_it_is_open(pipe: Any) -> None:
    mine, child = pipe(_share_and_wait)
    address, handle = mine.recv()
    partner = PartnerMemory(address)
    found = _read(partner, handle)
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert found[0] == found[-1] == 7
    partner.trim()
    partner.trim()
    with pytest.raises(SharedMemoryError):
        partner.read(handle, 4)


def test_what_a_killed_process_read_is_not_used_again_and_goes(pipe: Any, memory: SharedMemory) -> None:
    mine, child = pipe(_open_and_wait)
    array = memory.copied(np.full(COUNT, 3, np.float32))
    mine.send((dict(memory.address), memory.pin(array, "child")))
    assert mine.recv() == 3
    os.kill(child.pid, signal.SIGKILL)
    child.join()
    assert memory.pinned(array)
    memory.abandon("child")
    assert memory.pinned(array)
    size = memory.size
    del array
    memory.trim()
    assert memory.size < size


@pytest.mark.parametrize(
    "change",
    [{"secret": "00" * 32}, {"inode": 1}, {"pid": 2**22 + 1}, {"file": 10**6}, {"user": 4_000_000}, {"secret": "x"},
     {"pid": "me"}, {"file": None}],
)  # fmt: skip
def test_nothing_but_the_partners_memory_is_opened(memory: SharedMemory, change: dict[str, Any]) -> None:
    with pytest.raises(SharedMemoryError):
        PartnerMemory({**memory.address, **change})
    with pytest.raises(SharedMemoryError):
        PartnerMemory({})


def test_a_file_that_may_shrink_and_sizes_that_are_wrong_are_refused(
    memory: SharedMemory, tmp_path: Any
) -> None:
    partner = PartnerMemory(memory.address)
    path = tmp_path / "file"
    path.write_bytes(bytes(4096))
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        with pytest.raises(SharedMemoryError):
            partner.read(HANDLE.pack(file.fileno(), status.st_ino, 4096, 99), 4096)
    handle = memory.pin(np.zeros(COUNT, np.float32), "partner")
    assert handle is not None
    file_number, inode, size, number = HANDLE.unpack(handle)
    for wrong in (
        (file_number, inode, size * 2, number),
        (file_number, inode, size, 3),
        (0, inode, size, number),
    ):
        with pytest.raises(SharedMemoryError):
            partner.read(HANDLE.pack(*wrong), 64)
    with pytest.raises(SharedMemoryError):
        partner.read(handle, size + 1)


def test_a_message_carries_handles_of_large_tensors_alone() -> None:
    mine, theirs = Sharing(), Sharing()
    mine.met("them", {"memory": dict(theirs.memory.address)})
    theirs.met("me", {"memory": dict(mine.memory.address)})
    tensors = [
        np.arange(COUNT),
        np.float32(3),
        np.array([b"a", b"bc"], object),
        np.zeros((0, 3)),
        np.ones(COUNT) > 0,
    ]
    frames = Message(Kind.TENSOR, 1, 2, tensors=tensors).frames(mine.shares.get("them"))
    assert len(frames) == 2 or sum(map(len, frames)) < SHARED_FROM
    found = Message.of([bytes(f) for f in frames], theirs.partners.get("me"))
    for want, got in zip(tensors, found.tensors, strict=True):
        np.testing.assert_array_equal(want, got)
    with pytest.raises(BadMessage):
        Message.of([bytes(f) for f in frames])
    mine.gone("them")
    assert mine.shares.get("them") is None and mine.partners.get("them") is None
    mine.close()
    theirs.close()


def test_who_says_hello_once_more_reads_what_was_on_its_way() -> None:
    mine, theirs = Sharing(), Sharing()
    mine.met("them", {"memory": dict(theirs.memory.address)})
    theirs.met("me", {"memory": dict(mine.memory.address)})
    array = np.arange(COUNT)
    frames = Message(Kind.TENSOR, 1, 2, tensors=[array.copy()]).frames(mine.shares.get("them"))
    theirs.met("me", {"memory": dict(mine.memory.address)})
    mine.met("them", {"memory": dict(theirs.memory.address)})
    mine.trim()
    found = Message.of([bytes(f) for f in frames], theirs.partners.get("me"))
    np.testing.assert_array_equal(found.tensors[0], array)
    mine.close()
    theirs.close()


def test_who_cannot_open_the_memory_is_no_partner() -> None:
    mine, theirs = Sharing(), Sharing()
    mine.met("a", {"memory": {**theirs.memory.address, "secret": "00" * 32}})
    mine.met("b", {})
    mine.met("c", {"memory": "no"})
    assert not mine.memory.has_partners and not mine.shares
    mine.close()
    theirs.close()
