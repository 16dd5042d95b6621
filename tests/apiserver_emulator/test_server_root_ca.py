"""The ConfigMap kube-root-ca.crt, which the token volume of every pod contains."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver_emulator import ApiServerEmulator
from apiserver_emulator.controllers.root_ca import ROOT_CA
from dra_api.status import StatusError


def _path(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/{ROOT_CA}"


def _idle(plane: ApiServerEmulator) -> None:
    assert plane.server.controllers.wait_idle(60.0)


@pytest.mark.parametrize("namespace", ["default", "made-later"])
def test_each_namespace_has_the_root_certificate_that_pods_mount(
    https_plane: ApiServerEmulator, tmp_path: Path, namespace: str
) -> None:
    call = https_plane.server.call
    if namespace != "default":
        call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    _idle(https_plane)
    found = call("GET", _path(namespace))
    assert found["data"] == {"ca.crt": (tmp_path / "https" / "ca.crt").read_text()}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    pod = call("POST", f"/api/v1/namespaces/{namespace}/pods", {"metadata": {"name": "p"}, "spec": spec})
    sources = pod["spec"]["volumes"][0]["projected"]["sources"]
    assert [source["configMap"]["name"] for source in sources if "configMap" in source] == [ROOT_CA]


def test_a_changed_and_a_deleted_root_certificate_are_restored(https_plane: ApiServerEmulator) -> None:
    call = https_plane.server.call
    _idle(https_plane)
    before = call("GET", _path("default"))
    call("PUT", _path("default"), {**before, "data": {"ca.crt": "other", "more": "x"}})
    _idle(https_plane)
    assert call("GET", _path("default"))["data"] == before["data"]
    call("DELETE", _path("default"))
    _idle(https_plane)
    assert call("GET", _path("default"))["data"] == before["data"]


def test_a_namespace_with_the_root_certificate_can_be_deleted(https_plane: ApiServerEmulator) -> None:
    call = https_plane.server.call
    call("POST", "/api/v1/namespaces", {"metadata": {"name": "short"}})
    _idle(https_plane)
    call("DELETE", "/api/v1/namespaces/short")
    _idle(https_plane)
    with pytest.raises(StatusError, match="not found"):
        call("GET", "/api/v1/namespaces/short")
    with pytest.raises(StatusError, match="not found"):
        call("GET", _path("short"))
