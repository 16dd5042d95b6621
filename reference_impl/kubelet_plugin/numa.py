"""The NUMA node of a PCI device, from sysfs, as one number or as a list that begins with it.

The list has further nodes that are as good: those of the same socket at the smallest distance. It needs a control plane
with the feature gate DRAListTypeAttributes.

Source: k8s.io/dynamic-resource-allocation v0.37.2, deviceattribute/numa_linux.go; rules NV-025, NV-302, NV-303.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeAlias

from dra_api.objects import Obj

NumaNode: TypeAlias = int | tuple[int, ...]
"""One node, or the list form."""


def numa_node(sysfs: Path, address: str, *, as_list: bool = False) -> NumaNode | None:
    """Return the NUMA node of a device; None if sysfs has -1 or no file (rule NV-025)."""
    try:
        node = int((sysfs / "bus/pci/devices" / address / "numa_node").read_text())
    except OSError:
        return None
    if node < 0:
        return None
    return (node, *equally_near(sysfs, node)) if as_list else node


def attribute(node: NumaNode) -> Obj:
    """Return the value of the attribute."""
    return {"int": node} if isinstance(node, int) else {"ints": list(node)}


def equally_near(sysfs: Path, node: int) -> list[int]:
    """Return the other nodes at the smallest distance, without those of another socket; empty if none is known."""
    try:
        distances = [int(word) for word in (sysfs / f"devices/system/node/node{node}/distance").read_text().split()]
    except (OSError, ValueError):
        return []
    others = {other: distance for other, distance in enumerate(distances) if other != node}
    if node >= len(distances) or not others:
        return []
    here, nearest = socket_of(sysfs, node), min(others.values())
    return [
        other
        for other, distance in others.items()
        # A node whose socket is unknown, such as one without CPUs, may be of this socket.
        if distance == nearest and (here is None or socket_of(sysfs, other) in (None, here))
    ]


def socket_of(sysfs: Path, node: int) -> int | None:
    """Return the socket of a NUMA node's first CPU; None if it has no CPU or sysfs does not say."""
    try:
        cpus = (sysfs / f"devices/system/node/node{node}/cpulist").read_text()
        first = re.match(r"\d+", cpus)
        if first is None:
            return None
        return int((sysfs / f"devices/system/cpu/cpu{first[0]}/topology/physical_package_id").read_text())
    except (OSError, ValueError):
        return None
