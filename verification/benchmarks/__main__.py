"""`python -m verification.benchmarks [GROUP…]`: measure and print; all groups by default."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence

from verification.benchmarks import (
    allocator,
    compute_domain,
    compute_domains,
    device_plugin,
    driver,
    driver_comparison,
    eviction,
    health,
    kai,
    migration,
    nvml,
    prepare,
    real,
    scheduler_perf,
    scheduling,
    whole,
)
from verification.benchmarks.figures import Figure, Table, show

GROUPS: Mapping[str, tuple[str, Callable[[], Sequence[Figure] | Table]]] = {
    "whole": ("Whole commands", whole.figures),
    "scheduling": ("Scheduling on the embedded control plane (medians of 3)", scheduling.figures),
    "migration": ("From device plugins to DRA, node by node, with 500 pods", migration.figures),
    "eviction": (f"A DeviceTaintRule that hits {eviction.PODS_OF_A_RULE:,} pods", eviction.figures),
    "health": (f"Device health in the status of {health.PODS_OF_A_NODE} pods of a node", health.figures),
    "device-plugin": ("Allocate of device plugins, in turns", device_plugin.figures),
    "prepare": (f"NodePrepareResources and back, {prepare.PAIRS} pairs one after the other", prepare.figures),
    "driver-comparison": ("NodePrepareResources on kube-apiserver, drivers in turns", driver_comparison.figures),
    "driver": ("The GPU driver under load", driver.figures),
    "compute-domain": ("A ComputeDomain over the 18 nodes of an NVL72 (medians of 3)", compute_domain.figures),
    "compute-domains": ("Many ComputeDomains with a node each", compute_domains.figures),
    "kai": ("BindRequests beside KAI and kube-scheduler, on the real control plane (medians of 3)", kai.figures),
    "real": ("Beside kube-scheduler, on the real control plane", real.figures),
    "scheduler-perf": ("The DRA workloads of scheduler_perf, in turns (medians of 3)", scheduler_perf.figures),
    "nvml": ("The fake NVML through unmodified pynvml", nvml.figures),
    "allocator": ("The allocator next to upstream's (medians)", lambda: list(allocator.figures())),
}


def main() -> int:
    """Run the groups that were named."""
    named = sys.argv[1:] or list(GROUPS)
    if unknown := [name for name in named if name not in GROUPS]:
        print(f"unknown group {unknown[0]}; groups: {', '.join(GROUPS)}", file=sys.stderr)
        return 4
    # Shown with the figures: on a busy machine they mean little.
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} processors, load {load:.1f}, Python {platform.python_version()}; median, spread, aim")
    for name in named:
        title, figures = GROUPS[name]
        show(title, figures())
    return 0


if __name__ == "__main__":
    sys.exit(main())
