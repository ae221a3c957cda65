"""Variable creators: functions that are asked for each new gf.Variable in a block, and may make it otherwise.

This is how a distribution strategy makes copies of variables without the model's code knowing. A creator gets the next
one in line and the arguments by name, those of gf.Variable and what outer creators added.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from graphflow._core.graph.defaults import get_default_graph

Creator = Callable[..., Any]


class Creatable(type):
    """The class of gf.Variable: a call goes through the creators in force. Derived classes are made directly."""

    if not TYPE_CHECKING:  # A type checker is to see the parameters of the class, not these.

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            """A variable, or what a creator made in its place."""
            make = partial(type.__call__, cls)
            creators = get_default_graph().scopes.creators
            if not creators or "_creatable" not in cls.__dict__ or kwargs.get("variable_def") is not None:
                return make(*args, **kwargs)
            build = cls.__dict__["__init__"]
            given = dict(zip(list(inspect.signature(build).parameters)[1:], args, strict=False)) | kwargs
            for creator in creators:
                make = partial(creator, make)
            return make(**given)


@contextmanager
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """Asks `variable_creator(next_creator, **arguments)` for each gf.Variable in the block (tf.variable_creator_scope).

    It returns the variable, as a rule what next_creator(**arguments) made. The innermost creator is asked first. Holds
    for the default graph and this thread.

    Args:
        variable_creator: A function of the next creator and of the arguments of a variable.
    """
    scopes = get_default_graph().scopes
    outer = scopes.creators
    inner = scopes.creators = (*outer, variable_creator)
    try:
        yield
    finally:
        if scopes.creators is not inner:
            raise RuntimeError(
                "Exiting variable_creator_scope without proper nesting: it is not the innermost."
            )
        scopes.creators = outer
