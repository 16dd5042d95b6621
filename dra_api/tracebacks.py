"""Formats tracebacks without parsing source code.

To mark the column of an error, `traceback` and pytest parse the source of each frame with `ast`. Before Python 3.13,
`ast.parse` raises SystemError if two threads use it at the same time (github.com/python/cpython, issue 106905). Threads
of components fail at any time, therefore all tracebacks of this project are made here, without columns.
"""

from __future__ import annotations

import logging
import traceback
from types import TracebackType


def format_traceback(error: BaseException) -> str:
    """Return the traceback of an exception and of those that led to it, ending with a newline."""
    outermost = traceback.TracebackException.from_exception(error)
    pending: list[traceback.TracebackException | None] = [outermost]
    while pending:
        one = pending.pop()
        if one is None:
            continue
        for frame in one.stack:
            frame.colno = None  # without it, no column is marked
        pending += [one.__cause__, one.__context__, *(one.exceptions or ())]
    return "".join(outermost.format())


class PlainFormatter(logging.Formatter):
    """A formatter of log records whose tracebacks come from `format_traceback`."""

    def formatException(  # noqa: N802 - the name is logging's
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        """Return the traceback of the exception of a record, without a final newline."""
        return format_traceback(ei[1]).rstrip("\n") if ei[1] is not None else ""
