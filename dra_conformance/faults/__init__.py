"""Fault injection between a component and its API server: errors, lost and slow responses, broken watches.

`transport` injects faults for reference components in this process, `proxy` for other programs. Both use the same
`FaultPoints`, so that a scenario arranges a fault once for every kind of component.
"""

from dra_conformance.faults.aim import Aim, Volley
from dra_conformance.faults.model import Call, Cut, Fault, FaultPoints, Silence
from dra_conformance.faults.transport import FaultyTransport

__all__ = ["Aim", "Call", "Cut", "Fault", "FaultPoints", "FaultyTransport", "Silence", "Volley"]
