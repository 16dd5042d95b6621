"""A small driver with one planted bug: `driver.py BUG KUBECONFIG NODE PLUGINS REGISTRAR CDI`; BUG `none` has none.

It publishes two devices, prepares claims with a CDI specification each, and has a checkpoint. The bugs are in `bugs`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from dra_api.client import KubeClient
from dra_api.objects import RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_api.rpc import ClaimRef, PluginServer, PreparedDevice, PrepareResult
from dra_api.transport import HttpTransport

DRIVER = "planted.dra.test"
DEVICES = ("dev-0", "dev-1")


class Refused(Exception):
    """Why a claim is not prepared."""


class Driver:
    """Prepare and Unprepare, with the bug."""

    def __init__(self, bug: str, client: KubeClient, *, node: str, state: Path, cdi: Path) -> None:
        self.bug, self.client, self.node, self.state, self.cdi = bug, client, node, state, cdi
        self.prepared: dict[str, list[str]] = json.loads(state.read_text()) if state.exists() else {}
        self.restarted = state.exists()
        self.failed: set[str] = set()

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        """Prepare claims."""
        if self.bug == "panic" and claims:
            print("panic: runtime error: index out of range [2] with length 2", flush=True)
            print("main.(*driver).prepare(0xc000142000)", flush=True)
            os._exit(2)
        answers = {}
        for claim in claims:
            try:
                answers[claim.uid] = PrepareResult(self._devices(claim))
            except Refused as error:
                # With the others of the call, and for good.
                self.failed.update(one.uid for one in claims)
                answers[claim.uid] = PrepareResult(error=str(error))
        return {} if self.bug == "missing-answer" else answers

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Unprepare claims; those that it does not know need nothing."""
        answers = {}
        for claim in claims:
            if self.bug == "unknown-claim" and claim.uid not in self.prepared:
                answers[claim.uid] = "no checkpoint entry for this claim"
                continue
            if self.prepared.pop(claim.uid, None) is not None:
                self._save()
            self._file(claim.uid).unlink(missing_ok=True)
            answers[claim.uid] = ""
        return answers

    def _devices(self, reference: ClaimRef) -> tuple[PreparedDevice, ...]:
        if self.bug == "once" and reference.uid in self.prepared:
            raise Refused("claim is already prepared")
        if self.bug == "restart" and self.restarted and reference.uid in self.prepared:
            raise Refused("stale checkpoint: device is in use")
        if self.bug == "sticky-error" and reference.uid in self.failed:
            raise Refused("the batch of this claim has failed")
        claim = self.client.get(RESOURCE_CLAIMS, reference.name, reference.namespace)
        if claim["metadata"]["uid"] != reference.uid and self.bug != "uid":
            raise Refused("the claim was replaced")
        results = ((claim.get("status") or {}).get("allocation") or {}).get("devices", {}).get("results") or []
        own = [one for one in results if one["driver"] == DRIVER]
        if not own or not all(one["device"] in DEVICES for one in own):
            raise Refused("the claim has no device of this driver")
        names = [one["device"] for one in own]
        self.prepared[reference.uid] = names
        self._save()
        ids = [f"{DRIVER}/claim={reference.uid}-{name}" for name in names]
        self._declare(reference.uid, ids)
        if self.bug == "other-device":
            names = [DEVICES[1 - DEVICES.index(name)] for name in names]
        pool = self.node
        return tuple(
            PreparedDevice((one["request"],), pool, name, (device_id,))
            for one, name, device_id in zip(own, names, ids, strict=True)
        )

    def _declare(self, uid: str, ids: Sequence[str]) -> None:
        if self.bug == "no-specification":
            return
        devices = [
            {"name": one.partition("=")[2], "containerEdits": {"env": [f"DEVICE_{number}=1"]}}
            for number, one in enumerate(ids)
        ]
        aside = self.cdi / f".{uid}"
        aside.write_text(json.dumps({"cdiVersion": "0.6.0", "kind": f"{DRIVER}/claim", "devices": devices}))
        aside.rename(self._file(uid))

    def _file(self, uid: str) -> Path:
        return self.cdi / f"{DRIVER}-{uid}.json"

    def _save(self) -> None:
        self.state.write_text(json.dumps(self.prepared))


def publish(client: KubeClient, node: str, *, bug: str) -> None:
    """Create the slice of the node, unless it is there."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 2 if bug == "slice-count" else 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": [{"name": name} for name in DEVICES]}
    metadata = {"name": f"{node}-{DRIVER}"}
    if not any(one["metadata"]["name"] == metadata["name"] for one in client.list(RESOURCE_SLICES).items):
        obj = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": metadata, "spec": spec}
        client.create(RESOURCE_SLICES, obj)


def main() -> int:
    """Run until SIGTERM."""
    bug, kubeconfig, node, plugins, registrar, cdi = sys.argv[1:7]
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    client = KubeClient(HttpTransport.from_kubeconfig(kubeconfig), user_agent="planted-driver")
    folder = Path(plugins) / DRIVER
    folder.mkdir(exist_ok=True)
    driver = Driver(bug, client, node=node, state=folder / "checkpoint.json", cdi=Path(cdi))
    server = PluginServer(driver, DRIVER, folder / "dra.sock", Path(registrar) / f"{DRIVER}-reg.sock")
    server.start()
    print(f"{DRIVER} serves {len(DEVICES)} devices of {node}", flush=True)
    publish(client, node, bug=bug)
    stop.wait()
    server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
