"""Faults of objects of every kind: generations, deletions, and requests that do not fit the API."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from dra_api.status import bad_request
from dra_conformance.engine.mutation import Patch, mutant

_DELETE = "apiserver_emulator.registry.delete"
_UPDATE = "apiserver_emulator.registry.update"
_SERVER = "apiserver_emulator.server"
_WRITES = "apiserver_emulator.handlers.write"
_GENERATIONS = (
    "apiserver_emulator.dra.resource_slice:follow",
    "apiserver_emulator.dra.device_class:follow",
    "apiserver_emulator.dra.device_taint_rule:follow",
    "apiserver_emulator.strategy:bump_generation",
)
_Function = Callable[..., Any]


@mutant("generation-stays", rule="DRA-675")
def _(patch: Patch) -> None:
    """A change of the spec keeps the generation."""
    for place in _GENERATIONS:
        patch.replace(place, lambda new, old: None)


@mutant("generation-counts-writes", rule="DRA-675")
def _(patch: Patch) -> None:
    """Each update raises the generation."""

    def follow(new: Any, old: Any) -> None:
        new["metadata"]["generation"] = int(old["metadata"].get("generation", 0)) + 1

    for place in _GENERATIONS:
        patch.replace(place, follow)


@mutant("generation-of-client", rule="DRA-675")
def _(patch: Patch) -> None:
    """A new slice keeps the generation that its client sent."""

    def make(original: _Function) -> _Function:
        def prepare(self: Any, obj: Any, ctx: Any) -> None:
            sent = obj["metadata"].get("generation")
            original(self, obj, ctx)
            obj["metadata"]["generation"] = sent or 1

        return prepare

    patch.wrap("apiserver_emulator.dra.resource_slice:ResourceSliceStrategy.prepare_create", make)


@mutant("generation-counts-status", rule="DRA-675")
def _(patch: Patch) -> None:
    """An update of the status of a pod raises its generation."""

    def make(original: _Function) -> _Function:
        def prepare(self: Any, new: Any, old: Any, ctx: Any) -> None:
            original(self, new, old, ctx)
            if ctx.subresource == "status":
                new["metadata"]["generation"] = old["metadata"]["generation"] + 1

        return prepare

    patch.wrap("apiserver_emulator.pods.strategy:PodStrategy.prepare_update", make)


def _marked(patch: Patch, change: Callable[[Any, Any], None]) -> None:
    """Change an object after a deletion has marked it; `change` gets the object and its former state."""

    def make(original: _Function) -> _Function:
        def mark(core: Any, resource: Any, old: Any, options: Any) -> Any:
            found = original(core, resource, old, options)
            if found is not None:
                change(found, old.obj)
            return found

        return mark

    patch.wrap(f"{_DELETE}:_mark", make)


@mutant("deletion-keeps-generation", rule="DRA-675")
def _(patch: Patch) -> None:
    """The mark of a deletion does not raise the generation."""

    def change(obj: Any, old: Any) -> None:
        if "generation" in old["metadata"]:
            obj["metadata"]["generation"] = old["metadata"]["generation"]

    _marked(patch, change)


@mutant("shorter-period-keeps-the-end", rule="DRA-381b")
def _(patch: Patch) -> None:
    """A second deletion shortens the grace period and keeps deletionTimestamp."""

    def change(obj: Any, old: Any) -> None:
        if "deletionTimestamp" in old["metadata"]:
            obj["metadata"]["deletionTimestamp"] = old["metadata"]["deletionTimestamp"]

    _marked(patch, change)


@mutant("deletion-is-due-at-once", rule="DRA-381c")
def _(patch: Patch) -> None:
    """deletionTimestamp is the time of the deletion, without the grace period."""

    def change(obj: Any, old: Any) -> None:
        obj["metadata"]["deletionTimestamp"] = old["metadata"]["creationTimestamp"]

    _marked(patch, change)


@mutant("ended-pods-wait", rule="DRA-381c")
def _(patch: Patch) -> None:
    """A pod that has ended, or has no node, waits for a kubelet as well."""

    def grace_period(self: Any, obj: Any, options: Any) -> int:
        return int(options.get("gracePeriodSeconds") or obj["spec"]["terminationGracePeriodSeconds"])

    patch.replace("apiserver_emulator.pods.strategy:PodStrategy.grace_period", grace_period)


@mutant("update-marks-for-deletion", rule="DRA-382d")
def _(patch: Patch) -> None:
    """An update can set deletionTimestamp."""

    def make(original: _Function) -> _Function:
        def validate(new: Any, old: Any, **more: Any) -> Any:
            return [error for error in original(new, old, **more) if "deletion" not in error.field]

        return validate

    patch.wrap(f"{_UPDATE}:validate_metadata_update", make)


@mutant("update-takes-the-mark-away", rule="DRA-382d")
def _(patch: Patch) -> None:
    """An update without deletionTimestamp ends the deletion."""

    def make(original: _Function) -> _Function:
        def carry_over(new: Any, old: Any) -> None:
            sent = new.get("deletionTimestamp")
            original(new, old)
            if sent is None:
                new.pop("deletionTimestamp", None)

        return carry_over

    patch.wrap(f"{_UPDATE}:carry_over_metadata", make)
    patch.wrap(
        f"{_UPDATE}:validate_metadata_update",
        lambda original: lambda new, old, **more: [e for e in original(new, old, **more) if "deletion" not in e.field],
    )


@mutant("collections-are-written", rule="DRA-676")
def _(patch: Patch) -> None:
    """A write to a path without a name gets another code than 405."""
    patch.replace(f"{_SERVER}:_check_method", lambda request, info: None)


@mutant("cluster-scoped-paths-have-namespaces", rule="DRA-676")
def _(patch: Patch) -> None:
    """Slices are listed under the path of a namespace, claims read without one."""
    patch.replace(f"{_SERVER}:_check_scope", lambda resource, info: None)


@mutant("deletion-before-negotiation", rule="DRA-676")
def _(patch: Patch) -> None:
    """An object is deleted although the client accepts no format of the response."""

    def make(original: _Function) -> _Function:
        def check(request: Any, verb: Any, *, custom: Any) -> None:
            if verb == "delete":
                request.headers = {**request.headers, "accept": "*/*"}
            original(request, verb, custom=custom)

        return check

    patch.wrap(f"{_SERVER}:check_accepted", make)


@mutant("bodies-of-any-kind", rule="DRA-676")
def _(patch: Patch) -> None:
    """The kind of a body is not compared with the path."""

    def settle(obj: Any, resource: Any, version: Any, schemas: Any) -> None:
        obj["apiVersion"], obj["kind"] = resource.api_version(version), resource.kind

    patch.replace("apiserver_emulator.handlers.request_body:settle_kind", settle)


@mutant("bodies-of-any-size", rule="DRA-676")
def _(patch: Patch) -> None:
    """A body can have any size."""
    patch.replace(f"{_SERVER}:MAX_BODY", 1 << 40)


@mutant("bodies-need-a-kind", rule="DRA-677")
def _(patch: Patch) -> None:
    """A body without a kind is refused."""

    def make(original: _Function) -> _Function:
        def settle(obj: Any, resource: Any, version: Any, schemas: Any) -> None:
            if not obj.get("kind"):
                raise bad_request("Object 'Kind' is missing")
            original(obj, resource, version, schemas)

        return settle

    patch.wrap("apiserver_emulator.handlers.request_body:settle_kind", make)


# -- pods --------------------------------------------------------------------------------------------------------------

_POD = "apiserver_emulator.pods.strategy"
_PODS = "apiserver_emulator.pods"


@mutant("images-are-pulled-if-missing", rule="DRA-678")
def _(patch: Patch) -> None:
    """Every image has the policy IfNotPresent."""

    def make(original: _Function) -> _Function:
        def default(spec: Any) -> None:
            for container in spec.get("containers") or ():
                container.setdefault("imagePullPolicy", "IfNotPresent")
            original(spec)

        return default

    patch.wrap(f"{_POD}:default_pod_spec", make)


@mutant("probes-keep-zeros", rule="DRA-678")
def _(patch: Patch) -> None:
    """A probe is defaulted only in the fields that it does not have."""

    def default(probe: Any) -> None:
        for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1)):
            probe.setdefault(name, value)
        probe.setdefault("failureThreshold", 3)

    patch.replace(f"{_POD}:_default_probe", default)


@mutant("qos-of-the-first-container", rule="DRA-678")
def _(patch: Patch) -> None:
    """The QoS class is that of the first container."""
    patch.wrap(
        f"{_POD}:qos_class",
        lambda original: lambda spec: original({"containers": (spec.get("containers") or [])[:1]}),
    )


@mutant("default-tolerations-twice", rule="DRA-678")
def _(patch: Patch) -> None:
    """The default tolerations are added to a pod that tolerates everything."""

    def make(original: _Function) -> _Function:
        def tolerate(spec: Any) -> None:
            kept = [one for one in spec.get("tolerations") or () if not one.get("key")]
            spec["tolerations"] = [one for one in spec.get("tolerations") or () if one.get("key")]
            original(spec)
            spec["tolerations"] = [*kept, *spec["tolerations"]]

        return tolerate

    patch.wrap(f"{_PODS}.admission:tolerate", make)


@mutant("owners-of-pods-change-with-the-status", rule="DRA-708")
def _(patch: Patch) -> None:
    """An update of a pod's status stores the owners that it was sent with."""

    def make(original: _Function) -> _Function:
        def prepare(self: Any, new: Any, old: Any, ctx: Any) -> None:
            sent = new["metadata"].get("ownerReferences")
            original(self, new, old, ctx)
            if ctx.subresource == "status":
                new["metadata"]["ownerReferences"] = sent or []

        return prepare

    patch.wrap(f"{_PODS}.strategy:PodStrategy.prepare_update", make)


@mutant("ports-of-any-number", rule="DRA-679")
def _(patch: Patch) -> None:
    """Ports are not validated."""
    patch.replace(f"{_PODS}.field_checks:port_errors", lambda container, field: [])


@mutant("containers-of-one-name", rule="DRA-679")
def _(patch: Patch) -> None:
    """Two containers can have one name."""

    def make(original: _Function) -> _Function:
        return lambda spec: [error for error in original(spec) if error.reason != "FieldValueDuplicate"]

    patch.wrap(f"{_POD}:container_errors", make)


@mutant("tolerations-of-pods-are-not-checked", rule="DRA-679")
def _(patch: Patch) -> None:
    """Tolerations of pods are not validated."""
    patch.replace(f"{_PODS}.field_checks:toleration_errors", lambda tolerations, field="spec.tolerations": [])


@mutant("deadlines-move-away", rule="DRA-680")
def _(patch: Patch) -> None:
    """activeDeadlineSeconds can be raised."""

    def make(original: _Function) -> _Function:
        return lambda new, old: [error for error in original(new, old) if "activeDeadline" not in error.field]

    patch.wrap(f"{_POD}:immutability_errors", make)


@mutant("gates-come-back", rule="DRA-680")
def _(patch: Patch) -> None:
    """A pod can get a scheduling gate."""

    def make(original: _Function) -> _Function:
        return lambda new, old: [error for error in original(new, old) if "schedulingGates" not in error.field]

    patch.wrap(f"{_POD}:immutability_errors", make)


# -- identities --------------------------------------------------------------------------------------------------------

_NODES = "apiserver_emulator.node_authorizer"


@mutant("node-reads-all-nodes", rule="DRA-681")
def _(patch: Patch) -> None:
    """A node may read every Node."""
    patch.wrap(f"{_NODES}:NodeAuthorizer._node", lambda original: lambda node, info: (info.verb != "delete", ""))


@mutant("node-by-its-name", rule="DRA-681")
def _(patch: Patch) -> None:
    """A user of a node's name is a node, whatever its groups."""
    patch.replace(
        f"{_NODES}:node_name",
        lambda user: user.name.removeprefix("system:node:") if user.name.startswith("system:node:") else "",
    )


@mutant("projected-volumes-are-forgotten", rule="DRA-681b")
def _(patch: Patch) -> None:
    """A node may not read the ConfigMaps of projected volumes."""

    def make(original: _Function) -> _Function:
        def in_volumes(pod: Any, field: Any) -> Any:
            volumes = [one for one in pod["spec"].get("volumes") or () if "projected" not in one]
            return original({**pod, "spec": {**pod["spec"], "volumes": volumes}}, field)

        return in_volumes

    patch.wrap(f"{_NODES}:_in_volumes", make)


@mutant("references-in-any-namespace", rule="DRA-681b")
def _(patch: Patch) -> None:
    """A node may read an object of a name that one of its pods in another namespace refers to."""
    references = patch.find(f"{_NODES}:references")[2]

    def make(original: _Function) -> _Function:
        def referenced(self: Any, node: Any, info: Any) -> Any:
            names = {name for pod in self._pods(node) for name in references(pod, info.resource)}
            return (info.name in names, "")

        return referenced

    patch.wrap(f"{_NODES}:NodeAuthorizer._referenced", make)


@mutant("node-writes-claims-of-pods", rule="DRA-681c")
def _(patch: Patch) -> None:
    """A node may name claims in the status of its pods."""
    patch.replace(f"{_NODES}:_why_not_status", lambda pod, old, node: "")


@mutant("mirror-pods-of-any-owner", rule="DRA-681c")
def _(patch: Patch) -> None:
    """A node may create any mirror pod."""
    patch.replace(f"{_NODES}:_why_no_mirror", lambda pod, node, ctx: "")


@mutant("node-creates-any-lease", rule="DRA-681c")
def _(patch: Patch) -> None:
    """A node may create the Lease of any node."""
    patch.replace("apiserver_emulator.builtin.simple:restrict_lease", lambda name, user: None)


@mutant("tokens-without-uid", rule="DRA-681c")
def _(patch: Patch) -> None:
    """A node gets tokens that are bound to nothing."""
    patch.replace("apiserver_emulator.reviews:restrict_token", lambda account, reference, user, pod: None)


@mutant("impersonated-users-keep-no-extra", rule="DRA-687")
def _(patch: Patch) -> None:
    """The extra fields of an impersonated user are lost."""
    patch.wrap(
        "apiserver_emulator.reviews:_user_info",
        lambda original: lambda user: {key: value for key, value in original(user).items() if key != "extra"},
    )


# -- other kinds -------------------------------------------------------------------------------------------------------

_KINDS = "apiserver_emulator.builtin"


@mutant("keys-of-maps-are-not-checked", rule="DRA-682")
def _(patch: Patch) -> None:
    """ConfigMaps and Secrets can have any keys."""
    patch.replace(f"{_KINDS}.data:_key_errors", lambda field, key: [])


@mutant("roles-without-verbs", rule="DRA-682")
def _(patch: Patch) -> None:
    """The rules of a role are not validated."""
    patch.replace(f"{_KINDS}.rbac:RoleStrategy.validate_create", lambda self, obj, ctx: [])


@mutant("schemas-need-no-types", rule="DRA-682")
def _(patch: Patch) -> None:
    """The schema of a definition need not be structural."""
    patch.replace(
        "apiserver_emulator.crd.definition_checks:structural_errors",
        lambda schema, field, part="object fields": [],
    )


@mutant("immutable-data-change", rule="DRA-682b")
def _(patch: Patch) -> None:
    """Data of an immutable ConfigMap can be changed."""
    patch.replace(f"{_KINDS}.data:immutable_data_errors", lambda new, old: [])


@mutant("bindings-change-their-role", rule="DRA-682b")
def _(patch: Patch) -> None:
    """A binding can get another role."""
    patch.replace(
        f"{_KINDS}.rbac:RoleBindingStrategy.validate_update", lambda self, new, old, ctx: self.validate_create(new, ctx)
    )


@mutant("notes-are-lost", rule="DRA-683")
def _(patch: Patch) -> None:
    """The message of a core event is not the note of the new API."""
    patch.wrap(
        f"{_KINDS}.events:event_from_core",
        lambda original: lambda obj: {key: value for key, value in original(obj).items() if key != "note"},
    )


@mutant("namespaces-have-no-label", rule="DRA-684")
def _(patch: Patch) -> None:
    """A new namespace has no label with its name."""
    patch.replace(f"{_KINDS}.namespaces:NamespaceStrategy.default", lambda self, obj: None)


@mutant("one-entry-for-all-subresources", rule="DRA-685")
def _(patch: Patch) -> None:
    """The entry of a manager does not name the subresource."""

    def make(original: _Function) -> _Function:
        def write(meta: Any, managers: Any) -> None:
            original(meta, managers)
            for entry in meta.get("managedFields") or ():
                entry.pop("subresource", None)

        return write

    patch.wrap("apiserver_emulator.managed_fields:write", make)
    patch.wrap("apiserver_emulator.server_side_apply:write", make)


@mutant("entries-of-subresources-are-never-shared", rule="DRA-685b")
def _(patch: Patch) -> None:
    """Only entries of the main resource become part of the entry of old changes."""

    def make(original: _Function) -> _Function:
        def cap(managers: Any) -> None:
            kept = {who: managers.pop(who) for who in list(managers) if who.subresource}
            original(managers)
            managers.update(kept)

        return cap

    patch.wrap("apiserver_emulator.managed_fields:_cap", make)


@mutant("entries-of-updates-without-limit", rule="DRA-685b")
def _(patch: Patch) -> None:
    """Each manager keeps an entry of its own, however many there are."""
    patch.replace("apiserver_emulator.managed_fields:_cap", lambda managers: None)


@mutant("reset-objects-have-owners", rule="DRA-685")
def _(patch: Patch) -> None:
    """The first apply after a reset does not count the fields that were there."""

    def make(original: _Function) -> _Function:
        def apply(live: Any, *args: Any, **options: Any) -> Any:
            live["metadata"].setdefault("managedFields", [])
            return original(live, *args, **options)

        return apply

    patch.wrap("apiserver_emulator.server_side_apply:apply", make)


@mutant("evictions-ignore-budgets", rule="DRA-686")
def _(patch: Patch) -> None:
    """A PodDisruptionBudget does not count."""
    patch.replace(f"{_PODS}.subresources:PodSubresources._use_budget", lambda self, pod, info, **options: None)


@mutant("budgets-count-pending-pods", rule="DRA-686")
def _(patch: Patch) -> None:
    """A pod that is pending is not evicted while its budget allows no disruption."""
    patch.replace(f"{_PODS}.subresources:_disruption_is_free", lambda pod: False)


_DISCOVERY = "apiserver_emulator.discovery"


@mutant("all-resources-are-namespaced", rule="DRA-700")
def _(patch: Patch) -> None:
    """Discovery reports cluster-scoped resources as namespaced."""

    def make(original: _Function) -> _Function:
        def listed(*args: Any) -> Any:
            found = original(*args)
            for entry in found["resources"] if found else ():
                entry["namespaced"] = True
            return found

        return listed

    patch.wrap(f"{_DISCOVERY}:resource_list", make)


@mutant("discovery-without-subresources", rule="DRA-700")
def _(patch: Patch) -> None:
    """Discovery has no subresources."""

    def make(original: _Function) -> _Function:
        def listed(*args: Any) -> Any:
            found = original(*args)
            if found:
                found["resources"] = [entry for entry in found["resources"] if "/" not in entry["name"]]
            return found

        return listed

    patch.wrap(f"{_DISCOVERY}:resource_list", make)


@mutant("last-version-is-preferred", rule="DRA-700")
def _(patch: Patch) -> None:
    """The versions of a group are listed with the oldest one first."""
    patch.wrap(f"{_DISCOVERY}:api_group", lambda original: lambda group, found: original(group, found[::-1]))


@mutant("aggregated-discovery-without-subresources", rule="DRA-701")
def _(patch: Patch) -> None:
    """Aggregated discovery leaves out the subresources that the single documents have."""

    def make(original: _Function) -> _Function:
        def aggregated(*args: Any) -> Any:
            found = original(*args)
            for resource in found["resources"]:
                resource.pop("subresources", None)
            return found

        return aggregated

    patch.wrap(f"{_DISCOVERY}:_aggregated_version", make)


@mutant("openapi-without-paths", rule="DRA-702")
def _(patch: Patch) -> None:
    """The OpenAPI documents have no paths."""

    def make(original: _Function) -> _Function:
        return lambda *args: {**original(*args), "paths": {}}

    patch.wrap("apiserver_emulator.openapi:OpenApi._document", make)


@mutant("protobuf-without-labels", rule="DRA-703")
def _(patch: Patch) -> None:
    """Labels are missing in the protobuf form."""

    def make(original: _Function) -> _Function:
        def fill(obj: Any, message: Any) -> None:
            original({key: value for key, value in obj.items() if key != "labels"}, message)

        return fill

    patch.wrap("apiserver_emulator.protobuf.writer:_set_fields", make)


def _hollow(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_hollow, value.values()))


@mutant("protobuf-without-empty-structs", rule="DRA-703")
def _(patch: Patch) -> None:
    """A struct without any value is missing in the protobuf form, as if it were not set."""

    def make(original: _Function) -> _Function:
        def fill(obj: Any, message: Any) -> None:
            # The sets of managedFields are maps without values.
            original({key: value for key, value in obj.items() if key == "fieldsV1" or not _hollow(value)}, message)

        return fill

    patch.wrap("apiserver_emulator.protobuf.writer:_set_fields", make)


@mutant("table-shows-phases", rule="DRA-704")
def _(patch: Patch) -> None:
    """The table of pods shows their phase, whatever their containers wait for."""

    def phase(pod: Any) -> object:
        return (pod.get("status") or {}).get("phase", "")

    def make(original: _Function) -> _Function:
        def table(resource: Any, records: Any, **options: Any) -> Any:
            columns = resource.columns
            if resource.plural == "pods":
                columns = tuple(
                    dataclasses.replace(one, cell=phase) if one.name == "Status" else one for one in columns
                )
            return original(dataclasses.replace(resource, columns=columns), records, **options)

        return table

    patch.wrap("apiserver_emulator.handlers.read:table", make)
