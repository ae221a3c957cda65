"""Tells griffe, which reads the sources, what the stubs' names stand for.

The package gives `gf.abs` away as `abs_` of another module when it is first asked for; a reader of sources sees
neither. Each becomes an alias of its definition here, so that the reference shows the signature and the docstring.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).resolve().parent))
from names import public_modules


class Namespaces(griffe.Extension):
    """Sets the public names of each module."""

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **kwargs: Any) -> None:
        """Replaces what the sources seem to say of each public name by an alias of its definition."""
        for module in public_modules():
            here = pkg if module.path == pkg.path else pkg[module.path.removeprefix(f"{pkg.path}.")]
            for name in module.names:
                if name.identifier == name.target != name.path:
                    here.members.pop(name.name, None)
                elif name.target != name.path and not name.of_others:
                    here.set_member(name.name, griffe.Alias(name.name, name.target, parent=here))
