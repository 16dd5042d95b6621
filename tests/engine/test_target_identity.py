"""Tests of the identity of programs under test: the role of their component, and no other write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from dra_api.client import Forbidden, KubeClient
from dra_api.clock import RealClock
from dra_api.objects import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from dra_api.transport import HttpTransport
from dra_conformance.control_plane.embedded import EmbeddedControlPlane
from dra_conformance.rbac import target_roles
from dra_conformance.rbac.table import COMPONENTS


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[EmbeddedControlPlane]:
    made = EmbeddedControlPlane(kubernetes_version="1.36", directory=tmp_path / "api", clock=RealClock(), seed=1)
    made.start()
    yield made
    made.stop()


def client_of(plane: EmbeddedControlPlane, component: str) -> KubeClient:
    admin = KubeClient(plane.transport())
    path = plane.kubeconfig_for(target_roles.user_of(component))
    target_roles.grant(admin, component)
    assert path.stat().st_mode & 0o777 == 0o600
    assert "masters" not in path.read_text()
    return KubeClient(HttpTransport.from_kubeconfig(path))


def test_a_driver_writes_slices_and_nothing_else(plane: EmbeddedControlPlane) -> None:
    client = client_of(plane, "driver")
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": [{"name": "gpu-0"}]}
    client.create(RESOURCE_SLICES, {"metadata": {"name": "s"}, "spec": spec})
    assert client.list(RESOURCE_CLAIMS).items == []
    for resource, obj in (
        (NODES, {"metadata": {"name": "n2"}, "spec": {}}),
        (PODS, {"metadata": {"name": "p", "namespace": "default"}, "spec": {"containers": []}}),
        (CLUSTER_ROLE_BINDINGS, {**target_roles.objects("binder")[1], "metadata": {"name": "more"}}),
    ):
        with pytest.raises(Forbidden):
            client.create(resource, obj)


def test_a_webhook_writes_nothing(plane: EmbeddedControlPlane) -> None:
    client = client_of(plane, "webhook")
    client.list(NODES)
    with pytest.raises(Forbidden):
        client.create(NODES, {"metadata": {"name": "n2"}, "spec": {}})


@pytest.mark.parametrize("component", COMPONENTS)
def test_no_role_allows_everything(component: str) -> None:
    role = target_roles.objects(component)[0]
    writes = [rule for rule in role["rules"] if set(rule["verbs"]) - {"get", "list", "watch"}]
    assert writes
    assert not [rule for rule in writes if "*" in rule["apiGroups"]], yaml.safe_dump(role)
    assert not [rule for rule in writes if CLUSTER_ROLES.group in rule["apiGroups"]]


@pytest.mark.parametrize("own_role", [False, True])
def test_a_program_with_a_role_of_its_own_writes_volumes_by_that_role_only(own_role: bool) -> None:
    """KAI's chart does not let its binder reserve volumes, and the suite's role must not hide that."""
    rules = target_roles.objects("binder", own_role=own_role)[0]["rules"]
    writes = {(name, verb) for rule in rules for name in rule["resources"] for verb in rule["verbs"]}
    assert (("persistentvolumes", "update") in writes) is not own_role
    assert ("persistentvolumeclaims", "update") in writes
    assert ("pods/binding", "create") in writes
