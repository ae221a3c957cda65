"""Op types of extensions: their definition, and operations of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from graphflow._core.codegen.cpu.regions.scalar_text import ScalarTextError, parse
from graphflow._core.compiler.lower import NATIVE_DTYPES
from graphflow._core.graph.claims import calling_module
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import InputSpec, NotDifferentiable, OpDef, Signature, op_def
from graphflow._core.graph.shapes import as_dims
from graphflow._core.ops import load_all, rules
from graphflow._core.ops.core import apply

_NAME: Final = re.compile(r"[A-Z][A-Za-z0-9_.]*")
_OPERAND: Final = re.compile(r"\{(@?\w+)\}")
_ATTRIBUTES: Final = ("1", "1.0", "float32")
"""What may stand for an attribute whose value is not known yet, when a scalar text is tried."""


def define_op(
    name: str,
    inputs: Sequence[str],
    *,
    infer: Callable[[Operation], Sequence[tuple[Any, Any]]],
    gradient: Callable[..., Any] | NotDifferentiable,
    scalar: str | Sequence[str] | None = None,
    outputs: Sequence[str] = ("output",),
    stateful: bool = False,
    dynamic_shape: bool = False,
) -> OpDef:
    """Defines an op type: its inputs, its shape rule, its gradient, and its meaning if it is elementwise.

    Args:
        name: The op type, such as "QuickGelu": a letter in upper case, then letters, digits, "_" and ".". It is a name
            for all programs, so put your own in front ("AcmeQuickGelu") unless it is an op of TensorFlow's.
        inputs: For each input "NAME: TYPE". The type is a type variable in upper case ("T"), which has the same dtype
            wherever it is named, perhaps with the dtypes that it may have where it is first named ("T=float"); or a
            dtype ("int32"), a group ("float", "integer", "index", "real", "complex", "number", "any"), or several of
            both with "|" between them. "NAME*" takes a list of tensors. "NAME&" is a variable that the op writes: those
            come first, all of one type, and the one output is the first of them after the write, of its name.
        infer: The shape rule. Given an operation with its `inputs`, `attrs` and `get_attr`, it returns (dtype, shape)
            of each output; a shape is a sequence with None for an extent that is not known, a gf.TensorShape, or None
            if the rank is not known. It raises ValueError or TypeError in the user's words; the operation and the
            user's line are added. It must depend on what it is given alone: the plan is inferred again with it.
        gradient: function(operation, *output_gradients) that returns a tensor, gf.IndexedSlices or None for each input
            (one input: itself rather than a list), built of public functions. Or NOT_DIFFERENTIABLE, as for all that
            write variables.
        scalar: The elementwise meaning, from which code for processors and GPUs is made: an expression over {INPUT}
            and {@ATTRIBUTE} (docs/extend.md has the language), for an op of one output. None if it is not elementwise.
            Of an op that writes variables, assignments "NAME = EXPRESSION" in order, one of them to each variable; a
            later one may use the NAME of an earlier one without braces. {VARIABLE} is what it was before.
        outputs: Names of the outputs, as many as `infer` gives.
        stateful: Whether it has an effect, or its result depends on more than its inputs and attributes: it is then
            computed in each run exactly once, and never beforehand. What writes variables always is.
        dynamic_shape: Whether the shape of an output depends on the values of inputs, and not on their shapes alone.

    Returns:
        The definition, for `add_operation`.

    Raises:
        ValueError: The name is taken or is none, an input or the scalar text cannot be read.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"An op type is named like QuickGelu or Acme.QuickGelu, not {name!r}.")
    specs = [_input(name, text) for text in inputs]
    written = [spec for spec in specs if spec.written]
    if written:
        _check_update(name, specs, tuple(outputs), gradient)
        if scalar is not None:
            scalar = (scalar,) if isinstance(scalar, str) else tuple(scalar)
            _check_assignments(name, scalar, specs)
    elif scalar is not None:
        if not isinstance(scalar, str):
            raise ValueError(f"{name} writes no variable: its scalar text is one expression.")
        if len(outputs) != 1:
            raise ValueError(
                f"{name} has {len(outputs)} outputs: use extend.lowers in place of a scalar text."
            )
        _check_scalar(name, scalar, specs)
    load_all()  # So that a name which graphflow has is refused here, and not where its own op is first used.
    return op_def(
        name,
        tuple(inputs),
        infer=_checked(name, infer),
        gradient=gradient,
        scalar=scalar if scalar is None or isinstance(scalar, str) else tuple(scalar),
        stateful=stateful or bool(written),
        dynamic_shape=dynamic_shape,
        outputs=tuple(outputs),
        module=calling_module(1),
    )


def add_operation(
    definition: OpDef,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Operation:
    """Adds an operation to the graph of its inputs, as the public functions of graphflow do.

    Errors name the line that builds it: of the innermost function outside of graphflow that has no local variable
    `__tracebackhide__`. So a function for users says `__tracebackhide__ = True`, as for pytest.

    Args:
        definition: What `define_op` has returned.
        inputs: One item for each declared input, a list if that takes a list: tensors, or what
            gf.convert_to_tensor takes. Inputs of one type variable get the dtype of the first tensor among them. For
            a variable that it writes, that, or what another write of it gives.
        attrs: The attributes by name: numbers, texts, bytes, truth values, dtypes, shapes, and lists of these. A graph
            that is written as a GraphDef keeps a float attribute in single precision.
        name: The operation's name; by default the op type, made unique.

    Returns:
        The operation; `.outputs` are its tensors.

    Raises:
        TypeError: An input has a dtype that the op does not take.
        ValueError: An input belongs to another graph; a variable to be written has a copy on each device; or what the
            op's shape rule raises.
    """
    for spec, value in zip(definition.inputs, inputs, strict=False):
        if spec.written and hasattr(value, "write_copies"):
            raise ValueError(
                f"{definition.name} writes the variable {value.name!r}, which has a copy on each of several devices: "
                "build it in strategy.update(variable, function, ...), whose function is given each copy."
            )
    return apply(definition, inputs, dict(attrs or {}), name)


def same_as_input(op: Operation) -> Signature:
    """A shape rule: one output, of the dtype and shape of the first input.

    Args:
        op: The operation.

    Returns:
        The dtype and the shape.
    """
    return rules.same_as_input(op)


def broadcast_inputs(op: Operation) -> Signature:
    """A shape rule: one output, of the dtype of the first input and the shape of both inputs broadcast together.

    Args:
        op: The operation, of two inputs.

    Returns:
        The dtype and the shape.

    Raises:
        ValueError: The shapes cannot be broadcast.
    """
    return rules.broadcast_binary(op)


def _input(op_type: str, text: str) -> InputSpec:
    if not re.match(r"\s*[a-z]\w*[*&]?\s*:", text):
        raise ValueError(
            f"{op_type}: an input is written 'name: type', 'name*: type' for a list, or 'name&: type' for a variable "
            f"that is written, not {text!r}."
        )
    try:
        return InputSpec.parse(text)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{op_type}: the input {text!r}: {error}") from error


def _check_update(op_type: str, specs: Sequence[InputSpec], outputs: tuple[str, ...], gradient: Any) -> None:
    """ValueError if what writes variables is declared in another way than it is computed."""
    written = [spec for spec in specs if spec.written]
    if list(specs[: len(written)]) != written:
        raise ValueError(f"{op_type}: the variables that it writes come first among its inputs.")
    shared = written[0].variable
    if any(
        spec.variable != shared or (shared is None and spec.allowed != written[0].allowed) for spec in written
    ):
        raise ValueError(
            f"{op_type}: the variables that it writes are of one type, such as 'var&: T', 'slot&: T'."
        )
    if outputs != (written[0].name,):
        raise ValueError(
            f"{op_type}: what writes variables gives the first of them: outputs=({written[0].name!r},)."
        )
    if not isinstance(gradient, NotDifferentiable):
        raise ValueError(f"{op_type}: what writes variables has no gradient: say NOT_DIFFERENTIABLE.")


def _check_assignments(op_type: str, texts: Sequence[str], specs: Sequence[InputSpec]) -> None:
    """ValueError if the scalar texts of an update are not assignments in the language, one to each variable."""
    known = list(specs)
    for text in texts:
        target, assigned, expression = text.partition(" = ")
        if not assigned or not target.isidentifier():
            raise ValueError(f"{op_type}: the scalar text of an update is 'name = expression', not {text!r}.")
        # What was assigned before is used by its name alone.
        names = "|".join(re.escape(spec.name) for spec in known[len(specs) :])
        bare = re.sub(rf"(?<![\w{{@])({names})(?![\w}}])", r"{\1}", expression) if names else expression
        _check_scalar(op_type, bare, known)
        known.append(replace(specs[0], name=target))
    assigned_to = {text.partition(" = ")[0] for text in texts}
    missing = [spec.name for spec in specs if spec.written and spec.name not in assigned_to]
    if missing:
        raise ValueError(f"{op_type}: its scalar text assigns nothing to {missing[0]!r}, which it writes.")


def _checked(
    name: str, infer: Callable[[Operation], Sequence[tuple[Any, Any]]]
) -> Callable[[Operation], Signature]:
    """The shape rule, whose results may be said in any of the forms in which users say dtypes and shapes."""

    def inferred(op: Operation) -> Signature:
        found = infer(op)
        try:
            return [(as_dtype(dtype), as_dims(shape)) for dtype, shape in found]
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"The shape rule of {name} must return a list of (dtype, shape), got {found!r}: {error}"
            ) from error

    return inferred


def _check_scalar(op_type: str, text: str, specs: Sequence[InputSpec]) -> None:
    """ValueError if a scalar text is not in the language, for the first dtype that the inputs may have."""
    names = {spec.name for spec in specs}
    unknown = [n for n in _OPERAND.findall(text) if not n.startswith("@") and n not in names]
    if unknown:
        raise ValueError(f"{op_type}: the scalar text {text!r} names {unknown[0]!r}, which is no input.")
    if any(spec.variadic for spec in specs):
        raise ValueError(f"{op_type}: an op that takes a list has no scalar text.")
    said = (
        f"no code is made of a scalar text of {', '.join(d.name for d in specs[0].allowed)}" if specs else ""
    )
    wrong = ""
    for dtypes in _choices(specs):
        for attribute in _ATTRIBUTES:
            tried = _OPERAND.sub(lambda m, a=attribute: a if m[1].startswith("@") else f"v_{m[1]}", text)  # type: ignore[misc]
            try:
                parse(tried, next(iter(dtypes.values()), "float32"), {f"v_{n}": d for n, d in dtypes.items()})
                return
            except ScalarTextError as error:
                wrong = wrong or str(error)
    raise ValueError(f"{op_type}: {wrong or said}. docs/extend.md says what a scalar text may hold.")


def _choices(specs: Sequence[InputSpec]) -> Iterator[dict[str, str]]:
    """Native dtypes by name of the input: for each dtype that all of one type variable may have."""
    for position in range(max((len(spec.allowed) for spec in specs), default=1)):
        chosen: dict[str, str] = {}
        found: dict[str, str] = {}
        for spec in specs:
            own = spec.allowed[min(position, len(spec.allowed) - 1)].name
            found[spec.name] = chosen.setdefault(spec.variable, own) if spec.variable else own
        if NATIVE_DTYPES.issuperset(found.values()):
            yield found
