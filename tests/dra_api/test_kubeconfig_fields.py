"""A kubeconfig that is wrong is one message with file and field, and exit code 4; a server that is away is exit 10."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_api.kubeconfig import KubeconfigError, loaded
from dra_api.transport import HttpTransport
from dra_conformance.cli import call
from dra_conformance.cli.kubectl_dra import cli
from dra_conformance.control_plane.kubeconfig import KubeconfigControlPlane
from dra_conformance.core.errors import TargetUnreachable, UsageError

Config = dict[str, Any]
CONFIG: Config = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "u", "user": {"username": "me", "password": "secret"}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    "current-context": "x",
}


def cluster(**fields: Any) -> Callable[[Config], object]:
    return lambda config: config["clusters"][0]["cluster"].update({n.replace("_", "-"): v for n, v in fields.items()})


def user(**fields: Any) -> Callable[[Config], object]:
    return lambda config: config["users"][0].update(user={n.replace("_", "-"): v for n, v in fields.items()})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.update(clusters=5), "clusters: Expected `array`, got `int`"),
        (lambda c: c.update(contexts=[1]), "contexts[0]: Expected `object`, got `int`"),
        (lambda c: c["contexts"][0].pop("name"), "contexts[0].name: is missing"),
        (lambda c: c["contexts"][0].update(context=["c"]), "contexts[0].context: Expected `object`, got `array`"),
        (lambda c: c.update({"current-context": ["a"]}), "current-context: Expected `str`, got `array`"),
        (lambda c: c.pop("current-context"), "current-context: is missing"),
        (
            lambda c: c.update({"current-context": "y"}),
            "current-context: 'y' is not the name of one of contexts: x",
        ),
        (
            lambda c: c["contexts"][0]["context"].update(cluster="d"),
            "contexts[0].context.cluster: 'd' is not the name of one of clusters: c",
        ),
        (lambda c: c["contexts"][0]["context"].pop("cluster"), "contexts[0].context.cluster: is missing"),
        (
            lambda c: c["contexts"][0]["context"].update(user="v"),
            "contexts[0].context.user: 'v' is not the name of one of users: u",
        ),
        (
            lambda c: c.update(users=None),
            "contexts[0].context.user: 'u' is not the name of one of users: none",
        ),
        (cluster(server=5), "clusters[0].cluster.server: Expected `str`, got `int`"),
        (cluster(server=None), "clusters[0].cluster.server: is missing"),
        (cluster(server="https://a:b"), "clusters[0].cluster.server: 'https://a:b' is not a URL: "),
        (cluster(server="https://"), "clusters[0].cluster.server: 'https://' names no host"),
        (cluster(server="ftp://a"), "clusters[0].cluster.server: 'ftp://a' has the scheme ftp, "),
        (cluster(proxy_url="socks5://a"), "clusters[0].cluster.proxy-url: 'socks5://a' has the scheme socks5, "),
        (cluster(proxy_url="http://me:secret@a:b"), "clusters[0].cluster.proxy-url: it is not a URL"),
        (cluster(proxy_url="c"), "clusters[0].cluster.proxy-url: has no scheme"),
        (cluster(certificate_authority_data="%%"), "clusters[0].cluster.certificate-authority-data: is not base64"),
        (cluster(insecure_skip_tls_verify="yes"), "clusters[0].cluster.insecure-skip-tls-verify: Expected `bool`"),
        (user(token=5), "users[0].user.token: Expected `str`, got `int`"),
        (user(client_key_data="!"), "users[0].user.client-key-data: is not base64"),
        (user(exec={"command": "a"}), "users[0].user.exec.apiVersion: is missing"),
        (user(exec={"apiVersion": "v1", "command": 3}), "users[0].user.exec.command: Expected `str`, got `int`"),
        (user(auth_provider=3), "users[0].user.auth-provider: Expected `object | null`, got `int`"),
    ],
    ids=lambda value: value.partition(" ")[0] if isinstance(value, str) else "",
)
def test_the_wrong_field_is_named(tmp_path: Path, change: Callable[[Config], object], said: str) -> None:
    config = copy.deepcopy(CONFIG)
    change(config)
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))
    with pytest.raises(KubeconfigError) as raised, loaded(path):
        pass
    assert str(raised.value).startswith(f"cannot use the kubeconfig {path}, field {said}")
    assert "\n" not in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ": is empty"),
        ("[]", ": Expected `object`, got `array`"),
        ("5", ": Expected `object`, got `int`"),
        ("a: [", ": is not valid YAML: "),
        (None, ": no such file"),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, said: str
) -> None:
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text)
    monkeypatch.setenv("KUBECONFIG", str(path))
    with pytest.raises(KubeconfigError) as raised, loaded():
        pass
    assert str(raised.value).startswith(f"cannot use the kubeconfig {path}{said}")


def test_several_files_are_merged_and_the_wrong_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(yaml.safe_dump({name: CONFIG[name] for name in ("clusters", "users")}))
    second.write_text(yaml.safe_dump({name: CONFIG[name] for name in ("contexts", "current-context")}))
    monkeypatch.setenv("KUBECONFIG", f"{first}:{tmp_path / 'none'}:{second}")
    HttpTransport.from_kubeconfig().close()
    first.write_text(yaml.safe_dump({"clusters": CONFIG["clusters"], "users": [{"name": 5}]}))
    with pytest.raises(KubeconfigError, match=r"first, field users\[0\].name: Expected `str`, got `int`"):
        HttpTransport.from_kubeconfig()


def test_a_wrong_kubeconfig_is_a_usage_error_and_a_server_that_is_away_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(CONFIG))
    with pytest.raises(TargetUnreachable):
        KubeconfigControlPlane(str(path)).start()
    assert call(["cleanup", "--kubeconfig", str(path)]) == 10
    assert call(["pools", "--kubeconfig", str(path)], cli, name="kubectl dra") == 10
    path.write_text(yaml.safe_dump({**CONFIG, "clusters": 5}))
    capsys.readouterr()
    with pytest.raises(UsageError):
        KubeconfigControlPlane(str(path)).start()
    for words, group in ((["cleanup"], None), (["pools"], cli)):
        words += ["--kubeconfig", str(path)]
        assert (call(words) if group is None else call(words, group, name="kubectl dra")) == 4
        assert capsys.readouterr().err.startswith(f"error: cannot use the kubeconfig {path}, field clusters: ")
