"""A machine with several NUMA nodes, as a kubelet reads it from /sys/devices/system/node. Only files are written.

All processors of the machine are in the first NUMA node, which a machine may have as well: memory without processors.

Source: github.com/google/cadvisor/lib v0.60.5, utils/sysinfo/sysinfo.go and utils/sysfs/sysfs.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dra_conformance.kubelet.topology import Topology

SYS_NODES = Path("/sys/devices/system/node")
_SYS_CPUS = Path("/sys/devices/system/cpu")
_HERE, _ELSEWHERE = 10, 20  # as firmware without a table of distances reports them
_MEMORY_KIB = 4 * 1024 * 1024


def write(folder: Path, topology: Topology, *, cpus: Path = _SYS_CPUS) -> None:
    """Write the NUMA nodes of these settings to a folder that is shown at SYS_NODES. `cpus` has the processors."""
    nodes = topology.numa_nodes
    for node in nodes:
        place = folder / f"node{node}"
        (place / "hugepages").mkdir(parents=True, exist_ok=True)
        (place / "meminfo").write_text(f"Node {node} MemTotal: {_MEMORY_KIB} kB\n")
        (place / "distance").write_text(" ".join(map(str, _distances(topology, node))) + "\n")
    for cpu in sorted(cpus.glob("cpu[0-9]*")):
        link = folder / f"node{nodes[0]}" / cpu.name
        if not link.is_symlink():
            link.symlink_to(cpu)


def _distances(topology: Topology, node: int) -> Sequence[int]:
    known = topology.distances.get(node)
    return known or [_HERE if node == other else _ELSEWHERE for other in topology.numa_nodes]
