"""Faults between a component and its API server: refusals, lost answers, slow answers, broken watches.

One vocabulary (`model`), two doors: `transport` for reference parts in this process, `proxy` for programs outside it.
Both ask the same `FaultPoints`, so a scenario arranges a fault once and every kind of component meets it.
"""

from dra_conformance.faults.aim import Aim, Volley
from dra_conformance.faults.model import Call, Cut, Fault, FaultPoints
from dra_conformance.faults.transport import FaultyTransport

__all__ = ["Aim", "Call", "Cut", "Fault", "FaultPoints", "FaultyTransport", "Volley"]
