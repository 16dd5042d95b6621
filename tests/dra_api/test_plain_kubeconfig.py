"""What is read without the `kubernetes` package is what the package reads, and the rest is left to it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_api import plain_kubeconfig
from dra_api.kubeconfig import loaded
from dra_api.objects import Obj

DATA = base64.b64encode(b"inline").decode()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def write(folder: Path, cluster: Obj, user: Obj | None, **more: Any) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443/prefix/", **cluster}}],
        "users": [{"name": "u", **({"user": user} if user is not None else {})}, {"name": "other", "user": {}}],
        "contexts": [
            {"name": "x", "context": {"cluster": "c", "user": "u"}},
            {"name": "y", "context": {"cluster": "c", "user": "other"}},
        ],
        "current-context": "x",
        **more,
    }
    for name in ("ca.pem", "own.pem", "own.key"):
        (folder / name).write_text(name)
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def read(path: Path, **options: Any) -> Obj:
    def content(file: str | None) -> str:
        return Path(file).read_text() if file else ""

    with loaded(path, **options) as found:
        return {
            "plain": isinstance(found, plain_kubeconfig.PlainConfiguration),
            "host": found.host,
            "verify": found.verify_ssl,
            "proxy": found.proxy,
            "files": [content(file) for file in (found.ssl_ca_cert, found.cert_file, found.key_file)],
            "token": found.get_api_key_with_prefix("authorization") or found.get_api_key_with_prefix("BearerToken"),
            "username": found.username or None,
        }


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        ({"certificate-authority-data": DATA}, {"token": "t"}),
        ({"certificate-authority": "ca.pem"}, {"client-certificate": "own.pem", "client-key": "own.key"}),
        ({}, {"client-certificate-data": DATA, "client-key-data": DATA}),
        ({"certificate-authority-data": DATA, "certificate-authority": "ca.pem"}, {"token": "t"}),
        ({"insecure-skip-tls-verify": True}, {"token": "t", "client-certificate-data": DATA, "client-key-data": DATA}),
        ({"insecure-skip-tls-verify": False}, {}),
        ({"server": "http://127.0.0.1:8080", "certificate-authority-data": DATA}, {"token": "t"}),
    ],
)
def test_it_reads_what_the_package_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Obj, user: Obj
) -> None:
    path = write(tmp_path, cluster, user)
    found = [read(path), read(path, context="y")]
    monkeypatch.setattr(plain_kubeconfig, "read", lambda *_, **__: None)
    assert [one.pop("plain") for one in found] == [True, True]
    by_package = [read(path), read(path, context="y")]
    assert [one.pop("plain") for one in by_package] == [False, False]
    assert found == by_package


@pytest.mark.parametrize(
    ("cluster", "user", "more"),
    [
        ({"proxy-url": "http://proxy:3128"}, {"token": "t"}, {}),
        ({"tls-server-name": "api"}, {"token": "t"}, {}),
        ({}, {"exec": {"command": "x"}}, {}),
        ({}, {"tokenFile": "own.key"}, {}),
        ({}, {"username": "a", "password": "b"}, {}),
        ({}, {"token": ""}, {}),
        ({}, {"client-certificate": "missing.pem", "client-key": "own.key"}, {}),
        ({"certificate-authority-data": "no base64"}, {"token": "t"}, {}),
        ({"server": "10.0.0.1"}, {"token": "t"}, {}),
        ({}, {"token": "t"}, {"current-context": "z"}),
        ({}, {"token": "t"}, {"users": []}),
        ({}, {"token": "t"}, {"clusters": "c"}),
    ],
)
def test_all_else_is_left_to_the_package(tmp_path: Path, cluster: Obj, user: Obj, more: Obj) -> None:
    folder = tmp_path / "certificates"
    folder.mkdir()
    assert plain_kubeconfig.read(write(tmp_path, cluster, user, **more), context=None, folder=folder) is None


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "http_proxy"])
def test_a_proxy_of_the_environment_is_the_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = write(tmp_path, {}, {"token": "t"})
    assert plain_kubeconfig.read(path, context=None, folder=tmp_path) is not None
    monkeypatch.setenv(name, "http://proxy:3128")
    assert plain_kubeconfig.read(path, context=None, folder=tmp_path) is None


def test_the_file_is_found_where_kubectl_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, {}, {"token": "t"})
    monkeypatch.setenv("KUBECONFIG", str(path))
    assert plain_kubeconfig.read(None, context=None, folder=tmp_path) is not None
    monkeypatch.setenv("KUBECONFIG", f"{path}:{path}")
    assert plain_kubeconfig.read(None, context=None, folder=tmp_path) is None


def test_inline_certificates_are_private_and_go(tmp_path: Path) -> None:
    path = write(
        tmp_path, {"certificate-authority-data": DATA}, {"client-key-data": DATA, "client-certificate": "own.pem"}
    )
    with loaded(path) as found:
        files = [Path(found.ssl_ca_cert), Path(found.key_file)]
        assert [file.stat().st_mode & 0o777 for file in files] == [0o600, 0o600]
    assert not any(file.exists() for file in files)
