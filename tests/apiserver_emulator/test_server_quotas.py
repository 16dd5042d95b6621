"""ResourceQuotas: what is charged, what is refused, and what is given back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from apiserver_emulator import ApiServerEmulator
from dra_api.status import StatusError

Obj = dict[str, Any]

_CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
_QUOTAS = "/api/v1/namespaces/default/resourcequotas"
_PODS = "/api/v1/namespaces/default/pods"
_COUNT = "count/resourceclaims.resource.k8s.io"
_GPUS = "gpu.deviceclass.resource.k8s.io/devices"
_FOR_EXTENDED = {"resource.kubernetes.io/extended-resource-claim": "true"}


def _claim(name: str, *, class_name: str = "gpu", owner: Obj | None = None, **exactly: Any) -> Obj:
    meta: Obj = {"name": name}
    if owner is not None:
        reference = {"apiVersion": "v1", "kind": "Pod", "controller": True}
        meta["ownerReferences"] = [{**reference, **{key: owner["metadata"][key] for key in ("name", "uid")}}]
        meta["annotations"] = _FOR_EXTENDED
    requests = [{"name": "r", "exactly": {"deviceClassName": class_name, **exactly}}]
    return {"metadata": meta, "spec": {"devices": {"requests": requests}}}


def _limit(plane: ApiServerEmulator, hard: Obj, *, name: str = "q", **spec: Any) -> None:
    """Create a quota and wait for its status: until then it limits nothing."""
    plane.server.call("POST", _QUOTAS, {"metadata": {"name": name}, "spec": {"hard": hard, **spec}})
    assert plane.server.controllers.wait_idle(60.0)


def _status(plane: ApiServerEmulator, name: str = "q") -> Obj:
    assert plane.server.controllers.wait_idle(60.0)
    found: Obj = plane.server.call("GET", f"{_QUOTAS}/{name}")["status"]
    return found


def test_a_claim_above_the_quota_is_refused_with_upstreams_text(plane: ApiServerEmulator) -> None:
    call = plane.server.call
    _limit(plane, {_COUNT: "1", _GPUS: 4})
    call("POST", _CLAIMS, _claim("a", count=3))
    with pytest.raises(StatusError) as refused:
        call("POST", _CLAIMS, _claim("b", count=2))
    assert refused.value.code == 403
    assert refused.value.message == (
        'resourceclaims.resource.k8s.io "b" is forbidden: exceeded quota: q, '
        f"requested: {_COUNT}=1,{_GPUS}=2, used: {_COUNT}=1,{_GPUS}=3, limited: {_COUNT}=1,{_GPUS}=4"
    )
    assert _status(plane) == {"hard": {_COUNT: "1", _GPUS: "4"}, "used": {_COUNT: "1", _GPUS: "3"}}


def test_the_deletion_of_a_claim_and_other_limits_are_calculated(plane: ApiServerEmulator) -> None:
    call = plane.server.call
    call("POST", _CLAIMS, _claim("early"))
    _limit(plane, {_COUNT: "1"})
    assert _status(plane)["used"] == {_COUNT: "1"}
    call("DELETE", f"{_CLAIMS}/early")
    assert _status(plane)["used"] == {_COUNT: "0"}
    call("POST", _CLAIMS, _claim("a"))
    quota = call("GET", f"{_QUOTAS}/q")
    call("PUT", f"{_QUOTAS}/q", {**quota, "spec": {"hard": {_GPUS: "7"}}})
    assert _status(plane) == {"hard": {_GPUS: "7"}, "used": {_GPUS: "1"}}


def test_a_refusal_by_one_quota_charges_no_other(plane: ApiServerEmulator) -> None:
    _limit(plane, {_COUNT: "9"}, name="a")
    _limit(plane, {_GPUS: "1"}, name="b")
    with pytest.raises(StatusError, match="exceeded quota: b"):
        plane.server.call("POST", _CLAIMS, _claim("x", count=2))
    assert _status(plane, "a")["used"] == {_COUNT: "0"}


def test_two_clients_cannot_share_the_last_claim(plane: ApiServerEmulator) -> None:
    """Charges are not lost when many clients create at the same time."""
    _limit(plane, {_COUNT: "5"})
    refused: list[str] = []

    def create(at: int) -> None:
        try:
            plane.server.call("POST", _CLAIMS, _claim(f"c{at}"))
        except StatusError as error:
            refused.append(error.reason)

    threads = [threading.Thread(target=create, args=(at,)) for at in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == ["Forbidden"] * 7
    assert _status(plane)["used"] == {_COUNT: "5"}


def test_a_claim_for_a_pods_extended_resource_is_charged_once(
    plane: ApiServerEmulator, pod: Callable[..., Obj]
) -> None:
    call = plane.server.call
    call("POST", _CLASSES, {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}})
    _limit(plane, {"requests.example.com/gpu": "3", "requests.deviceclass.resource.kubernetes.io/gpu": "9"})
    made = pod("p")
    made["spec"]["containers"][0]["resources"] = {"limits": {"example.com/gpu": "2"}}
    stored = call("POST", _PODS, made)
    call("POST", _CLAIMS, _claim("first", owner=stored, count=2))
    used = {"requests.example.com/gpu": "2", "requests.deviceclass.resource.kubernetes.io/gpu": "2"}
    assert _status(plane)["used"] == used
    with pytest.raises(StatusError, match=r"requested: requests.example.com/gpu=2"):
        call("POST", _CLAIMS, _claim("second", owner=stored, count=2))
    call("DELETE", f"{_PODS}/p")
    assert _status(plane)["used"] == dict.fromkeys(used, "0")


@pytest.mark.parametrize(
    ("containers", "inits", "expected"),
    [([1, 2], [], "3"), ([1], [4], "4"), ([2], [3, "sidecar 2"], "4"), ([1], ["sidecar 2", 3], "5")],
)
def test_a_pod_uses_what_its_containers_request_at_the_same_time(
    plane: ApiServerEmulator, pod: Callable[..., Obj], containers: list[int], inits: list[int | str], expected: str
) -> None:
    def container(name: str, amount: int | str) -> Obj:
        number = str(amount).rpartition(" ")[2]
        made = {"name": name, "image": "i", "resources": {"limits": {"example.com/gpu": number}}}
        return {**made, "restartPolicy": "Always"} if str(amount).startswith("sidecar") else made

    _limit(plane, {"requests.example.com/gpu": "9"})
    made = pod("p")
    made["spec"]["containers"] = [container(f"c{at}", amount) for at, amount in enumerate(containers)]
    made["spec"]["initContainers"] = [container(f"i{at}", amount) for at, amount in enumerate(inits)]
    stored = plane.server.call("POST", _PODS, made)
    assert _status(plane)["used"] == {"requests.example.com/gpu": expected}
    plane.server.call("PUT", f"{_PODS}/p/status", {**stored, "status": {"phase": "Succeeded"}})
    assert _status(plane)["used"] == {"requests.example.com/gpu": "0"}


def test_what_is_not_emulated_limits_nothing(plane: ApiServerEmulator, pod: Callable[..., Obj]) -> None:
    _limit(plane, {"cpu": "0", "pods": "0", "requests.storage": "1Gi"}, name="amounts")
    _limit(plane, {"pods": "0", "count/pods": "0"}, name="scoped", scopes=["BestEffort"])
    plane.server.call("POST", _PODS, pod("p"))
    assert _status(plane, "amounts")["used"] == {}
    assert _status(plane, "scoped")["used"] == {"count/pods": "0"}


@pytest.mark.parametrize(
    ("hard", "message"),
    [
        ({"gpus": "1"}, "must be a standard resource for quota"),
        ({"count/a/b": "1"}, "a valid label key must"),
        ({_COUNT: "-1"}, "must be greater than or equal to 0"),
        ({_COUNT: "500m"}, "must be an integer"),
    ],
)
def test_limits_that_quotas_cannot_have_are_invalid(plane: ApiServerEmulator, hard: Obj, message: str) -> None:
    with pytest.raises(StatusError, match=message) as refused:
        plane.server.call("POST", _QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    assert refused.value.code == 422
