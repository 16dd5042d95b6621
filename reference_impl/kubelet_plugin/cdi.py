"""CDI specs: one file for each claim, replaced atomically.

A spec is JSON, which is valid YAML, under the name that the specification requires: writing YAML took longer than the
rest of a Prepare. Specs of claims that are not in the checkpoint are removed at start, so none of them has to survive a
reboot.

The folder is the node's CDI root, shared with other vendors: this module touches only files that its own vendor and
class name. A spec lives from Prepare to Unprepare.

Source: CDI specification 0.5.0 (hostPath of device nodes); cmd/gpu-kubelet-plugin cdi.go at 95932046; rules NV-050,
NV-094 to NV-096, NV-156.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson

from dra_api.objects import Obj
from reference_impl.kubelet_plugin.atomicfile import PARTIAL, write_atomically

CDI_VERSION = "0.5.0"
_MODE = 0o644  # container runtimes of other users read it


class CdiFolder:
    """The specs of one driver in a CDI root.

    `vendor` is `k8s.<driver name>`. The folder is made when the first spec is written.
    """

    def __init__(self, root: Path, *, vendor: str, cdi_class: str) -> None:
        self.root = root
        self.vendor = vendor
        self.cdi_class = cdi_class

    @property
    def kind(self) -> str:
        """Return `vendor/class`, as specs and ids carry it."""
        return f"{self.vendor}/{self.cdi_class}"

    def device_name(self, claim_uid: str, device: str) -> str:
        """Return the CDI name of a claim's device."""
        return f"{claim_uid}-{device}"

    def device_id(self, claim_uid: str, device: str) -> str:
        """Return the fully qualified id that Prepare returns (rule NV-050)."""
        return f"{self.kind}={self.device_name(claim_uid, device)}"

    def path(self, claim_uid: str) -> Path:
        """Return the path of a claim's spec (rule NV-094)."""
        return self.root / f"{self._prefix}{claim_uid}.yaml"

    def write(self, claim_uid: str, devices: Sequence[Obj], common_edits: Obj) -> None:
        """Write a claim's spec: `devices` are CDI devices, `common_edits` apply to each container that gets any."""
        spec: Obj = {
            "cdiVersion": CDI_VERSION,
            "kind": self.kind,
            "devices": list(devices),
            "containerEdits": common_edits,
        }
        self.root.mkdir(exist_ok=True)
        data = orjson.dumps(spec, option=orjson.OPT_INDENT_2) + b"\n"
        # Not synced: the claims of an earlier boot are dropped, so nothing uses a spec from before a power failure.
        write_atomically(self.path(claim_uid), data, mode=_MODE, sync=False)

    def remove(self, claim_uid: str) -> None:
        """Remove a claim's spec; one that is gone already is fine (rule NV-096)."""
        path = self.path(claim_uid)
        # A read-only file system refuses to remove even a file that does not exist.
        if path.exists():
            path.unlink()

    def claims(self) -> set[str]:
        """Return the claims that have a spec."""
        return {path.name[len(self._prefix) : -len(".yaml")] for path in self.root.glob(f"{self._prefix}*.yaml")}

    def clean(self, keep: Iterable[str]) -> list[str]:
        """Remove specs of claims that are not in `keep`, and temporary files; return the claims of removed specs."""
        for partial in self.root.glob(f".{self._prefix}*{PARTIAL}"):
            partial.unlink()
        stale = sorted(self.claims() - set(keep))
        for claim_uid in stale:
            self.remove(claim_uid)
        return stale

    @property
    def _prefix(self) -> str:
        return f"{self.vendor}-{self.cdi_class}_"
