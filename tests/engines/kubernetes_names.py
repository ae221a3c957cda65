"""A small DNS server of a Kubernetes: the names that headless Services give to pods, from their Endpoints.

    python -m tests.engines.kubernetes_names API TOKEN DOMAIN

asks the API all the time, and answers at port 53 of all addresses. CoreDNS would do the same, and keep answers for
longer.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

_ADDRESS, _ADDRESS_6, _INTERNET, _NO_SUCH_NAME, _FOR_SECONDS = 1, 28, 1, 3, 1
_PAUSE: Final = 0.2


class Names:
    """What the Endpoints say now: the addresses of NAME.SERVICE.NAMESPACE.svc.DOMAIN."""

    def __init__(self, api: str, token: str, domain: str) -> None:
        self.request = urllib.request.Request(
            f"{api}/api/v1/endpoints", headers={"Authorization": f"Bearer {token}"}
        )
        self.context = ssl._create_unverified_context()
        self.domain = domain
        self.names: Mapping[str, tuple[str, ...]] = {}

    def look(self) -> None:
        """Asks the API; what was known stays if it does not answer."""
        with suppress(OSError, ValueError):
            with urllib.request.urlopen(self.request, timeout=5, context=self.context) as answer:
                items = json.load(answer)["items"]
            found: dict[str, list[str]] = {}
            for item in items:
                service = f"{item['metadata']['name']}.{item['metadata']['namespace']}.svc.{self.domain}"
                for part in item.get("subsets") or ():
                    for address in part.get("addresses") or ():
                        found.setdefault(service, []).append(address["ip"])
                        if address.get("hostname"):
                            found.setdefault(f"{address['hostname']}.{service}", []).append(address["ip"])
            self.names = {name: tuple(addresses) for name, addresses in found.items()}


def answer(question: bytes, names: Mapping[str, tuple[str, ...]]) -> bytes:
    """The answer to a message with one question."""
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]].decode("ascii"))
        at += 1 + question[at]
    kind, _ = struct.unpack_from("!HH", question, at + 1)
    addresses = names.get(".".join(labels).lower())
    wanted = addresses or () if kind == _ADDRESS else ()
    flags = 0x8580 | (_NO_SUCH_NAME if addresses is None else 0)  # The authority's answer; asks nobody else.
    head = question[:2] + struct.pack("!HHHHH", flags, 1, len(wanted), 0, 0)
    records = [
        struct.pack("!HHHLH", 0xC00C, _ADDRESS, _INTERNET, _FOR_SECONDS, 4) + socket.inet_aton(address)
        for address in wanted
    ]
    return head + question[12 : at + 5] + b"".join(records)


def main() -> None:
    """Serves for ever."""
    names = Names(*sys.argv[1:])

    def look() -> None:
        while True:
            names.look()
            time.sleep(_PAUSE)

    threading.Thread(target=look, daemon=True).start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("", 53))
        while True:
            question, who = server.recvfrom(4096)
            with suppress(IndexError, UnicodeDecodeError, struct.error):
                server.sendto(answer(question, names.names), who)


if __name__ == "__main__":
    main()
