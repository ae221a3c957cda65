"""The network of a lab: hosts with addresses of their own where the machine allows that, elsewhere proxies.

On hosts of their own the tasks use the keys of a cluster, as they have to. Behind proxies each task knows the others by
addresses of its own of the loopback interface, 127.0.0.2 and so on, at which proxies listen; there a lost packet is
what TCP makes of it, a pause.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Final

from graphflow._core.cluster.ports import ReservedPorts
from tests.cluster.faults.hosts import Hosts, why_not
from tests.cluster.faults.proxy import Proxy

ROLES: Final = ("ps", "chief", "worker", "client")
_PORT: Final = 2222
Cluster = dict[str, list[str]]


def network_kind(by_proxies: bool = False) -> str:
    """What a network here is made of."""
    if by_proxies:
        return "proxies"
    return f"proxies ({why_not()})" if why_not() else "network namespaces"


class Network:
    """Where the roles are, and what happens between them. A context manager.

    by_proxies: proxies also where the machine allows hosts.
    """

    def __init__(self, by_proxies: bool = False) -> None:
        self._stack = ExitStack()
        self.kind = network_kind(by_proxies)
        """What it is made of."""
        self._hosts: Hosts | None = None
        self._proxies: dict[tuple[str, str], Proxy] = {}
        if by_proxies or why_not():
            self._ports = self._stack.enter_context(ReservedPorts(3)).ports
            for number, sender in enumerate(ROLES):
                for receiver, port in zip(ROLES, self._ports, strict=False):
                    if sender != receiver:
                        proxy = Proxy(f"127.0.0.{2 + number}", port)
                        self._proxies[sender, receiver] = self._stack.enter_context(proxy)
        else:
            self._hosts = self._stack.enter_context(Hosts(len(ROLES)))

    def __enter__(self) -> Network:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    @property
    def needs_keys(self) -> bool:
        """Whether the addresses are beyond what a server listens at without keys."""
        return self._hosts is not None

    def cluster(self, role: str) -> Cluster:
        """The cluster as a role sees it."""
        if self._hosts is not None:
            ps, *workers = (f"{a}:{_PORT}" for a in self._hosts.addresses[:3])
        else:
            own = dict(zip(ROLES, self._ports, strict=False))
            ps, *workers = (
                f"127.0.0.1:{own[r]}" if r == role else self._proxies[role, r].address for r in ROLES[:3]
            )
        return {"ps": [ps], "worker": workers}

    def door(self, role: str) -> list[str]:
        """What `hosts.enter` takes to get to the host of a role; nothing where it is this one."""
        return [] if self._hosts is None else self._hosts.door(ROLES.index(role))

    def disturb(self, role: str, *, one_way: bool = False, **how: Any) -> None:
        """Does something to all links of a role, of all roles where that is "all"; `one_way`: to what it sends alone.

        cut: nothing goes through. delay and jitter: seconds. loss: the share of packets. Without any of them: mends.
        """
        for sender in ROLES:
            for receiver in ROLES:
                wanted = role in (sender, receiver, "all") if not one_way else role == sender
                if sender == receiver or not wanted:
                    continue
                if self._hosts is not None:
                    self._hosts.link(ROLES.index(sender), ROLES.index(receiver), **how)
                    continue
                if proxy := self._proxies.get((sender, receiver)):
                    proxy.there.disturb(**how)
                if proxy := self._proxies.get((receiver, sender)):
                    proxy.back.disturb(**how)

    def reset(self) -> None:
        """Ends all connections through proxies."""
        for proxy in self._proxies.values():
            proxy.reset()
