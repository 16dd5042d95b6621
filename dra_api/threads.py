"""Reports exceptions that a background thread survives.

A thread that catches every exception to go on with its next task must not hide them. It reports them through
`threading.excepthook`, as `threading` itself reports an exception that ends a thread: a program prints them to stderr,
and the harness, which installs a hook of its own, ends the scenario with an error.
"""

from __future__ import annotations

import threading


def report_exception(error: BaseException) -> None:
    """Report an unexpected exception of the current thread."""
    arguments = (type(error), error, error.__traceback__, threading.current_thread())
    threading.excepthook(threading.ExceptHookArgs(arguments))
