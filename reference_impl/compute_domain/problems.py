"""Problems of a ComputeDomain that its user can see: what they are, and the condition that shows them. Pure functions.

NVIDIA's ComputeDomain API has no conditions; the CRD in fixtures/crds adds `status.conditions`. An API server with
NVIDIA's CRD drops the field.

Source: ours (rules NV-468 to NV-470); the fields follow Kubernetes API conventions, "Typical status properties".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dra_api.objects import Obj, meta

CONDITION: Final = "Degraded"
HAPPENED: Final = frozenset({"AddressChanged", "CliqueDeleted"})
"""Reasons of problems that are over when they are found. Their condition stays until the ComputeDomain is Ready."""
EVENT_ONLY: Final = frozenset({"NodeRemoved"})
"""Reasons without a condition: an entry may also stay for a moment when a job ends as it should."""
_MESSAGE_LIMIT = 4096
_RESOLVED = "Resolved"


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a ComputeDomain: a reason in CamelCase, and a message for its user."""

    reason: str
    message: str


def conditions_of(domain: Obj) -> list[Obj]:
    """Return the conditions in a ComputeDomain's status."""
    return list((domain.get("status") or {}).get("conditions") or ())


def conditions(domain: Obj, problems: Sequence[Problem], *, ready: bool, now: str) -> list[Obj]:
    """Return the conditions that a ComputeDomain is to have; none if it has never had a problem.

    A condition of another type stays. `ready`: whether the ComputeDomain is Ready.
    """
    found = conditions_of(domain)
    current = next((one for one in found if one["type"] == CONDITION), None)
    active = current is not None and current["status"] == "True"
    if problems:
        wanted = {
            "status": "True",
            "reason": problems[0].reason,
            "message": "; ".join(dict.fromkeys(problem.message for problem in problems))[:_MESSAGE_LIMIT],
        }
    elif current is None or not active or (current["reason"] in HAPPENED and not ready):
        return found
    else:
        wanted = {
            "status": "False",
            "reason": _RESOLVED,
            "message": f"resolved: {current['message']}"[:_MESSAGE_LIMIT],
        }
    changed = current is None or current["status"] != wanted["status"]
    entry = {
        "type": CONDITION,
        **wanted,
        "observedGeneration": int(meta(domain).get("generation") or 0),
        "lastTransitionTime": now if current is None or changed else current["lastTransitionTime"],
    }
    return [*(one for one in found if one["type"] != CONDITION), entry]
