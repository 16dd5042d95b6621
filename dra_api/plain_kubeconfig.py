"""Reads a kubeconfig with a server and a token or certificate without the `kubernetes` package.

The package handles everything else: exec credentials, token files that change, proxies, several files, and errors, for
which it has messages. In any doubt this module returns None.

Source: client-go tools/clientcmd/api/v1 v0.36 (types.go); the package's kube_config.py for which field wins.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dra_api import plain_yaml, regular_file
from dra_api.objects import Obj

_CLUSTER = {"server", "certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify"}
_USER = {"token", "client-certificate", "client-certificate-data", "client-key", "client-key-data"}


@dataclass(frozen=True, slots=True)
class PlainConfiguration:
    """The used fields of a `kubernetes.client.Configuration`, with the same names."""

    host: str
    verify_ssl: bool
    ssl_ca_cert: str | None
    cert_file: str | None
    key_file: str | None
    token: str | None
    proxy: None = None
    username: None = None
    password: None = None

    def get_api_key_with_prefix(self, identifier: str) -> str | None:
        """Return the Authorization header; only the identifier `authorization` has one."""
        return f"Bearer {self.token}" if self.token and identifier == "authorization" else None


def read(path: Path | str | None, *, context: str | None, folder: Path) -> PlainConfiguration | None:
    """Return the configuration of a kubeconfig, or None if the package must read it.

    Args:
        path: the file; None: KUBECONFIG, then ~/.kube/config.
        context: of the file's contexts; None: its current one.
        folder: a private folder for inline certificates.
    """
    if any(name.lower() in ("http_proxy", "https_proxy", "all_proxy") for name in os.environ):
        return None
    file = Path(path or os.environ.get("KUBECONFIG") or "~/.kube/config").expanduser()
    try:
        found = plain_yaml.load(regular_file.read(file))
        return _configuration(found, context, file.absolute().parent, folder)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError):
        return None


def _configuration(found: Obj, context: str | None, beside: Path, folder: Path) -> PlainConfiguration | None:
    chosen = _named(found["contexts"], context or found["current-context"])["context"]
    cluster = _named(found["clusters"], chosen["cluster"])["cluster"]
    user = _named(found["users"], chosen["user"]).get("user") or {}
    if cluster.keys() - _CLUSTER or user.keys() - _USER or not all(user.values()):
        return None
    host = str(cluster["server"]).rstrip("/")
    if not host.startswith(("https://", "http://")):
        return None
    skip = cluster.get("insecure-skip-tls-verify", False)
    if not isinstance(skip, bool) or not isinstance(user.get("token", ""), str):
        return None
    secure = host.startswith("https://")
    return PlainConfiguration(
        host=host,
        verify_ssl=not skip,
        ssl_ca_cert=_file(cluster, "certificate-authority", beside, folder) if secure else None,
        cert_file=_file(user, "client-certificate", beside, folder) if secure else None,
        key_file=_file(user, "client-key", beside, folder) if secure else None,
        token=user.get("token"),
    )


def _named(entries: list[Obj], name: str) -> Obj:
    """Return the only entry of that name. Raises LookupError if there is none, or more than one."""
    found = [entry for entry in entries if entry["name"] == name]
    if len(found) != 1:
        raise LookupError(name)
    return found[0]


def _file(values: Mapping[str, Any], name: str, beside: Path, folder: Path) -> str | None:
    """Return the file that a field names, relative to its kubeconfig, or a new file with inline data."""
    if inline := values.get(f"{name}-data"):
        path = folder / name
        path.touch(mode=0o600)
        path.write_bytes(base64.b64decode(inline, validate=True))
        return str(path)
    if not (named := values.get(name)):
        return None
    path = beside / named
    path.stat()  # for a missing file the package has the message
    return str(path)
