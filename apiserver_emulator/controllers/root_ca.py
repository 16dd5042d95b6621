"""The publisher of the cluster's root certificate: the ConfigMap that every pod's token volume contains.

Source: pkg/controller/certificates/rootcacertpublisher.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.controllers.writes import ControllerWrites
from apiserver_emulator.core import Core
from apiserver_emulator.store import TypeKey

Obj = dict[str, Any]

CONFIG_MAPS: TypeKey = ("", "configmaps")
ROOT_CA = "kube-root-ca.crt"
_NAMESPACES: TypeKey = ("", "namespaces")
_ANNOTATIONS = {
    "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using "
    "internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across "
    "distributions of Kubernetes clusters."
}


class RootCaPublisher:
    """Keeps the ConfigMap kube-root-ca.crt of each namespace.

    `certificate` is the authority of the HTTPS endpoint in PEM; nothing is published while it is empty, as the server
    has no certificate without that endpoint.
    """

    def __init__(self, core: Core) -> None:
        self.certificate = ""
        self._core = core
        account = "root-ca-cert-publisher"
        self._writes = ControllerWrites(core, account=account, agent=account)

    def publish(self, namespace: str) -> None:
        """Create the ConfigMap, or set its data if somebody has changed them. Raises StatusError."""
        found = self._core.store.get(_NAMESPACES, ("", namespace))
        if not self.certificate or found is None or "deletionTimestamp" in found.obj["metadata"]:
            return
        data = {"ca.crt": self.certificate}
        key = (namespace, ROOT_CA)
        present = self._core.store.get(CONFIG_MAPS, key)
        if present is None:
            meta = {"name": ROOT_CA, "annotations": dict(_ANNOTATIONS)}
            self._writes.create(
                CONFIG_MAPS, key, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
            )
        elif present.obj.get("data") != data:
            self._writes.replace(CONFIG_MAPS, key, "data", data)
