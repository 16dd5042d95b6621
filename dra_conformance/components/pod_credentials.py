"""What a kubelet gives a container for the service account of its pod: a folder with a token, and two variables.

A program with client-go's in-cluster configuration finds the API server by them and takes no kubeconfig.

Source: client-go rest/config.go (InClusterConfig); kubelet's projected volume of the admission plugin ServiceAccount.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dra_api import plain_yaml, regular_file
from dra_api.private_file import write_private

FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The place of the folder in a container."""

_HTTPS = 443


def write(kubeconfig: Path, folder: Path, *, namespace: str, give: Callable[..., None]) -> dict[str, str]:
    """Write the files of a service account, and return the variables for its API server.

    Nothing if the kubeconfig has no token or no HTTPS server: it is not that of a service account.

    Args:
        kubeconfig: of the program under test.
        folder: a private folder of the programs under test.
        namespace: that of the pod.
        give: makes programs under test the owner of the files.
    """
    try:
        host, port, token, authority = _connection(kubeconfig)
    except (LookupError, TypeError, AttributeError, ValueError, OSError):
        return {}
    for name, content in {"token": token, "ca.crt": authority, "namespace": namespace.encode()}.items():
        write_private(folder / name, content)
        give(folder / name)
    return {
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": port,
        "KUBERNETES_SERVICE_PORT_HTTPS": port,
    }


def _connection(kubeconfig: Path) -> tuple[str, str, bytes, bytes]:
    """Return host, port, token and certificate authority. Raises if any is missing."""
    config = plain_yaml.load(regular_file.read(kubeconfig))
    context = _named(config, "context", config["current-context"])
    cluster, user = _named(config, "cluster", context["cluster"]), _named(config, "user", context["user"])
    server = urlsplit(cluster["server"])
    if server.scheme != "https" or not server.hostname:
        raise ValueError(cluster["server"])
    inline = cluster.get("certificate-authority-data")
    authority = base64.b64decode(inline) if inline else regular_file.read(Path(cluster["certificate-authority"]))
    return server.hostname, str(server.port or _HTTPS), user["token"].encode(), authority


def _named(config: Any, kind: str, name: str) -> Any:
    """Return an entry of one of the lists of a kubeconfig. Raises LookupError."""
    for entry in config[f"{kind}s"]:
        if entry["name"] == name:
            return entry[kind]
    raise LookupError(name)
