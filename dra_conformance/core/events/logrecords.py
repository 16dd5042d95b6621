"""Copies warnings and errors of the `logging` module into the event log, so that they appear in the timeline."""

from __future__ import annotations

import logging

from dra_api.tracebacks import PlainFormatter
from dra_conformance.core.events.kinds import LogRecord
from dra_conformance.core.events.log import EventLog

_LOGGERS = ("dra_api", "fake_nvml", "reference_impl", "dra_conformance")
_LIMIT = 4000


class LogRecords(logging.Handler):
    """A logging handler that emits `log` events between `attach` and `detach`."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self.setFormatter(PlainFormatter("%(message)s"))

    def attach(self) -> None:
        """Add the handler to the loggers of all packages of the project."""
        for name in _LOGGERS:
            logging.getLogger(name).addHandler(self)

    def detach(self) -> None:
        """Remove the handler."""
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Emit one record as an event."""
        self._log.emit(LogRecord(level=record.levelname, logger=record.name, text=self.format(record)[-_LIMIT:]))
