"""The ClusterRole of a program under test: what its component writes, and read access. Never system:masters.

The writes are those of the reference component in the permission table. A program may send a patch instead of an
update, records Events, and may hold a Lease as leader; a driver may start Deployments and report on devices. Reading is
not limited, because programs read more than the reference does, and no read can change a result.

A program that brings a ClusterRole of its own writes volumes by that role only: KAI's chart lets its binder read
PersistentVolumes and not reserve them. All other writes stay, because the chart of KAI 0.12 is for Kubernetes 1.34,
whose API server checks less (DRA-097).
"""

from __future__ import annotations

from dra_api.client import KubeClient
from dra_api.objects import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Obj
from dra_conformance.rbac.roles import PREFIX, rules
from dra_conformance.rbac.table import COMPONENTS, needed

_READ: Obj = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
_EVENTS: Obj = {
    "apiGroups": ["", "events.k8s.io"],
    "resources": ["events"],
    "verbs": ["create", "patch", "update"],
}
_LEASES: Obj = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "patch", "update"]}
# KAI's programs keep the state of queues and pod groups, which the reference does not have.
_KAI: Obj = {"apiGroups": ["scheduling.run.ai"], "resources": ["*"], "verbs": ["*"]}
# NVIDIA's driver starts the MPS control daemon of a claim as a Deployment; the reference starts a program.
_DEPLOYMENTS: Obj = {
    "apiGroups": ["apps"],
    "resources": ["deployments"],
    "verbs": ["create", "delete", "patch", "update"],
}
# Entries of `status.devices`. Not limited to the driver's own name, as before Kubernetes 1.36: a refusal of the API
# server would hide that a driver overwrites the entries of others (rule NV-057b).
_DEVICE_STATUS: list[Obj] = [
    {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/status"], "verbs": ["patch", "update"]},
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims/driver"],
        "verbs": ["arbitrary-node:patch", "arbitrary-node:update"],
    },
]
# A driver updates and deletes slices when its pool changes; the reference publishes those of ComputeDomains once.
_SLICES: Obj = {
    "apiGroups": ["resource.k8s.io"],
    "resources": ["resourceslices"],
    "verbs": ["create", "delete", "patch", "update"],
}
_EITHER = {"update", "patch"}
_BY_OWN_ROLE = "persistentvolumes"
IN_PODS = ("compute-domain-daemon",)
"""The components whose programs run in pods, with the token of a service account."""


def user_of(component: str) -> str:
    """Return the user name of a program under test."""
    return f"{PREFIX}:target:{component}"


def objects(component: str, *, user: str = "", own_role: bool = False) -> list[Obj]:
    """Return the ClusterRole of a program under test and its binding to `user`, by default the one of `user_of`.

    `own_role`: the program brings a ClusterRole.
    """
    name = f"{PREFIX}-target-{component}"
    return [
        {
            "apiVersion": CLUSTER_ROLES.api_version,
            "kind": CLUSTER_ROLES.kind,
            "metadata": {"name": name},
            "rules": _rules(component, own_role=own_role),
        },
        {
            "apiVersion": CLUSTER_ROLE_BINDINGS.api_version,
            "kind": CLUSTER_ROLE_BINDINGS.kind,
            "metadata": {"name": name},
            "roleRef": {"apiGroup": CLUSTER_ROLES.group, "kind": CLUSTER_ROLES.kind, "name": name},
            "subjects": [{"kind": "User", "name": user or user_of(component), "apiGroup": CLUSTER_ROLES.group}],
        },
    ]


def grant(client: KubeClient, component: str, *, user: str = "", own_role: bool = False) -> None:
    """Create the role of a program under test and its binding; see `objects`. Raises ApiError."""
    role, binding = objects(component, user=user, own_role=own_role)
    client.create(CLUSTER_ROLES, role)
    client.create(CLUSTER_ROLE_BINDINGS, binding)


def _rules(component: str, *, own_role: bool) -> list[Obj]:
    found = [_READ]
    if component not in COMPONENTS:
        return found  # a webhook writes nothing
    rows = [row for row in needed([component]) if not (own_role and row.resource == _BY_OWN_ROLE)]
    for rule in rules(rows):
        verbs = set(rule["verbs"])
        found.append({**rule, "verbs": sorted(verbs | _EITHER if verbs & _EITHER else verbs)})
    found += [_EVENTS, _LEASES]
    if component == "driver":
        found += [_DEPLOYMENTS, *_DEVICE_STATUS]
    if component == "compute-domain-plugin":
        found.append(_SLICES)
    if component in ("scheduler", "binder"):
        found.append(_KAI)
    return found
