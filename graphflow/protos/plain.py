"""What protobuf's messages have, for options that are plain objects: copies, presence, and the format on the wire.

A dataclass that is a PlainMessage needs no package to be made, read and copied. What is written and read, as bytes or
as text, goes through TensorFlow's own message of that name, which graphflow.protos has.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import MISSING, Field, fields
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any, ClassVar, Final, Generic, Self, TypeVar

import numpy as np

import graphflow.protos as protos

_Item = TypeVar("_Item")
_SHORT: Final = (str, int, float, bool)
_TAKES: Final[dict[type, tuple[type, ...]]] = {
    bool: (bool, Integral, np.bool_),
    int: (Integral, np.bool_),
    float: (Real, np.bool_),
    str: (str, bytes),
}
"""What a field takes, by the kind of its default."""


class _Descriptor:
    """The description of TensorFlow's message, for who asks a class or an object for it."""

    def __get__(self, instance: object, owner: type[PlainMessage]) -> Any:
        return owner._protobuf_class().DESCRIPTOR


class PlainMessage:
    """A dataclass with the methods of a message.

    Subclasses say in `_protobuf` which module and message it is; fields that this message lacks are ours, and are
    copied but not written. A field that no program knows is an AttributeError.
    """

    _protobuf: ClassVar[tuple[str, str]]
    DESCRIPTOR: ClassVar[Any] = _Descriptor()

    def __setattr__(self, name: str, value: Any) -> None:
        known = getattr(type(self), "__dataclass_fields__", {})
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, known, 1)
            advice = f" Did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"{type(self).__name__} has no field {name!r}.{advice}")
        kind = type(known[name].default)
        if kind in _TAKES and not isinstance(value, _TAKES[kind]):
            raise TypeError(
                f"{type(self).__name__}.{name} is of type {kind.__name__}, got {value!r}, a {type(value).__name__}."
            )
        object.__setattr__(self, name, value)

    # ---- copies ---------------------------------------------------------------------------------------------------

    def CopyFrom(self, other_msg: Self) -> None:
        """Becomes a copy of another message.

        Args:
            other_msg: The other, of the same class or TensorFlow's of that name.
        """
        if other_msg is not self:
            copied = self._of_this_class(other_msg)
            for field in _fields(self):
                object.__setattr__(self, field.name, deepcopy(getattr(copied, field.name)))

    def MergeFrom(self, other_msg: Self) -> None:
        """Takes over what another message has: single values in place of its own, lists behind them.

        Args:
            other_msg: The other, of the same class or TensorFlow's of that name.
        """
        other = self._of_this_class(other_msg)
        for field in _fields(self):
            own, new = getattr(self, field.name), getattr(other, field.name)
            if isinstance(own, PlainMessage):
                own.MergeFrom(new)
            elif isinstance(own, list):
                own.extend(deepcopy(new))
            elif isinstance(own, dict):
                own.update(deepcopy(new))
            elif not _is_default(field, new):
                object.__setattr__(self, field.name, deepcopy(new))

    def _of_this_class(self, other: Any) -> Self:
        if isinstance(other, type(self)):
            return other
        if getattr(getattr(other, "DESCRIPTOR", None), "name", None) == type(self).__name__:
            made = type(self)._begun()
            made._read(other)
            return made
        raise TypeError(
            f"Parameter to MergeFrom() and CopyFrom() must be instance of same class: expected "
            f"{type(self).__name__} got {type(other).__name__}."
        )

    @classmethod
    def _begun(cls) -> Self:
        """A message with all defaults, also where the class asks for values."""
        made = cls.__new__(cls)
        for field in fields(cls):  # type: ignore[arg-type]
            object.__setattr__(made, field.name, _default(field))
        return made

    def Clear(self) -> None:
        """Gives every field its default."""
        for field in _fields(self):
            object.__setattr__(self, field.name, _default(field))

    def ClearField(self, field_name: str) -> None:
        """Gives a field its default.

        Args:
            field_name: The field.

        Raises:
            ValueError: If there is none of that name.
        """
        field = self._field(field_name)
        object.__setattr__(self, field_name, _default(field))

    # ---- presence -------------------------------------------------------------------------------------------------

    def HasField(self, field_name: str) -> bool:
        """Whether anything is said in a message that is a field of this.

        Args:
            field_name: The field.

        Raises:
            ValueError: For a field that is no message, or that there is not.
        """
        value = getattr(self, self._field(field_name).name)
        if isinstance(value, (list, dict, *_SHORT)):
            raise ValueError(
                f'Field "{type(self).__name__}.{field_name}" does not have presence: it is a single value or a list.'
            )
        return not _is_default(self._field(field_name), value)

    def WhichOneof(self, oneof_group: str) -> str | None:
        """Raises ValueError: no field here excludes another.

        Args:
            oneof_group: A group of fields that exclude each other.
        """
        raise ValueError(f'Protocol message {type(self).__name__} has no oneof "{oneof_group}" field.')

    def ListFields(self) -> list[tuple[Any, Any]]:
        """The fields that say something, each as its descriptor and its value."""
        return list(self._message().ListFields())

    def IsInitialized(self) -> bool:
        """True: no field has to be set."""
        return True

    def SetInParent(self) -> None:
        """Nothing: what says nothing counts as not there."""

    def _field(self, name: str) -> Field[Any]:
        for field in _fields(self):
            if field.name == name:
                return field
        raise ValueError(f"Protocol message {type(self).__name__} has no field {name}.")

    # ---- bytes and text -------------------------------------------------------------------------------------------

    def SerializeToString(self, deterministic: bool = False) -> bytes:
        """The message as TensorFlow writes it.

        Args:
            deterministic: Whether dictionaries are written by the order of their keys.

        Raises:
            ModuleNotFoundError: Without the packages that have TensorFlow's messages; the error says which.
        """
        found: bytes = self._message().SerializeToString(deterministic=deterministic)
        return found

    def SerializePartialToString(self, deterministic: bool = False) -> bytes:
        """As SerializeToString.

        Args:
            deterministic: Whether dictionaries are written by the order of their keys.
        """
        return self.SerializeToString(deterministic)

    def ByteSize(self) -> int:
        """The length of SerializeToString()."""
        return len(self.SerializeToString())

    def MergeFromString(self, serialized: bytes) -> int:
        """Takes over what a message in bytes says.

        Args:
            serialized: What SerializeToString gave, here or in TensorFlow.

        Returns:
            How many bytes were read.

        Raises:
            google.protobuf.message.DecodeError: If they are none of such a message.
        """
        message = self._message()
        read: int = message.MergeFromString(serialized)
        self._read(message)
        return read

    def ParseFromString(self, serialized: bytes) -> int:
        """Becomes what a message in bytes says.

        Args:
            serialized: What SerializeToString gave, here or in TensorFlow.

        Returns:
            How many bytes were read.

        Raises:
            google.protobuf.message.DecodeError: If they are none of such a message.
        """
        self.Clear()
        return self.MergeFromString(serialized)

    @classmethod
    def FromString(cls, s: bytes) -> Self:
        """The message that bytes say.

        Args:
            s: What SerializeToString gave, here or in TensorFlow.

        Returns:
            A message of this class.
        """
        made = cls._begun()
        made.MergeFromString(s)
        return made

    def __str__(self) -> str:
        try:
            return str(self._message())
        except ModuleNotFoundError:
            return repr(self)

    @classmethod
    def _protobuf_class(cls) -> Any:
        return _found(*cls._protobuf)

    def _message(self) -> Any:
        """TensorFlow's message that says the same."""
        message = self._protobuf_class()()
        self._write(message)
        return message

    def _write(self, message: Any) -> None:
        known = message.DESCRIPTOR.fields_by_name
        for field in _fields(self):
            value = getattr(self, field.name)
            if field.name not in known or _is_default(field, value):
                continue
            if isinstance(value, PlainMessage):
                getattr(message, field.name).SetInParent()
                value._write(getattr(message, field.name))
            elif isinstance(value, list):
                _write_list(getattr(message, field.name), value)
            elif isinstance(value, dict):
                getattr(message, field.name).update(value)
            elif isinstance(value, Later) or hasattr(value, "SerializeToString"):
                if hasattr(made := _as_protobuf(value), "SerializeToString"):
                    getattr(message, field.name).CopyFrom(made)
            elif isinstance(value, _SHORT):
                setattr(message, field.name, value)

    def _read(self, message: Any) -> None:
        """Takes over what TensorFlow's message says, in place of its own."""
        known = {field.name for field in _fields(self)}
        for descriptor, new in message.ListFields():
            name = descriptor.name
            if name not in known:
                continue
            own = getattr(self, name)
            if isinstance(own, PlainMessage):
                own._read(new)
            elif isinstance(own, MessageList):
                own.clear()
                for one in new:
                    made = own.add()
                    made._read(one) if isinstance(made, PlainMessage) else made.CopyFrom(one)
            elif isinstance(own, list):
                own[:] = list(new)
            elif isinstance(own, dict):
                own.clear()
                own.update(new)
            elif hasattr(new, "SerializeToString"):
                object.__setattr__(self, name, Later.holding(new))
            else:
                object.__setattr__(self, name, new)


class MessageList(list[_Item], Generic[_Item]):
    """A list of messages, which makes new ones."""

    def __init__(self, kind: Callable[..., _Item]) -> None:
        """An empty list.

        Args:
            kind: What makes one of its messages.
        """
        super().__init__()
        self._kind = kind

    def __deepcopy__(self, memo: dict[int, Any]) -> MessageList[_Item]:
        copied = MessageList(self._kind)
        copied.extend(deepcopy(list(self), memo))
        return copied

    def add(self, **values: Any) -> _Item:
        """Appends a message.

        Args:
            **values: Values of its fields.

        Returns:
            The message.
        """
        self.append(self._kind(**values))
        return self[-1]


class NumberByName(dict[str, int]):
    """A field that is a dictionary of numbers."""

    def GetEntryClass(self) -> Any:
        """The message of one entry, by which text is read."""
        return protos.config_pb2.ConfigProto().device_count.GetEntryClass()


class Later:
    """A message of TensorFlow's as a field, which is loaded when something of it is asked for.

    Without the package that has it, it takes any attribute: nothing is done with what it says.
    """

    def __init__(self, module: str, name: str) -> None:
        """An empty message.

        Args:
            module: The module of graphflow.protos that has it.
            name: Its name there.
        """
        object.__setattr__(self, "_of", (module, name))
        object.__setattr__(self, "_made", None)

    @classmethod
    def holding(cls, message: Any) -> Later:
        """A field that is a copy of a message.

        Args:
            message: One of TensorFlow's.

        Returns:
            The field.
        """
        found = cls("", type(message).__name__)
        object.__setattr__(found, "_made", deepcopy(message))
        return found

    def _message(self) -> Any:
        made = self.__dict__.get("_made")
        if made is None:
            module, name = self.__dict__["_of"]
            try:
                made = _found(module, name)()
            except ModuleNotFoundError:
                made = SimpleNamespace()
            object.__setattr__(self, "_made", made)
        return made

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._message(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._message(), name, value)

    def CopyFrom(self, other_msg: Any) -> None:
        """Becomes a copy of another message.

        Args:
            other_msg: The other.
        """
        self._message().CopyFrom(_as_protobuf(other_msg))

    def MergeFrom(self, other_msg: Any) -> None:
        """Takes over what another message has.

        Args:
            other_msg: The other.
        """
        self._message().MergeFrom(_as_protobuf(other_msg))

    def is_empty(self) -> bool:
        """Whether nothing was said."""
        made = self.__dict__.get("_made")
        return made is None or not (made.ByteSize() if hasattr(made, "ByteSize") else vars(made))

    def __deepcopy__(self, memo: dict[int, Any]) -> Later:
        copied = Later(*self.__dict__["_of"])
        object.__setattr__(copied, "_made", deepcopy(self.__dict__["_made"], memo))
        return copied

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Later) and self.is_empty() and other.is_empty():
            return True
        return bool(self._message() == (other._message() if isinstance(other, Later) else other))

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.__dict__['_of'][1]}()" if self.is_empty() else repr(self._message())


def _found(module: str, name: str) -> Any:
    """A message of TensorFlow's by its module here and its name, which may lie inside of another."""
    found = getattr(protos, module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _as_protobuf(message: Any) -> Any:
    return message._message() if isinstance(message, PlainMessage | Later) else message


def _fields(message: PlainMessage) -> tuple[Field[Any], ...]:
    return fields(message)  # type: ignore[arg-type]


def _default(field: Field[Any]) -> Any:
    """What a field is where nothing is said; of one that has to be given, the empty value of its kind."""
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    return {"str": "", "int": 0}.get(str(field.type))


def _is_default(field: Field[Any], value: Any) -> bool:
    if isinstance(value, Later):
        return value.is_empty()
    return bool(value == _default(field))


def _write_list(target: Any, values: list[Any]) -> None:
    for value in values:
        if isinstance(value, PlainMessage):
            value._write(target.add())
        elif hasattr(value, "SerializeToString"):
            target.add().CopyFrom(value)
        else:
            target.append(value)


__all__ = ["Later", "MessageList", "NumberByName", "PlainMessage"]
