"""A small driver with one planted bug: `driver.py BUG KUBECONFIG NODE PLUGINS REGISTRAR CDI`; BUG `none` has none.

It publishes two devices, prepares claims with a CDI specification each, and has a checkpoint. The bugs are in `bugs`.
Without a bug it conforms to the profile driver-core.
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
from dra_api.clock import RealClock
from dra_api.objects import RESOURCE_CLAIMS, Obj
from dra_api.rpc import ClaimRef, PluginServer, PreparedDevice, PrepareResult
from dra_api.transport import HttpTransport
from reference_impl.kubelet_plugin.slices import SliceContent, SlicePublisher

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
        self.lock = threading.Lock()

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        """Prepare claims."""
        if self.bug == "panic" and claims:
            print("panic: runtime error: index out of range [2] with length 2", flush=True)
            print("main.(*driver).prepare(0xc000142000)", flush=True)
            os._exit(2)
        with self.lock:
            return self._prepare(claims)

    def _prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
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
        with self.lock:
            return self._unprepare(claims)

    def _unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
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
        # Admin access does not reserve a device, and does not need a free one.
        reserved = [one["device"] for one in own if not one.get("adminAccess")]
        others = {name for uid, held in self.prepared.items() if uid != reference.uid for name in held}
        if used := others.intersection(reserved):
            raise Refused(f"in use by another claim: {', '.join(sorted(used))}")
        self.prepared[reference.uid] = reserved
        self._save()
        ids = [f"{DRIVER}/claim={reference.uid}-{name}" for name in names]
        self._declare(reference.uid, ids)
        if self.bug == "other-device":
            names = [DEVICES[1 - DEVICES.index(name)] for name in names]
        pool = self.node
        return tuple(
            PreparedDevice((one["request"].partition("/")[0],), pool, name, (device_id,))
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


class Publisher(SlicePublisher):
    """Publishes the slice of the node, with the bug."""

    more = 0
    """Slices that the pool announces and does not have."""

    def _spec(self, content: SliceContent, generation: int, count: int) -> Obj:
        return super()._spec(content, generation, count + self.more)


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
    publisher = Publisher(client, clock=RealClock(), driver=DRIVER, node_name=node, resync_delay=1.0)
    publisher.more = int(bug == "slice-count")
    publisher.publish([SliceContent(tuple({"name": name} for name in DEVICES))])
    publisher.start()
    stop.wait()
    publisher.stop()
    server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
