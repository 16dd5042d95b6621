"""The strategy of pods: defaults, quality of service, graceful deletion.

Stateless. Validation is in `validation`. Source: pkg/apis/core/v1/defaults.go, pkg/registry/core/pod/strategy.go,
release 1.36.
"""

from __future__ import annotations

from collections import Counter

from apiserver_emulator.node_authorizer import MIRROR, restrict_pod
from apiserver_emulator.pods import admission, field_checks, node_resources
from apiserver_emulator.pods.validation import (
    _CONTAINER_LISTS,
    claim_errors,
    container_errors,
    containers,
    immutability_errors,
    resize_errors,
    spec_errors,
    status_errors,
)
from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.clock import timestamp
from dra_api.objects import Obj
from dra_api.status import FieldError, forbidden_field, invalid

DEFAULT_GRACE_S = 30
_CLAIM_STATUSES = ("resourceClaimStatuses", "extendedResourceClaimStatus", node_resources.FIELD)


class PodStrategy(BaseStrategy):
    """The rules of pods."""

    status_subresource = True
    generation = True

    def default(self, obj: Obj) -> None:
        """Set the defaults that clients can observe (SetDefaults_Pod), and null times of conditions, as Go does."""
        spec = obj.setdefault("spec", {})
        if not spec.get("schedulingGates"):
            spec.pop("schedulingGates", None)
        default_pod_spec(spec)
        for condition in obj.setdefault("status", {}).get("conditions") or ():
            condition.setdefault("lastProbeTime", None)
            condition.setdefault("lastTransitionTime", None)

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """A new pod is pending; its QoS class and tolerations are set."""
        obj["metadata"]["generation"] = 1
        obj["status"] = {"phase": "Pending", "qosClass": qos_class(obj["spec"])}
        gates = obj["spec"].get("schedulingGates")
        if gates:
            obj["status"]["conditions"] = [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "lastProbeTime": None,
                    "lastTransitionTime": timestamp(ctx.now()),
                    "reason": "SchedulingGated",
                    "message": "Scheduling is blocked due to non-empty scheduling gates",
                }
            ]
        if not ctx.enabled("GenericWorkload"):
            obj["spec"].pop("schedulingGroup", None)
        admission.admit(obj, ctx)

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """ValidatePodCreate: structure, containers, resource claims."""
        spec = obj["spec"]
        problems = field_checks.volume_errors(spec) + container_errors(spec)
        volumes = {volume.get("name", "") for volume in spec.get("volumes") or ()}
        for field, container in containers(spec):
            problems += field_checks.name_errors(container, field)
            problems += field_checks.port_errors(container, field)
            problems += field_checks.mount_errors(container, field, volumes)
            problems += field_checks.resource_errors(container, field)
        problems += claim_errors(spec)
        if MIRROR in (obj["metadata"].get("annotations") or {}) and spec.get("resourceClaims"):
            # upstream passes a nil path, which prints like this
            problems.append(forbidden_field("[]", "static pods do not support resource claims"))
        problems += spec_errors(spec)
        return problems

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Restore the part that the (sub)resource may not change, and the QoS class. Binding changes both parts."""
        if ctx.subresource == "binding":
            return
        if ctx.subresource == "status":
            new["spec"] = old["spec"]
            for field in ("deletionTimestamp", "ownerReferences"):
                if field in old["metadata"]:
                    new["metadata"][field] = old["metadata"][field]
                else:
                    new["metadata"].pop(field, None)
            if (old.get("status") or {}).get("qosClass"):
                status = new.setdefault("status", {})
                # Old kubelets leave it out; another class is refused.
                status["qosClass"] = status.get("qosClass") or old["status"]["qosClass"]
            if ctx.minor >= 37:
                keep_claim_statuses(new, old)
            if not (new.get("status") or {}).get("resourceClaimStatuses"):
                new.get("status", {}).pop("resourceClaimStatuses", None)  # an empty list is not stored (omitempty)
            if not ctx.enabled("DRANodeAllocatableResources"):
                node_resources.drop_unused(new, old)
            return
        new["status"] = old.get("status", {})
        if ctx.subresource == "resize":
            new["spec"] = resized_spec(new["spec"], old["spec"])
        if not ctx.subresource:
            admission.tolerate(new["spec"])  # at every update, so that no client can remove these two
        generation = int(old["metadata"].get("generation", 1))
        changed = new["spec"] != old["spec"]
        new["metadata"]["generation"] = generation + 1 if changed else generation

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """ValidatePodUpdate and ValidatePodStatusUpdate."""
        if ctx.subresource == "status":
            found = status_errors(new, minor=ctx.minor) + (node_resources.errors(new) if ctx.minor >= 37 else [])
            before, after = ((one.get("status") or {}).get("qosClass") for one in (old, new))
            return found if before == after else [*found, invalid("status.qosClass", after, "field is immutable")]
        if ctx.subresource in ("binding", "eviction"):
            return []
        if ctx.subresource == "resize":
            problems = self.validate_create(new, ctx) + resize_errors(new["spec"], old["spec"])
            if not problems:  # admission comes after validation
                admission.check_resize(new, old, ctx)
            return problems
        if ctx.subresource == "ephemeralcontainers":
            return container_errors(new["spec"]) + claim_errors(new["spec"])
        return self.validate_create(new, ctx) + immutability_errors(new["spec"], old["spec"])

    def authorize(self, obj: Obj | None, old: Obj | None, ctx: RequestContext) -> None:
        """NodeRestriction."""
        if ctx.subresource in ("", "status"):
            restrict_pod(obj, old, ctx)

    def grace_period(self, obj: Obj, options: Obj) -> int:
        """Return the seconds that the kubelet gets before the pod object is deleted (CheckGracefulDelete)."""
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        requested = options.get("gracePeriodSeconds")
        period = int(requested) if requested is not None else int(spec.get("terminationGracePeriodSeconds") or 0)
        # No kubelet runs the containers, or they have ended: nothing to wait for.
        if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
            period = 0
        return 1 if period < 0 else period


def resized_spec(new: Obj, old: Obj) -> Obj:
    """Return the old spec with the resources of the new containers (dropNonResizeUpdates).

    If the containers differ in number, order or name, the new spec is returned, for validation to refuse it.
    """
    spec = dict(old)
    for field in _CONTAINER_LISTS[:2]:
        after, before = new.get(field) or [], old.get(field) or []
        if [one.get("name") for one in after] != [one.get("name") for one in before]:
            return new
        if before:
            spec[field] = [_resized(one, was) for one, was in zip(after, before, strict=True)]
    return spec


def _resized(new: Obj, old: Obj) -> Obj:
    parts = ("resources", "resizePolicy")
    kept = {key: value for key, value in old.items() if key not in parts}
    return {**kept, **{key: new[key] for key in parts if key in new}}


def keep_claim_statuses(new: Obj, old: Obj) -> None:
    """Keep what clients that do not know these fields leave out; an empty list removes the stored one (DRA-538)."""
    for field in _CLAIM_STATUSES:
        stored = (old.get("status") or {}).get(field)
        if stored is not None and (new.get("status") or {}).get(field) is None:
            new.setdefault("status", {})[field] = stored


def default_pod_spec(spec: Obj) -> None:
    """SetDefaults_PodSpec and SetDefaults_Container."""
    spec.setdefault("restartPolicy", "Always")
    if spec.setdefault("terminationGracePeriodSeconds", DEFAULT_GRACE_S) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("enableServiceLinks", True)
    for field in _CONTAINER_LISTS:
        for container in spec.get(field) or ():
            container.setdefault("terminationMessagePath", "/dev/termination-log")
            container.setdefault("terminationMessagePolicy", "File")
            image = str(container.get("image", ""))
            # A colon before the last slash belongs to the port of the registry.
            tagless = ":" not in image.rsplit("/", 1)[-1] and "@" not in image
            latest = tagless or image.endswith(":latest")
            if image:
                container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
            resources = container.setdefault("resources", {})
            if resources.get("limits"):
                requests = resources.setdefault("requests", {})
                for name, amount in resources["limits"].items():
                    requests.setdefault(name, amount)
            for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
                if container.get(probe) is not None:
                    _default_probe(container[probe])
            for port in container.get("ports") or ():
                port.setdefault("protocol", "TCP")
            for env in container.get("env") or ():
                reference = (env.get("valueFrom") or {}).get("fieldRef")
                if reference is not None:
                    reference.setdefault("apiVersion", "v1")


def _default_probe(probe: Obj) -> None:
    """SetDefaults_Probe and SetDefaults_HTTPGetAction."""
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        # Zero counts as unset, as in Go.
        if not probe.get(name):
            probe[name] = value
    if probe.get("httpGet") is not None:
        probe["httpGet"].setdefault("path", "/")
        probe["httpGet"].setdefault("scheme", "HTTP")


def qos_class(spec: Obj) -> str:
    """ComputePodQOS over cpu and memory."""
    limits: Counter[str] = Counter()
    requests: Counter[str] = Counter()
    limited = True
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            resources = container.get("resources") or {}
            own = _compute(resources.get("limits"))
            limited = limited and len(own) == 2
            limits += own
            requests += _compute(resources.get("requests"))
    if not limits and not requests:
        return "BestEffort"
    return "Guaranteed" if limited and limits == requests else "Burstable"


def _compute(amounts: Obj | None) -> Counter[str]:
    """Return the amounts of cpu and memory, in thousandths, without zeros."""
    found = {name: field_checks.amount(text) for name, text in (amounts or {}).items() if name in ("cpu", "memory")}
    return Counter({name: amount for name, amount in found.items() if amount})
