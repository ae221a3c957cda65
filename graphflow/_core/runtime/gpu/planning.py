"""What a planner asks if there are GPUs: which ops have kernels, where variables lie, and what runs a part there.

It is loaded then alone, and with it the rules, the texts of kernels and what launches them: fifty modules.
"""

from __future__ import annotations

from collections.abc import Callable

from graphflow._core.compiler.gpu import rules
from graphflow._core.compiler.gpu.device_regions import LISTS, STACKS, has_decisions
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Plan
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.gpu.cells import DeviceCell as DeviceCell
from graphflow._core.runtime.gpu.control import ControlledExecutable
from graphflow._core.runtime.gpu.executable import DeviceExecutable
from graphflow._core.runtime.numpy_executable import NumpyExecutable
from graphflow._core.runtime.threads import ThreadPool


def has_kernel(op_type: str) -> bool:
    """Whether an op can be placed on a GPU."""
    return op_type in LISTS or op_type in STACKS or rules.has_kernel(op_type)


def executable(
    base: NumpyExecutable,
    part: Plan,
    gpu: str,
    store: ResourceStore,
    kernels: KernelTable,
    context: PassContext,
    threads: Callable[[], ThreadPool],
    kept: frozenset[str],
    verify: bool | None,
) -> Executable:
    """What runs a part of a plan on a GPU; `kept` are the fetches that stay there, and `base` is of NumPy."""
    common = base, part, gpu, store, kernels, context
    if has_decisions(part):
        return ControlledExecutable(*common, threads, kept, verify)
    return DeviceExecutable(*common, kept, verify)
