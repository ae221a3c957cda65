"""Protects that an op with a kernel on the GPU gives what it gives on the CPU, and that the GPU computes it.

Each dtype is a kernel of its own to compile, of a text that has the dtype as an argument: --few-dtypes takes of an op
those samples that have float32, and of the other dtypes one in four, always the same. The simulator, which compiles
nothing, takes each, and so do `make emulated-gpu-check` and `make gpu-check`.
"""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.compiler.gpu.rules import DEVICE_RULES, FOLDED, has_kernel
from graphflow._core.graph.op_def import lookup, registry
from graphflow._core.session import executables
from tests.ops import op_samples
from tests.ops.op_samples import Sample, samples
from tests.ops.op_uses import Use, assert_close, run_uses

pytestmark = pytest.mark.device

OP_TYPES = sorted(n for n in set(registry()) & set(op_samples.TABLE) if has_kernel(n))
ON_HOST = {
    **dict.fromkeys(
        ("ApproximateEqual", "EuclideanNorm", "Mean", "Pow", "Reciprocal", "ScatterDiv"), "integers"
    ),
    **dict.fromkeys(("MatMul", "BatchMatMulV2", "MaxPool", "MaxPoolGrad", "MaxPoolGradGrad"), "integers"),
    "MaxPoolWithArgmax": "integers",
    **dict.fromkeys(("Assign", "ScatterUpdate"), "variables of bool and of small integers"),
    **dict.fromkeys(
        ("BroadcastTo", "Fill", "Slice", "SplitV", "RandomUniformInt", "Tile"), "results without elements"
    ),
    **dict.fromkeys(
        ("RandomUniform", "RandomStandardNormal", "TruncatedNormal", "TopKV2"), "results without elements"
    ),
    "GatherV2": "an axis that is not the first after the batches",
    **dict.fromkeys(
        ("ScatterNd", "TensorScatterAdd", "TensorScatterSub"), "small integers have no atomic addition"
    ),
    **dict.fromkeys(
        [f"UnsortedSegment{kind}" for kind in ("Sum", "Prod", "Max", "Min")],
        "small integers have no atomic operations; no segments",
    ),
}
"""Op types of which some samples are NumPy's on any device, and which."""
INDICES = {
    "GatherV2": (1,), **dict.fromkeys([f"UnsortedSegment{kind}" for kind in ("Sum", "Prod", "Max", "Min")], (1,)),
    **dict.fromkeys(("GatherNd", "ReverseSequence"), (1,)), "InTopKV2": (1, 2),
    **dict.fromkeys([f"TensorScatter{kind}" for kind in ("Add", "Sub", "Update")], (1, 2)),
    **dict.fromkeys([f"Segment{kind}" for kind in ("Sum", "Mean", "Prod", "Max", "Min")], (1,)),
    **dict.fromkeys([f"SparseSegment{kind}" for kind in ("Sum", "Mean", "SqrtN")], (1, 2)),
    **dict.fromkeys([f"SparseSegment{kind}WithNumSegments" for kind in ("Sum", "Mean", "SqrtN")], (1, 2)),
    "SparseTensorDenseMatMul": (1, 3), "SparseToDense": (2, 3),
    "SparseSoftmaxCrossEntropyWithLogits": (1,), "Select": (1, 2),
    "SelectV2": (1, 2), "OneHot": (2, 3), "AddN": (1,), "Fill": (1,), "BiasAdd": (1,), "Where": (1,),
    "BroadcastLike": (1,), "SumToShape": (1,), "RestoreReducedAxes": (1,), "BatchMatMulV2": (1,), "MatMul": (1,),
}  # fmt: skip
"""Positions of integers that are data."""
SELDOM = ("complex64", "complex128", "float16", "uint32", "uint64", "object")
"""Dtypes that the GPU does not compute with."""
FEW = 8
"""With --few-dtypes one of so many is taken, of those that are not float32."""


def plans_of(session: Any) -> list[Any]:
    """The plans that a session has laid out on a GPU."""
    return [plan for executable in executables(session) for plan in executable.compiled()]


def fits(op_type: str, sample: Any) -> bool:
    """Whether the GPU holds all inputs of a sample; what batch normalisation reserves is empty on every device."""
    given = sample.inputs[:5] if op_type == "FusedBatchNormGradV3" else sample.inputs
    flat = [v for i in given for v in (i if isinstance(i, list) else [i])]
    target = sample.attrs.get("DstT")
    known = target is None or gf.as_dtype(target).name not in SELDOM
    return known and all(v.dtype.name not in SELDOM and v.size for v in flat)


def taken(op_type: str, everything: bool, few: bool = False) -> list[Sample]:
    """Samples of an op: some of float32, which matters most, of the first dtype, and one of each other.

    few: half as many of float32, if there is any, and of the others one in eight.
    """
    found: dict[str, list[Sample]] = {}
    for sample in samples(op_type):
        if fits(op_type, sample):
            arrays = [v for i in sample.inputs for v in (i if isinstance(i, list) else [i])]
            found.setdefault(" ".join(v.dtype.name for v in arrays), []).append(sample)
    first = next(iter(found), "")
    if few and any("float32" in kind for kind in found):
        found = {
            kind: some
            for kind, some in found.items()
            if "float32" in kind or zlib.crc32(f"{op_type} {kind}".encode()) % FEW == 0
        }
    most = 2 if few else 4
    return [
        replace(sample, constants=constants_of(op_type, sample))
        for kind, some in found.items()
        for sample in (some if everything else some[: most if "float32" in kind or kind == first else 1])
    ]


def constants_of(op_type: str, sample: Sample) -> tuple[int, ...]:
    """The positions of inputs such as axes and shapes, which are constants in every program."""
    if lookup(op_type).scalar is not None or op_type.startswith("Scatter"):
        return (2,) if op_type == "ScatterNd" else sample.constants
    if op_type in (*FOLDED, "AssertBroadcastable"):
        return tuple(range(len(sample.inputs)))
    shapes = ("Fill", "Split", "StridedSliceGrad", "TruncatedNormal")
    first = 0 if op_type in shapes or op_type.startswith("Random") else 1
    return tuple(
        k
        for k, value in enumerate(sample.inputs)
        if k >= first
        and not isinstance(value, list)
        and value.dtype.kind in "iu"
        and k not in INDICES.get(op_type, ())
    )


@pytest.mark.parametrize("op_type", OP_TYPES)
def test_the_gpu_agrees_with_the_cpu(op_type: str, everything: bool, few_dtypes: bool) -> None:
    chosen = taken(op_type, everything, few_dtypes)
    if not chosen:
        pytest.skip("all samples have dtypes that no GPU kernel takes")
    laid_out: list[Any] = []

    def results(device: str) -> Any:
        with gf.Graph().as_default(), gf.device(device):
            uses = [Use(op_type, s, "placeholders", np.random.default_rng(0)) for s in chosen]
            return run_uses(uses, "never", lambda session: laid_out.extend(plans_of(session)))

    expected = results("/cpu:0")
    found = results("/gpu:0")
    for sample, got, wanted in zip(chosen, found, expected, strict=True):
        for values, references in zip(got, wanted, strict=True):
            for value, reference in zip(values, references, strict=True):
                assert_close(value, reference, 8 * sample.tolerance, f"{op_type} {sample!r}")
    assert laid_out, f"{op_type}: nothing ran on the GPU"
    host = [name for plan in laid_out for name in plan.on_host if name.split()[0] == op_type]
    assert not host or op_type in ON_HOST, f"{op_type}: NumPy computes {len(host)} of {chosen}"
    assert few_dtypes or len(host) < len(chosen), f"{op_type}: NumPy computes all of {chosen}"


def test_rules_are_of_known_ops() -> None:
    assert set(DEVICE_RULES) <= set(registry())
