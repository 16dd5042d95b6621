"""The publisher of the cluster's root certificate: the ConfigMap that every pod's token volume contains.

Source: pkg/controller/certificates/rootcacertpublisher.
"""

from __future__ import annotations

import contextlib
from typing import Any

from apiserver_emulator.controllers.namespaces import NAMESPACES
from apiserver_emulator.controllers.writes import ControllerWrites
from apiserver_emulator.core import Core
from apiserver_emulator.store import Key, TypeKey
from dra_api.status import StatusError

Obj = dict[str, Any]

CONFIG_MAPS: TypeKey = ("", "configmaps")
ROOT_CA = "kube-root-ca.crt"
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
        """Create the ConfigMap, or restore its data after another writer changed them.

        An admission webhook may refuse that. A real publisher tries again; this one is called again when the namespace
        or the ConfigMap changes.
        """
        found = self._core.store.get(NAMESPACES, ("", namespace))
        if not self.certificate or found is None or "deletionTimestamp" in found.obj["metadata"]:
            return
        with contextlib.suppress(StatusError):
            self._write((namespace, ROOT_CA), {"ca.crt": self.certificate})

    def _write(self, key: Key, data: Obj) -> None:
        present = self._core.store.get(CONFIG_MAPS, key)
        if present is None:
            meta = {"name": ROOT_CA, "annotations": dict(_ANNOTATIONS)}
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
            self._writes.create(CONFIG_MAPS, key, made)
        elif present.obj.get("data") != data:
            self._writes.replace(CONFIG_MAPS, key, "data", data)
