"""The chart on a real control plane: installed, upgraded and uninstalled by Helm. No node runs the pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dra_api.client import Forbidden, KubeClient
from dra_api.objects import DAEMON_SETS, DEPLOYMENTS, RESOURCE_CLAIMS, Resource
from dra_conformance.control_plane.binaries import BinariesControlPlane
from tests.deploy.helm import CHART, NAMESPACE, Helm, helm_fixture
from tests.real_plane import real_plane

__all__ = ["helm_fixture"]

SECRETS = Resource("", "v1", "secrets", "Secret")
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
EVERYTHING: dict[str, Any] = {
    **{name: {"enabled": True} for name in ("claimController", "taintEviction", "webhook", "suite")},
    "resources": {"computeDomains": {"enabled": True}},
}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BinariesControlPlane]:
    with real_plane(tmp_path_factory.mktemp("plane")) as made:
        yield made


def change(helm: Helm, plane: BinariesControlPlane, verb: str, values: dict[str, Any]) -> str:
    words = [verb, "one", str(CHART), "--namespace", NAMESPACE]
    more = ["--create-namespace"] if verb == "install" else []
    return helm.call(*words, *more, values=values, kubeconfig=plane.kubeconfig)


def test_a_release_is_installed_upgraded_and_uninstalled(helm: Helm, plane: BinariesControlPlane) -> None:
    client = KubeClient(plane.transport())
    notes = change(helm, plane, "install", EVERYTHING)
    assert f"in namespace {NAMESPACE}" in notes
    assert {one["metadata"]["name"] for one in client.list(DAEMON_SETS, NAMESPACE).items} == {
        "gpu-kubelet-plugin",
        "compute-domain-kubelet-plugin",
    }
    assert len(client.list(DEPLOYMENTS, NAMESPACE).items) == 6
    certificate = client.get(SECRETS, "reference-webhook-certificate", NAMESPACE)["data"]

    # An upgrade keeps the certificate: its pods read it once.
    changed = {**EVERYTHING, "fakeGpus": {"inventory": "h100"}, "scheduler": {"additionalArgs": ["--seed=7"]}}
    before = client.get(DEPLOYMENTS, "reference-webhook", NAMESPACE)["spec"]
    change(helm, plane, "upgrade", changed)
    assert client.get(SECRETS, "reference-webhook-certificate", NAMESPACE)["data"] == certificate
    assert client.get(DEPLOYMENTS, "reference-webhook", NAMESPACE)["spec"] == before
    scheduler = client.get(DEPLOYMENTS, "reference-scheduler", NAMESPACE)["spec"]["template"]["spec"]
    assert scheduler["containers"][0]["args"][-1] == "--seed=7"

    # Parts that are off go; those that stay are not touched.
    change(helm, plane, "upgrade", {"webhook": {"enabled": False}})
    assert len(client.list(DEPLOYMENTS, NAMESPACE).items) == 2
    assert client.find(SECRETS, "reference-webhook-certificate", NAMESPACE) is None

    helm.call("uninstall", "one", "--namespace", NAMESPACE, kubeconfig=plane.kubeconfig)
    assert client.list(DEPLOYMENTS, NAMESPACE).items == client.list(DAEMON_SETS, NAMESPACE).items == []


@pytest.mark.parametrize("keep", [False, True])
def test_the_reports_go_with_the_release_unless_they_are_kept(
    helm: Helm, plane: BinariesControlPlane, keep: bool
) -> None:
    client = KubeClient(plane.transport())
    suite = {"suite": {"enabled": True, "keepClaim": keep}}
    notes = change(helm, plane, "install", suite)
    assert ("stays after `helm uninstall`" in notes, "`helm uninstall` deletes" in notes) == (keep, not keep)
    made = client.get(CLAIMS, "dra-conformance", NAMESPACE)["metadata"]["uid"]
    # The suite runs again: first without it, because a Job cannot be changed.
    change(helm, plane, "upgrade", {"suite": {"enabled": False}})
    assert (client.find(CLAIMS, "dra-conformance", NAMESPACE) is not None) == keep
    change(helm, plane, "upgrade", suite)
    assert (client.get(CLAIMS, "dra-conformance", NAMESPACE)["metadata"]["uid"] == made) == keep
    helm.call("uninstall", "one", "--namespace", NAMESPACE, kubeconfig=plane.kubeconfig)
    assert (client.find(CLAIMS, "dra-conformance", NAMESPACE) is not None) == keep
    if keep:
        client.delete(CLAIMS, "dra-conformance", NAMESPACE)


def test_a_component_has_its_permissions_and_no_others(helm: Helm, plane: BinariesControlPlane) -> None:
    change(helm, plane, "install", {"networkPolicy": {"enabled": False}})
    try:
        user = f"system:serviceaccount:{NAMESPACE}:reference-binder"
        binder = KubeClient(plane.transport_for(user, ["system:authenticated"]))
        assert binder.list(RESOURCE_CLAIMS, "default").items == []
        with pytest.raises(Forbidden):
            binder.list(SECRETS, NAMESPACE)
    finally:
        helm.call("uninstall", "one", "--namespace", NAMESPACE, kubeconfig=plane.kubeconfig)
