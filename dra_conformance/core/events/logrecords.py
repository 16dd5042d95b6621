"""Brings what the parts say through `logging` into the event log, warnings and worse.

Attached between `attach` and `detach`; a part's complaint stands in the timeline where it happened, instead of in a
terminal that nobody reads.
"""

from __future__ import annotations

import logging

from dra_conformance.core.events.log import EventLog

_LOGGERS = ("dra_api", "fake_nvml", "reference_impl", "dra_conformance")
_LIMIT = 4000


class LogRecords(logging.Handler):
    """A handler that emits `log` events."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self.setFormatter(logging.Formatter("%(message)s"))

    def attach(self) -> None:
        """Listen to the loggers of all our packages."""
        for name in _LOGGERS:
            logging.getLogger(name).addHandler(self)

    def detach(self) -> None:
        """Listen no more."""
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        self._log.emit("log", level=record.levelname, logger=record.name, text=self.format(record)[-_LIMIT:])
