"""Faults of the scheduler (and of the binder if a rule applies to it) on the main path, one for each rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from dra_api.objects import PODS, key_of
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler.allocator.model import MissingClass

Obj = dict[str, Any]

_SCHEDULER = "reference_impl.scheduler"
_ALLOCATOR = f"{_SCHEDULER}.allocator"


def _deaf(patch: Patch, handler: str, kind: str) -> None:
    """The scheduler does not receive changes of one type ("ADDED", "MODIFIED") once it has started."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def on_change(self: Any, change: Any) -> None:
            # Before the first pod arrives, the scheduler still reads its first lists.
            if change.type != kind or not self.pods:
                original(self, change)

        return on_change

    patch.wrap(f"{_SCHEDULER}.cluster_view:ClusterView.{handler}", make)


def _requests(patch: Patch, change: Callable[[Any], Any]) -> None:
    """Change how the scheduler reads requests."""
    patch.wrap(f"{_ALLOCATOR}.model:_subrequest", lambda original: lambda *a, **k: change(original(*a, **k)))


def _verdicts(patch: Patch, word: str, answer: bool | str) -> None:
    """Expressions that contain a word give one result for every device."""

    def make(original: Callable[..., bool | str]) -> Callable[..., bool | str]:
        def verdict(expression: str | None, device: Any, features: Any) -> bool | str:
            return answer if word in (expression or "") else original(expression, device, features)

        return verdict

    patch.wrap(f"{_ALLOCATOR}.selectors:verdict", make)


@mutant("unneeded-claim-awaited", rule="DRA-107")
def _(patch: Patch) -> None:
    """A pod waits for the claim of a template although its status says that no claim is needed."""

    def make(original: Callable[..., Obj | None]) -> Callable[..., Obj | None]:
        def recorded(pod: Obj, reference: str) -> Obj | None:
            status = original(pod, reference)
            return status if (status or {}).get("resourceClaimName") else None

        return recorded

    patch.wrap(f"{_SCHEDULER}.pod_claims:recorded", make)


@mutant("late-claim-ignored", rule="DRA-122")
def _(patch: Patch) -> None:
    """A claim that is created after its pod is ignored."""
    _deaf(patch, "on_claim", "ADDED")


@mutant("late-claim-wakes-one-pod", rule="DRA-122")
def _(patch: Patch) -> None:
    """Of several pods that wait for a claim only the first is looked at when the claim is created."""
    patch.wrap(
        f"{_SCHEDULER}.waiting:Waiting.for_claim",
        lambda original: lambda self, claim: sorted(original(self, claim))[:1],
    )


@mutant("ended-wait-ends-that-of-others", rule="DRA-122")
def _(patch: Patch) -> None:
    """A pod that no longer waits for a claim is removed with all others that wait for it."""

    def remove(self: Any, key: Any) -> None:
        wait = self._waits.pop(key, None)
        for claim in wait.claims if wait else ():
            self._by_claim.pop(claim, None)

    patch.replace(f"{_SCHEDULER}.waiting:Waiting.remove", remove)


@mutant("late-class-ignored", rule="DRA-124")
def _(patch: Patch) -> None:
    """A class that is created after its pod is ignored."""
    _deaf(patch, "on_class", "ADDED")


@mutant("condition-is-remembered-by-name", rule="DRA-124")
def _(patch: Patch) -> None:
    """A pod gets no condition if a former pod of its name had the same one."""
    reported: set[tuple[tuple[str, str], str]] = set()

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def report(self: Any, pod: Any, reason: str, message: str) -> None:
            known = (key_of(pod), message)
            if known not in reported:
                reported.add(known)
                original(self, pod, reason, message)

        return report

    patch.wrap("reference_impl.scheduler.binding_queue:BindingQueue.report", make)


@mutant("condition-without-missing-class", rule="DRA-124")
def _(patch: Patch) -> None:
    """The condition does not name the missing class."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def check(claim: Any, classes: Any, features: Any) -> None:
            try:
                original(claim, classes, features)
            except MissingClass:
                raise MissingClass("something is missing") from None

        return check

    patch.wrap(f"{_ALLOCATOR}.allocate:check_claim", make)


@mutant("changed-class-ignored", rule="DRA-125")
def _(patch: Patch) -> None:
    """Changes of a class are ignored."""
    _deaf(patch, "on_class", "MODIFIED")


@mutant("freed-device-stays-in-use", rule="DRA-126")
def _(patch: Patch) -> None:
    """Devices of deallocated claims stay in use."""
    patch.replace(f"{_ALLOCATOR}.taken:Taken.remove", lambda self, results: None)


@mutant("deallocation-not-noticed", rule="DRA-126")
def _(patch: Patch) -> None:
    """Pods wait for the end of other pods; the deallocation of a claim is not noticed."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def set_status(self: Any, key: Any, allocation: Any) -> bool:
            original(self, key, allocation)
            return False

        return set_status

    patch.wrap("reference_impl.scheduler.claim_ledger:ClaimLedger.set_status", make)


@mutant("new-slice-ignored", rule="DRA-127")
def _(patch: Patch) -> None:
    """A slice that is created after its pod is ignored."""
    _deaf(patch, "on_slice", "ADDED")


@mutant("allocation-without-finalizer", rule="DRA-128")
def _(patch: Patch) -> None:
    """Claims are allocated without the finalizer."""
    patch.replace("reference_impl.binder.claims:ClaimWriter.needs_finalizer", lambda self, claim: False)


@mutant("shared-claim-usable-anywhere", rule="DRA-130")
def _(patch: Patch) -> None:
    """The node selector of an allocated claim is ignored."""
    patch.replace(f"{_SCHEDULER}.cycle:usable_on", lambda allocation, state: True)


@mutant("devices-allocated-twice", rule="DRA-133")
def _(patch: Patch) -> None:
    """Devices in use count as free."""
    patch.replace(f"{_ALLOCATOR}.taken:Taken.add", lambda self, results: None)


# The short cuts decide many attempts by counting, so that the patched functions would not be called.
def _without_short_cuts(patch: Patch) -> None:
    """Every attempt runs the search, which the faults below change."""
    patch.replace(f"{_ALLOCATOR}.allocate:out_of_reach", lambda problem, tasks: False)
    patch.replace(f"{_ALLOCATOR}.allocate:alike", lambda problem, tasks: False)


@mutant("claims-of-a-pod-allocated-independently", rule="DRA-134")
def _(patch: Patch) -> None:
    """The claims of a pod are allocated without regard to each other."""

    def unused(self: Any, task: Any) -> int:
        return int(self._inventory.everything & ~self._problem.busy & ~self._used_by_claim[task.claim])

    _without_short_cuts(patch)
    patch.replace(f"{_ALLOCATOR}.search:Search._unused", unused)
    # The search counts free devices by the correct rules and would give up before it meets the fault.
    patch.replace(f"{_ALLOCATOR}.search:Search._hopeless", lambda self, number, nth, after: False)


def _node_selector(patch: Patch, change: Callable[[Any, Any], Any]) -> None:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda devices, node: change(original(devices, node), node)

    patch.wrap(f"{_ALLOCATOR}.results:node_selector", make)


def _pinned(node: Any) -> Obj:
    only = {"key": "metadata.name", "operator": "In", "values": [node.name]}
    return {"nodeSelectorTerms": [{"matchFields": [only]}]}


@mutant("allocation-without-node-selector", rule="DRA-141")
def _(patch: Patch) -> None:
    """Allocations have no node selector."""
    _node_selector(patch, lambda found, node: None)


@mutant("network-devices-pinned", rule="DRA-142")
def _(patch: Patch) -> None:
    """Devices for all nodes are allocated for the first pod's node."""
    _node_selector(patch, lambda found, node: found or _pinned(node))


@mutant("rack-devices-pinned", rule="DRA-143")
def _(patch: Patch) -> None:
    """Devices for some nodes are allocated for the first pod's node."""
    _node_selector(patch, lambda found, node: _pinned(node))


def _tolerant_integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


@mutant("selector-integers-with-underscores", rule="DRA-143")
def _(patch: Patch) -> None:
    """Node selectors parse integers as Python does, but keep to 64 bits."""

    def parse(text: str) -> int | None:
        number = _tolerant_integer(text)
        return number if number is not None and -(2**63) <= number < 2**63 else None

    patch.replace("reference_impl.node_selector:parse_int64", parse)


@mutant("selector-integers-of-any-size", rule="DRA-143")
def _(patch: Patch) -> None:
    """Node selectors compare integers that do not fit into 64 bits."""

    def parse(text: str) -> int | None:
        return _tolerant_integer(text) if text.isdecimal() else None

    patch.replace("reference_impl.node_selector:parse_int64", parse)


@mutant("selector-integers-below-the-largest", rule="DRA-143")
def _(patch: Patch) -> None:
    """Node selectors do not compare the largest integer of 64 bits."""
    patch.wrap(
        "reference_impl.node_selector:parse_int64",
        lambda original: lambda text: None if original(text) == 2**63 - 1 else original(text),
    )


@mutant("selector-integers-of-19-digits", rule="DRA-143")
def _(patch: Patch) -> None:
    """Node selectors count leading zeros as digits of an integer."""
    patch.wrap(
        "reference_impl.node_selector:parse_int64",
        lambda original: lambda text: original(text) if len(text) <= 19 else None,
    )


@mutant("oldest-generation-used", rule="DRA-145")
def _(patch: Patch) -> None:
    """The scheduler keeps using the first generation of a pool."""
    patch.replace(f"{_ALLOCATOR}.pools:newest_generation", lambda slices: min(piece.generation for piece in slices))


@mutant("incomplete-pool-used", rule="DRA-146")
def _(patch: Patch) -> None:
    """Pools are used before all of their slices exist."""
    patch.replace(f"{_ALLOCATOR}.pools:is_complete", lambda slices: True)


@mutant("count-is-one", rule="DRA-153")
def _(patch: Patch) -> None:
    """Every request gets one device."""
    _requests(patch, lambda request: dataclasses.replace(request, count=1))


@mutant("all-is-one", rule="DRA-154")
def _(patch: Patch) -> None:
    """A request for all devices gets one."""
    _requests(
        patch,
        lambda request: dataclasses.replace(request, all_devices=False, count=1) if request.all_devices else request,
    )


@mutant("all-means-all-free-devices", rule="DRA-155")
def _(patch: Patch) -> None:
    """A request for all devices gets those that are free."""

    def make(original: Callable[..., int | None]) -> Callable[..., int | None]:
        def take(self: Any) -> int | None:
            tasks = [
                msgspec.structs.replace(task, mask=task.mask & self._unused(task)) if task.everything else task
                for task in self._tasks
            ]
            self._tasks = tasks
            return original(self)

        return take

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._take_all_requests", make)


@mutant("class-selectors-ignored", rule="DRA-158")
def _(patch: Patch) -> None:
    """Selectors of classes are ignored."""

    def make(original: Callable[..., bool]) -> Callable[..., bool]:
        def matches(device: Any, request: Any, device_class: Any, *rest: Any) -> bool:
            return original(device, request, dataclasses.replace(device_class, selectors=()), *rest)

        return matches

    patch.wrap(f"{_ALLOCATOR}.selectors:matches", make)


@mutant("request-selectors-ignored", rule="DRA-158")
def _(patch: Patch) -> None:
    """Selectors of requests are ignored."""
    _requests(patch, lambda request: dataclasses.replace(request, selectors=()))


@mutant("driver-domain-not-applied", rule="DRA-159")
def _(patch: Patch) -> None:
    """Attributes without a domain are not found in the domain of the driver."""
    _verdicts(patch, "has(", False)


@mutant("unknown-domain-is-an-error", rule="DRA-160")
def _(patch: Patch) -> None:
    """Reading a domain that a device lacks fails."""
    _verdicts(patch, "other.test", "CEL runtime error: no such key: other.test")


@mutant("errors-count-as-false", rule="DRA-161")
def _(patch: Patch) -> None:
    """A device on which an expression fails is skipped."""

    def make(original: Callable[..., bool | str]) -> Callable[..., bool | str]:
        def verdict(*args: Any) -> bool | str:
            answer = original(*args)
            # A string is the text of an error.
            return False if isinstance(answer, str) else answer

        return verdict

    patch.wrap(f"{_ALLOCATOR}.selectors:verdict", make)


@mutant("or-value-fails", rule="DRA-162")
def _(patch: Patch) -> None:
    """orValue does not replace a missing value."""
    _verdicts(patch, "orValue", "CEL runtime error: no such key: rare")


@mutant("quantities-always-enough", rule="DRA-163")
def _(patch: Patch) -> None:
    """Comparing quantities always returns true."""
    _verdicts(patch, "compareTo", True)


@mutant("versions-always-newer", rule="DRA-164")
def _(patch: Patch) -> None:
    """Comparing versions always returns true."""
    _verdicts(patch, "isGreaterThan", True)


def _without_constraints(patch: Patch) -> None:
    patch.replace(f"{_ALLOCATOR}.search:Search._constrained", lambda self, task, position: self._states)


@mutant("constraints-ignored", rule="DRA-168")
def _(patch: Patch) -> None:
    """matchAttribute is ignored."""
    _without_constraints(patch)


@mutant("constraints-ignored-between-claims", rule="DRA-133b")
def _(patch: Patch) -> None:
    """matchAttribute is ignored."""
    _without_constraints(patch)


@mutant("selectors-ignored-between-claims", rule="DRA-133b")
def _(patch: Patch) -> None:
    """Selectors of requests are ignored."""
    _verdicts(patch, "index", True)


@mutant("constraints-never-met", rule="DRA-133c")
def _(patch: Patch) -> None:
    """No two devices ever match."""
    patch.replace(
        f"{_ALLOCATOR}.search:Search._constrained",
        lambda self, task, position: None if task.constraints else self._states,
    )


@mutant("missing-attribute-matches", rule="DRA-169")
def _(patch: Patch) -> None:
    """A device without the attribute matches any."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def constrained(self: Any, task: Any, position: int) -> Any:
            device = self._inventory.devices[position]
            lacking = [n for n in task.constraints if device.attribute(self._problem.constraints[n].attribute) is None]
            return self._states if lacking else original(self, task, position)

        return constrained

    patch.wrap(f"{_ALLOCATOR}.search:Search._constrained", make)
    patch.replace(f"{_ALLOCATOR}.search:Search._hopeless", lambda self, number, nth, after: False)


@mutant("types-ignored", rule="DRA-170")
def _(patch: Patch) -> None:
    """Attributes are compared as strings."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def values(*args: Any) -> Any:
            found = original(*args)
            return found if found is None else frozenset(("string", str(value)) for _, value in found)

        return values

    patch.wrap(f"{_ALLOCATOR}.constraints:values", make)


@mutant("constraints-on-all-requests", rule="DRA-171")
def _(patch: Patch) -> None:
    """A constraint applies to requests that it does not name."""
    patch.replace(f"{_ALLOCATOR}.model:Constraint.covers", lambda self, request: True)


@mutant("no-backtracking", rule="DRA-172")
def _(patch: Patch) -> None:
    """The first device that matches a request is never revised."""

    def make(original: Callable[..., Iterator[int]]) -> Callable[..., Iterator[int]]:
        def choices(self: Any, number: int, nth: int) -> Iterator[int]:
            for position in original(self, number, nth):
                # Only the first choice, so that there is nothing to go back to.
                yield position
                return

        return choices

    patch.wrap(f"{_ALLOCATOR}.search:Search._choices", make)
    # Without the count of remaining picks, which looks further ahead than this fault allows.
    patch.replace(f"{_ALLOCATOR}.search:Search._hopeless", lambda self, number, nth, after: False)


@mutant("claim-configuration-first", rule="DRA-177")
def _(patch: Patch) -> None:
    """The claim's configuration comes before that of its classes."""
    patch.wrap(f"{_ALLOCATOR}.results:configs", lambda original: lambda *args: list(reversed(original(*args))))


@mutant("configuration-without-requests", rule="DRA-179")
def _(patch: Patch) -> None:
    """Allocated configuration does not list the requests to which it applies."""

    def make(original: Callable[..., list[Obj]]) -> Callable[..., list[Obj]]:
        return lambda *args: [{k: v for k, v in config.items() if k != "requests"} for config in original(*args)]

    patch.wrap(f"{_ALLOCATOR}.results:claim_configs", make)


@mutant("first-alternative-only", rule="DRA-181")
def _(patch: Patch) -> None:
    """Later alternatives are not tried."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def options(self: Any, inventory: Any) -> Any:
            return [alternatives[:1] for alternatives in original(self, inventory)]

        return options

    patch.wrap(f"{_ALLOCATOR}.allocate:Allocator._options", make)


@mutant("last-alternative-first", rule="DRA-182")
def _(patch: Patch) -> None:
    """Alternatives are tried from the last to the first."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def request(*args: Any) -> Any:
            found = original(*args)
            return dataclasses.replace(found, alternatives=tuple(reversed(found.alternatives)))

        return request

    patch.wrap(f"{_ALLOCATOR}.model:_request", make)


@mutant("admin-access-ignored", rule="DRA-233")
def _(patch: Patch) -> None:
    """A request with admin access waits like any other."""
    _requests(patch, lambda request: dataclasses.replace(request, admin_access=False))


@mutant("admin-access-uses-devices", rule="DRA-234")
def _(patch: Patch) -> None:
    """A device with admin access counts as in use."""
    patch.replace(f"{_ALLOCATOR}.taken:counts", lambda result: True)


@mutant("admin-access-by-presence", rule="DRA-234")
def _(patch: Patch) -> None:
    """A result with adminAccess false counts as one with admin access: others get its device, too."""
    patch.replace(f"{_ALLOCATOR}.taken:counts", lambda result: "adminAccess" not in result)


@mutant("admin-access-uses-device-in-search", rule="DRA-234b")
def _(patch: Patch) -> None:
    """A device that was picked with admin access is in use for the rest of the search."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def take(self: Any, number: int, position: int, states: Any) -> None:
            original(self, number, position, states)
            # As Kubernetes 1.36 does in allocateDevice.
            self._used |= 1 << position

        return take

    _without_short_cuts(patch)
    patch.wrap(f"{_ALLOCATOR}.search:Search._take", make)


@mutant("deleted-claims-scheduled", rule="DRA-123")
def _(patch: Patch) -> None:
    """The deletionTimestamp of a claim is ignored."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def resolve(pod: Obj, find: Callable[..., Any]) -> Any:
            def alive(namespace: str, name: str) -> Any:
                claim = find(namespace, name)
                if claim is None:
                    return None
                # None is read like an absent field.
                return {**claim, "metadata": {**claim["metadata"], "deletionTimestamp": None}}

            return original(pod, alive)

        return resolve

    patch.wrap(f"{_SCHEDULER}.pod_claims:resolve", make)


@mutant("devices-preempted", rule="DRA-135")
def _(patch: Patch) -> None:
    """A waiting pod preempts every other pod of its namespace."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def park(self: Any, key: Any, pod: Obj, refusal: Any) -> None:
            original(self, key, pod, refusal)
            # Only a pod with a priority class preempts others.
            if pod["spec"].get("priorityClassName"):
                for namespace, name in [*self.view.pods]:
                    if (namespace, name) != key and namespace == key[0]:
                        self._client.delete(PODS, name, namespace)

        return park

    patch.wrap(f"{_SCHEDULER}.scheduler:Scheduler._refused", make)
