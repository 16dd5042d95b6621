"""Writes to resource.k8s.io objects and the errors of a real kube-apiserver 1.36.2, one case for each observation.

The tests of the emulator check every case; the fidelity probes send those that need no feature gate disabled.

`causes` are (letter, field): I FieldValueInvalid, R Required, D Duplicate, N NotSupported, F Forbidden, L TooLong,
M TooMany. Observed on kube-apiserver 1.36.2 rule by rule; their
texts are in tests/apiserver_emulator/data/dra_answers.json.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

Obj = dict[str, Any]

REASONS = {
    "I": "FieldValueInvalid",
    "R": "FieldValueRequired",
    "D": "FieldValueDuplicate",
    "N": "FieldValueNotSupported",
    "F": "FieldValueForbidden",
    "L": "FieldValueTooLong",
    "M": "FieldValueTooMany",
    "X": "FieldValueNotFound",
}
ALL_ON = {
    "DRAAdminAccess": True,
    "DRAPrioritizedList": True,
    "DRADeviceTaints": True,
    "DRAPartitionableDevices": True,
    "DRAConsumableCapacity": True,
    "DRADeviceBindingConditions": True,
    "DRAResourceClaimDeviceStatus": True,
    "DRAExtendedResource": True,
    "DRAListTypeAttributes": True,
    "DRANodeAllocatableResources": True,
    "DRAResourceClaimGranularStatusAuthorization": True,
}
UID = "0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"
# The gates that depend on device status go with it.
STATUS_OFF = {
    "DRAResourceClaimDeviceStatus": False,
    "DRADeviceBindingConditions": False,
    "DRAResourceClaimGranularStatusAuthorization": False,
}
OTHER_UID = "1b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"
TIME = "2020-01-02T03:04:05Z"


@dataclass(frozen=True)
class Case:
    """One write. `op` is create, update or status; `gates` change ALL_ON; `labels` are the namespace's."""

    rule: str
    name: str
    obj: Obj
    causes: tuple[tuple[str, str], ...] = ()
    op: str = "create"
    old: Obj | None = None
    gates: dict[str, bool] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.rule} {self.name}"

    @property
    def kind(self) -> str:
        return str(self.obj["kind"])


CASES: list[Case] = []


def case(rule: str, name: str, obj: Obj, *causes: tuple[str, str], **more: Any) -> None:
    CASES.append(Case(f"DRA-{rule}", name, obj, causes, **more))


def meta(kind: str, *, version: str = "v1", namespaced: bool = False, **metadata: Any) -> Obj:
    found = {"name": "x", "uid": UID, "creationTimestamp": TIME, **metadata}
    if namespaced:
        found["namespace"] = "ns"
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": kind, "metadata": found}


def claim(*requests: Obj, version: str = "v1", **devices: Any) -> Obj:
    spec = {"devices": {"requests": list(requests), **devices}}
    return {**meta("ResourceClaim", version=version, namespaced=True), "spec": spec}


def request(name: str = "r", **exactly: Any) -> Obj:
    return {"name": name, "exactly": {"deviceClassName": "gpu", **exactly}}


def sub(name: str = "s", **fields: Any) -> Obj:
    return {"name": name, "deviceClassName": "gpu", **fields}


def first(*subs: Obj, name: str = "r") -> Obj:
    return {"name": name, "firstAvailable": list(subs)}


def template(*requests: Obj, metadata: Obj | None = None, **devices: Any) -> Obj:
    spec: Obj = {"spec": {"devices": {"requests": list(requests), **devices}}}
    if metadata is not None:
        spec["metadata"] = metadata
    return {**meta("ResourceClaimTemplate", namespaced=True), "spec": spec}


def klass(**spec: Any) -> Obj:
    return {**meta("DeviceClass", generation=1), "spec": spec}


def selector(expression: str = "true") -> Obj:
    return {"cel": {"expression": expression}}


def opaque(parameters: Any = None, driver: str = "gpu.example.com") -> Obj:
    return {"opaque": {"driver": driver, "parameters": {"a": 1} if parameters is None else parameters}}


def slice_of(*devices: Obj, drop: tuple[str, ...] = (), version: str = "v1", **spec: Any) -> Obj:
    found: Obj = {
        "driver": "gpu.example.com",
        "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "node-a",
        **spec,
    }
    if devices:
        found["devices"] = list(devices)
    for name in drop:
        found.pop(name, None)
    return {**meta("ResourceSlice", version=version, generation=1), "spec": found}


def device(name: str = "d", **fields: Any) -> Obj:
    return {"name": name, **fields}


def taint(**fields: Any) -> Obj:
    return {"key": "example.com/bad", "effect": "NoSchedule", "timeAdded": TIME, **fields}


def many(count: int, make: Any) -> list[Any]:
    return [make(at) for at in range(count)]


def changed(obj: Obj, *path: Any, to: Any) -> Obj:
    """A copy with one field set."""
    found = copy.deepcopy(obj)
    holder: Any = found
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = to
    return found


R0 = "spec.devices.requests[0]"
E0 = f"{R0}.exactly"
F0 = f"{R0}.firstAvailable[0]"
CEL0 = f"{E0}.selectors[0].cel.expression"


# --- A: claims, templates, classes ------------------------------------------------------------------------------

case("001", "defaults", claim(request()))
case("001", "mode only", claim(request(allocationMode="ExactCount")))
case("001", "count 3", claim(request(count=3)))
case("001", "all", claim(request(allocationMode="All")))
case("001", "template", template(request()))
case("002", "subrequest", claim(first(sub())))
case("003", "All+1", claim(request(allocationMode="All", count=1)), ("I", f"{E0}.count"))
case("003", "All+0", claim(request(allocationMode="All", count=0)))
case("003", "sub All+2", claim(first(sub(allocationMode="All", count=2))), ("I", f"{F0}.count"))
case("004", "-1", claim(request(count=-1)), ("I", f"{E0}.count"))
case("004", "0", claim(request(allocationMode="ExactCount", count=0)))
case("004", "sub -1", claim(first(sub(count=-1))), ("I", f"{F0}.count"))
case("005", "unknown", claim(request(allocationMode="Some")), ("N", f"{E0}.allocationMode"))
case("005", "sub unknown", claim(first(sub(allocationMode="Some"))), ("N", f"{F0}.allocationMode"))
case("006", "none", claim({"name": "r"}), ("R", R0))
case("007", "both", claim({**request(), **first(sub())}), ("I", R0))
case("008", "33", claim(*many(33, lambda at: request(f"r{at}"))), ("M", "spec.devices.requests"))
case("008", "32", claim(*many(32, lambda at: request(f"r{at}"))))
case("008", "0", claim())
case("009", "dup", claim(request("a"), request("a")), ("D", "spec.devices.requests[1]"))
for bad in ("Req", "a.b", "a/b", "x" * 64, "-a", ""):
    case("010", bad[:8] or "empty", claim(request(bad)), ("I", f"{R0}.name"))
case("010", "63", claim(request("x" * 63)))
case("010", "sub S", claim(first(sub("S"))), ("I", f"{F0}.name"))
case("011", "9", claim(first(*many(9, lambda at: sub(f"s{at}")))), ("M", f"{R0}.firstAvailable"))
case("011", "8", claim(first(*many(8, lambda at: sub(f"s{at}")))))
case("012", "dup", claim(first(sub("s"), sub("s"))), ("D", f"{R0}.firstAvailable[1]"))
case("012", "two requests", claim(first(sub("s"), name="a"), first(sub("s"), name="b")))
case("013", "missing", claim(request(deviceClassName="")), ("R", f"{E0}.deviceClassName"))
case("013", "bad", claim(request(deviceClassName="Foo_bar")), ("I", f"{E0}.deviceClassName"))
case("013", "sub missing", claim(first(sub(deviceClassName=""))), ("R", f"{F0}.deviceClassName"))
case("013", "sub bad", claim(first(sub(deviceClassName="Foo_bar"))), ("I", f"{F0}.deviceClassName"))
case("014", "claim", claim(request(selectors=[{}])), ("R", f"{E0}.selectors[0].cel"))
case("014", "class", klass(selectors=[{}]), ("R", "spec.selectors[0].cel"))
case("015", "claim 33", claim(request(selectors=[selector()] * 33)), ("M", f"{E0}.selectors"))
case("015", "claim 32", claim(request(selectors=[selector()] * 32)))
case("015", "class 33", klass(selectors=[selector()] * 33), ("M", "spec.selectors"))
case("015", "class 32", klass(selectors=[selector()] * 32))
case("015", "sub 33", claim(first(sub(selectors=[selector()] * 33))), ("M", f"{F0}.selectors"))
for bad in ("nosuchvar == 1", "device.driver", "1 +", "device.nosuch == 1", ""):
    case("016", bad or "empty", claim(request(selectors=[selector(bad)])), ("I", CEL0))
case("016", "any", claim(request(selectors=[selector('device.attributes["a"].b')])))
case("016", "class", klass(selectors=[selector("nosuchvar")]), ("I", "spec.selectors[0].cel.expression"))
case("017", "10241 garbage", claim(request(selectors=[selector("(" * 10241)])), ("L", CEL0))
case("017", "10241 valid", claim(request(selectors=[selector("true" + " " * 10237)])), ("L", CEL0))
case("017", "10240 garbage", claim(request(selectors=[selector("(" * 10240)])), ("I", CEL0))
case("017", "10240 valid", claim(request(selectors=[selector("true" + " " * 10236)])))
NESTED = "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, true))))"
case("018", "nested all x4", claim(request(selectors=[selector(NESTED)])), ("F", CEL0))
case("018", "one all", claim(request(selectors=[selector("device.attributes.all(a, true)")])))
MATCH = {"matchAttribute": "dra.example.com/model"}
CONSTRAINT0 = "spec.devices.constraints[0]"
CONFIG0 = "spec.devices.config[0]"
TREE = (first(sub("s"), name="r"), request("q"))
case(
    "019",
    "constraint",
    claim(request(), constraints=[{"requests": ["x"], **MATCH}]),
    ("I", f"{CONSTRAINT0}.requests[0]"),
)
case("019", "config", claim(request(), config=[{"requests": ["x"], **opaque()}]), ("I", f"{CONFIG0}.requests[0]"))
case("019", "known", claim(request(), config=[{"requests": ["r"], **opaque()}]))
for good in ("r", "r/s", "q"):
    case("020", good, claim(*TREE, constraints=[{"requests": [good], **MATCH}]))
for bad in ("r/x", "r/s/t", "q/s", "x/s"):
    case(
        "020",
        bad,
        claim(*TREE, constraints=[{"requests": [bad], **MATCH}]),
        ("I", f"{CONSTRAINT0}.requests[0]"),
    )
case(
    "021",
    "dup",
    claim(request(), constraints=[{"requests": ["r", "r"], **MATCH}]),
    ("D", f"{CONSTRAINT0}.requests[1]"),
)
case(
    "021",
    "config dup",
    claim(request(), config=[{"requests": ["r", "r"], **opaque()}]),
    ("D", f"{CONFIG0}.requests[1]"),
)
case(
    "022", "match", claim(request(), constraints=[{"matchAttribute": "model"}]), ("I", f"{CONSTRAINT0}.matchAttribute")
)
case(
    "022",
    "distinct",
    claim(request(), constraints=[{"distinctAttribute": "model"}]),
    ("I", f"{CONSTRAINT0}.distinctAttribute"),
)
case("023", "none", claim(request(), constraints=[{"requests": ["r"]}]), ("R", CONSTRAINT0))
case("024", "both", claim(request(), constraints=[{**MATCH, "distinctAttribute": "unqualified"}]))
CC_OFF = {"DRAConsumableCapacity": False}
case(
    "025",
    "off",
    claim(request(), constraints=[{"distinctAttribute": "a.b/c"}]),
    ("R", f"{CONSTRAINT0}.matchAttribute"),
    gates=CC_OFF,
)
case("025", "none off", claim(request(), constraints=[{}]), ("R", f"{CONSTRAINT0}.matchAttribute"), gates=CC_OFF)
case("025", "both off", claim(request(), constraints=[{**MATCH, "distinctAttribute": "a.b/c"}]), gates=CC_OFF)
OPAQUE0 = f"{CONFIG0}.opaque"
case("026", "no driver", claim(request(), config=[opaque(driver="")]), ("R", f"{OPAQUE0}.driver"))
case("026", "no parameters", claim(request(), config=[{"opaque": {"driver": "d"}}]), ("R", f"{OPAQUE0}.parameters"))
for name, value in (("array", [1]), ("string", "x"), ("number", 1)):
    case("026", name, claim(request(), config=[opaque(value)]), ("I", f"{OPAQUE0}.parameters"))
case("026", "no opaque", claim(request(), config=[{}]), ("R", f"{CONFIG0}.opaque"))
case("026", "bad driver", claim(request(), config=[opaque(driver="a_b")]), ("I", f"{OPAQUE0}.driver"))
case("026", "empty object", claim(request(), config=[opaque({})]))
BIG = {"a": "x" * (10240 - 8 + 1)}
FITS = {"a": "x" * (10240 - 8)}
case("027", "claim 10241", claim(request(), config=[opaque(BIG)]), ("L", f"{OPAQUE0}.parameters"))
case("027", "claim 10240", claim(request(), config=[opaque(FITS)]))
case("027", "class 10241", klass(config=[opaque(BIG)]), ("L", "spec.config[0].opaque.parameters"))
case(
    "027",
    "class stored",
    klass(config=[opaque(BIG)], selectors=[selector()]),
    op="update",
    old=klass(config=[opaque(BIG)]),
)
case(
    "027",
    "class config entry added",
    klass(config=[opaque(BIG), opaque()]),
    ("L", "spec.config[0].opaque.parameters"),
    op="update",
    old=klass(config=[opaque(BIG)]),
)
case("028", "claim 33", claim(request(), config=[opaque()] * 33), ("M", "spec.devices.config"))
case("028", "claim 32", claim(request(), config=[opaque()] * 32))
case("028", "class 33", klass(config=[opaque()] * 33), ("M", "spec.config"))
case("028", "33 constraints", claim(request(), constraints=[MATCH] * 33), ("M", "spec.devices.constraints"))
TOL0 = f"{E0}.tolerations[0]"


def tolerate(**fields: Any) -> Obj:
    return claim(request(tolerations=[fields]))


case("029", "exists+value", tolerate(key="k", operator="Exists", value="v"), ("I", f"{TOL0}.value"))
case("029", "exists", tolerate(key="k", operator="Exists"))
case(
    "029",
    "sub",
    claim(first(sub(tolerations=[{"operator": "Exists", "value": "v"}]))),
    ("I", f"{F0}.tolerations[0].value"),
)
case("030", "default", tolerate(key="k", value="v"))
case("030", "sub default", claim(first(sub(tolerations=[{"key": "k"}]))))
case("031", "op", tolerate(operator="Like"), ("N", f"{TOL0}.operator"))
case("031", "effect", tolerate(operator="Exists", effect="PreferNoSchedule"), ("N", f"{TOL0}.effect"))
case("031", "bad key", tolerate(key="a b", operator="Exists"), ("I", f"{TOL0}.key"))
case("031", "bad value", tolerate(key="a", value="a b"), ("I", f"{TOL0}.value"))
case("031", "empty", tolerate(operator="Exists"))
case("031", "None effect", tolerate(operator="Exists", effect="None"))
case("032", "17", claim(request(tolerations=[{"operator": "Exists"}] * 17)))
OLD = claim(request(count=1, allocationMode="ExactCount"))
for name, new in (
    ("count", claim(request(count=2))),
    ("add request", claim(request(), request("b"))),
    ("config", claim(request(), config=[opaque()])),
    ("empty", claim()),
):
    case("033", name, new, ("I", "spec"), op="update", old=OLD)
case("033", "labels", changed(OLD, "metadata", "labels", to={"a": "b"}), op="update", old=OLD)
case("033", "sent again without defaults", claim(request()), op="update", old=OLD)
case("034", "status at create", {**claim(request()), "status": {"reservedFor": [{"resource": "pods"}]}})
case("035", "status at update", {**OLD, "status": {"reservedFor": [{"resource": "pods"}]}}, op="update", old=OLD)
TAINTS_OFF = {"DRADeviceTaints": False}
TOLERANT = claim(request(count=1, allocationMode="ExactCount", tolerations=[{"operator": "Exists"}]))
case("037", "off", TOLERANT, gates=TAINTS_OFF)
case("037", "off invalid", tolerate(operator="Like"), gates=TAINTS_OFF)
case(
    "037",
    "off kept",
    changed(TOLERANT, "metadata", "labels", to={"a": "b"}),
    op="update",
    old=TOLERANT,
    gates=TAINTS_OFF,
)
LIST_OFF = {"DRAPrioritizedList": False}
case("038", "off", claim(first(sub())), ("R", R0), gates=LIST_OFF)
case("038", "off with exactly", claim({**request(), **first(sub())}), gates=LIST_OFF)
OLD_LIST = claim(first(sub(count=1, allocationMode="ExactCount")))
case(
    "038", "off kept", changed(OLD_LIST, "metadata", "labels", to={"a": "b"}), op="update", old=OLD_LIST, gates=LIST_OFF
)
OLD_TEMPLATE = template(request(count=1, allocationMode="ExactCount"))
case("039", "count", template(request(count=2)), ("I", "spec"), op="update", old=OLD_TEMPLATE)
case(
    "039",
    "spec.metadata labels",
    template(request(), metadata={"labels": {"a": "b"}}),
    ("I", "spec"),
    op="update",
    old=OLD_TEMPLATE,
)
case("039", "labels", changed(OLD_TEMPLATE, "metadata", "labels", to={"a": "b"}), op="update", old=OLD_TEMPLATE)
for name, metadata in (
    ("name", "x"),
    ("namespace", "x"),
    ("generateName", "x"),
    ("finalizers", ["a.b/c"]),
    ("ownerReferences", [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]),
    ("resourceVersion", "1"),
):
    case("040", name, template(request(), metadata={name: metadata}), ("F", f"spec.metadata.{name}"))
case("040", "uid", template(request(), metadata={"uid": "u"}), ("F", "spec.metadata.uID"))
case("040", "labels and annotations", template(request(), metadata={"labels": {"a": "b"}, "annotations": {"c": "d"}}))
case("040", "bad label", template(request(), metadata={"labels": {"a": "b c"}}), ("I", "spec.metadata.labels"))
for name in ("gpu", "cpu", "requests.example.com/gpu", "example.com/" + "x" * 64, "kubernetes.io/x", "a b/c", ""):
    case("042", name[:24] or "empty", klass(extendedResourceName=name), ("I", "spec.extendedResourceName"))
case("042", "good", klass(extendedResourceName="example.com/gpu"))
EXTENDED_OFF = {"DRAExtendedResource": False}
case("043", "off", klass(extendedResourceName="example.com/gpu"), gates=EXTENDED_OFF)
case("043", "off added", klass(extendedResourceName="example.com/gpu"), op="update", old=klass(), gates=EXTENDED_OFF)
case(
    "043",
    "off in use",
    klass(extendedResourceName="example.com/b"),
    op="update",
    old=klass(extendedResourceName="example.com/a"),
    gates=EXTENDED_OFF,
)
case("041", "no-op", klass(selectors=[selector()]), op="update", old=klass(selectors=[selector()]))
case("041", "selectors", klass(selectors=[selector()]), op="update", old=klass())


def old_claim(*requests: Obj, **devices: Any) -> Obj:
    return claim(*requests, version="v1beta1", **devices)


case("044", "v1beta1 none", old_claim({"name": "r"}), ("R", R0))
case(
    "044",
    "v1beta1 no class, with count",
    old_claim({"name": "r", "count": 1}),
    ("R", f"{E0}.deviceClassName"),
    ("N", f"{E0}.allocationMode"),
)
case("044", "v1beta1 count -1", old_claim({"name": "r", "deviceClassName": "g", "count": -1}), ("I", f"{E0}.count"))
case("044", "v1beta1 bad class", old_claim({"name": "r", "deviceClassName": "G_"}), ("I", f"{E0}.deviceClassName"))
case("044", "v1beta1 both", old_claim({"name": "r", "deviceClassName": "g", **first(sub())}), ("I", R0))
FLAT = {
    "name": "r",
    "deviceClassName": "g",
    "selectors": [selector()],
    "allocationMode": "ExactCount",
    "count": 2,
    "adminAccess": False,
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "capacity": {"requests": {"memory": "1Gi"}},
}
case("044", "v1beta1 all fields", old_claim(FLAT))
case("044", "v1beta1 subrequests", old_claim(first(sub())))
case("231", "claim", claim(request(adminAccess=True)), ("F", f"{R0}.adminAccess"))
case("231", "template", template(request(adminAccess=True)), ("F", f"{R0}.adminAccess"))
ADMIN = "resource.kubernetes.io/admin-access"
case("231", "label false", claim(request(adminAccess=True)), ("F", f"{R0}.adminAccess"), labels={ADMIN: "false"})
case(
    "231",
    "second request",
    claim(request(), request("b", adminAccess=True)),
    ("F", "spec.devices.requests[1].adminAccess"),
)
case("231", "adminAccess false", claim(request(adminAccess=False)))
case("232", "claim", claim(request(adminAccess=True)), labels={ADMIN: "true"})
case("232", "template", template(request(adminAccess=True)), labels={ADMIN: "true"})
case(
    "166",
    "gate off: claim",
    claim(request(selectors=[selector("device.allowMultipleAllocations")])),
    ("I", CEL0),
    gates=CC_OFF,
)
case("166", "gate on", claim(request(selectors=[selector("device.allowMultipleAllocations")])))
MULTI = klass(selectors=[selector("device.allowMultipleAllocations")])
case("166", "stored class", changed(MULTI, "metadata", "labels", to={"a": "b"}), op="update", old=MULTI, gates=CC_OFF)
case(
    "166",
    "stored class changed",
    klass(selectors=[selector("device.allowMultipleAllocations"), selector()]),
    ("I", "spec.selectors[0].cel.expression"),
    op="update",
    old=MULTI,
    gates=CC_OFF,
)

# --- B: slices ----------------------------------------------------------------------------------------------------

NODE_SELECTOR = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}]}
CHOICES: dict[str, Any] = {
    "nodeName": "node-a",
    "nodeSelector": NODE_SELECTOR,
    "allNodes": True,
    "perDeviceNodeSelection": True,
}
D0 = "spec.devices[0]"
case("050", "none", slice_of(drop=("nodeName",)), ("R", "spec"))
for left in CHOICES:
    case("050", left, slice_of(drop=() if left == "nodeName" else ("nodeName",), **{left: CHOICES[left]}))
    for right in CHOICES:
        if list(CHOICES).index(left) < list(CHOICES).index(right):
            both = {left: CHOICES[left], right: CHOICES[right]}
            dropped = () if left == "nodeName" else ("nodeName",)
            case("050", f"{left}+{right}", slice_of(drop=dropped, **both), ("I", "spec"))
for name in ("allNodes", "perDeviceNodeSelection"):
    # False is no choice, and an error of its own.
    disabled: Obj = {name: False}
    case("051", f"{name} false", slice_of(drop=("nodeName",), **disabled), ("I", f"spec.{name}"), ("R", "spec"))
case("051", "nodeName empty", slice_of(nodeName=""), ("I", "spec.nodeName"), ("R", "spec"))
case("051", "nodeName + allNodes=false", slice_of(allNodes=False), ("I", "spec.allNodes"))
TERMS = "spec.nodeSelector.nodeSelectorTerms"
case(
    "052",
    # Two rules: a selector has at least one term, and that of a slice exactly one.
    "0 terms",
    slice_of(drop=("nodeName",), nodeSelector={"nodeSelectorTerms": []}),
    ("R", TERMS),
    ("I", TERMS),
)
TWO_TERMS = {"nodeSelectorTerms": NODE_SELECTOR["nodeSelectorTerms"] * 2}
case("052", "2 terms", slice_of(drop=("nodeName",), nodeSelector=TWO_TERMS), ("I", TERMS))


def fields_selector(**requirement: Any) -> Obj:
    found = {"key": "metadata.name", "operator": "In", "values": ["node-a"], **requirement}
    return {"nodeSelectorTerms": [{"matchFields": [found]}]}


FIELD0 = f"{TERMS}[0].matchFields[0]"
EXPRESSION0 = f"{TERMS}[0].matchExpressions[0]"
for name, bad_selector, cause in (
    ("fields two values", fields_selector(values=["a", "b"]), ("R", f"{FIELD0}.values")),
    ("fields operator", fields_selector(operator="Exists"), ("I", f"{FIELD0}.operator")),
    ("fields key", fields_selector(key="spec.x"), ("I", f"{FIELD0}.key")),
    ("fields value", fields_selector(values=["A_"]), ("I", f"{FIELD0}.values[0]")),
):
    case("052", name, slice_of(drop=("nodeName",), nodeSelector=bad_selector), cause)


def expression_selector(**requirement: Any) -> Obj:
    found = {"key": "k", "operator": "In", "values": ["v"], **requirement}
    return {"nodeSelectorTerms": [{"matchExpressions": [found]}]}


for name, bad_selector, cause in (
    ("expression no values", expression_selector(values=[]), ("R", f"{EXPRESSION0}.values")),
    ("expression exists+values", expression_selector(operator="Exists"), ("F", f"{EXPRESSION0}.values")),
    ("expression gt", expression_selector(operator="Gt", values=[]), ("R", f"{EXPRESSION0}.values")),
    ("expression operator", expression_selector(operator="Is"), ("I", f"{EXPRESSION0}.operator")),
    ("expression key", expression_selector(key="a b"), ("I", f"{EXPRESSION0}.key")),
    ("expression value", expression_selector(values=["a b"]), ("I", f"{EXPRESSION0}.values[0]")),
):
    case("052", name, slice_of(drop=("nodeName",), nodeSelector=bad_selector), cause)
OLD_SLICE = slice_of()
case("053", "driver", slice_of(driver="other.example.com"), ("I", "spec.driver"), op="update", old=OLD_SLICE)
case("053", "nodeName", slice_of(nodeName="node-b"), ("I", "spec.nodeName"), op="update", old=OLD_SLICE)
case(
    "053",
    "nodeName -> allNodes",
    slice_of(drop=("nodeName",), allNodes=True),
    ("I", "spec.nodeName"),
    op="update",
    old=OLD_SLICE,
)
case(
    "053",
    "pool.name",
    changed(OLD_SLICE, "spec", "pool", "name", to="b"),
    ("I", "spec.pool.name"),
    op="update",
    old=OLD_SLICE,
)
case("053", "generation", changed(OLD_SLICE, "spec", "pool", "generation", to=0), op="update", old=OLD_SLICE)
case("053", "devices", slice_of(device()), op="update", old=OLD_SLICE)
case("053", "no-op", slice_of(), op="update", old=OLD_SLICE)


def pooled(**pool: Any) -> Obj:
    return slice_of(pool={"name": "pool", "generation": 1, "resourceSliceCount": 1, **pool})


for count in (0, -1):
    case("054", f"count {count}", pooled(resourceSliceCount=count), ("I", "spec.pool.resourceSliceCount"))
case("054", "count missing", slice_of(pool={"name": "pool"}), ("I", "spec.pool.resourceSliceCount"))
case("054", "gen -1", pooled(generation=-1), ("I", "spec.pool.generation"))
case("054", "gen 0", pooled(generation=0))
for bad in ("a//b", "/a", "a/", "A", "a_b", "a/B"):
    case("055", bad, pooled(name=bad), ("I", "spec.pool.name"))
case("055", "empty", pooled(name=""), ("R", "spec.pool.name"))
case("055", "a.b/c.d", pooled(name="a.b/c.d"))
LONG = "a" * 126 + "/" + "b" * 126
case("055", "253", pooled(name=LONG))
case("055", "254", pooled(name=LONG + "c"), ("L", "spec.pool.name"))


def devices(count: int, **extra: Any) -> list[Obj]:
    return [device(f"d{at}", **(extra if at == 0 else {})) for at in range(count)]


case("056", "129", slice_of(*devices(129)), ("M", "spec.devices"))
case("056", "128", slice_of(*devices(128)))
CONSUMES = [{"counterSet": "cs", "counters": {"c": {"value": "1"}}}]
for name, extra in (
    ("taint", {"taints": [taint()]}),
    ("counter", {"consumesCounters": CONSUMES}),
    ("list", {"attributes": {"a": {"ints": [1]}}}),
):
    case("056", f"{name} 65", slice_of(*devices(65, **extra)), ("M", "spec.devices"))
    case("056", f"{name} 64", slice_of(*devices(64, **extra)))
case("056", "sharing 128", slice_of(*devices(128, allowMultipleAllocations=True)))
case("057", "dup", slice_of(device(), device()), ("D", "spec.devices[1]"))
case("057", "bad name", slice_of(device("D")), ("I", f"{D0}.name"))


def attributes(count: int, prefix: str = "a") -> Obj:
    return {f"{prefix}{at}": {"int": at} for at in range(count)}


def capacities(count: int) -> Obj:
    return {f"c{at}": {"value": "1"} for at in range(count)}


case("058", "33 attr", slice_of(device(attributes=attributes(33))), ("I", D0))
case("058", "17+16", slice_of(device(attributes=attributes(17), capacity=capacities(16))), ("I", D0))
case("058", "16+16", slice_of(device(attributes=attributes(16), capacity=capacities(16))))
case("058", "33 cap", slice_of(device(capacity=capacities(33))), ("I", D0))
case("059", "49", slice_of(device(attributes={"l": {"ints": list(range(49))}})), ("I", D0))
case("059", "48", slice_of(device(attributes={"l": {"ints": list(range(48))}}, capacity=capacities(3))))
case("059", "40+9", slice_of(device(attributes={"l": {"ints": list(range(40))}, **attributes(9)})), ("I", D0))
A0 = f"{D0}.attributes[a]"


def attribute(**values: Any) -> Obj:
    return slice_of(device(attributes={"a": values}))


LISTS_OFF = {"DRAListTypeAttributes": False}
case("059", "list attribute dropped", attribute(ints=[1]), ("I", A0), gates=LISTS_OFF)
case("060", "none", attribute(), ("I", A0))
case("060", "two", attribute(int=1, bool=True), ("I", A0))
case("060", "int+ints", attribute(int=1, ints=[1]), ("I", A0))
for bad in ("1.0", "v1.0.0", "01.0.0", "1.0.0-", "x", "1.0.0\n"):
    case("061", repr(bad), attribute(version=bad), ("I", f"{A0}.version"))
case("061", "good version", attribute(version="1.0.0-alpha.1+build.5"))
case("061", "65", attribute(string="x" * 65), ("L", f"{A0}.string"))
case("061", "64", attribute(string="x" * 64))
case("061", "33 two-byte chars", attribute(string="é" * 33), ("L", f"{A0}.string"))
case("061", "version 65", attribute(version="1.0.0-" + "a" * 59), ("L", f"{A0}.version"))


def named(name: str) -> Obj:
    return slice_of(device(attributes={name: {"int": 1}}))


for bad in ("/x", "a.b/", "1a", "a-b", "a.b", "a b", "a_b/c"):
    case("062", bad, named(bad), ("I", f"{D0}.attributes"))
for name, bad in (("33", "x" * 33), ("dom/33", "a.b/" + "x" * 33), ("domain 64", "a" * 32 + "." + "b" * 31 + "/x")):
    case("062", name, named(bad), ("L", f"{D0}.attributes"))
case("062", "a/b/c", named("a/b/c"))
case("062", "capacity /x", slice_of(device(capacity={"/x": {"value": "1"}})), ("I", f"{D0}.capacity"))
for name, one in (("ints", 1), ("bools", True), ("strings", "s"), ("versions", "1.0.0")):
    case("063", f"{name} empty", attribute(**{name: []}), ("I", f"{A0}.{name}"))
    case("063", f"{name} one", attribute(**{name: [one]}))
case("063", "bad version in list", attribute(versions=["1"]), ("I", f"{A0}.versions[0]"))
case("063", "long string in list", attribute(strings=["x" * 65]), ("L", f"{A0}.strings[0]"))


def counter_set(name: str = "cs", count: int = 1) -> Obj:
    return {"name": name, "counters": {f"c{at}": {"value": "1"} for at in range(count)}}


case("064", "both", slice_of(device(), sharedCounters=[counter_set()]), ("I", "spec"))
case("064", "empty devices", slice_of(devices=[], sharedCounters=[counter_set()]), ("I", "spec"))
case("064", "empty sharedCounters", slice_of(device(), sharedCounters=[]), ("I", "spec"))
S0 = "spec.sharedCounters[0]"
case("065", "9 sets", slice_of(sharedCounters=many(9, lambda at: counter_set(f"s{at}"))), ("M", "spec.sharedCounters"))
case("065", "8 sets", slice_of(sharedCounters=many(8, lambda at: counter_set(f"s{at}"))))
case("065", "33 counters", slice_of(sharedCounters=[counter_set(count=33)]), ("M", f"{S0}.counters"))
case("065", "32 counters", slice_of(sharedCounters=[counter_set(count=32)]))
case("065", "empty set", slice_of(sharedCounters=[counter_set(count=0)]), ("R", f"{S0}.counters"))
case("065", "dup", slice_of(sharedCounters=[counter_set(), counter_set()]), ("D", "spec.sharedCounters[1]"))
case("065", "no name", slice_of(sharedCounters=[counter_set("")]), ("R", f"{S0}.name"))
case("065", "bad name", slice_of(sharedCounters=[counter_set("A")]), ("I", f"{S0}.name"))
case(
    "065",
    "bad counter name",
    slice_of(sharedCounters=[{"name": "cs", "counters": {"A": {"value": "1"}}}]),
    ("I", f"{S0}.counters"),
)


def consumes(*entries: Obj) -> Obj:
    return slice_of(device(consumesCounters=list(entries)))


def consumption(name: str = "cs", count: int = 1) -> Obj:
    return {"counterSet": name, "counters": {f"c{at}": {"value": "1"} for at in range(count)}}


C0 = f"{D0}.consumesCounters"
case("066", "3", consumes(*many(3, lambda at: consumption(f"s{at}"))), ("M", C0))
case("066", "2", consumes(*many(2, lambda at: consumption(f"s{at}", 32))))
case("066", "dup", consumes(consumption(), consumption()), ("D", f"{C0}[1]"))
case("066", "no counters", consumes(consumption(count=0)), ("R", f"{C0}[0].counters"))
case("066", "33 counters", consumes(consumption(count=33)), ("M", f"{C0}[0].counters"))
case("066", "no set", consumes(consumption("")), ("R", f"{C0}[0].counterSet"))
case("066", "bad set", consumes(consumption("A")), ("I", f"{C0}[0].counterSet"))
case("067", "unknown set", consumes(consumption("nowhere")))


def per_device(**fields: Any) -> Obj:
    return slice_of(device(**fields), drop=("nodeName",), perDeviceNodeSelection=True)


DEVICE_CHOICES: dict[str, Any] = {"nodeName": "node-a", "nodeSelector": NODE_SELECTOR, "allNodes": True}
case("068", "none", per_device(), ("R", D0))
case("068", "two", per_device(nodeName="n", allNodes=True), ("I", D0))
case("068", "three", per_device(**DEVICE_CHOICES), ("I", D0))
case("068", "empty nodeName", per_device(nodeName=""), ("I", f"{D0}.nodeName"), ("R", D0))
case("068", "allNodes false", per_device(allNodes=False), ("I", f"{D0}.allNodes"), ("R", D0))
for name, value in DEVICE_CHOICES.items():
    case("068", name, per_device(**{name: value}))
    case("069", name, slice_of(device(**{name: value})), ("I", D0))
case("068", "two terms", per_device(nodeSelector=TWO_TERMS))


def tainted(**fields: Any) -> Obj:
    return slice_of(device(taints=[taint(**fields)]))


T0 = f"{D0}.taints[0]"
case("070", "no effect", tainted(effect=""), ("R", f"{T0}.effect"))
case("070", "unknown", tainted(effect="Never"), ("N", f"{T0}.effect"))
case("070", "empty key", tainted(key=""), ("I", f"{T0}.key"), ("I", f"{T0}.key"))
case("070", "value", tainted(value="a b"), ("I", f"{T0}.value"))
case("070", "bad key", tainted(key="a b"), ("I", f"{T0}.key"))
case("070", "17", slice_of(device(taints=[taint()] * 17)), ("M", f"{D0}.taints"))
case("070", "16", slice_of(device(taints=[taint()] * 16)))
case("070", "stored unknown effect", tainted(effect="Never"), op="update", old=tainted(effect="Never"))
case("071", "explicit time", tainted())


def capacity(shared: bool | None = True, value: str = "10", **policy: Any) -> Obj:
    fields: Obj = {"capacity": {"m": {"value": value, "requestPolicy": policy}}}
    if shared is not None:
        fields["allowMultipleAllocations"] = shared
    return slice_of(device(**fields))


P0 = f"{D0}.capacity[m].requestPolicy"
case("072", "unset", capacity(None, default="1"), ("F", P0))
case("072", "false", capacity(False, default="1"), ("F", P0))
case("072", "true", capacity(default="1"))


def valid_values(*values: str, default: str | None = "1", limit: str = "10") -> Obj:
    policy: Obj = {"validValues": list(values)}
    if default is not None:
        policy["default"] = default
    return capacity(value=limit, **policy)


V0 = f"{P0}.validValues"
case("073", "unsorted", valid_values("1", "3", "2"), ("I", f"{V0}[2]"))
case("073", "above", valid_values("1", "11"), ("I", f"{V0}[1]"))
case("073", "11", valid_values(*many(11, lambda at: str(at + 1)), limit="20"), ("M", V0), ("I", V0))
case("073", "10", valid_values(*many(10, lambda at: str(at + 1)), limit="20"))
case("073", "dup", valid_values("1", "1"), ("D", f"{V0}[1]"))
case("073", "1 and 1000m", valid_values("1", "1000m"), ("D", f"{V0}[1]"))
case("073", "1100m and 2", valid_values("1", "1100m", "2"), ("D", f"{V0}[2]"))
case("073", "default not in list", valid_values("1", "2", default="3"), ("I", V0))
case("073", "no default", valid_values("1", default=None), ("R", f"{P0}.default"))


def valid_range(default: str | None = "2", limit: str = "10", **span: str) -> Obj:
    policy: Obj = {"validRange": span}
    if default is not None:
        policy["default"] = default
    return capacity(value=limit, **policy)


G0 = f"{P0}.validRange"
case("074", "no min", valid_range(max="4"), ("R", f"{G0}.min"))
case("074", "min>max", valid_range(default="3", min="3", max="2"), ("I", f"{G0}.max"), ("I", f"{G0}.max"))
case("074", "min>value", valid_range(default="11", min="11"), ("I", f"{G0}.min"))
case("074", "default<min", valid_range(default="1", min="2"), ("I", f"{G0}.min"))
case("074", "default>max", valid_range(default="5", min="1", max="4"), ("I", f"{G0}.max"))
case("074", "max>value", valid_range(min="1", max="11"), ("I", f"{G0}.max"))
case("074", "default off step", valid_range(default="4", min="1", max="5", step="2"), ("I", f"{G0}.step"))
case("074", "max off step", valid_range(default="3", min="1", max="4", step="2"), ("I", f"{G0}.step"))
case("074", "min+step>value", valid_range(default="1", min="1", step="10"), ("I", f"{G0}.step"))
case("074", "no default", valid_range(default=None, min="1"), ("R", f"{P0}.default"))
case("074", "good", valid_range(default="3", min="1", max="5", step="2"))
case("074", "default above the value without max", valid_range(default="20", min="1"))
case("074", "negative", valid_range(default="-1", min="-3", step="-2"))
case("074", "step 100m", valid_range(default="2", min="1", step="100m"))
BOTH_POLICIES = capacity(default="1", validValues=["1"], validRange={"min": "1"})
case("075", "both", BOTH_POLICIES, ("F", P0))


def bound(binding: list[str] | None, failure: list[str] | None) -> Obj:
    fields = {"bindingConditions": binding, "bindingFailureConditions": failure}
    given: Obj = {name: value for name, value in fields.items() if value is not None}
    return slice_of(device(**given))


B0, BF0 = f"{D0}.bindingConditions", f"{D0}.bindingFailureConditions"
case("076", "no failure", bound(["a"], None), ("I", BF0))
case("076", "no binding", bound(None, ["a"]), ("I", B0))
case("076", "dup b", bound(["a", "a"], ["b"]), ("D", f"{B0}[1]"))
case("076", "dup f", bound(["a"], ["b", "b"]), ("D", f"{BF0}[1]"))
case("076", "overlap", bound(["a"], ["a"]), ("I", f"{BF0}[0]"))
case("076", "5", bound(list("abcde"), ["x"]), ("M", B0))
case("076", "5 f", bound(["x"], list("abcde")), ("M", BF0))
case("076", "4+4", bound(list("abcd"), list("wxyz")))
case("076", "syntax", bound(["a b"], ["x"]), ("I", f"{B0}[0]"))
ALL_OFF = dict.fromkeys(
    (
        "DRADeviceTaints",
        "DRAPartitionableDevices",
        "DRAConsumableCapacity",
        "DRADeviceBindingConditions",
        "DRAListTypeAttributes",
        "DRANodeAllocatableResources",
    ),
    False,
)
GATED = {
    "taints": slice_of(device(taints=[taint()])),
    "consumesCounters": consumes(consumption()),
    "sharedCounters": slice_of(sharedCounters=[counter_set()]),
    "bindsToNode": slice_of(device(bindsToNode=True)),
    "bindingConditions": bound(["a"], ["b"]),
    "allowMultipleAllocations": slice_of(device(allowMultipleAllocations=True)),
    "requestPolicy": capacity(default="1"),
}
for name, gated in GATED.items():
    case("077", f"{name} dropped", gated, gates=ALL_OFF)
    case(
        "077", f"{name} kept", changed(gated, "spec", "pool", "generation", to=2), op="update", old=gated, gates=ALL_OFF
    )
    case("077", f"{name} added", gated, op="update", old=slice_of(), gates=ALL_OFF)
case(
    "077",
    "perDeviceNodeSelection dropped",
    slice_of(device(nodeName="n"), drop=("nodeName",), perDeviceNodeSelection=True),
    ("R", "spec"),
    gates=ALL_OFF,
)
case("077", "list attribute dropped", attribute(ints=[1]), ("I", A0), gates=ALL_OFF)
case(
    "077",
    "status gate",
    bound(["a"], ["b"]),
    gates=STATUS_OFF,
)
case("078", "upper case", slice_of(driver="GPU.example.com"))
case("078", "63 bytes", slice_of(driver="a" * 63))
case("078", "64 bytes", slice_of(driver="a" * 64), ("L", "spec.driver"))
case("078", "empty", slice_of(driver=""), ("R", "spec.driver"))
case("078", "a_b", slice_of(driver="a_b"), ("I", "spec.driver"))
BASIC = {"attributes": {"a": {"int": 1}}, "capacity": {"c": {"value": "1Gi"}}, "taints": [taint()]}
case("044", "v1beta1 slice", slice_of(device(basic=BASIC), version="v1beta1"))
case("044", "v1beta1 slice without basic", slice_of(device(), version="v1beta1"))
case(
    "044",
    "v1beta1 slice path",
    slice_of(device(basic={"attributes": {"a": {}}}), version="v1beta1"),
    ("I", A0),
)
case("044", "v1beta1 slice allNodes false", slice_of(version="v1beta1", allNodes=False))
case("044", "v1beta1 slice empty nodeName", slice_of(version="v1beta1", nodeName=""), ("R", "spec"))


def mapped(name: str, **fields: Any) -> Obj:
    return slice_of(device(capacity=capacities(1), nodeAllocatableResourceMappings={name: fields}))


N0 = f"{D0}.nodeAllocatableResourceMappings"
case("312", "cpu", mapped("cpu", capacityKey="c0"))
case("312", "extended", mapped("example.com/gpu", capacityKey="c0"), ("I", f"{N0}[example.com/gpu]"))
case("312", "negative", mapped("cpu", allocationMultiplier="-1"), ("I", f"{N0}[cpu].allocationMultiplier"))
case("312", "unknown key", mapped("cpu", capacityKey="nope"), ("X", f"{N0}[cpu].capacityKey"))
case("312", "empty key", mapped("cpu", capacityKey=""), ("I", f"{N0}[cpu].capacityKey"))

# --- C: claim status ------------------------------------------------------------------------------------------------

FULL = claim(request(count=1, allocationMode="ExactCount"), first(sub(count=1, allocationMode="ExactCount"), name="f"))
PENDING: Obj = {**FULL, "status": {}}


def result(**fields: Any) -> Obj:
    return {"request": "r", "driver": "gpu.example.com", "pool": "pool", "device": "d", **fields}


def allocation(*results: Obj, **fields: Any) -> Obj:
    config = fields.pop("config", None)
    devices_: Obj = {"results": list(results) or [result()]}
    if config is not None:
        devices_["config"] = config
    return {"devices": devices_, **fields}


def status(obj: Obj = FULL, **fields: Any) -> Obj:
    return {**obj, "status": fields}


def consumer(**fields: Any) -> Obj:
    return {"resource": "pods", "name": "pod", "uid": "u", **fields}


ALLOCATED = status(allocation=allocation())
RESERVED = status(allocation=allocation(), reservedFor=[consumer()])
A = "status.allocation"
case("083", "no allocation", status(reservedFor=[consumer()]), ("F", "status.reservedFor"), op="status", old=PENDING)
case("083", "with allocation", RESERVED, op="status", old=PENDING)
case(
    "084",
    "replace device",
    status(allocation=allocation(result(device="e"))),
    ("I", A),
    op="status",
    old=ALLOCATED,
)
case(
    "084",
    "replace nodeSelector",
    status(allocation=allocation(nodeSelector=NODE_SELECTOR)),
    ("I", A),
    op="status",
    old=ALLOCATED,
)
case(
    "084",
    "add allocationTimestamp",
    status(allocation=allocation(allocationTimestamp=TIME)),
    ("I", A),
    op="status",
    old=ALLOCATED,
)
case("084", "clear", status(), op="status", old=RESERVED)
case(
    "084",
    "clear with reservedFor kept",
    status(reservedFor=[consumer()]),
    ("F", "status.reservedFor"),
    op="status",
    old=RESERVED,
)
DELETED = changed(RESERVED, "metadata", "deletionTimestamp", to=TIME)
DELETED = changed(DELETED, "metadata", "finalizers", to=["resource.kubernetes.io/delete-protection"])
case(
    "085",
    "add",
    changed(DELETED, "status", "reservedFor", to=[consumer(), consumer(uid="v")]),
    ("F", "status.reservedFor"),
    op="status",
    old=DELETED,
)
case(
    "085",
    "swap",
    changed(DELETED, "status", "reservedFor", to=[consumer(uid="v")]),
    ("F", "status.reservedFor"),
    op="status",
    old=DELETED,
)
case("085", "remove", changed(DELETED, "status", "reservedFor", to=[]), op="status", old=DELETED)


def reserved(*consumers: Obj) -> Obj:
    return status(allocation=allocation(), reservedFor=list(consumers))


case(
    "086",
    "257",
    reserved(*many(257, lambda at: consumer(uid=f"u{at}"))),
    ("M", "status.reservedFor"),
    op="status",
    old=PENDING,
)
case("086", "256", reserved(*many(256, lambda at: consumer(uid=f"u{at}"))), op="status", old=PENDING)
case(
    "086",
    "same uid",
    reserved(consumer(), consumer(name="b")),
    ("D", "status.reservedFor[1]"),
    op="status",
    old=PENDING,
)
case("086", "same name", reserved(consumer(), consumer(uid="v")), op="status", old=PENDING)
for name in ("resource", "name", "uid"):
    case(
        "087", name, reserved(consumer(**{name: ""})), ("R", f"status.reservedFor[0].{name}"), op="status", old=PENDING
    )


def allocated(
    name: str, *causes: tuple[str, str], rule: str = "088", results: list[Obj] | None = None, **fields: Any
) -> None:
    obj = status(allocation=allocation(*(results or []), **fields))
    case(rule, name, obj, *causes, op="status", old=PENDING)


X0 = f"{A}.devices.results[0]"
allocated("unknown", ("I", f"{X0}.request"), results=[result(request="x")])
allocated("r/x", ("I", f"{X0}.request"), results=[result(request="r/x")])
allocated("f/s", results=[result(request="f/s")])
allocated("33", ("M", f"{A}.devices.results"), results=many(33, lambda at: result(device=f"d{at}")))
allocated("32", results=many(32, lambda at: result(device=f"d{at}")))
allocated("empty driver", ("R", f"{X0}.driver"), results=[result(driver="")])
allocated("empty pool", ("R", f"{X0}.pool"), results=[result(pool="")])
allocated("empty device", ("I", f"{X0}.device"), results=[result(device="")])
allocated("binding", ("I", f"{X0}.bindingFailureConditions"), results=[result(bindingConditions=["a"])])
allocated("node selector", ("R", f"{A}.nodeSelector.nodeSelectorTerms"), nodeSelector={"nodeSelectorTerms": []})
CLAIM_CONFIG = {"source": "FromClaim", **opaque()}
Y0 = f"{A}.devices.config[0]"
allocated("65", ("M", f"{A}.devices.config"), rule="089", config=[CLAIM_CONFIG] * 65)
allocated("64", rule="089", config=[CLAIM_CONFIG] * 64)
allocated("source", ("N", f"{Y0}.source"), rule="089", config=[{**CLAIM_CONFIG, "source": "Else"}])
allocated("empty source", ("R", f"{Y0}.source"), rule="089", config=[{**CLAIM_CONFIG, "source": ""}])
allocated("request", ("I", f"{Y0}.requests[0]"), rule="089", config=[{**CLAIM_CONFIG, "requests": ["x"]}])
for bad in (UID.upper(), "{" + UID + "}", UID.replace("-", ""), "urn:uuid:" + UID, "x", ""):
    allocated(bad or "empty", ("I", f"{X0}.shareID"), rule="090", results=[result(shareID=bad)])
allocated("valid", rule="090", results=[result(shareID=UID)])


def device_status(**fields: Any) -> Obj:
    return {"driver": "gpu.example.com", "pool": "pool", "device": "d", **fields}


def reported(
    rule: str, name: str, entries: list[Obj], *causes: tuple[str, str], results: list[Obj] | None = None
) -> None:
    obj = status(allocation=allocation(*(results or [])), devices=entries)
    case(rule, name, obj, *causes, op="status", old=PENDING)


Z0 = "status.devices[0]"
reported("091", "good", [device_status()])
reported("091", "not allocated", [device_status(device="e")], ("I", Z0))
reported("091", "other driver", [device_status(driver="x.example.com")], ("I", Z0))
reported("091", "shareID where none allocated", [device_status(shareID=UID)], ("I", Z0))
reported("091", "shareID missing", [device_status()], ("I", Z0), results=[result(shareID=UID)])
reported("091", "other shareID", [device_status(shareID=OTHER_UID)], ("I", Z0), results=[result(shareID=UID)])
case("091", "no allocation", status(devices=[device_status()]), ("I", Z0), op="status", old=PENDING)
reported("092", "dup", [device_status(), device_status()], ("D", "status.devices[1]"))
SHARES = [result(shareID=UID), result(shareID=OTHER_UID)]
reported(
    "092",
    "dup with shareID",
    [device_status(shareID=UID), device_status(shareID=UID)],
    ("D", "status.devices[1]"),
    results=SHARES,
)
reported("092", "two shareIDs", [device_status(shareID=UID), device_status(shareID=OTHER_UID)], results=SHARES)


def condition(type_: str = "Ready", **fields: Any) -> Obj:
    return {"type": type_, "status": "True", "reason": "R", "message": "", "lastTransitionTime": TIME, **fields}


reported(
    "093",
    "9 conditions",
    [device_status(conditions=many(9, lambda at: condition(f"C{at}")))],
    ("M", f"{Z0}.conditions"),
)
reported("093", "8 conditions", [device_status(conditions=many(8, lambda at: condition(f"C{at}")))])
reported(
    "093", "dup condition", [device_status(conditions=[condition(), condition()])], ("D", f"{Z0}.conditions[1].type")
)
reported(
    "093",
    "condition status",
    [device_status(conditions=[condition(status="Yes")])],
    ("N", f"{Z0}.conditions[0].status"),
)
reported(
    "093", "condition reason", [device_status(conditions=[condition(reason="")])], ("R", f"{Z0}.conditions[0].reason")
)
reported(
    "093",
    "condition reason text",
    [device_status(conditions=[condition(reason="1")])],
    ("I", f"{Z0}.conditions[0].reason"),
)
reported("093", "data 10241", [device_status(data=BIG)], ("L", f"{Z0}.data"))
reported("093", "data 10240", [device_status(data=FITS)])
reported("093", "data array", [device_status(data=[1])], ("I", f"{Z0}.data"))
reported("093", "data string", [device_status(data="x")], ("I", f"{Z0}.data"))


def network(name: str, *causes: tuple[str, str], **fields: Any) -> None:
    reported("093", name, [device_status(networkData=fields)], *causes)


IP0 = f"{Z0}.networkData.ips"
network("17 ips", ("M", IP0), ips=many(17, lambda at: f"10.0.0.{at}/24"))
network("16 ips", ips=many(16, lambda at: f"10.0.0.{at}/24"))
network("dup ip", ("D", f"{IP0}[1]"), ips=["10.0.0.1/24", "10.0.0.1/24"])
for bad in ("10.0.0.1", "10.0.0.01/24", "2001:DB8::1/64", "10.0.0.1/33", "x/1", "::ffff:10.0.0.1/120", "10.0.0.1/024"):
    network(bad, ("I", f"{IP0}[0]"), ips=[bad])
network("ipv6", ips=["2001:db8::1/64"])
network("ifname 257", ("L", f"{Z0}.networkData.interfaceName"), interfaceName="x" * 257)
network("hw 129", ("L", f"{Z0}.networkData.hardwareAddress"), hardwareAddress="x" * 129)
network("limits", interfaceName="x" * 256, hardwareAddress="x" * 128)
REPORTED = status(allocation=allocation(), devices=[device_status()])
case("094", "devices still listed", status(devices=[device_status()]), op="status", old=REPORTED)
case("094", "all cleared", status(), op="status", old=REPORTED)
case(
    "095",
    "off",
    status(allocation=allocation(), devices=[device_status(data=[1])]),
    op="status",
    old=ALLOCATED,
    gates=STATUS_OFF,
)
case(
    "095",
    "off with prior use",
    status(allocation=allocation(), devices=[device_status(data={"a": 1})]),
    op="status",
    old=REPORTED,
    gates=STATUS_OFF,
)
case("095", "shares off", status(allocation=allocation(result(shareID=UID))), op="status", old=PENDING, gates=CC_OFF)
case(
    "095",
    "binding off",
    status(allocation=allocation(result(bindingConditions=["a"], bindingFailureConditions=["b"]))),
    op="status",
    old=PENDING,
    gates={"DRADeviceBindingConditions": False},
)
ADMIN_STATUS = status(allocation=allocation(result(adminAccess=True)))
case("238", "unlabeled", ADMIN_STATUS, ("F", f"{X0}.adminAccess"), op="status", old=PENDING)
case("238", "labeled", ADMIN_STATUS, op="status", old=PENDING, labels={ADMIN: "true"})
case("238", "label removed later", ADMIN_STATUS, op="status", old=ADMIN_STATUS)

# --- Device taint rules and pool status requests -------------------------------------------------------------------


def rule(version: str = "v1beta2", selector: Obj | None = None, **fields: Any) -> Obj:
    spec: Obj = {"taint": taint(**fields)}
    if selector is not None:
        spec["deviceSelector"] = selector
    return {**meta("DeviceTaintRule", version=version, generation=1), "spec": spec}


case("230", "unknown", rule(effect="Never"), ("N", "spec.taint.effect"))
case("230", "missing", rule(effect=""), ("R", "spec.taint.effect"))
case("230", "v1alpha3 unknown", rule("v1alpha3", effect="Never"), ("N", "spec.taint.effect"))
case("230", "nil selector", rule())
case("230", "stored unknown effect", rule(effect="Never"), op="update", old=rule(effect="Never"))
case("230", "selector", rule(selector={"driver": "d", "pool": "p", "device": "x"}))
case("230", "selector driver", rule(selector={"driver": "a_b"}), ("I", "spec.deviceSelector.driver"))
case("230", "selector pool", rule(selector={"pool": ""}), ("R", "spec.deviceSelector.pool"))
case("230", "selector device", rule(selector={"device": "A"}), ("I", "spec.deviceSelector.device"))
case("227", "explicit new time", rule(effect="NoExecute", timeAdded="2021-01-01T00:00:00Z"), op="update", old=rule())
case("227", "other edit", rule(value="v"), op="update", old=rule())


def pool_request(**spec: Any) -> Obj:
    return {**meta("ResourcePoolStatusRequest", version="v1alpha3"), "spec": {"driver": "gpu.example.com", **spec}}


case("305", "default", pool_request())
case("305", "0", pool_request(limit=0), ("I", "spec.limit"))
case("305", "1001", pool_request(limit=1001), ("I", "spec.limit"))
case("305", "1", pool_request(limit=1))
case("305", "1000", pool_request(limit=1000))
case("305", "empty driver", pool_request(driver=""), ("R", "spec.driver"))
case("305", "bad driver", pool_request(driver="a_b"), ("I", "spec.driver"))
case("305", "bad pool", pool_request(poolName="A"), ("I", "spec.poolName"))
case("305", "immutable spec", pool_request(limit=5), ("I", "spec"), op="update", old=pool_request(limit=6))
