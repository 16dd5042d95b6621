"""Binding a pod to a node, as `pods/binding` does it, and conditions, which kubelets and controllers set alike.

Stateless. Source: pkg/registry/core/pod/storage/storage.go (binding), release 1.36.
"""

from __future__ import annotations

from dra_api.objects import Obj
from dra_api.status import FieldError, StatusError, conflict, not_supported, precondition_failed, required


def bind(pod: Obj, binding: Obj, *, now: str) -> Obj:
    """Assign a pod (a private copy) to a node. Raises 409 or 422 as BindingREST does."""
    name = pod["metadata"]["name"]
    target = binding.get("target") or {}
    errors: list[FieldError] = []
    if target.get("kind") not in (None, "", "Node"):
        errors.append(not_supported("target.kind", target.get("kind"), ["Node", "<empty>"]))
    if not target.get("name"):
        errors.append(required("target.name"))
    if errors:
        # The registry returns a list of field errors as it is: no Status, hence 500.
        text = str(errors[0]) if len(errors) == 1 else "[" + ", ".join(map(str, errors)) + "]"
        raise StatusError(500, "", text)
    meta = binding.get("metadata") or {}
    if meta.get("uid") and meta["uid"] != pod["metadata"]["uid"]:
        raise precondition_failed("", "pods", pod["metadata"], uid=meta["uid"])
    if "deletionTimestamp" in pod["metadata"]:
        raise _binding_conflict(name, f"pod {name} is being deleted, cannot be assigned to a host")
    bound = pod["spec"].get("nodeName")
    if bound:
        raise _binding_conflict(name, f'pod {name} is already assigned to node "{bound}"')
    if pod["spec"].get("schedulingGates"):
        raise _binding_conflict(name, f"pod {name} has non-empty .spec.schedulingGates")
    pod["spec"]["nodeName"] = target["name"]
    if meta.get("annotations"):
        pod["metadata"].setdefault("annotations", {}).update(meta["annotations"])
    if meta.get("labels"):
        # KEP-4742: node topology labels may come along with the binding
        pod["metadata"].setdefault("labels", {}).update(meta["labels"])
    status = pod.setdefault("status", {})
    # lastProbeTime is null: Go writes a zero metav1.Time without omitempty like that.
    set_condition(status, {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now})
    return pod


def _binding_conflict(name: str, detail: str) -> StatusError:
    return conflict("", "pods/binding", name, detail)


def set_condition(status: Obj, condition: Obj) -> None:
    """Replace a condition of the same type, keeping its transition time when its status stays."""
    conditions = status.setdefault("conditions", [])
    for at, found in enumerate(conditions):
        if found.get("type") == condition["type"]:
            if found.get("status") == condition["status"]:
                condition = {**condition, "lastTransitionTime": found.get("lastTransitionTime")}
            conditions[at] = condition
            return
    conditions.append(condition)
