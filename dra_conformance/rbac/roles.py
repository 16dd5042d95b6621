"""The permission table as RBAC objects: ClusterRoles for the harness, its cleanup, and each reference component.

Pure functions. ClusterRoles instead of Roles, because a run creates its namespaces: a Role cannot exist in them before,
and RBAC has no rules for name prefixes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dra_api.objects import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Obj
from dra_conformance.core import assets, features
from dra_conformance.core.options import RunOptions
from dra_conformance.rbac.check import may_run_on_a_cluster
from dra_conformance.rbac.table import CLEANUP, COMPONENTS, HARNESS, Permission, needed

PREFIX = "dra-conformance"
_LABELS = {"app.kubernetes.io/name": PREFIX}

# Profiles whose scenarios have neither the harness's kubelet nor a driver; tags name the other components.
_WITHOUT_NODES = frozenset(
    {"api", "api-enforcement", "claim-lifecycle", "device-taints", "nvml", "scheduler-core", "webhook"}
)
_ON_NODES = ("kubelet", "driver")


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of the bindings: a user, or a service account (with `namespace`)."""

    name: str
    namespace: str = ""

    def as_object(self) -> Obj:
        """Return the subject of a binding."""
        if self.namespace:
            return {"kind": "ServiceAccount", "name": self.name, "namespace": self.namespace}
        return {"kind": "User", "name": self.name, "apiGroup": CLUSTER_ROLES.group}

    @property
    def user(self) -> str:
        """The user name in API requests."""
        return f"system:serviceaccount:{self.namespace}:{self.name}" if self.namespace else self.name


def needed_roles(options: RunOptions) -> list[str]:
    """Return the roles of a run: the harness, its cleanup, and the reference components that its profiles use."""
    ours = [
        component
        for component in COMPONENTS
        if options.component(component).kind == "reference"
        and takes_part(component, options.profile)
        and _has_nodes(component, options)
    ]
    return [HARNESS, CLEANUP, *ours]


def takes_part(component: str, profiles: Sequence[str]) -> bool:
    """Whether a scenario of these profiles (none: all) that can run on a cluster uses a component."""
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


def _has_nodes(component: str, options: RunOptions) -> bool:
    """Whether a component that runs on nodes has one: the kubelet of a cluster starts no plugin of the run."""
    return component != "compute-domain-plugin" or options.component("kubelet").kind not in ("cluster", "none")


def permissions_of(options: RunOptions) -> dict[str, list[Permission]]:
    """Return the rows that a run with these options needs, by role."""
    declared = options.supported_features or ()
    return {role: needed([role], options.profile, features=declared) for role in needed_roles(options)}


def objects(options: RunOptions, subject: Subject) -> list[Obj]:
    """Return ClusterRoles and bindings for `kubectl apply`."""
    found: list[Obj] = []
    for role, rows in permissions_of(options).items():
        name = PREFIX if role == HARNESS else f"{PREFIX}-{role}"
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


def rules(rows: Iterable[Permission]) -> list[Obj]:
    """Return RBAC rules, one per API group and set of verbs."""
    verbs: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for row in rows:
        verbs[row.group, row.resource].update(row.verbs)
    grouped: defaultdict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource), held in sorted(verbs.items()):
        # A rule grants all of its verbs on all of its resources, so only resources with the same verbs share one.
        grouped[group, tuple(sorted(held))].append(resource)
    return [
        {"apiGroups": [group], "resources": resources, "verbs": list(held)}
        for (group, held), resources in sorted(grouped.items())
    ]


def questions(options: RunOptions) -> Sequence[tuple[str, str, str, str]]:
    """Return role, API group, resource and verb of every permission of a run, each once per role."""
    return sorted(
        {
            (role, row.group, row.resource, verb)
            for role, rows in permissions_of(options).items()
            for row in rows
            for verb in row.verbs
        }
    )
