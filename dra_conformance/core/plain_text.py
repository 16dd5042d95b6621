"""Text of others for terminals and pages: without control characters, and not longer than its place."""

from __future__ import annotations

import re

_SPACES = re.compile(r"\s+")


def printable(text: str, *, limit: int | None = None) -> str:
    """Return the text in its lines, with a replacement character for each character that is not printable.

    Escape sequences, characters that reverse the direction of text, and those that XML does not allow are replaced.

    Args:
        text: any text, for example the output of a program under test.
        limit: the length of the result in characters, at most. A cut text ends with an ellipsis.
    """
    if text.isprintable():
        return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"
    # Cut first: the text may be long.
    cut = text[: limit - 1] + "…" if limit is not None and len(text) > limit else text
    lines = cut.expandtabs(1).splitlines()
    return "\n".join("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line) for line in lines)


def one_line(text: str, *, limit: int = 300) -> str:
    """Return the text as `printable` does, in one line."""
    # Spaces are joined before the cut, or a text that begins with many would be cut to nothing.
    return printable(_SPACES.sub(" ", text[: 10 * limit]).strip(), limit=limit)
