"""Objects as sentences name them: `ResourceClaim "mine"`, or by their pod: `BindRequest of pod "train"`.

The PodGroup of a pod is the one of KAI that its annotation names.

Cluster-scoped names are the scenario's own: `Node "n1"` is the node whose real name is `$(node:n1)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dra_api.objects import (
    BIND_REQUESTS,
    DEVICE_TAINT_RULES,
    POD_GROUPS,
    PODS,
    RESOURCE_CLAIMS,
    TAINT_RULE_VERSIONS,
    Obj,
    Resource,
    controller_of,
    meta,
    uid_of,
)
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.world import World
from dra_conformance.steps.objects import resource_named

POD_GROUP_NAME = "pod-group-name"
"""The annotation with which a pod names its PodGroup of KAI."""
_REFERENCE = re.compile(r'(\w+) (of pod )?"([^"]*)"')


@dataclass
class Known:
    """Names that a scenario gives to generated claims, and uids of pods and replaced objects that it needs later."""

    claims: dict[str, str] = field(default_factory=dict)
    pods: dict[str, str] = field(default_factory=dict)
    former: dict[str, str] = field(default_factory=dict)


def claim_name(world: World, claim: str) -> str:
    """Return the real name of a claim: that of a generated claim if a step gave it this name."""
    return world.state(Known).claims.get(claim, claim)


def requests_of(world: World, pod: str) -> list[Obj]:
    """Return the BindRequests that name a pod, as last seen, without those being deleted."""
    return [
        request
        for request in world.all_seen(BIND_REQUESTS)
        if (request.get("spec") or {}).get("podName") == pod and "deletionTimestamp" not in meta(request)
    ]


def claims_of(world: World, pod: str) -> list[Obj]:
    """Return the claims that a pod controls, also those being deleted.

    Raises Untestable if no step has seen the pod.
    """
    known = world.state(Known).pods
    seen = world.seen(PODS, pod)
    if seen is not None:
        # Kept, because the claims of a deleted pod are found by its uid.
        known[pod] = uid_of(seen)
    if pod not in known:
        raise Untestable(f"the harness has not seen the pod {pod}")
    return [claim for claim in world.all_seen(RESOURCE_CLAIMS) if (controller_of(claim) or {}).get("uid") == known[pod]]


def claims_made_for(world: World, pod: str) -> list[Obj]:
    """Return the claims that an existing pod controls, without those being deleted."""
    if world.seen(PODS, pod) is None:
        return []
    return [claim for claim in claims_of(world, pod) if "deletionTimestamp" not in meta(claim)]


def pod_group_of(world: World, pod: str) -> list[Obj]:
    """Return the PodGroup of KAI that a pod names in its annotation; none if there is no such object."""
    name = str((meta(world.seen(PODS, pod) or {}).get("annotations") or {}).get(POD_GROUP_NAME) or "")
    seen = world.seen(POD_GROUPS, name) if name else None
    return [seen] if seen else []


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to one object of the API: by its name, or by the pod that it belongs to."""

    world: World
    text: str
    resource: Resource
    name: str
    by_pod: bool

    def found(self, *, deleting: bool = False) -> list[Obj]:
        """Return the objects that the reference means, as last seen; `deleting`: also those being deleted, by pod."""
        world = self.world
        if self.by_pod:
            if self.resource == BIND_REQUESTS:
                return requests_of(world, self.name)
            if self.resource == POD_GROUPS:
                return pod_group_of(world, self.name)
            return claims_of(world, self.name) if deleting else claims_made_for(world, self.name)
        if not world.observer.watches(self.resource):
            return self.stored()
        seen = world.seen(self.resource, self.name)
        return [seen] if seen else []

    def stored(self) -> list[Obj]:
        """Return the object that the reference names as it is stored now; none for a reference by pod."""
        stored = None if self.by_pod else self.world.client.find(self.resource, self.name, self._namespace)
        return [stored] if stored else []

    def the_object(self) -> Obj:
        """Return the object as it is stored now. Raises Untestable if there is not exactly one."""
        if self.by_pod:
            self.world.require(f"there is one {self.text}", lambda: (len(self.found()) == 1, len(self.found())))
            return self.found()[0]
        if not (stored := self.stored()):
            raise Untestable(f"there is no {self.text}")
        return stored[0]

    @property
    def _namespace(self) -> str | None:
        return self.world.namespace if self.resource.namespaced else None


def reference(world: World, text: str) -> Reference:
    """Read a reference. Raises SpecificationError for an unknown kind, Untestable if the kind is not served."""
    found = _REFERENCE.fullmatch(text)
    if found is None:
        raise SpecificationError(f'{text!r} does not name an object such as: ResourceClaim "mine"')
    kind, by_pod, name = found.groups()
    if by_pod and kind not in (BIND_REQUESTS.kind, POD_GROUPS.kind, RESOURCE_CLAIMS.kind):
        raise SpecificationError(f"a pod has a BindRequest, a PodGroup and a ResourceClaim, but no {kind} of its own")
    resource = taint_rules(world) if kind == DEVICE_TAINT_RULES.kind else resource_named(kind)
    name = world.text(name)
    if not by_pod:
        name = claim_name(world, name) if resource == RESOURCE_CLAIMS else name
        # Cluster-scoped objects have a suffix that is unique to the scenario.
        name = name if resource.namespaced else world.name(name)
    return Reference(world, text, resource, name, bool(by_pod))


def taint_rules(world: World) -> Resource:
    """Return the resource DeviceTaintRule in the newest served version. Raises Untestable if none is served."""
    found = world.client.first_served(DEVICE_TAINT_RULES, TAINT_RULE_VERSIONS)
    if found is None:
        raise Untestable("the control plane serves no DeviceTaintRules")
    return found
