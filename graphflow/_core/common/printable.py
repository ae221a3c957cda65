"""Text of files and of other programs as it may go to a terminal or a log.

A terminal obeys some characters: they move the cursor, change what was printed before, set titles, or give it commands.
So names in a checkpoint, or what another machine says, are printed as this function gives them.
"""

from __future__ import annotations


def printable(text: str, keep: str = "") -> str:
    r"""The text with everything that cannot be printed written as an escape, such as \x1b; a backslash stays one.

    keep: characters that stay as well, such as a newline. What changes the direction of writing, and halves of
    characters, count as not printable.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape", "surrogatepass").decode("ascii")
        for c in text
    )


def printable_lines(text: str) -> str:
    """The same for text that may have several lines and tabs.

    Args:
        text: The text.

    Returns:
        The text with escapes for what a terminal would obey.
    """
    return printable(text, "\n\t")
