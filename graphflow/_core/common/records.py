"""Dataclasses whose methods are made when they are first called: a program pays for those alone that it uses.

The standard library writes and compiles the text of every method of a dataclass when the class is made: half a
millisecond for a frozen one. Some 170 stand on the way to the first compiled step, and a program makes objects of a
third of them, and compares or prints hardly any. That was a quarter of the engine's imports. Here `dataclasses` makes
the fields, the slots and the arguments to match, and each method begins as a short one, which at its first call puts
the one of the standard library in its place; that which makes an object is written here, in a fifth of the time that a
whole class takes. `fields`, `replace`, `asdict`, pickling and subclasses are as ever.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(kind: type | None = None, /, **options: Any) -> Any:
        """As `dataclasses.dataclass`, with these of its arguments: eq, frozen, repr, slots, weakref_slot."""
        return _with_methods(kind, **options) if kind else lambda given: _with_methods(given, **options)


def _with_methods(
    given: type, *, eq: bool = True, frozen: bool = False, repr: bool = True, **slots: bool
) -> type:
    own = dict(given.__dict__)
    if given.__doc__ is None:
        given.__doc__ = given.__name__  # Else it becomes the text of a signature, which is dear to find out.
    made: type = dataclasses.dataclass(init=False, repr=False, eq=False, **slots)(given)
    hashed = eq and ("__hash__" not in own or (own["__hash__"] is None and "__eq__" in own))
    wanted = {"__init__": True, "__repr__": repr, "__eq__": eq, "__hash__": hashed and frozen}
    for name, is_wanted in wanted.items():
        if is_wanted and own.get(name) is None:
            setattr(made, name, _first_call(made, name, frozen))
    others: dict[str, Any] = {"__hash__": None} if hashed and not frozen else {}
    if frozen:
        others["__setattr__"] = _refusing(made, object.__setattr__, "assign to")
        others["__delattr__"] = _refusing(made, object.__delattr__, "delete")
    if frozen and slots.get("slots"):
        others |= {"__getstate__": _state, "__setstate__": _put_state}
    for name, other in others.items():
        setattr(made, name, other)
    return made


def _first_call(kind: type, name: str, frozen: bool) -> Callable[..., Any]:
    """A method that puts the standard library's in its own place."""

    def method(self: Any, /, *arguments: Any, **named: Any) -> Any:
        made = _initializer(kind, frozen) if name == "__init__" else _standard(kind, name, frozen)
        setattr(kind, name, made)
        return made(self, *arguments, **named)

    method.__name__, method.__qualname__ = name, f"{kind.__qualname__}.{name}"
    return method


class _Absent:
    """What a parameter is that nobody has given, of a field whose value a function makes."""

    def __repr__(self) -> str:
        return "<factory>"


_ABSENT: Final = _Absent()


def _initializer(kind: Any, frozen: bool) -> Callable[..., Any]:
    """What makes an object of a class, as the standard library's would."""
    this = "self" if "self" not in kind.__dataclass_fields__ else "__self"
    values: dict[str, Any] = {"__put": object.__setattr__, "__absent": _ABSENT, "__name__": kind.__module__}
    positional: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    for field in dataclasses.fields(kind):
        name, default = field.name, f"__default_{field.name}"
        parameter, value = name, name
        if field.default_factory is not dataclasses.MISSING:
            values[default] = field.default_factory
            parameter = f"{name}=__absent"
            value = f"{default}() if {name} is __absent else {name}" if field.init else f"{default}()"
        elif field.default is not dataclasses.MISSING:
            values[default], parameter = field.default, f"{name}={default}"
            value = name if field.init else default
        elif not field.init:
            continue
        if field.init:
            (named if field.kw_only else positional).append(parameter)
        lines.append(f"__put({this}, {name!r}, {value})" if frozen else f"{this}.{name} = {value}")
    if hasattr(kind, "__post_init__"):
        lines.append(f"{this}.__post_init__()")
    parameters = ", ".join([this, *positional, *(["*", *named] if named else [])])
    exec(f"def __init__({parameters}):\n    " + "\n    ".join(lines or ["pass"]), values)
    made: Callable[..., Any] = values["__init__"]
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    told = {field.name: field.type for field in dataclasses.fields(kind) if field.init}
    made.__annotations__ = {**told, "return": None}
    return made


def _standard(kind: Any, name: str, frozen: bool) -> Callable[..., Any]:
    """Another method as the standard library makes it for a class with the same fields."""
    fields = [(field.name, field.type, field) for field in dataclasses.fields(kind)]
    twin = dataclasses.make_dataclass(
        kind.__name__,
        fields,
        namespace={"__doc__": kind.__name__},  # As above.
        init=False,
        repr=name == "__repr__",
        eq=name in ("__eq__", "__hash__"),
        frozen=frozen and name == "__hash__",
    )
    made: Callable[..., Any] = twin.__dict__[name]
    made.__qualname__ = f"{kind.__qualname__}.{name}"
    return made


def _refusing(kind: type, allowed: Callable[..., None], doing: str) -> Callable[..., None]:
    """What keeps the fields of a frozen class; a subclass that is not frozen may have attributes of its own."""
    fields = frozenset(kind.__dataclass_fields__)  # type: ignore[attr-defined]

    def method(self: Any, name: str, *value: Any) -> None:
        if type(self) is kind or name in fields:
            raise dataclasses.FrozenInstanceError(f"cannot {doing} field {name!r}")
        allowed(self, name, *value)

    return method


def _state(self: Any) -> list[Any]:
    """What is pickled of a frozen object with slots."""
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _put_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
