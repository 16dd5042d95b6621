"""Reading a kubeconfig leaves no certificate in the temp folder, whenever the process may end."""

from __future__ import annotations

import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from apiserver_emulator.emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.kubeconfig import KubeconfigError, loaded
from dra_api.objects import NAMESPACES
from dra_api.transport import HttpTransport
from dra_conformance.faults.upstream import Upstream


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServerEmulator]:
    with ApiServerEmulator(directory=tmp_path_factory.mktemp("api")) as made:
        yield made


@pytest.fixture
def temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temp folder of this process for the test, empty."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_certificates_lie_in_a_private_folder_while_they_are_read(server: ApiServerEmulator, temp: Path) -> None:
    with loaded(server.kubeconfig) as configuration:
        authority = Path(configuration.ssl_ca_cert)
        assert authority.read_bytes().startswith(b"-----BEGIN CERTIFICATE")
        assert authority.parent.parent == temp
        assert stat.S_IMODE(authority.parent.stat().st_mode) == 0o700
    assert list(temp.iterdir()) == []


def test_a_transport_works_without_files(server: ApiServerEmulator, temp: Path) -> None:
    first, second = (HttpTransport.from_kubeconfig(server.kubeconfig) for _ in range(2))
    assert list(temp.iterdir()) == []
    for transport in (first, second):
        assert KubeClient(transport).list(NAMESPACES).items
        transport.close()
    assert Upstream(server.kubeconfig).tls is not None
    assert list(temp.iterdir()) == []


def test_a_mistake_leaves_nothing_either(server: ApiServerEmulator, temp: Path, tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="nowhere"):
        HttpTransport.from_kubeconfig(server.kubeconfig, context="nowhere")
    (tmp_path / "ca.pem").write_text("no certificate")
    config = yaml.safe_load(server.kubeconfig.read_text())
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    config["clusters"][0]["cluster"]["certificate-authority"] = str(tmp_path / "ca.pem")
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    with pytest.raises(KubeconfigError, match="cannot use the certificates for https://"):
        HttpTransport.from_kubeconfig(tmp_path / "kubeconfig")
    assert list(temp.iterdir()) == []


PLUGIN = """
import json, sys
count = len(open(sys.argv[1]).read()); open(sys.argv[1], "a").write("x")
print(json.dumps({"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {
    "token": f"t{count}", "expirationTimestamp": "2020-01-01T00:00:00Z"}}))
"""


def test_credentials_of_a_program_are_renewed_again_and_again(
    server: ApiServerEmulator, temp: Path, tmp_path: Path
) -> None:
    """Each request of an expired token asks the program; what the package writes meanwhile goes at once."""
    (tmp_path / "plugin.py").write_text(PLUGIN)
    (tmp_path / "count").write_text("")
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"][0]["user"] = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(tmp_path / "plugin.py"), str(tmp_path / "count")],
            "interactiveMode": "Never",
        }
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    with loaded(tmp_path / "kubeconfig") as configuration:
        pass
    told = [configuration.get_api_key_with_prefix("BearerToken") for _ in range(3)]
    assert told == ["Bearer t1", "Bearer t2", "Bearer t3"]
    assert list(temp.iterdir()) == []
