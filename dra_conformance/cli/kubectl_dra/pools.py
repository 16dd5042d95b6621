"""`kubectl dra pools`: the devices of each pool, and whether schedulers can use it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import click

from dra_conformance.cli.kubectl_dra import source, table
from dra_conformance.cli.kubectl_dra.source import Source
from dra_conformance.core.errors import ExitCode
from dra_conformance.oracle.cluster import Cluster
from dra_conformance.oracle.pools import Pool

_BLOCKING = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class PoolRow:
    """One pool. `allocated`, `tainted` and `free` count devices; a device can be allocated and tainted.

    `free`: neither allocated nor tainted against new pods. `state` is `complete`, or why its devices cannot be used.
    """

    driver: str
    pool: str
    nodes: str
    generation: int
    devices: int
    allocated: int
    tainted: int
    free: int
    state: str


def rows(cluster: Cluster) -> Iterator[PoolRow]:
    """Yield a row for each pool."""
    for pool in cluster.pools.values():
        ids = {entry.id: entry for entries in pool.by_name.values() for entry in entries}
        allocated = {name for name in ids if cluster.uses.get(name)}
        tainted = {name for name, entry in ids.items() if any(taint.effect in _BLOCKING for taint in entry.taints)}
        yield PoolRow(
            driver=pool.id[0],
            pool=pool.id[1],
            nodes=_nodes(pool),
            generation=pool.generation,
            devices=len(ids),
            allocated=len(allocated),
            tainted=len(tainted),
            free=len(ids.keys() - allocated - tainted),
            state=state(pool),
        )


def state(pool: Pool) -> str:
    """Return `complete`, or why no device of the pool can be used (DRA-146, DRA-149, DRA-194)."""
    if not pool.complete:
        return f"incomplete: {len(pool.current)} of {max(pool.counts)} slices of generation {pool.generation}"
    return f"invalid: {pool.counter_problem}" if pool.counter_problem else "complete"


def _nodes(pool: Pool) -> str:
    """Return the node that has the pool's devices, or in words which nodes can use them."""
    kinds = Counter(
        access.node_name or ("selected nodes" if access.node_selector is not None else "all nodes")
        for entries in pool.by_name.values()
        for access in (entry.node_access for entry in entries)
    )
    return next(iter(kinds)) if len(kinds) == 1 else f"{len(kinds)} nodes or kinds of nodes" if kinds else ""


@click.command(name="pools")
@source.options
@click.option("--driver", default="", metavar="NAME", help="Only pools of this driver.")
@table.FORMATS
def command(source: Source, driver: str, output: str) -> int:
    """List the pools of devices: how many are allocated, tainted and free, and whether the pool is complete."""
    found = [row for row in rows(source.read().cluster) if driver in ("", row.driver)]
    table.write(found, PoolRow, output, nothing="no driver publishes a ResourceSlice")
    return ExitCode.OK
