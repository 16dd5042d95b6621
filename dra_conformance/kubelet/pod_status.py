"""A pod's status as a kubelet writes it: pure functions of the pod and the state of its containers.

The values are patches for the status subresource (strategic merge: conditions merge by type, container statuses
replace). Source: pkg/kubelet/kubelet_pods.go and status/generate.go, v1.36, for the fields that scenarios read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from dra_api.objects import Obj, uid_of
from dra_conformance.kubelet.pod_resize import Pending, Resources, in_status

Phase = Literal["Succeeded", "Failed"]

HOST_IP = "127.0.0.1"
"""The node's address in its own status and in that of its pods."""

_RESIZE_PENDING = "PodResizePending"
_CONDITIONS = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")


def waiting(pod: Obj, *, now: str, reason: str, message: str) -> Obj:
    """Containers do not start: `reason` is ContainerCreating, CreateContainerError or CreateContainerConfigError."""
    state = {"waiting": {"reason": reason, **({"message": message} if message else {})}}
    containers = pod["spec"].get("containers") or ()
    # The pod's sandbox exists by then; only its containers do not.
    started = reason != "ContainerCreating"
    return {
        "phase": "Pending",
        "startTime": _start_time(pod, now),
        "containerStatuses": [_container(pod, container, state, ready=False) for container in containers],
        "conditions": _conditions(
            pod,
            now,
            {
                "PodReadyToStartContainers": (started, "", ""),
                "Initialized": (True, "", ""),
                "ContainersReady": (False, "ContainersNotReady", message or "containers are not ready"),
                "Ready": (False, "ContainersNotReady", message or "containers are not ready"),
            },
        ),
    }


def running(
    pod: Obj,
    *,
    now: str,
    started_at: str,
    pod_ip: str,
    health: Mapping[str, list[dict[str, Any]] | None],
    ready: bool = True,
    restarts: int = 0,
    resources: Resources | None = None,
    pending: Pending | None = None,
) -> Obj:
    """All containers run; `health` is each container's allocatedResourcesStatus, `ready` what their probes say.

    `resources` are allocated to the containers, `pending` is a resize that is not done.
    """
    state = {"running": {"startedAt": started_at}}
    unready = (False, "ContainersNotReady", "containers are not ready")
    not_ready = {} if ready else {"ContainersReady": unready, "Ready": unready}
    statuses = []
    for container in pod["spec"].get("containers") or ():
        allocated = in_status((resources or {}).get(container["name"], {}))
        status = {**_container(pod, container, state, ready=ready), "restartCount": restarts, **allocated}
        if health.get(container["name"]):
            status["allocatedResourcesStatus"] = health[container["name"]]
        statuses.append(status)
    return {
        "phase": "Running",
        "startTime": _start_time(pod, now),
        "hostIP": HOST_IP,
        "hostIPs": [{"ip": HOST_IP}],
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "containerStatuses": statuses,
        **_init_statuses(pod, started_at),
        "conditions": [
            *_conditions(
                pod,
                now,
                {
                    **dict.fromkeys(_CONDITIONS, (True, "", "")),
                    **not_ready,
                    **({_RESIZE_PENDING: (True, pending.reason, pending.message)} if pending else {}),
                },
            ),
            *([] if pending else _without_condition(pod, _RESIZE_PENDING)),
        ],
    }


def ended(pod: Obj, *, now: str, phase: Phase, started_at: str) -> Obj:
    """All containers ended, with exit code 0 or 1; a pod that never ran has no container states."""
    code = 0 if phase == "Succeeded" else 1
    reason = "Completed" if code == 0 else "Error"
    terminated = {"exitCode": code, "reason": reason, "finishedAt": now, "startedAt": started_at or now}
    not_ready = (False, "PodCompleted" if code == 0 else "PodFailed", "")
    status: Obj = {
        "phase": phase,
        "conditions": _conditions(
            pod,
            now,
            {
                "PodReadyToStartContainers": (False, "", ""),
                "Initialized": (True, "", ""),
                "ContainersReady": not_ready,
                "Ready": not_ready,
            },
        ),
    }
    if started_at:
        status["containerStatuses"] = [
            _container(pod, container, {"terminated": terminated}, ready=False)
            for container in pod["spec"].get("containers") or ()
        ]
    return status


def rejected(pod: Obj, *, now: str, reason: str, message: str) -> Obj:
    """The kubelet does not admit the pod (kubelet.go, rejectPod)."""
    return {
        "phase": "Failed",
        "startTime": _start_time(pod, now),
        "reason": reason,
        "message": f"Pod was rejected: {message}",
    }


def _container(pod: Obj, container: Mapping[str, Any], state: Obj, *, ready: bool) -> Obj:
    status: Obj = {
        "name": container["name"],
        "image": container.get("image", ""),
        "ready": ready,
        "restartCount": 0,
        "started": ready,
        "state": state,
    }
    if "waiting" not in state:
        status["containerID"] = f"harness://{uid_of(pod)}/{container['name']}"
    return status


def _init_statuses(pod: Obj, started_at: str) -> Obj:
    statuses = []
    for container in pod["spec"].get("initContainers") or ():
        # A sidecar container runs as long as the pod.
        if container.get("restartPolicy") == "Always":
            statuses.append(_container(pod, container, {"running": {"startedAt": started_at}}, ready=True))
        else:
            done = {"exitCode": 0, "reason": "Completed", "startedAt": started_at, "finishedAt": started_at}
            statuses.append({**_container(pod, container, {"terminated": done}, ready=True), "started": False})
    return {"initContainerStatuses": statuses} if statuses else {}


def _start_time(pod: Obj, now: str) -> str:
    return str(pod.get("status", {}).get("startTime") or now)


def _conditions(pod: Obj, now: str, wanted: Mapping[str, tuple[bool, str, str]]) -> list[Obj]:
    held = {entry["type"]: entry for entry in pod.get("status", {}).get("conditions") or ()}
    conditions = []
    for kind, (value, reason, message) in wanted.items():
        status = "True" if value else "False"
        before = held.get(kind, {})
        since = before.get("lastTransitionTime") if before.get("status") == status else None
        conditions.append(
            {
                "type": kind,
                "status": status,
                # Always set, empty or not: a strategic merge patch would keep an old message that is left out.
                "reason": reason or None,
                "message": message or None,
                "lastTransitionTime": since or now,
            }
        )
    return conditions


def _without_condition(pod: Obj, kind: str) -> list[Obj]:
    """Return the entry that removes a condition, if the pod has it."""
    held = (entry["type"] for entry in pod.get("status", {}).get("conditions") or ())
    return [{"$patch": "delete", "type": kind}] if kind in held else []
