"""Changes of cliques that no daemon makes: an entry with the address of no daemon pod, and a clique that is deleted.

Daemons correct both within moments, so each change is noted when a watch delivers it. Whether it was a daemon's is
decided later, from the pods: a new daemon writes its address before its pod has it, and the garbage collector deletes a
clique whose pods are gone.

Source: ours (rules NV-468 and NV-469).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from dra_api.clock import Clock
from dra_api.informer import Change
from dra_api.objects import Obj, meta, name_of, uid_of
from reference_impl.compute_domain.objects import is_deleting
from reference_impl.compute_domain.problems import Problem

_PATIENCE = 5.0
"""Seconds until a pod has the address that its daemon has written: more than a kubelet needs for a status."""


@dataclass(frozen=True, slots=True)
class _AddressEdit:
    """The address in a node's entry of a clique has changed, and the change may not be the daemon's own."""

    node: str
    before: str
    after: str
    at: float


class CliqueEdits:
    """The noted changes of all ComputeDomains. Informers note them, the controller's worker judges them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._addresses: dict[str, list[_AddressEdit]] = {}
        self._deleted: dict[str, list[Obj]] = {}

    def note(self, domain_uid: str, change: Change) -> None:
        """Note a change of a clique of a ComputeDomain that may not be a daemon's."""
        with self._lock:
            if change.type == "DELETED":
                self._deleted.setdefault(domain_uid, []).append(change.object)
            elif change.old is not None:
                edits = _address_edits(change.old, change.object, at=self._clock.monotonic())
                if edits:
                    self._addresses.setdefault(domain_uid, []).extend(edits)

    def has(self, domain_uid: str) -> bool:
        """Return whether changes of a ComputeDomain's cliques wait for a judgement."""
        with self._lock:
            return domain_uid in self._addresses or domain_uid in self._deleted

    def forget(self, domain_uid: str) -> None:
        """Drop the changes of a ComputeDomain."""
        with self._lock:
            self._addresses.pop(domain_uid, None)
            self._deleted.pop(domain_uid, None)

    def judge(self, domain_uid: str, cliques: Sequence[Obj], pods: Sequence[Obj]) -> tuple[list[Problem], float]:
        """Return the changes that no daemon has made, and the seconds until others can be judged; 0 if there are none.

        `cliques` and `pods` are those of the ComputeDomain now.
        """
        with self._lock:
            edits, deleted = self._addresses.pop(domain_uid, []), self._deleted.pop(domain_uid, [])
        living = [pod for pod in pods if not is_deleting(pod)]
        problems = [
            Problem("CliqueDeleted", f"ComputeDomainClique {name_of(clique)} was deleted while its daemons run")
            for clique in deleted
            if _owners(clique) & {uid_of(pod) for pod in living}
        ]
        now, open_edits = self._clock.monotonic(), []
        for edit in edits:
            addresses = {
                str((pod.get("status") or {}).get("podIP") or "")
                for pod in living
                if pod["spec"].get("nodeName") == edit.node
            }
            if not addresses or edit.after in addresses:
                continue
            corrected = edit.before in addresses and edit.before in _addresses(cliques, edit.node)
            if not corrected and now < edit.at + _PATIENCE:
                open_edits.append(edit)
            elif addresses != {""}:
                problems.append(
                    Problem(
                        "AddressChanged",
                        f"the address of {edit.node} was changed to {edit.after}, which is not its daemon's",
                    )
                )
        if not open_edits:
            return problems, 0.0
        with self._lock:
            self._addresses[domain_uid] = [*open_edits, *self._addresses.get(domain_uid, [])]
        return problems, min(edit.at for edit in open_edits) + _PATIENCE - now


def _address_edits(before: Obj, after: Obj, *, at: float) -> list[_AddressEdit]:
    """Return the entries of a clique whose address differs in its next version, which was seen at a time."""
    addresses = {daemon["nodeName"]: daemon.get("ipAddress", "") for daemon in before.get("daemons") or ()}
    return [
        _AddressEdit(daemon["nodeName"], addresses[daemon["nodeName"]], daemon.get("ipAddress", ""), at)
        for daemon in after.get("daemons") or ()
        if addresses.get(daemon["nodeName"], daemon.get("ipAddress", "")) != daemon.get("ipAddress", "")
    ]


def _owners(clique: Obj) -> set[str]:
    return {str(owner.get("uid")) for owner in meta(clique).get("ownerReferences") or ()}


def _addresses(cliques: Sequence[Obj], node: str) -> set[str]:
    return {
        str(daemon.get("ipAddress"))
        for clique in cliques
        for daemon in clique.get("daemons") or ()
        if daemon["nodeName"] == node
    }
