"""Pods: defaults, validation, graceful deletion, binding. Node agents and schedulers meet here.

Stateless. Source: pkg/apis/core/v1/defaults.go, pkg/apis/core/validation/validation.go (resource claims, update
immutability), pkg/registry/core/pod/strategy.go and storage/storage.go (binding, eviction), release 1.36; rules DRA-045
to DRA-049.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dra_api.clock import timestamp
from dra_conformance.control_plane.embedded import pod_admission, pod_checks
from dra_conformance.control_plane.embedded.metadata import LABEL, LABEL_TEXT, SUBDOMAIN, SUBDOMAIN_TEXT, too_long_text
from dra_conformance.control_plane.embedded.node_authorizer import restrict_pod
from dra_conformance.control_plane.embedded.resources import Column
from dra_conformance.control_plane.embedded.status import (
    FieldError,
    StatusError,
    conflict,
    duplicate,
    forbidden_field,
    invalid,
    not_supported,
    precondition_failed,
    required,
)
from dra_conformance.control_plane.embedded.strategy import BaseStrategy, RequestContext

Obj = dict[str, Any]

DEFAULT_GRACE_S = 30
MIRROR = "kubernetes.io/config.mirror"

_CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")


def containers(spec: Obj) -> Iterator[tuple[str, Obj]]:
    """All containers with their field paths, init containers last as upstream validates them."""
    for field in _CONTAINER_LISTS:
        for at, container in enumerate(spec.get(field) or ()):
            yield f"spec.{field}[{at}]", container


class PodStrategy(BaseStrategy):
    """The rules of pods."""

    status_subresource = True
    generation = True

    def default(self, obj: Obj) -> None:
        """SetDefaults_Pod, as far as clients can tell; times of conditions that Go writes even where there are none."""
        spec = obj.setdefault("spec", {})
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
        pod_admission.admit(obj, ctx)

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """ValidatePodCreate: structure, containers, resource claims."""
        spec = obj["spec"]
        problems = _container_errors(spec)
        volumes = {volume.get("name", "") for volume in spec.get("volumes") or ()}
        for field, container in containers(spec):
            problems += pod_checks.port_errors(container, field)
            problems += pod_checks.mount_errors(container, field, volumes)
            problems += pod_checks.resource_errors(container, field)
        problems += claim_errors(spec)
        if MIRROR in (obj["metadata"].get("annotations") or {}) and spec.get("resourceClaims"):
            # upstream passes a nil path, which prints like this
            problems.append(forbidden_field("[]", "static pods do not support resource claims"))
        problems += _spec_errors(spec)
        return problems

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Each door changes its own half; the QoS class stays. Binding writes both halves itself."""
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
                new.setdefault("status", {})["qosClass"] = old["status"]["qosClass"]
            return
        new["status"] = old.get("status", {})
        if not ctx.subresource:
            pod_admission.tolerate(new["spec"])  # at every update, so that nobody can take these two away
        generation = int(old["metadata"].get("generation", 1))
        changed = new["spec"] != old["spec"]
        new["metadata"]["generation"] = generation + 1 if changed else generation

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """ValidatePodUpdate and ValidatePodStatusUpdate."""
        if ctx.subresource == "status":
            return _status_errors(new, minor=ctx.minor)
        if ctx.subresource in ("binding", "eviction"):
            return []
        if ctx.subresource in ("ephemeralcontainers", "resize"):
            return _container_errors(new["spec"]) + claim_errors(new["spec"])
        problems, changed = _container_errors(new["spec"]), _immutability_errors(new["spec"], old["spec"])
        # Upstream checks the containers as part of the pod, and again for what may change of them, where they are as
        # many as before.
        same = all(len(new["spec"].get(f) or ()) == len(old["spec"].get(f) or ()) for f in _CONTAINER_LISTS[:2])
        return problems * (2 if same else 1) + changed

    def authorize(self, obj: Obj | None, old: Obj | None, ctx: RequestContext) -> None:
        """NodeRestriction."""
        if not ctx.subresource:
            restrict_pod(obj, ctx.user, ctx.verb)

    def grace_period(self, obj: Obj, options: Obj) -> int:
        """CheckGracefulDelete: seconds that the node agent gets before the pod object goes."""
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        asked = options.get("gracePeriodSeconds")
        period = int(asked) if asked is not None else int(spec.get("terminationGracePeriodSeconds") or 0)
        if not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
            period = 0
        return 1 if period < 0 else period


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
        if not probe.get(name):
            probe[name] = value
    if probe.get("httpGet") is not None:
        probe["httpGet"].setdefault("path", "/")
        probe["httpGet"].setdefault("scheme", "HTTP")


def qos_class(spec: Obj) -> str:
    """ComputePodQOS over cpu and memory."""
    guaranteed, found = True, False
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            resources = container.get("resources") or {}
            limits = {k: v for k, v in (resources.get("limits") or {}).items() if k in ("cpu", "memory")}
            requests = {k: v for k, v in (resources.get("requests") or {}).items() if k in ("cpu", "memory")}
            if limits or requests:
                found = True
            if set(limits) != {"cpu", "memory"} or limits != requests:
                guaranteed = False
    if not found:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _label_error(field: str, value: Any) -> list[FieldError]:
    text = str(value)
    problems: list[FieldError] = []
    if len(text) > 63:
        problems.append(invalid(field, text, too_long_text(63)))
    if not LABEL.match(text):
        problems.append(invalid(field, text, LABEL_TEXT))
    return problems


def _container_errors(spec: Obj) -> list[FieldError]:
    problems: list[FieldError] = []
    if not spec.get("containers"):
        problems.append(required("spec.containers"))
    names: set[str] = set()
    for field, container in containers(spec):
        name = container.get("name", "")
        if not name:
            problems.append(required(f"{field}.name"))
        else:
            problems += _label_error(f"{field}.name", name)
        if name and name in names:
            problems.append(duplicate(f"{field}.name", name))
        names.add(name)
        image = container.get("image", "")
        if not image:
            problems.append(required(f"{field}.image"))
        elif image.strip() != image:
            problems.append(invalid(f"{field}.image", image, "must not have leading or trailing whitespace"))
    return problems


def _spec_errors(spec: Obj) -> list[FieldError]:
    problems: list[FieldError] = []
    if spec.get("restartPolicy") not in ("Always", "OnFailure", "Never"):
        problems.append(
            not_supported("spec.restartPolicy", spec.get("restartPolicy"), ["Always", "OnFailure", "Never"])
        )
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2**31 - 1:
        problems.append(invalid("spec.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        problems.append(forbidden_field("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    if spec.get("nodeName") and not SUBDOMAIN.match(spec["nodeName"]):
        problems.append(invalid("spec.nodeName", spec["nodeName"], SUBDOMAIN_TEXT))
    problems += pod_checks.selection_errors(spec)
    problems += pod_checks.toleration_errors(spec.get("tolerations") or [])
    problems += pod_checks.gate_errors(spec)
    return problems


def claim_errors(spec: Obj) -> list[FieldError]:
    """Rules DRA-045, 046, 047: the pod's claims and what its containers say of them."""
    problems: list[FieldError] = []
    names: set[str] = set()
    for at, claim in enumerate(spec.get("resourceClaims") or ()):
        field = f"spec.resourceClaims[{at}]"
        name = claim.get("name", "")
        if name in names:
            problems.append(duplicate(f"{field}.name", name))
        else:
            problems += _label_error(f"{field}.name", name)
            names.add(name)
        by_name, by_template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
        if by_name is not None and by_template is not None:
            problems.append(
                invalid(
                    field,
                    claim,
                    "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
                )
            )
        if by_name is None and by_template is None:
            problems.append(
                invalid(
                    field,
                    claim,
                    "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
                )
            )
        for key in ("resourceClaimName", "resourceClaimTemplateName"):
            value = claim.get(key)
            if value is not None and (len(value) > 253 or not SUBDOMAIN.match(value)):
                text = too_long_text(253) if len(value) > 253 else SUBDOMAIN_TEXT
                problems.append(invalid(f"{field}.{key}", value, text))
    for where, container in containers(spec):
        problems += _container_claim_errors(container, f"{where}.resources.claims", names)
    return problems


def _container_claim_errors(container: Obj, field: str, names: set[str]) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: dict[str, set[str]] = {}
    for at, reference in enumerate((container.get("resources") or {}).get("claims") or ()):
        where = f"{field}[{at}]"
        name, request = reference.get("name", ""), reference.get("request", "")
        if not name:
            problems.append(required(f"{where}.name"))
            continue
        if request:
            problems += _label_error(f"{where}.request", request)
        requests = seen.setdefault(name, set())
        # a claim is referenced once as a whole, or by distinct requests, never both
        if request in requests or (requests and (not request or "" in requests)):
            problems.append(duplicate(where, f"{name}/{request}" if request and "" not in requests else name))
        requests.add(request)
        if name not in names:
            empty = "" if names else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{empty}"
            problems.append(FieldError("FieldValueNotFound", where, detail, name))
    return problems


def _status_errors(pod: Obj, *, minor: int) -> list[FieldError]:
    """Rule DRA-049 and the extended resource claim status."""
    problems: list[FieldError] = []
    status, spec = pod.get("status") or {}, pod["spec"]
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for at, entry in enumerate(status.get("resourceClaimStatuses") or ()):
        field = f"status.resourceClaimStatuses[{at}]"
        name = entry.get("name", "")
        if name in seen:
            problems.append(duplicate(f"{field}.name", name))
        seen.add(name)
        if name not in known:
            problems.append(invalid(f"{field}.name", name, "must match the name of an entry in `spec.resourceClaims`"))
        claim = entry.get("resourceClaimName")
        if claim is not None and (len(claim) > 253 or not SUBDOMAIN.match(claim)):
            text = too_long_text(253) if len(claim) > 253 else SUBDOMAIN_TEXT
            # Up to 1.35 the error stands at the entry's name; observed on kube-apiserver 1.35.3 and 1.36.2.
            problems.append(invalid(f"{field}.{'resourceClaimName' if minor >= 36 else 'name'}", claim, text))
    extended = status.get("extendedResourceClaimStatus")
    if extended is not None:
        problems += _extended_errors(extended, spec)
    return problems


def _extended_errors(extended: Obj, spec: Obj) -> list[FieldError]:
    field = "status.extendedResourceClaimStatus"
    problems: list[FieldError] = []
    claim = extended.get("resourceClaimName", "")
    if not SUBDOMAIN.match(claim):
        problems.append(invalid(f"{field}.resourceClaimName", claim, SUBDOMAIN_TEXT))
    mappings = extended.get("requestMappings") or []
    if not mappings:
        problems.append(required(f"{field}.requestMappings", "at least one request mapping is required"))
    by_name = {container["name"]: container for _, container in containers(spec)}
    seen: set[tuple[str, str, str]] = set()
    for at, mapping in enumerate(mappings):
        where = f"{field}.requestMappings[{at}]"
        key = (mapping.get("containerName", ""), mapping.get("resourceName", ""), mapping.get("requestName", ""))
        if key in seen:
            problems.append(duplicate(where, mapping))
        seen.add(key)
        container = by_name.get(key[0])
        if container is None:
            problems.append(invalid(f"{where}.containerName", key[0], "must match a container in `spec`"))
            continue
        requests = (container.get("resources") or {}).get("requests") or {}
        if key[1] not in requests:
            problems.append(invalid(f"{where}.resourceName", key[1], "must match a resource of the container"))
        if not LABEL.match(key[2]):
            problems.append(invalid(f"{where}.requestName", key[2], LABEL_TEXT))
    return problems


_UPDATE_TEXT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def _immutability_errors(new: Obj, old: Obj) -> list[FieldError]:
    problems: list[FieldError] = []
    for field in _CONTAINER_LISTS[:2]:
        if len(new.get(field) or ()) != len(old.get(field) or ()):
            problems.append(forbidden_field(f"spec.{field}", "pod updates may not add or remove containers"))
    if problems:
        return problems
    before, after = old.get("activeDeadlineSeconds"), new.get("activeDeadlineSeconds")
    if after is not None and after < 0:
        problems.append(invalid("spec.activeDeadlineSeconds", after, "must be greater than or equal to 0"))
    elif before is not None and (after is None or after > before):
        problems.append(
            invalid(
                "spec.activeDeadlineSeconds",
                after,
                "must not update from a positive integer to nil value"
                if after is None
                else "must be less than or equal to previous value",
            )
        )
    tolerations = new.get("tolerations") or []
    missing = [t for t in old.get("tolerations") or () if not any(_same_toleration(t, n) for n in tolerations)]
    if missing:
        problems.append(
            forbidden_field("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
        )
    old_gates = [g.get("name") for g in old.get("schedulingGates") or ()]
    for at, gate in enumerate(new.get("schedulingGates") or ()):
        if gate.get("name") not in old_gates:
            problems.append(
                forbidden_field(
                    f"spec.schedulingGates[{at}].name",
                    f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'",
                )
            )
    if _fixed(new, gated=bool(old_gates)) != _fixed(old, gated=bool(old_gates)):
        problems.append(forbidden_field("spec", _UPDATE_TEXT))
    return problems


def _same_toleration(old: Obj, new: Obj) -> bool:
    return {k: v for k, v in old.items() if k != "tolerationSeconds"} == {
        k: v for k, v in new.items() if k != "tolerationSeconds"
    }


def _fixed(spec: Obj, *, gated: bool) -> Obj:
    """The part of a pod spec that no update may change."""
    fixed = {
        k: v
        for k, v in spec.items()
        if k not in ("activeDeadlineSeconds", "tolerations", "schedulingGates", *_CONTAINER_LISTS)
    }
    if gated:
        # gated pods may tighten their node selection (KEP-3838); other fields stay fixed
        fixed.pop("nodeSelector", None)
        fixed.pop("affinity", None)
    for field in _CONTAINER_LISTS:
        if field in spec:
            fixed[field] = [{k: v for k, v in c.items() if k != "image"} for c in spec[field]]
    return fixed


# --- binding and eviction --------------------------------------------------------------------------------------------


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


# --- selectors and columns -------------------------------------------------------------------------------------------


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
    """What kubectl prints for pods."""

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
    )
