"""Messages built from their fields, for those of TensorFlow's that the tensorboard package does not carry.

A field is written as in a .proto file. What is on the wire depends on the numbers and types alone, so a message read by
such a class is TensorFlow's own; the package it is registered under is ours, so that a later tensorboard may bring the
same message without a clash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, Final

_PACKAGE: Final = "graphflow"
_FIELD: Final = re.compile(
    r"(?:oneof (?P<oneof>\w+) )?(?P<repeated>repeated )?(?:map<(?P<key>\w+), )?(?P<type>[\w.]+)(?(key)>)"
    r" (?P<name>\w+) = (?P<number>\d+)"
)


def messages(
    name: str, definitions: Mapping[str, Iterable[str]], imports: Iterable[ModuleType] = ()
) -> dict[str, Any]:
    """Classes of protobuf messages (and enums), by name, from their definitions in the syntax of proto3.

    `definitions` maps "Message" or "Outer.Inner" to its fields, each as "int64 size = 1", "repeated string names = 2",
    "map<string, Inner> by_name = 3" or "oneof kind Inner choice = 4", and "enum Name" to its values, as "ZERO = 0". An
    outer message stands before its inner ones. A type is a scalar, a name of `definitions` or a message or enum of one
    of `imports`, which are modules of graphflow.protos.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(
        name=f"{_PACKAGE}/protos/{name}.proto", package=_PACKAGE, syntax="proto3"
    )
    types: dict[
        str, tuple[bool, str]
    ] = {}  # by the name used in a field: whether it is an enum, its full name
    for module in imports:
        file.dependency.append(module.DESCRIPTOR.name)
        for message in module.DESCRIPTOR.message_types_by_name.values():
            _collect(message, message.name, types)
        for enum in module.DESCRIPTOR.enum_types_by_name.values():
            types[enum.name] = True, f".{enum.full_name}"
    for key in definitions:
        bare = key.removeprefix("enum ")
        types[bare] = bare != key, f".{_PACKAGE}.{bare}"
    made: dict[str, Any] = {}
    for key, lines in definitions.items():
        if key.startswith("enum "):
            enum = file.enum_type.add(name=key.removeprefix("enum "))
            for line in lines:
                value, number = line.split(" = ")
                enum.value.add(name=value, number=int(number))
            continue
        outer, _, inner = key.rpartition(".")
        made[key] = (made[outer].nested_type if outer else file.message_type).add(name=inner)
        for line in lines:
            _add_field(made[key], f"{_PACKAGE}.{key}", line, types)
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    described = pool.FindFileByName(file.name)
    classes: dict[str, Any] = {"DESCRIPTOR": described}
    for message_name, message in described.message_types_by_name.items():
        classes[message_name] = message_factory.GetMessageClass(message)
    for enum_name, enum in described.enum_types_by_name.items():
        from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

        classes[enum_name] = EnumTypeWrapper(enum)
        classes |= {value.name: value.number for value in enum.values}
    return classes


def _collect(message: Any, name: str, types: dict[str, tuple[bool, str]]) -> None:
    types[name] = False, f".{message.full_name}"
    for inner in message.nested_types:
        _collect(inner, f"{name}.{inner.name}", types)
    for enum in message.enum_types:
        types[f"{name}.{enum.name}"] = True, f".{enum.full_name}"


def _add_field(message: Any, full_name: str, line: str, types: Mapping[str, tuple[bool, str]]) -> None:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto

    found = _FIELD.fullmatch(line)
    if found is None:
        raise ValueError(f"{full_name}: {line!r} is not written as a field of a .proto file.")
    field = message.field.add(name=found["name"], number=int(found["number"]))
    many = bool(found["repeated"] or found["key"])
    field.label = FieldDescriptorProto.LABEL_REPEATED if many else FieldDescriptorProto.LABEL_OPTIONAL
    if found["oneof"]:
        groups = [group.name for group in message.oneof_decl]
        if found["oneof"] not in groups:
            message.oneof_decl.add(name=found["oneof"])
            groups.append(found["oneof"])
        field.oneof_index = groups.index(found["oneof"])
    if found["key"]:
        entry = message.nested_type.add(name=found["name"].title().replace("_", "") + "Entry")
        entry.options.map_entry = True
        _add_field(entry, f"{full_name}.{entry.name}", f"{found['key']} key = 1", types)
        _add_field(entry, f"{full_name}.{entry.name}", f"{found['type']} value = 2", types)
        field.type, field.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{full_name}.{entry.name}"
    elif found["type"] in types:
        is_enum, field.type_name = types[found["type"]]
        field.type = FieldDescriptorProto.TYPE_ENUM if is_enum else FieldDescriptorProto.TYPE_MESSAGE
    else:
        field.type = FieldDescriptorProto.Type.Value(f"TYPE_{found['type'].upper()}")
