"""Faults of the API server that show only with two of something: drivers, nodes, requests, devices, pods, quotas."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from dra_api.status import duplicate
from dra_conformance.engine.mutation import Patch, mutant

_BASE = "apiserver_emulator"
_AUTHORIZATION = f"{_BASE}.dra.authorization"
_Function = Callable[..., Any]


@mutant("first-driver-decides-for-all", rule="DRA-098")
def _(patch: Patch) -> None:
    """Permission for the first of several drivers is enough to change the reports of all."""

    def make(original: _Function) -> _Function:
        return lambda new, old: set(sorted(original(new, old))[:1])

    patch.wrap(f"{_AUTHORIZATION}:modified_drivers", make)


@mutant("permission-to-bind-is-that-of-updates", rule="DRA-096")
def _(patch: Patch) -> None:
    """A patch that allocates needs the permission to update resourceclaims/binding."""

    def make(original: _Function) -> _Function:
        return lambda new, old, ctx: original(new, old, replace(ctx, verb="update"))

    patch.wrap(f"{_BASE}.dra.resource_claim:authorized_for_binding", make)


@mutant("first-of-two-nodes-is-the-claims-node", rule="DRA-097")
def _(patch: Patch) -> None:
    """The first term of an allocation's node selector decides on which node its devices are."""

    def make(original: _Function) -> _Function:
        def node_of(allocation: Any) -> Any:
            terms = ((allocation or {}).get("nodeSelector") or {}).get("nodeSelectorTerms") or []
            return original({"nodeSelector": {"nodeSelectorTerms": terms[:1]}})

        return node_of

    patch.wrap(f"{_AUTHORIZATION}:allocated_node", make)


@mutant("admin-access-of-the-first-request", rule="DRA-231")
def _(patch: Patch) -> None:
    """Only the first request of a claim is checked for admin access."""
    patch.wrap(f"{_AUTHORIZATION}:requests_of", lambda original: lambda spec: original(spec)[:1])


def _neighbours_only(original: _Function) -> _Function:
    """Return a check of a list that reports a duplicate only if the item before it has the same key."""

    def check(items: Any, path: str, *args: Any, key: _Function, **options: Any) -> Any:
        apart = {f"{path}[{at}]" for at, (one, other) in enumerate(pairwise(items), 1) if key(one) != key(other)}
        found = original(items, path, *args, key=key, **options)
        return [error for error in found if error.reason != "FieldValueDuplicate" or error.field not in apart]

    return check


@mutant("request-names-compared-with-the-last-one", rule="DRA-009")
def _(patch: Patch) -> None:
    """The name of a request is compared with that of the request before it only."""
    patch.wrap(f"{_BASE}.dra.requests:unique", _neighbours_only)


@mutant("device-names-compared-with-the-last-one", rule="DRA-057")
def _(patch: Patch) -> None:
    """The name of a device is compared with that of the device before it only."""
    patch.wrap(f"{_BASE}.dra.devices:unique", _neighbours_only)


@mutant("consumers-compared-with-the-last-one", rule="DRA-086")
def _(patch: Patch) -> None:
    """The uid of a consumer is compared with that of the consumer before it only."""
    patch.wrap(f"{_BASE}.dra.claim_status:unique", _neighbours_only)


@mutant("first-device-decides-how-many", rule="DRA-056")
def _(patch: Patch) -> None:
    """The first device of a slice decides how many devices the slice may have."""
    patch.wrap(f"{_BASE}.dra.devices:_limit", lambda original: lambda devices, rules: original(devices[:1], rules))


@mutant(
    "nodes-of-devices-need-not-declare",
    rule="DRA-431",
    kubernetes_version="1.37",
    feature_gates=("DRANodeAllocatableResources=true",),
)
def _(patch: Patch) -> None:
    """Only the node of the whole slice is looked at, and not those of its devices."""

    def make(original: _Function) -> _Function:
        return lambda device, spec, ctx: original(device, {**spec, "perDeviceNodeSelection": False}, ctx)

    patch.wrap(f"{_BASE}.dra.declared_features:_refusal", make)


@mutant(
    "allocations-of-another-driver-count",
    rule="DRA-303",
    kubernetes_version="1.37",
    feature_gates=("DRAResourcePoolStatus=true",),
)
def _(patch: Patch) -> None:
    """An allocation of any driver whose pool has the name counts."""

    def make(original: _Function) -> _Function:
        def used(claims: Any, driver: str, pool: str) -> Any:
            found: dict[str, Any] = {}
            held = list(claims)
            results = [
                result
                for claim in held
                for result in ((claim["status"].get("allocation") or {}).get("devices") or {}).get("results") or ()
            ]
            for other in {result["driver"] for result in results}:
                found |= original(iter(held), other, pool)
            return found

        return used

    patch.wrap(f"{_BASE}.controllers.pool_statuses:_used", make)


@mutant("exact-list-undoes-the-last-change", rule="DRA-398b")
def _(patch: Patch) -> None:
    """A list of an earlier version undoes only the last change of each object."""

    def make(original: _Function) -> _Function:
        def past(self: Any, found: Any, namespace: str, at: int) -> Any:
            last = sorted({event.key: event for event in found.events}.values(), key=lambda event: event.rv)
            return original(self, replace(found, events=deque(last)), namespace, at)

        return past

    patch.wrap(f"{_BASE}.store:Store._past", make)


@mutant("exact-list-has-later-updates", rule="DRA-398b")
def _(patch: Patch) -> None:
    """A list of an earlier version undoes creations and deletions only."""

    def make(original: _Function) -> _Function:
        def past(self: Any, found: Any, namespace: str, at: int) -> Any:
            kept = deque(event for event in found.events if event.type != "MODIFIED")
            return original(self, replace(found, events=kept), namespace, at)

        return past

    patch.wrap(f"{_BASE}.store:Store._past", make)


@mutant("pages-lose-a-namespace", rule="DRA-387")
def _(patch: Patch) -> None:
    """Pages are sorted by namespace and name, and continue by the path of both."""
    patch.replace(f"{_BASE}.store:etcd_path", lambda key: key)


@mutant("one-primitive-is-removed", rule="DRA-393")
def _(patch: Patch) -> None:
    """`$deleteFromPrimitiveList` removes only the first of its values."""

    def make(original: _Function) -> _Function:
        def popped(change: Any, prefix: str) -> Any:
            found = original(change, prefix)
            if prefix != "$deleteFromPrimitiveList/":
                return found
            return {name: values[:1] for name, values in found.items()}

        return popped

    patch.wrap(f"{_BASE}.strategic_merge:_pop_prefixed", make)


@mutant("one-conflict-is-named", rule="DRA-394")
def _(patch: Patch) -> None:
    """A refused apply names the fields of one manager only."""

    def make(original: _Function) -> _Function:
        return lambda conflicts, managers: original(conflicts[:1], managers)

    patch.wrap(f"{_BASE}.server_side_apply:_conflict", make)


def _bound(patch: Patch, change: Callable[[Any, Any], None]) -> None:
    """Let `change(labels of the pod, binding)` act after a Binding."""

    def make(original: _Function) -> _Function:
        def bind(pod: Any, binding: Any, *, now: str) -> Any:
            bound = original(pod, binding, now=now)
            change(bound["metadata"].setdefault("labels", {}), binding.get("metadata") or {})
            return bound

        return bind

    patch.wrap(f"{_BASE}.pods.subresources:bind", make)


@mutant("labels-of-a-binding-replace-others", rule="DRA-760")
def _(patch: Patch) -> None:
    """A pod has only the labels of its Binding."""

    def change(labels: Any, binding: Any) -> None:
        for key in set(labels) - set(binding.get("labels") or labels):
            del labels[key]

    _bound(patch, change)


@mutant("labels-of-a-binding-are-ignored", rule="DRA-760")
def _(patch: Patch) -> None:
    """A Binding adds annotations, but no labels."""

    def change(labels: Any, binding: Any) -> None:
        for key in binding.get("labels") or ():
            labels.pop(key, None)

    _bound(patch, change)


@mutant("claims-of-the-first-pod-only", rule="DRA-681b")
def _(patch: Patch) -> None:
    """A node may read only what its first pod refers to."""

    def make(original: _Function) -> _Function:
        def pods(self: Any, node: str) -> Iterator[Any]:
            yield from list(original(self, node))[:1]

        return pods

    patch.wrap(f"{_BASE}.node_authorizer:NodeAuthorizer._pods", make)


@mutant("only-the-first-quota-is-charged", rule="DRA-632")
def _(patch: Patch) -> None:
    """The first quota of a namespace is the only one that counts."""

    def make(original: _Function) -> _Function:
        return lambda self, quotas, *args, **options: original(self, quotas[:1], *args, **options)

    patch.wrap(f"{_BASE}.quotas.admission:QuotaAdmission._charge", make)


@mutant("items-correlated-by-one-key", rule="DRA-399b")
def _(patch: Patch) -> None:
    """The former value of an item in a list is found by the first of its keys."""

    def make(original: _Function) -> _Function:
        def key(self: Any, item: Any) -> Any:
            keys, self._map_keys = self._map_keys, self._map_keys[:1]
            try:
                return original(self, item)
            finally:
                self._map_keys = keys

        return key

    patch.wrap(f"{_BASE}.crd.cel_rules:SchemaRules._key", make)


# -- access, webhooks and quotas ---------------------------------------------------------------------------------------


@mutant("service-accounts-are-those-of-the-binding", rule="DRA-399")
def _(patch: Patch) -> None:
    """A role binding binds the service account of its own namespace, whatever namespace the subject names."""

    def make(original: _Function) -> _Function:
        def binds(binding: Any, user: Any, namespace: str) -> Any:
            subjects = binding.get("subjects") or ()
            if namespace:
                subjects = [{**subject, "namespace": namespace} for subject in subjects]
            return original({**binding, "subjects": subjects}, user, namespace)

        return binds

    patch.wrap(f"{_BASE}.auth:_binds", make)


@mutant("first-rule-of-a-webhook-counts", rule="DRA-670")
def _(patch: Patch) -> None:
    """A webhook reviews only what the first of its rules matches."""

    def make(original: _Function) -> _Function:
        return lambda self, hook, *args: original(self, {**hook, "rules": (hook.get("rules") or ())[:1]}, *args)

    patch.wrap(f"{_BASE}.webhooks:ValidatingWebhooks._rule_match", make)


@mutant("first-configuration-of-webhooks-counts", rule="DRA-670")
def _(patch: Patch) -> None:
    """Only the webhooks of the first configuration are called."""
    patch.wrap(f"{_BASE}.webhooks:ValidatingWebhooks._configurations", lambda original: lambda self: original(self)[:1])


@mutant("deletion-is-subtracted-from-one-quota", rule="DRA-629")
def _(patch: Patch) -> None:
    """After a deletion only the first quota of the namespace is calculated again."""

    def make(original: _Function) -> _Function:
        return lambda self, kind, event: original(self, kind, event)[:1]

    patch.wrap(f"{_BASE}.controllers.quotas:QuotaController.affected", make)


# -- validation --------------------------------------------------------------------------------------------------------


@mutant("first-node-selector-term-is-compared", rule="DRA-680")
def _(patch: Patch) -> None:
    """Of a gated pod's node selector terms, only the first one is compared with the former one."""

    def make(original: _Function) -> _Function:
        return lambda new, old: [error for error in original(new, old) if not error.field.endswith("[1]")]

    patch.wrap(f"{_BASE}.pods.validation:_narrowing_errors", make)


@mutant("first-two-valid-values-are-compared", rule="DRA-073")
def _(patch: Patch) -> None:
    """Of the valid values of a capacity, only the first two are compared for their order."""

    def make(original: _Function) -> _Function:
        return lambda *args: [error for error in original(*args) if not error.field.endswith("validValues[2]")]

    patch.wrap(f"{_BASE}.dra.capacity:_values", make)


@mutant("conditions-compared-at-the-same-place", rule="DRA-076")
def _(patch: Patch) -> None:
    """A failure condition is compared with the binding condition at the same place only."""

    def make(original: _Function) -> _Function:
        def check(holder: Any, path: str) -> Any:
            binding, failure = holder.get("bindingConditions") or [], holder.get("bindingFailureConditions") or []
            apart = {
                f"{path}.bindingFailureConditions[{at}]"
                for at, condition in enumerate(failure)
                if binding[at : at + 1] != [condition]
            }
            found = original(holder, path)
            return [error for error in found if "overlap" not in error.detail or error.field not in apart]

        return check

    patch.wrap(f"{_BASE}.dra.devices:validate_binding_conditions", make)


@mutant("admin-access-to-the-first-device", rule="DRA-238")
def _(patch: Patch) -> None:
    """Only the first result of an allocation is checked for admin access."""

    def make(original: _Function) -> _Function:
        return lambda status: 0 if original(status) == 0 else None

    patch.wrap(f"{_AUTHORIZATION}:_granted", make)


@mutant("request-names-are-unique-among-claims", rule="DRA-046")
def _(patch: Patch) -> None:
    """A container cannot use requests of one name of two claims."""

    def make(original: _Function) -> _Function:
        def check(container: Any, field: str, names: Any) -> Any:
            claims = (container.get("resources") or {}).get("claims") or ()
            pairs = dict.fromkeys((one.get("name"), one["request"]) for one in claims if one.get("request"))
            requests = [request for _, request in pairs]
            twice = [duplicate(field, one) for one in requests if requests.count(one) > 1]
            return original(container, field, names) + twice

        return check

    patch.wrap(f"{_BASE}.pods.validation:_container_claim_errors", make)


@mutant("first-rule-of-a-schema-is-run", rule="DRA-399b")
def _(patch: Patch) -> None:
    """Of several rules of a schema, only the first one is run."""

    def make(original: _Function) -> _Function:
        def errors(self: Any, value: Any, old: Any, path: str = "") -> Any:
            rules, self._rules = self._rules, self._rules[:1]
            try:
                return original(self, value, old, path)
            finally:
                self._rules = rules

        return errors

    patch.wrap(f"{_BASE}.crd.cel_rules:SchemaRules.errors", make)


@mutant(
    "partitions-fit-one-by-one",
    rule="DRA-565",
    kubernetes_version="1.37",
    feature_gates=("DRAResourcePoolStatus=true", "DRAPartitionableDevicesType=true"),
)
def _(patch: Patch) -> None:
    """Partitions of a type are counted as if each were the only one that is allocated."""

    def make(original: _Function) -> _Function:
        def entry(attribute: Any, kind: Any, group: Any, free: Any, used: Any) -> Any:
            alone = [
                original(attribute, kind, replace(group, devices=[one]), free, used)["allocatable"]
                for one in group.devices
            ]
            return {**original(attribute, kind, group, free, used), "allocatable": sum(alone)}

        return entry

    patch.wrap(f"{_BASE}.controllers.pool_summaries:_entry", make)
