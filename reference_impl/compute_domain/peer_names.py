"""The stable names of the daemons in one clique: nodes file and hosts file of nvidia-imex. Pure functions.

A daemon is called `compute-domain-daemon-<index>` at every node of its clique. nvidia-imex reads all possible names
once, from its nodes file. Which of them exist, and at which address, is in the hosts file, which changes with the
clique.

Source: cmd/compute-domain-daemon/dnsnames.go of kubernetes-sigs/dra-driver-nvidia-gpu at v0.5.0; rules NV-393 to
NV-398.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dra_api.objects import Obj

_PREFIX = "compute-domain-daemon-"
_COMMENT = "# Compute Domain Daemon mappings"


def peer_name(index: int) -> str:
    """Return the name of the daemon with this index."""
    return f"{_PREFIX}{index:04d}"


def nodes_text(limit: int) -> str:
    """Return the nodes file: the name of every index, in order (rule NV-393)."""
    return "".join(f"{peer_name(index)}\n" for index in range(limit))


def addresses(daemons: Sequence[Obj], *, clique_id: str, limit: int) -> dict[str, str]:
    """Return the address of each name in a clique, by the clique's entries.

    Entries of another clique and with an index that cannot be are left out: one bad entry must not end the others'
    connections (rule NV-398). Of two entries with one index the first one counts, by the name of the node; the other
    daemon chooses another index (rule NV-443).
    """
    found: dict[str, str] = {}
    for daemon in sorted(daemons, key=lambda one: str(one["nodeName"])):
        index, address = daemon.get("index"), daemon.get("ipAddress")
        if daemon.get("cliqueID") == clique_id and isinstance(index, int) and 0 <= index < limit and address:
            found.setdefault(peer_name(index), str(address))
    return found


def hosts_text(text: str, names: Mapping[str, str]) -> str:
    """Return a hosts file with these names in place of those that it had; other lines stay (rules NV-394, NV-395)."""
    kept = [line for line in text.splitlines() if _PREFIX not in line and line.strip() != _COMMENT]
    while kept and not kept[-1].strip():
        kept.pop()
    own = [f"{address}\t{name}" for name, address in sorted(names.items())]
    return "\n".join([*kept, "", _COMMENT, *own, ""])
