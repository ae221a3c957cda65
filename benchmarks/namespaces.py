"""Two machines with a link between them, made of namespaces of this one. Needs root on Linux.

Each has a network, process numbers and local sockets of its own. So processes at the two ends have nothing in common
but the link, and those at one end share what processes of a machine do. The addresses are of the loopback network, but
the packets go over the link: clusters without keys take no others, since only keys protect what leaves a machine.
Whatever way the program ends, the namespaces and what runs in them go: at its end, or, if it was killed, when the next
one begins.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from types import TracebackType

from graphflow._core.transport import token

NAME = "gf-links"
"""What the names of the namespaces begin with; the number of the process follows, and the end."""
NETWORK = "127.77.0"
LOCAL = token.path().parent / "doors"
"""Where processes of one machine find each other's local channels."""
CONGESTION = "net.ipv4.tcp_congestion_control"
BURST = "128kb"
"""A bucket of this size lets the kernel's large packets through in one piece."""
RATES = {"quiet": "", "1 Gbit/s": "1gbit", "100 Mbit/s": "100mbit"}
"""The links, and the rates that tc limits them to; the quiet one is as fast as the machine."""


class NoLink(Exception):
    """There can be no link here, and why."""


def run(*command: str) -> str:
    """What a command prints; NoLink with what it complains of if it fails."""
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        raise NoLink(f"`{' '.join(command)}` failed: {found.stderr.strip() or found.stdout.strip()}")
    return found.stdout


class Link:
    """A link between two namespaces; a context, at the end of which nothing is left of them.

    congestion: TCP's congestion control on it, such as cubic; "" for what this machine uses.
    """

    def __init__(self, congestion: str = "") -> None:
        self._congestion = congestion
        self.names = tuple(f"{NAME}-{os.getpid()}-{end}" for end in "ab")
        self.addresses = tuple(f"{NETWORK}.{number}" for number in (1, 2))
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> "Link":
        if os.geteuid() != 0:
            raise NoLink(
                "network namespaces need root: run it by sudo, or in a container with --cap-add NET_ADMIN SYS_ADMIN"
            )
        for tool in ("ip", "tc", "unshare"):
            if shutil.which(tool) is None:
                raise NoLink(f"there is no `{tool}`: install iproute2 and util-linux")
        with contextlib.ExitStack() as stack:
            stack.enter_context(ending_in_order())
            remove_left_over(NAME)
            stack.callback(self._remove)
            self._make()
            self._stack = stack.pop_all()
        return self

    def _make(self) -> None:
        for name in self.names:
            run("ip", "netns", "add", name)
        ends = [f"gfl{os.getpid() % 10**8}{end}" for end in "ab"]
        run("ip", "link", "add", ends[0], "netns", self.names[0], "type", "veth", "peer", "name", ends[1], "netns",
            self.names[1])  # fmt: skip
        for name, end, address in zip(self.names, ends, self.addresses, strict=True):
            run("ip", "-n", name, "link", "set", "dev", end, "name", "wire")
            run("ip", "-n", name, "link", "set", "dev", "lo", "up")
            run("ip", "-n", name, "address", "del", "127.0.0.1/8", "dev", "lo")
            run("ip", "-n", name, "address", "add", "127.0.0.1/32", "dev", "lo")
            run("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.conf.all.route_localnet=1")
            run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "wire")
            run("ip", "-n", name, "link", "set", "dev", "wire", "up")
            if self._congestion:
                run("ip", "netns", "exec", name, "sysctl", "-qw", f"{CONGESTION}={self._congestion}")

    @property
    def congestion(self) -> str:
        """TCP's congestion control on it."""
        return run("ip", "netns", "exec", self.names[0], "sysctl", "-n", CONGESTION).strip()

    def limit(self, rate: str) -> None:
        """Limits both directions to a rate as tc takes it, such as 1gbit; "" takes the limit away."""
        for name in self.names:
            subprocess.run(
                ["tc", "-n", name, "qdisc", "del", "dev", "wire", "root"], stderr=subprocess.DEVNULL
            )
            if rate:
                run("tc", "-n", name, "qdisc", "add", "dev", "wire", "root", "tbf", "rate", rate, "burst", BURST,
                    "latency", "50ms")  # fmt: skip

    def inside(self, end: int) -> list[str]:
        """What a command begins with to run at an end of the link, 0 or 1."""
        own = f'mkdir -p "{LOCAL}" && mount -t tmpfs -o mode=700 graphflow "{LOCAL}" && exec "$@"'
        return ["ip", "netns", "exec", self.names[end], "unshare", "--mount", "--pid", "--fork", "--kill-child",
                "--mount-proc", "sh", "-c", own, "sh"]  # fmt: skip

    def _remove(self) -> None:
        for name in self.names:
            remove(name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


@contextlib.contextmanager
def ending_in_order() -> Iterator[None]:
    """SIGTERM and SIGHUP end the program as an exception does, so that it cleans up."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def namespaces() -> list[str]:
    """The names of all network namespaces."""
    return [line.split()[0] for line in run("ip", "netns", "list").splitlines()]


def remove_left_over(beginning: str) -> None:
    """Removes the namespaces of programs that were killed: of the names with this beginning, and the owner's number."""
    for name in namespaces():
        owner = name.removeprefix(f"{beginning}-").partition("-")[0]
        if name.startswith(f"{beginning}-") and not os.path.exists(f"/proc/{owner}"):
            remove(name)


def remove(name: str) -> None:
    """Ends what runs in a namespace, and removes it."""
    if name not in namespaces():
        return
    deadline = time.monotonic() + 10.0
    while (numbers := run("ip", "netns", "pids", name).split()) and time.monotonic() < deadline:
        for number in numbers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(number), signal.SIGKILL)
        time.sleep(0.02)
    run("ip", "netns", "del", name)
