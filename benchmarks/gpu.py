"""Measures graphflow on a GPU: bandwidth, matrix products, training steps; each beside its floor and its peers.

usage: python benchmarks/gpu.py [--torch PYTHON] [--jax PYTHON] [--seconds S]

The floor of memory-bound work is the bytes it moves over the bandwidth of a device copy measured in the same run; of
products it is cuBLAS. Training steps are timed in rounds, each peer in a process of its own that waits for its GPU at
the end of a batch; PyTorch (eager, and compiled) and JAX run where an interpreter has them with CUDA. All times are
medians.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
STEPS = ("mlp_adam", "mlp_adam_8192", "cnn_step", "lstm_step", "embedding_step")
ROUNDS = 7
ELEMENTS = 64 << 20
"""Of float32: 256 MB."""


# ---- a peer in its own process --------------------------------------------------------------------------------------


def build(peer: str, name: str) -> tuple[Any, Callable[[], None], Callable[[], int]]:
    """A workload on the GPU, what waits for the GPU, and what counts the launches of a step."""
    large = name == "mlp_adam_8192"
    if peer.startswith("torch"):
        import torch

        made = torch.from_numpy
        torch.from_numpy = lambda array: made(array).cuda()
        torch.set_default_device("cuda")
        import peers_torch

        work = peers_torch.perceptron(peers_torch.adam, 8192) if large else peers_torch.BUILDERS[name]()
        if peer == "torch-compiled":
            work = work._replace(step=torch.compile(work.step, mode="reduce-overhead"))
        return work, torch.cuda.synchronize, lambda: 0
    if peer == "jax":
        import jax
        import peers_jax

        work = peers_jax.perceptron(peers_jax.adam(), 8192) if large else peers_jax.BUILDERS[name]()
        return work, lambda: jax.numpy.zeros(()).block_until_ready(), lambda: 0
    import workloads

    import graphflow as gf

    sessions: list[Any] = []

    def started(module: Any) -> Any:
        session = module.Session(config=module.ConfigProto(allow_soft_placement=True))
        session.run(module.global_variables_initializer())
        sessions.append(session)
        return session

    workloads.started = started
    with gf.Graph().as_default(), gf.device("/gpu:0"):
        adam = gf.train.AdamOptimizer(1e-3)
        work = workloads.perceptron(gf, adam, (8192,)) if large else workloads.BUILDERS[name](gf)

    def launches() -> int:
        found = [p.executable for s in sessions for p in s._prepared.values()]
        return max((plan.launches for e in found for plan in getattr(e, "plans", ())), default=0)

    from graphflow._core.codegen.gpu.toolkit import device

    return work, device(0).wait, launches


def serve(peer: str, name: str) -> None:
    """Builds a workload, then times a batch for each line on stdin: microseconds a step, as JSON."""
    try:
        work, wait, launches = build(peer, name)
    except ImportError as error:
        sys.exit(f"{peer} does not run: {error}")
    answer: dict[str, Any] = {"check": work.check()}
    for _ in range(20):
        work.step()
    wait()
    print(json.dumps({**answer, "launches": launches()}), flush=True)
    for line in sys.stdin:
        seconds, calls, start = float(line), 0, time.perf_counter()
        while time.perf_counter() - start < seconds:
            for _ in range(work.calls):
                work.step()
            calls += work.calls
            wait()
        print(json.dumps({"us": (time.perf_counter() - start) / calls * 1e6}), flush=True)


def compare_steps(pythons: dict[str, str], seconds: float) -> None:
    """Times the training steps of all peers in turns."""
    print(f"\n{'step':<16}" + "".join(f"{peer:>16}" for peer in pythons) + f"{'launches':>10}")
    for name in STEPS:
        children = {}
        for peer, python in pythons.items():
            command = [python, str(HERE / "gpu.py"), "--child", peer, name]
            child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert child.stdout is not None
            first = child.stdout.readline()
            if first.startswith("{"):
                children[peer] = child, json.loads(first)
        times: dict[str, list[float]] = {peer: [] for peer in children}
        for _ in range(ROUNDS):
            for peer, (child, _first) in children.items():
                assert child.stdin is not None and child.stdout is not None
                child.stdin.write(f"{seconds}\n")
                child.stdin.flush()
                times[peer].append(json.loads(child.stdout.readline())["us"])
        for child, _first in children.values():
            child.communicate()
        if "graphflow" not in times:  # Its error was written; the other steps may run.
            print(f"{name:<16}{'failed':>16}", flush=True)
            continue
        own = times["graphflow"]
        cells = []
        for peer in pythons:
            if peer not in times:
                cells.append(f"{'-':>16}")
                continue
            ratio = statistics.median(a / b for a, b in zip(own, times[peer], strict=True))
            text = f"{statistics.median(times[peer]):.0f} us"
            cells.append(f"{text if peer == 'graphflow' else f'{text} {ratio:.2f}':>16}")
        print(f"{name:<16}{''.join(cells)}{children['graphflow'][1]['launches']:>10}", flush=True)


# ---- bandwidth and products -----------------------------------------------------------------------------------------


def seconds_of(device: Any, work: Callable[[], None], repeats: int = 20) -> float:
    """The median time of work on the stream, `repeats` of it at a time."""
    found = []
    with device.current():
        work()
        for _ in range(ROUNDS):
            device.wait()
            start = time.perf_counter()
            for _ in range(repeats):
                work()
            device.wait()
            found.append((time.perf_counter() - start) / repeats)
    return statistics.median(found)


def laid_out(build_fetch: Callable[[Any], tuple[Any, Any]]) -> tuple[Any, Any]:
    """What a graph becomes on the GPU: the plan, and the session that it lives in."""
    import graphflow as gf

    with gf.Graph().as_default(), gf.device("/gpu:0"):
        fetches, feeds = build_fetch(gf)
        session = gf.Session(config=gf.ConfigProto(allow_soft_placement=True))
        session.run(gf.global_variables_initializer())
        for _ in range(3):
            session.run(fetches, feeds)
        return [p.executable for p in session._prepared.values()][-1].plans[-1], session


def bandwidth(device: Any) -> None:
    """Fused elementwise work and reductions over 256 MB against a copy on the device."""
    with device.current():
        source, target = (device.allocate(ELEMENTS, "float32") for _ in range(2))
        copy = seconds_of(device, lambda: target.copy_to_device(source, stream=device.stream))
    rate = 2 * 4 * ELEMENTS / copy
    print(f"device copy: {rate / 1e9:.0f} GB/s\n\n{'256 MB':<28}{'GB/s':>8}{'of copy':>9}")
    data = np.random.default_rng(0).random(ELEMENTS, np.float32)

    def update(gf: Any) -> Any:
        v = gf.Variable(data)
        return v.assign(gf.tanh(v * 2.0 + 1.0) * gf.sigmoid(v)).op, None

    def reduced(axis: Any, shape: list[int]) -> Callable[[Any], Any]:
        def build_fetch(gf: Any) -> Any:
            return gf.reduce_sum(gf.square(gf.Variable(data.reshape(shape))), axis), None

        return build_fetch

    cases = {
        "tanh(v*2+1)*sigmoid(v)": (update, 2),
        "sum of squares": (reduced(None, [ELEMENTS]), 1),
        "sum over rows": (reduced(0, [ELEMENTS // 1024, 1024]), 1),
        "sum over columns": (reduced(1, [ELEMENTS // 1024, 1024]), 1),
        "sum over columns, short": (reduced(1, [ELEMENTS // 16, 16]), 1),
    }
    for label, (build_fetch, passes) in cases.items():
        plan, session = laid_out(build_fetch)
        taken = seconds_of(device, plan.launch_once)
        found = passes * 4 * ELEMENTS / taken
        print(f"{label:<28}{found / 1e9:>8.0f}{found / rate:>9.0%}", flush=True)
        session.close()


def cublas_product(arrays: Any, size: int) -> Any:
    """What starts a square product of float32 as cuBLAS does it by itself; None where it is not installed."""
    from graphflow._core.codegen.gpu.toolkit import Call
    from graphflow._core.codegen.gpu.vectors import address

    try:
        library = ctypes.CDLL(import_module("cuda.pathfinder").load_nvidia_dynamic_lib("cublas").abs_path)
    except (ImportError, RuntimeError, OSError):
        return None
    handle, one, zero = ctypes.c_void_p(), ctypes.c_float(1), ctypes.c_float(0)
    if library.cublasCreate_v2(ctypes.byref(handle)):
        return None
    a, b, c = (ctypes.c_void_p(address(array)) for array in arrays)

    def call(stream: int) -> None:
        library.cublasSetStream_v2(handle, ctypes.c_void_p(stream))
        scalars = ctypes.byref(one), ctypes.byref(zero)
        code = library.cublasSgemm_v2(
            handle, 0, 0, size, size, size, scalars[0], b, size, a, size, scalars[1], c, size
        )
        if code:
            raise RuntimeError(f"cublasSgemm returned {code}")

    return Call(call)


def products(device: Any) -> None:
    """Square products: the plan's, Numba's tiles, and cuBLAS alone."""
    from graphflow._core.codegen.gpu.kernels.matmul import Matrix, PlacedProduct, product_launches

    print(f"\n{'float32 product':<20}{'plan':>14}{'tiles':>14}{'cuBLAS':>14}{'plan/cuBLAS':>13}")
    for size in (512, 1024, 2048, 4096, 8192):
        rng = np.random.default_rng(0)

        def build_fetch(gf: Any, size: int = size, rng: Any = rng) -> Any:
            a, b = (gf.Variable(rng.random((size, size), np.float32)) for _ in range(2))
            return gf.matmul(a, b), None

        plan, session = laid_out(build_fetch)
        with device.current():
            arrays = [device.allocate(size * size, "float32") for _ in range(3)]
        a, b = (Matrix(array, 0, size, 1) for array in arrays[:2])
        [tiles] = product_launches(PlacedProduct("float32", (size,) * 3, a, b, arrays[2]))
        with device.current():
            direct = cublas_product(arrays, size)
        taken = [seconds_of(device, plan.launch_once), seconds_of(device, lambda t=tiles: device.launch(t))]
        cells = [f"{2 * size**3 / t / 1e12:>8.1f} TF/s" for t in taken]
        ratio = ""
        if direct is not None:
            taken.append(seconds_of(device, lambda d=direct: device.launch(d)))
            cells.append(f"{2 * size**3 / taken[2] / 1e12:>8.1f} TF/s")
            ratio = f"{taken[0] / taken[2]:.2f}"
        print(f"{size:<20}{''.join(f'{c:>14}' for c in cells)}{ratio:>13}", flush=True)
        session.close()


def main() -> int:
    """Measures everything and prints it; 1 where there is no GPU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", default=sys.executable, help="an interpreter that has PyTorch with CUDA")
    parser.add_argument("--jax", default=sys.executable, help="an interpreter that has JAX with CUDA")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a batch of steps")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        serve(*arguments.child)
        return 0
    from graphflow._core.codegen.gpu.discovery import found

    here = found()
    if here.simulated or not here.gpus:
        print(f"There is no GPU to measure: {here.problem or 'only the simulator'}")
        return 1
    from graphflow._core.codegen.gpu.toolkit import device

    gpu = here.gpus[0]
    print(
        f"{gpu.name}, {gpu.memory / 2**30:.0f} GiB, compute capability {gpu.capability[0]}.{gpu.capability[1]}"
    )
    bandwidth(device(0))
    products(device(0))
    pythons = {"graphflow": sys.executable, "torch": arguments.torch, "torch-compiled": arguments.torch}
    compare_steps({**pythons, "jax": arguments.jax}, arguments.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
