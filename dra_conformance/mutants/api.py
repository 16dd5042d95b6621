"""Faults of the API resource.k8s.io, at least one for each rule: a missing check, default, limit or restriction.

Most rules are checks. `_forgetting` removes one: it drops the errors of one reason at fields that match a pattern, and
nothing else. `_limit` moves a limit. The other mutants change stored objects or permissions.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

from dra_api.status import internal_error, invalid
from dra_conformance.engine.mutation import Mutant, Patch, mutant

Obj = dict[str, Any]

_BASE = "apiserver_emulator"
_STRATEGIES = {
    "claim": f"{_BASE}.dra.resource_claim:ResourceClaimStrategy",
    "template": f"{_BASE}.dra.resource_claim_template:ResourceClaimTemplateStrategy",
    "class": f"{_BASE}.dra.device_class:DeviceClassStrategy",
    "slice": f"{_BASE}.dra.resource_slice:ResourceSliceStrategy",
    "pod": f"{_BASE}.pods.strategy:PodStrategy",
}


def _forget(patch: Patch, kinds: str, reason: str, field: str) -> None:
    """Make the strategies of `kinds` (space-separated) drop errors of a reason at fields that match a pattern."""
    pattern = re.compile(field)

    def lenient(original: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def validate(*args: Any) -> list[Any]:
            return [
                error
                for error in original(*args)
                if not (
                    error.reason in (f"FieldValue{word}" for word in reason.split()) and pattern.fullmatch(error.field)
                )
            ]

        return validate

    for kind in kinds.split():
        # Both, because most checks run on updates too.
        for method in ("validate_create", "validate_update"):
            patch.wrap(f"{_STRATEGIES[kind]}.{method}", lenient)


def _forgetting(name: str, rule: str, kinds: str, reason: str, field: str, purpose: str) -> Mutant:
    return Mutant(name, rule, lambda patch: _forget(patch, kinds, reason, field), purpose)


def _limit(name: str, rule: str, constant: str, value: int, purpose: str) -> Mutant:
    return Mutant(name, rule, lambda patch: patch.replace(f"{_BASE}.dra.{constant}", value), purpose)


_REQUEST = r"spec\.devices\.requests\[\d+\]"
_DEVICE = r"spec\.devices\[\d+\]"

MUTANTS = [
    _forgetting("count-beside-all", "DRA-003", "claim", "Invalid", r".*\.count", "All with a count is accepted."),
    _forgetting("negative-count", "DRA-004", "claim", "Invalid", r".*\.count", "A negative count is accepted."),
    _forgetting(
        "unknown-allocation-mode", "DRA-005", "claim", "NotSupported", r".*\.allocationMode", "Any mode is accepted."
    ),
    _forgetting("empty-request", "DRA-006", "claim", "Required", _REQUEST, "A request without a form is accepted."),
    _forgetting("request-of-two-forms", "DRA-007", "claim", "Invalid", _REQUEST, "A request may have two forms."),
    _limit("requests-33", "DRA-008", "requests:REQUESTS_MAX", 33, "33 requests are accepted."),
    _limit("requests-31", "DRA-008", "requests:REQUESTS_MAX", 31, "32 requests are refused."),
    _forgetting("equal-request-names", "DRA-009", "claim", "Duplicate", _REQUEST, "Two requests share a name."),
    _forgetting("any-request-name", "DRA-010", "claim", "Invalid", r".*\.name", "Request names are not checked."),
    _limit("alternatives-9", "DRA-011", "requests:SUBREQUESTS_MAX", 9, "9 alternatives are accepted."),
    _limit("alternatives-7", "DRA-011", "requests:SUBREQUESTS_MAX", 7, "8 alternatives are refused."),
    _forgetting(
        "equal-alternatives",
        "DRA-012",
        "claim",
        "Duplicate",
        r".*\.firstAvailable\[\d+\]",
        "Alternatives share a name.",
    ),
    _forgetting(
        "any-class-name", "DRA-013", "claim", "Invalid Required", r".*\.deviceClassName", "Class names are not checked."
    ),
    _forgetting("empty-selector", "DRA-014", "claim class", "Required", r".*\.cel", "A selector may be empty."),
    _limit("selectors-33", "DRA-015", "selectors:SELECTORS_MAX", 33, "33 selectors are accepted."),
    _limit("selectors-31", "DRA-015", "selectors:SELECTORS_MAX", 31, "32 selectors are refused."),
    _forgetting(
        "expressions-not-compiled",
        "DRA-016",
        "claim class",
        "Invalid",
        r".*\.expression",
        "Expressions are not compiled.",
    ),
    _limit("expression-10241", "DRA-017", "selectors:EXPRESSION_MAX", 10241, "An expression has one byte too many."),
    _limit(
        "expression-10239", "DRA-017", "selectors:EXPRESSION_MAX", 10239, "An expression of 10240 bytes is refused."
    ),
    _forgetting("any-cost", "DRA-018", "claim", "Forbidden", r".*\.expression", "Cost is not estimated."),
    _forgetting(
        "constraint-on-unknown-request",
        "DRA-019",
        "claim",
        "Invalid",
        r".*\.(constraints|config)\[\d+\]\.requests\[\d+\]",
        "Constraints may name unknown requests.",
    ),
    _forgetting(
        "constraint-on-unknown-alternative",
        "DRA-020",
        "claim",
        "Invalid",
        r".*\.constraints\[\d+\]\.requests\[\d+\]",
        "Constraints may name unknown alternatives.",
    ),
    _forgetting(
        "request-listed-twice",
        "DRA-021",
        "claim",
        "Duplicate",
        r".*\.requests\[\d+\]",
        "Constraints may list a request twice.",
    ),
    _forgetting(
        "attribute-without-domain",
        "DRA-022",
        "claim",
        "Invalid",
        r".*\.(match|distinct)Attribute",
        "Constraints may name attributes without domain.",
    ),
    _forgetting(
        "empty-constraint", "DRA-023", "claim", "Required", r".*\.constraints\[\d+\]", "Constraints may be empty."
    ),
    _forgetting(
        "any-configuration",
        "DRA-026",
        "claim",
        "Required Invalid",
        r".*\.config\[\d+\]\.opaque.*",
        "Configuration is not checked.",
    ),
    _limit("parameters-10241", "DRA-027", "config:PARAMETERS_MAX", 10241, "Parameters have one byte too many."),
    _limit("parameters-10239", "DRA-027", "config:PARAMETERS_MAX", 10239, "Parameters of 10240 bytes are refused."),
    _forgetting(
        "configurations-33", "DRA-028", "claim class", "TooMany", r".*\.(config|constraints)", "Lists have no limit."
    ),
    _forgetting("exists-with-value", "DRA-029", "claim", "Invalid", r".*\.value", "Exists may have a value."),
    _forgetting(
        "any-toleration",
        "DRA-031",
        "claim",
        "NotSupported Invalid",
        r".*\.tolerations\[\d+\]\..*",
        "Tolerations are not checked.",
    ),
    _forgetting("mutable-claim", "DRA-033", "claim", "Invalid", "spec", "The spec of a claim may change."),
    _forgetting("mutable-template", "DRA-039", "template", "Invalid", "spec", "The spec of a template may change."),
    _forgetting(
        "any-template-metadata",
        "DRA-040",
        "template",
        "Forbidden",
        r"spec\.metadata\..*",
        "Template metadata is not checked.",
    ),
    _forgetting(
        "any-extended-resource",
        "DRA-042",
        "class",
        "Invalid",
        r"spec\.extendedResourceName",
        "Resource names are not checked.",
    ),
    _forgetting(
        "any-pod-claim", "DRA-045", "pod", "Invalid Duplicate", r"spec\.resourceClaims.*", "Entries are not checked."
    ),
    _forgetting(
        "container-claim-twice",
        "DRA-046",
        "pod",
        "Duplicate",
        r".*\.resources\.claims\[\d+\]",
        "A container may list a claim twice.",
    ),
    _forgetting(
        "container-claim-unknown", "DRA-047", "pod", "NotFound", r".*\.claims\[\d+\]", "Unknown claims are accepted."
    ),
    _forgetting(
        "pod-updates-not-compared", "DP-075", "pod", "Forbidden", "spec", "Any field of a pod's spec may be updated."
    ),
    _forgetting(
        "pod-may-get-containers", "DP-075", "pod", "Forbidden", r"spec\.\w+", "Containers may be added to a pod."
    ),
    Mutant(
        "any-resource-resized",
        "DP-075",
        lambda patch: patch.replace("apiserver_emulator.pods.strategy:resize_errors", lambda new, old: []),
        "A resize may change any resource of a container.",
    ),
    Mutant(
        "resize-not-compared-with-the-node",
        "DP-074c",
        lambda patch: patch.replace("apiserver_emulator.pods.admission:check_resize", lambda pod, old, ctx: None),
        "A resize may ask for more than the node has.",
    ),
    Mutant(
        "resize-compares-cpu-only",
        "DP-074c",
        lambda patch: patch.replace("apiserver_emulator.pods.admission:_RESIZED", ("cpu",)),
        "Only the CPU of a resize is compared with the node.",
    ),
    Mutant(
        "resize-changes-claims",
        "DP-075",
        lambda patch: patch.replace("apiserver_emulator.pods.strategy:resized_spec", lambda new, old: new),
        "A resize stores the whole spec that it receives.",
    ),
    _forgetting(
        "any-claim-status",
        "DRA-049",
        "pod",
        "Invalid Duplicate",
        r"status\.resourceClaimStatuses.*",
        "Claim statuses of pods are not checked.",
    ),
    _forgetting(
        "status-for-extended-resources-of-no-mapping",
        "DP-160",
        "pod",
        "Required",
        r"status\.extendedResourceClaimStatus\.requestMappings",
        "The status for extended resources may have no mapping.",
    ),
    _forgetting(
        "status-for-extended-resources-of-unknown-containers",
        "DP-160",
        "pod",
        "Invalid",
        r"status\.extendedResourceClaimStatus\.requestMappings.*containerName",
        "The status for extended resources may name unknown containers.",
    ),
    _forgetting(
        "status-for-extended-resources-with-any-request-name",
        "DP-160",
        "pod",
        "Invalid",
        r"status\.extendedResourceClaimStatus\.requestName",
        "The names of requests in the status for extended resources are not checked.",
    ),
    _forgetting(
        "status-for-extended-resources-with-a-mapping-twice",
        "DP-160",
        "pod",
        "Duplicate",
        r"status\.extendedResourceClaimStatus.*",
        "The status for extended resources may have a mapping twice.",
    ),
    _forgetting("slice-of-any-node", "DRA-050", "slice", "Required Invalid", "spec", "A slice may have no node."),
    _forgetting("all-nodes-false", "DRA-051", "slice", "Invalid", r"spec\.allNodes", "allNodes may be false."),
    _forgetting(
        "two-selector-terms",
        "DRA-052",
        "slice",
        "Invalid",
        r"spec\.nodeSelector\.nodeSelectorTerms",
        "A slice's node selector may have two terms.",
    ),
    _forgetting(
        "any-node-selector",
        "DRA-707",
        "slice claim",
        "Required Invalid Forbidden",
        r".*\.nodeSelector\.nodeSelectorTerms.*",
        "Node selectors are not checked.",
    ),
    _forgetting(
        "any-field-in-a-node-selector",
        "DRA-707",
        "slice",
        "Required Invalid",
        r".*\.matchFields\[\d+\]\..*",
        "The fields of node selectors are not checked.",
    ),
    _forgetting(
        "any-node-selector-of-an-allocation",
        "DRA-707",
        "claim",
        "Required Invalid Forbidden",
        r".*\.nodeSelector\.nodeSelectorTerms.*",
        "The node selector of an allocation is not checked.",
    ),
    _forgetting(
        "any-driver-of-a-slice",
        "DRA-709",
        "slice",
        "Required Invalid TooLong",
        r"spec\.driver",
        "Any driver is accepted.",
    ),
    _forgetting(
        "any-driver-of-a-result",
        "DRA-709",
        "claim",
        "Invalid",
        r"status\.allocation\..*\.driver",
        "Any driver of a result is accepted.",
    ),
    _limit("driver-names-62", "DRA-709", "checks:DRIVER_NAME_MAX", 62, "A driver of 63 characters is refused."),
    _forgetting(
        "mutable-slice-identity",
        "DRA-053",
        "slice",
        "Invalid",
        r"spec\.(driver|pool\.name|nodeName)",
        "Driver, pool and node may change.",
    ),
    _forgetting(
        "any-generation-and-slice-count",
        "DRA-054",
        "slice",
        "Invalid",
        r"spec\.pool\.(resourceSliceCount|generation)",
        "The generation and the slice count are not checked.",
    ),
    _forgetting(
        "any-pool-name",
        "DRA-055",
        "slice",
        "Invalid Required TooLong",
        r"spec\.pool\.name",
        "Any pool name is accepted.",
    ),
    _limit("devices-129", "DRA-056", "devices:DEVICES_MAX", 129, "129 devices are accepted."),
    _limit("devices-127", "DRA-056", "devices:DEVICES_MAX", 127, "128 devices are refused."),
    _limit(
        "tainted-devices-128", "DRA-056", "devices:DEVICES_WITH_EXTRAS_MAX", 128, "65 tainted devices are accepted."
    ),
    _forgetting("equal-device-names", "DRA-057", "slice", "Duplicate", _DEVICE, "Devices share a name."),
    _forgetting("any-device-name", "DRA-057", "slice", "Invalid", _DEVICE + r"\.name", "Device names are not checked."),
    _limit("attributes-33", "DRA-058", "devices:ENTRIES_MAX", 33, "33 attributes and capacities are accepted."),
    _limit("attributes-31", "DRA-058", "devices:ENTRIES_MAX", 31, "32 attributes and capacities are refused."),
    _forgetting(
        "attribute-of-two-values",
        "DRA-060",
        "slice",
        "Invalid",
        r".*\.attributes\[\w+\]",
        "An attribute may have two values.",
    ),
    _forgetting("any-version", "DRA-061", "slice", "Invalid", r".*\.version", "Versions are not checked."),
    _limit("text-66", "DRA-061", "attributes:VALUE_MAX", 66, "A text has two bytes too many."),
    _limit("text-63", "DRA-061", "attributes:VALUE_MAX", 63, "A text of 64 bytes is refused."),
    _forgetting(
        "any-attribute-name",
        "DRA-062",
        "slice",
        "Invalid TooLong",
        _DEVICE + r"\.(attributes|capacity)",
        "Attribute names are not checked.",
    ),
    _forgetting("counters-beside-devices", "DRA-064", "slice", "Invalid", "spec", "A slice may have both."),
    _forgetting(
        "any-counter-set", "DRA-065", "slice", "Required Duplicate", r"spec\.sharedCounters.*", "Sets are not checked."
    ),
    _forgetting("counter-sets-9", "DRA-065", "slice", "TooMany", r"spec\.sharedCounters.*", "Sets have no limit."),
    _forgetting(
        "any-consumption",
        "DRA-066",
        "slice",
        "Required Duplicate TooMany",
        r".*\.consumesCounters.*",
        "Consumed counters are not checked.",
    ),
    _forgetting("device-without-node", "DRA-068", "slice", "Required Invalid", _DEVICE, "A device may lack its node."),
    _forgetting("device-with-a-node", "DRA-069", "slice", "Invalid", _DEVICE, "A device may have its own node."),
    _forgetting(
        "any-taint",
        "DRA-070",
        "slice",
        "Required NotSupported Invalid",
        r".*\.taints\[\d+\]\..*",
        "Taints are not checked.",
    ),
    _limit("taints-17", "DRA-070", "devices:TAINTS_MAX", 17, "17 taints are accepted."),
    _forgetting(
        "policy-of-unshared-device",
        "DRA-072",
        "slice",
        "Forbidden",
        r".*\.requestPolicy",
        "Any device may have a policy.",
    ),
    _forgetting(
        "any-valid-values",
        "DRA-073",
        "slice",
        "Invalid Duplicate Required",
        r".*\.requestPolicy\..*",
        "Valid values are not checked.",
    ),
    _forgetting(
        "any-valid-range", "DRA-074", "slice", "Invalid Required", r".*\.requestPolicy\..*", "Ranges are not checked."
    ),
    _forgetting(
        "two-policies", "DRA-075", "slice", "Forbidden", r".*\.requestPolicy", "Values and a range are accepted."
    ),
    _forgetting(
        "any-binding-condition",
        "DRA-076",
        "slice",
        "Invalid Duplicate TooMany",
        r".*\.binding\w*Conditions.*",
        "Binding conditions are not checked.",
    ),
    _forgetting(
        "reserved-without-allocation",
        "DRA-083",
        "claim",
        "Forbidden",
        r"status\.reservedFor",
        "Unallocated claims can be reserved.",
    ),
    _forgetting("mutable-allocation", "DRA-084", "claim", "Invalid", r"status\.allocation", "Allocations may change."),
    _forgetting(
        "reserved-while-deleted",
        "DRA-085",
        "claim",
        "Forbidden",
        r"status\.reservedFor",
        "Deleted claims can be reserved.",
    ),
    _limit("consumers-257", "DRA-086", "claim_status:RESERVED_FOR_MAX", 257, "257 consumers are accepted."),
    _limit("consumers-255", "DRA-086", "claim_status:RESERVED_FOR_MAX", 255, "256 consumers are refused."),
    _forgetting(
        "consumer-twice", "DRA-086", "claim", "Duplicate", r"status\.reservedFor\[\d+\]", "A consumer is listed twice."
    ),
    _forgetting(
        "any-consumer", "DRA-087", "claim", "Required", r"status\.reservedFor\[\d+\]\..*", "Consumers are not checked."
    ),
    _forgetting(
        "any-result",
        "DRA-088",
        "claim",
        "Invalid Required",
        r"status\.allocation\.devices\.results.*",
        "Results are not checked.",
    ),
    _limit("results-33", "DRA-088", "claim_status:RESULTS_MAX", 33, "33 results are accepted."),
    _limit("results-31", "DRA-088", "claim_status:RESULTS_MAX", 31, "32 results are refused."),
    _forgetting(
        "any-allocated-configuration",
        "DRA-089",
        "claim",
        "Invalid Required NotSupported TooMany",
        r"status\.allocation\.devices\.config.*",
        "Configurations of allocations are not checked.",
    ),
    _forgetting("any-share-id", "DRA-090", "claim", "Invalid", r".*\.shareID", "Share IDs are not checked."),
    _forgetting(
        "status-of-unallocated-device",
        "DRA-091",
        "claim",
        "Invalid",
        r"status\.devices\[\d+\]",
        "A device status needs no allocated device.",
    ),
    _forgetting(
        "two-statuses-of-a-device",
        "DRA-092",
        "claim",
        "Duplicate",
        r"status\.devices\[\d+\]",
        "A device has two statuses.",
    ),
    _forgetting(
        "any-device-status",
        "DRA-093",
        "claim",
        "Invalid Duplicate TooMany TooLong",
        r"status\.devices\[\d+\]\..*",
        "The fields of a device status are not checked.",
    ),
    _forgetting(
        "any-condition-of-a-device",
        "DRA-705",
        "claim",
        "Required Invalid NotSupported Duplicate TooLong",
        r"status\.devices\[\d+\]\.conditions\[\d+\].*",
        "The conditions of a device status are not checked.",
    ),
    _limit("conditions-of-a-device-9", "DRA-705", "claim_status:CONDITIONS_MAX", 9, "9 conditions are accepted."),
    _limit("conditions-of-a-device-7", "DRA-705", "claim_status:CONDITIONS_MAX", 7, "8 conditions are refused."),
    _forgetting(
        "any-class-of-service", "DRA-708", "pod", "Invalid", r"status\.qosClass", "The class of service may change."
    ),
    _forgetting(
        "admin-without-label",
        "DRA-231",
        "claim template",
        "Forbidden",
        r".*\.adminAccess",
        "The namespace needs no label.",
    ),
    _forgetting(
        "admin-granted-anywhere", "DRA-238", "claim", "Forbidden", r".*\.adminAccess", "The namespace needs no label."
    ),
]


def _without(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a `default` that drops fields of requests: it removes fields again that were absent before."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def default(self: Any, obj: Obj) -> None:
            before = copy.deepcopy(obj)
            original(self, obj)
            _remove_added(obj, before, names)

        return default

    return make


def _remove_added(after: Any, before: Any, names: tuple[str, ...]) -> None:
    if isinstance(after, dict) and isinstance(before, dict):
        for key in list(after):
            # Fields of the request stay.
            if key in names and key not in before:
                del after[key]
            else:
                _remove_added(after[key], before.get(key), names)
    elif isinstance(after, list) and isinstance(before, list):
        for one, other in zip(after, before, strict=False):
            _remove_added(one, other, names)


@mutant("no-default-count", rule="DRA-001")
def _(patch: Patch) -> None:
    """A request without count gets no default."""
    _no_default(patch)


@mutant("no-default-count-in-alternatives", rule="DRA-002")
def _no_default(patch: Patch) -> None:
    """An alternative without mode and count gets no defaults."""
    target = f"{_BASE}.dra.requests:default_spec"

    def make(original: Callable[[Obj], None]) -> Callable[[Obj], None]:
        def default(spec: Obj) -> None:
            before = copy.deepcopy(spec)
            original(spec)
            _remove_added(spec, before, ("count",))

        return default

    # The other modules import the function by name, so each module needs the patch.
    for module in ("requests", "resource_claim", "resource_claim_template"):
        patch.wrap(target.replace(":", ".").rsplit(".", 2)[0] + f".{module}:default_spec", make)


@mutant("no-default-operator", rule="DRA-030")
def _(patch: Patch) -> None:
    """A toleration without operator gets no default."""
    patch.wrap(f"{_STRATEGIES['claim']}.default", _without("operator"))
    # Without the default, the validation would refuse the claim.
    _forget(patch, "claim", "Required", r".*\.operator")


@mutant("one-attribute-for-each-constraint", rule="DRA-024", kubernetes_version="1.36")
def _(patch: Patch) -> None:
    """A constraint with both attributes is refused, as the documentation says; releases accept it."""
    _refuse(patch, "claim", lambda obj: any(len(c.keys() - {"requests"}) > 1 for c in _constraints(obj)))


@mutant("toleration-limit-16", rule="DRA-032", kubernetes_version="1.36")
def _(patch: Patch) -> None:
    """More than 16 tolerations are refused."""
    _refuse(
        patch, "claim", lambda obj: len(obj["spec"]["devices"]["requests"][0]["exactly"].get("tolerations", ())) > 16
    )


@mutant("known-counter-sets-only", rule="DRA-067")
def _(patch: Patch) -> None:
    """A device that consumes from an unknown set is refused."""
    _refuse(patch, "slice", lambda obj: any(d.get("consumesCounters") for d in obj["spec"].get("devices") or ()))


def _constraints(obj: Obj) -> list[Obj]:
    return list(obj["spec"]["devices"].get("constraints") or ())


def _refuse(patch: Patch, kind: str, unwanted: Callable[[Obj], bool]) -> None:
    def make(original: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def validate(self: Any, obj: Obj, ctx: Any) -> list[Any]:
            found = original(self, obj, ctx)
            return [*found, invalid("spec", None, "not wanted")] if unwanted(obj) else found

        return validate

    patch.wrap(f"{_STRATEGIES[kind]}.validate_create", make)


@mutant("bind-macro-missing", rule="DRA-165")
def _(patch: Patch) -> None:
    """cel.bind does not compile."""
    _refuse_expressions(patch, "cel.bind")


@mutant("allow-multiple-missing", rule="DRA-166")
def _(patch: Patch) -> None:
    """device.allowMultipleAllocations is no field."""
    _refuse_expressions(patch, "allowMultipleAllocations")


def _refuse_expressions(patch: Patch, word: str) -> None:
    def make(original: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def validate(selector: Obj, path: str, rules: Any) -> list[Any]:
            if word in selector["cel"]["expression"]:
                return [invalid(f"{path}.cel.expression", word, "undeclared reference")]
            return original(selector, path, rules)

        return validate

    patch.wrap(f"{_BASE}.dra.selectors:validate_selector", make)


@mutant("status-at-creation", rule="DRA-034")
def _(patch: Patch) -> None:
    """The status in the body of a create is stored."""
    _keeping(patch, "prepare_create", lambda new, old, ctx: new.get("status"))


@mutant("status-without-subresource", rule="DRA-035")
def _(patch: Patch) -> None:
    """An update of the claim writes its status."""
    _keeping(patch, "prepare_update", lambda new, old, ctx: None if ctx.subresource else new.get("status", {}))


def _keeping(patch: Patch, method: str, kept: Callable[..., Any]) -> None:
    def make(original: Callable[..., None]) -> Callable[..., None]:
        def prepare(self: Any, new: Obj, *rest: Any) -> None:
            # Before the original, which removes or replaces the status.
            status = copy.deepcopy(kept(new, rest[0] if len(rest) > 1 else None, rest[-1]))
            original(self, new, *rest)
            if status is not None:
                new["status"] = status

        return prepare

    patch.wrap(f"{_STRATEGIES['claim']}.{method}", make)


@mutant("status-update-writes-everything", rule="DRA-036")
def _(patch: Patch) -> None:
    """An update of the status writes labels and finalizers too."""
    patch.replace(f"{_BASE}.dra.resource_claim:keep_all_but_status", lambda new, old: None)


@mutant("class-generation-counts-writes", rule="DRA-041")
def _(patch: Patch) -> None:
    """Every update of a class raises its generation."""

    def follow(new: Obj, old: Obj) -> None:
        new["metadata"]["generation"] = int(old["metadata"].get("generation", 0)) + 1

    patch.replace(f"{_BASE}.dra.device_class:follow", follow)


@mutant("class-generation-stays", rule="DRA-041")
def _(patch: Patch) -> None:
    """No update of a class raises its generation."""

    def follow(new: Obj, old: Obj) -> None:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0)

    patch.replace(f"{_BASE}.dra.device_class:follow", follow)


@mutant("taint-without-time", rule="DRA-071")
def _(patch: Patch) -> None:
    """A taint without timeAdded gets no time."""
    patch.replace(f"{_BASE}.dra.resource_slice:_default_taints", lambda spec, rules: None)


@mutant("taint-time-overwritten", rule="DRA-071")
def _(patch: Patch) -> None:
    """Every write sets timeAdded to the current time."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def default(taint: Obj, rules: Any) -> None:
            # The original then sets the current time.
            taint.pop("timeAdded", None)
            original(taint, rules)

        return default

    patch.wrap(f"{_BASE}.dra.resource_slice:default_taint", make)


@mutant("uppercase-driver-without-warning", rule="DRA-078")
def _(patch: Patch) -> None:
    """No warning names a driver with uppercase letters."""
    patch.replace(f"{_BASE}.dra.resource_slice:_warn", lambda spec, ctx: None)


@mutant("warning-for-every-driver", rule="DRA-078")
def _(patch: Patch) -> None:
    """Every driver name gets the warning."""
    patch.replace(f"{_BASE}.dra.resource_slice:_warn", lambda spec, ctx: ctx.warn("spec.driver: driver names"))


@mutant("field-selector-by-driver-ignored", rule="DRA-079")
def _(patch: Patch) -> None:
    """Listing by spec.driver finds nothing."""
    patch.wrap(
        f"{_BASE}.dra.registration:slice_fields", lambda original: lambda obj: {**original(obj), "spec.driver": ""}
    )


def _pools_do_not_count(patch: Patch) -> None:
    patch.wrap(
        f"{_BASE}.dra.claim_status:device_key", lambda original: lambda entry: original({**entry, "pool": "any"})
    )


@mutant("status-of-a-device-of-another-pool", rule="DRA-091")
def _(patch: Patch) -> None:
    """A device status needs an allocated device of its name, of whatever pool."""
    _pools_do_not_count(patch)


@mutant("one-status-for-devices-of-two-pools", rule="DRA-092")
def _(patch: Patch) -> None:
    """Statuses of devices of one name in two pools are Duplicate."""
    _pools_do_not_count(patch)


@mutant("device-status-outlives-allocation", rule="DRA-094")
def _(patch: Patch) -> None:
    """The device status outlives the allocation."""
    patch.replace(f"{_BASE}.dra.resource_claim:drop_deallocated_devices", lambda status, old, rules: None)


@mutant("admin-label-ignored", rule="DRA-232")
def _(patch: Patch) -> None:
    """The namespace label is ignored."""
    patch.replace(f"{_BASE}.dra.authorization:ADMIN_LABEL", "resource.k8s.io/admin-access")


@mutant("allocation-without-permission", rule="DRA-096")
def _(patch: Patch) -> None:
    """Permission to update the status is enough to allocate devices."""
    patch.replace(f"{_BASE}.dra.resource_claim:authorized_for_binding", lambda new, old, ctx: [])


@mutant("binding-permission-misnamed", rule="DRA-096")
def _(patch: Patch) -> None:
    """The permission to bind is checked under another name."""
    patch.replace(f"{_BASE}.dra.authorization:BINDING", "allocation")


@mutant("report-for-any-driver", rule="DRA-097")
def _(patch: Patch) -> None:
    """A driver can write the device status of other drivers."""
    patch.replace(f"{_BASE}.dra.resource_claim:authorized_for_devices", lambda new, old, ctx: [])


@mutant("node-of-device-status-not-checked", rule="DRA-097")
def _(patch: Patch) -> None:
    """The node of a driver is not checked."""
    patch.replace(f"{_BASE}.dra.authorization:_runs_on", lambda user, node: True)


@mutant("device-status-from-nodes-refused", rule="DRA-097")
def _(patch: Patch) -> None:
    """A driver on the claim's node is not recognised."""
    patch.replace(f"{_BASE}.dra.authorization:_runs_on", lambda user, node: False)


@mutant("controllers-write-any-device-status", rule="DRA-098")
def _(patch: Patch) -> None:
    """A driver's controller can write the device status of other drivers."""
    patch.replace(f"{_BASE}.dra.resource_claim:authorized_for_devices", lambda new, old, ctx: [])


@mutant("controller-verb-misnamed", rule="DRA-098")
def _(patch: Patch) -> None:
    """The verb for reports from any node has another name."""
    patch.replace(f"{_BASE}.dra.authorization:ARBITRARY", "any-node:")


@mutant("report-of-another-driver-removed", rule="DRA-098")
def _(patch: Patch) -> None:
    """The removal of a driver's last report needs no permission."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda new, old: original(new, old) & {report["driver"] for report in new.get("devices") or ()}

    patch.wrap(f"{_BASE}.dra.authorization:modified_drivers", make)


@mutant("consumer-known-by-its-name", rule="DRA-085")
def _(patch: Patch) -> None:
    """A claim that is being deleted accepts a new consumer that has the name of an old one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(claim: Any, reserved: Any, before: Any) -> Any:
            known = before.get("reservedFor") or []
            names = [consumer["name"] for consumer in known]
            renewed = [consumer for consumer in reserved if consumer["name"] in names]
            return original(claim, reserved, {**before, "reservedFor": [*known, *renewed]})

        return check

    patch.wrap(f"{_BASE}.dra.claim_status:_reservation", make)


def _with_mutable_node(patch: Patch, which: Callable[[Any, Any], bool]) -> None:
    """Let the node name of a slice change if `which(new spec, old spec)`."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def validate(spec: Any, old: Any, rules: Any) -> Any:
            if old is not None and which(spec, old):
                old = {**old, "nodeName": spec.get("nodeName")}
            return original(spec, old, rules)

        return validate

    patch.wrap(f"{_BASE}.dra.resource_slice:_spec", make)


@mutant("slice-gets-a-node", rule="DRA-053")
def _(patch: Patch) -> None:
    """A slice without a node can get one."""
    _with_mutable_node(patch, lambda spec, old: "nodeName" not in old)


@mutant("slice-loses-its-node", rule="DRA-053")
def _(patch: Patch) -> None:
    """A slice of one node can become one of all nodes."""
    _with_mutable_node(patch, lambda spec, old: "nodeName" not in spec)


@mutant("unchanged-device-status-authorized", rule="DRA-099")
def _(patch: Patch) -> None:
    """Permission is required for every driver in the status, even for unchanged entries."""
    patch.replace(
        f"{_BASE}.dra.authorization:modified_drivers",
        lambda new, old: {report["driver"] for report in new.get("devices") or ()},
    )


_LISTS: dict[str, Any] = {"kubernetes_version": "1.37", "feature_gates": ("DRAListTypeAttributes=true",)}


@mutant("steps-divide-by-zero", rule="DRA-074b")
def _(patch: Patch) -> None:
    """The server divides by what is left of the step in 64 bits (kubernetes#139698, #140666)."""

    def make(original: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def steps(low: Any, high: Any, step: Any, default: Any, **named: Any) -> list[Any]:
            if step.value % (1 << 64) == 0:
                raise internal_error("runtime error: integer divide by zero")
            return original(low, high, step, default, **named)

        return steps

    patch.wrap(f"{_BASE}.dra.capacity:_steps", make)


@mutant("steps-from-any-bounds", rule="DRA-074c", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """Steps may begin below zero, and bounds may be beyond 64 bits (kubernetes#140666)."""
    _forget(patch, "slice", "Invalid", r".*\.validRange\.(min|max|step)")


@mutant("old-clients-erase-claim-statuses", rule="DRA-538", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """A status update without the claim statuses of a pod removes them (kubernetes#139876)."""
    patch.replace(f"{_BASE}.pods.strategy:keep_claim_statuses", lambda new, old: None)


@mutant("empty-list-keeps-claim-statuses", rule="DRA-539", kubernetes_version="1.37")
def _(patch: Patch) -> None:
    """An empty list of claim statuses counts as absent."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def keep(new: Obj, old: Obj) -> None:
            status = new.setdefault("status", {})
            new["status"] = {key: value for key, value in status.items() if value != []}
            original(new, old)

        return keep

    patch.wrap(f"{_BASE}.pods.strategy:keep_claim_statuses", make)


@mutant("mirror-pods-have-claims", rule="DRA-048")
def _(patch: Patch) -> None:
    """Mirror pods are not recognized."""
    _forget(patch, "pod", "Forbidden", r"\[\]")


@mutant("attribute-limit-49", rule="DRA-059", **_LISTS)
def _(patch: Patch) -> None:
    """49 values of attributes are accepted."""
    patch.replace(f"{_BASE}.dra.devices:VALUES_MAX", 49)


@mutant("attribute-limit-47", rule="DRA-059", **_LISTS)
def _(patch: Patch) -> None:
    """48 values of attributes are refused."""
    patch.replace(f"{_BASE}.dra.devices:VALUES_MAX", 47)


@mutant("empty-attribute-list-accepted", rule="DRA-063", **_LISTS)
def _(patch: Patch) -> None:
    """A list of values may be empty."""
    _forget(patch, "slice", "Invalid", r".*\.attributes\[\w+\]\.(ints|bools|strings|versions)")
