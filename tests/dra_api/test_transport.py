"""The HTTPS transport, against a server with a certificate of its own and against none."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from apiserver_emulator.emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.kubeconfig import KubeconfigError
from dra_api.objects import NAMESPACES, Obj
from dra_api.transport import HttpTransport, TransportError


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServerEmulator]:
    with ApiServerEmulator(directory=tmp_path_factory.mktemp("api")) as made:
        yield made


def namespace(name: str) -> Obj:
    return {"metadata": {"name": name}}


def test_a_kubeconfig_is_enough(server: ApiServerEmulator) -> None:
    transport = HttpTransport.from_kubeconfig(server.kubeconfig)
    client = KubeClient(transport)
    assert client.create(NAMESPACES, namespace("over-https"))["metadata"]["uid"]
    assert client.find(NAMESPACES, "over-https")
    assert transport.server.startswith("https://")
    transport.close()


def test_a_watch_is_ended_from_another_thread(server: ApiServerEmulator) -> None:
    client = KubeClient(HttpTransport.from_kubeconfig(server.kubeconfig))
    watch = client.watch(NAMESPACES, resource_version=client.list(NAMESPACES).resource_version)
    seen: list[str] = []
    first = threading.Event()

    def follow() -> None:
        for event in watch:
            seen.append(event.object["metadata"]["name"])
            first.set()

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    client.create(NAMESPACES, namespace("watched"))
    assert first.wait(60)
    watch.close()
    thread.join(60)
    assert not thread.is_alive()
    assert seen == ["watched"]


def test_a_stranger_certificate_is_refused(server: ApiServerEmulator, tmp_path: Path) -> None:
    config = yaml.safe_load(server.kubeconfig.read_text())
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    with pytest.raises(TransportError, match="certificate"):
        HttpTransport.from_kubeconfig(tmp_path / "kubeconfig").request("GET", "/version")


def test_a_refused_connection_is_reported_with_method_and_address(server: ApiServerEmulator, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets this port meanwhile
        config = yaml.safe_load(server.kubeconfig.read_text())
        config["clusters"][0]["cluster"]["server"] = address = f"https://127.0.0.1:{taken.getsockname()[1]}"
        (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
        transport = HttpTransport.from_kubeconfig(tmp_path / "kubeconfig")
        with pytest.raises(TransportError, match=f"GET {address}/version"):
            transport.request("GET", "/version")
        with pytest.raises(TransportError, match=f"watch {address}/api/v1/pods"):
            transport.stream("/api/v1/pods")


@pytest.mark.parametrize("text", ["", "kind: Config\n", "{", "[]"])
def test_a_kubeconfig_that_is_none_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "kubeconfig").write_text(text)
    with pytest.raises(KubeconfigError, match="kubeconfig"):
        HttpTransport.from_kubeconfig(tmp_path / "kubeconfig")
    with pytest.raises(KubeconfigError, match="nowhere"):
        HttpTransport.from_kubeconfig(tmp_path / "nowhere")
