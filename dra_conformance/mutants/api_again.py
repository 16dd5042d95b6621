"""Faults of the API server that show with a second try, or a second owner, annotation, label, item or manager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_api.status import StatusError, duplicate
from dra_conformance.engine.mutation import Patch, mutant

_BASE = "apiserver_emulator"
_WEBHOOKS = f"{_BASE}.webhooks"
_Function = Callable[..., Any]


@mutant("second-owner-is-not-watched", rule="DRA-388")
def _(patch: Patch) -> None:
    """The index of owners does not follow an owner reference that replaces another one."""

    def make(original: _Function) -> _Function:
        def index(self: Any, kind: Any, key: Any, obj: Any, old: Any) -> None:
            after = obj["metadata"].get("ownerReferences") if obj else None
            before = old.obj["metadata"].get("ownerReferences") if old else None
            if len(after or ()) != len(before or ()):
                original(self, kind, key, obj, old)

        return index

    patch.wrap(f"{_BASE}.store:Store._index_owners", make)


@mutant("second-deletion-does-not-wait", rule="DRA-388b")
def _(patch: Patch) -> None:
    """A deletion without a policy ends the wait for dependents that an earlier one began."""

    def make(original: _Function) -> _Function:
        def finalizers(present: Any, options: Any) -> Any:
            return original(present, {"propagationPolicy": "Background", **options})

        return finalizers

    patch.wrap(f"{_BASE}.registry.delete:_policy_finalizers", make)


@mutant("owners-of-one-name-are-equal", rule="DRA-664")
def _(patch: Patch) -> None:
    """Of two owners of one kind and name the second is dropped, whatever its uid."""

    def make(original: _Function) -> _Function:
        def twice_owned(meta: Any, **options: Any) -> Any:
            owners = meta.get("ownerReferences") or []
            first = {(owner.get("kind"), owner.get("name")): owner for owner in reversed(owners)}
            if owners:
                meta["ownerReferences"] = [owner for owner in owners if any(owner is one for one in first.values())]
            return original(meta, **options)

        return twice_owned

    patch.wrap(f"{_BASE}.registry.create:twice_owned", make)


@mutant("annotations-are-limited-one-by-one", rule="DRA-664")
def _(patch: Patch) -> None:
    """The limit of annotations holds for each of them, and not for all together."""

    def make(original: _Function) -> _Function:
        return lambda annotations: [
            error for key, value in (annotations or {}).items() for error in original({key: value})
        ]

    patch.wrap(f"{_BASE}.metadata:_annotations", make)


@mutant("last-label-of-a-selector-counts", rule="DRA-670")
def _(patch: Patch) -> None:
    """Of several matchLabels only the last one counts."""

    def make(original: _Function) -> _Function:
        def selector(given: Any) -> Any:
            labels = list((given or {}).get("matchLabels", {}).items())
            return original(given if given is None else {**given, "matchLabels": dict(labels[-1:])})

        return selector

    patch.wrap(f"{_WEBHOOKS}:structured_selector", make)


@mutant("webhooks-get-all-namespaces", rule="DRA-670")
def _(patch: Patch) -> None:
    """The namespaceSelector of a webhook does not count for namespaces themselves."""

    def make(original: _Function) -> _Function:
        def selected(self: Any, hook: Any, resource: Any, *args: Any) -> Any:
            if resource.plural == "namespaces":
                hook = {**hook, "namespaceSelector": {}}
            return original(self, hook, resource, *args)

        return selected

    patch.wrap(f"{_WEBHOOKS}:ValidatingWebhooks._selected", make)


@mutant("last-unknown-field-is-dropped", rule="DRA-397")
def _(patch: Patch) -> None:
    """Of several unknown fields of an object only the last one is dropped."""

    def make(original: _Function) -> _Function:
        def conform(value: Any, node: Any, path: str, unknown: list[str], lenient: bool) -> Any:
            before, known = dict(value), len(unknown)
            found = original(value, node, path, unknown, lenient)
            dropped = [name for name in before if f"{path}.{name}" in unknown[known:]]
            found.update({name: before[name] for name in dropped[:-1]})
            return found

        return conform

    patch.wrap(f"{_BASE}.field_validation:_conform_object", make)


@mutant("strategic-patch-adds-what-it-deletes", rule="DRA-393")
def _(patch: Patch) -> None:
    """The directives of a list that is missing are not applied."""

    def make(original: _Function) -> _Function:
        return lambda value, typed: value if isinstance(value, list) else original(value, typed)

    patch.wrap(f"{_BASE}.strategic_merge:_fresh", make)


@mutant("apply-removes-what-an-update-wrote", rule="DRA-394")
def _(patch: Patch) -> None:
    """Of the other managers of a field only those count that have applied it."""

    def make(original: _Function) -> _Function:
        return lambda meta: {who: entry for who, entry in original(meta).items() if who.operation == "Apply"}

    patch.wrap(f"{_BASE}.server_side_apply:read", make)


@mutant("gates-are-exchanged", rule="DRA-680")
def _(patch: Patch) -> None:
    """The scheduling gates of a pod can become as many others."""

    def make(original: _Function) -> _Function:
        def errors(new: Any, old: Any) -> Any:
            same = len(new.get("schedulingGates") or ()) == len(old.get("schedulingGates") or ())
            return [error for error in original(new, old) if not (same and "schedulingGates" in error.field)]

        return errors

    patch.wrap(f"{_BASE}.pods.strategy:immutability_errors", make)


@mutant("namespaces-have-any-name-as-label", rule="DRA-684")
def _(patch: Patch) -> None:
    """A client can set the label with the name of a namespace."""

    def make(original: _Function) -> _Function:
        def default(self: Any, obj: Any) -> None:
            sent = dict(obj["metadata"].get("labels") or {})
            original(self, obj)
            if obj["metadata"].get("labels"):
                obj["metadata"]["labels"] |= sent

        return default

    patch.wrap(f"{_BASE}.builtin.namespaces:NamespaceStrategy.default", make)


@mutant("init-containers-run-at-a-time", rule="DRA-626")
def _(patch: Patch) -> None:
    """The requests of all init containers of a pod are added."""

    def make(original: _Function) -> _Function:
        def requested(spec: Any) -> Any:
            total: dict[str, Any] = {}
            for container in spec.get("initContainers") or ():
                for name, amount in original({"initContainers": [container]}).items():
                    total[name] = total[name] + amount if name in total else amount
            for name, amount in original({**spec, "initContainers": []}).items():
                total[name] = max(total[name], amount) if name in total else amount
            return total

        return requested

    patch.wrap(f"{_BASE}.quotas.usage:_requested", make)


@mutant(
    "pods-of-all-namespaces-keep-a-group",
    rule="DRA-554b",
    kubernetes_version="1.37",
    feature_gates=("GenericWorkload=true", "DRAWorkloadResourceClaims=true"),
)
def _(patch: Patch) -> None:
    """A group in deletion waits for the pods of all groups of its name, whatever their namespace."""

    def make(original: _Function) -> _Function:
        def release(self: Any, key: Any) -> None:
            pods = [pod.obj for pod in self._core.store.snapshot(("", "pods"))[0]]
            named = [pod for pod in pods if (pod["spec"].get("schedulingGroup") or {}).get("podGroupName") == key[1]]
            if all((pod.get("status") or {}).get("phase") in ("Succeeded", "Failed") for pod in named):
                original(self, key)

        return release

    patch.wrap(f"{_BASE}.controllers.pod_groups:PodGroupProtection.release", make)


@mutant(
    "groups-get-claims-later",
    rule="DRA-551c",
    kubernetes_version="1.37",
    feature_gates=("GenericWorkload=true", "DRAWorkloadResourceClaims=true"),
)
def _(patch: Patch) -> None:
    """A field of a group that was not set can be set later."""

    def make(original: _Function) -> _Function:
        def validate(self: Any, new: Any, old: Any, ctx: Any) -> Any:
            absent = {f"spec.{field}" for field in new["spec"].keys() - old["spec"].keys()}
            return [error for error in original(self, new, old, ctx) if error.field not in absent]

        return validate

    patch.wrap(f"{_BASE}.builtin.pod_groups:PodGroupStrategy.validate_update", make)


@mutant("taint-rules-count-from-now", rule="DRA-227")
def _(patch: Patch) -> None:
    """A change of the effect replaces a timeAdded that the client has sent, too."""

    def make(original: _Function) -> _Function:
        def prepare(self: Any, new: Any, old: Any, ctx: Any) -> None:
            if ctx.subresource != "status" and new["spec"]["taint"].get("effect") != old["spec"]["taint"].get("effect"):
                new["spec"]["taint"].pop("timeAdded", None)
            original(self, new, old, ctx)

        return prepare

    patch.wrap(f"{_BASE}.dra.device_taint_rule:DeviceTaintRuleStrategy.prepare_update", make)


@mutant("one-request-without-alternatives-drops-all", rule="DRA-802", kubernetes_version="1.36")
def _(patch: Patch) -> None:
    """Stored alternatives are in use only if each request has some."""

    def make(original: _Function) -> _Function:
        def drop(spec: Any, old: Any, rules: Any) -> None:
            used = [
                bool(request.get("firstAvailable")) for request in (old or {}).get("devices", {}).get("requests", ())
            ]
            original(spec, old if all(used) else None, rules)

        return drop

    patch.wrap(f"{_BASE}.dra.resource_claim:drop_disabled", make)


@mutant("pages-continue-by-name", rule="DRA-387")
def _(patch: Patch) -> None:
    """A page continues after the name of the last object, whatever its namespace."""
    patch.replace(f"{_BASE}.handlers.read:_path", lambda record: record.obj["metadata"]["name"])


@mutant("claims-belong-to-one-container", rule="DRA-046")
def _(patch: Patch) -> None:
    """A second container of a pod cannot use the claim of the first one."""

    def make(original: _Function) -> _Function:
        def errors(spec: Any) -> Any:
            entries = [
                entry
                for container in spec.get("containers") or ()
                for entry in (container.get("resources") or {}).get("claims") or ()
            ]
            found = original(spec)
            twice = [at for at, entry in enumerate(entries) if entry in entries[:at]]
            return found or [duplicate(f"spec.containers.claims[{at}]", "claim") for at in twice]

        return errors

    patch.wrap(f"{_BASE}.pods.strategy:claim_errors", make)


@mutant("claim-statuses-compared-with-the-last-one", rule="DRA-049")
def _(patch: Patch) -> None:
    """The name of an entry in a pod's status is compared with that of the entry before it only."""

    def make(original: _Function) -> _Function:
        def errors(pod: Any, **options: Any) -> Any:
            entries = (pod.get("status") or {}).get("resourceClaimStatuses") or []
            apart = {
                f"status.resourceClaimStatuses[{at}].name"
                for at in range(1, len(entries))
                if entries[at]["name"] != entries[at - 1]["name"]
            }
            found = original(pod, **options)
            return [one for one in found if one.reason != "FieldValueDuplicate" or one.field not in apart]

        return errors

    patch.wrap(f"{_BASE}.pods.strategy:status_errors", make)


@mutant("first-item-gets-defaults", rule="DRA-399b")
def _(patch: Patch) -> None:
    """Of the items of a list only the first one gets the defaults of a schema."""

    def make(original: _Function) -> _Function:
        return lambda value, schema: original(value[:1] if isinstance(value, list) else value, schema)

    patch.wrap(f"{_BASE}.crd.strategy:apply_defaults", make)


# -- impersonation, evictions, admission -------------------------------------------------------------------------------


def _needs_no_permission(patch: Patch, resource: str) -> None:
    """A client may impersonate any object of a resource."""

    def make(original: _Function) -> _Function:
        return lambda *args, **options: [one for one in original(*args, **options) if one.resource != resource]

    patch.wrap(f"{_BASE}.auth:_impersonations", make)


@mutant("any-group-is-impersonated", rule="DRA-870")
def _(patch: Patch) -> None:
    """Permission for the user is enough for any group."""
    _needs_no_permission(patch, "groups")


@mutant("any-uid-is-impersonated", rule="DRA-870")
def _(patch: Patch) -> None:
    """Permission for the user is enough for any uid."""
    _needs_no_permission(patch, "uids")


@mutant("any-extra-field-is-impersonated", rule="DRA-870")
def _(patch: Patch) -> None:
    """Permission for the user is enough for any extra field."""
    _needs_no_permission(patch, "userextras")


@mutant("first-extra-field-is-enough", rule="DRA-870")
def _(patch: Patch) -> None:
    """Permission for the first of several extra fields is enough."""

    def make(original: _Function) -> _Function:
        return lambda name, *, extra, **options: original(name, extra=dict(list(extra.items())[:1]), **options)

    patch.wrap(f"{_BASE}.auth:_impersonations", make)


@mutant("evictions-leave-the-budget", rule="DRA-871")
def _(patch: Patch) -> None:
    """An eviction is compared with its budget and does not change it."""

    def make(original: _Function) -> _Function:
        return lambda self, pod, info, *, dry_run: original(self, pod, info, dry_run=True)

    patch.wrap(f"{_BASE}.pods.subresources:PodSubresources._use_budget", make)


@mutant("dry-runs-use-the-budget", rule="DRA-871")
def _(patch: Patch) -> None:
    """A dry run of an eviction lowers the disruptions that the budget allows."""

    def make(original: _Function) -> _Function:
        return lambda self, pod, info, *, dry_run: original(self, pod, info, dry_run=False)

    patch.wrap(f"{_BASE}.pods.subresources:PodSubresources._use_budget", make)


@mutant("runtime-classes-set-nothing", rule="DRA-872")
def _(patch: Patch) -> None:
    """A pod gets nothing of its RuntimeClass."""
    patch.replace(f"{_BASE}.pods.admission:_runtime_class", lambda pod, ctx: None)


@mutant("any-overhead-is-accepted", rule="DRA-872")
def _(patch: Patch) -> None:
    """A pod may bring an overhead of its own."""

    def make(original: _Function) -> _Function:
        def set_class(pod: Any, ctx: Any) -> None:
            own = pod["spec"].pop("overhead", None)
            original(pod, ctx)
            if own:
                pod["spec"]["overhead"] = own

        return set_class

    patch.wrap(f"{_BASE}.pods.admission:_runtime_class", make)


@mutant("last-webhook-warns", rule="DRA-873")
def _(patch: Patch) -> None:
    """The warnings of the last webhook replace those of the others."""

    def make(original: _Function) -> _Function:
        def warn(self: Any, text: str) -> None:
            self.warnings.clear()
            original(self, text)

        return warn

    patch.wrap(f"{_BASE}.strategy:RequestContext.warn", make)


@mutant("refusals-have-no-warnings", rule="DRA-873")
def _(patch: Patch) -> None:
    """The response to a refused request has no warnings."""

    def make(original: _Function) -> _Function:
        def review(self: Any, resource: Any, operation: Any, info: Any, ctx: Any, *args: Any) -> None:
            try:
                original(self, resource, operation, info, ctx, *args)
            except StatusError:
                ctx.warnings.clear()
                raise

        return review

    patch.wrap(f"{_BASE}.webhooks:ValidatingWebhooks.review", make)


@mutant("collections-end-at-a-missing-object", rule="DRA-874")
def _(patch: Patch) -> None:
    """The deletion of a collection ends with 404 at an object that is gone."""

    def make(original: _Function) -> _Function:
        def delete(*args: Any, **options: Any) -> Any:
            try:
                return original(*args, **options)
            except StatusError as error:
                error.reason = "Gone" if error.reason == "NotFound" else error.reason
                raise

        return delete

    patch.wrap(f"{_BASE}.handlers.write:delete_object", make)


@mutant("updates-leave-what-their-manager-applied", rule="DRA-685")
def _(patch: Patch) -> None:
    """A field that an update changes stays in the entry of an apply by the same manager."""

    def make(original: _Function) -> _Function:
        def release(managers: Any, who: Any, changes: Any) -> None:
            own = {other: managers.pop(other) for other in list(managers) if other != who and other.name == who.name}
            original(managers, who, changes)
            managers.update(own)

        return release

    patch.wrap(f"{_BASE}.managed_fields:release_from_others", make)


@mutant("orphan-finalizer-stays", rule="DRA-388b")
def _(patch: Patch) -> None:
    """A deletion with another policy leaves the finalizer of orphan deletion."""

    def make(original: _Function) -> _Function:
        def finalizers(held: Any, options: Any) -> Any:
            found = original(held, options)
            return [*found, "orphan"] if "orphan" in held and "orphan" not in found else found

        return finalizers

    patch.wrap(f"{_BASE}.registry.delete:_policy_finalizers", make)


@mutant("definitions-leave-an-object", rule="DRA-875")
def _(patch: Patch) -> None:
    """A definition is gone although an object of it has a finalizer."""

    def make(original: _Function) -> _Function:
        def empty(self: Any, key: Any) -> None:
            original(self, key)
            self._writes.remove_finalizer(
                ("apiextensions.k8s.io", "customresourcedefinitions"), key, "customresourcecleanup.apiextensions.k8s.io"
            )

        return empty

    patch.wrap(f"{_BASE}.controllers.namespaces:DefinitionController.empty", make)


@mutant("generated-names-of-any-length", rule="DRA-876")
def _(patch: Patch) -> None:
    """The suffix of a generated name is longer than the room that is left for it."""
    patch.wrap(f"{_BASE}.core:Core.name_suffix", lambda original: lambda self: original(self) + original(self))


@mutant("consumers-change-without-permission", rule="DRA-096")
def _(patch: Patch) -> None:
    """The consumers of an allocated claim can be changed without permission for resourceclaims/binding."""

    def make(original: _Function) -> _Function:
        return lambda new, old, ctx: original({**new, "reservedFor": old.get("reservedFor")}, old, ctx)

    patch.wrap(f"{_BASE}.dra.resource_claim:authorized_for_binding", make)


@mutant("one-authority-for-all-webhooks", rule="DRA-873")
def _(patch: Patch) -> None:
    """The certificates of all webhooks are checked against the authority of the first one."""

    def make(original: _Function) -> _Function:
        first: list[Any] = []

        def pool(self: Any, client: Any) -> Any:
            first.append(client)
            return original(self, {**client, "caBundle": first[0].get("caBundle")})

        return pool

    patch.wrap(f"{_WEBHOOKS}:ValidatingWebhooks._pool", make)


@mutant("first-media-type-decides", rule="DRA-877")
def _(patch: Patch) -> None:
    """Only the first media type that a request accepts counts."""
    patch.wrap(f"{_BASE}.handlers.read:negotiate", lambda original: lambda accept: original(accept.partition(",")[0]))


@mutant("sources-of-events-change", rule="DRA-683")
def _(patch: Patch) -> None:
    """The source and the count of an event can be changed."""

    def make(original: _Function) -> _Function:
        def errors(self: Any, new: Any, old: Any, ctx: Any) -> Any:
            kept = {name: old[name] for name in ("source", "count") if name in old}
            left = {name: value for name, value in new.items() if name not in ("source", "count")}
            return original(self, {**left, **kept}, old, ctx)

        return errors

    patch.wrap(f"{_BASE}.builtin.events:NewEventStrategy.validate_update", make)


@mutant("changed-value-keeps-time-added", rule="DRA-227", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """An update that changes effect and value of a DeviceTaintRule keeps timeAdded."""

    def make(original: _Function) -> _Function:
        def prepare(self: Any, new: Any, old: Any, ctx: Any) -> None:
            sent = new["spec"]["taint"].get("timeAdded")
            original(self, new, old, ctx)
            if sent and new["spec"]["taint"].get("value") != old["spec"]["taint"].get("value"):
                new["spec"]["taint"]["timeAdded"] = sent

        return prepare

    patch.wrap(f"{_BASE}.dra.device_taint_rule:DeviceTaintRuleStrategy.prepare_update", make)


@mutant("exact-lists-lack-the-last-change", rule="DRA-398b")
def _(patch: Patch) -> None:
    """A list of an exact version lacks the change of that version."""

    def make(original: _Function) -> _Function:
        return lambda self, found, namespace, at: original(self, found, namespace, max(at - 1, found.compacted))

    patch.wrap(f"{_BASE}.store:Store._past", make)
