"""The event log: all that happened in a run, in order. Every report is computed from it and from nothing else."""

from dra_conformance.core.events.log import Event, EventLog, read

__all__ = ["Event", "EventLog", "read"]
