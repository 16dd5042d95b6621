"""Faults with compatibility groups and derived attributes (alpha in Kubernetes 1.37)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from dra_api import cel
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler.allocator import compatibility, constraints
from reference_impl.scheduler.allocator.model import AllocationError

_ALLOCATOR = "reference_impl.scheduler.allocator"
_COMPATIBILITY = f"{_ALLOCATOR}.compatibility"
_SEARCH = f"{_ALLOCATOR}.search:Search"
_GROUPS: dict[str, Any] = {"kubernetes_version": "1.37", "feature_gates": ("DRADeviceCompatibilityGroups=true",)}
_DERIVED: dict[str, Any] = {"kubernetes_version": "1.37", "feature_gates": ("DRADerivedAttributes=true",)}


# -- compatibility groups ----------------------------------------------------------------------------------------------


@mutant("groups-are-not-compared", rule="DRA-498", **_GROUPS)
def _(patch: Patch) -> None:
    """Devices are allocated together whatever their groups."""
    patch.replace(f"{_COMPATIBILITY}:admits", lambda device, state: True)


@mutant("groups-are-compared-by-twos", rule="DRA-499", **_GROUPS)
def _(patch: Patch) -> None:
    """A device needs a group in common with some device of the counter set."""

    def joined(device: Any, state: Any) -> Any:
        found = compatibility.groups_of(device).items()
        return {**state, **{name: groups | state.get(name, frozenset()) for name, groups in found}}

    patch.replace(f"{_COMPATIBILITY}:joined", joined)


def _admits(patch: Patch, *, beside_grouped: bool, beside_each_other: bool) -> None:
    """Change what devices without groups are compatible with."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def admits(device: Any, state: Any) -> bool:
            for name, groups in compatibility.groups_of(device).items():
                if name in state and "" in groups | state[name]:
                    return beside_each_other if groups == state[name] else beside_grouped
            return original(device, state)

        return admits

    patch.wrap(f"{_COMPATIBILITY}:admits", make)


@mutant("no-group-fits-all", rule="DRA-500", **_GROUPS)
def _(patch: Patch) -> None:
    """A device without groups is compatible with every other."""
    _admits(patch, beside_grouped=True, beside_each_other=True)


@mutant("no-group-fits-nothing", rule="DRA-500", **_GROUPS)
def _(patch: Patch) -> None:
    """A device without groups is compatible with none, not even with others without."""
    _admits(patch, beside_grouped=False, beside_each_other=False)


@mutant("groups-of-the-whole-pool", rule="DRA-501", **_GROUPS)
def _(patch: Patch) -> None:
    """All devices of a pool need a group in common, whatever counter sets they consume from."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda device: dict.fromkeys([""], frozenset.intersection(*original(device).values()))

    patch.wrap(f"{_COMPATIBILITY}:groups_of", make)


@mutant("groups-of-the-first-counter-set", rule="DRA-501", **_GROUPS)
def _(patch: Patch) -> None:
    """Of a device on several counter sets, the groups of the first are compared."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda device: dict(list(original(device).items())[:1])

    patch.wrap(f"{_COMPATIBILITY}:groups_of", make)


@mutant("groups-of-a-refused-device-stay", rule="DRA-502", **_GROUPS)
def _(patch: Patch) -> None:
    """A device that is refused leaves its groups on its first counter set."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def within(self: Any, task: Any, position: int) -> bool:
            fits = original(self, task, position)
            device = self._inventory.devices[position]
            state = self._groups.get(device.id.pool_id)
            if not fits and state is not None:
                name, groups = next(iter(compatibility.groups_of(device).items()))
                self._groups[device.id.pool_id] = {**state, name: groups & state.get(name, groups)}
            return fits

        return within

    patch.wrap(f"{_SEARCH}._within_counters", make)


@mutant("groups-of-pools-of-one-name", rule="DRA-503", **_GROUPS)
def _(patch: Patch) -> None:
    """Pools of different drivers with one name are one pool for groups."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def init(self: Any) -> None:
            original(self)
            apart = dict(self.groups)
            for pool in apart:
                for other in apart:
                    if other != pool and other.pool == pool.pool:
                        self.groups[pool] = {**apart[other], **self.groups[pool]}

        return init

    patch.wrap(f"{_ALLOCATOR}.search:Problem.__post_init__", make)


@mutant("groups-of-the-node-only", rule="DRA-504", **_GROUPS)
def _(patch: Patch) -> None:
    """Devices that are allocated on other nodes do not count."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda pool, names: original(pool, {device.id.device for device in pool.devices} & set(names))

    patch.wrap(f"{_COMPATIBILITY}:in_use", make)


@mutant("groups-of-tainted-devices-stay", rule="DRA-505", **_GROUPS)
def _(patch: Patch) -> None:
    """A device with a taint counts with its groups although it is not allocated."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def in_use(pool: Any, names: Any) -> Any:
            return original(pool, {*names, *(device.id.device for device in pool.devices if device.taints)})

        return in_use

    patch.wrap(f"{_COMPATIBILITY}:in_use", make)


@mutant("groups-of-each-claim", rule="DRA-508", **_GROUPS)
def _(patch: Patch) -> None:
    """A device is compared with those of its own claim and with what was in use before."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def within(self: Any, task: Any, position: int) -> bool:
            pool = self._inventory.devices[position].id.pool_id
            whole = self._groups.get(pool)
            if whole is None:
                return original(self, task, position)
            state = self._problem.groups[pool]
            for other, picked in zip(self._tasks, self._picked, strict=True):
                for one in picked if other.claim == task.claim else ():
                    state = compatibility.joined(self._inventory.devices[one], state)
            self._groups[pool] = state
            fits = original(self, task, position)
            self._groups[pool] = whole
            return fits

        return within

    patch.wrap(f"{_SEARCH}._within_counters", make)


# -- derived attributes ------------------------------------------------------------------------------------------------


def _values(patch: Patch, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    patch.wrap(f"{_ALLOCATOR}.derived:values", change)


@mutant("derived-attributes-are-not-compared", rule="DRA-509", **_DERIVED)
def _(patch: Patch) -> None:
    """Constraints compare published attributes only."""
    _values(
        patch,
        lambda _: lambda device, request, attribute, features: constraints.values(device, attribute, features),
    )


@mutant("derived-attributes-of-the-claim", rule="DRA-510", **_DERIVED)
def _(patch: Patch) -> None:
    """The derived attributes of one request hold for all requests of its claim."""

    def shared(claim: Any) -> Any:
        all_of_them = {
            name: expression
            for request in claim.requests
            for sub in request.alternatives
            for name, expression in sub.derived.items()
        }
        requests = tuple(
            dataclasses.replace(
                request,
                alternatives=tuple(
                    dataclasses.replace(sub, derived={**all_of_them, **sub.derived}) for sub in request.alternatives
                ),
            )
            for request in claim.requests
        )
        return dataclasses.replace(claim, requests=requests)

    def make(original: Callable[..., None]) -> Callable[..., None]:
        return lambda self, claims, classes, **options: original(self, [*map(shared, claims)], classes, **options)

    patch.wrap(f"{_ALLOCATOR}.allocate:Allocator.__init__", make)


@mutant("published-attribute-comes-first", rule="DRA-510", **_DERIVED)
def _(patch: Patch) -> None:
    """A published attribute hides the derived one of its name."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def values(device: Any, request: Any, attribute: str, features: Any) -> Any:
            published = constraints.values(device, attribute, features)
            return original(device, request, attribute, features) if published is None else published

        return values

    _values(patch, make)


@mutant("device-without-derived-attribute-is-passed-over", rule="DRA-511", **_DERIVED)
def _(patch: Patch) -> None:
    """A device on which an expression fails is left out, and another is allocated."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def values(*args: Any) -> Any:
            found = original(*args)
            return None if isinstance(found, AllocationError) else found

        return values

    _values(patch, make)


@mutant("derived-values-are-compared-as-text", rule="DRA-512", **_DERIVED)
def _(patch: Patch) -> None:
    """The number 1 equals the text 1."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def values(*args: Any) -> Any:
            found = original(*args)
            return frozenset(("string", str(one)) for _, one in found) if isinstance(found, frozenset) else found

        return values

    _values(patch, make)


@mutant("derived-attributes-of-excluded-devices", rule="DRA-513", **_DERIVED)
def _(patch: Patch) -> None:
    """The expressions of a request are evaluated for all devices of the node."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def task(self: Any, inventory: Any, claim_number: int, sub: Any) -> Any:
            for device in inventory.devices:
                for expression in sub.derived.values():
                    try:
                        view = cel.DeviceView(device.id.driver, device.raw.get("attributes"))
                        cel.derive_attribute(expression, view)
                    except cel.CelError as error:
                        raise AllocationError(str(error)) from None
            return original(self, inventory, claim_number, sub)

        return task

    patch.wrap(f"{_ALLOCATOR}.allocate:Allocator._task", make)


@mutant("selectors-see-derived-attributes", rule="DRA-514", **_DERIVED)
def _(patch: Patch) -> None:
    """The derived attributes of a request are among those that its selectors see."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def matches(device: Any, request: Any, *rest: Any) -> bool:
            known = device.raw.get("attributes") or {}
            view = cel.DeviceView(device.id.driver, known)
            more = {name: cel.derive_attribute(text, view) for name, text in request.derived.items()}
            raw = {**device.raw, "attributes": {**known, **more}}
            return original(dataclasses.replace(device, raw=raw, verdicts={}), request, *rest)

        return matches

    patch.wrap(f"{_ALLOCATOR}.selectors:matches", make)


@mutant("derived-value-is-kept-by-name", rule="DRA-515", **_DERIVED)
def _(patch: Patch) -> None:
    """A derived attribute of a device is evaluated once, also if another alternative has another expression."""
    known: dict[Any, Any] = {}

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def values(device: Any, request: Any, attribute: str, features: Any) -> Any:
            if attribute not in request.derived:
                return original(device, request, attribute, features)
            key = (device.id, attribute)
            if key not in known:
                known[key] = original(device, request, attribute, features)
            return known[key]

        return values

    _values(patch, make)
