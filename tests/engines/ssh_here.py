"""Hosts with a real sshd each: network namespaces of this machine, with a cable each to a switch.

Each host has a network, process numbers and local sockets of its own; files are those of this machine. The launcher is
on one more of them. A host is cut off by pulling its cable.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from graphflow._core.cluster.launch.hosts import SSH
from graphflow._core.transport import token

PROJECT: Final = Path(__file__).resolve().parents[2]
NETWORK: Final = "10.231.17"
_DOORS: Final = token.path().parent / "doors"
"""Where processes of one machine find each other's local channels."""
TRAINS: Final = """
import os, sys
from pathlib import Path
import graphflow as gf
from tests.cluster import once_role
folder = Path(sys.argv[1])
cluster, job, index = gf.train.task_from_environment()
life = int(gf.distribute.cluster_resolver.resolver_from_environment().incarnation())
server = gf.train.Server.from_environment()
once_role.train(folder, f"trainer_{index}_{life}", server, index, 10)
"""
"""A worker of tests.cluster.once_role, which is given a folder."""
_TOOLS: Final = ("ip", "unshare", "sshd", "ssh", "ssh-keygen")
_PATH: Final = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/local/sbin"


def lack() -> str:
    """What is missing for it; "" if nothing is."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "hosts of their own, which are network namespaces, need root on Linux"
    missing = [tool for tool in _TOOLS if shutil.which(tool, path=_PATH) is None]
    if missing:
        return f"there is no {' and no '.join(missing)}: install openssh-server, openssh-client and iproute2"
    probe = f"gf-ssh-{os.getpid()}"
    tries = [["ip", "netns", "add", probe], ["ip", "-n", probe, "link", "add", "bridge", "type", "bridge"]]
    found = [done.stderr.strip() for words in tries if (done := _run(*words, check=False)).returncode]
    _run("ip", "netns", "del", probe, check=False)
    return f"there can be no network between namespaces: {found[0]}" if found else ""


def _run(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=60, env={**os.environ, "PATH": _PATH}, check=False
    )
    assert not (check and done.returncode), (words, done.stderr)
    return done


class Hosts:
    """Some hosts, and the launcher's; a context, at the end of which nothing is left of them."""

    def __init__(self, folder: Path, count: int) -> None:
        self._folder = folder
        self._names = [f"gf-ssh-{os.getpid()}-{n}" for n in ("switch", *range(count + 1))]
        self._stack = ExitStack()
        self.addresses = [f"{NETWORK}.{n + 1}" for n in range(1, count + 1)]
        self._servers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Hosts:
        with ExitStack() as stack:
            stack.callback(self._end)
            self._make()
            self._stack = stack.pop_all()
        return self

    def _make(self) -> None:
        switch, *names = self._names
        _run("ip", "netns", "add", switch)
        _run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        _run("ip", "-n", switch, "link", "set", "bridge", "up")
        for number, name in enumerate(names):
            port = f"port{number}"
            _run("ip", "netns", "add", name)
            _run(
                "ip",
                "link",
                "add",
                port,
                "netns",
                switch,
                "type",
                "veth",
                "peer",
                "name",
                "wire",
                "netns",
                name,
            )
            _run("ip", "-n", switch, "link", "set", port, "master", "bridge", "up")
            _run("ip", "-n", name, "link", "set", "lo", "up")
            _run("ip", "-n", name, "addr", "add", f"{NETWORK}.{number + 1}/24", "dev", "wire")
            _run("ip", "-n", name, "link", "set", "wire", "up")
        for key in ("host", "user"):
            _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self._folder / key))
        with suppress(FileExistsError):
            os.mkdir("/run/sshd", 0o755)  # sshd of root needs it.
        (self._folder / "sshd.conf").write_text(
            f"Port 22\nHostKey {self._folder / 'host'}\nPidFile none\nStrictModes no\nUsePAM no\n"
            f"AuthorizedKeysFile {self._folder / 'user.pub'}\nPasswordAuthentication no\n"
            "ClientAliveInterval 2\nClientAliveCountMax 3\n"
            f'SetEnv PYTHONPATH="{PROJECT}" TMPDIR="{self._folder}"\n'
        )
        daemon = shutil.which("sshd", path=_PATH)
        assert daemon is not None
        for name in names[1:]:
            words = [*self._inside(name), daemon, "-D", "-e", "-f", str(self._folder / "sshd.conf")]
            with (self._folder / f"{name}.log").open("wb") as log:
                self._servers.append(
                    subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
                )
        for address in self.addresses:
            limit = time.monotonic() + 60
            while self.on_launcher(*self.ssh.split(), address, "true").wait(60):
                assert time.monotonic() < limit, f"nobody gets into {address}"
                time.sleep(0.1)

    @staticmethod
    def _inside(name: str) -> list[str]:
        own = f'mkdir -p "{_DOORS}" && mount -t tmpfs -o mode=700 graphflow "{_DOORS}" && exec "$@"'
        return ["ip", "netns", "exec", name, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
                "sh", "-c", own, "sh"]  # fmt: skip

    @property
    def ssh(self) -> str:
        """The command that gets into a host: that of the launcher, with the key and without the user's files."""
        return (
            f"{SSH} -F /dev/null -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "
            f"-i {self._folder / 'user'}"
        )

    def on_launcher(self, *words: str, **more: Any) -> subprocess.Popen[str]:
        """Starts a command on the launcher's host."""
        environment: Mapping[str, str] = {
            **os.environ,
            "PATH": _PATH,
            "PYTHONPATH": str(PROJECT),
            "TMPDIR": str(self._folder),
        }
        return subprocess.Popen(
            ["ip", "netns", "exec", self._names[1], *words], stdin=subprocess.DEVNULL, text=True, env=environment,
            **more,
        )  # fmt: skip

    def on_host(self, host: int, *words: str, **more: Any) -> subprocess.Popen[str]:
        """Starts a command on a host, without its sshd."""
        environment = {**os.environ, "PATH": _PATH, "PYTHONPATH": str(PROJECT), "NO_COLOR": "1"}
        return subprocess.Popen(
            [*self._inside(self._names[host + 2]), *words], stdin=subprocess.DEVNULL, text=True, env=environment,
            **more,
        )  # fmt: skip

    def launch(self, *words: str, folder: Path) -> subprocess.Popen[str]:
        """Starts `graphflow launch` over ssh; what it prints goes into a file "printed" in the folder."""
        with (folder / "printed").open("w") as file:
            return self.on_launcher(
                sys.executable, "-P", "-m", "graphflow.cli", "launch", "--ssh", self.ssh, *words, cwd=folder,
                stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def plug(self, host: int, there: bool) -> None:
        """Pulls the cable of a host, or puts it back."""
        _run("ip", "-n", self._names[0], "link", "set", f"port{host + 1}", "up" if there else "down")

    def processes(self, host: int) -> Sequence[int]:
        """What runs on a host beside its sshd and what it has for connections."""
        found = []
        for number in map(int, _run("ip", "netns", "pids", self._names[host + 2]).stdout.split()):
            with suppress(OSError):
                words = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
                if b"python" in os.path.basename(words[0]):
                    found.append(number)
        return found

    def kill(self, host: int, word: str) -> None:
        """Kills the process on a host which has this word on its command line."""
        (number,) = [
            n
            for n in self.processes(host)
            if word.encode() in Path(f"/proc/{n}/cmdline").read_bytes().split(b"\0")
        ]
        os.kill(number, signal.SIGKILL)

    def _end(self) -> None:
        for server in self._servers:
            server.kill()
            server.wait()
        for name in self._names:
            for number in _run("ip", "netns", "pids", name, check=False).stdout.split():
                with suppress(ProcessLookupError):
                    os.kill(int(number), signal.SIGKILL)
            _run("ip", "netns", "del", name, check=False)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
