"""resource.k8s.io: statuses, immutable specs and lengths of the kinds that few clients write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import Probe, Step, apply, get, patch, post, put
from verification.fidelity.probes.objects import CLAIMS, CLASSES, DRA, SLICES, TEMPLATES, at, claim, exact, slice_of

_REQUESTS = "/apis/resource.k8s.io/v1alpha3/resourcepoolstatusrequests"
_RULES = "/apis/resource.k8s.io/v1beta2/devicetaintrules"
_TIME = "2020-01-02T03:04:05Z"


def _condition(**more: Any) -> dict[str, Any]:
    return {
        "type": "Complete",
        "status": "True",
        "reason": "Done",
        "message": "text",
        "lastTransitionTime": _TIME,
        **more,
    }


# Of metav1.Condition, which all statuses share.
_CONDITIONS: dict[str, list[dict[str, Any]]] = {
    "plain": [_condition()],
    "two": [_condition(), _condition(type="Other")],
    "twice": [_condition(), _condition()],
    "no-type": [_condition(type="")],
    "type-bad": [_condition(type="not valid")],
    "status-bad": [_condition(status="Maybe")],
    "status-empty": [_condition(status="")],
    "no-reason": [_condition(reason="")],
    "reason-bad": [_condition(reason="not valid")],
    "reason-1024": [_condition(reason="R" * 1024)],
    "reason-1025": [_condition(reason="R" * 1025)],
    "no-time": [{k: v for k, v in _condition().items() if k != "lastTransitionTime"}],
    "message-32768": [_condition(message="m" * 32768)],
    "message-32769": [_condition(message="m" * 32769)],
    "generation": [_condition(observedGeneration=3)],
    "generation-negative": [_condition(observedGeneration=-1)],
    "second-bad": [_condition(), _condition(type="", status="x", reason="")],
    "time-zone": [_condition(lastTransitionTime="2020-01-02T05:04:05+02:00")],
}


def _pool_requests() -> Iterator[Probe]:
    body = {"metadata": {"name": "{id}"}, "spec": {"driver": "gpu.example.com"}}
    one = _REQUESTS + "/{id}"
    made = post(_REQUESTS, body, keep="none")
    specs: dict[str, dict[str, Any]] = {
        "plain": {"driver": "gpu.example.com"},
        "no-driver": {},
        "driver-upper": {"driver": "GPU.example.com"},
        "driver-bad": {"driver": "a_b"},
        "driver-long": {"driver": "a" * 254},
        "pool": {"driver": "a.b", "poolName": "x/y"},
        "pool-empty": {"driver": "a.b", "poolName": ""},
        "pool-null": {"driver": "a.b", "poolName": None, "limit": None},
        "pool-segment": {"driver": "a.b", "poolName": "x//y"},
        "pool-bad": {"driver": "a.b", "poolName": "x/Y_/z_"},
        "pool-long": {"driver": "a.b", "poolName": "a" * 254},
        "limit-0": {"driver": "a.b", "limit": 0},
        "limit-1": {"driver": "a.b", "limit": 1},
        "limit-1000": {"driver": "a.b", "limit": 1000},
        "limit-1001": {"driver": "a.b", "limit": 1001},
        "limit-negative": {"driver": "a.b", "limit": -1},
        "several": {"driver": "a_b", "poolName": "//", "limit": 2000},
    }
    for name, spec in specs.items():
        yield Probe(f"pool-request/{name}", (post(_REQUESTS, {"metadata": {"name": "{id}"}, "spec": spec}),))
    sent = {**body, "status": {"poolCount": 1}}
    yield Probe("pool-request/status-at-create", (post(_REQUESTS, sent),))
    changed = patch(one, {"spec": {"limit": 5}})
    yield Probe("pool-request/spec-fixed", (made, changed))
    yield from _pool_statuses(made)


def _pool_statuses(made: Step) -> Iterator[Probe]:
    one = _REQUESTS + "/{id}"

    def pool(**more: Any) -> dict[str, Any]:
        return {"driver": "gpu.example.com", "poolName": "node-1", "generation": 1, **more}

    counts = ("totalDevices", "allocatedDevices", "availableDevices", "unavailableDevices", "resourceSliceCount")
    statuses: dict[str, dict[str, Any]] = {
        "plain": {"poolCount": 1, "pools": [pool()]},
        "full": {
            "poolCount": 2,
            "pools": [pool(**dict.fromkeys(counts, 1), nodeName="node-1"), pool(poolName="b", validationError="odd")],
            "conditions": [_condition()],
        },
        "empty": {},
        "no-count": {"pools": [pool()]},
        "count-negative": {"poolCount": -1},
        "count-0": {"poolCount": 0},
        "pools-twice": {"poolCount": 2, "pools": [pool(), pool()]},
        "pool-empty": {"poolCount": 1, "pools": [{}]},
        "pool-no-driver": {"poolCount": 1, "pools": [pool(), pool(driver="")]},
        "pool-driver": {"poolCount": 1, "pools": [pool(driver="a_b")]},
        "pool-name": {"poolCount": 1, "pools": [pool(poolName="x//Y_")]},
        "pool-name-long": {"poolCount": 1, "pools": [pool(poolName="a" * 254)]},
        "pool-generation": {"poolCount": 1, "pools": [pool(generation=-1)]},
        "pool-generation-0": {"poolCount": 1, "pools": [pool(generation=0)]},
        "pool-node": {"poolCount": 1, "pools": [pool(nodeName="Not_Valid")]},
        "pool-node-empty": {"poolCount": 1, "pools": [pool(nodeName="")]},
        "pool-error-256": {"poolCount": 1, "pools": [pool(validationError="x" * 256)]},
        "pool-error-257": {"poolCount": 1, "pools": [pool(validationError="x" * 257)]},
        "counts-negative": {"poolCount": 1, "pools": [pool(**dict.fromkeys(counts, -1))]},
        "counts-0": {"poolCount": 1, "pools": [pool(**dict.fromkeys(counts, 0))]},
    }
    for name, status in statuses.items():
        yield Probe(f"pool-status/{name}", (made, patch(one + "/status", {"status": status})))
    for count in (1000, 1001):
        pools = [pool(poolName=f"p-{n}") for n in range(count)]
        steps = (made, patch(one + "/status", {"status": {"poolCount": 1, "pools": pools}}, keep=("metadata.name",)))
        yield Probe(f"pool-status/pools-{count}", steps)
    for count in (10, 11):
        entries = [_condition(type=f"T{n}") for n in range(count)]
        steps = (made, patch(one + "/status", {"status": {"poolCount": 1, "conditions": entries}}))
        yield Probe(f"pool-status/conditions-{count}", steps)
    for name, entries in _CONDITIONS.items():
        keep = "status" if name == "twice" else "all"  # the message quotes the condition
        steps = (made, patch(one + "/status", {"status": {"poolCount": 1, "conditions": entries}}, keep=keep))
        yield Probe(f"pool-status/condition-{name}", steps)
    first = patch(one + "/status", {"status": {"poolCount": 1, "pools": [pool()]}}, keep="none")
    changes: dict[str, Step] = {
        "same": patch(one + "/status", {"status": {"poolCount": 1}}),
        # The message quotes a struct of Go.
        "other": patch(one + "/status", {"status": {"poolCount": 2}}, keep="status"),
        "removed": patch(one + "/status", {"status": None}),
        "spec-through-status": patch(one + "/status", {"spec": {"limit": 7}}),
        "status-through-spec": patch(one, {"status": {"poolCount": 2}}),
        "label": patch(one, {"metadata": {"labels": {"a": "b"}}}),
        "label-through-status": patch(one + "/status", {"metadata": {"labels": {"a": "b"}}}),
    }
    for name, change in changes.items():
        yield Probe(f"pool-status/second-{name}", (made, first, change))
    before: dict[str, Step] = {
        "spec": patch(one + "/status", {"status": {"poolCount": 1}, "spec": {"limit": 7}}),
        "through-spec": patch(one, {"status": {"poolCount": 2}}),
    }
    for name, change in before.items():
        yield Probe(f"pool-status/first-{name}", (made, change))


def _taint_rules() -> Iterator[Probe]:
    taint = {"key": "example.com/a", "effect": "NoExecute"}
    body = {"metadata": {"name": "{id}"}, "spec": {"taint": taint}}
    one = _RULES + "/{id}"
    made = post(_RULES, body, keep="none")
    for name, entries in _CONDITIONS.items():
        yield Probe(f"taint-rule/condition-{name}", (made, patch(one + "/status", {"status": {"conditions": entries}})))
    many = {
        str(count): {"status": {"conditions": [_condition(type=f"T{n}") for n in range(count)]}} for count in (8, 9)
    }
    for name, conditions in many.items():
        yield Probe(f"taint-rule/conditions-{name}", (made, patch(one + "/status", conditions, keep=("status",))))
    marks = ("metadata.generation", "spec", "status")
    effect = {"spec": {"taint": {"effect": "NoSchedule"}}}
    # The time of the change replaces the time that the client has not changed.
    yield Probe("taint-rule/effect", (made, patch(one, effect, keep=marks)))
    own = {"spec": {"taint": {"effect": "NoSchedule", "timeAdded": _TIME}}}
    yield Probe("taint-rule/effect-own-time", (made, patch(one, own, keep=marks)))
    timed = {"metadata": {"name": "{id}"}, "spec": {"taint": {**taint, "timeAdded": _TIME}}}
    old = post(_RULES, timed, keep="none")
    yield Probe("taint-rule/effect-old-time", (old, patch(one, effect, keep=marks)))
    yield Probe("taint-rule/value-old-time", (old, patch(one, {"spec": {"taint": {"value": "v"}}}, keep=marks)))
    yield Probe("taint-rule/same", (old, put(one, timed, keep=marks)))
    yield Probe("taint-rule/label", (old, patch(one, {"metadata": {"labels": {"a": "b"}}}, keep=marks)))
    both = {"status": {"conditions": [_condition()]}, "spec": {"taint": {"value": "v"}}}
    yield Probe("taint-rule/status-and-spec", (old, patch(one + "/status", both, keep=marks)))
    yield Probe("taint-rule/main-and-status", (old, patch(one, both, keep=marks)))
    yield Probe(
        "taint-rule/applied",
        (apply(one, {**timed, "apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule"}),),
    )
    selectors: dict[str, dict[str, Any]] = {
        "all": {"driver": "a.b", "pool": "p/q", "device": "d"},
        "driver-bad": {"driver": "a_b"},
        "pool-bad": {"pool": "p//q"},
        "device-bad": {"device": "D_"},
        "several": {"driver": "a_b", "pool": "//", "device": "D_"},
        "empty": {},
    }
    for name, selector in selectors.items():
        full = {"metadata": {"name": "{id}"}, "spec": {"taint": taint, "deviceSelector": selector}}
        yield Probe(f"taint-rule/selector-{name}", (post(_RULES, full, keep="all" if name != "empty" else marks[1:2]),))
        change = patch(one, {"spec": {"deviceSelector": selector}}, keep="all" if "bad" in name else marks[:2])
        yield Probe(f"taint-rule/selected-{name}", (made, change))


def _claims() -> Iterator[Probe]:
    made = post(CLAIMS, claim(), keep="none")
    status = CLAIMS + "/c/status"
    result = {"request": "r", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}
    allocated = patch(status, {"status": {"allocation": {"devices": {"results": [result]}}}}, keep="none")

    def device(**more: Any) -> dict[str, Any]:
        entry = {"driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0", **more}
        return {"status": {"devices": [entry]}}

    for name, entries in _CONDITIONS.items():
        yield Probe(f"claim-device/condition-{name}", (made, allocated, patch(status, device(conditions=entries))))
    networks: dict[str, dict[str, Any]] = {
        "plain": {"interfaceName": "eth0", "ips": ["192.0.2.1/24", "2001:db8::1/64"], "hardwareAddress": "aa:bb"},
        "ip-bad": {"ips": ["192.0.2.1"]},
        "ip-twice": {"ips": ["192.0.2.1/24", "192.0.2.1/24"]},
        "ip-second": {"ips": ["192.0.2.1/24", "x"]},
        "ip-leading": {"ips": ["192.0.02.1/24"]},
        "ip-16": {"ips": [f"192.0.2.{n}/24" for n in range(16)]},
        "ip-17": {"ips": [f"192.0.2.{n}/24" for n in range(17)]},
        "name-256": {"interfaceName": "e" * 256},
        "name-257": {"interfaceName": "e" * 257},
        "address-128": {"hardwareAddress": "a" * 128},
        "address-129": {"hardwareAddress": "a" * 129},
        "empty": {},
    }
    for name, data in networks.items():
        yield Probe(f"claim-device/network-{name}", (made, allocated, patch(status, device(networkData=data))))
    datas: dict[str, Any] = {
        "list": [1],
        "text": "x",
        "empty": {},
        "large": {"a": "x" * 10233},
        "fits": {"a": "x" * 10232},
    }
    for name, data in datas.items():
        keep: Any = "all" if name != "fits" else "status"
        yield Probe(f"claim-device/data-{name}", (made, allocated, patch(status, device(data=data), keep=keep)))
    uid = "0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"
    shares = {
        "good": uid,
        "bad": "x",
        "upper": uid.upper(),
        "urn": f"urn:uuid:{uid}",
        "urn-bad": f"url:uuid:{uid}",
        "braces": f"{{{uid}}}",
        "brackets": f"[{uid}]",
        "plain": uid.replace("-", ""),
    }
    for name, share in shares.items():
        change = {"status": {"allocation": {"devices": {"results": [{**result, "shareID": share}]}}}}
        yield Probe(f"claim-share/{name}", (made, patch(status, change)))
    for limit in (256, 257):
        entries = [{"resource": "pods", "name": f"p-{n}", "uid": f"u-{n}"} for n in range(limit)]
        reserve: dict[str, Any] = {"status": {"reservedFor": entries}}
        yield Probe(f"claim-reserved/{limit}", (made, allocated, patch(status, reserve, keep="status")))
    consumers: dict[str, dict[str, Any]] = {
        "no-name": {"resource": "pods", "uid": "u"},
        "no-uid": {"resource": "pods", "name": "p"},
        "no-resource": {"name": "p", "uid": "u"},
        "group": {"apiGroup": "example.com", "resource": "things", "name": "t", "uid": "u"},
        "empty": {},
    }
    for name, consumer in consumers.items():
        good = {"resource": "pods", "name": "q", "uid": "v"}
        reserve = {"status": {"reservedFor": [good, consumer]}}
        yield Probe(f"claim-reserved/{name}", (made, allocated, patch(status, reserve)))


def _lengths() -> Iterator[Probe]:
    labels = {f"l-{n}": "v" for n in range(3)}
    metadata: dict[str, dict[str, Any]] = {
        "labels": {"labels": labels, "annotations": {"a": "b"}},
        "label-bad": {"labels": {"a b": "c"}},
        "label-value": {"labels": {"a": "b c"}},
        "annotation-bad": {"annotations": {"a b": "c"}},
        "annotation-long": {"annotations": {"a": "x" * (256 * 1024)}},
        "name": {"name": "x"},
        "finalizers": {"finalizers": ["example.com/a"]},
        "namespace": {"namespace": "elsewhere"},
        "generate": {"generateName": "gen-"},
        "owners": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]},
    }
    for name, inner in metadata.items():
        spec = {"metadata": inner, "spec": {"devices": {"requests": [exact()]}}}
        body = {"metadata": {"name": "t"}, "spec": spec}
        yield Probe(f"template/{name}", (post(TEMPLATES, body),))
    taints = [{"key": f"example.com/t{n}", "effect": "NoSchedule"} for n in range(17)]
    for count in (16, 17):
        yield Probe(
            f"slice-taints/{count}",
            (post(SLICES, slice_of("{id}", {"name": "d", "taints": taints[:count]}), keep=("metadata.name",)),),
        )
    for effect in ("None", "NoSchedule", "NoExecute", "Odd", ""):
        taint = {"key": "example.com/a", "effect": effect}
        yield Probe(
            f"slice-taints/effect-{effect or 'empty'}",
            (post(SLICES, slice_of("{id}", {"name": "d", "taints": [taint]}), keep=("spec.devices.taints.effect",)),),
        )
    for count in (128, 129):
        devices = [{"name": f"d-{n}"} for n in range(count)]
        yield Probe(f"slice-devices/{count}", (post(SLICES, slice_of("{id}", *devices), keep=("metadata.name",)),))
    names = {"63": "d" * 63, "64": "d" * 64, "upper": "D", "dots": "a.b", "empty": ""}
    for name, text in names.items():
        two = slice_of("{id}", {"name": "good"}, {"name": text})
        yield Probe(f"slice-devices/name-{name}", (post(SLICES, two, keep=("spec.devices.name",)),))
    twice = slice_of("{id}", {"name": "a"}, {"name": "b"}, {"name": "a"})
    yield Probe("slice-devices/twice", (post(SLICES, twice),))
    for field in ("spec.driver", "spec.nodeName", "spec.pool.name"):
        parts = field.split(".")[1:]
        change: dict[str, Any] = (
            {"spec": {parts[0]: "other"}} if len(parts) == 1 else {"spec": {"pool": {"name": "other"}}}
        )
        yield Probe(f"slice-fixed/{field}", (post(SLICES, slice_of(), keep="none"), patch(SLICES + "/{id}", change)))
    generation = {"spec": {"pool": {"generation": 2}}}
    yield Probe(
        "slice-fixed/generation",
        (
            post(SLICES, slice_of(), keep="none"),
            patch(SLICES + "/{id}", generation, keep=("metadata.generation", "spec.pool")),
        ),
    )
    nodes: dict[str, dict[str, Any]] = {
        "none": {"nodeName": None},
        "all-false": {"nodeName": None, "allNodes": False},
        "all": {"nodeName": None, "allNodes": True},
        "both": {"allNodes": True},
        "selector": {
            "nodeName": None,
            "nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]},
        },
        "selector-two": {"nodeName": None, "nodeSelector": {"nodeSelectorTerms": [{}, {}]}},
        "selector-empty": {"nodeName": None, "nodeSelector": {"nodeSelectorTerms": []}},
        "selector-field": {
            "nodeName": None,
            "nodeSelector": {
                "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]
            },
        },
        "selector-field-bad": {
            "nodeName": None,
            "nodeSelector": {
                "nodeSelectorTerms": [{"matchFields": [{"key": "spec.x", "operator": "Exists", "values": ["n"]}]}]
            },
        },
        "name-bad": {"nodeName": "Not_Valid"},
        "per-device": {"nodeName": None, "perDeviceNodeSelection": True, "devices": [{"name": "d", "nodeName": "n"}]},
        "per-device-none": {"nodeName": None, "perDeviceNodeSelection": True, "devices": [{"name": "d"}]},
        "device-alone": {"devices": [{"name": "d", "nodeName": "n"}]},
    }
    for name, nodes_of in nodes.items():
        chosen: Any = nodes_of
        yield Probe(f"slice-nodes/{name}", (post(SLICES, slice_of(**chosen)),))
    resource = {"metadata": {"name": "{id}"}, "spec": {"extendedResourceName": "example.com/{id}"}}
    yield Probe(
        "class/extended", (post(CLASSES, resource), patch(CLASSES + "/{id}", {"spec": {"extendedResourceName": None}}))
    )
    for name, text in {
        "bad": "a b",
        "kubernetes": "kubernetes.io/x",
        "plain": "gpu",
        "requests": "requests.example.com/x",
        "empty": "",
    }.items():
        named = {"metadata": {"name": "{id}"}, "spec": {"extendedResourceName": text}}
        yield Probe(f"class/extended-{name}", (post(CLASSES, named),))
    for version in ("v1beta1", "v1beta2"):
        path = at(version, DRA + "/deviceclasses")
        yield Probe(f"class/{version}", (post(path, resource), get(CLASSES + "/{id}")))


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _pool_requests()
    yield from _taint_rules()
    yield from _claims()
    yield from _lengths()
