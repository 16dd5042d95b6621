"""A driver that is broken in one way, for `dra-conformance run --driver 'exec:python broken_driver.py FAULT …'`.

Faults: `exits` ends at once, `flag-usage` and `cobra-usage` with their usage; `silent` never registers;
`other-name` registers under another name; `twice` registers on
two sockets; `needs-path` needs a device that is not there; `dies` is killed in the middle of Prepare; `panics` ends in
Prepare with the stack of a Go program; `garbage` answers Prepare with bytes that are no message; `no-spec` answers CDI
ids that no specification declares; `for-another-node` and `in-another-name` publish a second slice, for a node that
does not exist or in the name of another driver. It publishes one slice with two devices, like a working driver.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from dra_api.client import KubeClient
from dra_api.objects import RESOURCE_SLICES
from dra_api.rpc import ClaimRef, PluginServer, PreparedDevice, PrepareResult, codec
from dra_api.transport import HttpTransport

DRIVER = "broken.dra.test"


class Broken:
    """Prepare and Unprepare, with the fault."""

    def __init__(self, fault: str, node: str) -> None:
        self.fault, self.node = fault, node

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        """Prepare, wrongly."""
        if self.fault == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "panics":
            print("panic: runtime error: invalid memory address or nil pointer dereference", flush=True)
            os._exit(2)
        ids = ("broken.dra.test/gpu=nowhere",)
        return {c.uid: PrepareResult((PreparedDevice(("gpu",), self.node, "dev-0", ids),)) for c in claims}

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Unprepare, with nothing to do."""
        return {claim.uid: "" for claim in claims}


def publish(kubeconfig: str, node: str, *, driver: str = DRIVER, host: str = "") -> None:
    """Write the node's slice, or a copy of it with another name or for another node."""
    client = KubeClient(HttpTransport.from_kubeconfig(kubeconfig), user_agent="broken-driver")
    spec = {
        "driver": driver,
        "nodeName": host or node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "dev-0"}, {"name": "dev-1"}],
    }
    slice_ = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{host or node}-{driver}"},
    }
    client.create(RESOURCE_SLICES, {**slice_, "spec": spec})


_OPTIONS = "\n".join(f"  --option{number} string   an option" for number in range(30))
USAGES = {
    "flag-usage": f"flag provided but not defined: -node\nUsage of driver:\n{_OPTIONS}",
    "cobra-usage": f"Usage:\n  driver [flags]\n\nFlags:\n{_OPTIONS}\n\nError: unknown flag: --node",
}
"""What programs with Go's package flag, and with cobra, print about an option that they do not have."""


def main() -> int:
    """Run until SIGTERM."""
    fault, kubeconfig, node, plugins, registrar = sys.argv[1:6]
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if fault == "exits":
        print("cannot open /dev/broken: no such device", flush=True)
        return 3
    if fault in USAGES:
        print(USAGES[fault], flush=True)
        return 2
    if fault == "silent":
        print("waiting for hardware", flush=True)
        stop.wait()
        return 0
    if fault == "needs-path":
        try:
            Path("/dev/broken0").open().close()
        except OSError as error:
            print(f"cannot open /dev/broken0: {error.strerror}", flush=True)
            return 1
    if fault == "leaves":  # before there are threads of gRPC
        subprocess.Popen(["sh", "-c", "sleep 600", "sh", "--token=abc"], start_new_session=True)
    if fault == "garbage":
        codec.DRACodec.encode_prepared = lambda self, answers: b"\xff\xff\xff"  # type: ignore[method-assign]
    name = "other.dra.test" if fault == "other-name" else DRIVER
    folder = Path(plugins) / name
    folder.mkdir(exist_ok=True)
    servers = [
        PluginServer(Broken(fault, node), name, folder / f"dra{one}.sock", Path(registrar) / f"{name}{one}-reg.sock")
        for one in range(2 if fault == "twice" else 1)
    ]
    for server in servers:
        server.start()
    publish(kubeconfig, node)
    if fault == "for-another-node":
        publish(kubeconfig, node, host=f"not-{node}")
    if fault == "in-another-name":
        publish(kubeconfig, node, driver="other.dra.test")
    stop.wait()
    for server in servers:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
