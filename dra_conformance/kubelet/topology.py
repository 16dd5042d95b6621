"""The topology manager: which NUMA nodes the devices of a container, or of a pod, should come from.

Pure functions. Of each resource, `hints` lists the sets of NUMA nodes that have enough devices; `merge` chooses one set
for all resources and says whether the policy admits it; `split` orders free devices by the chosen set.

Source: k8s.io/kubernetes v1.37.2, pkg/kubelet/cm/topologymanager (policy.go, policy_*.go, scope_*.go, numa_info.go) and
devicemanager/topology_hints.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

from dra_api.rpc.device_plugin import PluginDevice

NONE = "none"
BEST_EFFORT = "best-effort"
RESTRICTED = "restricted"
SINGLE_NUMA_NODE = "single-numa-node"
POLICIES = (NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE)
CONTAINER = "container"
POD = "pod"
SCOPES = (CONTAINER, POD)
PREFER_CLOSEST = "prefer-closest-numa-nodes"
MAX_ALLOWABLE = "max-allowable-numa-nodes"
_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
_MOST_NODES = 8

Nodes = frozenset[int]
Hints = tuple["Hint", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The kubelet's settings of the topology manager, and the machine's NUMA nodes.

    `policy`, `scope` and `options` are `topologyManagerPolicy`, `topologyManagerScope` and
    `topologyManagerPolicyOptions`. `distances` has the distances of a NUMA node to each, in the order of their numbers.
    """

    policy: str = NONE
    scope: str = CONTAINER
    options: Mapping[str, str] = field(default_factory=dict)
    numa_nodes: tuple[int, ...] = (0,)
    distances: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ValueError(f"unknown topology manager policy {self.policy!r} (choose from {', '.join(POLICIES)})")
        if self.scope not in SCOPES:
            raise ValueError(f"unknown topology manager scope {self.scope!r} (choose from {', '.join(SCOPES)})")

    @property
    def closest(self) -> bool:
        """Whether the closest of equally many NUMA nodes are chosen (rule DP-161).

        The policy single-numa-node chooses one node, so the option means nothing there.
        """
        return self.policy != SINGLE_NUMA_NODE and _BOOLEANS.get(self.options.get(PREFER_CLOSEST, ""), False)

    def problem(self) -> str:
        """Return why a kubelet with these settings does not start on this machine, or an empty string (rule DP-162)."""
        if self.policy == NONE:
            return ""
        most = _MOST_NODES
        for name, value in self.options.items():
            if name == PREFER_CLOSEST:
                if value not in _BOOLEANS:
                    return f"the value of {name} is not true or false: {value!r}"
                if _BOOLEANS[value] and not all(node in self.distances for node in self.numa_nodes):
                    return f"{name} needs the distances of the NUMA nodes"
            elif name == MAX_ALLOWABLE:
                if not value.isdecimal() or int(value) < _MOST_NODES:
                    return f"the value of {name} is not a number from {_MOST_NODES}: {value!r}"
                most = int(value)
            else:
                return f"unknown topology manager policy option {name!r}"
        if len(self.numa_nodes) > most:
            return f"the machine has {len(self.numa_nodes)} NUMA nodes, and the topology manager allows {most}"
        return ""


@dataclass(frozen=True, slots=True)
class Hint:
    """A set of NUMA nodes that can serve a request; None: any nodes."""

    nodes: Nodes | None
    preferred: bool


def names_nodes(devices: Iterable[PluginDevice]) -> bool:
    """Return whether a device names a NUMA node; of other resources every choice is as good (rule DP-089)."""
    return any(device.numa_nodes for device in devices)


def hints(
    devices: Collection[PluginDevice],
    *,
    free: Collection[str],
    reusable: Collection[str] = (),
    count: int,
    numa_nodes: Sequence[int],
) -> Hints:
    """Return the sets of NUMA nodes that have `count` of the devices in `free` and `reusable`.

    A set is preferred if no smaller one could serve the request on an empty machine (rule DP-092). It must have all
    reusable devices, which are taken first. NUMA nodes that the machine does not have are ignored (rule DP-095).
    """
    of_device = {device.id: frozenset(device.numa_nodes or ()) for device in devices}
    named = frozenset[int]().union(*of_device.values())
    considered = sorted(named & set(numa_nodes)) or sorted(numa_nodes)
    placed = [of_device[one] for one in reusable if of_device.get(one)]
    smallest = len(considered)
    found = []
    for nodes in _sets(considered):
        if len(nodes) < smallest and sum(1 for its in of_device.values() if its & nodes) >= count:
            smallest = len(nodes)
        if all(its & nodes for its in placed):
            here = sum(1 for one in free if of_device[one] & nodes)
            if here + len(placed) >= count:
                found.append(nodes)
    return tuple(Hint(nodes, len(nodes) == smallest) for nodes in found)


def merge(topology: Topology, hints_of: Sequence[Hints | None]) -> tuple[Nodes | None, bool]:
    """Return the chosen NUMA nodes (None: any), and whether the policy admits them.

    `hints_of` has the hints of each resource: None if it has no preference, empty if no set of nodes can serve it.
    """
    every = frozenset(topology.numa_nodes)
    choices = [_choices(one) for one in hints_of]
    if topology.policy == SINGLE_NUMA_NODE:
        choices = [
            tuple(hint for hint in one if hint.preferred and (hint.nodes is None or len(hint.nodes) == 1))
            for one in choices
        ]
    need = max(map(_narrowest, choices), default=0)
    merged = (_combined(every, several) for several in product(*choices))
    possible = (one for one in merged if one[0])
    nodes, preferred = min(possible, key=lambda one: _rank(topology, one[0], one[1], need), default=(every, False))
    admitted = preferred or topology.policy not in (RESTRICTED, SINGLE_NUMA_NODE)
    anywhere = topology.policy == SINGLE_NUMA_NODE and nodes == every
    return (None if anywhere else nodes), admitted


def split(
    free: Iterable[str], devices: Mapping[str, PluginDevice], nodes: Nodes | None
) -> tuple[list[str], list[str], list[str]]:
    """Return the free devices of the chosen NUMA nodes, those of others, and those without.

    All are in the last list if any nodes will do, or if no device of the resource names one.
    """
    of_nodes: tuple[list[str], list[str], list[str]] = ([], [], [])
    blind = nodes is None or not names_nodes(devices.values())
    for one in free:
        its = devices[one].numa_nodes
        of_nodes[2 if blind or not its else 0 if set(its) & (nodes or set()) else 1].append(one)
    return of_nodes


def _sets(nodes: Sequence[int]) -> Iterator[Nodes]:
    for size in range(1, len(nodes) + 1):
        yield from map(frozenset, combinations(nodes, size))


def _choices(of_resource: Hints | None) -> Hints:
    if of_resource is None:
        return (Hint(None, True),)
    return of_resource or (Hint(None, False),)


def _narrowest(of_resource: Hints) -> int:
    return min((len(hint.nodes) for hint in of_resource if hint.nodes is not None), default=0)


def _combined(every: Nodes, several: Sequence[Hint]) -> tuple[Nodes, bool]:
    """Return the nodes that all hints have; preferred only if all are, and name the same nodes."""
    named = [hint.nodes for hint in several if hint.nodes is not None]
    same = all(nodes == named[0] for nodes in named)
    return every.intersection(*named), same and all(hint.preferred for hint in several)


def _rank(topology: Topology, nodes: Nodes, preferred: bool, need: int) -> tuple[int, int, int, int]:
    """Return the rank of a merged hint, the best first.

    Of those that are not preferred, the best has as many nodes as the resource that needs most.
    """
    size, value = len(nodes), sum(1 << node for node in nodes)
    distance = sum(topology.distances[a][b] for a, b in product(nodes, repeat=2)) if topology.closest else 0
    if preferred:
        return 0, size, distance, value
    return (1, need - size, distance, value) if size <= need else (2, size, distance, value)
