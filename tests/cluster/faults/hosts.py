"""Hosts on one machine with addresses of their own, 10.77.0.1 and so on; links can be cut, delayed and made lossy.

Each is a network namespace with a TUN device; all packets between them go through one loop here, which does to them
what a network does. The namespaces belong to the process of that loop, so nothing of them is left after it, however it
ends. Who is not root gets a user namespace, too, where the machine allows that.

The program: `hosts.py COUNT`; it prints a line of JSON once the hosts are there, then obeys a line of JSON at a time:
[from, to, {"cut": bool, "delay": s, "jitter": s, "loss": 0..1}].
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000
_MAKE_TUN, _SET_ADDRESS, _SET_MASK, _SET_MTU, _SET_FLAGS = 0x400454CA, 0x8916, 0x891C, 0x8922, 0x8914
_TUN_WITHOUT_HEADER, _UP_AND_RUNNING = 0x1001, 0x41
_PACKET = 9000


class Hosts:
    """The caller's side: so many hosts. A context manager; OSError saying why where the machine does not allow it."""

    def __init__(self, count: int) -> None:
        command = [sys.executable, __file__, str(count)]
        if os.geteuid():
            command = ["unshare", "--user", "--map-root-user", *command]
        self._wire = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._wire.stdout is not None and self._wire.stderr is not None
        line = self._wire.stdout.readline()
        if not line:
            why = self._wire.stderr.read().strip().rpartition("\n")[2]
            self.close()
            raise OSError(f"no hosts of their own: {why}")
        self._pid, self._files = json.loads(line)
        self.addresses = [f"10.77.0.{i + 1}" for i in range(count)]

    def __enter__(self) -> Hosts:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the hosts; processes that are still there have no network any more."""
        for pipe in (self._wire.stdin, self._wire.stdout, self._wire.stderr):
            assert pipe is not None
            pipe.close()
        self._wire.wait(10)

    def door(self, host: int) -> list[str]:
        """What `enter` takes."""
        user = [f"/proc/{self._pid}/ns/user"] if os.geteuid() else []
        return [*user, f"/proc/{self._pid}/fd/{self._files[host]}"]

    def link(self, one: int, other: int, **how: Any) -> None:
        """What happens to packets from one host to another from now on; nothing where nothing is said."""
        assert self._wire.stdin is not None and self._wire.stdout is not None
        self._wire.stdin.write(f"{json.dumps([one, other, how])}\n")
        self._wire.stdin.flush()
        self._wire.stdout.readline()


@cache
def why_not() -> str:
    """Why there can be no such hosts here; "" where there can."""
    try:
        with Hosts(1):
            return ""
    except OSError as error:
        return str(error)


def enter(door: list[str]) -> None:
    """Takes the process to a host; before it has other threads."""
    for path in door:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            _checked(_libc.setns(descriptor, 0))
        finally:
            os.close(descriptor)


# ---- the program ----------------------------------------------------------------------------------------------------


def _checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _new_host(address: str) -> tuple[int, int]:
    """Makes a namespace and stays in it: the file of its device, and its own."""
    _checked(_libc.unshare(_NEW_NETWORK))
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _MAKE_TUN, struct.pack("16sH22x", b"host", _TUN_WITHOUT_HEADER))

    def is_set(what: int, name: bytes, kind: str, *values: Any) -> None:
        fcntl.ioctl(control, what, struct.pack(f"16s{kind}", name, *values).ljust(40, b"\0"))

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for what, text in ((_SET_ADDRESS, address), (_SET_MASK, "255.255.255.0")):
            is_set(what, b"host", "HH4s", socket.AF_INET, 0, socket.inet_aton(text))
        is_set(_SET_MTU, b"host", "i", _PACKET)
        for name in (b"host", b"lo"):
            is_set(_SET_FLAGS, name, "H", _UP_AND_RUNNING)
    return device, os.open("/proc/self/ns/net", os.O_RDONLY)


def _carry(devices: list[int]) -> None:
    """Passes packets on, until standard input ends."""
    chance = random.Random(1)
    links: dict[tuple[int, int], dict[str, Any]] = {}
    late: list[tuple[float, int, int, bytes]] = []
    number, rest = 0, b""
    poll = select.poll()
    for file in (0, *devices):
        poll.register(file, select.POLLIN)
    while True:
        for file, _ in poll.poll(max(0.0, 1e3 * (late[0][0] - time.monotonic())) if late else None):
            if file == 0:
                data = os.read(0, 4096)
                if not data:
                    return
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    one, other, how = json.loads(line)
                    links[one, other] = how
                    print("done", flush=True)
                continue
            with suppress(BlockingIOError):
                for _ in range(64):
                    packet = os.read(file, 65536)
                    other = packet[19] - 1
                    if packet[16:19] != b"\x0a\x4d\0" or not 0 <= other < len(devices):
                        continue  # It is no IPv4 packet to one of these hosts.
                    how = links.get((devices.index(file), other), {})
                    if how.get("cut") or chance.random() < how.get("loss", 0.0):
                        continue
                    wait = how.get("delay", 0.0) + chance.random() * how.get("jitter", 0.0)
                    number += 1
                    heapq.heappush(late, (time.monotonic() + wait, number, devices[other], packet))
        while late and late[0][0] <= time.monotonic():
            with suppress(OSError):  # A full queue loses packets, as it does anywhere.
                os.write(late[0][2], late[0][3])
            heapq.heappop(late)


def main(count: int) -> None:
    """The program."""
    made = [_new_host(f"10.77.0.{i + 1}") for i in range(count)]
    print(json.dumps([os.getpid(), [own for _, own in made]]), flush=True)
    _carry([device for device, _ in made])


if __name__ == "__main__":
    main(int(sys.argv[1]))
