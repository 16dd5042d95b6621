"""The table of rights as RBAC objects: one ClusterRole for the harness, one for its cleanup, one for each of our components.

Pure functions: options in, objects out. ClusterRoles and not Roles, because a run makes its namespaces itself and so
cannot be given rights in them beforehand; RBAC has no rule for names that begin with something.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dra_api.objects import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Obj
from dra_conformance.core import assets, features
from dra_conformance.core.options import RunOptions
from dra_conformance.rbac.check import may_run_on_a_cluster
from dra_conformance.rbac.table import CLEANUP, COMPONENTS, HARNESS, Right, needed

PREFIX = "dra-conformance"
_LABELS = {"app.kubernetes.io/name": PREFIX}

# Profiles whose scenarios have no kubelet of ours and no driver on it; the other components are named by the tags.
_WITHOUT_NODES = frozenset({"api", "claim-lifecycle", "device-taints", "nvml", "scheduler-core", "webhook"})
_ON_NODES = ("kubelet", "driver")


@dataclass(frozen=True, slots=True)
class Subject:
    """Who gets the roles: a user, or a service account (`namespace` set)."""

    name: str
    namespace: str = ""

    def as_object(self) -> Obj:
        """As a binding names it."""
        if self.namespace:
            return {"kind": "ServiceAccount", "name": self.name, "namespace": self.namespace}
        return {"kind": "User", "name": self.name, "apiGroup": CLUSTER_ROLES.group}

    @property
    def user(self) -> str:
        """The user name that the API server knows."""
        return f"system:serviceaccount:{self.namespace}:{self.name}" if self.namespace else self.name


def holders(options: RunOptions) -> list[str]:
    """Whose rights a run needs: the harness, its cleanup, and the components that our own parts fill in these profiles."""
    ours = [
        component
        for component in COMPONENTS
        if options.component(component).kind == "reference" and takes_part(component, options.profile)
    ]
    return [HARNESS, CLEANUP, *ours]


def takes_part(component: str, profiles: Sequence[str]) -> bool:
    """Whether a scenario of these profiles (none: all), of those that may run on a cluster, uses a component."""
    if not profiles:
        return True
    if component in _ON_NODES:
        return bool(set(profiles) - _WITHOUT_NODES)
    return any(
        component in scenario.tags.components
        and set(profiles) & set(scenario.tags.profiles)
        and may_run_on_a_cluster(scenario)
        for scenario in features.read_all([assets.features()])
    )


def rights_of(options: RunOptions) -> dict[str, list[Right]]:
    """The rows that a run with these options needs, by holder."""
    return {holder: needed([holder], options.profile) for holder in holders(options)}


def objects(options: RunOptions, subject: Subject) -> list[Obj]:
    """ClusterRoles and their bindings, ready for `kubectl apply`."""
    found: list[Obj] = []
    for holder, rows in rights_of(options).items():
        name = PREFIX if holder == HARNESS else f"{PREFIX}-{holder}"
        found.append(
            {
                "apiVersion": CLUSTER_ROLES.api_version,
                "kind": CLUSTER_ROLES.kind,
                "metadata": {"name": name, "labels": dict(_LABELS)},
                "rules": rules(rows),
            }
        )
        found.append(
            {
                "apiVersion": CLUSTER_ROLE_BINDINGS.api_version,
                "kind": CLUSTER_ROLE_BINDINGS.kind,
                "metadata": {"name": name, "labels": dict(_LABELS)},
                "roleRef": {"apiGroup": CLUSTER_ROLES.group, "kind": CLUSTER_ROLES.kind, "name": name},
                "subjects": [subject.as_object()],
            }
        )
    return found


def rules(rows: Iterable[Right]) -> list[Obj]:
    """RBAC rules: one for each group and set of verbs."""
    verbs: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        verbs[row.group, row.resource].update(row.verbs)
    grouped: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource), held in sorted(verbs.items()):
        grouped[group, tuple(sorted(held))].append(resource)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": list(held)}
        for (group, held), resources in sorted(grouped.items())
    ]


def questions(options: RunOptions) -> Sequence[tuple[str, str, str, str]]:
    """Holder, API group, resource and verb of everything that a run needs, each once a holder."""
    return sorted(
        {
            (holder, row.group, row.resource, verb)
            for holder, rows in rights_of(options).items()
            for row in rows
            for verb in row.verbs
        }
    )
