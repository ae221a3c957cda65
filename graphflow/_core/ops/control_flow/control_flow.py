"""cond, case and while_loop: building branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import graphflow.nest as nest
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.random_seed import counted_as
from graphflow._core.graph.slices import IndexedSlices, SparseTensor
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array.array import stack
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.checking import assert_true
from graphflow._core.ops.control_flow.contexts import LOOP_COND, MERGE, SWITCH, BranchPair, LoopContext
from graphflow._core.ops.control_flow.invariants import (
    components,
    kept_dims,
    less_specific,
    recomposed,
    shapes_as_leaves,
    sparse_dims,
)
from graphflow._core.ops.core import constant, convert_to_tensor
from graphflow._core.ops.math.math import add, cast, less, less_equal, logical_and
from graphflow._core.ops.math.reductions import reduce_any, reduce_sum


def _expand(leaves: Sequence[Any]) -> list[Any]:
    return [part for leaf in leaves for part in components(leaf)]


def _collapse(leaves: Sequence[Any], tensors: Sequence[Tensor]) -> list[Any]:
    result, position = [], 0
    for leaf in leaves:
        count = len(components(leaf))
        result.append(recomposed(leaf, tensors[position : position + count]))
        position += count
    return result


def _predicate(value: Any, what: str) -> Tensor:
    """A scalar bool tensor; TypeError or ValueError for what is none."""
    tensor = convert_to_tensor(value, name="pred")
    if tensor.dtype is not dtypes.bool_:
        raise TypeError(
            f"The predicate of {what} must be of dtype bool, but {tensor.name!r} has {tensor.dtype.name}."
        )
    if tensor.dims not in (None, ()):
        raise ValueError(
            f"The predicate of {what} must be a scalar, but has shape {shapes.text(tensor.dims)}."
        )
    return tensor


# ---- cond ---------------------------------------------------------------------------------------------------------


def _build_branch(
    graph: Graph, pair: BranchPair, side: int, function: Callable[[], Any]
) -> tuple[Any, list[Any], list[Tensor]]:
    """The result of a branch: its structure, its leaves, and the tensors these are made of, as seen inside."""
    context = pair.branches[side]
    with graph.context_scope(context):
        structure = function()
        if structure is None:
            raise ValueError(f"{'true_fn' if side else 'false_fn'} must have a return value.")
        leaves = nest.flatten(structure)
        tensors = []
        for leaf in _expand(leaves):
            if isinstance(leaf, Operation):
                with graph.control_dependencies([leaf]):
                    tensor = constant(True)
            elif leaf is None:
                raise ValueError(
                    f"{'true_fn' if side else 'false_fn'} must not return None among its values."
                )
            else:
                tensor = convert_to_tensor(leaf)
            if tensor.op.op_def.is_variable:
                with counted_as(0):  # TensorFlow's branch has a Switch alone.
                    tensor = identity(tensor)
            tensors.append(context.add_value(tensor))
    return structure, leaves, tensors


@overload
def cond(
    pred: TensorLike,
    true_fn: Callable[[], Tensor],
    false_fn: Callable[[], Tensor | float],
    strict: bool = False,
    name: str | None = None,
) -> Tensor: ...
@overload
def cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any: ...
def cond(
    pred: TensorLike,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """true_fn() if the scalar `pred` is true, else false_fn(); only the one that is taken runs (tf.cond).

    What was built outside of the functions runs in any case.

    Args:
        pred: A scalar tensor of bool.
        true_fn: A function without parameters that returns tensors, in any structure.
        false_fn: Another, which returns the same structure of the same dtypes.
        strict: Whether a structure of one item stays one, rather than being unpacked.
        name: A name for the scope of the operations.
        fn1: The old name of true_fn.
        fn2: The old name of false_fn.

    Returns:
        What the functions return, as tensors.

    Raises:
        TypeError: `pred` is a Python bool, or not of bool; or a function is none.
        ValueError: The structures or dtypes differ, or `pred` is no scalar.

    Examples:
        >>> x = gf.placeholder(gf.float32, [])
        >>> y = gf.cond(x > 0.0, lambda: x * 2.0, lambda: x - 1.0)
        >>> [float(gf.Session().run(y, {x: value})) for value in (3.0, -3.0)]
        [6.0, -4.0]
    """
    for new, old, names in ((true_fn, fn1, "true_fn and fn1"), (false_fn, fn2, "false_fn and fn2")):
        if new is not None and old is not None:
            raise TypeError(f"cond(): {names} may not be set simultaneously.")
    true_fn, false_fn = true_fn or fn1, false_fn or fn2
    if not callable(true_fn):
        raise TypeError("true_fn must be callable.")
    if not callable(false_fn):
        raise TypeError("false_fn must be callable.")
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool")
    graph = get_default_graph()
    with graph.name_scope(name or "cond") as scope:
        choice = _predicate(pred, "cond")
        if graph.context is not None:
            choice = graph.context.add_value(choice)
        sides = graph.add(SWITCH, (choice, choice), {"T": choice.dtype}, "Switch").outputs
        pivots = [identity(sides[1], name="switch_t").op, identity(sides[0], name="switch_f").op]
        predicate = identity(choice, name="pred_id")
        pair = BranchPair(graph, scope.rstrip("/"), predicate)
        pair.pivots = pivots[::-1]
        true_structure, true_leaves, true_tensors = _build_branch(graph, pair, 1, true_fn)
        false_structure, _, false_tensors = _build_branch(graph, pair, 0, false_fn)
        if not strict:
            true_structure, false_structure = _unpacked(true_structure), _unpacked(false_structure)
        _widen_indices(pair, true_leaves, (false_tensors, true_tensors))
        _check_same_results(true_structure, false_structure, true_tensors, false_tensors)
        merged = []
        for false, true in zip(false_tensors, true_tensors, strict=True):
            merge = graph.add(MERGE, (false, true), {"T": true.dtype}, "Merge")
            pair.merges.append(merge)
            merged.append(merge.outputs[0])
        return nest.pack_sequence_as(true_structure, _collapse(true_leaves, merged))


def _unpacked(structure: Any) -> Any:
    """The one item of a list, tuple or named tuple, or the structure itself."""
    return structure[0] if isinstance(structure, list | tuple) and len(structure) == 1 else structure


def _widen_indices(pair: BranchPair, leaves: Sequence[Any], sides: tuple[list[Tensor], list[Tensor]]) -> None:
    """Makes int64 of the int32 indices of IndexedSlices whose other side has int64 ones, as TensorFlow does."""
    position = 0
    for leaf in leaves:
        at, position = position + 1, position + len(components(leaf))
        if not isinstance(leaf, IndexedSlices) or at >= min(map(len, sides)):
            continue
        if {tensors[at].dtype for tensors in sides} == {dtypes.int32, dtypes.int64}:
            for context, tensors in zip(pair.branches, sides, strict=True):
                with pair.graph.context_scope(context):
                    tensors[at] = context.add_value(cast(tensors[at], dtypes.int64))


def _check_same_results(first: Any, second: Any, true: list[Tensor], false: list[Tensor]) -> None:
    try:
        nest.assert_same_structure(first, second)
    except (TypeError, ValueError) as error:
        raise type(error)(f"Incompatible return values of true_fn and false_fn: {error}") from None
    for a, b in zip(true, false, strict=True):
        if a.dtype is not b.dtype:
            raise ValueError(
                f"Outputs of true_fn and false_fn must have the same type: {a.dtype.name}, {b.dtype.name}"
            )


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """The function of the first predicate that is true, else `default()`; only that one runs (tf.case).

    With `exclusive`, InvalidArgumentError if more than one predicate is true; without a default, if none is.

    Args:
        pred_fn_pairs: List of (scalar bool tensor, function), or a dictionary.
        default: A function without arguments, or None.
        exclusive: Whether more than one true predicate is an error.
        strict: Whether a list of one result stays a list.
        name: A name for the operation.

    Returns:
        What the function gives.
    """
    if isinstance(pred_fn_pairs, Mapping):
        pairs = list(pred_fn_pairs.items())
        if not exclusive and type(pred_fn_pairs) is dict:
            pairs.sort(key=lambda pair: getattr(pair[0], "name", ""))
    elif isinstance(pred_fn_pairs, list | tuple):
        pairs = list(pred_fn_pairs)
    else:
        raise TypeError("fns must be a list, tuple, or dict")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        if not isinstance(pair[0], Tensor) and not hasattr(pair[0], "_as_graph_element"):
            raise TypeError(f"pred must be a Tensor, got: {pair[0]!r}")
        if not callable(pair[1]):
            raise TypeError(f"fn for pred {pair[0]!r} must be callable.")
    if default is not None and not callable(default):
        raise TypeError("default must be callable.")
    if not pairs:
        if default is None:
            raise ValueError("case() without predicates needs a default.")
        return default()
    graph = get_default_graph()
    with graph.name_scope(name):
        predicates = [_predicate(p, "case") for p, _ in pairs]
        checks = []
        if exclusive:
            checks.append(
                assert_true(
                    _count(predicates, 1),
                    "Input error: more than one condition of case(exclusive=True) is true",
                    predicates,
                )
            )
        functions = [f for _, f in pairs]
        if default is None:
            default = functions.pop()
            checks.append(
                assert_true(
                    _count(predicates, None),
                    "Input error: none of the conditions of case() is true and there is no default",
                    predicates,
                )
            )
            predicates.pop()
        with graph.control_dependencies(checks):
            if not predicates:
                return default()
            return _chain_of_branches(predicates, functions, default, strict)


def _count(predicates: Sequence[Tensor], at_most: int | None) -> Tensor:
    together = stack(list(predicates))
    if at_most is None:
        return reduce_any(together)
    return less_equal(reduce_sum(cast(together, dtypes.int32)), at_most)


def _chain_of_branches(
    predicates: Sequence[Tensor],
    functions: Sequence[Callable[[], Any]],
    default: Callable[[], Any],
    strict: bool,
) -> Any:
    if len(predicates) == 1:
        return cond(predicates[0], functions[0], default, strict=strict)
    return cond(
        predicates[0],
        functions[0],
        lambda: _chain_of_branches(predicates[1:], functions[1:], default, strict),
        strict=strict,
    )


# ---- while_loop ---------------------------------------------------------------------------------------------------


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: IntTensorLike | None = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeats loop_vars = body(*loop_vars) while cond(*loop_vars) is true (tf.while_loop).

    The shapes of the variables must not change, unless `shape_invariants` says what stays (ValueError otherwise).
    Iterations run in order, whatever `parallel_iterations` says. One loop variable is returned bare unless
    `return_same_structure`.

    Args:
        cond: A function of the loop's variables to a scalar bool tensor.
        body: A function of the loop's variables to new ones.
        loop_vars: A nested structure of tensors, TensorArrays, IndexedSlices or SparseTensors.
        shape_invariants: Shapes, or specs such as gf.TensorSpec, in the structure of `loop_vars`, that hold in every
            turn.
        parallel_iterations: Accepted, and not needed: the order of the turns changes no result.
        back_prop: Whether gradients pass through.
        swap_memory: Accepted, and not needed: values of loops stay where they are.
        name: A name for the operation.
        maximum_iterations: The most turns, an int32 scalar.
        return_same_structure: Whether one variable alone is given in its list.

    Returns:
        The variables after the last turn.

    Examples:
        >>> gf.Session().run(gf.while_loop(lambda i: i < 10, lambda i: i * 2, [gf.constant(1)]))
        np.int32(16)
    """
    if not callable(cond):
        raise TypeError("cond must be callable.")
    if not callable(body):
        raise TypeError("body must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    if not loop_vars:
        raise ValueError("No loop variables provided")
    graph = get_default_graph()
    with graph.name_scope(name or "while") as scope:
        if maximum_iterations is not None:
            cond, body, loop_vars, shape_invariants = _limited(
                cond, body, loop_vars, shape_invariants, maximum_iterations
            )
        result = _Loop(graph, scope.rstrip("/"), loop_vars, shape_invariants, back_prop).build(cond, body)
    if maximum_iterations is not None:
        result = result[1]
    if (
        not return_same_structure
        and isinstance(result, list | tuple)
        and len(leaves := nest.flatten(result)) == 1
        and not hasattr(result, "_fields")
        and (maximum_iterations is None or len(result) == 1)
    ):
        return leaves[0] if len(result) > 1 else result[0]
    return result


def _limited(cond: Any, body: Any, loop_vars: Any, invariants: Any, limit: Any) -> tuple[Any, Any, Any, Any]:
    """The loop with a counter that ends it."""
    limit = convert_to_tensor(limit, name="maximum_iterations")
    counter = constant(0, dtype=limit.dtype, name="iteration_counter")
    original = loop_vars if isinstance(loop_vars, list | tuple) else (loop_vars,)

    def result_of(items: Any) -> Any:
        result = body(*items)
        return result if isinstance(result, list | tuple) and len(original) != 1 else _like(original, result)

    new_invariants = None
    if invariants is not None:
        new_invariants = (shapes.TensorShape([]), invariants)
    return (
        lambda i, items: logical_and(less(i, limit), cond(*items)),
        lambda i, items: (add(i, 1), result_of(items)),
        (counter, original),
        new_invariants,
    )


def _like(original: Any, result: Any) -> Any:
    if isinstance(result, list | tuple) and len(result) == 1 and not hasattr(result, "_fields"):
        result = result[0]
    kind: Any = type(original)
    return kind(result) if hasattr(original, "_fields") else kind([result])


class _Loop:
    """One while loop while it is being built."""

    def __init__(self, graph: Graph, name: str, loop_vars: Any, invariants: Any, back_prop: bool) -> None:
        self._graph = graph
        self._structure = loop_vars
        self._leaves = nest.flatten(loop_vars)
        self._initial = [
            identity(t) if t.op.op_def.is_variable else t
            for t in (convert_to_tensor(v) for v in _expand(self._leaves))
        ]
        self._dims = self._invariant_dims(invariants)
        self._context = LoopContext(graph, name)
        self._context.back_prop = back_prop

    def _invariant_dims(self, invariants: Any) -> list[shapes.Dims]:
        if invariants is None:
            tensors = iter(self._initial)
            return [
                dims
                for leaf in self._leaves
                for dims in kept_dims(leaf, [next(tensors).dims for _ in components(leaf)])
            ]
        given = nest.flatten(shapes_as_leaves(invariants, self._structure))
        if len(given) != len(self._leaves):
            raise ValueError(
                f"shape_invariants has {len(given)} shapes for {len(self._leaves)} loop variables."
            )
        result: list[shapes.Dims] = []
        position = 0
        for leaf, wanted in zip(self._leaves, given, strict=True):
            parts = self._initial[position : position + len(components(leaf))]
            position += len(parts)
            if isinstance(leaf, SparseTensor):
                result += sparse_dims(parts, shapes.as_dims(wanted.shape))
                continue
            if (
                len(parts) > 1
                or parts[0] is not convert_to_tensor(components(leaf)[0])
                and hasattr(leaf, "flow")
            ):
                result += [t.dims for t in parts]
                continue
            dims = shapes.as_dims(wanted.shape)
            if not less_specific(dims, parts[0].dims):
                raise ValueError(
                    f"The shape invariant {shapes.text(dims)} specified for {parts[0].name} is not compatible with "
                    f"the initial shape of the loop variable {shapes.text(parts[0].dims)}."
                )
            result.append(dims)
        return result

    def build(self, cond: Callable[..., Any], body: Callable[..., Any]) -> Any:
        graph, context = self._graph, self._context
        variables = [context.start(t, d) for t, d in zip(self._initial, self._dims, strict=True)]
        with graph.context_scope(context):
            predicate = _predicate(self._call(cond, variables), "while_loop")
            pivot = graph.add(LOOP_COND, (context.add_value(predicate),), {}, "LoopCond").outputs[0]
        context.pivot = pivot
        switches, inside = [], []
        for variable in variables:
            switch, value = context.into_body(variable, pivot)
            switches.append(switch)
            inside.append(value)
        with graph.context_scope(context):
            result = self._call(body, inside)
            tensors = self._results(result)
        exits = [
            context.finish(merge, switch, tensor)
            for merge, switch, tensor in zip(list(context.merges), switches, tensors, strict=True)
        ]
        return nest.pack_sequence_as(self._structure, _collapse(self._leaves, exits))

    def _call(self, function: Callable[..., Any], tensors: Sequence[Tensor]) -> Any:
        packed = nest.pack_sequence_as(self._structure, _collapse(self._leaves, tensors))
        return function(*packed) if isinstance(packed, list | tuple) else function(packed)

    def _results(self, result: Any) -> list[Tensor]:
        structure = self._structure
        if (
            isinstance(structure, list | tuple)
            and len(structure) == 1
            and not (isinstance(result, list | tuple) and len(result) == 1)
        ):
            result = [result]
        if nest.is_nested(structure):
            if len(nest.flatten(result)) != len(self._leaves):
                raise ValueError(
                    "The two structures don't have the same nested structure, the same number of elements: "
                    f"while_loop's body returned {result!r} for the loop variables {structure!r}."
                )
            nest.assert_same_structure(_as_list(structure), _as_list(result), check_types=False)
        tensors = []
        for variable, dims, value in zip(
            self._initial, self._dims, _expand(nest.flatten(result)), strict=True
        ):
            try:
                tensor = convert_to_tensor(value, preferred_dtype=variable.dtype)
            except (TypeError, ValueError) as error:
                raise type(error)(f"while_loop's body must return tensors: {error}") from None
            if tensor.dtype is not variable.dtype:
                raise ValueError(
                    f"The loop variable {variable.name} has dtype {variable.dtype.name}, but the body returned "
                    f"{tensor.name} of dtype {tensor.dtype.name} for it."
                )
            if tensor.op.op_def.is_variable:
                tensor = identity(tensor)
            if not less_specific(dims, tensor.dims):
                raise ValueError(
                    f"Input tensor {variable.name!r} enters the loop with shape {shapes.text(dims)}, but has shape "
                    f"{shapes.text(tensor.dims)} after one iteration. To allow the shape to vary across iterations, "
                    "use the `shape_invariants` argument of tf.while_loop to specify a less-specific shape, or "
                    "set_shape() on the loop variables."
                )
            tensors.append(tensor)
        return tensors


def _as_list(structure: Any) -> Any:
    return list(structure) if isinstance(structure, list | tuple) else structure
