"""What tests of TensorFlow 1's time are decorated with (tensorflow.python.framework.test_util).

A test that is to run as a graph and eagerly runs as a graph, one that is for TensorFlow 2 alone is skipped, and what
switches TensorFlow's own implementations, such as that of control flow, has nothing to switch here.
"""

from __future__ import annotations

import contextlib
import itertools
import unittest
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.ops.array.transposing import transpose
from graphflow._core.ops.state.scopes import device as _device
from graphflow.testing.clusters import create_local_cluster as create_local_cluster
from graphflow.testing.programs import gpu_device_name as gpu_device_name
from graphflow.testing.programs import is_gpu_available as is_gpu_available

_T = TypeVar("_T")
_Test = Callable[..., Any]


def _unchanged(test: _T) -> _T:
    return test


def _maybe_of_arguments(decorate: Callable[[_Test], _Test], test: _Test | None) -> Any:
    """The decorated test, or the decorator if the decorator was called with its arguments alone."""
    return decorate if test is None else decorate(test)


# ---- in which of TensorFlow's modes a test runs ---------------------------------------------------------------------


def run_in_graph_and_eager_modes(
    func: _Test | None = None, config: Any = None, use_gpu: bool = True, **modes: Any
) -> Any:
    """Runs a test as a graph, in the test's cached session; there is no other mode."""

    def decorate(test: _Test) -> _Test:
        if isinstance(test, type):
            raise ValueError(
                "`run_in_graph_and_eager_modes` is for tests: for a class, run_all_in_graph_and_eager_modes."
            )

        @wraps(test)
        def in_session(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.test_session(config=config, use_gpu=use_gpu):
                return test(self, *args, **kwargs)

        return in_session

    return _maybe_of_arguments(decorate, func)


def for_all_test_methods(
    decorator: Callable[..., Any], *args: Any, **kwargs: Any
) -> Callable[[type[_T]], type[_T]]:
    """A decorator of classes that decorates each of their tests."""

    def decorate(cls: type[_T]) -> type[_T]:
        for name in dir(cls):
            method = getattr(cls, name)
            if name.startswith("test") and name != "test_session" and callable(method):
                setattr(
                    cls, name, decorator(*args, **kwargs)(method) if args or kwargs else decorator(method)
                )
        return cls

    return decorate


def run_all_in_graph_and_eager_modes(cls: type[_T]) -> type[_T]:
    """run_in_graph_and_eager_modes for each test of a class."""
    return for_all_test_methods(run_in_graph_and_eager_modes)(cls)


def deprecated_graph_mode_only(func: _T | None = None) -> Any:
    """The test or class as it is: there are graphs only."""
    return _unchanged if func is None else func


run_deprecated_v1 = deprecated_graph_mode_only
run_all_in_deprecated_graph_mode_only = deprecated_graph_mode_only
also_run_as_tf_function = deprecated_graph_mode_only
build_as_function_and_v1_graph = deprecated_graph_mode_only


def run_v1_only(reason: Any, func: Any = None) -> Any:
    """The test or class as it is: this is TensorFlow 1."""
    if callable(reason):
        return reason
    return _unchanged if func is None else func


def run_v2_only(func: _Test | None = None) -> Any:
    """Skips a test that is for TensorFlow 2."""
    return _maybe_of_arguments(unittest.skip("for TensorFlow 2"), func)


def run_gpu_only(func: _Test | None = None) -> Any:
    """Skips a test if there is no GPU."""

    def decorate(test: _Test) -> _Test:
        @wraps(test)
        def if_there(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_gpu_available():
                self.skipTest("there is no GPU")
            return test(self, *args, **kwargs)

        return if_there

    return _maybe_of_arguments(decorate, func)


run_cuda_only = run_gpu_only


def skip_if(condition: Any) -> Callable[[_Test], _Test]:
    """Skips a test if a condition holds, or a function without arguments says so."""

    def decorate(test: _Test) -> _Test:
        @wraps(test)
        def unless(self: Any, *args: Any, **kwargs: Any) -> Any:
            if condition() if callable(condition) else condition:
                self.skipTest("its condition for being skipped holds")
            return test(self, *args, **kwargs)

        return unless

    return decorate


def generate_combinations_with_testcase_name(**kwargs: Any) -> list[dict[str, Any]]:
    """Every combination of options, each with a name for absl's named parameters.

    Args:
        **kwargs: For each option its values, a list, or its one value.

    Returns:
        A dictionary of the options for each combination, with their names and values in testcase_name.
    """
    options = {
        name: values if isinstance(values, list | tuple) else [values]
        for name, values in sorted(kwargs.items())
    }

    def letters(text: Any) -> str:
        return "".join(filter(str.isalnum, str(text)))

    found = [dict(zip(options, values, strict=True)) for values in itertools.product(*options.values())]
    for one in found:
        one["testcase_name"] = "_test" + "".join(f"_{letters(k)}_{letters(v)}" for k, v in one.items())
    return found


# ---- switches of what there is one of here --------------------------------------------------------------------------


def disable_control_flow_v2(unused_msg: str) -> Callable[[_T], _T]:
    """The test as it is: conditionals and loops are TensorFlow 1's."""
    return _unchanged


disable_xla = disable_control_flow_v2
disable_all_xla = disable_control_flow_v2
no_xla_auto_jit = disable_control_flow_v2
xla_allow_fallback = disable_control_flow_v2
enable_tf_xla_constant_folding = disable_control_flow_v2
enable_control_flow_v2 = _unchanged
with_control_flow_v2 = _unchanged
enable_output_all_intermediates = _unchanged
enable_c_shapes = _unchanged
with_c_shapes = _unchanged
with_c_api = _unchanged
use_deterministic_cudnn = _unchanged
disable_cudnn_autotune = _unchanged
assert_no_new_pyobjects_executing_eagerly = _unchanged
assert_no_new_tensors = _unchanged
assert_no_garbage_created = _unchanged


def is_xla_enabled() -> bool:
    """False: XLA is not what compiles here."""
    return False


def IsMklEnabled() -> bool:
    """False: kernels are graphflow's."""
    return False


def IsBuiltWithROCm() -> bool:
    """False: GPUs are CUDA's."""
    return False


def IsGoogleCudaEnabled() -> bool:
    """Whether there is a GPU."""
    return is_gpu_available()


def GpuSupportsHalfMatMulAndConv() -> bool:
    """Whether there is a GPU that computes in float16, as of compute capability 5.3."""
    return is_gpu_available(min_cuda_compute_capability=(5, 3))


CudaSupportsHalfMatMulAndConv = GpuSupportsHalfMatMulAndConv


# ---- devices, layouts, graphs ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def device(use_gpu: bool) -> Iterator[None]:
    """Operations of the block on the first GPU if one is wanted and there, else on the CPU."""
    with _device("/device:GPU:0" if use_gpu and is_gpu_available() else "/device:CPU:0"):
        yield


def use_gpu() -> Any:
    """Operations of the block on the first GPU if there is one."""
    return device(use_gpu=True)


def force_gpu() -> Any:
    """Operations of the block on the first GPU, in any case."""
    return _device("/device:GPU:0")


def force_cpu() -> Any:
    """Operations of the block on the CPU."""
    return _device("/device:CPU:0")


def _moved(given: Any, orders: dict[int, list[int]]) -> Any:
    """A tensor with its axes in another order, or its shape as a list."""
    if not isinstance(given, Tensor):
        return [given[axis] for axis in orders[len(given)]]
    rank = given.shape.ndims
    if rank is None:
        raise ValueError(f"The rank of {given} has to be known to move its channels.")
    return transpose(given, orders[rank])


def NHWCToNCHW(input_tensor: Any) -> Any:
    """Channels from the last place to the second, of 4 or 5 axes: of a tensor, or of a shape as a list."""
    return _moved(input_tensor, {4: [0, 3, 1, 2], 5: [0, 4, 1, 2, 3]})


def NCHWToNHWC(input_tensor: Any) -> Any:
    """Channels from the second place to the last, of 4 or 5 axes: of a tensor, or of a shape as a list."""
    return _moved(input_tensor, {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]})


def assert_ops_in_graph(expected_ops: dict[str, str], graph: Graph) -> dict[str, Any]:
    """The nodes of a graph that have these names; ValueError if one is not there or has another type."""
    nodes = {node.name: node for node in graph.as_graph_def().node if node.name in expected_ops}
    for name, kind in expected_ops.items():
        if name not in nodes or nodes[name].op != kind:
            there = nodes[name].op if name in nodes else "not in the graph"
            raise ValueError(f"Expected the operation {name!r} of type {kind}: it is {there}.")
    return nodes


def get_node_def_from_graph(node_name: str, graph_def: Any) -> Any:
    """The node of this name, None if there is none."""
    return next((node for node in graph_def.node if node.name == node_name), None)


def assert_equal_graph_def(actual: Any, expected: Any, **versions: Any) -> None:
    """AssertionError, with the names, if two graphs do not have the same nodes; their order does not count."""
    ours, theirs = ({node.name: node for node in graph.node} for graph in (actual, expected))
    differ = sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))
    if differ:
        raise AssertionError(
            f"The graphs differ at {differ[:10]}: {ours.get(differ[0])} is not {theirs.get(differ[0])}"
        )


assert_equal_graph_def_v1 = assert_equal_graph_def
