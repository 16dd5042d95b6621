"""By which fields pods can be selected, and the columns that `kubectl get pods` shows.

Source: pkg/registry/core/pod/strategy.go (ToSelectableFields), pkg/printers/internalversion.
"""

from __future__ import annotations

from collections.abc import Mapping

from apiserver_emulator.resource_types import Column
from dra_api.objects import Obj


def pod_fields(pod: Obj) -> Mapping[str, str]:
    """Field selectors of pods."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    return {
        "spec.nodeName": spec.get("nodeName", ""),
        "spec.restartPolicy": spec.get("restartPolicy", ""),
        "spec.schedulerName": spec.get("schedulerName", ""),
        "spec.serviceAccountName": spec.get("serviceAccountName", ""),
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "status.phase": status.get("phase", ""),
        "status.podIP": status.get("podIP", ""),
        "status.nominatedNodeName": status.get("nominatedNodeName", ""),
    }


def pod_columns() -> tuple[Column, ...]:
    """Return the columns that kubectl prints for pods."""

    def statuses(pod: Obj) -> list[Obj]:
        return list((pod.get("status") or {}).get("containerStatuses") or ())

    def ready(pod: Obj) -> object:
        total = len((pod.get("spec") or {}).get("containers") or ())
        return f"{sum(1 for s in statuses(pod) if s.get('ready'))}/{total}"

    def phase(pod: Obj) -> object:
        if "deletionTimestamp" in pod["metadata"]:
            return "Terminating"
        for entry in statuses(pod):
            state = entry.get("state") or {}
            for kind in ("waiting", "terminated"):
                if state.get(kind, {}).get("reason"):
                    return state[kind]["reason"]
        status = pod.get("status") or {}
        for condition in status.get("conditions") or ():
            if condition.get("reason") == "SchedulingGated":
                return "SchedulingGated"
        return status.get("reason") or status.get("phase", "")

    def node(pod: Obj) -> object:
        return (pod.get("spec") or {}).get("nodeName") or "<none>"

    return (
        Column("Ready", ready),
        Column("Status", phase),
        Column("Restarts", lambda pod: str(sum(int(s.get("restartCount", 0)) for s in statuses(pod)))),
        Column("Age", lambda pod: pod["metadata"].get("creationTimestamp", ""), type="date"),
        Column("IP", lambda pod: (pod.get("status") or {}).get("podIP") or "<none>", priority=1),
        Column("Node", node, priority=1),
        Column(
            "Nominated Node", lambda pod: (pod.get("status") or {}).get("nominatedNodeName") or "<none>", priority=1
        ),
        Column("Readiness Gates", lambda pod: "<none>", priority=1),
    )
