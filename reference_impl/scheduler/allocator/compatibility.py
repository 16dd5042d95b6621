"""Compatibility groups: which devices may consume from one counter set at the same time.

Devices on one counter set must have a group in common, all of them one and the same. Devices without groups are only
compatible with each other. Sets of different pools never meet. Pure functions; a state is immutable.

Source: KEP-4815; allocator_experimental.go checkAndConsumeCompatibilityGroups (v0.37, gate
DRADeviceCompatibilityGroups); rules DRA-498 to DRA-508.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from dra_api.objects import Obj
from reference_impl.scheduler.allocator.model import Device
from reference_impl.scheduler.allocator.pools import NodePool

Groups: TypeAlias = frozenset[str]
# The groups that all devices of a counter set have in common, by counter set; none for a set without devices.
State: TypeAlias = Mapping[str, Groups]

# Stands for the missing groups of devices that have none. It is no group's name, which is a DNS label.
_WITHOUT: Groups = frozenset({""})


def groups_of(device: Device) -> State:
    """Return the groups of a device by the counter set that it consumes from."""
    found: Iterable[Obj] = device.raw.get("consumesCounters") or ()
    return {one["counterSet"]: frozenset(one.get("compatibilityGroups") or ()) or _WITHOUT for one in found}


def in_use(pool: NodePool, allocated_names: Iterable[str]) -> State:
    """Return the state of a pool while the devices `allocated_names` are in use, on any node."""
    state: State = MappingProxyType({})
    for name in sorted(set(allocated_names)):
        device = pool.by_name.get(name)
        if device is not None:
            state = joined(device, state)
    return state


def admits(device: Device, state: State) -> bool:
    """Return whether a device has a group in common with those of every counter set that it consumes from."""
    return all(name not in state or groups & state[name] for name, groups in groups_of(device).items())


def joined(device: Device, state: State) -> State:
    """Return the state with a device."""
    return {**state, **{name: groups & state.get(name, groups) for name, groups in groups_of(device).items()}}
