"""Tests that what a class has from `records.dataclass` is what the standard library would have given it."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import threading
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from graphflow._core.common import records

OPTIONS: list[dict[str, bool]] = [
    {"eq": eq, "frozen": frozen, "slots": slots, "repr": shown}
    for eq in (True, False)
    for frozen in (True, False)
    for slots in (True, False)
    for shown in (True, False)
]


class Plain:
    """A field of each kind."""

    first: int
    second: str = "two"
    third: list[int] = dataclasses.field(default_factory=list, hash=False)
    doubled: int = dataclasses.field(init=False, default=0)
    unseen: int = dataclasses.field(default=5, compare=False, repr=False)
    named: bool = dataclasses.field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "doubled", 2 * self.first)


class WithMethods:
    """Methods that are not to be replaced."""

    value: int = 1

    def __eq__(self, other: object) -> bool:
        return True

    def __repr__(self) -> str:
        return "mine"


class Hashed:
    """A hash of its own."""

    value: int = 1

    def __hash__(self) -> int:
        return 77


def both(given: type, options: dict[str, bool]) -> tuple[Any, Any]:
    """The class as the library makes it, and as the standard library does."""

    def again() -> type:
        members = {k: v for k, v in given.__dict__.items() if k not in ("__dict__", "__weakref__")}
        return type(given.__name__, given.__bases__, copy.copy(members))

    make: Callable[..., Any] = records.dataclass
    return make(**options)(again()), dataclasses.dataclass(**options)(again())  # type: ignore[call-overload]


def outcome(action: Callable[[], Any]) -> Any:
    """What an action returns, or the type and text of what it raises."""
    try:
        return action()
    except Exception as error:
        return type(error), str(error).replace("Plain.", "")


def arguments() -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    yield (1,), {}
    yield (1, "b"), {"named": True}
    yield (2, "c", [1]), {"unseen": 9}
    yield (), {"first": 3}
    yield (), {}
    yield (1,), {"doubled": 4}
    yield (1, "b", [], 5, True), {}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_objects_are_made_shown_compared_and_hashed_alike(options: dict[str, bool]) -> None:
    mine, theirs = both(Plain, options)
    for args, named in arguments():
        found, expected = (outcome(partial(k, *args, **named)) for k in (mine, theirs))
        if isinstance(expected, tuple):
            assert found == expected
            continue
        assert dataclasses.asdict(found) == dataclasses.asdict(expected)
        if options["repr"]:
            assert repr(found).split("(", 1)[1] == repr(expected).split("(", 1)[1]
        for other in ((1,), (1, "two", [], 7), (2,)):
            assert (found == mine(*other)) == (expected == theirs(*other))
            assert (found != mine(*other)) == (expected != theirs(*other))
        is_hashed = [outcome(lambda v=v: isinstance(hash(v), int)) for v in (found, expected)]
        assert is_hashed[0] == is_hashed[1]
        if options["eq"] and options["frozen"]:
            assert hash(found) == hash(expected)
    assert mine.__match_args__ == theirs.__match_args__


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_fields_are_kept_or_may_be_assigned_alike(options: dict[str, bool]) -> None:
    mine, theirs = both(Plain, options)
    if (
        options["frozen"] and options["slots"]
    ):  # Python 3.11's raises a TypeError for a name that is no field.
        _, theirs = both(Plain, {**options, "slots": False})
    else:
        assert hasattr(mine(1), "__dict__") == hasattr(theirs(1), "__dict__")
    actions: list[Callable[[Any], None]] = [
        lambda o: setattr(o, "first", 4),
        lambda o: setattr(o, "other", 4),
        lambda o: delattr(o, "first"),
    ]
    for action in actions:
        found, expected = mine(1), theirs(1)
        assert outcome(lambda a=action, o=found: a(o)) == outcome(lambda a=action, o=expected: a(o))
        assert hasattr(found, "first") == hasattr(expected, "first")


@pytest.mark.parametrize("given", [WithMethods, Hashed])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_methods_of_the_class_stay(given: type, options: dict[str, bool]) -> None:
    mine, theirs = both(given, options)
    assert (mine(1) == mine(2)) == (theirs(1) == theirs(2))
    assert repr(mine(3)).rsplit("object at")[0] == repr(theirs(3)).rsplit("object at")[0]
    is_hashed = [outcome(lambda k=k: hash(k(1)) == hash(k(1))) for k in (mine, theirs)]
    assert is_hashed[0] == is_hashed[1]
    assert given is not Hashed or is_hashed[0] is True


@records.dataclass(frozen=True, slots=True, weakref_slot=True)
class Point:
    """Pickled and copied."""

    x: int
    y: int = 2


@records.dataclass(frozen=True, slots=True)
class Space(Point):
    """Has a field more."""

    z: int = 3


class Marked(Point):
    """May have attributes of its own, though not other values of its fields."""


def test_objects_are_pickled_copied_and_replaced() -> None:
    for value in (Point(1), Space(1, z=5)):
        for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
            assert again == value and type(again) is type(value)
    assert dataclasses.replace(Space(1), y=7) == Space(1, 7)
    assert Point(1) != Space(1)
    assert repr(Space(1)) == "Space(x=1, y=2, z=3)"
    assert weakref.ref(point := Point(1))() is point
    match Space(1):
        case Space(x, y, z):
            assert (x, y, z) == (1, 2, 3)


def test_a_subclass_has_attributes_of_its_own() -> None:
    marked: Any = Marked(1)
    marked.note = "new"
    assert marked.note == "new"
    with pytest.raises(dataclasses.FrozenInstanceError):
        marked.x = 2


def test_threads_that_make_the_first_objects_at_once_all_get_theirs() -> None:
    for _ in range(20):
        mine, _ = both(Plain, {"frozen": True, "slots": True})
        gate, found = threading.Barrier(4), []

        def make(k: Any = mine, gate: Any = gate, found: Any = found) -> None:
            gate.wait(60)
            found.append((k(3) == k(3), repr(k(3)), hash(k(3))))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(found) == 4 and len(set(found)) == 1 and found[0][0]


def test_a_class_is_called_with_its_fields_as_soon_as_it_has_made_an_object() -> None:
    mine, theirs = both(Plain, {"frozen": True})
    mine(1)
    assert [str(p) for p in inspect.signature(mine).parameters.values()] == [
        str(p) for p in inspect.signature(theirs).parameters.values()
    ]


def test_methods_of_the_library_are_made_at_their_first_call_alone() -> None:
    mine, _ = both(Plain, {"frozen": True})
    first = {name: mine.__dict__[name] for name in ("__init__", "__repr__", "__eq__", "__hash__")}
    assert mine(1) is not None
    assert mine.__dict__["__init__"] is not first["__init__"]
    assert all(mine.__dict__[name] is first[name] for name in ("__repr__", "__eq__", "__hash__"))


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("slots", [True, False])
def test_a_field_may_be_called_self(frozen: bool, slots: bool) -> None:
    class Odd:
        self: int
        other: list[int] = dataclasses.field(default_factory=lambda: [1])
        kept: int = dataclasses.field(init=False, default=7)
        made: list[int] = dataclasses.field(init=False, default_factory=list)

    mine, theirs = both(Odd, {"frozen": frozen, "slots": slots, "eq": True, "repr": True})
    for given in ({"self": 3}, {"self": 3, "other": [2]}):
        assert dataclasses.asdict(mine(**given)) == dataclasses.asdict(theirs(**given))
    assert mine(3).other is not mine(3).other and mine(3).made is not mine(3).made
    assert outcome(lambda: mine())[0] is TypeError is outcome(lambda: theirs())[0]
