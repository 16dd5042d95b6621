"""The reference allocator beside upstream's, on the same inputs in one run: time, ratio, growth, memory.

One operation of upstream is NewAllocator and Allocate, which looks at all slices each time. One of the reference is
Allocator and `on` for each node; node inventories are kept between pods, as its scheduler keeps them. The notes have a
second time and ratio, in which the inventories of all nodes are built for each operation. Compiled expressions are
cached on both sides.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median

from dra_api.objects import Obj
from reference_impl.node_selector import NodeFacts
from reference_impl.scheduler.allocator import (
    Allocator,
    DeviceClass,
    NodeInventory,
    Slice,
    Taken,
    decode_claim,
    decode_slice,
)
from reference_impl.scheduler.allocator.model import PoolId
from verification.benchmarks import allocation_cases as cases
from verification.benchmarks.figures import Figure
from verification.differential.reference import features_of
from verification.differential.upstream import Upstream, UpstreamGone

REPEAT = 5
TURNS = 5
TIMEOUT_MS = 2_000
GIVEN_UP = 2  # sizes of one family beyond which upstream is not run


class Ready:
    """One case, decoded and with its inventories built, as the scheduler holds a cluster."""

    def __init__(self, case: Obj) -> None:
        self.features = features_of(case)
        self.pools: dict[PoolId, list[Slice]] = {}
        self._by_node: dict[str, dict[PoolId, list[Slice]]] = {}
        for obj in case["slices"]:
            slice_ = decode_slice(obj)
            self.pools.setdefault(slice_.pool, []).append(slice_)
            # The same list: slices of the pool that follow are added to it.
            self._by_node.setdefault(slice_.node_name, {})[slice_.pool] = self.pools[slice_.pool]
        self.classes = {obj["metadata"]["name"]: DeviceClass.decode(obj) for obj in case["classes"]}
        self.claims = [decode_claim(obj) for obj in case["claims"]]
        self.taken = Taken()
        self.taken.add(case["taken"])
        self.first_fit = bool(case.get("firstFit"))
        self._nodes = [NodeFacts.of(node) for node in case["nodes"]]
        self.inventories: list[NodeInventory] = []
        self.build()

    def build(self) -> float:
        """Build the inventories of all nodes anew; return the seconds."""
        began = time.perf_counter()
        self.inventories = [
            NodeInventory.build(node, [*self._by_node.get(node.name, {}).values()], self.features)
            for node in self._nodes
        ]
        return time.perf_counter() - began

    def once(self) -> str:
        """Allocate all claims node by node; return the outcome of the last node."""
        outcome = "unallocatable"
        allocator = Allocator(self.claims, self.classes, features=self.features)
        for inventory in self.inventories:
            found = allocator.on(inventory, self.taken)
            outcome = "allocated" if found.allocations is not None else "unallocatable"
            if found.allocations is not None and self.first_fit:
                break
        return outcome

    def times(self, count: int) -> tuple[str, list[float]]:
        """The outcome, and the seconds of each of `count` operations after one that warms up."""
        outcome = self.once()
        found = []
        for _ in range(count):
            began = time.perf_counter()
            self.once()
            found.append(time.perf_counter() - began)
        return outcome, found


def side_by_side(
    upstream: Upstream | None, name: str, case: Obj, *, aim: str, repeat: int = 0, skipped: str = ""
) -> Figure:
    """Run one case on both sides in turns, so that other load affects both alike.

    The ratio is the median of the turns' ratios. `skipped` is the reason if upstream does not run.
    """
    ready = Ready(case)
    turns = min(TURNS, repeat or REPEAT)
    count = max((repeat or REPEAT) // turns, 1)
    ours: list[float] = []
    theirs: list[float] = []
    ratios: list[float] = []
    building: list[float] = []
    whole: list[float] = []
    outcome = last = ""
    for _ in range(turns):
        building.append(ready.build())
        outcome, seconds = ready.times(count)
        ours += seconds
        # A search that timed out once would do so in every turn.
        if upstream is not None and last != "timeout":
            # One more than is counted: the first one warms up.
            answer = upstream.call({"timeoutMs": TIMEOUT_MS, **case, "repeat": count + 1})
            nanoseconds = answer["nanoseconds"]
            found = [one / 1e3 for one in nanoseconds[1:] or nanoseconds]
            theirs += found
            ratios.append(median(seconds) * 1e6 / median(found))
            whole.append((building[-1] + median(seconds)) * 1e6 / median(found))
            last = answer["nodes"][-1]["outcome"]
    note = f"{outcome}; with its inventory {(median(building) + median(ours)) * 1e6:.0f} µs"
    if upstream is not None:
        more = f", given up after {TIMEOUT_MS / 1000:g} s" if last == "timeout" else ""
        note = f"upstream {median(theirs):.1f} µs ({last}{more}), ratio {median(ratios):.3g}; {note}"
        note += f", ratio {median(whole):.3g}"
    elif skipped:
        note = f"{skipped}; {note}"
    return Figure(name, "µs", [seconds * 1e6 for seconds in ours], aim, note)


def figures() -> Iterator[Figure]:
    """All cases of the issue's table, growth, and memory."""
    try:
        upstream: Upstream | None = Upstream()
    except UpstreamGone as error:
        print(f"  {error}; only the reference is measured")
        upstream = None
    try:
        yield from _table(upstream)
        yield from _hard(upstream)
        yield from _growth(upstream)
    finally:
        if upstream is not None:
            upstream.close()
    yield memory()


def _table(upstream: Upstream | None) -> Iterator[Figure]:
    whole = [f"gpu-{gpu}-gpu-0" for gpu in range(7)]
    rows: list[tuple[str, Obj, str, int]] = [
        ("a  1 claim × 1, node of 8", cases.case(cases.node_slices(0, cases.gpus(8)), cases.singles(1)), "< 3×", 200),
        ("b  8 claims × 1, node of 8", cases.case(cases.node_slices(0, cases.gpus(8)), cases.singles(8)), "< 3×", 100),
        ("c  4 matched by pcieRoot among 64", cases.matched(), "< 1×", 50),
        ("d1 7 × 1g, 8 H200 as 208 partitions, empty", cases.mig(()), "< 1×", 50),
        ("d2 the same, 7 GPUs taken", cases.mig(whole), "< 1×", 20),
        ("d3 the same, impossible by one", cases.mig([*whole, "gpu-7-1g-18gb-0"]), "< 1×", 5),
        ("e1 16 × 10Gi, 128 shared devices of 80Gi", cases.shares("10Gi"), "< 1×", 50),
        ("e2 16 × 60Gi, 128 shared devices", cases.shares("60Gi"), "< 1×", 50),
        ("e3 the same, 40Gi of the first 112 in use", cases.shares("60Gi", used=112), "< 1×", 20),
        ("f1 1,000 nodes × 8, 900 full", cases.cluster(1000, full=900), "< 1×", 10),
        ("f2 1,000 nodes × 8, 7 taken on each, all asked", cases.cluster(1000, full=0, nearly=True), "< 1×", 10),
    ]
    for name, case, aim, repeat in rows:
        yield side_by_side(upstream, name, case, aim=aim, repeat=repeat)


def _hard(upstream: Upstream | None) -> Iterator[Figure]:
    families: tuple[tuple[str, Callable[[int], Obj]], ...] = (
        ("n+1 requests", cases.too_many_requests),
        ("count n+1", cases.too_many_counted),
        ("match on the last two of ten", cases.last_two_match),
        ("distinct, one value short", cases.distinct_short),
        ("last of ten matches nothing", cases.last_matches_nothing),
    )
    for name, family in families:
        too_long: list[int] = []
        for size in (8, 16, 32, 64, 128):
            asked = upstream if len(too_long) < GIVEN_UP else None
            sizes = " and ".join(map(str, too_long))
            skipped = (
                f"upstream not asked: at n = {sizes} it took more than the {TIMEOUT_MS / 1000:g} s that it is given"
            )
            figure = side_by_side(
                asked,
                f"g  {name}, n={size}",
                family(size),
                aim="< 20000",
                repeat=3,
                skipped=skipped if upstream is not None else "",
            )
            if "timeout" in figure.note:
                too_long.append(size)
            yield figure


def _growth(upstream: Upstream | None) -> Iterator[Figure]:
    for nodes in (10, 100, 1000, 5000):
        case = cases.cluster(nodes, full=nodes * 9 // 10)
        yield side_by_side(upstream, f"h  {nodes} nodes × 8, 90 % full", case, aim="", repeat=5)
    for devices in (8, 32, 128, 512):
        case = cases.case(cases.node_slices(0, cases.gpus(devices)), cases.singles(8))
        yield side_by_side(upstream, f"i  8 claims × 1, node of {devices}", case, aim="", repeat=20)
    for devices in (64, 128, 256, 512):
        yield side_by_side(
            upstream, f"j  4 matched by pcieRoot among {devices}", cases.matched(devices), aim="", repeat=10
        )


def memory() -> Figure:
    """Resident memory of a fresh process that holds 5,000 nodes × 8, decoded, with every node's inventory."""
    # In this process, the peak would be that of the groups measured before.
    result = subprocess.run(
        [sys.executable, "-c", "from verification.benchmarks.allocator import hold; hold(5000)"],
        check=True,
        capture_output=True,
        text=True,
    )
    return Figure("k  memory for 5,000 nodes × 8", "MB", [float(result.stdout)], "< 600")


def hold(nodes: int) -> None:
    """Build a cluster, allocate once, and print the peak resident size of this process in MB."""
    Ready(cases.cluster(nodes, full=nodes * 9 // 10)).once()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
