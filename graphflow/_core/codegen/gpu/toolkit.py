"""The one module that loads numba.cuda, at first use; another package with `cuda.jit` is to replace it one day.

The rest of the library knows: kernels as texts, launches of them, blocks of device memory, and the one stream of a
device. In Numba's simulator all of this works on NumPy arrays; what differs there is decided here.
"""

from __future__ import annotations

import ast
import hashlib
import linecache
import logging
import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.codegen.cpu.cache import default_directory
from graphflow._core.codegen.cpu.regions.scalar_text import FLOAT_FUNCTIONS, FLOATS, INTEGERS
from graphflow._core.codegen.gpu import copies, dropped, peers, vectors
from graphflow._core.codegen.gpu.discovery import simulated
from graphflow._core.codegen.gpu.division import with_divisions
from graphflow._core.codegen.gpu.kept import KeptKernels
from graphflow._core.codegen.gpu.pool import Pool
from graphflow._core.codegen.gpu.warps import SHUFFLE, SIMULATED_SHUFFLE
from graphflow._core.common.records import dataclass
from graphflow._core.common.syntax import parse
from graphflow._core.graph.devices import DeviceSpec

SIMULATED: Final = simulated()
BLOCK: Final = 4 if SIMULATED else 256
"""Threads of a block. The simulator starts a Python thread for each."""
_MOST_BLOCKS: Final = 2 if SIMULATED else 4096
_WARP: Final = 2 if SIMULATED else 32
"""Threads that can shuffle; in the simulator fewer, so that there too a block has several warps."""

# sigmoid and softplus are written with others; pow, atan2, fmod and roundings come on top.
_FLOAT_FUNCTIONS: Final = (
    *(name for name in FLOAT_FUNCTIONS if name not in ("sigmoid", "softplus")),
    *("floor", "ceil", "trunc", "rint", "pow", "atan2", "fmod"),
)
_LOG = logging.getLogger("graphflow")
_DTYPES: Final = (*FLOATS, *INTEGERS, "uint32", "uint64")


@cache
def cuda() -> Any:
    """numba.cuda, which takes half a second to import: loaded by who launches a kernel or takes device memory."""
    read_by_others = "numba" in sys.modules
    module = import_module("numba.cuda")
    if not SIMULATED:
        config: Any = import_module("numba.cuda.core.config")
        if not read_by_others:  # .numba_config.yaml of the working directory may name what is to be loaded
            config._config_fname = ""
            config.reload_config()
        config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # Short kernels are meant: their launches are captured.
    return module


def _simulated_function(name: str) -> Callable[..., Any]:
    """A function of libdevice for the simulator, as libdevice returns None: NumPy's, which keeps float32."""
    if name in ("erf", "erfc", "lgamma"):
        function = getattr(math, name)

        def scalar(x: Any) -> Any:
            pole = name == "lgamma" and (math.isinf(x) or (x <= 0 and x == math.floor(x)))
            return type(x)(math.inf if pole else function(x))

        return scalar
    if name == "rsqrt":
        return lambda x: type(x)(1) / np.sqrt(x)
    renamed = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "pow": "power", "atan2": "arctan2"}
    inverse = {f"a{n}": f"arc{n}" for n in ("sinh", "cosh", "tanh")}
    return getattr(np, (renamed | inverse).get(name, name))  # type: ignore[no-any-return]


def _libdevice() -> Any:
    return import_module("numba.cuda.libdevice")


def _simulated_bits(x: Any) -> int:
    return int(np.float64(x).view(np.int64))


@cache
def namespace() -> dict[str, Any]:
    """The names that texts of kernels may use: cuda, the dtypes, and functions such as exp_float32."""
    names: dict[str, Any] = {"cuda": cuda(), "errstate": np.errstate, "warp": _WARP}
    names.update((dtype, getattr(np, dtype)) for dtype in _DTYPES)
    names.update(vectors.simulated() if SIMULATED else vectors.compiled())
    names["bits_float64"] = _simulated_bits if SIMULATED else _libdevice().double_as_longlong
    for name in _FLOAT_FUNCTIONS:
        if SIMULATED:
            names[f"{name}_float32"] = names[f"{name}_float64"] = _simulated_function(name)
        else:
            names[f"{name}_float32"] = getattr(_libdevice(), f"{name}f")
            names[f"{name}_float64"] = getattr(_libdevice(), name)
    return names


_SIMULATOR_ENTRY: Final = """

def entry(*arguments):
    with errstate(all="ignore"):
        kernel(*arguments)
"""


@cache
def called_text() -> bytes:
    """What machine code depends on beside a kernel's text, and Numba does not see change: functions that kernels call,
    and its own version.
    """
    version = "" if SIMULATED else import_module("importlib.metadata").version("numba-cuda")
    return Path(vectors.__file__).read_bytes() + version.encode()


def _path(source: str, kinds: tuple[str, ...]) -> Path:
    """The file that a kernel's text for arguments of some kinds is said to lie in, which is not there.

    One for each: the simulator knows a kernel's shared arrays by it, and what is compiled is kept under its name.
    """
    text = f"{source}\n{' '.join(kinds)}".encode()
    return default_directory() / "cuda" / f"gf_{hashlib.sha256(text + called_text()).hexdigest()[:32]}.py"


def python_function(source: str, kinds: tuple[str, ...] = ()) -> Callable[..., None]:
    """The function `kernel` of a text, under a file's name of its own, by which the simulator knows shared arrays."""
    path = _path(source, kinds)
    names = dict(namespace())
    if SIMULATED:
        source = source.replace(SHUFFLE, "exchanged").replace(", alignment=16", "")
        source += SIMULATED_SHUFFLE + _SIMULATOR_ENTRY
        exec(compile(source, str(path), "exec"), names)
        return names["entry"]  # type: ignore[no-any-return]
    # What shows the lines of a file, such as a traceback, finds them though the file is not there.
    linecache.cache[str(path)] = len(source), None, source.splitlines(keepends=True), str(path)
    tree = ast.fix_missing_locations(_UnsignedIndices().visit(parse(source)))
    exec(compile(tree, str(path), "exec"), names)
    return names["kernel"]  # type: ignore[no-any-return]


class _UnsignedIndices(ast.NodeTransformer):
    """Makes every index of an array unsigned: to a signed one Numba adds the array's length if it is negative."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        self.generic_visit(node)
        if not isinstance(node.slice, ast.Constant):
            node.slice = ast.Call(ast.Name("uint64", ast.Load()), [node.slice], [])
        return node


@cache
def kernel(source: str, kinds: tuple[str, ...]) -> Any:
    """The compiled kernel of a text for arguments of some kinds; compiled at its first launch."""
    if SIMULATED:
        return cuda().jit(python_function(source, kinds))
    function = python_function(source, kinds)
    compiled = cuda().jit(function)
    code = hashlib.sha256(function.__code__.co_code).hexdigest()
    compiled._cache = KeptKernels(f"{_path(source, kinds).stem} {code}")
    return compiled


@contextmanager
def _patience() -> Iterator[None]:
    """What the simulator needs to be quick and right: it waits for its threads by asking them again and again, so that
    they must take turns often; and then two threads of a block may both make a shared array that is to be one.
    """
    import_module("numba.cuda.simulator.kernelapi").FakeCUDAShared.array = _locked_shared_array
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


_SHARED_LOCK: Final = threading.Lock()


def _locked_shared_array(self: Any, shape: Any, dtype: Any) -> Any:
    caller = sys._getframe(1)
    key = caller.f_code.co_filename, caller.f_lineno
    with _SHARED_LOCK:
        if key not in self._allocations:
            self._allocations[key] = np.empty(shape, dtype)
        return self._allocations[key]


@dataclass(frozen=True, eq=False)
class Launch:
    """A kernel's text, the blocks and the threads of a block it is started with, and its arguments."""

    source: str
    blocks: int | tuple[int, int]
    threads: int
    arguments: tuple[Any, ...]

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The dtypes of arrays, and the types of other arguments."""
        return tuple([a.dtype.name if hasattr(a, "dtype") else type(a).__name__ for a in self.arguments])


@dataclass(frozen=True, eq=False)
class Call:
    """Work for the stream that is no kernel of ours: function(stream handle), such as a library's."""

    function: Callable[[int], None]


Work = Launch | Call


def elementwise_launch(
    source: str, count: int, arguments: Sequence[Any], each: int = 1, bound: int = 0
) -> Launch:
    """A launch of a kernel that walks `count` elements with a stride of the whole grid, `each` a thread at a time.

    bound: what all indices that the text divides are below, if that is more than `count`.
    """
    blocks = max(1, min(_MOST_BLOCKS, -(-count // (BLOCK * each))))
    text, given = with_divisions(source, arguments, max(count, bound))
    return Launch(text, blocks, BLOCK, given)


class Device:
    """One GPU: its memory, the `stream` that it computes in, and a lock that whoever uses it holds.

    Thread-safe under that lock. pool: memory for values that outlive what made them. arrivals, departures: streams for
    copies that go on while it computes.
    """

    def __init__(self, index: int) -> None:
        self.index = index
        self.lock = threading.RLock()
        self.pool = Pool()
        self._cuda = cuda()
        self.numba_device = self._cuda.gpus[0 if SIMULATED else index]
        self._reached: set[int] = set()
        self._recording: Any = None  # One stream for all graphs: Numba keeps what it launched in.
        with self.current():
            if not SIMULATED:
                dropped.give_back_with(self.numba_device.get_primary_context())
            self.stream, self.arrivals, self.departures = (self._cuda.stream() for _ in range(3))

    @contextmanager
    def current(self) -> Iterator[None]:
        """Holds the lock, and makes the GPU the one of this thread."""
        with self.lock, self.being_current():
            yield

    def being_current(self) -> AbstractContextManager[Any]:
        """Makes the GPU the one of this thread; the driver does nothing for a thread that has none."""
        return nullcontext() if SIMULATED else self.numba_device

    def allocate(self, count: int, dtype: str) -> Any:
        """A block of device memory; ResourceExhaustedError if there is not so much."""
        kind = np.dtype(memory_type(dtype))
        for again in (True, False):
            try:
                return self._cuda.device_array(max(1, count), kind)
            except Exception as error:
                if "OUT_OF_MEMORY" not in str(error) and not isinstance(error, MemoryError):
                    raise
                if not again:
                    raise errors.ResourceExhaustedError(
                        None,
                        None,
                        f"GPU {self.index} has no {max(1, count) * kind.itemsize} bytes of memory left. "
                        "Feed smaller batches, or place a part of the graph elsewhere.",
                    ) from error
                self.pool.clear()
        raise AssertionError("the second attempt returns or raises")

    def pinned(self, count: int) -> Any:
        """Bytes of host memory that the GPU can reach, so that copies do not wait for each other."""
        return self._cuda.pinned_array(max(1, count), np.uint8)

    def upload(self, target: Any, source: Any, stream: Any = None) -> None:
        """Copies a host array to a block of the same dtype and size, in the order of the stream or of another."""
        if SIMULATED:
            target.copy_to_device(source, stream=stream or self.stream)
        else:
            copies.upload(target, source, stream or self.stream)

    def download(self, source: Any, target: Any, stream: Any = None) -> None:
        """Copies a block to a host array of the same dtype and size, in the order of the stream or of another."""
        if SIMULATED:
            source.copy_to_host(target, stream=stream or self.stream)
        else:
            copies.download(target, source, stream or self.stream)

    def copy(self, target: Any, source: Any) -> None:
        """Copies a block to another of the same dtype and size on this device, in the order of the stream."""
        if SIMULATED:
            target.copy_to_device(source, stream=self.stream)
        else:
            copies.copy(target, source, self.stream)

    def event(self) -> Any:
        """An event, which can be recorded in a stream, and for which the host or another stream can wait."""
        return self._cuda.event() if SIMULATED else self._cuda.event(timing=False)

    def recorded(self) -> Any:
        """An event that comes when the stream has done all that it was asked for so far."""
        event = self.event()
        event.record(self.stream)
        return event

    def receive(self, target: Any, source: Any, origin: Device) -> Any:
        """Copies a block of another device to one of the same dtype and size here; the event of its end.

        The copy has a stream of its own. It waits, on the device, for what both devices were asked for so far, and this
        device's stream waits for it: the host waits for nothing, and the other device computes on.
        """
        with origin.current():
            made = origin.recorded()
        with self.current():
            free, done = self.recorded(), self.event()
            made.wait(self.arrivals)
            free.wait(self.arrivals)
            self._copy_from(origin, target, source)
            done.record(self.arrivals)
            done.wait(self.stream)
        return done

    def _copy_from(self, origin: Device, target: Any, source: Any) -> None:
        if SIMULATED:
            target.copy_to_device(source, stream=self.arrivals)
            return
        here, there = self.numba_device.get_primary_context(), origin.numba_device.get_primary_context()
        if origin.index not in self._reached:
            self._reached.add(origin.index)
            peers.connect(here, there)
        peers.copy(target, here, source, there, self.arrivals.handle)

    def launch(self, work: Work) -> None:
        """Starts work in the order of the stream."""
        self._start(work, self.stream, self.stream)

    @staticmethod
    def _start(work: Work, stream: Any, handle: Any) -> None:
        if isinstance(work, Call):
            work.function(int(handle))
            return
        with _patience() if SIMULATED else nullcontext():
            kernel(work.source, work.kinds)[work.blocks, work.threads, stream](*work.arguments)

    def captured(self, works: Sequence[Work]) -> Callable[[], None] | None:
        """What starts all of some work at once, as a CUDA graph; None if none can be made.

        Every kernel must have run before, since compiling and loading are no part of a graph.
        """
        if SIMULATED:
            return None
        try:
            core = import_module("cuda.core")
            stream = core.Stream.from_handle(int(self.stream))
            if self._recording is None:
                chip = core.Device(self.index)
                chip.set_current()
                self._recording = chip.create_stream()
            builder = self._recording.create_graph_builder()
            builder.begin_building()
            try:
                for work in works:
                    self._start(work, self._recording, self._recording.handle)
            finally:
                builder.end_building()
            graph = builder.complete()
            graph.upload(stream)
        except Exception:  # of several packages; the launches work without a graph as well
            _LOG.warning("Launches are not captured as a CUDA graph.", exc_info=True)
            return None
        return lambda: graph.launch(stream)

    def wait_for(self, event: Any) -> None:
        """Returns when an event has come, or was never recorded; others may use the device meanwhile."""
        with self.being_current():
            event.synchronize()

    def wait(self) -> None:
        """Returns when the stream has done everything; others may use the device meanwhile."""
        with self.being_current():
            self.stream.synchronize()


def part(block: Any, start: int, count: int, dtype: str) -> Any:
    """`count` elements of a dtype within a block of bytes, from byte `start` on; shares memory."""
    kind = np.dtype(memory_type(dtype))
    return block[start : start + count * kind.itemsize].view(kind)


def memory_type(dtype: str) -> str:
    """The dtype that values of a dtype have in memory."""
    return "uint8" if dtype == "bool" else dtype


made_devices: dict[int, Device] = {}
_making = threading.Lock()


def device(index: int) -> Device:
    """The GPU of a number, made at first use."""
    with _making:
        if index not in made_devices:
            made_devices[index] = Device(index)
        return made_devices[index]


def device_named(name: str) -> Device:
    """The GPU of a device's full name, made at first use."""
    return device(DeviceSpec.from_string(name).device_index or 0)
