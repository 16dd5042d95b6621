"""A user of a real cluster for a program under test: a service account with a token that expires.

The token API works on every cluster, without the keys of its certificate authority.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import yaml

from dra_api import plain_yaml, regular_file
from dra_api.client import AlreadyExists, KubeClient
from dra_api.objects import SERVICE_ACCOUNTS
from dra_api.private_file import write_private

NAMESPACE = "kube-system"
_EXPIRES_AFTER_S = 24 * 3600  # longer than a run


def user_of(name: str) -> str:
    """Return the user name of the service account for a name such as `dra-conformance:target:driver`."""
    return f"system:serviceaccount:{NAMESPACE}:{_account(name)}"


def write_kubeconfig(client: KubeClient, admin: Path, path: Path, *, name: str) -> Path:
    """Create the service account if it is absent, and write a kubeconfig (0600) of it to `path`.

    `client` may create service accounts and tokens; `admin` is its kubeconfig, from which the address of the API server
    and its certificate authority are copied. Raises ApiError if a request is refused.
    """
    account = {"metadata": {"name": _account(name), "namespace": NAMESPACE}}
    with contextlib.suppress(AlreadyExists):  # an earlier kubeconfig of this run
        client.create(SERVICE_ACCOUNTS, account)
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        **account,
        "spec": {"expirationSeconds": _EXPIRES_AFTER_S},
    }
    made = client.create(SERVICE_ACCOUNTS, request, subresource="token", name=_account(name))
    config = plain_yaml.load(regular_file.read(admin))
    current = next(one for one in config["contexts"] if one["name"] == config["current-context"])
    context = {"name": name, "context": {"cluster": current["context"]["cluster"], "user": name}}
    users = [{"name": name, "user": {"token": made["status"]["token"]}}]
    config |= {"users": users, "contexts": [context], "current-context": name}
    write_private(path, yaml.safe_dump(config).encode())
    return path


def _account(name: str) -> str:
    return name.replace(":", "-")
