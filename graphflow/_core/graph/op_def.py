"""OpDef: an op is declared once, with its shape rule and gradient beside it; kernels are registered elsewhere.

    ADD = op_def("Add", ("x: T", "y: T"), infer=broadcast_binary, gradient=add_gradient, scalar="{x} + {y}")

The registry is what the tests walk: an op without a gradient must say NOT_DIFFERENTIABLE. A gradient that needs
ops which stand above its own op is written in the family's gradients.py; the op says so with GradientsIn, and that
module is loaded when the gradient is first asked for. So ops import only what is below them, and none is without its
gradient.

As in TensorFlow 1, what a write of a variable gives is a reference, which may be written again: in
scatter_max(scatter_mul(v, ...), ...) v changes twice, the second time behind the first. A branch or a loop passes a
reference on as it passes a value on. A value that was computed or read is no reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.claims import Claims, calling_module
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.shapes import Dims

if TYPE_CHECKING:
    from graphflow._core.graph.elements import Operation, Tensor

Signature: TypeAlias = Sequence[tuple[DType, Dims]]
"""(dtype, shape) of each output."""
InferRule: TypeAlias = "Callable[[Operation], Signature]"
GradientRule: TypeAlias = "Callable[..., Any]"
PartialValue: TypeAlias = "int | list[int | None] | None"
PartialRule: TypeAlias = "Callable[[Operation], Any]"
"""Gives a PartialValue, or a tuple of one for each output."""


class NotDifferentiable:
    """The gradient of an op through which no gradient flows; `refused` says that asking for one is an error."""

    def __init__(self, refused: bool = False) -> None:
        self.refused = refused

    def __repr__(self) -> str:
        return "NO_GRADIENT" if self.refused else "NOT_DIFFERENTIABLE"


NOT_DIFFERENTIABLE: Final = NotDifferentiable()
NO_GRADIENT: Final = NotDifferentiable(refused=True)
"""Where TensorFlow defines no gradient either: differentiating through such an op raises LookupError."""


@dataclass(frozen=True)
class GradientsIn:
    """Says that the gradient of an op stands in another module, where `gradient_of` registers it by the op's type."""

    module: str

    def load(self, op_type: str) -> GradientRule:
        """The gradient of an op type; LookupError if the module has none."""
        import_module(self.module)
        if op_type not in _OP_GRADIENTS:
            raise LookupError(
                f"{self.module} has no gradient of {op_type}: write one under @gradient_of({op_type!r})."
            )
        return _OP_GRADIENTS[op_type]


FLOATS: Final = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
INTEGERS: Final = tuple(d for d in dtypes.ALL if d.is_integer)
REALS: Final = FLOATS + INTEGERS
COMPLEX: Final = (dtypes.complex64, dtypes.complex128)
NUMBERS: Final = REALS + COMPLEX
INDICES: Final = (dtypes.int32, dtypes.int64)

_TYPE_GROUPS: Final[dict[str, tuple[DType, ...]]] = {
    "float": FLOATS,
    "real": REALS,
    "number": NUMBERS,
    "integer": INTEGERS,
    "index": INDICES,
    "any": dtypes.ALL,
    "complex": COMPLEX,
    "continuous": FLOATS + COMPLEX,
}


@dataclass(frozen=True)
class InputSpec:
    """One declared input: its name and type.

    variable: the type variable that it shares with other inputs; None if it has a type of its own.
    allowed: the dtypes that it may have.
    variadic: whether it takes a list.
    written: whether it is a variable to be written.
    ref: whether the kernel gets the variable itself, and not its value.
    preferred: the dtype to which an array of another dtype is converted if no kind of value is lost; None if an array
        keeps its own.
    """

    name: str
    variable: str | None
    allowed: tuple[DType, ...]
    variadic: bool
    written: bool
    ref: bool
    preferred: DType | None = None

    @staticmethod
    def parse(text: str) -> InputSpec:
        """Reads "name: type"; the name may end in "*" (a list), "&" (a variable to be written) or "@" (a variable,
        not its value).

        The type is `T`, `T=float` (a type variable, with the dtypes it may be at its first mention), a group such as
        `index`, a dtype's name, or several of these with "|" between them. The dtype in parentheses behind it is the
        preferred one.
        """
        name, _, kind = (part.strip() for part in text.partition(":"))
        kind, _, preferred = kind.rstrip(")").partition("(")
        variable, _, group = kind.partition("=")
        if not variable[:1].isupper():
            variable, group = "", kind
        allowed = tuple(
            dtype
            for part in (group or "any").split("|")
            for dtype in _TYPE_GROUPS.get(part) or (dtypes.as_dtype(part),)
        )
        mark = name[-1]
        return InputSpec(
            name.rstrip("*&@"), variable or None, allowed, mark == "*", mark == "&", mark in "&@",
            dtypes.as_dtype(preferred) if preferred else None,
        )  # fmt: skip


RESOURCE: Final = "_resource"
"""The attribute of a variable whose value is read where it becomes a tensor, and not where that is taken."""
FIRST_VERSION: Final = "0.1.0"
"""The version of graphflow that ops are of which say no other. An op that a later version adds says which."""


@dataclass(frozen=True, eq=False)
class OpDef:
    """The definition of one type of operation.

    name: TensorFlow's op type.
    inputs: the inputs, see InputSpec.parse.
    infer: gives (dtype, dims) of every output from the operation's inputs and attributes; raises ValueError or
        TypeError on what cannot be, in the user's words.
    declared_gradient: function(op, *output_gradients) -> a Tensor, IndexedSlices or None for each input, or
        NOT_DIFFERENTIABLE, or the module that has it; `gradient` is one of the first two.
    scalar: the elementwise meaning, one expression an output over the inputs' names in braces and attributes as
        {@name}; the one source from which CPU and CUDA code is generated. None if the op is not elementwise.
    partial_value: what is known of an integer scalar or vector while the graph is built, used by shape rules.
    stateful: it has an effect, or depends on more than its inputs: never folded, merged or dropped as a duplicate.
    dynamic_shape: the shape of an output depends on values, not only on the shapes of the inputs.
    blocks: it may wait for another run or thread, as a dequeue does: plans are cut there.
    outputs: names of the results, as `scalar` and messages use them. If the first has the name of an input that is
        written, it is that variable, after the write, and other ops may write it again.
    is_variable: its result is a variable itself, which is read where it is used.
    is_constant: its result is the attribute "value".
    forwards: its results are its input, or one of its list of inputs, under another name: a variable stays one.
    since: the version of graphflow that has had it first.
    """

    name: str
    inputs: tuple[InputSpec, ...]
    infer: InferRule
    declared_gradient: GradientRule | NotDifferentiable | GradientsIn
    scalar: str | tuple[str, ...] | None = None
    partial_value: PartialRule | None = None
    stateful: bool = False
    dynamic_shape: bool = False
    outputs: tuple[str, ...] = ("output",)
    blocks: bool = False
    is_variable: bool = False
    is_constant: bool = False
    forwards: bool = False
    since: str = FIRST_VERSION

    @cached_property
    def gradient(self) -> GradientRule | NotDifferentiable:
        """The gradient, loaded from where it stands; LookupError if it is not there."""
        declared = self.declared_gradient
        return declared.load(self.name) if isinstance(declared, GradientsIn) else declared

    @property
    def is_stateful(self) -> bool:
        """`stateful`, as programs ask for it that read the OpDefs of TensorFlow's operations."""
        return self.stateful

    @cached_property
    def takes_lists(self) -> bool:
        """Whether an input of it is a list, so that they cannot be told by their number."""
        return any(spec.variadic for spec in self.inputs)

    @cached_property
    def writes(self) -> bool:
        """Whether it writes a variable."""
        return any(spec.written for spec in self.inputs)

    @cached_property
    def takes_refs(self) -> bool:
        """Whether it takes a variable itself, and not its value."""
        return any(spec.ref for spec in self.inputs)

    @cached_property
    def gives_ref(self) -> int | None:
        """Which input the first result is, if that is a variable which it writes; None if it is a value."""
        return next(
            (n for n, spec in enumerate(self.inputs) if spec.written and self.outputs[:1] == (spec.name,)),
            None,
        )


def variables_of(tensor: Tensor) -> list[Tensor]:
    """The results of the variables that a tensor is a reference to, of each once; [] if it may be a mere value.

    There are several if a branch decides which one it is.
    """
    found: dict[Tensor, None] = {}
    seen: set[Tensor] = set()
    todo = [tensor]
    while todo:
        reference = todo.pop()
        if reference in seen:
            continue
        seen.add(reference)
        op, definition = reference.op, reference.op.op_def
        if definition.is_variable:
            found[reference] = None
        elif definition.forwards:
            todo += op.inputs if definition.takes_lists else op.inputs[:1]
        elif definition.gives_ref is not None and reference.value_index == 0:
            todo.append(op.inputs[definition.gives_ref])
        else:
            return []
    return list(found)


def variable_for(definition: OpDef, spec: InputSpec, tensor: Tensor) -> Tensor:
    """The result of the variable that an op is given for an input which takes a variable itself.

    TypeError if the tensor is no reference, or may be one to several variables.
    """
    if tensor.op.op_def.is_variable:
        return tensor
    found = variables_of(tensor)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(sorted(repr(variable.op.name) for variable in found))
        raise TypeError(
            f"Input '{spec.name}' of '{definition.name}' must be one variable, but {tensor.name!r} is one of {names}, "
            "which the run decides. Write each of them where it is decided, in its branch."
        )
    raise TypeError(
        f"Input '{spec.name}' of '{definition.name}' must be a gf.Variable, or what an op gives that writes one, "
        f"got the value {tensor!r}."
    )


_REGISTRY: Final[dict[str, OpDef]] = {}
_CLAIMS: Final = Claims("The op type")
_GRADIENTS: Final[dict[str, GradientRule | NotDifferentiable]] = {}
_OP_GRADIENTS: Final[dict[str, GradientRule]] = {}
"""Gradients that stand in another module than their op, by its type."""


def op_def(
    name: str,
    inputs: tuple[str, ...],
    *,
    infer: InferRule,
    gradient: GradientRule | NotDifferentiable | GradientsIn,
    scalar: str | tuple[str, ...] | None = None,
    partial_value: PartialRule | None = None,
    stateful: bool = False,
    dynamic_shape: bool = False,
    outputs: tuple[str, ...] = ("output",),
    blocks: bool = False,
    is_variable: bool = False,
    is_constant: bool = False,
    forwards: bool = False,
    since: str = FIRST_VERSION,
    module: dict[str, Any] | None = None,
) -> OpDef:
    """Defines and registers an op type; ValueError if the name is taken.

    module: the globals of the module that defines it, by default those of the caller.
    """
    _CLAIMS.claim(name, calling_module(1) if module is None else module)
    specs = tuple(InputSpec.parse(text) for text in inputs)
    definition = OpDef(
        name, specs, infer, gradient, scalar, partial_value, stateful, dynamic_shape, outputs, blocks,
        is_variable, is_constant, forwards, since,
    )  # fmt: skip
    _REGISTRY[name] = definition
    return definition


def defined_in(name: str) -> str:
    """The name of the module that defines an op type; KeyError if there is none."""
    return _CLAIMS.owner(name)


def is_extension(name: str) -> bool:
    """Whether an op type is defined outside of graphflow; KeyError if there is none."""
    return defined_in(name).partition(".")[0] != __name__.partition(".")[0]


def own_types() -> list[str]:
    """The op types that graphflow itself has defined so far, sorted."""
    return sorted(name for name in _REGISTRY if not is_extension(name))


def gradient_of(*op_types: str) -> Callable[[GradientRule], GradientRule]:
    """A decorator for the gradient of ops that say GradientsIn; ValueError if one has a gradient already."""

    def register(rule: GradientRule) -> GradientRule:
        for op_type in op_types:
            if op_type in _OP_GRADIENTS:
                raise ValueError(f"A gradient of {op_type} is registered already.")
            _OP_GRADIENTS[op_type] = rule
        return rule

    return register


def gradients_elsewhere() -> Mapping[str, GradientRule]:
    """The gradients registered so far with gradient_of, by op type."""
    return _OP_GRADIENTS


def lookup(name: str) -> OpDef:
    """The definition of an op type; KeyError if there is none."""
    return _REGISTRY[name]


def registry() -> Mapping[str, OpDef]:
    """All op types by name."""
    return _REGISTRY


def register_gradient(name: str, rule: GradientRule | NotDifferentiable) -> None:
    """Registers a gradient under a name of the user's, for gradient_override_map; KeyError if it is taken."""
    if name in _GRADIENTS or name in _REGISTRY:
        raise KeyError(f"A gradient named {name!r} is registered already.")
    _GRADIENTS[name] = rule


def registered_gradient(name: str) -> GradientRule | NotDifferentiable:
    """The gradient registered under a name, or that of the op type of that name; LookupError if there is none."""
    if name in _GRADIENTS:
        return _GRADIENTS[name]
    if name in _REGISTRY:
        return _REGISTRY[name].gradient
    raise LookupError(f"No gradient is registered under the name {name!r}.")


class RegisterGradient:
    """A decorator that registers a function (op, *grads) -> gradients under a name (tf.RegisterGradient).

    Args:
        op_type: The type of op, or a name for gradient_override_map.
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError(f"op_type must be a string, got {op_type!r}")
        self._op_type = op_type

    def __call__(self, function: GradientRule) -> GradientRule:
        """Registers the function and returns it.

        Args:
            function: From the operation and the gradients of its results to those of its inputs.

        Returns:
            The function itself.
        """
        register_gradient(self._op_type, function)
        return function


def not_differentiable(op_type: str) -> None:
    """Says that no gradient flows through ops of this type (tf.NotDifferentiable).

    Args:
        op_type: The type of op.
    """
    register_gradient(op_type, NOT_DIFFERENTIABLE)
