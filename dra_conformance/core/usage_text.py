"""Finds the cause in the output of a program that prints its usage when it ends.

Go's package flag prints the cause and then the usage; cobra, which programs of Kubernetes use, prints the error, the
usage, and the error again, or the usage and then the error. argparse of Python does the latter. The last lines of such
an output are then options.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_USAGE = re.compile(r"\s*usage(?: of [^:]+)?:", re.IGNORECASE)
_CAUSE = re.compile(
    r"(?i)(error\b|fatal\b|flag provided but not defined|unknown (shorthand )?(flag|command|option)"
    r"|invalid (value|argument)|missing\b|required\b|panic: |[\w./-]+: error: )"
)
"""How a line begins that says why a program does not start."""


def cause(lines: Sequence[str]) -> str:
    """Return the line with the cause from an output that has a usage; empty if it has none, or no cause.

    Args:
        lines: the last lines of the output, as far as they are kept.
    """
    starts = [at for at, line in enumerate(lines) if _USAGE.match(line)]
    if not starts:
        return ""
    # The last error: earlier ones may be of a start before this one.
    if found := next((line.strip() for line in reversed(lines) if _CAUSE.match(line)), ""):
        return found
    ends_with_it = all(not line or line[0].isspace() or line.endswith(":") for line in lines[starts[-1] + 1 :])
    # Go's package flag has the cause in the line before the usage, whatever its words.
    before = (line.strip() for line in reversed(lines[: starts[-1]]) if line.strip())
    return next(before, "") if ends_with_it else ""
