"""What tests of the compile server look at: its processes, its files, programs that ask it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import graphflow
from graphflow._core.codegen.cpu.compiler import Compiler
from graphflow._core.codegen.cpu.service.link import look

ROOT = str(Path(graphflow.__file__).parents[1])
SOURCE = """
@kernel_function
def kernel(args, begin, end):
    args[0] = begin + {addend}
"""


def kernel(addend: int) -> str:
    """The source of a kernel that is like others and none of them."""
    return SOURCE.format(addend=addend)


def slow_kernel(number: int, seconds: float) -> str:
    """A source that takes so long to compile, and is made all the same."""
    return f"import time\ntime.sleep({seconds})\n" + kernel(number)


def gated_kernel(number: int, gate: Path, mark: str = "") -> str:
    """A source that takes as long to compile as `gate` is not there; it first writes `mark` to `<gate>.begun`."""
    return (
        f"import os, time\nopen({str(gate) + '.begun'!r}, 'a').write({mark!r})\n"
        f"while not os.path.exists({str(gate)!r}): time.sleep(0.01)\n" + kernel(number)
    )


def until(condition: Callable[[], object], what: str, seconds: float = 200.0) -> None:
    """Waits until something is so."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, f"not in {seconds} s: {what}"
        time.sleep(0.01)


def pids_of(folder: Path) -> list[int]:
    """The servers of a folder for kernels, by what they were started with."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = path.read_bytes()
            if b'"service.server"' in words and str(folder).encode() in words:
                found.append(int(path.parent.name))
    return found


def helpers_of(pid: int) -> list[int]:
    """The compiler processes of a server."""
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def is_running(pid: int) -> bool:
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def ended(pid: int, seconds: float = 200.0) -> None:
    """Waits until a process has ended."""
    until(lambda: not is_running(pid), f"process {pid} ends", seconds)


def server_of(compiler: Compiler) -> int:
    """The number of the server that a compiler asks, once it is known."""
    until(lambda: compiler.server_pid, "the server says its number")
    pid = compiler.server_pid
    assert pid is not None
    return pid


def requests_of(compiler: Compiler) -> int:
    """How many kernels the server that a compiler asks has to make; 0 if there is none."""
    return (look(compiler.cache) or (0, 0))[1]


def kernels_in(folder: Path) -> int:
    """How many kernels are kept in a folder."""
    return len(list(folder.glob("*/*.o")))


def program(folder: Path, text: str) -> subprocess.Popen[str]:
    """Starts a program that has a `compiler` which asks the server of a folder, and `kernel(addend)`."""
    head = (
        "import os, signal, sys, time\nfrom pathlib import Path\n"
        "from graphflow._core.codegen.cpu.compiler import Compiler\n"
        f"compiler = Compiler(Path({str(folder)!r}), shared=True)\nkernel = {SOURCE!r}.format\n"
    )
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", head + text],
        env=dict(os.environ, PYTHONPATH=ROOT),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(process: subprocess.Popen[str]) -> str:
    """What a program printed; it must end well."""
    out, err = process.communicate(timeout=250)
    assert process.returncode == 0, err
    return out.strip()
