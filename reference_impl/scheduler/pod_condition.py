"""The condition PodScheduled=False, as a patch of a pod's status.

Pure functions. Source: kube-scheduler updatePod, podutil.UpdatePodCondition (v1.36): the time of transition is that of
the last change of status, not of reason or message.
"""

from __future__ import annotations

from datetime import datetime

from dra_api.clock import timestamp
from dra_api.objects import Obj


def unscheduled(pod: Obj, reason: str, message: str, now: datetime) -> Obj:
    """Return a strategic merge patch with the reason why the pod is not scheduled."""
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    times = {"lastProbeTime": None, "lastTransitionTime": transition_time(pod, now)}
    return {"status": {"conditions": [{**condition, **times}]}}


def transition_time(pod: Obj, now: datetime) -> str:
    """Return the time of the last change of status: now, unless the condition was False already."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return str(condition.get("lastTransitionTime") or timestamp(now))
    return timestamp(now)
