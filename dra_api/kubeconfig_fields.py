"""Checks a kubeconfig field by field, and names the file and the field that is wrong.

The `kubernetes` package, which reads kubeconfigs that `plain_kubeconfig` does not, has errors such as "'int' object is
not iterable" for values of a wrong type. It reads several files and the last current context as checked here.

Source: k8s.io/client-go tools/clientcmd/api/v1 types.go and tools/clientcmd/validation.go (v0.36).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
import yaml
from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from dra_api import plain_yaml, regular_file

_FIELD = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$")
_MISSING = re.compile(r"missing required field `([\w-]+)`")


class WrongFieldError(ValueError):
    """A kubeconfig that cannot be used: `file` is its name, `field` the path of the wrong field, if it is one."""

    def __init__(self, file: object, field: str, problem: str) -> None:
        super().__init__(f"{file}, field {field}: {problem}" if field else f"{file}: {problem}")


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    pass


class _Cluster(_Part, frozen=True, kw_only=True):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class _NamedCluster(_Part, frozen=True, kw_only=True):
    name: str
    cluster: _Cluster


class _Variable(_Part, frozen=True, kw_only=True):
    name: str
    value: str


class _Exec(_Part, frozen=True, kw_only=True):
    api_version: str = msgspec.field(name="apiVersion")
    command: str
    args: list[str] = []
    env: list[_Variable] = []


class _AuthProvider(_Part, frozen=True, kw_only=True):
    name: str
    config: dict[str, Any] = {}


class _User(_Part, frozen=True, kw_only=True):
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    exec: _Exec | None = None
    auth_provider: _AuthProvider | None = None


class _NamedUser(_Part, frozen=True, kw_only=True):
    name: str
    user: _User = _User()


class _Context(_Part, frozen=True, kw_only=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedContext(_Part, frozen=True, kw_only=True):
    name: str
    context: _Context


class _Config(_Part, frozen=True, kw_only=True):
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []
    current_context: str = ""


_Named = TypeVar("_Named", _NamedCluster, _NamedUser, _NamedContext)


def check(files: Sequence[Path], *, context: str | None) -> None:
    """Raise WrongFieldError if the kubeconfig of these files, merged, cannot be used.

    Args:
        files: in the order of KUBECONFIG; those that do not exist are skipped, unless that is all of them.
        context: of the files' contexts; None: the current one.
    """
    there = [file for file in files if file.exists()]
    if not there:
        raise WrongFieldError(", ".join(map(str, files)), "", "no such file")
    configs = [(file, _read(file)) for file in there]
    for file, config in configs:
        _check_values(file, config)
    named = [(file, config.current_context) for file, config in configs if config.current_context]
    file, chosen = (there[-1], context) if context else (named or [(there[-1], "")])[-1]
    if not chosen:
        raise WrongFieldError(file, "current-context", "is missing")
    where, at, entry = _find(
        file, "current-context" if not context else "contexts", chosen, "contexts", _each(configs, "contexts")
    )
    field, used = f"contexts[{at}].context", entry.context
    where_cluster, at, cluster = _find(where, f"{field}.cluster", used.cluster, "clusters", _each(configs, "clusters"))
    _url(where_cluster, f"clusters[{at}].cluster.server", cluster.cluster.server)
    if used.user:
        _find(where, f"{field}.user", used.user, "users", _each(configs, "users"))


def _read(file: Path) -> _Config:
    try:
        found = plain_yaml.load(regular_file.read(file))
    except OSError as error:
        raise WrongFieldError(file, "", f"cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise WrongFieldError(file, "", f"is not valid YAML: {' '.join(str(error).split())}") from error
    if found is None:
        raise WrongFieldError(file, "", "is empty")
    try:
        return msgspec.convert(_without_nulls(found), _Config)
    except msgspec.ValidationError as error:
        message = str(error)
        at = _FIELD.search(message)
        problem, field = (message[: at.start()], at[1]) if at else (message, "")
        if missing := _MISSING.search(problem):
            field, problem = f"{field}.{missing[1]}".lstrip("."), "is missing"
        raise WrongFieldError(file, field, problem) from None


def _without_nulls(value: Any) -> Any:
    # Go reads null as an absent value.
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _check_values(file: Path, config: _Config) -> None:
    for at, named in enumerate(config.clusters):
        field = f"clusters[{at}].cluster"
        _base64(file, f"{field}.certificate-authority-data", named.cluster.certificate_authority_data)
        if named.cluster.proxy_url:
            _url(file, f"{field}.proxy-url", named.cluster.proxy_url, needs_scheme=True)
    for at, user in enumerate(config.users):
        _base64(file, f"users[{at}].user.client-certificate-data", user.user.client_certificate_data)
        _base64(file, f"users[{at}].user.client-key-data", user.user.client_key_data)


def _base64(file: Path, field: str, value: str) -> None:
    try:
        base64.b64decode(value.replace("\r", "").replace("\n", ""), validate=True)
    except ValueError as error:
        raise WrongFieldError(file, field, f"is not base64: {error}") from None


def _url(file: Path, field: str, value: str, *, needs_scheme: bool = False) -> None:
    if not value:
        raise WrongFieldError(file, field, "is missing")
    if problem := url_problem(value, needs_scheme=needs_scheme):
        raise WrongFieldError(file, field, problem)


def url_problem(value: str, *, needs_scheme: bool = False) -> str:
    """Return why the address of a server or proxy cannot be used, or nothing.

    Without a scheme, a server is one of http; client-go refuses such a proxy, which `needs_scheme`.
    """
    # An address with a user may have a password too.
    shown = "it" if "@" in value else repr(value)
    try:
        address = parse_url(value)
        urlsplit(value)
    except (LocationParseError, ValueError) as error:
        return f"{shown} is not a URL" + (f": {error}" if "@" not in value else "")
    if address.scheme is None and needs_scheme:
        return "has no scheme, which is http or https"
    if address.scheme not in (None, "http", "https"):
        return f"{shown} has the scheme {address.scheme}, which is neither http nor https"
    return "" if address.host else f"{shown} names no host"


def _each(configs: Iterable[tuple[Path, _Config]], kind: str) -> Iterable[tuple[Path, int, Any]]:
    for file, config in configs:
        for at, entry in enumerate(getattr(config, kind)):
            yield file, at, entry


def _find(
    file: Path, field: str, name: str, kind: str, entries: Iterable[tuple[Path, int, _Named]]
) -> tuple[Path, int, _Named]:
    """Return the first entry of a name with its file and index."""
    known = []
    for entry in entries:
        if entry[2].name == name:
            return entry
        known.append(entry[2].name)
    if not name:
        raise WrongFieldError(file, field, "is missing")
    raise WrongFieldError(file, field, f"{name!r} is not the name of one of {kind}: {', '.join(known) or 'none'}")
