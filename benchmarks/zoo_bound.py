"""How near the steps of the zoo's models are to what the processor could do at best.

A step cannot be faster than its products and convolutions at the rate at which BLAS multiplies large matrices on all
cores, and than the bytes that it must read and write at memcpy's rate: what is fed and fetched, the variables that it
reads, and those that it changes. What lies between, such as activations, may stay in the caches and does not count,
nor does what products of small matrices, functions or the order of a loop cost. So small models are far from it: their
steps are as long as it takes to begin and end one. Both rates are measured first, and again after each model.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import numpy as np  # noqa: E402

GOAL = 2.0
"""The median of the steps is to take at most so many times the bound."""
SIDE, BYTES = 1024, 1 << 26
ROUNDS = 5
SPARSE = ("Gather", "ResourceGather", "Scatter", "SparseApply", "ResourceSparse")
"""What takes or changes some rows of a variable."""
SAME = ("Identity", "Enter", "Switch", "StopGradient")
"""What gives its input."""


def products_rate() -> float:
    """Floating-point operations a second of BLAS on all cores: products of large matrices, the best of some."""
    a = np.ones((SIDE, SIDE), np.float32)
    out = np.empty_like(a)
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        np.matmul(a, a, out=out)
        times.append(time.perf_counter() - begun)
    return 2 * SIDE**3 / min(times)


def copying_rate() -> float:
    """Bytes a second that are read, and as many written, by memcpy; the best of some."""
    a = np.ones(BYTES, np.uint8)
    out = np.empty_like(a)
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        np.copyto(out, a)
        times.append(time.perf_counter() - begun)
    return 2 * BYTES / min(times)


def dense(feeds: Any) -> Any:
    """The tensors that are fed with their values, of sparse ones each part."""
    for tensor, value in feeds.items():
        parts = (
            (tensor.indices, tensor.values, tensor.dense_shape) if hasattr(tensor, "indices") else (tensor,)
        )
        yield from zip(parts, value if len(parts) > 1 else (value,), strict=True)


class Counted:
    """What a traced run must do at least, from the sizes that its values had.

    operations: floating-point operations of its products and convolutions. moved: the bytes of what is fed, of the
    variables that are read, and of those that are changed, once each.
    """

    def __init__(self, graph: Any, run_metadata: Any, feeds: Any) -> None:
        self._graph = graph
        fed = list(dense(feeds or {}))
        self._sizes = {tensor.name: list(np.shape(value)) for tensor, value in fed}
        self.operations, self.moved = 0, sum(np.asarray(value).nbytes for _, value in fed)
        read, changed = set(), set()
        for device in run_metadata.step_stats.dev_stats:
            for stats in sorted(device.node_stats, key=lambda s: s.start_us):
                for number, output in enumerate(stats.outputs):
                    self._sizes[f"{stats.node_name}:{number}"] = list(output.shape)
                try:
                    op = graph.get_operation_by_name(stats.node_name)
                except (KeyError, ValueError):
                    continue  # The plan's own.
                self.operations += self._of(op)
                held = [t.op for t in op.inputs if t.op.type.startswith(("Variable", "VarHandle"))]
                if op.type.startswith(("Apply", "Assign", "ResourceApply")):
                    changed.update(held)
                if not op.type.startswith(SPARSE):
                    read.update(held)
        self.moved += sum(map(size_of, (*read, *changed)))

    def _of(self, op: Any) -> int:
        """The floating-point operations of a product or a convolution; 0 of others."""
        kind = op.type
        if kind in ("MatMul", "BatchMatMul", "BatchMatMulV2"):
            first, second = ("transpose_a", "transpose_b") if kind == "MatMul" else ("adj_x", "adj_y")
            inner = self._size(op.inputs[0])[-2 if op.get_attr(first) else -1]
            if inner is None:  # The plan has put several changes of the shape into one.
                inner = self._size(op.inputs[1])[-1 if op.get_attr(second) else -2]
            return 2 * inner * self._count(op.outputs[0])
        if "Conv" not in kind or len(op.inputs) != (3 if "Backprop" in kind else 2):
            return 0
        kernel, result = self._ends(op)
        window = math.prod(self._size(kernel)[:2] if "Depthwise" in kind else self._size(kernel)[:-1])
        return 2 * self._count(result) * window

    @staticmethod
    def _ends(op: Any) -> tuple[Any, Any]:
        """Of a convolution or one of its gradients: the kernel, and the result of the convolution."""
        if "BackpropInput" in op.type:
            return op.inputs[1], op.inputs[2]
        if "BackpropFilter" in op.type:
            return op.outputs[0], op.inputs[2]
        return op.inputs[1], op.outputs[0]

    def _size(self, tensor: Any) -> list[int]:
        """The sizes that a value had; of what the plan has left out, those of the value that it stands for."""
        while tensor.name not in self._sizes and tensor.op.type in SAME:
            tensor = tensor.op.inputs[0]
        return self._sizes.get(tensor.name) or tensor.shape.as_list()

    def _count(self, tensor: Any) -> int:
        return math.prod(self._size(tensor))


def size_of(variable: Any) -> int:
    """The bytes of a variable, by its operation; 0 if they are not known."""
    dims, dtype = variable.get_attr("shape"), variable.get_attr("dtype")
    return 0 if dims is None or None in dims else math.prod(dims) * dtype.base_dtype.size


def program(name: str) -> Any:
    """What makes a step, of a model of the zoo or a workload of `make bench`."""
    from measure_zoo import Training
    from workloads import BUILDERS

    import graphflow as gf

    if name in BUILDERS:
        return BUILDERS[name](gf)
    return Training(gf, name)


def bound(name: str) -> dict[str, float]:
    """What one step does: floating-point operations, and bytes."""
    import graphflow as gf

    real, counted = gf.Session, []

    class Traced(real):  # type: ignore[misc, valid-type]
        """A session on NumPy, which records each operation."""

        def __init__(self) -> None:
            super().__init__(config=gf.ConfigProto(compiled="never"))

        def run(self, fetches: Any, feed_dict: Any = None) -> Any:
            found, options = gf.RunMetadata(), gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
            result = super().run(fetches, feed_dict, options=options, run_metadata=found)
            counted.append(Counted(self.graph, found, feed_dict))
            return result

    gf.Session = Traced  # type: ignore[misc, assignment]
    made = program(name)
    counted.clear()
    made.step()
    return {"operations": sum(one.operations for one in counted), "bytes": sum(one.moved for one in counted)}


def steady(name: str, seconds: float, warm: float) -> float:
    """Seconds of a step: the median of some rounds, after it has become warm."""
    from measure_zoo import several

    made = program(name)
    several(made, warm)
    rounds = [several(made, seconds) for _ in range(ROUNDS)]
    return statistics.median(taken / count for count, taken in rounds)


def asked(*arguments: str) -> Any:
    """What this program answers in a process of its own; None if it fails."""
    found = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True)
    if found.returncode:
        print(found.stderr[-400:], file=sys.stderr)
        return None
    return json.loads(found.stdout.splitlines()[-1])


def main() -> None:
    """Prints the table."""
    from workloads import BUILDERS
    from zoo import MODELS

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "models", nargs="*", metavar="MODEL", help="of the zoo, or workloads of make bench; default: all"
    )
    parser.add_argument("--seconds", type=float, default=0.2, help="of steps in a round, at least")
    parser.add_argument(
        "--warm", type=float, default=3.0, help="seconds that a model steps before it is timed"
    )
    parser.add_argument("--only", choices=("bound", "steady"), help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, default=HERE / "zoo_bound.md", help="default: %(default)s")
    options = parser.parse_args()
    if options.only == "bound":
        print(json.dumps(bound(options.models[0])))
        return
    if options.only == "steady":
        print(json.dumps(steady(options.models[0], options.seconds, options.warm)))
        return
    rows, ratios = [], {}
    flops, copies = products_rate(), copying_rate()
    for model in options.models or [*BUILDERS, *MODELS]:
        done, taken = (
            asked(model, "--only", "bound"),
            asked(model, "--only", "steady", "--seconds", str(options.seconds), "--warm", str(options.warm)),
        )
        flops, copies = max(flops, products_rate()), max(copies, copying_rate())
        if done is None or taken is None:
            rows.append(f"| {model} | - | - | - | - |")
            continue
        computing, copying = done["operations"] / flops, done["bytes"] / copies
        ratios[model] = taken / (computing + copying)
        cells = [model, *(f"{x * 1e6:,.1f}" for x in (computing, copying, taken)), f"{ratios[model]:,.1f}"]
        rows.append(f"| {' | '.join(cells)} |")
        print(rows[-1], file=sys.stderr, flush=True)
    from compare import processor

    median = statistics.median(ratios.values())
    text = [
        "# The zoo and its bounds\n",
        f"Written by `make bench-bound` on {processor()}, {os.cpu_count()} cores. BLAS: {flops / 1e9:,.0f} Gflop/s; "
        f"memcpy: {copies / 1e9:,.1f} GB/s, of what is read and written. What is measured is said in `zoo_bound.py`.\n",
        f"The median of {len(ratios)} models is {median:,.1f} times the bound (goal {GOAL}).\n",
        "| model | products µs | bytes µs | a step µs | times the bound |",
        "| --- | ---: | ---: | ---: | ---: |",
        *rows,
    ]
    options.output.write_text("\n".join(text) + "\n")
    print(text[2])


if __name__ == "__main__":
    main()
