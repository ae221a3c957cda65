"""A plan as data that can travel: a tree that JSON can express, and the arrays in it apart.

An instruction's origin goes along, so that errors can name it. Python functions (py_func, map functions of a dataset)
are pickled, and are opened only if the reader says that it trusts the sender. Everything else is plain data and is
checked as it is read.
"""

from __future__ import annotations

import base64
import io
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import CodeType
from typing import Any, Final

import numpy as np

from graphflow._core.graph import dtypes
from graphflow._core.graph.op_def import registry
from graphflow._core.graph.shapes import Dims, TensorShape
from graphflow._core.plan import kinds
from graphflow._core.plan.functions import LoweredFunction
from graphflow._core.plan.ir import Instruction, Origin, Plan

_DEEPEST: Final = 64
"""How deep branches and loops, and the attributes of one operation, may be nested."""

_HAVE_BODIES: Final = (kinds.IF, kinds.WHILE)


class BadPlan(ValueError):
    """What came is no plan that `encode` made."""


class UnknownOpType(BadPlan):
    """An instruction's op type has no definition in this process. `origin` is the operation that it stands for."""

    def __init__(self, instruction: str, op_type: str, origin: Origin | None) -> None:
        built = "" if origin is None else f", built at {origin.built},"
        super().__init__(
            f"{instruction!r}{built} is of the op type {op_type!r}, which this process does not know. Have the "
            "package that defines it imported there first: by the program that makes the gf.train.Server, with "
            "`graphflow serve --import MODULE` or `graphflow launch --import MODULE`; what is installed may name "
            "itself in an entry point (docs/extend.md)."
        )
        self.origin = origin


# ---- writing --------------------------------------------------------------------------------------------------------


class PlanWriter:
    """Turns plans into trees; what is not plain data goes into `arrays`, in the order in which the trees name it.

    functions: whether Python functions may go along, pickled; without that a plan that has one is a ValueError.
    """

    def __init__(self, functions: bool = True) -> None:
        self._functions = functions
        self.arrays: list[np.ndarray[Any, Any]] = []
        self._known: dict[int, int] = {}

    def plan(self, plan: Plan) -> Any:
        """The tree of a plan."""
        return [
            [self._instruction(i) for i in plan.instructions],
            list(plan.feeds),
            list(plan.fetches),
            list(plan.targets),
            [[dtype.name, None if dims is None else list(dims)] for dtype, dims in plan.feed_types],
        ]

    def _instruction(self, i: Instruction) -> Any:
        origin = None if i.origin is None else [i.origin.name, i.origin.type, *i.origin.line]
        return [
            i.name,
            i.type,
            list(i.inputs),
            list(i.outputs),
            [d.name for d in i.dtypes],
            [None if s is None else list(s) for s in i.shapes],
            [[name, self._value(value)] for name, value in i.attrs.items()],
            list(i.control),
            i.device,
            i.index,
            i.definition is not None,
            origin,
            [self.plan(body) for body in i.bodies],
            list(i.used),
        ]

    def _array(self, value: np.ndarray[Any, Any]) -> int:
        """The place of an array; the same object goes once."""
        place = self._known.get(id(value))
        if place is None:
            place = self._known[id(value)] = len(self.arrays)
            self.arrays.append(value)
        return place

    def _value(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return {"float": value.hex()}
        if isinstance(value, bytes):
            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, dtypes.DType):
            return {"dtype": value.name}
        if isinstance(value, TensorShape):
            return {"shape": None if value.ndims is None else value.as_list()}
        if isinstance(value, np.ndarray | np.generic):
            return {"array": self._array(np.asarray(value)), "scalar": isinstance(value, np.generic)}
        if isinstance(value, list):
            return [self._value(v) for v in value]
        if isinstance(value, tuple):
            return {"tuple": [self._value(v) for v in value]}
        if isinstance(value, dict):
            return {"dict": [[self._value(k), self._value(v)] for k, v in value.items()]}
        if isinstance(value, LoweredFunction):
            return {"function": [value.name, self.plan(value.plan), value.arguments, value.seeded]}
        if not self._functions:
            raise ValueError(f"The plan has a Python value, which is no plain data: {type(value).__name__}.")
        return {"python": self._array(np.frombuffer(pickled(value), np.uint8))}


def pickled(value: Any) -> bytes:
    """A Python function, or what holds some, as bytes for `cloudpickle.loads`; raises what pickling it raises."""
    buffer = io.BytesIO()
    _pickler()(buffer).dump(value)
    return buffer.getvalue()


@cache
def _pickler() -> Any:
    """cloudpickle's pickler, of which code keeps the name of its file.

    Since 3.1.3 cloudpickle replaces that, so that the same function gives the same bytes wherever it was defined. Here
    the user is to see on which line of the program a function has failed on another task.
    """
    import cloudpickle

    parts_of: Any = cloudpickle.Pickler.dispatch_table[CodeType]

    def with_file(code: CodeType) -> tuple[Any, ...]:
        make, parts, *others = parts_of(code)
        kept = [code.co_filename if part == "<dynamic-code>" else part for part in parts]
        return make, tuple(kept), *others

    table = ChainMap({CodeType: with_file}, cloudpickle.Pickler.dispatch_table)
    return type("Pickler", (cloudpickle.Pickler,), {"dispatch_table": table})


# ---- reading --------------------------------------------------------------------------------------------------------


class PlanReader:
    """Turns trees back into plans; `unpickle` opens a Python function, None if the sender is not trusted so far."""

    def __init__(
        self, arrays: Sequence[np.ndarray[Any, Any]], unpickle: Callable[[bytes], Any] | None = None
    ) -> None:
        self._arrays = arrays
        self._unpickle = unpickle

    def plan(self, tree: Any) -> Plan:
        """The plan of a tree; BadPlan if it is none."""
        try:
            return self._plan(tree, 0)
        except BadPlan:
            raise
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as error:
            raise BadPlan(f"This is no plan: {type(error).__name__}: {error}") from error

    def _plan(self, tree: Any, depth: int) -> Plan:
        if depth > _DEEPEST:
            raise BadPlan("The plan is nested too deep.")
        instructions, feeds, fetches, targets, *types = tree
        return Plan(
            tuple(self._instruction(i, depth) for i in instructions),
            _texts(feeds),
            _texts(fetches),
            _texts(targets),
            tuple((dtypes.BY_NAME[dtype], _dims(dims)) for dtype, dims in (types[0] if types else ())),
        )

    def _instruction(self, tree: Any, depth: int) -> Instruction:
        (
            name,
            kind,
            inputs,
            outputs,
            types,
            shapes,
            attrs,
            control,
            device,
            index,
            defined,
            origin,
            bodies,
            used,
        ) = tree
        _texts((name, kind, device))
        known = registry().get(kind)
        # What it may do is told by its type: none may pass for one that only has bodies, or for none at all.
        hidden = not defined and known is not None and known.stateful
        if defined and known is None:
            raise UnknownOpType(name, kind, None if origin is None else _origin(*origin))
        if hidden or (bodies and kind not in _HAVE_BODIES):
            raise BadPlan(f"The instruction {name!r} of type {kind!r} is none that a plan can have.")
        return Instruction(
            name=name,
            type=kind,
            inputs=_texts(inputs),
            outputs=_texts(outputs),
            dtypes=tuple(dtypes.BY_NAME[t] for t in types),
            shapes=tuple(_dims(s) for s in shapes),
            attrs={_text(key): self._value(value, depth) for key, value in attrs},
            control=_texts(control),
            device=device,
            index=int(index),
            definition=known if defined else None,
            origin=None if origin is None else _origin(*origin),
            bodies=tuple(self._plan(body, depth + 1) for body in bodies),
            used=tuple(bool(u) for u in used),
        )

    def _value(self, tree: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            raise BadPlan("An attribute is nested too deep.")
        if tree is None or isinstance(tree, bool | int | str):
            return tree
        if isinstance(tree, list):
            return [self._value(v, depth + 1) for v in tree]
        if not isinstance(tree, Mapping):
            raise BadPlan(f"An attribute is {tree!r}.")
        if not tree:
            raise BadPlan("An attribute is of no kind.")
        kind, value = next(iter(tree.items()))
        match kind:
            case "float":
                return float.fromhex(value)
            case "bytes":
                return base64.b64decode(value, validate=True)
            case "dtype":
                return dtypes.BY_NAME[value]
            case "shape":
                return TensorShape(value)
            case "array":
                array = self._arrays[int(value)]
                return array[()] if tree["scalar"] else array
            case "tuple":
                return tuple(self._value(v, depth + 1) for v in value)
            case "dict":
                return {self._value(k, depth + 1): self._value(v, depth + 1) for k, v in value}
            case "function":
                name, plan, arguments, seeded = value
                return LoweredFunction(_text(name), self._plan(plan, depth + 1), int(arguments), bool(seeded))
            case "python":
                if self._unpickle is None:
                    raise BadPlan("The plan brings a Python function, and its sender is not authenticated.")
                return self._unpickle(self._arrays[int(value)].tobytes())
        raise BadPlan(f"An attribute is of the unknown kind {kind!r}.")


def _dims(value: Any) -> Dims:
    return None if value is None else tuple(None if n is None else int(n) for n in value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadPlan(f"A name is {value!r}.")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(_text(v) for v in values)


def _origin(name: Any, kind: Any, file: Any, line: Any) -> Origin:
    return Origin(_text(name), _text(kind), (_text(file), int(line)))
