"""Starts background threads, and reports exceptions that they survive.

A thread that catches every exception to go on with its next task must not hide them. It reports them through
`threading.excepthook`, as `threading` itself reports an exception that ends a thread: a program prints them to stderr,
and the harness, which installs a hook of its own, ends the scenario with an error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


def started(target: Callable[[], object], *, name: str) -> threading.Thread:
    """Start a daemon thread and return it.

    A caller that keeps only what this returns never joins a thread that an interrupt kept from starting.
    """
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread


def report_exception(error: BaseException) -> None:
    """Report an unexpected exception of the current thread."""
    arguments = (type(error), error, error.__traceback__, threading.current_thread())
    threading.excepthook(threading.ExceptHookArgs(arguments))
