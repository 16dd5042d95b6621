"""An externally started driver (`--driver socket:PATH`): its node and its CDI folder.

The run owns nothing of it. The harness's kubelet replaces the node's kubelet, with the registration folder of the
socket. Driver, Node object and slices remain when the run ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dra_api.objects import Obj
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.kubelet.kubelet import READY_MESSAGE

_CDI_ROOTS = (Path("/etc/cdi"), Path("/var/run/cdi"))  # folders of container runtimes, in ascending priority


@dataclass(frozen=True, slots=True)
class ExternalDriver:
    """The location of a running driver. `cdi_roots`: folders with CDI files, in ascending priority."""

    node: str
    socket: Path
    cdi_roots: tuple[Path, ...]

    @property
    def registrar(self) -> Path:
        """The kubelet's registration folder."""
        return self.socket.parent


def find(socket: str, slices: Iterable[Obj], *, driver: str, node_name: str = "", cdi_root: str = "") -> ExternalDriver:
    """Return the externally started driver of a registration socket.

    `node_name` and `cdi_root` are options. By default the node is that of the driver's ResourceSlices, and the CDI
    folder is `cdi` beside the registration folder, or those of container runtimes. Raises TargetUnreachable if socket
    or CDI folder do not exist, or the node is unknown.
    """
    path = Path(socket).absolute()
    if not path.is_socket():
        raise TargetUnreachable(
            f"--driver socket:{socket}: no such socket",
            hint="Is the driver running, and is this its socket in the kubelet's registration folder?",
        )
    return ExternalDriver(node_name or _node_of(slices, driver), path, _cdi_roots(path, cdi_root))


def require_no_kubelet(name: str, node: Obj | None) -> None:
    """Raise TargetUnreachable if another kubelet runs on the driver's node.

    Two kubelets would run the same pods and prepare the same claims. A cluster sets a node to NotReady or Unknown less
    than a minute after its kubelet has ended.

    Arguments:
        name: the name of the node.
        node: the Node object; None if it does not exist.
    """
    status: Obj = (node or {}).get("status") or {}
    # The harness's own kubelet does not report a version, and keeps that of the node's kubelet.
    version = (status.get("nodeInfo") or {}).get("kubeletVersion")
    ready = [one for one in status.get("conditions") or () if one.get("type") == "Ready" and one["status"] == "True"]
    if version and any(one.get("message") != READY_MESSAGE for one in ready):
        raise TargetUnreachable(
            f"--driver socket: a kubelet ({version}) runs on the driver's node {name}, and the run needs its place",
            hint="Stop its kubelet, and wait until the node is not Ready; start the kubelet again after the run. "
            "`dra-conformance control-plane serve` makes a node for a driver on any machine.",
        )


def _node_of(slices: Iterable[Obj], driver: str) -> str:
    specs = [obj.get("spec") or {} for obj in slices]
    nodes = sorted({str(spec["nodeName"]) for spec in specs if spec.get("driver") == driver and spec.get("nodeName")})
    if len(nodes) == 1:
        return nodes[0]
    state = f"publishes for the nodes {', '.join(nodes)}" if nodes else "has published no ResourceSlice with a nodeName"
    raise TargetUnreachable(
        f"--driver socket: cannot determine the node of the driver: {driver} {state}",
        hint="--node-name names the node; is --driver-name right?",
    )


def _cdi_roots(socket: Path, named: str) -> tuple[Path, ...]:
    if named:
        if not Path(named).is_dir():
            raise TargetUnreachable(f"--cdi-root {named}: no such directory")
        return (Path(named).absolute(),)
    # As `dra-conformance control-plane serve` lays out its folder.
    beside = socket.parent.parent / "cdi"
    found = (beside,) if beside.is_dir() else tuple(root for root in _CDI_ROOTS if root.is_dir())
    if not found:
        raise TargetUnreachable(
            "--driver socket: the driver's CDI folder is not known", hint="--cdi-root names it; /etc/cdi is not there."
        )
    return found
