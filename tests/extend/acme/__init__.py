"""A small extension, as somebody else would write it: of graphflow it imports the public names and graphflow.extend.

Its ops are there once it is imported; its pass and its rewrite once they are asked for.
"""

from tests.extend.acme.layers import lion, quick_gelu, row_norm, ticks
from tests.extend.acme.planning import add_negative, install
from tests.extend.acme.training import MirroredByTree, TreeReducer

__all__ = [
    "MirroredByTree",
    "TreeReducer",
    "add_negative",
    "install",
    "lion",
    "quick_gelu",
    "row_norm",
    "ticks",
]
