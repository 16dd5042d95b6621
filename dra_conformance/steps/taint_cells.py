"""Rows of one taint, its source and the tolerations of its users, all on one node, and what becomes of the users.

Each row has a driver, a pool and a class of its own. Its pool has a device for pods that run before the taint appears,
a device for pods that are created afterwards, and a device with a taint of its own that nothing uses. So a row shows
what the taint eviction does and what the scheduler does with the same taint and the same tolerations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from dra_api.allocations import results_of
from dra_api.clock import parse_timestamp
from dra_api.objects import (
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Obj,
    meta,
    owner_reference,
    uid_of,
)
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.invented_names import invented
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claim_holders import reserve
from dra_conformance.steps.claims import allocate_by_hand, claim_object, class_object
from dra_conformance.steps.device_plugins import container
from dra_conformance.steps.extended_resources import ANNOTATION
from dra_conformance.steps.nodes import make_node, slice_object
from dra_conformance.steps.pods import BY_HAND, add_pod, by_name, pod_object, scheduler_of, wait_observed
from dra_conformance.steps.references import taint_rules
from dra_conformance.steps.taints import GRACE, create_rule, read_taints
from dra_conformance.steps.workload_groups import create_group, group_consumer

LONG_AGO = "2020-01-01T00:00:00Z"
EXTENDED = "extended resource"
"""A row's `users` if its pods request an extended resource."""
GROUP = "PodGroup"
"""A row's `users` if two pods of a PodGroup share a claim of the group; any other text is a number of pods."""
SLACK = 20.0
"""Seconds by which an eviction may be late on a busy machine; less than the tolerationSeconds of the cells."""
_ENDS = re.compile(
    r"(?P<end>wait|run|run or evicted|evicted|evicted after (?P<seconds>\d+) s) \[(?P<rule>[A-Z]+-\w+)\]"
)
_SELECTORS: dict[str, tuple[str, ...]] = {
    "rule for driver": ("driver",),
    "rule for driver, pool": ("driver", "pool"),
    "rule for pool": ("pool",),
    "rule for driver, pool, device": ("driver", "pool", "device"),
    "rule for device": ("device",),
    "rule without selector": (),
}


@dataclass(frozen=True, slots=True)
class End:
    """What becomes of the pods of a row: they wait, run, or are evicted after some seconds; and the rule for it."""

    text: str
    rule: str
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One row: a taint and its source, other taints in the slice, tolerations, and the ends of both groups of pods."""

    number: int
    source: str
    taint: Obj
    beside: tuple[Obj, ...]
    tolerations: tuple[Obj, ...]
    pods: int
    extended: bool
    grouped: bool
    new: End
    running: End
    text: str

    @property
    def alias(self) -> str:
        """The name of the row's pool and class, and the beginning of its other names."""
        return f"row{self.number}"

    def names(self, group: str) -> list[str]:
        """Return the names of the pods of a group, `new` or `running`."""
        return [f"{self.alias}-{group}-{number}" for number in range(1, self.pods + 1)]


@dataclass
class Rows:
    """The rows of the scenario, and when the taint of each, by its number, appeared."""

    rows: tuple[Row, ...] = ()
    tainted: dict[int, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The observed end of a pod, as text, and whether it is the expected one."""

    ok: bool
    text: str


# -- reading -----------------------------------------------------------------------------------------------------------


def read_end(text: str) -> End:
    """Read an end such as `evicted after 10 s [DRA-221]`. Raises SpecificationError for other text."""
    match = _ENDS.fullmatch(text)
    if match is None:
        raise SpecificationError(f"{text!r} is no end of pods such as: evicted after 10 s [DRA-221]")
    return End(match["end"], match["rule"], int(match["seconds"] or 0))


def read_rows(table: Sequence[Sequence[str]]) -> tuple[Row, ...]:
    """Read rows. Raises SpecificationError for an unknown source or end."""
    names, *lines = table
    return tuple(_row(number, dict(zip(names, line, strict=True))) for number, line in enumerate(lines, start=1))


def _row(number: int, cells: dict[str, str]) -> Row:
    if cells["from"] != "slice" and cells["from"] not in _SELECTORS:
        raise SpecificationError(f"{cells['from']!r} is neither slice nor one of {', '.join(_SELECTORS)}")
    (taint,) = read_taints(cells["taint"])
    if cells["since"] != "now":
        taint["timeAdded"] = LONG_AGO
    users = {EXTENDED: "1", GROUP: "2"}.get(cells["users"], cells["users"])
    return Row(
        number=number,
        source=cells["from"],
        taint=taint,
        beside=tuple(read_taints(cells["beside"])) if cells["beside"] else (),
        tolerations=tuple(manifests.parse_value(cells["tolerations"] or "[]")),
        pods=int(users),
        extended=cells["users"] == EXTENDED,
        grouped=cells["users"] == GROUP,
        new=read_end(cells["new"]),
        running=read_end(cells["running"]),
        text=", ".join(f"{name} {value}" for name, value in cells.items() if value and name not in ("new", "running")),
    )


# -- devices and pods --------------------------------------------------------------------------------------------------


def _driver(world: World, row: Row) -> str:
    return invented(f"{row.alias}-{world.suffix}")


def _device(world: World, row: Row, group: str) -> str:
    # Unique in the cluster: a rule may name nothing but the device.
    return f"{group}-{row.alias}-{world.suffix}"


def _resource(world: World, row: Row) -> str:
    return f"{invented(world.suffix)}/{row.alias}"


def _slice(world: World, row: Row, node: str) -> Obj:
    # First the tainted device that nothing uses: its taint must not count for the others.
    spoiled: Obj = {"name": "spoiled", "taints": [{"key": "spoiled", "effect": "NoExecute"}]}
    used: list[Obj] = [{"name": _device(world, row, group)} for group in ("running", "new")]
    for device, use in zip((spoiled, *used), ("none", "running", "new"), strict=True):
        device["attributes"] = {"use": {"string": use}}
    made = slice_object(world, node, [spoiled, *used], pool=world.name(row.alias))
    made["metadata"]["name"] = world.name(row.alias)
    made["spec"]["driver"] = _driver(world, row)
    return made


def _class(world: World, row: Row) -> Obj:
    driver = _driver(world, row)
    expression = f'device.driver == "{driver}" && device.attributes["{driver}"].use == "new"'
    spec: Obj = {"selectors": [{"cel": {"expression": expression}}]}
    if row.extended:
        spec["extendedResourceName"] = _resource(world, row)
    return class_object(world, row.alias, spec)


def _claim(world: World, row: Row, name: str) -> Obj:
    exactly: Obj = {"deviceClassName": world.name(row.alias)}
    if row.tolerations:
        exactly["tolerations"] = [dict(one) for one in row.tolerations]
    request = "container-0-request-0" if row.extended else "gpu"
    return claim_object(world, name, {"devices": {"requests": [{"name": request, "exactly": exactly}]}})


def _pod(world: World, row: Row, name: str, claim: str, *, scheduler: str) -> Obj:
    if row.extended:
        containers = [container("main", {_resource(world, row): "1"})]
        made = pod_object(world, name, [], scheduler=scheduler, containers=containers)
    else:
        made = pod_object(world, name, [by_name(claim)], scheduler=scheduler)
    if row.grouped:
        made["spec"]["schedulingGroup"] = {"podGroupName": claim}
    # No kubelet ends the pod, so its last state can be read.
    made["spec"]["terminationGracePeriodSeconds"] = GRACE
    return made


def _run(world: World, row: Row, node: str) -> None:
    """Create the running pods of a row: claim, allocation, reservations and bindings by hand."""
    name = f"{row.alias}-running"
    group = [group_consumer(name, uid_of(create_group(world, name, [by_name(name)])))] if row.grouped else []
    owners = [add_pod(world, _pod(world, row, pod, name, scheduler=BY_HAND)) for pod in row.names("running")]
    claim = _claim(world, row, name)
    if row.extended:
        owner = {**owners[0], "apiVersion": "v1", "kind": "Pod"}
        claim["metadata"]["annotations"] = {ANNOTATION: "true"}
        claim["metadata"]["ownerReferences"] = [owner_reference(owner, controller=True, block_owner_deletion=True)]
    stored = world.create(claim)
    request = stored["spec"]["devices"]["requests"][0]
    result: Obj = {
        "request": request["name"],
        "driver": _driver(world, row),
        "pool": world.name(row.alias),
        "device": _device(world, row, "running"),
    }
    if row.tolerations:
        result["tolerations"] = request["exactly"]["tolerations"]
    allocate_by_hand(world, name, world.name(node), [result], pods=[] if row.grouped else owners)
    if group:
        reserve(world, name, group)
    if row.extended:
        mapping = {"containerName": "main", "resourceName": _resource(world, row), "requestName": request["name"]}
        status = {"resourceClaimName": name, "requestMappings": [mapping]}
        world.update(
            PODS,
            row.names("running")[0],
            lambda pod: pod.setdefault("status", {}).update(extendedResourceClaimStatus=status),
            subresource="status",
        )
    for owner in owners:
        world.client.bind(owner, world.name(node))


def _taint(world: World, row: Row) -> None:
    """Let the taints of a row appear on both of its devices."""
    own = [*([row.taint] if row.source == "slice" else []), *row.beside]
    if own:

        def change(obj: Obj) -> None:
            for device in obj["spec"]["devices"][1:]:
                device["taints"] = [dict(one) for one in own]

        world.update(RESOURCE_SLICES, world.name(row.alias), change)
    for name, spec in _rules(world, row):
        resource = taint_rules(world)
        made = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}
        create_rule(world, resource, made)


def _rules(world: World, row: Row) -> Iterator[tuple[str, Obj]]:
    """Return the DeviceTaintRules of a row, by name: one for each device if they name the device."""
    if row.source == "slice":
        return
    fields = _SELECTORS[row.source]
    for group in ("running", "new") if "device" in fields else ("",):
        values = {
            "driver": _driver(world, row),
            "pool": world.name(row.alias),
            "device": _device(world, row, group),
        }
        spec: Obj = {"taint": dict(row.taint)}
        if fields:
            spec["deviceSelector"] = {one: values[one] for one in fields}
        yield world.name(f"{row.alias}{group and '-'}{group}"), spec


# -- judging -----------------------------------------------------------------------------------------------------------


def _evicted_after(world: World, row: Row, pod: Obj) -> float:
    """Return the seconds from the appearance of the row's taint to the deletion of a pod that is being deleted."""
    deletion = parse_timestamp(meta(pod)["deletionTimestamp"]).timestamp()
    requested = deletion - float(meta(pod).get("deletionGracePeriodSeconds") or 0)
    return requested - world.state(Rows).tainted[row.number].timestamp()


def _outcome(world: World, row: Row, group: str, name: str) -> Outcome:
    """Return what has become of a pod, and whether it is what the row says."""
    end = row.new if group == "new" else row.running
    pod = world.seen(PODS, name)
    placed = group == "running" or _is_allocated(world, row, name)
    if not placed:
        return Outcome(end.text == "wait" and pod is not None, "wait" if pod is not None else "gone without a device")
    if pod is None:
        return Outcome(end.text in ("evicted", "run or evicted"), "gone")
    if "deletionTimestamp" not in meta(pod):
        bound = bool((pod.get("spec") or {}).get("nodeName"))
        return Outcome(bound and end.text in ("run", "run or evicted"), "run" if bound else "not bound")
    after = _evicted_after(world, row, pod)
    text = f"evicted after {after:.0f} s"
    # A pod that is new is evicted when it has been scheduled, which takes a while on a real control plane.
    latest = end.seconds + SLACK if end.seconds or group == "running" else float("inf")
    in_time = end.seconds - 2 <= after <= latest
    return Outcome(end.text == "run or evicted" or (end.text.startswith("evicted") and in_time), text)


def _is_allocated(world: World, row: Row, pod: str) -> bool:
    if not row.extended:
        return bool(results_of(world.seen(RESOURCE_CLAIMS, f"{row.alias}-new") or {}))
    devices = {_device(world, row, "new")}
    return any(one.get("device") in devices for claim in world.all_seen(RESOURCE_CLAIMS) for one in results_of(claim))


def _outcomes(world: World, row: Row, group: str) -> list[Outcome]:
    return [_outcome(world, row, group, name) for name in row.names(group)]


# -- sentences ---------------------------------------------------------------------------------------------------------


@when('devices of "{node}" are tainted while pods use them, and other pods request such devices:')
def _(world: World, node: str, datatable: list[list[str]]) -> None:
    """Create a node, and for each row a pool, a class and pods that use a device; taint it; create pods that want one.

    Columns: from: slice, or the fields that a DeviceTaintRule selects by; taint; since: now, or 2020 for a timeAdded
    of that time; beside: other taints of the devices in their slice; tolerations of the claims; users: the number of
    pods that share a claim, `extended resource`, or `PodGroup` for two pods that share a claim of their group; new,
    running: how the pods end that are created after and before the taint: wait, run, evicted, or evicted after some
    seconds, and the rule.
    """
    rows = read_rows(datatable)
    state = world.state(Rows)
    state.rows = rows
    if unknown := {end.rule for row in rows for end in (row.new, row.running)} - set(world.scenario.rules):
        raise SpecificationError(f"the scenario has no tag of {', '.join(sorted(unknown))}")
    make_node(world, node)
    for row in rows:
        world.create(_slice(world, row, node))
        world.create(_class(world, row))
    for row in rows:
        _run(world, row, node)
    world.catch_up()
    # All components must know the pods and the classes before the taints appear.
    world.settle()
    for row in rows:
        state.tainted[row.number] = world.clock.now()
        _taint(world, row)
    world.catch_up()
    world.wait_for_watches()
    wait_observed(world)
    for row in rows:
        if not row.extended:
            world.create(_claim(world, row, f"{row.alias}-new"))
        if row.grouped:
            create_group(world, f"{row.alias}-new", [by_name(f"{row.alias}-new")])
        for name in row.names("new"):
            add_pod(world, _pod(world, row, name, f"{row.alias}-new", scheduler=scheduler_of(world)))


@then("all pods end as their rows say")
def _(world: World) -> None:
    """Each pod waits, runs, or is evicted in time, once the system is idle."""
    rows = world.state(Rows).rows

    def look() -> Seen[str]:
        wrong = [row for row in rows for group in ("new", "running") if not _all_ok(_outcomes(world, row, group))]
        return not wrong, f"{len(wrong)} ends differ"

    world.wait(look)
    world.catch_up()
    world.settle()
    wrong: dict[str, tuple[End, str]] = {}
    for row in rows:
        for group, end in (("new", row.new), ("running", row.running)):
            what = f"{group} pods of row {row.number} ({row.text})"
            outcomes = _outcomes(world, row, group)
            observed = ", ".join(sorted({one.text for one in outcomes}))
            if _all_ok(outcomes):
                world.check(True, what, expected=end.text, observed=observed, rules=(end.rule,))
            else:
                wrong[what] = (end, observed)
    # One check, because a failed one ends the scenario; it concerns the rules of all rows that differ.
    if wrong:
        world.check(
            False,
            f"pods end as their rows say; {len(wrong)} do not",
            expected={what: end.text for what, (end, _) in wrong.items()},
            observed={what: text for what, (_, text) in wrong.items()},
            rules=tuple(sorted({end.rule for end, _ in wrong.values()})),
        )


def _all_ok(outcomes: Sequence[Outcome]) -> bool:
    return all(one.ok for one in outcomes)
