"""The objects that a controller creates for a ComputeDomain, field by field.

Fields to which an API server gives a default are compared only if a rule names them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import (
    COMPUTE_DOMAINS,
    DAEMON_SETS,
    NODES,
    RESOURCE_CLAIM_TEMPLATES,
    Obj,
    Resource,
    meta,
    name_of,
    namespace_of,
    uid_of,
)
from dra_conformance.components.node import DOMAIN_DRIVER
from dra_conformance.control_plane.own_objects import CLEANER
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.compute_domains import (
    FINALIZER,
    LABEL,
    domain,
    domain_object,
    make_domain,
    remove_left,
    remove_object,
)
from dra_conformance.steps.driver_claims import CONFIG_API
from dra_conformance.steps.nodes import make_node
from dra_conformance.steps.pods import create_other_namespace, event_text, events_about, other_namespace
from dra_conformance.steps.uids import CreatedDomains, with_uids

TARGET_LABEL = f"{LABEL}Target"
CLASSES = {
    "channel": "compute-domain-default-channel.nvidia.com",
    "daemon": "compute-domain-daemon.nvidia.com",
}
KINDS = {"channel": "ComputeDomainChannelConfig", "daemon": "ComputeDomainDaemonConfig"}
DAEMON = "compute-domain-daemon"
NO_DOMAIN = "00000000-0000-4000-8000-00000000dead"
"""A uid that no ComputeDomain has."""


@dataclass(slots=True)
class RememberedObjects:
    """Versions of the objects of a ComputeDomain, by its name: kind and name to uid and resourceVersion."""

    of_domain: dict[str, dict[str, str]] = field(default_factory=dict)


def daemon_objects(world: World, uid: str) -> dict[str, list[Obj]]:
    """Return the DaemonSets and the claim templates of a domain in the driver's namespace, by kind."""
    return {
        resource.kind: world.client.list(resource, world.driver_namespace, label_selector=f"{LABEL}={uid}").items
        for resource in (DAEMON_SETS, RESOURCE_CLAIM_TEMPLATES)
    }


def ownership(obj: Obj) -> Obj:
    """Return namespace, name, labels of the domain, finalizers and owners of an object."""
    labels = meta(obj).get("labels") or {}
    return {
        "name": f"{meta(obj).get('namespace')}/{name_of(obj)}",
        "labels": {key: value for key, value in labels.items() if key in (LABEL, TARGET_LABEL)},
        "finalizers": meta(obj).get("finalizers") or [],
        "ownerReferences": meta(obj).get("ownerReferences") or [],
    }


def template_fields(template: Obj) -> Obj:
    """Return the fields of a claim template that the rules name."""
    devices = template["spec"]["spec"]["devices"]
    requests = []
    for request in devices.get("requests") or ():
        # Before v1beta2 a request has the fields of `exactly` itself.
        exactly = request.get("exactly") or request
        count = exactly.get("count", 1) if exactly.get("allocationMode", "ExactCount") == "ExactCount" else "All"
        requests.append({"name": request["name"], "class": exactly.get("deviceClassName"), "count": count})
    return {**ownership(template), "requests": requests, "config": devices.get("config") or []}


def expected_template(device: str, *, name: str, uid: str, mode: str = "") -> Obj:
    """Return what `template_fields` returns for the template of a domain's channels or daemons."""
    parameters = {"apiVersion": CONFIG_API, "kind": KINDS[device], "domainID": uid}
    if mode:
        parameters["allocationMode"] = mode
    return {
        "name": name,
        "labels": {LABEL: uid, TARGET_LABEL: "Workload" if device == "channel" else "Daemon"},
        "finalizers": [FINALIZER],
        "ownerReferences": [],
        "requests": [{"name": device, "class": CLASSES[device], "count": 1}],
        "config": [{"requests": [device], "opaque": {"driver": DOMAIN_DRIVER, "parameters": parameters}}],
    }


def daemon_set_fields(found: Obj) -> Obj:
    """Return the fields of a DaemonSet that bind it and its pods to a domain."""
    template = found["spec"]["template"]
    pod = template["spec"]
    return {
        **ownership(found),
        "selector": found["spec"]["selector"],
        "pod labels": meta(template).get("labels") or {},
        "nodeSelector": pod.get("nodeSelector") or {},
        "resourceClaims": pod.get("resourceClaims") or [],
        "containers": {one["name"]: (one.get("resources") or {}).get("claims") for one in pod["containers"]},
    }


def expected_daemon_set(world: World, uid: str) -> Obj:
    """Return what `daemon_set_fields` returns for the DaemonSet of a domain."""
    name, labels = f"computedomain-daemon-{uid}", {LABEL: uid}
    return {
        "name": f"{world.driver_namespace}/{name}",
        "labels": labels,
        "finalizers": [FINALIZER],
        "ownerReferences": [],
        "selector": {"matchLabels": labels},
        "pod labels": labels,
        "nodeSelector": labels,
        "resourceClaims": [{"name": DAEMON, "resourceClaimTemplateName": name}],
        "containers": {DAEMON: [{"name": DAEMON}]},
    }


def look_at_one(found: list[Obj], fields: Callable[[Obj], Obj], wanted: Obj) -> Seen[Obj | None]:
    """Return whether there is exactly one object with these fields, and its fields; None without an object."""
    if len(found) != 1:
        return False, {"objects": [name_of(obj) for obj in found]} if found else None
    try:
        seen = fields(found[0])
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        # The emulated API server does not validate DaemonSets.
        return False, {"error": f"an object without a required field, or with one of another type: {error!r}"}
    shown = {key: seen.get(key) for key in wanted}
    return shown == wanted, shown


@then('the ComputeDomain "{name}" has a claim template for its workloads with allocationMode {mode:word}')
def _(world: World, name: str, mode: str) -> None:
    """The template has the name in the domain's spec, and requests one channel with the domain's uid as domainID."""
    owner = domain(world, name)
    uid, namespace = uid_of(owner), str(meta(owner)["namespace"])
    template_name = owner["spec"]["channel"]["resourceClaimTemplate"]["name"]
    wanted = expected_template("channel", name=f"{namespace}/{template_name}", uid=uid, mode=mode)

    def look() -> Seen[Obj | None]:
        found = world.client.find(RESOURCE_CLAIM_TEMPLATES, template_name, namespace)
        return look_at_one([found] if found else [], template_fields, wanted)

    world.eventually(f"claim template of ComputeDomain {name}", look, expected=wanted)


@then('the ComputeDomain "{name}" has a DaemonSet and a claim template for its daemons')
def _(world: World, name: str) -> None:
    """There is one of each in the driver's namespace, with the names, labels and claims of the rule."""
    uid = uid_of(domain(world, name))
    daemon_set = expected_daemon_set(world, uid)
    wanted = {
        "DaemonSet": daemon_set,
        "ResourceClaimTemplate": expected_template("daemon", name=daemon_set["name"], uid=uid),
    }
    fields = {"DaemonSet": daemon_set_fields, "ResourceClaimTemplate": template_fields}

    def look() -> Seen[dict[str, Any]]:
        found = daemon_objects(world, uid)
        seen = {kind: look_at_one(found[kind], fields[kind], wanted[kind]) for kind in wanted}
        return all(ok for ok, _ in seen.values()), {kind: observed for kind, (_, observed) in seen.items()}

    world.eventually(f"daemons of ComputeDomain {name}", look, expected=wanted)


def further_fields(template: Obj) -> Obj:
    """Return what a claim template has beside the request and the configuration that a ComputeDomain needs."""
    devices = template["spec"]["spec"]["devices"]
    known = {"allocationMode", "count", "deviceClassName", "exactly", "name"}
    of_requests = [
        {key: value for key, value in {**one, **(one.get("exactly") or {})}.items() if value and key not in known}
        for one in devices.get("requests") or ()
    ]
    inner = template["spec"].get("metadata") or {}
    return {
        "requests": of_requests,
        "constraints": devices.get("constraints") or [],
        "metadata of claims": {key: inner[key] for key in ("annotations", "labels") if inner.get(key)},
    }


@then('the claim templates of ComputeDomain "{name}" have nothing else')
def _(world: World, name: str) -> None:
    """Requests have a class and a count only, there are no constraints, and claims get no labels and annotations."""
    owner = domain(world, name)
    template_name = owner["spec"]["channel"]["resourceClaimTemplate"]["name"]
    nothing: Obj = {"requests": [{}], "constraints": [], "metadata of claims": {}}
    wanted = {"workloads": nothing, "daemons": nothing}

    def look() -> Seen[dict[str, Any]]:
        found = {
            "workloads": world.client.find(RESOURCE_CLAIM_TEMPLATES, template_name, namespace_of(owner)),
            "daemons": next(iter(daemon_objects(world, uid_of(owner))["ResourceClaimTemplate"]), None),
        }
        seen = {whose: further_fields(one) if one else None for whose, one in found.items()}
        return seen == wanted, seen

    world.eventually(f"further fields of the claim templates of ComputeDomain {name}", look, expected=wanted)


@given('the DaemonSet of ComputeDomain "{name}" is removed by hand')
def _(world: World, name: str) -> None:
    """Delete the DaemonSet of a domain together with its finalizers, as the cleanup of a run does."""
    found = daemon_objects(world, uid_of(domain(world, name)))["DaemonSet"]
    if not found:
        raise Untestable(f"ComputeDomain {name} has no DaemonSet")
    for obj in found:
        remove_object(world.client.as_agent(CLEANER), DAEMON_SETS, obj)


@dataclass(slots=True)
class Replaced:
    """The object that a step has put in the place of a domain's own, by its kind."""

    of_kind: dict[str, Obj] = field(default_factory=dict)


@given('the {kind:word} for the daemons of ComputeDomain "{name}" is replaced by one of its name that belongs to none')
def _(world: World, kind: str, name: str) -> None:
    """Delete the object with its finalizers, and create one of its name and spec without labels of a domain."""
    found = daemon_objects(world, uid_of(domain(world, name)))[kind]
    if len(found) != 1:
        raise Untestable(f"ComputeDomain {name} has {len(found)} objects of kind {kind} for its daemons")
    resource = next(one for one in (DAEMON_SETS, RESOURCE_CLAIM_TEMPLATES) if one.kind == kind)
    remove_object(world.client.as_agent(CLEANER), resource, found[0])
    foreign = {**found[0], "metadata": {"name": name_of(found[0]), "namespace": namespace_of(found[0])}}
    foreign.pop("status", None)
    created = world.client.create(resource, foreign)
    world.cleanup.callback(remove_object, world.client.as_agent(CLEANER), resource, created)
    world.state(Replaced).of_kind[kind] = created


@given('the DaemonSet and the claim template for the daemons of ComputeDomain "{name}" are moved to another namespace')
def _(world: World, name: str) -> None:
    """Copies of both, with labels and finalizers, take their place, as after an installation in another namespace."""
    namespace = create_other_namespace(world)
    cleaner = world.client.as_agent(CLEANER)
    found = daemon_objects(world, uid_of(domain(world, name)))
    for resource in (RESOURCE_CLAIM_TEMPLATES, DAEMON_SETS):
        for obj in found[resource.kind]:
            remove_object(cleaner, resource, obj)
            kept: Obj = {key: meta(obj)[key] for key in ("name", "labels", "finalizers") if key in meta(obj)}
            moved: Obj = {"metadata": {**kept, "namespace": namespace}, "spec": obj["spec"]}
            created = world.client.create(resource, moved)
            world.cleanup.callback(remove_object, cleaner, resource, created)


@then('the ComputeDomain "{name}" still has nothing for daemons in the namespace of the driver')
def _(world: World, name: str) -> None:
    """No DaemonSet and no claim template there has its label once the system is idle."""
    uid = uid_of(domain(world, name))

    def look() -> Seen[list[Any]]:
        found = sorted(kind for kind, objects in daemon_objects(world, uid).items() if objects)
        return not found, found

    world.stays(f"daemons of ComputeDomain {name}", look, expected=[])


@then('nothing of the ComputeDomain "{name}" is left in the other namespace')
def _(world: World, name: str) -> None:
    """No DaemonSet and no claim template there has its label any more."""
    uid = uid_of(world.state(CreatedDomains).of_name[name])

    def look() -> Seen[list[Any]]:
        where = other_namespace(world)
        left = [
            shown(resource, obj)
            for resource in (DAEMON_SETS, RESOURCE_CLAIM_TEMPLATES)
            for obj in world.client.list(resource, where, label_selector=f"{LABEL}={uid}").items
        ]
        return not left, left

    world.eventually(f"objects of ComputeDomain {name} in the other namespace", look, expected=[])


@when("the {kind:word} that belongs to no ComputeDomain is deleted")
def _(world: World, kind: str) -> None:
    """Delete the object of an earlier step."""
    created = world.state(Replaced).of_kind[kind]
    resource = next(one for one in (DAEMON_SETS, RESOURCE_CLAIM_TEMPLATES) if one.kind == kind)
    world.client.delete(resource, name_of(created), namespace_of(created))


@then('the ComputeDomain "{name}" gets a Warning event that names its former {kind:word}, or another one')
def _(world: World, name: str, kind: str) -> None:
    """A Warning event comes to have the name, or an object with the label of the domain comes to have another name."""
    former = name_of(world.state(Replaced).of_kind[kind])
    uid = uid_of(domain(world, name))

    def look() -> Seen[list[Any]]:
        found = warnings_of(world, name)
        return any(former in message for message in found) or bool(daemon_objects(world, uid)[kind]), found

    world.eventually(f"Warning events of ComputeDomain {name}", look, expected=[f"…{former}…"])


@given('{count:d} ComputeDomains "{prefix}", each with a node that is in it')
def _(world: World, count: int, prefix: str) -> None:
    """ComputeDomains PREFIX-1 and on with their objects, and a Node with the label of each."""
    for number in range(1, count + 1):
        created = make_domain(world, domain_object(world, f"{prefix}-{number}", nodes=1))
        make_node(world, f"{prefix}-{number}", {LABEL: uid_of(created)})

    def look() -> Seen[list[Any]]:
        uids = {f"{prefix}-{at}": uid_of(domain(world, f"{prefix}-{at}")) for at in range(1, count + 1)}
        found = [name for name, uid in uids.items() if not all(daemon_objects(world, uid).values())]
        return not found, found

    world.require("every ComputeDomain has its DaemonSet and templates", look, within=max(world.run.patience, 20.0))


@when('the {count:d} ComputeDomains "{prefix}" are deleted')
def _(world: World, count: int, prefix: str) -> None:
    """Delete them one right after the other."""
    for number in range(1, count + 1):
        created = world.state(CreatedDomains).of_name[f"{prefix}-{number}"]
        world.client.delete(COMPUTE_DOMAINS, name_of(created), namespace_of(created))


@then('nothing is left of the {count:d} ComputeDomains "{prefix}"')
def _(world: World, count: int, prefix: str) -> None:
    """They are deleted, with their templates and DaemonSets, and no node has the label of one of them."""
    created = world.state(CreatedDomains).of_name

    def look() -> Seen[list[Any]]:
        left = []
        for number in range(1, count + 1):
            one = created[f"{prefix}-{number}"]
            if world.client.find(COMPUTE_DOMAINS, name_of(one), namespace_of(one)) is not None:
                left.append(f"ComputeDomain {prefix}-{number}")
            left.extend(left_of(world, uid_of(one), namespace_of(one)))
        return not left, left

    what = f"{count} ComputeDomains {prefix} are cleaned up"
    world.eventually(what, look, expected=[], within=max(world.run.patience, 0.5 * count))


@then('the ComputeDomain "{name}" has nothing for daemons')
def _(world: World, name: str) -> None:
    """No DaemonSet and no claim template in the driver's namespace has its label, after its status was written."""
    found = sorted(kind for kind, objects in daemon_objects(world, uid_of(domain(world, name))).items() if objects)
    world.check(not found, f"daemons of ComputeDomain {name}", expected=[], observed=found)


# -- the program of a daemon -------------------------------------------------------------------------------------------


def program_fields(daemon_set: Obj) -> Obj:
    """Return program, environment and permissions of the pods of a DaemonSet; other variables are left out."""
    pod = daemon_set["spec"]["template"]["spec"]
    container = pod["containers"][0]
    resources = container.get("resources") or {}
    command = [*(container.get("command") or ()), *(container.get("args") or ())]
    env = {
        one["name"]: one.get("value") or ((one.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath")
        for one in container.get("env") or ()
    }
    tolerated = {
        one.get("effect") or "every effect"
        for one in pod.get("tolerations") or ()
        if one.get("operator") == "Exists" and not one.get("key")
    }
    return {
        "serviceAccountName": pod.get("serviceAccountName"),
        "image": bool(container.get("image")),
        # A release may have options between the program and its subcommand.
        "command": [command[0], command[-1]] if command else [],
        "env": {name: env.get(name) for name in PROGRAM["env"]},
        "tolerations": sorted(tolerated),
        "requests and limits": {key: found for key in ("requests", "limits") if (found := resources.get(key))},
        "namespaces of the host": [key for key in ("hostIPC", "hostNetwork", "hostPID") if pod.get(key)],
    }


PROGRAM: Obj = {
    "serviceAccountName": "compute-domain-daemon-service-account",
    "image": True,
    "command": [DAEMON, "run"],
    "env": {
        "MAX_NODES_PER_IMEX_DOMAIN": "18",
        "NVIDIA_VISIBLE_DEVICES": "void",
        "NODE_NAME": "spec.nodeName",
        "POD_IP": "status.podIP",
        "POD_NAME": "metadata.name",
        "POD_NAMESPACE": "metadata.namespace",
        "POD_UID": "metadata.uid",
    },
    "tolerations": ["NoExecute", "NoSchedule", "PreferNoSchedule"],
    "requests and limits": {},
    "namespaces of the host": [],
}


def probe_fields(daemon_set: Obj) -> Obj:
    """Return the command, the times and the thresholds of each probe of a DaemonSet's pods."""
    container = daemon_set["spec"]["template"]["spec"]["containers"][0]
    found = {}
    for name in PROBES:
        probe = container.get(name) or {}
        command = (probe.get("exec") or {}).get("command") or ["", ""]
        times = [probe.get(key) for key in ("periodSeconds", "failureThreshold", "timeoutSeconds")]
        # The emulated API server sets no defaults in DaemonSets.
        defaults = [probe.get("initialDelaySeconds") or 0, probe.get("successThreshold") or 1]
        found[name] = [command[0], command[-1], *times, *defaults]
    return found


PROBES: Obj = {
    "startupProbe": [DAEMON, "check", 1, 1200, 10, 0, 1],
    "livenessProbe": [DAEMON, "check", 60, 20, 10, 0, 1],
    "readinessProbe": [DAEMON, "check", 10, 1, 10, 0, 1],
}


@then('the DaemonSet of ComputeDomain "{name}" runs the daemon')
def _(world: World, name: str) -> None:
    """Its pods have the program, the variables, the service account and the tolerations of the daemon."""
    check_daemon_set(world, name, program_fields, PROGRAM)


@then('the DaemonSet of ComputeDomain "{name}" probes the daemon')
def _(world: World, name: str) -> None:
    """Its pods have the probes of the daemon."""
    check_daemon_set(world, name, probe_fields, PROBES)


@then('the variable {variable:word} in the DaemonSet of ComputeDomain "{name}" has "{value}"')
def _(world: World, variable: str, name: str, value: str) -> None:
    """The variable of its pods has this value, or has it in a list with commas."""

    def fields(found: Obj) -> Obj:
        env = found["spec"]["template"]["spec"]["containers"][0].get("env") or ()
        text = next((str(one.get("value")) for one in env if one["name"] == variable), "")
        return {variable: value if value in (word.strip() for word in text.split(",")) else text}

    check_daemon_set(world, name, fields, {variable: value})


@then('the DaemonSet of ComputeDomain "{name}" has the imagePullSecrets "{secrets}"')
def _(world: World, name: str, secrets: str) -> None:
    """Its pods have exactly these, in this order."""

    def fields(found: Obj) -> Obj:
        pod = found["spec"]["template"]["spec"]
        return {"imagePullSecrets": [one["name"] for one in pod.get("imagePullSecrets") or ()]}

    check_daemon_set(world, name, fields, {"imagePullSecrets": list(words(secrets))})


def check_daemon_set(world: World, name: str, fields: Callable[[Obj], Obj], wanted: Obj) -> None:
    """Check that a domain comes to have one DaemonSet with these fields."""
    uid = uid_of(domain(world, name))

    def look() -> Seen[Obj | None]:
        return look_at_one(daemon_objects(world, uid)["DaemonSet"], fields, wanted)

    world.eventually(f"DaemonSet of ComputeDomain {name}", look, expected=wanted)


# -- several domains, restarts, and objects without a domain -----------------------------------------------------------


@given('a ComputeDomain "{name}" for {nodes:d} nodes that is called "{real}" in another namespace')
def _(world: World, name: str, nodes: int, real: str) -> None:
    """A domain with the name of another one; later steps call it by the first name."""
    obj = domain_object(world, real, nodes=nodes)
    obj["metadata"]["namespace"] = create_other_namespace(world)
    make_domain(world, obj, alias=name)


def objects_of(world: World, uid: str, namespace: str) -> list[tuple[Resource, Obj]]:
    """Return the DaemonSets and the claim templates with a domain's label, of its namespace and the driver's."""
    daemons = daemon_objects(world, uid)
    found = [(resource, obj) for resource in (DAEMON_SETS, RESOURCE_CLAIM_TEMPLATES) for obj in daemons[resource.kind]]
    templates = world.client.list(RESOURCE_CLAIM_TEMPLATES, namespace, label_selector=f"{LABEL}={uid}").items
    return [*found, *((RESOURCE_CLAIM_TEMPLATES, obj) for obj in templates)]


def shown(resource: Resource, obj: Obj) -> str:
    """Return kind, namespace and name of an object."""
    return f"{resource.kind} {namespace_of(obj)}/{name_of(obj)}"


def versions(world: World, name: str) -> dict[str, str]:
    """Return uid and resourceVersion of all objects of a domain, and of the domain itself, by kind and name."""
    owner = domain(world, name)
    found = [(COMPUTE_DOMAINS, owner), *objects_of(world, uid_of(owner), namespace_of(owner))]
    return {shown(resource, obj): f"{uid_of(obj)} {meta(obj)['resourceVersion']}" for resource, obj in found}


@given('the objects of ComputeDomain "{name}" are remembered')
def _(world: World, name: str) -> None:
    """Wait until the system is idle, and keep the versions of the domain and of its objects."""
    world.settle()
    world.state(RememberedObjects).of_domain[name] = versions(world, name)


@then('the objects of ComputeDomain "{name}" are unchanged')
def _(world: World, name: str) -> None:
    """The domain and its objects have the remembered versions once the system is idle, and there are no others."""
    wanted = world.state(RememberedObjects).of_domain[name]

    def look() -> Seen[list[Any]]:
        found = versions(world, name)
        changed = sorted(key for key in {*found, *wanted} if found.get(key) != wanted.get(key))
        return not changed, changed

    world.stays(f"objects of ComputeDomain {name} that were changed", look, expected=[])


@when('node "{node}" and copies of the objects of ComputeDomain "{name}" get the label of a ComputeDomain that is gone')
def _(world: World, node: str, name: str) -> None:
    """Leave a DaemonSet, both claim templates and a node label behind, as after a domain that lost its finalizer."""
    owner = domain(world, name)
    for resource, obj in objects_of(world, uid_of(owner), namespace_of(owner)):
        copied = {
            "name": f"orphan-{world.suffix}-{name_of(obj)[:20]}",
            "namespace": namespace_of(obj),
            "labels": {**meta(obj)["labels"], LABEL: NO_DOMAIN},
            "finalizers": [FINALIZER],
        }
        # Selector and pods of the DaemonSet keep the label of the domain that exists.
        world.client.create(resource, {"metadata": copied, "spec": obj["spec"]})
    world.client.patch(NODES, world.name(node), {"metadata": {"labels": {LABEL: NO_DOMAIN}}})
    world.cleanup.callback(remove_left, world, NO_DOMAIN, (world.namespace, world.driver_namespace))


@given('a copy of the claim template of ComputeDomain "{name}" in another namespace, kept by another finalizer')
def _(world: World, name: str) -> None:
    """A user creates the template of the domain's workloads, labels included, in a namespace of their own."""
    owner = domain(world, name)
    template_name = owner["spec"]["channel"]["resourceClaimTemplate"]["name"]
    template = world.client.get(RESOURCE_CLAIM_TEMPLATES, template_name, namespace_of(owner))
    namespace = create_other_namespace(world)
    copied = {
        "name": template_name,
        "namespace": namespace,
        "labels": meta(template)["labels"],
        "finalizers": ["example.com/audit"],
    }
    world.client.create(RESOURCE_CLAIM_TEMPLATES, {"metadata": copied, "spec": template["spec"]})
    world.cleanup.callback(remove_left, world, uid_of(owner), (namespace,))


def left_of(world: World, uid: str, namespace: str) -> list[str]:
    """Return the objects, and the labels of nodes, that a domain left behind."""
    # From the API server: the harness's own watch may be behind the removal of a label.
    nodes = world.client.list(NODES, label_selector=f"{LABEL}={uid}").items
    return [
        *(shown(resource, obj) for resource, obj in objects_of(world, uid, namespace)),
        *(f"label of {name_of(node)}" for node in nodes),
    ]


@then("nothing has the label of a ComputeDomain that is gone")
def _(world: World) -> None:
    """The copies of an earlier step are deleted, and the node has no label."""

    def look() -> Seen[list[Any]]:
        left = left_of(world, NO_DOMAIN, world.namespace)
        return not left, left

    world.eventually("objects of a former ComputeDomain", look, expected=[])


@then('nothing is left of the ComputeDomain "{name}"')
def _(world: World, name: str) -> None:
    """The domain, its templates and its DaemonSet are deleted, and no node has its label."""
    # The domain may be gone, so its uid comes from the scenario's state.
    created = world.state(CreatedDomains).of_name[name]
    namespace, real, uid = namespace_of(created), name_of(created), uid_of(created)
    early: list[str] = []

    def look() -> Seen[list[Any]]:
        # The domain first: what is found after it is gone was left behind.
        found = world.client.find(COMPUTE_DOMAINS, real, namespace)
        left = left_of(world, uid, namespace)
        # A domain of the same name may have been created meanwhile.
        if found is not None and uid_of(found) == uid:
            return False, [f"ComputeDomain {name}", *left]
        early.extend(left)
        return not left, left

    world.eventually(f"ComputeDomain {name} is cleaned up", look, expected=[])
    world.check(not early, f"what ComputeDomain {name} was removed before", expected=[], observed=early)


def warnings_of(world: World, name: str) -> list[str]:
    """Return the messages of the Warning events about a ComputeDomain that users can find."""
    return [event_text(event) for event in _warning_events(world, name)]


def _warning_events(world: World, name: str) -> list[Obj]:
    """Return the Warning events about a ComputeDomain in its namespace.

    An event about an object of that name in another API group, such as v1, is about another object.
    """
    created = world.state(CreatedDomains).of_name[name]
    found = []
    for event in events_about(world, COMPUTE_DOMAINS.kind, name_of(created)):
        about = event.get("involvedObject") or event.get("regarding") or {}
        group = str(about.get("apiVersion") or COMPUTE_DOMAINS.api_version).rpartition("/")[0]
        if (
            event.get("type") == "Warning"
            and namespace_of(event) == namespace_of(created)
            and about.get("uid") == uid_of(created)
            and group == COMPUTE_DOMAINS.group
        ):
            found.append(event)
    return found


@then('the ComputeDomain "{name}" gets a Warning event that contains "{text}"')
def _(world: World, name: str, text: str) -> None:
    """A Warning event whose message has this text comes to be recorded for the domain."""
    wanted = with_uids(world, text)

    def look() -> Seen[list[Any]]:
        found = warnings_of(world, name)
        return any(wanted in message for message in found), found

    world.eventually(f"Warning events of ComputeDomain {name}", look, expected=[f"…{wanted}…"])


@then('the Warning event of ComputeDomain "{name}" that contains "{text}" comes to be recorded {count:d} times')
def _(world: World, name: str, text: str, count: int) -> None:
    """The Warning events of the domain with this text come to have been recorded or counted so many times or more."""
    wanted = with_uids(world, text)

    def look() -> Seen[list[str]]:
        found = [event for event in _warning_events(world, name) if wanted in event_text(event)]
        times = [int((event.get("series") or event).get("count") or 1) for event in found]
        texts = [f"{event_text(event)} ({number} times)" for event, number in zip(found, times, strict=True)]
        return sum(times) >= count, texts

    world.eventually(f"Warning events of ComputeDomain {name}", look, expected=[f"…{wanted}… ({count} times or more)"])


@then('the ComputeDomain "{name}" gets no Warning event that contains "{text}"')
def _(world: World, name: str, text: str) -> None:
    """No Warning event with this text is recorded for the domain once the system is idle."""
    unwanted = with_uids(world, text)

    def look() -> Seen[list[Any]]:
        found = [message for message in warnings_of(world, name) if unwanted in message]
        return not found, found

    world.stays(f"Warning events of ComputeDomain {name} that contain {unwanted}", look, expected=[])
