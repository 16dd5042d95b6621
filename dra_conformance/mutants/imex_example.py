"""Mutants of the documented example of IMEX channels: its BindRequest and its claim."""

from __future__ import annotations

from dra_api.objects import Obj
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.bind_requests_binder import change_new_status
from dra_conformance.mutants.bind_requests_made import change_entries, change_request, change_spec


@mutant("request-with-backoff-limit", rule="KAI-236")
def _(patch: Patch) -> None:
    """The BindRequest has a backoffLimit, which the documented one does not have."""
    change_spec(patch, backoffLimit=3)


@mutant("request-with-label-of-its-own", rule="KAI-236")
def _(patch: Patch) -> None:
    """The BindRequest has a label of the scheduler beside the documented ones."""
    change_request(patch, lambda request, pod, node: request["metadata"]["labels"].update({"scheduler": "own"}))


@mutant("entry-with-time-of-allocation", rule="KAI-236")
def _(patch: Patch) -> None:
    """The entry of a claim has the time of its allocation, which is not known before the binder writes it."""

    def change(entries: list[Obj]) -> list[Obj]:
        for entry in entries:
            entry["allocation"]["allocationTimestamp"] = "2026-01-01T00:00:00Z"
        return entries

    change_entries(patch, change)


@mutant("claim-reserved-for-its-node-too", rule="KAI-237")
def _(patch: Patch) -> None:
    """The binder reserves the claim for another consumer beside the pod."""

    def change(status: Obj, claim: Obj, pod: Obj) -> None:
        own = status["reservedFor"][0]
        status["reservedFor"].append({"resource": "nodes", "name": own["name"], "uid": f"{own['uid']}-node"})

    change_new_status(patch, change)
