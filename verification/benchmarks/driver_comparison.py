"""NodePrepareResources of the reference driver, NVIDIA's driver and the official example driver, in turns.

All of them run at the same time on one kube-apiserver, each on its own node, and are called one after the other, so
that other load of the machine affects all alike.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from dra_api.client import KubeClient
from dra_api.objects import NAMESPACES
from dra_api.rpc import ClaimRef
from dra_conformance.core.driver_presets import nvidia
from dra_conformance.kubelet import PluginHandle
from verification.benchmarks.cluster import api_server, has_real_api_server
from verification.benchmarks.drivers import (
    DEVICES,
    EXAMPLE,
    GPU,
    PEER,
    allocated,
    example_driver,
    make_class,
    nvidia_driver,
    own_process,
    prepared,
    unprepared,
)
from verification.benchmarks.figures import Figure, percentile

_REFERENCE = "reference"
_TURNS, _CALLS = 50, 8
_ROUNDS_OF_8 = 25
_WARM_UP = 2
_MANY = 64
_ROUNDS_OF_MANY = 5  # NVIDIA's driver needs many seconds for each
_ENOUGH = 20  # values for a 99th percentile
_ADMIN = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}

Start = Callable[..., AbstractContextManager[PluginHandle]]


@dataclass(slots=True)
class _Driver:
    """A running driver with its claims, the milliseconds of its calls, and how many calls failed."""

    plugin: PluginHandle
    eight: list[ClaimRef]
    many: list[ClaimRef]
    single: list[float] = field(default_factory=list)
    last_of_eight: list[float] = field(default_factory=list)
    last_of_many: list[float] = field(default_factory=list)
    failed: int = 0


def _drivers() -> dict[str, tuple[Start, str]]:
    found: dict[str, tuple[Start, str]] = {_REFERENCE: (own_process, GPU)}
    preset = nvidia("driver", "")
    if preset.missing():
        print(f"  {preset.name} is not built ({preset.build}): left out")
    else:
        found[preset.name] = (nvidia_driver, GPU)
    if PEER.exists():
        found[EXAMPLE] = (example_driver, EXAMPLE)
    else:
        print("  the example driver is not built (make third-party): left out")
    return found


def measure() -> dict[str, _Driver]:
    """Call all drivers in turns: one claim, eight claims at once, and many claims at once with admin access."""
    found: dict[str, _Driver] = {}
    with (
        api_server(real=True) as plane,
        tempfile.TemporaryDirectory(prefix="dra-b-") as folder,
        contextlib.ExitStack() as ending,
        ThreadPoolExecutor(_MANY) as pool,
    ):
        client = KubeClient(plane.transport())
        make_class(client)
        client.patch(NAMESPACES, "default", _ADMIN)
        for number, (name, (start, driver)) in enumerate(_drivers().items()):
            node = f"n{number}"
            plugin = ending.enter_context(start(plane, Path(folder) / node, name=node))
            own = _claims(client, node, driver, DEVICES, admin=False)
            found[name] = _Driver(plugin, own, _claims(client, node, driver, _MANY, admin=True))
        for turn in range(_TURNS + _WARM_UP):
            for one in found.values():
                times = [_pair(one.plugin, one.eight[0]) for _ in range(_CALLS)]
                one.single += times if turn >= _WARM_UP else []
        for turn in range(_ROUNDS_OF_8 + _WARM_UP):
            for one in found.values():
                last = _at_once(one, one.eight, pool)
                one.last_of_eight += [last] if turn >= _WARM_UP else []
        for _ in range(_ROUNDS_OF_MANY):
            for one in found.values():
                one.last_of_many.append(_at_once(one, one.many, pool))
    return found


def _claims(client: KubeClient, node: str, driver: str, count: int, *, admin: bool) -> list[ClaimRef]:
    return [
        allocated(
            client,
            f"{node}-{'admin' if admin else 'own'}-{number}",
            node,
            f"gpu-{number % DEVICES}",
            driver_name=driver,
            admin=admin,
        )
        for number in range(count)
    ]


def _pair(plugin: PluginHandle, ref: ClaimRef) -> float:
    try:
        return prepared(plugin, ref)
    finally:
        unprepared(plugin, ref)


def _at_once(one: _Driver, refs: list[ClaimRef], pool: ThreadPoolExecutor) -> float:
    """Return the milliseconds until the last of several calls at once has its response."""

    def call(ref: ClaimRef) -> bool:
        return bool(one.plugin.prepare([ref])[ref.uid].error)

    began = time.perf_counter()
    one.failed += sum(pool.map(call, refs))
    took = (time.perf_counter() - began) * 1000
    for ref in refs:
        unprepared(one.plugin, ref)
    return took


def figures() -> list[Figure]:
    """Return the times of each driver, and those of the reference relative to the fastest other one."""
    if not has_real_api_server():
        return []
    found = measure()
    kinds: Mapping[str, Callable[[_Driver], list[float]]] = {
        "one Prepare": lambda one: one.single,
        "last of 8 at once": lambda one: one.last_of_eight,
        f"last of {_MANY} at once": lambda one: one.last_of_many,
    }
    calls = DEVICES * (_ROUNDS_OF_8 + _WARM_UP) + _MANY * _ROUNDS_OF_MANY
    for name, one in found.items():
        if one.failed:
            print(f"  {name}: {one.failed} of {calls} calls at once failed")
    rows = []
    for what, times in kinds.items():
        # A few values have no 99th percentile; the greatest is named as such.
        last = "p99" if len(times(found[_REFERENCE])) >= _ENOUGH else "max"
        rows += [
            Figure(f"{what}, {name}", "ms p50", times(one), note=f"{last} {percentile(times(one), 0.99):.3g} ms")
            for name, one in found.items()
        ]
        # A driver that refuses calls answers them soon; it is not the fastest.
        others = [times(one) for name, one in found.items() if name != _REFERENCE and not one.failed]
        for share, label in ((0.5, "p50"), (0.99, last)) if others else ():
            best = min(percentile(values, share) for values in others)
            ratio = percentile(times(found[_REFERENCE]), share) / best
            rows.append(Figure(f"{what}, {label}, reference / fastest other", "x", [ratio], aim="≤ 1"))
    return rows
