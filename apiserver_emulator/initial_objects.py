"""The objects of a new cluster: namespaces, and the cluster-admin role with its binding."""

from __future__ import annotations

import copy
from typing import Any

from dra_api.clock import micro_timestamp
from dra_api.objects import Obj


def first_objects(now: Any) -> list[tuple[tuple[str, str], Obj]]:
    """Return the objects of a new cluster: four namespaces, and the cluster-admin role with its binding."""
    created = micro_timestamp(now)[:19] + "Z"
    found: list[tuple[tuple[str, str], Obj]] = []
    for name in ("default", "kube-node-lease", "kube-public", "kube-system"):
        found.append(
            (
                ("", "namespaces"),
                {
                    "apiVersion": "v1",
                    "kind": "Namespace",
                    "metadata": {
                        "name": name,
                        "creationTimestamp": created,
                        "labels": {"kubernetes.io/metadata.name": name},
                    },
                    "spec": {"finalizers": ["kubernetes"]},
                    "status": {"phase": "Active"},
                },
            )
        )
    rbac, name = "rbac.authorization.k8s.io", "cluster-admin"
    everything = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    meta = {"name": name, "creationTimestamp": created, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}
    common: Obj = {"apiVersion": f"{rbac}/v1", "metadata": meta}
    found.append(((rbac, "clusterroles"), {**common, "kind": "ClusterRole", "rules": everything}))
    binding = {
        **common,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": rbac, "kind": "Group", "name": "system:masters"}],
    }
    found.append(((rbac, "clusterrolebindings"), binding))
    # The role and its binding share their metadata until here.
    return [(key, copy.deepcopy(obj)) for key, obj in found]
