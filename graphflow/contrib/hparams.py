"""Hyperparameters with the types of their first values, to be overridden from text (tf.contrib.training.HParams)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from numbers import Integral, Number
from typing import Any, Final

_ASSIGNMENT: Final = re.compile(
    r"(?P<name>[a-zA-Z][\w.]*)(?:\[\s*(?P<index>\d+)\s*\])?\s*=\s*(?:(?P<one>[^,\[]*)|\[(?P<several>[^\]]*)\])(?:$|,\s*)"
)
"""name=value, name[index]=value or name=[value,value], and what separates it from the next."""


def _cast(name: str, wanted: type, value: Any) -> Any:
    """The value as a parameter's type: only an integer may become a float; ValueError otherwise."""
    text = (str, bytes)
    if type(value) is wanted or wanted is type(None):
        return value
    refused = (
        (issubclass(wanted, text) and not isinstance(value, text))
        or issubclass(wanted, bool) != isinstance(value, bool)
        or (issubclass(wanted, Integral) and not isinstance(value, Integral))
        or (issubclass(wanted, Number) and not isinstance(value, Number))
    )
    if refused:
        raise ValueError(f"Could not cast hparam '{name}' of type '{wanted}' from value {value!r}")
    return wanted(value)


def _truth(text: str) -> bool:
    named = {"true": True, "True": True, "false": False, "False": False}
    return named[text] if text in named else bool(int(text))


def parse_values(values: str, type_map: Mapping[str, type], ignore_unknown: bool = False) -> dict[str, Any]:
    """{name: value} from text such as "a=1,b=[2,3]" (tf.contrib.training.parse_values).

    "c[1]=4" gives {"c": {1: 4}}.

    Args:
        values: The text.
        type_map: The types of names.
        ignore_unknown: Leaves other names out.

    Raises:
        ValueError: If the text is malformed, a name is unknown or given twice, or a value has another type.
    """
    found: dict[str, Any] = {}
    position = 0
    while position < len(values):
        match = _ASSIGNMENT.match(values, position)
        if match is None:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = match.end()
        name, index, one, several = match.group("name", "index", "one", "several")
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        if several is not None and index is not None:
            raise ValueError(f"Assignment of a list to a list index: {match.group().strip()}")
        wanted = type_map[name]
        read: Any = _truth if wanted is bool else wanted
        try:
            parsed = (
                read(one) if several is None else [read(each) for each in re.split("[ ,]", several) if each]
            )
        except ValueError as error:
            raise ValueError(
                f"Could not parse hparam '{name}' of type '{wanted.__name__}' in {values}: {error}"
            ) from None
        taken = found.get(name)
        if name in found and (index is None or not isinstance(taken, dict) or int(index) in taken):
            raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
        if index is None:
            found[name] = parsed
        else:
            found.setdefault(name, {})[int(index)] = parsed
    return found


class HParams:
    """Hyperparameters as attributes (tf.contrib.training.HParams).

    Each keeps the type of its first value, or of a list's first element: integers may be given for floats, nothing
    else is converted.

    Args:
        hparam_def: A message of hyperparameters, or None.
        model_structure: Whatever goes with them.
        **kwargs: The hyperparameters.
    """

    def __init__(self, hparam_def: None = None, model_structure: Any = None, **kwargs: Any) -> None:
        if hparam_def is not None:
            raise ValueError(
                "HParams: a protobuf message is not read; give the values as keywords, or use parse_json."
            )
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        for name, value in kwargs.items():
            self.add_hparam(name, value)

    def add_hparam(self, name: str, value: Any) -> None:
        """Adds one.

        Args:
            name: Its name.
            value: Its value.

        Raises:
            ValueError: If the name is taken, or the value an empty list.
        """
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        several = isinstance(value, list | tuple)
        if several and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._hparam_types[name] = (type(value[0] if several else value), several)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Changes one.

        Args:
            name: Its name.
            value: Its new value.

        Raises:
            ValueError: If the value has another type.
            KeyError: If there is none of that name.
        """
        wanted, several = self._hparam_types[name]
        if isinstance(value, list) != several:
            kind = "a list for multi-valued" if several else "no list for single-valued"
            raise ValueError(f"Must pass {kind} parameter: {name}")
        changed = [_cast(name, wanted, each) for each in value] if several else _cast(name, wanted, value)
        setattr(self, name, changed)

    def del_hparam(self, name: str) -> None:
        """Takes one out, if there is one of that name.

        Args:
            name: Its name.
        """
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Changes those in a text such as "a=1,b=[2,3]"; returns itself. For errors see parse_values.

        Args:
            values: The text.
        """
        types = {name: wanted for name, (wanted, _) in self._hparam_types.items()}
        return self.override_from_dict(parse_values(values, types))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Changes those of a dictionary; returns itself.

        Args:
            values_dict: {name: value}.
        """
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    set_from_map = override_from_dict

    def parse_json(self, values_json: str) -> HParams:
        """Changes those of a JSON object; returns itself.

        Args:
            values_json: The text.
        """
        return self.override_from_dict(json.loads(values_json))

    def to_json(
        self,
        indent: int | str | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        """All as a JSON object; the arguments are json.dumps's.

        Args:
            indent: As of json.dumps.
            separators: As of json.dumps.
            sort_keys: As of json.dumps.
        """
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def values(self) -> dict[str, Any]:
        """All, by name."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """One, or the default if there is none.

        Args:
            key: The name.
            default: What is given if there is none.

        Raises:
            ValueError: If the default has another type.
        """
        if key not in self._hparam_types:
            return default
        wanted, several = self._hparam_types[key]
        if default is not None:
            if several != isinstance(default, list):
                raise ValueError(f"Hparam '{key}' of type '{wanted}' is incompatible with default={default}")
            for value in default if several else [default]:
                _cast(key, wanted, value)
        return getattr(self, key)

    def set_model_structure(self, model_structure: Any) -> None:
        """Sets what goes with the hyperparameters.

        Args:
            model_structure: Anything.
        """
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        """What goes with the hyperparameters."""
        return self._model_structure

    def __getattr__(self, name: str) -> Any:
        known = ", ".join(self.__dict__.get("_hparam_types", ()))
        raise AttributeError(f"HParams has no hyperparameter {name!r}: it has {known or 'none'}.", name=name)

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.values().items())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({sorted(self.values().items())})"
