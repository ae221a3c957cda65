"""Addresses of tasks as text, host:port. All code parses them here, so that the same texts are refused everywhere.

This module looks no name up, and imports nothing of ZeroMQ.
"""

from __future__ import annotations

import ipaddress
from typing import Final

MOST_PORT: Final = 65535


def port_of(text: str) -> int | None:
    """The port that a text names, 0 to 65535; None if it names none."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST_PORT))):
        return None
    port = int(text)
    return port if port <= MOST_PORT else None


def split(address: str, any_port: bool = False) -> tuple[str, int]:
    """The host and the port of an address, host:port or [host]:port.

    any_port: whether port 0 may stand for any that is free, as it may if a server listens. ValueError saying what
    is wrong.
    """
    host, colon, text = address.rpartition(":")
    port = port_of(text)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    unclear = any(letter.isspace() or letter in "[]/" for letter in host) or (
        ":" in host and not is_number(host)
    )
    if not colon or not host or unclear:
        raise ValueError(f"An address is host:port, got {address!r:.200}.")
    if port is None or not (port or any_port):
        lowest = 0 if any_port else 1
        raise ValueError(
            f"The port of an address is a number from {lowest} to {MOST_PORT}, got {text!r:.100} in {address!r:.200}."
        )
    return host, port


def split_bind(bind: str, port: int) -> tuple[str, int]:
    """The host and the port of HOST, HOST:PORT or [HOST]:PORT at which a server is to listen; `port` if it names none.

    ValueError saying what is wrong.
    """
    host = bind[1:-1] if bind.startswith("[") and bind.endswith("]") else bind
    if is_number(host) or ":" not in host:
        bind = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return split(bind, any_port=True)


def endpoint(number: str, port: int) -> str:
    """A numeric address as an endpoint of ZeroMQ, which then looks no name up."""
    return f"tcp://[{number}]:{port}" if ":" in number else f"tcp://{number}:{port}"


def is_number(host: str) -> bool:
    """Whether a host is a numeric address, and no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(number: str) -> bool:
    """Whether only this machine itself reaches a numeric address."""
    try:
        found = ipaddress.ip_address(number)
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return found.ipv4_mapped.is_loopback
    return found.is_loopback
