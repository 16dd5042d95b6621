"""The world of one scenario: its names, its objects, its components, and the way it checks.

Made before the first step and taken down after the last; whatever was created through it is deleted by it. Step
functions are thin and speak to the world; their logic is in typed functions beside them.
"""

from __future__ import annotations

import copy
import re
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import orjson

from dra_api.client import Conflict, KubeClient, NotFound
from dra_api.objects import (
    COMPUTE_DOMAINS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    SERVICE_ACCOUNTS,
    Obj,
    Resource,
    key_of,
    name_of,
    namespace_of,
    uid_of,
)
from dra_conformance.components.external_driver import ExternalDriver
from dra_conformance.components.node import ScenarioNode
from dra_conformance.components.nvml import NvmlLibrary
from dra_conformance.control_plane.own_objects import RUN_LABEL
from dra_conformance.core import manifests
from dra_conformance.core.errors import CheckFailed, Untestable
from dra_conformance.core.events import CheckMade, CleanupStarted
from dra_conformance.core.features import Scenario

if TYPE_CHECKING:
    from dra_conformance.engine.run import Run

T = TypeVar("T")
S = TypeVar("S")
Seen = tuple[bool, object]
_ATTEMPTS = 20
_BRIEF = 0.01
_ON_NODES = 0.03  # sockets, folders, NVML's events: some threads must wake before a queue has it
_GLANCE = 0.0005
_NEVER = threading.Event()  # nobody sets it: to wait for time alone


class World:
    """What the steps of one scenario share. Fields that steps set for later steps live in `memory`."""

    def __init__(self, run: Run, scenario: Scenario, *, suffix: str) -> None:
        self.run = run
        self.scenario = scenario
        self.suffix = suffix
        self.log = run.log
        self.clock = run.clock
        self.observer = run.observer
        self.client: KubeClient = run.client
        self.components = run.components
        self.namespace = f"dra-{suffix}"
        self.memory: dict[str, Any] = {}
        self._states: dict[type, Any] = {}
        self.cleanup = ExitStack()
        self.step_rules: tuple[str, ...] = scenario.rules
        self.step_text = ""
        self.checks_made = 0
        self._created: list[tuple[Resource, str, str]] = []
        self._newest: dict[Resource, int] = {}  # what the scenario wrote and the observer may not have seen yet
        self._aliases: dict[str, str] = {}
        self._nodes: dict[str, ScenarioNode] = {}
        self._nvml: NvmlLibrary | None = None

    # -- names -----------------------------------------------------------------------------------------------------

    def name(self, alias: str) -> str:
        """The cluster-wide name behind a scenario's own name for a node, class, slice or other cluster object."""
        found = self._aliases.get(alias)
        if found is None:
            found = self._aliases[alias] = f"{alias}-{self.suffix}"
        return found

    def alias(self, alias: str, name: str) -> None:
        """Let `alias` stand for an existing cluster-wide name."""
        self._aliases[alias] = name

    def fill(self, kind: str, alias: str) -> str:
        """Return the value of a placeholder such as `$(node:n1)` or `$(namespace)`.

        `$(sim)` is the driver name of ResourceSlices that a scenario writes, `$(uid:train)` the uid of the pod `train`.
        """
        match kind:
            case "namespace":
                return self.namespace
            case "driver":
                return self.run.options.driver_name
            case "suffix":
                return self.suffix
            case "sim":
                return f"sim-{self.suffix}.dra.test"
            case "uid":
                return uid_of(self.seen(PODS, alias) or {})
            case _ if alias:
                return self.name(alias)
            case _:
                return f"$({kind})"

    def text(self, raw: str) -> str:
        """A step's own text with placeholders filled in."""
        return manifests.fill_text(raw, self.fill)

    # -- state between steps ----------------------------------------------------------------------------------------

    def state(self, kind: type[S]) -> S:
        """Return this scenario's instance of `kind`, created without arguments at first use.

        Step modules that remember something for later steps declare a small dataclass for it.
        """
        found = self._states.get(kind)
        if found is None:
            found = self._states[kind] = kind()
        return cast(S, found)

    # -- nodes -----------------------------------------------------------------------------------------------------

    def node(self, alias: str, *, inventory: str | None = None) -> ScenarioNode:
        """The node called `alias`, made at first use; it ends with the scenario."""
        found = self._nodes.get(alias)
        if found is None:
            found = self._nodes[alias] = ScenarioNode(self, alias, inventory=inventory)
            if found.external_driver is None:
                self.track(NODES, found.name)
            self.cleanup.callback(found.end)
        return found

    def external_driver_for(self, alias: str) -> ExternalDriver | None:
        """Where the user's running driver is, if it has one and `alias` is the scenario's first node."""
        return self.run.external_driver if not self._nodes or next(iter(self._nodes)) == alias else None

    def nvml(self, *, inventory: str | None = None) -> NvmlLibrary:
        """The NVML library under test, loaded at first use; it is left when the scenario ends."""
        if self._nvml is None:
            self._nvml = NvmlLibrary(self, inventory=inventory)
            self.cleanup.callback(self._nvml.end)
        return self._nvml

    @property
    def has_real_kubelet(self) -> bool:
        """Whether this scenario's nodes have Kubernetes' own kubelet: where it names the component, and the run has one."""
        return "kubelet" in self.scenario.tags.components and self.run.options.component("kubelet").kind == "kubelet"

    # -- objects ---------------------------------------------------------------------------------------------------

    def manifest(self, name: str) -> Obj:
        """The only object of a manifest under fixtures/, names filled in, namespace set."""
        objects = self.manifests(name)
        if len(objects) != 1:
            raise Untestable(f"fixtures/{name} holds {len(objects)} objects; one is expected")
        return objects[0]

    def manifests(self, name: str) -> list[Obj]:
        """All objects of a manifest under fixtures/, names filled in, namespace set."""
        objects = manifests.load(name, self.fill)
        for obj in objects:
            self.place(obj)
        return objects

    def place(self, obj: Obj) -> Obj:
        """Put a namespaced object into the scenario's namespace unless it names one."""
        if manifests.resource_of(obj).namespaced:
            obj.setdefault("metadata", {}).setdefault("namespace", self.namespace)
        return obj

    def create(self, obj: Obj) -> Obj:
        """Create an object; it is deleted when the scenario ends."""
        resource = manifests.resource_of(obj)
        created = self.client.create(resource, obj)
        self.track(resource, name_of(created), namespace_of(created))
        self._wrote(resource, created)
        return created

    def track(self, resource: Resource, name: str, namespace: str = "") -> None:
        """Delete this object when the scenario ends, whoever made it."""
        self._created.append((resource, name, namespace))

    def get(self, resource: Resource, name: str, namespace: str | None = None) -> Obj:
        """Read an object from the API server. Raises NotFound."""
        return self.client.get(resource, name, namespace or self.namespace)

    def seen(self, resource: Resource, name: str) -> Obj | None:
        """An object as the observer last saw it (scenario's namespace, or cluster scope); for waits."""
        return self.observer.get(resource, name, self.namespace if resource.namespaced else "")

    def all_seen(self, resource: Resource) -> list[Obj]:
        """All objects that the observer sees: of the scenario's namespace, or of the cluster."""
        return self.observer.list(resource, self.namespace if resource.namespaced else None)

    def update(self, resource: Resource, name: str, change: Callable[[Obj], None], *, subresource: str = "") -> Obj:
        """Read, change and write an object, again on conflicts. Raises Conflict when they do not end."""
        for attempt in range(_ATTEMPTS):
            obj = copy.deepcopy(self.client.get(resource, name, self.namespace))
            change(obj)
            try:
                updated = self.client.update(resource, obj, subresource=subresource or None)
            except Conflict:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                self._wrote(resource, updated)
                return updated
        raise AssertionError("unreachable")

    def _wrote(self, resource: Resource, obj: Obj) -> None:
        version = str((obj.get("metadata") or {}).get("resourceVersion") or "")
        if version.isdecimal():
            self._newest[resource] = int(version)

    def catch_up(self) -> None:
        """Wait until the observer has seen what the scenario itself wrote: until then, not to be seen means nothing.

        It lags where its watches are just coming back, such as after an API server's death in the scenario before.
        Raises Untestable when it does not catch up within the run's patience.
        """
        newest, self._newest = self._newest, {}

        def behind() -> list[str]:
            return [
                resource.plural
                for resource, version in newest.items()
                if self.observer.watches(resource) and self.observer.reached(resource) < version
            ]

        if newest and not self.log.wait_for(lambda: not behind(), self.run.patience):
            raise Untestable(f"the harness itself has not seen yet what the scenario made: {', '.join(behind())}")

    # -- checking --------------------------------------------------------------------------------------------------

    def check(self, ok: bool, message: str, *, expected: object, observed: object) -> None:
        """Judge one thing. The check is logged with the rules of the current step; a broken one ends the scenario.

        `message` says what holds when all is well; `expected` and `observed` are shown when it does not.
        """
        self.checks_made += 1
        wanted, saw = show(expected), show(observed)
        self.log.emit(
            CheckMade(
                rules=self.step_rules,
                ok=bool(ok),
                message=message,
                expected=wanted,
                observed=saw,
                step=self.step_text,
            )
        )
        if not ok:
            raise CheckFailed(
                f"{message}: expected {wanted}; saw {saw}", expected=wanted, observed=saw, rules=self.step_rules
            )

    def eventually(
        self, message: str, look: Callable[[], Seen], *, expected: object, within: float | None = None
    ) -> None:
        """Check that `look` comes to (True, …) within the run's patience (or `within` seconds).

        `look` returns whether all is well and what it saw; it must read stores, not the API server.
        """
        self.catch_up()
        self.check_seen(message, self.wait(look, within), expected=expected)

    def check_seen(self, message: str, seen: Seen, *, expected: object) -> None:
        """Judge what a wait came to."""
        self.check(seen[0], message, expected=expected, observed=seen[1])

    def wait(self, look: Callable[[], Seen], within: float | None = None) -> Seen:
        """Wait until `look` returns (True, …) or time is up; what it saw last."""
        last: Seen = (False, "nothing")

        def ask() -> bool:
            nonlocal last
            last = look()
            return last[0]

        self.log.wait_for(ask, self.run.patience if within is None else within)
        return last

    def require(self, message: str, look: Callable[[], Seen], *, within: float | None = None) -> None:
        """Wait for a precondition. Raises Untestable when it does not come about: nothing is judged then."""
        seen = self.wait(look, within)
        if not seen[0]:
            raise Untestable(f"{message}: saw {show(seen[1])}")

    def stays(self, message: str, look: Callable[[], Seen], *, expected: object, seconds: float | None = None) -> None:
        """Check that `look` returns (True, …) once all has come to rest, and then for `seconds` on end, if given."""
        self.catch_up()
        self.settle()
        seen = look()
        if seen[0] and seconds:

            def ask() -> bool:
                nonlocal seen
                seen = look()
                return not seen[0]

            self.log.wait_for(ask, seconds)
        self.check(seen[0], message, expected=expected, observed=seen[1])

    def heard(self) -> None:
        """Wait until every watch of the embedded control plane has told what was written so far.

        The runner does so before each Given and When: what one step wrote in a component's place, all know in the next.
        What they make of it goes on meanwhile; `settle` waits for that too, and has a meaning on every control plane.
        Nothing is waited for under `--watch-lag`, which is there to show who relies on it, nor where watches are broken
        on purpose. Ends with the run's patience at the latest.
        """
        if self.run.options.watch_lag or "faults" in self.scenario.tags.needs:
            return
        real = self.log.clock
        deadline = real.monotonic() + self.run.patience
        while not self.run.all_heard() and real.monotonic() < deadline:
            real.wait(_NEVER, _GLANCE)

    def settle(self) -> None:
        """Wait until everybody is at rest, as far as the run sees that, and nothing was written or changed meanwhile.

        Where all work in this process, their queues tell; what passes between a driver and its kubelet lies in none on
        its way and gets a moment more. What the run cannot see (other programs, somebody who tries for ever) gets its
        quiet time. Ends with the run's patience at the latest.
        """
        real = self.log.clock  # the scenario may advance its own clock; waiting for quiet takes real time
        deadline = real.monotonic() + self.run.patience
        nodes = list(self._nodes.values())
        sees_all = self.run.sees_rest and all(node.sees_rest for node in nodes)
        moment = (_ON_NODES if nodes else _BRIEF) if sees_all else self.run.quiet
        while real.monotonic() < deadline:
            before = self.log.count

            def changed(before: int = before) -> bool:
                return self.log.count != before

            if self.log.wait_for(changed, moment):
                continue
            if not sees_all or (self.run.is_idle() and not changed()):
                return
            if nodes and not self.log.wait_for(changed, self.run.quiet - moment):
                return  # a kubelet calls a driver again ten times a second, and may wait for its answer for ever

    # -- beginning and end -----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Make the scenario's namespace and fill the components that its tags name."""
        labels = {RUN_LABEL: self.run.run_id}
        self.client.create(
            NAMESPACES,
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace, "labels": labels}},
        )
        self.cleanup.callback(self._delete_namespace)
        if self.run.has_controllers:
            self._wait_service_account()
        self.cleanup.callback(self._delete_created)
        self.components.fill(self)

    def end(self) -> None:
        """Empty the components and delete what the scenario made."""
        self.log.emit(CleanupStarted())
        self.cleanup.close()

    def save_evidence(self, folder: Path) -> None:
        """Write the objects of the scenario as they are now, before anything is cleaned up."""
        folder.mkdir(parents=True, exist_ok=True)
        objects: list[Obj] = []
        own = re.compile(rf"{re.escape(self.suffix)}(?!\d)")
        for resource in self.run.observed:
            for obj in self.observer.list(resource):
                if namespace_of(obj) == self.namespace or (
                    not resource.namespaced and (own.search(name_of(obj)) or self._refers(obj))
                ):
                    objects.append({"apiVersion": resource.api_version, "kind": resource.kind, **obj})
        (folder / "objects.json").write_bytes(orjson.dumps(objects, option=orjson.OPT_INDENT_2))

    def _refers(self, obj: Obj) -> bool:
        node = str((obj.get("spec") or {}).get("nodeName") or "")
        return node.endswith(self.suffix) or node in {component.name for component in self._nodes.values()}

    def _wait_service_account(self) -> None:
        """Wait for the namespace's default service account: until it is there, a cluster refuses every pod."""
        seconds = max(int(self.run.patience), 1)
        with self.client.watch(
            SERVICE_ACCOUNTS, self.namespace, field_selector="metadata.name=default", timeout_seconds=seconds
        ) as events:
            if not any(event.type == "ADDED" for event in events):
                raise Untestable(f"namespace {self.namespace} got no default service account within {seconds} s")

    def _delete_created(self) -> None:
        for resource, name, namespace in reversed(self._created):
            if resource is NODES or not resource.namespaced:
                self.client.delete_if_there(resource, name, namespace or None)

    def _delete_namespace(self) -> None:
        for resource in (PODS, RESOURCE_CLAIMS, COMPUTE_DOMAINS):
            if not self.observer.watches(resource):
                continue
            for obj in self.client.list(resource, self.namespace).items:
                self._finish(resource, obj)
        self.client.delete_if_there(NAMESPACES, self.namespace)

    def _finish(self, resource: Resource, obj: Obj) -> None:
        """Delete one of our own objects although the part that would finish it is gone."""
        namespace, name = key_of(obj)
        try:
            self.client.delete(resource, name, namespace, grace_period_seconds=0)
            if (obj.get("metadata") or {}).get("finalizers"):
                if resource == RESOURCE_CLAIMS and (obj.get("status") or {}).get("reservedFor"):
                    self.client.patch(
                        resource, name, {"status": {"reservedFor": None}}, namespace, subresource="status"
                    )
                self.client.patch(resource, name, {"metadata": {"finalizers": None}}, namespace)
        except NotFound:
            return


def show(value: object) -> str:
    """A value as reports show it: short, on one line."""
    if isinstance(value, str):
        text = value
    else:
        try:
            text = orjson.dumps(value, default=str).decode()
        except (orjson.JSONEncodeError, TypeError):
            text = str(value)
    text = " ".join(text.split())
    return text if len(text) <= 600 else text[:597] + "..."
