"""Data that would crash a parser, fill the memory or block the reader is refused where it is read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_api import plain_yaml, regular_file
from dra_api.kubeconfig import KubeconfigError, loaded
from dra_api.nesting import DEEPEST, json_too_deep

# 20 levels of ten aliases each: 10^20 values in 1,000 bytes.
BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20))
MERGES = "a0: &a0 {k: v}\n" + "".join(f"a{n}: &a{n}\n  <<: [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 200_000, "is nested too deeply"),
        ("{a: " * 200_000, "is nested too deeply"),
        ("- " * 100_000 + "x", "is nested too deeply"),
        ("-  " * 100_000 + "x", "is nested too deeply"),
        ("? " * 100_000 + "x", "is nested too deeply"),
        ("- ? " * 100_000 + "x", "is nested too deeply"),
        (BOMB, "its aliases expand to more than 1000000 values"),
        (MERGES, "its aliases expand to more than 1000000 values"),
        ("a: &a " + "x" * 100_000 + "\nb: [" + "*a," * 100 + "]", "its aliases expand to more than"),
        ("a: &a {b: *a}", "an alias contains itself"),
        ("&a [x, *a]", "an alias contains itself"),
        ("a: 2020-13-45", "a value is not of its type"),
        ("!!int ''", "a value is not of its type"),
        ("a: !!timestamp never", "a value is not of its type"),
    ],
)
def test_yaml_over_a_limit_is_refused(text: str, reason: str) -> None:
    with pytest.raises(yaml.YAMLError, match=reason):
        plain_yaml.load(text)
    with pytest.raises(yaml.YAMLError, match=reason):
        plain_yaml.load_all("a: 1\n---\n" + text)


def test_other_yaml_is_what_pyyaml_reads() -> None:
    text = "a: &a {b: [1, 2.5, ~, yes]}\nc: [*a, *a]\nd:\n  <<: *a\n  e: 2020-01-01\n"
    assert plain_yaml.load(text) == yaml.safe_load(text)
    assert plain_yaml.load("[" * DEEPEST + "]" * DEEPEST) is not None
    assert plain_yaml.load_all("a: 1\n---\n---\n- 2\n") == [{"a": 1}, None, [2]]
    assert plain_yaml.load("") is None


@pytest.mark.parametrize(
    ("value", "too_deep"),
    [
        ("[" * DEEPEST + "]" * DEEPEST, False),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), True),
        ('{"a":' * (DEEPEST + 1), True),
        (json.dumps(["[" * 1000, "{" * 1000, '"[\\' * 1000]), False),
        ("[" + ",".join(["[]"] * 1000) + "]", False),
        ('"' + '\\"[' * 100_000, False),
        ('"' + "[" * 1000 + "\\", False),
    ],
)
def test_the_depth_of_json_counts_brackets_outside_of_texts(value: str, too_deep: bool) -> None:
    assert json_too_deep(value.encode()) is too_deep


@pytest.mark.parametrize("target", ["fifo", "/dev/zero", "folder"])
def test_what_is_not_a_regular_file_is_refused(tmp_path: Path, target: str) -> None:
    path = tmp_path / "file"
    if target == "fifo":
        os.mkfifo(path)
    elif target == "folder":
        path.mkdir()
    else:
        path.symlink_to(target)
    with pytest.raises(OSError, match=r"not a regular file|Is a directory"):
        regular_file.read(path)


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.touch()
    os.truncate(path, regular_file.MAX_SIZE)
    assert len(regular_file.read(path)) == regular_file.MAX_SIZE
    os.truncate(path, 90 << 20)
    with pytest.raises(OSError, match=f"larger than {regular_file.MAX_SIZE} bytes"):
        regular_file.read(path)
    assert regular_file.tail(path, 10) == bytes(10)


def test_a_link_to_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("é")
    (tmp_path / "link").symlink_to("file")
    assert regular_file.read_text(tmp_path / "link") == "é"


@pytest.mark.parametrize("content", [BOMB, "- " * 100_000, "fifo"])
def test_a_kubeconfig_over_a_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    path = tmp_path / "config"
    if content == "fifo":
        os.mkfifo(path)
    else:
        path.write_text(content)
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'none'}:{path}")
    for given in (path, None):
        with pytest.raises(KubeconfigError, match="cannot use the kubeconfig"), loaded(given):
            pass


def test_kubeconfigs_with_an_ordinary_mistake_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "config"
    values: tuple[Any, ...] = ("a: [", "[]", "a: 2020-13-45", "")
    for value in values:
        path.write_text(value)
        with pytest.raises(KubeconfigError, match="cannot use the kubeconfig"), loaded(path):
            pass


@pytest.mark.parametrize("server", ["https://[::1", "https://127.0.0.1:99999", "https://a:b"])
@pytest.mark.parametrize("user", [{"token": "t"}, {"username": "u", "password": "p"}], ids=["plain", "package"])
def test_an_invalid_server_is_an_error_of_the_kubeconfig(tmp_path: Path, server: str, user: dict[str, str]) -> None:
    path = tmp_path / "config"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(yaml.safe_dump(config))
    with (
        pytest.raises(KubeconfigError, match=r"config, field clusters\[0\].cluster.server: .* is not a URL"),
        loaded(path),
    ):
        pass
