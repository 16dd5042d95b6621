"""Judges one allocation: every rule that it breaks, with a sentence and the field where it shows.

A pure function of the case. Each question is one method of `_Bench`, which lives for one judgement.

Source: KEP-4381 and the KEPs named in the modules beside this one; the allocation groups F to K and M of the rules.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from dra_conformance.oracle import attributes, configs, device_requests, nodes, reservations
from dra_conformance.oracle.cluster import Cluster, Use
from dra_conformance.oracle.device_requests import show
from dra_conformance.oracle.nodes import Place
from dra_conformance.oracle.pools import DeviceId, Listed, Pool
from dra_conformance.oracle.reservations import Say
from dra_conformance.oracle.schema import Claim, DeviceClass, Meta, Result, Toleration, Wish
from dra_conformance.oracle.verdict import Case, Judgement, Settings, Violation

MAX_RESULTS = 32
RESULTS = "status.allocation.devices.results"
_NO_CLASS = DeviceClass(metadata=Meta(name="unknown"))


@dataclass(frozen=True, slots=True)
class _Given:
    """One result, with the wish it serves and the device it names, where they exist."""

    number: int
    result: Result
    wish: Wish | None
    listed: Listed | None
    shared: bool

    @property
    def path(self) -> str:
        return f"{RESULTS}[{self.number}]"

    @property
    def title(self) -> str:
        return f"device {'/'.join(self.result.id)}"


def judge(case: Case) -> Judgement:
    """Which rules the claim's allocation and reservations break; an unallocated claim can only break DRA-083."""
    bench = _Bench(case)
    if case.claim.status.allocation is not None:
        bench.judge_allocation()
    reservations.judge(case, bench.broken, bench.remark)
    return Judgement(tuple(dict.fromkeys(bench.violations)), tuple(dict.fromkeys(bench.remarks)))


@dataclass
class _Bench:
    case: Case
    violations: list[Violation] = field(default_factory=list)
    remarks: list[Violation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cluster: Cluster = self.case.cluster
        self.claim: Claim = self.case.claim
        self.settings: Settings = self.case.settings
        allocation = self.claim.status.allocation
        self.made: datetime | None = allocation.allocation_timestamp if allocation else None
        self.selector = allocation.node_selector if allocation else None
        self.node = nodes.only_node(self.selector)
        self.given = [self._given(number, result) for number, result in enumerate(self.claim.results)]

    def _given(self, number: int, result: Result) -> _Given:
        listed = self.cluster.listed(self.claim, result)
        return _Given(number, result, self.claim.wishes.get(result.request), listed, self._shared(listed, result))

    def _shared(self, listed: Listed | None, result: Result) -> bool:
        if listed is None:
            return bool(result.share_id)
        return self._can_share(listed)

    def _can_share(self, listed: Listed) -> bool:
        return listed.device.allow_multiple_allocations and self.settings.on("DRAConsumableCapacity")

    # -- saying ----------------------------------------------------------------------------------------------------

    def broken(self, rule: str, message: str, path: str) -> None:
        """A rule is broken, for certain."""
        self.violations.append(Violation(rule, message, path))

    def remark(self, rule: str, message: str, path: str) -> None:
        """Something that may be wrong."""
        self.remarks.append(Violation(rule, message, path))

    def _if_fresh(self, rule: str, message: str, path: str) -> None:
        """A violation if nothing can have changed since the allocation, else a remark."""
        (self.broken if self.settings.fresh else self.remark)(rule, message, path)

    def _unless_younger(self, *changes: datetime | None) -> Say:
        """How to say what is wrong now: as a remark when something it rests on has changed since the allocation."""
        young = not self.settings.fresh and any(
            self.made is not None and change is not None and change > self.made for change in changes
        )
        if not young:
            return self.broken
        return lambda rule, message, path: self.remark(rule, f"{message}; it has changed since the allocation", path)

    # -- the whole -------------------------------------------------------------------------------------------------

    def judge_allocation(self) -> None:
        """Every question in turn."""
        if len(self.given) > MAX_RESULTS:
            self.broken("DRA-157", f"{len(self.given)} devices are more than {MAX_RESULTS}", RESULTS)
        for given in self.given:
            self.judge_request(given)
            self.judge_device(given)
        self.judge_counts()
        self.judge_users()
        self.judge_constraints()
        self.judge_counters()
        self.judge_capacity()
        self.judge_node_selector()
        self.judge_configs()

    # -- one result ------------------------------------------------------------------------------------------------

    def judge_request(self, given: _Given) -> None:
        """The request exists, and the result repeats what it says (DRA-088, DRA-220, DRA-233)."""
        result, wish = given.result, given.wish
        if wish is None:
            names = ", ".join(self.claim.wishes) or "none"
            self.broken(
                "DRA-088", f"{given.title} is for request {result.request}, of {names}", f"{given.path}.request"
            )
            return
        if result.admin_access != wish.admin_access:
            says = "has" if result.admin_access else "lacks"
            self.broken(
                "DRA-233",
                f"{given.title} {says} admin access, unlike request {result.request}",
                f"{given.path}.adminAccess",
            )
        if self.settings.on("DRADeviceTaints") and _canonical(result.tolerations) != _canonical(wish.tolerations):
            self.broken(
                "DRA-220",
                f"{given.title} does not carry the tolerations of request {result.request}",
                f"{given.path}.tolerations",
            )

    def judge_device(self, given: _Given) -> None:
        """The device is on offer, suits the request, and its own conditions are copied."""
        listed, wish, path = given.listed, given.wish, given.path
        if listed is None:
            self._judge_absent(given)
            return
        self._judge_pool(given, listed)
        place = self._place()
        if place is not None and (offered := listed.offer.to(place)) is not True:
            rule = (
                "DRA-197"
                if listed.piece.spec.per_device_node_selection
                else ("DRA-143" if listed.offer.node_selector else "DRA-141")
            )
            if offered is None:
                self.remark(rule, f"cannot tell whether {given.title} is for node {place.name}: no such Node", path)
            else:
                say = self._unless_younger(listed.piece.metadata.changed)
                say(rule, f"{given.title} is not offered to node {place.name}", f"{path}.device")
        self._judge_gates(given, listed)
        if wish is not None:
            self._judge_selectors(given, listed, wish)
            self._judge_taints(given, listed, wish)
            self._judge_consumption(given, listed, wish)
        device, result = listed.device, given.result
        if result.binding_conditions != device.binding_conditions:
            self.broken(
                "DRA-250", f"{given.title} has not the binding conditions of its device", f"{path}.bindingConditions"
            )
        if result.binding_failure_conditions != device.binding_failure_conditions:
            self.broken(
                "DRA-250",
                f"{given.title} has not the binding failure conditions of its device",
                f"{path}.bindingFailureConditions",
            )

    def _place(self) -> Place | None:
        return self.cluster.place(self.node) if self.node else None

    def _judge_absent(self, given: _Given) -> None:
        driver, name, device = given.result.id
        path = f"{given.path}.device"
        pool = self.cluster.pools.get((driver, name))
        if pool is None:
            self.broken("DRA-145", f"{given.title} is of a pool that no slice names", f"{given.path}.pool")
            return
        old = [piece for piece in pool.slices if any(one.name == device for one in piece.spec.devices)]
        if old:
            here = any(
                entry.offer.to(self._place() or Place("")) is not False
                for entries in pool.by_name.values()
                for entry in entries
            )
            generation = max(piece.spec.pool.generation for piece in old)
            say = self._unless_younger(*(piece.metadata.changed for piece in pool.current))
            say(
                "DRA-145" if here else "DRA-148",
                f"{given.title} is in a slice of generation {generation}; the pool is at {pool.generation}",
                path,
            )
            return
        say = self._unless_younger(*(piece.metadata.changed for piece in pool.current))
        say("DRA-145", f"{given.title} is in no slice of generation {pool.generation} of its pool", path)

    def _judge_pool(self, given: _Given, listed: Listed) -> None:
        pool = self.cluster.pools[listed.id[0], listed.id[1]]
        fault = self._fault(pool, self._place() or Place(listed.offer.node_name))
        if not fault:
            return
        rule = "DRA-146" if not pool.complete else "DRA-149" if "listed twice" in fault else "DRA-194"
        if rule == "DRA-146" and self.settings.release == 34:
            return  # 1.34 takes single devices from incomplete pools
        text = f"{given.title} is of a pool that cannot be used: {fault}"
        if self.settings.fresh:
            self.broken(rule, text, f"{given.path}.pool")
        else:
            self.remark(rule, f"{text}; it may have been another when the device was allocated", f"{given.path}.pool")

    def _fault(self, pool: Pool, place: Place) -> str:
        return pool.fault(place, partitionable=self.settings.on("DRAPartitionableDevices"))

    def _judge_gates(self, given: _Given, listed: Listed) -> None:
        """Features that are off keep devices that need them from use (DRA-199, DRA-256)."""
        partitioned = listed.device.consumes_counters or listed.piece.spec.per_device_node_selection
        if partitioned and not self.settings.on("DRAPartitionableDevices"):
            self.broken("DRA-199", f"{given.title} needs partitionable devices, which are off", given.path)
        if listed.device.binding_conditions and not self.settings.on("DRADeviceBindingConditions"):
            self.broken("DRA-256", f"{given.title} needs binding conditions, which are off", given.path)

    def _judge_selectors(self, given: _Given, listed: Listed, wish: Wish) -> None:
        device_class = self.cluster.classes_by_name.get(wish.device_class_name)
        if device_class is None:
            text = f"request {given.result.request} names the class {wish.device_class_name}, which is not there"
            self._if_fresh("DRA-124", text, given.path)
            device_class = _NO_CLASS
        reason, failed = device_requests.unselected(listed, wish, device_class)
        if reason:
            say = self._unless_younger(listed.piece.metadata.changed, device_class.metadata.changed)
            rule = "DRA-161" if failed else "DRA-158"
            say(rule, f"{given.title} does not suit request {given.result.request}: {reason}", f"{given.path}.device")

    def _judge_taints(self, given: _Given, listed: Listed, wish: Wish) -> None:
        if not self.settings.on("DRADeviceTaints"):
            return
        for taint in device_requests.untolerated(listed, wish):
            rule = "DRA-219" if wish.admin_access else "DRA-213"
            text = f"{given.title} has the taint {_taint(taint.key, taint.value, taint.effect)}, which request "
            text += f"{given.result.request} does not tolerate"
            if self.made is None or taint.time_added is None:
                self._if_fresh(rule, text, f"{given.path}.device")
            elif taint.time_added < self.made:
                self.broken(rule, text, f"{given.path}.device")
            elif taint.time_added == self.made:
                self.remark(rule, f"{text}; both are of the same second", f"{given.path}.device")

    def _judge_consumption(self, given: _Given, listed: Listed, wish: Wish) -> None:
        """What is written of shared capacity is what the request takes (DRA-201 to DRA-208)."""
        rule, reason = device_requests.too_small(listed, wish, shared=given.shared)
        if reason:
            say = self._unless_younger(listed.piece.metadata.changed)
            say(rule, f"{given.title} {reason}", f"{given.path}.device")
        result = given.result
        if not given.shared:
            for name, present in (("shareID", result.share_id), ("consumedCapacity", result.consumed_capacity)):
                if present:
                    self.broken("DRA-208", f"{given.title} is exclusive, yet has a {name}", f"{given.path}.{name}")
            return
        if wish.admin_access and not result.share_id:
            return
        if not result.share_id:
            self.broken("DRA-201", f"{given.title} is shared, yet has no shareID", f"{given.path}.shareID")
        if not reason:
            self._judge_amounts(given, listed, wish)

    def _judge_amounts(self, given: _Given, listed: Listed, wish: Wish) -> None:
        wanted = device_requests.wanted_capacity(listed, wish)
        seen = {
            device_requests.qualified(name, listed.driver): device_requests.amount(value)
            for name, value in given.result.consumed_capacity.items()
        }
        path = f"{given.path}.consumedCapacity"
        for short, capacity in listed.device.capacity.items():
            name = device_requests.qualified(short, listed.driver)
            right = device_requests.consumption(capacity, wanted.get(name))
            taken = seen.pop(name, None)
            if taken == right:
                continue
            policy = capacity.request_policy
            asked = name in wanted
            rule = (
                "DRA-203"
                if not asked and not (policy and policy.default is not None)
                else ("DRA-202" if not asked else "DRA-206" if policy and policy.valid_values else "DRA-204")
            )
            text = f"{given.title} takes {show(taken)} of {short}, where the request takes {show(right)}"
            rounded_otherwise = device_requests.fractional(capacity) and (self.settings.release or 0) < 37
            (self.remark if rounded_otherwise else self._unless_younger(listed.piece.metadata.changed))(
                rule, text, path
            )
        for name in seen:
            self.broken("DRA-203", f"{given.title} takes of {name}, which it does not have", path)

    # -- all results -----------------------------------------------------------------------------------------------

    def judge_counts(self) -> None:
        """Each request has its devices: so many, or all; one alternative of each prioritized request."""
        per_name = Counter(given.result.request for given in self.given)
        for request in self.claim.spec.devices.requests:
            chosen = [(name, wish) for name, wish in request.alternatives if per_name[name]]
            if not chosen:
                rule = "DRA-153" if request.exactly else "DRA-181"
                self.broken(rule, f"request {request.name} has no device", RESULTS)
            if len(chosen) > 1:
                names = " and ".join(name for name, _ in chosen)
                self.broken("DRA-181", f"request {request.name} has devices for {names}; one must be chosen", RESULTS)
            for name, wish in chosen:
                if wish.everything:
                    self._judge_all(name, wish)
                elif per_name[name] != wish.count:
                    self.broken(
                        "DRA-153",
                        f"request {name} has {_devices(per_name[name])}, where {wish.count} are asked for",
                        RESULTS,
                    )

    def _judge_all(self, name: str, wish: Wish) -> None:
        """Every matching device of the node that the allocation was made for is there (DRA-154)."""
        device_class = self.cluster.classes_by_name.get(wish.device_class_name)
        if device_class is None:
            return
        held = {given.result.id for given in self.given if given.result.request == name}
        shortest: list[Listed] | None = None
        for place in self._candidate_places():
            missing = self._missing(place, held, wish, device_class)
            if shortest is None or len(missing) < len(shortest):
                shortest = missing
        if shortest:
            text = f"request {name} asks for all devices, yet {'/'.join(shortest[0].id)} is not among them"
            if len(shortest) > 1:
                text += f", nor {len(shortest) - 1} more"
            self._unless_younger(*(entry.piece.metadata.changed for entry in shortest))("DRA-154", text, RESULTS)
        here = self._place()
        for pool in self.cluster.pools_for(here) if here is not None else ():
            if here is not None and (fault := self._fault(pool, here)) and next(pool.devices(here), None) is not None:
                self._if_fresh(
                    "DRA-147", f"request {name} asks for all devices, yet of pool {pool.title} {fault}", RESULTS
                )

    def _candidate_places(self) -> list[Place]:
        if self.node:
            return [self.cluster.place(self.node)]
        known = [place for place in self.cluster.places.values() if nodes.selects(self.selector, place)]
        return known or [Place("")]

    def _missing(self, place: Place, held: set[DeviceId], wish: Wish, device_class: DeviceClass) -> list[Listed]:
        return [
            entry
            for pool in self.cluster.pools_for(place)
            if not self._fault(pool, place)
            for entry in pool.devices(place)
            if entry.id not in held
            and not device_requests.unselected(entry, wish, device_class)[0]
            and not device_requests.too_small(entry, wish, shared=self._can_share(entry))[0]
            and self._gates_allow(entry)
        ]

    def _gates_allow(self, entry: Listed) -> bool:
        partitioned = entry.device.consumes_counters or entry.piece.spec.per_device_node_selection
        return not (partitioned and not self.settings.on("DRAPartitionableDevices")) and not (
            entry.device.binding_conditions and not self.settings.on("DRADeviceBindingConditions")
        )

    def judge_users(self) -> None:
        """No device is given away twice, in this claim or with another (DRA-133, DRA-153, DRA-210, DRA-235)."""
        before: dict[DeviceId, _Given] = {}
        for given in self.given:
            path = f"{given.path}.device"
            first = before.setdefault(given.result.id, given)
            if first is not given:
                same = first.result.request == given.result.request
                if given.result.admin_access or first.result.admin_access:
                    if not given.shared:
                        self.broken("DRA-235", f"{given.title} is in this claim twice", path)
                elif same:
                    self.broken("DRA-153", f"{given.title} serves request {given.result.request} twice", path)
                elif not given.shared:
                    self.broken("DRA-133", f"{given.title} is in this claim twice and cannot be shared", path)
            if given.result.admin_access:
                continue
            for use in self._others(given.result.id):
                if not given.shared or not use.result.share_id:
                    self.broken("DRA-133", f"{given.title} is given to claim {use.claim.title} too", path)
            share = given.result.share_id
            twins = [other.result for other in self.given if other is not given and other.result.id == given.result.id]
            twins += [use.result for use in self._others(given.result.id)]
            if share and any(other.share_id == share for other in twins):
                self.broken(
                    "DRA-201", f"{given.title}: the shareID {share} is not its own alone", f"{given.path}.shareID"
                )

    def _others(self, device: DeviceId) -> list[Use]:
        return [use for use in self.cluster.uses.get(device, ()) if use.claim.key != self.claim.key]

    def judge_constraints(self) -> None:
        """The devices that a constraint covers have the attribute, and it matches or differs (DRA-168 to DRA-176)."""
        for number, constraint in enumerate(self.claim.spec.devices.constraints):
            attribute, match = attributes.attribute_of(constraint)
            path = f"spec.devices.constraints[{number}]"
            if not attribute or (not match and not self.settings.on("DRAConsumableCapacity")):
                continue
            seen: list[tuple[_Given, attributes.Values]] = []
            for given in self.given:
                if given.listed is None or not constraint.covers(given.result.request):
                    continue
                lists = self.settings.on("DRAListTypeAttributes")
                found = attributes.values(given.listed, attribute, lists=lists)
                if found is None:
                    say = self._unless_younger(given.listed.piece.metadata.changed)
                    say("DRA-169", f"{given.title} lacks the attribute {attribute} of a constraint", path)
                else:
                    seen.append((given, found))
            if attributes.holds([found for _, found in seen], match=match):
                continue
            listing = ", ".join(f"{given.result.device}: {attributes.show(found)}" for given, found in seen)
            say = self._unless_younger(*(given.listed.piece.metadata.changed for given, _ in seen if given.listed))
            many = any(len(found) > 1 for _, found in seen)
            rule = ("DRA-175" if many else "DRA-168") if match else ("DRA-209" if _repeated(seen) else "DRA-174")
            text = "has no common value" if match else "is not distinct"
            say(rule, f"{attribute} {text} among its devices ({listing})", path)

    def judge_counters(self) -> None:
        """What all allocated devices of a pool take together is there (DRA-189 to DRA-193, DRA-211)."""
        mine = {given.result.id: given for given in self.given if given.listed and not given.result.admin_access}
        for pool_id in dict.fromkeys((driver, pool) for driver, pool, _ in mine):
            own = [given.listed for given in mine.values() if given.result.id[:2] == pool_id and given.listed]
            touched = {counter for listed in own for counter in listed.consumes}
            if not touched:
                continue
            counted = {listed.id: listed for listed in own}
            for use in self.cluster.uses_by_pool.get(pool_id, ()):
                if use.claim.key != self.claim.key and use.result.id not in counted:
                    other = self.cluster.listed(use.claim, use.result)
                    if other is not None:
                        counted[other.id] = other
            pool = self.cluster.pools[pool_id]
            for counter in sorted(touched):
                total = sum(listed.consumes.get(counter, 0) for listed in counted.values())
                if counter in pool.counters and total > pool.counters[counter]:
                    users = sorted(name for (_, _, name), listed in counted.items() if counter in listed.consumes)
                    say = self._unless_younger(*(piece.metadata.changed for piece in pool.current))
                    if not any(counter in listed.consumes and not self._charged_before(listed) for listed in own):
                        say = self.remark  # all were charged with other shares: who came first is not known
                    say(
                        "DRA-189",
                        f"pool {pool.title}: counter {'/'.join(counter)} is {show(pool.counters[counter])}, yet "
                        f"{show(total)} is taken, by {', '.join(users)}",
                        RESULTS,
                    )

    def _charged_before(self, listed: Listed) -> bool:
        """Whether another claim has a share of the device, so that this one need not have cost anything (DRA-211)."""
        return self._can_share(listed) and any(use.result.share_id for use in self._others(listed.id))

    def judge_capacity(self) -> None:
        """What all results take of a shared device's capacity together is there (DRA-212)."""
        for device in dict.fromkeys(given.result.id for given in self.given if given.shared):
            listed = next(given.listed for given in self.given if given.result.id == device)
            if listed is None:
                continue
            results = [given.result for given in self.given if given.result.id == device]
            results = [result for result in results if not result.admin_access]
            if not results:
                continue
            results += [use.result for use in self._others(device)]
            for short, capacity in listed.device.capacity.items():
                names = {short, device_requests.qualified(short, listed.driver)}
                total = sum(
                    device_requests.amount(value)
                    for result in results
                    for name, value in result.consumed_capacity.items()
                    if name in names
                )
                if total > device_requests.amount(capacity.value):
                    self._unless_younger(listed.piece.metadata.changed)(
                        "DRA-212",
                        f"device {'/'.join(device)}: capacity {short} is {capacity.value}, yet {show(total)} is "
                        f"taken by {len(results)} results",
                        RESULTS,
                    )

    def judge_node_selector(self) -> None:
        """The allocation is usable exactly where its devices are (DRA-141 to DRA-144, DRA-197, DRA-198, DRA-254)."""
        path = "status.allocation.nodeSelector"
        listed = [given.listed for given in self.given if given.listed is not None]
        if not listed or len(listed) < len(self.given):
            return
        pins = {entry.offer.node_name for entry in listed} - {""}
        if len(pins) > 1:
            self.broken("DRA-141", f"its devices are on different nodes: {', '.join(sorted(pins))}", path)
        elif pins or any(entry.device.binds_to_node for entry in listed):
            wanted = next(iter(pins), "")
            per_device = any(entry.piece.spec.per_device_node_selection for entry in listed)
            rule = "DRA-254" if not wanted else "DRA-197" if per_device else "DRA-141"
            if not self.node or (wanted and self.node != wanted):
                where = f"node {wanted}" if wanted else "one node"
                self.broken(rule, f"the node selector does not pin the allocation to {where}", path)
        else:
            self._judge_network_selector(listed, path)

    def _judge_network_selector(self, listed: list[Listed], path: str) -> None:
        selectors = [entry.offer.node_selector for entry in listed]
        if any(selector and len(selector.node_selector_terms) > 1 for selector in selectors):
            self.broken("DRA-198", "a device's node selector has several terms, which cannot be merged into one", path)
            return
        wanted = nodes.requirements(selectors)
        seen = nodes.requirements([self.selector])
        terms = len(self.selector.node_selector_terms) if self.selector else 0
        if not wanted and self.selector is not None:
            self.broken("DRA-142", "the devices can be used on all nodes, yet there is a node selector", path)
        elif wanted and (seen != wanted or terms != 1):
            rule = "DRA-143" if len({nodes.requirements([one]) for one in selectors}) == 1 else "DRA-144"
            missing = ", ".join(key for _, key, _, _ in sorted(wanted - seen)) or "none missing"
            self.broken(rule, f"the node selector is not that of the devices (requirements missing: {missing})", path)

    def judge_configs(self) -> None:
        """The configs of classes and claim, for the requests that were served (DRA-177 to DRA-180)."""
        names = dict.fromkeys(given.result.request for given in self.given)
        order = [name for name in self.claim.wishes if name in names]
        chosen = [(name, self.claim.wishes[name]) for name in order]
        strict = (self.settings.release or 0) >= 37
        changed = [
            self.cluster.classes_by_name[wish.device_class_name].metadata.changed
            for _, wish in chosen
            if wish.device_class_name in self.cluster.classes_by_name
        ]
        for found in configs.problems(self.claim, chosen, self.cluster.classes_by_name, strict=strict):
            say = self._unless_younger(*changed) if found.rule == "DRA-178" else self.broken
            say(found.rule, found.message, found.path)


def _canonical(tolerations: list[Toleration]) -> list[tuple[object, ...]]:
    return [(one.key, one.operator or "Equal", one.value, one.effect, one.toleration_seconds) for one in tolerations]


def _taint(key: str, value: str, effect: str) -> str:
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"


def _devices(count: int) -> str:
    return f"{count} device{'s'[: count != 1]}"


def _repeated(seen: list[tuple[_Given, attributes.Values]]) -> bool:
    return len({given.result.id for given, _ in seen}) < len(seen)
