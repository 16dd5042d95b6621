"""Ends a session on Ctrl-C and SIGTERM with a report.

An event that is half written would look like a log that another program changed, so the interrupt waits for its end.
"""

from __future__ import annotations

import pytest

from dra_conformance.core.events.log import EventLog
from dra_conformance.core.interrupts import Interrupts


class SessionInterrupts(Interrupts):
    """A pytest plugin that handles SIGINT and SIGTERM during a session."""

    def __init__(self) -> None:
        super().__init__(whole=(EventLog.emit.__code__, EventLog.append.__code__))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Ignore further signals while the session stops its components and writes the report.

        pytest also calls this hook when it stops early for another reason (`-x`, `session.shouldstop`).
        """
        if excinfo.type is KeyboardInterrupt:
            self.ignore()
