"""The proxy alone: who its doors speak as, what it hides, how it ends."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest
import yaml

from dra_api.client import ApiError, KubeClient
from dra_api.objects import CONFIG_MAPS, NAMESPACES, NODES
from dra_api.transport import HttpTransport, KubeconfigError, TransportError
from dra_conformance.control_plane.embedded import EmbeddedControlPlane
from dra_conformance.control_plane.embedded.strategy import User
from dra_conformance.faults import FaultPoints
from dra_conformance.faults.proxy import FaultProxy


def test_each_door_speaks_as_the_identity_behind_it(
    plane: EmbeddedControlPlane, proxy: FaultProxy, tmp_path: Path
) -> None:
    wrote: list[str] = []
    plane.server.on_write(lambda verb, resource, obj, user, agent: wrote.append(user.name))
    own = plane.write_kubeconfig(tmp_path / "root.kubeconfig", User("root", groups=("system:masters",)))
    for behind, name in ((plane.kubeconfig, "kubernetes-admin"), (own, "root")):
        path = proxy.open("driver", behind)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert yaml.safe_load(behind.read_text())["users"][0]["user"]["token"] not in path.read_text()
        transport = HttpTransport.from_kubeconfig(path)
        KubeClient(transport).create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})
        assert wrote[-1] == name
        transport.close()


def test_a_token_of_ones_own_is_handed_on(plane: EmbeddedControlPlane, proxy: FaultProxy, tmp_path: Path) -> None:
    path = proxy.open("driver", plane.kubeconfig)
    config = yaml.safe_load(path.read_text())
    config["users"][0]["user"]["token"] = plane.server.authenticator.issue(User("somebody"))
    other = tmp_path / "other.kubeconfig"
    other.write_text(yaml.safe_dump(config))
    transport = HttpTransport.from_kubeconfig(other)
    with pytest.raises(ApiError, match="somebody"):
        KubeClient(transport).list(NODES)
    transport.close()


def test_a_stranger_is_nobody(plane: EmbeddedControlPlane, proxy: FaultProxy, tmp_path: Path) -> None:
    config = yaml.safe_load(proxy.open("driver", plane.kubeconfig).read_text())
    config["users"][0]["user"] = {}
    other = tmp_path / "nobody.kubeconfig"
    other.write_text(yaml.safe_dump(config))
    transport = HttpTransport.from_kubeconfig(other)
    with pytest.raises(ApiError) as error:
        KubeClient(transport).list(NODES)
    assert error.value.status in (401, 403)
    transport.close()


def test_when_the_server_dies_the_connection_breaks_and_later_works_again(
    plane: EmbeddedControlPlane, proxy: FaultProxy
) -> None:
    transport = HttpTransport.from_kubeconfig(proxy.open("driver", plane.kubeconfig))
    client = KubeClient(transport)
    client.list(NODES)
    plane.kill()
    with pytest.raises(TransportError):
        client.list(NODES)
    plane.restart()
    assert client.get(NAMESPACES, "default")
    transport.close()


def test_stop_ends_everything_and_is_idempotent(plane: EmbeddedControlPlane, tmp_path: Path) -> None:
    before = {thread.name for thread in threading.enumerate()}
    points = FaultPoints()
    proxy = FaultProxy(points, folder=tmp_path / "other-proxy")
    proxy.start()
    proxy.start()
    transport = HttpTransport.from_kubeconfig(proxy.open("driver", plane.kubeconfig))
    watch = KubeClient(transport).watch(NODES, resource_version="0")
    proxy.stop()
    proxy.stop()
    with pytest.raises(TransportError):
        list(watch)
    with pytest.raises(TransportError):
        KubeClient(transport).list(NODES)
    assert points.watches(lambda call: True) == []
    assert "fault-proxy" not in {thread.name for thread in threading.enumerate()} - before
    transport.close()


def test_a_kubeconfig_that_cannot_be_used_is_named(proxy: FaultProxy, tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="missing"):
        proxy.open("driver", tmp_path / "missing")
