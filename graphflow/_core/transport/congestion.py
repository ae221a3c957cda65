"""How TCP paces what goes over a connection to a machine that is near.

BBR sends some packets at a time, by a timer, which keeps queues short on long ways. Between machines of one room its
timers take the processor as long as all else that TCP does. So a connection there goes by cubic or reno, if BBR is what
this machine's connections go by; another way that this machine was told is kept.
"""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress
from typing import Final

_OPTION: Final[int | None] = getattr(socket, "TCP_CONGESTION", None)
_INFO: Final[int | None] = getattr(socket, "TCP_INFO", None)
_PACED: Final = b"bbr"
_NEAR: Final = 1000
"""Microseconds of a round trip: in a room it takes a tenth of that, between cities ten times as long."""
_ROUND_TRIP: Final = struct.Struct("148xI")
"""The shortest round trip so far in the kernel's tcp_info, in microseconds."""
_WAYS: Final = b"cubic", b"reno"
_NAME_BYTES: Final = 16


def unpace(file: int, port: int) -> None:
    """Ends pacing on a connection, if its other end is near.

    file: the number of its file; another file may have it by now. port: that of one of its ends.
    """
    if _OPTION is None or _INFO is None:
        return
    with suppress(
        OSError
    ):  # It is closed, or no connection, or no file is left, or this may not be changed here.
        copy = os.dup(file)
        try:
            connection = socket.socket(fileno=copy)
        except OSError:
            os.close(copy)
            return
        with connection:
            if port not in (connection.getsockname()[1], connection.getpeername()[1]):
                return
            if not connection.getsockopt(socket.IPPROTO_TCP, _OPTION, _NAME_BYTES).startswith(_PACED):
                return
            (round_trip,) = _ROUND_TRIP.unpack(
                connection.getsockopt(socket.IPPROTO_TCP, _INFO, _ROUND_TRIP.size)
            )
            if round_trip < _NEAR:
                _choose(connection, _OPTION)


def _choose(connection: socket.socket, option: int) -> None:
    for way in _WAYS:
        with suppress(OSError):  # The kernel has it not, or allows it to root alone.
            connection.setsockopt(socket.IPPROTO_TCP, option, way)
            return
