"""Validation, limits and defaults of every resource.k8s.io kind: the cases of the emulator's own tests."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from verification.fidelity import dra_cases
from verification.fidelity.probe import Probe, Step, post, put
from verification.fidelity.probes.objects import CLAIMS, CLASSES, CORE, DRA, SLICES, TEMPLATES, at, claim, device_class

_PATHS = {
    "ResourceClaim": CLAIMS,
    "ResourceClaimTemplate": TEMPLATES,
    "ResourceSlice": SLICES,
    "DeviceClass": CLASSES,
    "DeviceTaintRule": DRA + "/devicetaintrules",
    "ResourcePoolStatusRequest": DRA + "/resourcepoolstatusrequests",
}


def prepared(obj: dict[str, Any]) -> dict[str, Any]:
    """Return the object under this probe's own name, without the fields that the server sets."""
    found = copy.deepcopy(obj)
    metadata = found["metadata"]
    for key in ("uid", "creationTimestamp", "resourceVersion", "namespace"):
        metadata.pop(key, None)
    # Cluster-scoped kinds share one namespace of names, so that every probe needs its own.
    if metadata.get("name") == "x":
        metadata["name"] = "{id}"
    return found


def path_of(obj: dict[str, Any]) -> str:
    """Return the path of the kind of an object, in the object's version."""
    return at(obj["apiVersion"].rpartition("/")[2], _PATHS[obj["kind"]])


def _from(case: Any) -> tuple[Step, ...]:
    path = path_of(case.obj)
    new = prepared(case.obj)
    if case.op == "create":
        return (post(path, new),)
    old = prepared(case.old)
    before = path_of(case.old)
    steps: tuple[Step, ...] = (post(before, old, keep="none"),)
    name = new["metadata"].get("name", "{id}")
    if old.get("status"):
        # A create drops the status: it takes a second request.
        steps += (put(f"{before}/{old['metadata'].get('name', '{id}')}/status", old, keep="status"),)
    return (*steps, put(f"{path}/{name}" + ("/status" if case.op == "status" else ""), new))


def probes() -> Iterator[Probe]:
    """Yield the probes of this table: the cases that disable no feature gate. The others are in `gates`."""
    for number, case in enumerate(dra_cases.CASES):
        if not case.gates:
            name = case.name.replace(" ", "-")
            yield Probe(f"resource/{number}-{case.rule}-{name}", _from(case), labels=case.labels)
    absent = _cases_of_absence()
    for name, (path, body) in absent.items():
        yield Probe(f"resource/bare-{name}", (post(path, body),))


def _cases_of_absence() -> dict[str, tuple[str, Any]]:
    found: dict[str, tuple[str, Any]] = {}
    for kind, path in _PATHS.items():
        for version in ("v1", "v1beta2", "v1beta1", "v1alpha3"):
            found[f"{kind}-{version}-no-spec"] = (at(version, path), {"metadata": {"name": "{id}"}})
            found[f"{kind}-{version}-empty-spec"] = (at(version, path), {"metadata": {"name": "{id}"}, "spec": {}})
    found["claim-long-name"] = (CLAIMS, claim("a" * 254))
    found["class-bad-name"] = (CLASSES, device_class("Bad_Name"))
    found["namespace"] = (CORE + "/namespaces", {})
    return found
