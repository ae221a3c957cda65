"""How commands print: nothing that a terminal would obey."""

from __future__ import annotations

from typing import TextIO

from graphflow._core.common.printable import printable_lines


def tell(text: str = "", to: TextIO | None = None) -> None:
    """Prints lines, at once, to standard output or elsewhere: the one way in which commands print.

    What is in them of files or of other programs cannot steer the terminal. A name that must not begin a line of its
    own goes through `printable` before.
    """
    print(printable_lines(text), file=to, flush=True)
