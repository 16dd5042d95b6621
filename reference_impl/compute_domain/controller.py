"""The ComputeDomain controller: creates the objects of a domain, reports its status, and deletes the objects again.

It watches ComputeDomains, everything that carries their label, and what can have a name that a domain needs, and
reconciles one domain at a time on one thread between `start` and `stop`. The objects belong to the domain and are
deleted with it, in an order that a finalizer guards.

Source: cmd/compute-domain-controller at 95932046; rules NV-145 to NV-155.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from dra_api.client import AlreadyExists, KubeClient, NotFound
from dra_api.clock import Clock, timestamp
from dra_api.informer import Change, Informer
from dra_api.objects import (
    COMPUTE_DOMAIN_CLIQUES,
    COMPUTE_DOMAINS,
    DAEMON_SETS,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    Obj,
    Resource,
    key_of,
    meta,
    name_of,
    namespace_of,
    uid_of,
)
from reference_impl.compute_domain import objects, problems, status
from reference_impl.compute_domain.cliques import CliqueWriter, index_problems
from reference_impl.compute_domain.edits import CliqueEdits
from reference_impl.compute_domain.objects import (
    CLIQUE_LABEL,
    DOMAIN_LABEL,
    DRIVER_NAMESPACE,
    FINALIZER,
    DaemonSettings,
    domain_of,
    has_finalizer,
    is_deleting,
    shown,
)
from reference_impl.compute_domain.problems import EVENT_ONLY, HAPPENED, Problem
from reference_impl.loop import Loop
from reference_impl.recorder import EventRecorder

Key = tuple[str, str]
NAME = "compute-domain controller"
DAEMON_IMAGE = "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.5.0"
"""The image of NVIDIA's release, which has its daemon and nvidia-imex."""
_TEMPLATES = RESOURCE_CLAIM_TEMPLATES
_OWNED = (RESOURCE_CLAIM_TEMPLATES, DAEMON_SETS)
_SWEEP: Key = ("", "")
"""The key of the sweep; every domain has a namespace and a name."""
_SWEEP_INTERVAL = 600.0
_EVENT_INTERVAL = 600.0
"""Seconds after which a problem that lasts gets another event; API servers delete events after an hour."""


class NameTakenError(Exception):
    """An object that does not belong to a domain has a name that the domain needs."""


class ComputeDomainController:
    """Reconciles ComputeDomains.

    Arguments:
        namespace: the driver's namespace, for DaemonSets, daemon templates and cliques; its installation creates it.
        daemons: settings for the pods of daemons; by default the image of NVIDIA's release, and nothing else.
        additional: more namespaces in which a domain may have its DaemonSet, such as that of a former installation. New
            ones are created in `namespace`.
        host_managed: the nodes' administrator runs the IMEX daemons: domains get their workloads' template and no more,
            and are ready with it (rule NV-171d).
    """

    def __init__(
        self,
        client: KubeClient,
        *,
        clock: Clock,
        namespace: str = DRIVER_NAMESPACE,
        daemons: DaemonSettings | None = None,
        additional: Sequence[str] = (),
        host_managed: bool = False,
    ) -> None:
        self.name = NAME
        self._client = client
        self._clock = clock
        self._namespace = namespace
        self._additional = [one for one in dict.fromkeys(additional) if one != namespace]
        self._daemons = daemons or DaemonSettings(image=DAEMON_IMAGE)
        self._host_managed = host_managed
        self._recorder = EventRecorder(client, component=NAME.replace(" ", "-"), clock=clock)
        self._cliques_writer = CliqueWriter(self._client, namespace=namespace)
        self._nodes_seen = 0
        """How many Nodes the last list had."""
        self._short: dict[str, Key] = {}
        """Domains for which there are too few Nodes, by uid."""
        self._taken: dict[str, Key] = {}
        """Domains that need a name which another object has, by uid."""
        self._problems: list[Problem] = []
        """Problems that the domain has which is reconciled."""
        self._happened: dict[str, list[Problem]] = {}
        """Problems that are over, until they are in the condition of their domain."""
        self._reported: dict[str, dict[Problem, float]] = {}
        """The problems of each domain at its last reconciliation, and when each got an event."""
        self._keeps_conditions = True
        """Whether the CRD has conditions; NVIDIA's has none."""
        self._informers = {
            COMPUTE_DOMAINS: self._informer(COMPUTE_DOMAINS),
            COMPUTE_DOMAIN_CLIQUES: self._informer(COMPUTE_DOMAIN_CLIQUES, namespace=namespace),
            PODS: self._informer(PODS, namespace=namespace, label_selector=DOMAIN_LABEL),
            # Not by label: an object of a user can have a name that a domain needs, and its deletion frees the name.
            _TEMPLATES: self._informer(_TEMPLATES),
            DAEMON_SETS: self._informer(DAEMON_SETS, namespace=namespace),
        }
        self._edits = CliqueEdits(clock)
        # What the daemons of a former installation have.
        self._elsewhere = [
            {
                COMPUTE_DOMAIN_CLIQUES: self._informer(COMPUTE_DOMAIN_CLIQUES, namespace=one),
                PODS: self._informer(PODS, namespace=one, label_selector=DOMAIN_LABEL),
                DAEMON_SETS: self._informer(DAEMON_SETS, namespace=one, label_selector=DOMAIN_LABEL),
            }
            for one in self._additional
        ]
        self._informers[COMPUTE_DOMAINS].add_index("uid", lambda domain: [uid_of(domain)])
        self._informers[COMPUTE_DOMAINS].add_index("name", self._names_of)
        # Without these the work for each ComputeDomain would grow with the number of all.
        for resource in (COMPUTE_DOMAIN_CLIQUES, PODS):
            self._informers[resource].add_index("domain", lambda obj: [domain_of(obj)])
        former = [informer for informers in self._elsewhere for informer in informers.values()]
        for informer in former:
            informer.add_index("domain", lambda obj: [domain_of(obj)])
            informer.on_change(self._related_changed)
        self._informers[COMPUTE_DOMAIN_CLIQUES].on_change(self._clique_changed)
        for resource in _OWNED:
            self._informers[resource].on_change(self._name_changed)
        for resource, informer in self._informers.items():
            informer.on_change(self._domain_changed if resource == COMPUTE_DOMAINS else self._related_changed)
        # One worker: the steps of a domain follow each other, and a sweep sees no half-made domain.
        self._loop: Loop[Key] = Loop(
            self.name,
            self._handle,
            informers=[*self._informers.values(), *former],
            clock=clock,
            recorder=self._recorder,
            workers=1,
            base_delay=0.02,
            max_delay=5.0,
        )

    # -- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to work; returns when the informers are filled. Raises TimeoutError when they cannot be."""
        self._loop.start()
        self._loop.queue.add(_SWEEP)

    def stop(self) -> None:
        """End all work; domains and their objects stay. Idempotent."""
        self._loop.stop()

    def _informer(self, resource: Resource, *, namespace: str | None = None, label_selector: str = "") -> Informer:
        return Informer(self._client, resource, namespace=namespace, label_selector=label_selector, clock=self._clock)

    def _domain_changed(self, change: Change) -> None:
        self._loop.queue.add(key_of(change.object))

    def _related_changed(self, change: Change) -> None:
        for domain in self._informers[COMPUTE_DOMAINS].by_index("uid", domain_of(change.object)):
            self._loop.queue.add(key_of(domain))

    def _names_of(self, domain: Obj) -> list[str]:
        """Return namespace and name of each template and DaemonSet that a domain needs."""
        daemons = f"{self._namespace}/{objects.daemon_name(uid_of(domain))}"
        # NVIDIA's CRD admits a domain without a spec.
        workloads = [objects.workload_template_name(domain)] if domain.get("spec") else []
        return [daemons, *(f"{namespace_of(domain)}/{name}" for name in workloads)]

    def _name_changed(self, change: Change) -> None:
        for domain in self._informers[COMPUTE_DOMAINS].by_index("name", shown(change.object)):
            # Its own objects wake a domain in any case.
            if uid_of(domain) != domain_of(change.object):
                self._loop.queue.add(key_of(domain))

    def _clique_changed(self, change: Change) -> None:
        # Here and not at the reconciliation: a daemon may have corrected the clique by then.
        for domain in self._informers[COMPUTE_DOMAINS].by_index("uid", domain_of(change.object)):
            if not is_deleting(domain):
                self._edits.note(uid_of(domain), change)

    def _handle(self, key: Key) -> None:
        if key == _SWEEP:
            self.sweep()
            if self._short:
                self._count_nodes()
            for waiting in (*self._short.values(), *self._taken.values()):
                self._loop.queue.add(waiting)
            self._loop.queue.add_after(key, _SWEEP_INTERVAL)
        elif (domain := self._informers[COMPUTE_DOMAINS].get(key[1], key[0])) is not None:
            self.reconcile(domain)

    # -- one domain ------------------------------------------------------------------------------------------------

    def reconcile(self, domain: Obj) -> None:
        """Create or delete what a domain needs, and update its status. Raises if the domain must be tried again."""
        if is_deleting(domain):
            self.tear_down(domain)
            return
        domain = self.ensure_finalizer(domain)
        self._problems = []
        try:
            if not self._host_managed:
                self.ensure_daemons(domain)
            self.ensure_workload_template(domain)
        except NameTakenError:
            # No further attempt: the change that frees the name wakes the domain (rules NV-471, NV-472).
            self._taken[uid_of(domain)] = key_of(domain)
            self.report_conditions(domain)
            return
        self._taken.pop(uid_of(domain), None)
        self.remove_dead_entries(domain)
        self.report_edits(domain)
        self.report_indices(domain)
        self.report_too_few_nodes(domain)
        self.update_status(domain)

    def ensure_finalizer(self, domain: Obj) -> Obj:
        """Return the domain with the finalizer, which is added before any object is created (rule NV-145)."""
        if has_finalizer(domain):
            return domain
        finalizers = [*(meta(domain).get("finalizers") or ()), FINALIZER]
        return self._client.update(COMPUTE_DOMAINS, {**domain, "metadata": {**meta(domain), "finalizers": finalizers}})

    def ensure_daemons(self, domain: Obj) -> None:
        """Create the daemons' claim template and DaemonSet in the driver's namespace (rules NV-146, NV-333)."""
        if self._of_former(DAEMON_SETS, domain):
            return
        self._ensure(_TEMPLATES, objects.daemon_template(domain, self._namespace), domain)
        self._ensure(DAEMON_SETS, objects.daemon_set(domain, self._namespace, settings=self._daemons), domain)

    def ensure_workload_template(self, domain: Obj) -> None:
        """Create the claim template that workloads use (rules NV-146, NV-147, NV-154)."""
        self._ensure(_TEMPLATES, objects.workload_template(domain, host_managed=self._host_managed), domain)

    def _ensure(self, resource: Resource, wanted: Obj, domain: Obj) -> None:
        informer = self._informers[resource]
        there = informer.get(name_of(wanted), namespace_of(wanted))
        if there is None:
            try:
                informer.assume(self._client.create(resource, wanted))
                return
            except AlreadyExists:
                # The informer has not received it yet. When it does, the domain is reconciled again.
                there = self._client.get(resource, name_of(wanted), namespace_of(wanted))
        if domain_of(there) != uid_of(domain):
            self.report_taken_name(domain, resource, there)
            raise NameTakenError(f"{resource.kind} {shown(there)} does not belong to ComputeDomain {shown(domain)}")

    def report_taken_name(self, domain: Obj, resource: Resource, there: Obj) -> None:
        """Report a name that is taken for longer than the deletion of a former domain lasts (rule NV-447)."""
        if not is_deleting(there):
            message = f"{resource.kind} {shown(there)} exists and does not belong to this ComputeDomain"
            self.warn(domain, "NameTaken", message)

    def report_too_few_nodes(self, domain: Obj) -> None:
        """Report a numNodes that is larger than the number of Nodes (rule NV-463)."""
        wanted = int(domain["spec"].get("numNodes") or 0)
        # Whatever has an entry has a Node.
        joined = sum(len(clique.get("daemons") or ()) for clique in self._cliques_of(domain))
        self._nodes_seen = max(self._nodes_seen, joined)
        # Listed once for a domain for which the last list had too few, and then by sweeps only: the work does not grow
        # with domains times nodes.
        if wanted > self._nodes_seen and uid_of(domain) not in self._short:
            self._count_nodes()
        if wanted > self._nodes_seen:
            self._short[uid_of(domain)] = key_of(domain)
            # Without the number of Nodes: a message that changes is another event.
            self.warn(domain, "TooFewNodes", f"numNodes is {wanted}, and the cluster has fewer nodes")
        else:
            self._short.pop(uid_of(domain), None)

    def _count_nodes(self) -> None:
        self._nodes_seen = len(self._client.list(NODES).items)

    def report_indices(self, domain: Obj) -> None:
        """Report daemons of a clique that cannot have the indices in their entries (rule NV-464)."""
        for clique in self._cliques_of(domain):
            for problem in index_problems(clique.get("daemons") or ()):
                self.warn(domain, "WrongIndex", f"ComputeDomainClique {name_of(clique)}: {problem}")

    def report_edits(self, domain: Obj) -> None:
        """Report entries and cliques that were changed by hand, and not by a daemon (rules NV-468, NV-469)."""
        uid = uid_of(domain)
        if not self._edits.has(uid):
            return
        # The pod informer may be behind the clique informer.
        pods = self._client.list(PODS, self._namespace, label_selector=f"{DOMAIN_LABEL}={uid}").items
        found, wait = self._edits.judge(uid, self._cliques_of(domain), pods)
        for problem in found:
            self.warn(domain, problem.reason, problem.message)
        if wait:
            self._loop.queue.add_after(key_of(domain), wait)

    def warn(self, domain: Obj, reason: str, message: str) -> None:
        """Record a problem of a domain: as a Warning event, not again at each attempt, and for its condition."""
        problem, uid = Problem(reason, message), uid_of(domain)
        lasts = reason not in HAPPENED | EVENT_ONLY
        if lasts:
            self._problems.append(problem)
        elif reason in HAPPENED:
            self._happened.setdefault(uid, []).append(problem)
        reported, now = self._reported.setdefault(uid, {}), self._clock.monotonic()
        if lasts and now - reported.get(problem, -_EVENT_INTERVAL) < _EVENT_INTERVAL:
            return
        reported[problem] = now
        kind = {"apiVersion": COMPUTE_DOMAINS.api_version, "kind": COMPUTE_DOMAINS.kind}
        self._recorder.event({**domain, **kind}, "Warning", reason, message)

    def remove_dead_entries(self, domain: Obj) -> None:
        """Drop clique entries whose daemon pod is gone, with an event (rules NV-151, NV-465)."""
        for clique in self._cliques_of(domain):
            if status.dead_entries(clique, self._pods_of(domain)):
                # The pod informer may be behind the clique informer: read live before removing a node.
                where = namespace_of(clique)
                pods = self._client.list(PODS, where, label_selector=f"{DOMAIN_LABEL}={uid_of(domain)}").items
                if dead := status.dead_entries(clique, pods):
                    clique_id = str((meta(clique).get("labels") or {}).get(CLIQUE_LABEL) or "")
                    writer = self._cliques_writer
                    if where != self._namespace:
                        writer = CliqueWriter(self._client, namespace=where)
                    writer.leave(uid_of(domain), clique_id, dead)
                    message = f"removed from clique {clique_id}, without a daemon pod: {', '.join(sorted(dead))}"
                    self.warn(domain, "NodeRemoved", message)

    def update_status(self, domain: Obj) -> None:
        """Write the joined nodes, whether the domain is ready, and its condition (rules NV-148 to NV-152, NV-470)."""
        self._write_status(domain, self.wanted_status(domain))

    def report_conditions(self, domain: Obj) -> None:
        """Write the condition only: the rest of the status waits until the domain has its objects."""
        if self._problems:
            kept = {key: value for key, value in (domain.get("status") or {}).items() if key != "conditions"}
            self._write_status(domain, {"status": "NotReady", **kept})

    def _write_status(self, domain: Obj, wanted: Obj) -> None:
        uid = uid_of(domain)
        if conditions := self.wanted_conditions(domain, ready=wanted["status"] == "Ready"):
            wanted = {**wanted, "conditions": conditions}
        if domain.get("status") != wanted:
            written = self._client.update_status(COMPUTE_DOMAINS, {**domain, "status": wanted})
            if conditions and not problems.conditions_of(written):
                # Otherwise each later attempt would write them again.
                self._keeps_conditions = False
        self._happened.pop(uid, None)
        lasting = {problem: at for problem, at in self._reported.pop(uid, {}).items() if problem in self._problems}
        if lasting:
            self._reported[uid] = lasting

    def wanted_conditions(self, domain: Obj, *, ready: bool) -> list[Obj]:
        """Return the conditions of a domain; none if its CRD has no such field (rule NV-470)."""
        if not self._keeps_conditions:
            return []
        found = [*self._problems, *self._happened.get(uid_of(domain), ())]
        return problems.conditions(domain, found, ready=ready, now=timestamp(self._clock.now()))

    def wanted_status(self, domain: Obj) -> Obj:
        """Return the status that follows from cliques and pods; a domain without daemons waits for none."""
        if self._host_managed:
            return {"status": "Ready"}
        return status.domain_status(domain, self._cliques_of(domain), self._pods_of(domain))

    def _cliques_of(self, domain: Obj) -> list[Obj]:
        return self._everywhere(COMPUTE_DOMAIN_CLIQUES, domain)

    def _pods_of(self, domain: Obj) -> list[Obj]:
        return self._everywhere(PODS, domain)

    def _everywhere(self, resource: Resource, domain: Obj) -> list[Obj]:
        own = list(self._informers[resource].by_index("domain", uid_of(domain)))
        return [*own, *self._of_former(resource, domain)]

    def _of_former(self, resource: Resource, domain: Obj) -> list[Obj]:
        found = [informers[resource].by_index("domain", uid_of(domain)) for informers in self._elsewhere]
        return [obj for objects_of_one in found for obj in objects_of_one]

    # -- deletion --------------------------------------------------------------------------------------------------

    def tear_down(self, domain: Obj) -> None:
        """Remove everything that was made for a domain, then its finalizer (rule NV-153)."""
        for known in (self._short, self._taken, self._happened, self._reported):
            known.pop(uid_of(domain), None)
        self._edits.forget(uid_of(domain))
        if not has_finalizer(domain):
            return
        self.remove_owned(uid_of(domain))
        # Another finalizer may keep an object. Its deletion wakes this domain again (rule NV-342).
        if not self.has_owned(uid_of(domain)):
            self.release_domain(domain)

    def has_owned(self, domain_uid: str) -> bool:
        """Return whether a template or a DaemonSet of a domain still exists."""
        return bool(self._owned(domain_uid))

    def remove_owned(self, domain_uid: str) -> None:
        """Delete templates, daemon objects and node labels of a domain. Raises if a request fails."""
        owned = self._owned(domain_uid)
        for resource, obj in owned:
            self._delete(resource, obj)
        self.remove_node_labels(domain_uid)
        for resource, obj in owned:
            self._release(resource, obj)

    def remove_node_labels(self, domain_uid: str) -> None:
        """Remove the label of the domain from all nodes."""
        for node in self._client.list(NODES, label_selector=f"{DOMAIN_LABEL}={domain_uid}").items:
            with contextlib.suppress(NotFound):
                self._client.patch(NODES, name_of(node), {"metadata": {"labels": {DOMAIN_LABEL: None}}})

    def release_domain(self, domain: Obj) -> None:
        """Take the finalizer off the domain itself: the last step."""
        self._release(COMPUTE_DOMAINS, domain)

    def _owned(self, domain_uid: str) -> list[tuple[Resource, Obj]]:
        """Return templates and DaemonSets with the label of a domain, from the namespaces of the domain and the driver.

        An object in another namespace has the label from a user, who must not be able to hold the deletion up (rule
        NV-331). Of a domain that is gone, the namespace is not known.
        """
        found = [(resource, obj) for resource in _OWNED for obj in self._labelled(resource, domain_uid)]
        domains = self._informers[COMPUTE_DOMAINS].by_index("uid", domain_uid)
        own = {self._namespace, *self._additional, *map(namespace_of, domains)}
        return [(resource, obj) for resource, obj in found if not domains or namespace_of(obj) in own]

    def _labelled(self, resource: Resource, domain_uid: str) -> list[Obj]:
        return self._client.list(resource, label_selector=f"{DOMAIN_LABEL}={domain_uid}").items

    def _delete(self, resource: Resource, obj: Obj) -> None:
        if not is_deleting(obj):
            with contextlib.suppress(NotFound):
                self._client.delete(resource, name_of(obj), namespace_of(obj), uid=uid_of(obj))

    def _release(self, resource: Resource, obj: Obj) -> None:
        with contextlib.suppress(NotFound):
            # `_delete` has changed the object, and an update needs its current version.
            fresh = self._client.get(resource, name_of(obj), namespace_of(obj))
            if uid_of(fresh) == uid_of(obj) and has_finalizer(fresh):
                kept = [entry for entry in meta(fresh)["finalizers"] if entry != FINALIZER]
                self._client.update(resource, {**fresh, "metadata": {**meta(fresh), "finalizers": kept}})

    # -- orphaned objects ---------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Remove objects and node labels of domains that do not exist."""
        labelled = {
            domain_of(obj)
            for resource in (*_OWNED, NODES)
            for obj in self._client.list(resource, label_selector=DOMAIN_LABEL).items
        }
        # Domains after objects: a domain that is created in between has no object in `labelled`. In the other order
        # its objects would look orphaned and be deleted.
        alive = {uid_of(domain) for domain in self._client.list(COMPUTE_DOMAINS).items}
        for domain_uid in labelled - alive:
            self.remove_owned(domain_uid)
