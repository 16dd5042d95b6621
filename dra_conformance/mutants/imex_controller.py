"""Mutants of the ComputeDomain controller: rendered objects, foreign objects, restarts and the status of nodes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_api.objects import (
    COMPUTE_DOMAIN_CLIQUES,
    COMPUTE_DOMAINS,
    DAEMON_SETS,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    Obj,
    Resource,
    meta,
    namespace_of,
    uid_of,
)
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.imex import CONTROLLER, OBJECTS, STATUS, mix_domains
from reference_impl.compute_domain.objects import CLIQUE_LABEL
from reference_impl.compute_domain.status import dead_entries

LABEL = "resource.nvidia.com/computeDomain"


def _rendered(patch: Patch, function: str, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    """Apply `change` to the object that a function renders for a domain."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def render(domain: Any, *rest: Any, **options: Any) -> Any:
            found = copy.deepcopy(original(domain, *rest, **options))
            change(found, domain)
            return found

        return render

    patch.wrap(f"{OBJECTS}:{function}", make)


def _container(daemon_set: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = daemon_set["spec"]["template"]["spec"]["containers"][0]
    return found


def _devices(template: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = template["spec"]["spec"]["devices"]
    return found


@mutant("daemons-without-claim", rule="NV-146")
def _(patch: Patch) -> None:
    """The pods of the DaemonSet claim no daemon."""
    _rendered(patch, "daemon_set", lambda found, domain: found["spec"]["template"]["spec"].pop("resourceClaims"))


@mutant("daemon-template-of-channels", rule="NV-146")
def _(patch: Patch) -> None:
    """The claim template of the daemons requests a channel."""

    def change(found: Any, domain: Any) -> None:
        channel = {"deviceClassName": "compute-domain-default-channel.nvidia.com"}
        _devices(found)["requests"][0]["exactly"] = channel

    _rendered(patch, "daemon_template", change)


@mutant("domain-owns-its-templates", rule="NV-146")
def _(patch: Patch) -> None:
    """The claim template of the daemons is owned by the ComputeDomain, which is in another namespace."""

    def change(found: Any, domain: Any) -> None:
        meta = domain["metadata"]
        owner = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomain"}
        found["metadata"]["ownerReferences"] = [{**owner, "name": meta["name"], "uid": meta["uid"]}]

    _rendered(patch, "daemon_template", change)


@mutant("template-of-daemons-for-workloads", rule="NV-147")
def _(patch: Patch) -> None:
    """The claim template of the workloads requests a device of the daemons' class."""

    def change(found: Any, domain: Any) -> None:
        _devices(found)["requests"][0]["exactly"] = {"deviceClassName": "compute-domain-daemon.nvidia.com"}

    _rendered(patch, "workload_template", change)


@mutant("domains-by-name", rule="NV-147")
def _(patch: Patch) -> None:
    """ComputeDomains of one name in several namespaces count as one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def reconcile(self: Any, domain: Any) -> None:
            name, namespace = domain["metadata"]["name"], domain["metadata"]["namespace"]
            self.first = {name: namespace, **getattr(self, "first", {})}
            if self.first[name] == namespace:
                original(self, domain)

        return reconcile

    patch.wrap(f"{CONTROLLER}.reconcile", make)


@mutant("daemon-without-node-name", rule="NV-320")
def _(patch: Patch) -> None:
    """The daemon does not get the name of its node."""

    def change(found: Any, domain: Any) -> None:
        container = _container(found)
        container["env"] = [one for one in container["env"] if one["name"] != "NODE_NAME"]

    _rendered(patch, "daemon_set", change)


@mutant("daemon-does-not-tolerate-no-execute", rule="NV-320")
def _(patch: Patch) -> None:
    """The daemon tolerates taints with the effect NoSchedule only."""

    def change(found: Any, domain: Any) -> None:
        pod = found["spec"]["template"]["spec"]
        pod["tolerations"] = [one for one in pod["tolerations"] if one["effect"] == "NoSchedule"]

    _rendered(patch, "daemon_set", change)


@mutant("daemon-ready-after-several-failures", rule="NV-322")
def _(patch: Patch) -> None:
    """The readiness probe of the daemon has several attempts."""

    def change(found: Any, domain: Any) -> None:
        _container(found)["readinessProbe"]["failureThreshold"] = 3

    _rendered(patch, "daemon_set", change)


@mutant("daemon-requests-processors", rule="NV-320")
def _(patch: Patch) -> None:
    """The daemon requests processor time, so that a node that is full gets none."""

    def change(found: Any, domain: Any) -> None:
        _container(found)["resources"]["requests"] = {"cpu": "1"}

    _rendered(patch, "daemon_set", change)


@mutant("daemon-in-the-network-of-the-host", rule="NV-320")
def _(patch: Patch) -> None:
    """The daemons of a node share its network, so that they have one address."""

    def change(found: Any, domain: Any) -> None:
        found["spec"]["template"]["spec"]["hostNetwork"] = True

    _rendered(patch, "daemon_set", change)


@mutant("daemon-checked-after-a-delay", rule="NV-322")
def _(patch: Patch) -> None:
    """The startup probe begins half a minute after the daemon."""

    def change(found: Any, domain: Any) -> None:
        _container(found)["startupProbe"]["initialDelaySeconds"] = 30

    _rendered(patch, "daemon_set", change)


@mutant("labels-of-the-domain-in-claims", rule="NV-320b")
def _(patch: Patch) -> None:
    """The claims of the workloads get the labels of their template."""

    def change(found: Any, domain: Any) -> None:
        found["spec"]["metadata"] = {"labels": dict(found["metadata"]["labels"])}

    _rendered(patch, "workload_template", change)


@mutant("daemon-template-with-a-selector", rule="NV-320b")
def _(patch: Patch) -> None:
    """The claim template of the daemons selects a device by its attributes as well."""

    def change(found: Any, domain: Any) -> None:
        selector = {"cel": {"expression": "device.attributes['compute-domain.nvidia.com'].id == 0"}}
        _devices(found)["requests"][0]["exactly"]["selectors"] = [selector]

    _rendered(patch, "daemon_template", change)


@mutant("template-of-other-domain-adopted", rule="NV-329")
def _(patch: Patch) -> None:
    """A template of any ComputeDomain under the name in the spec is taken for the own one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def ensure(self: Any, resource: Any, wanted: Any, domain: Any) -> None:
            name, namespace = wanted["metadata"]["name"], wanted["metadata"]["namespace"]
            there = self._client.find(resource, name, namespace)
            adopted: set[Any] = getattr(self, "adopted", set())
            if there is not None or (domain["metadata"]["uid"], name) in adopted:
                self.adopted = {*adopted, (domain["metadata"]["uid"], name)}
                return
            original(self, resource, wanted, domain)

        return ensure

    patch.wrap(f"{CONTROLLER}._ensure", make)


@mutant("taken-name-not-tried-again", rule="NV-329")
def _(patch: Patch) -> None:
    """A ComputeDomain whose template name is taken is not tried again by itself."""
    patch.replace(f"{CONTROLLER}._name_changed", lambda self, change: None)


@mutant("template-of-user-deleted", rule="NV-330")
def _(patch: Patch) -> None:
    """The template under the name in the spec is deleted with the ComputeDomain, whatever its owner."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def remove_owned(self: Any, uid: str) -> None:
            original(self, uid)
            for domain in self._client.list(COMPUTE_DOMAINS).items:
                if domain["metadata"]["uid"] == uid:
                    name = domain["spec"]["channel"]["resourceClaimTemplate"]["name"]
                    self._client.delete_if_there(RESOURCE_CLAIM_TEMPLATES, name, domain["metadata"]["namespace"])

        return remove_owned

    patch.wrap(f"{CONTROLLER}.remove_owned", make)


@mutant("template-written-again-at-start", rule="NV-335")
def _(patch: Patch) -> None:
    """The first reconciliation after a start writes the template of the workloads again."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def ensure(self: Any, domain: Any) -> None:
            original(self, domain)
            written: set[str] = getattr(self, "written", set())
            uid, meta = domain["metadata"]["uid"], domain["metadata"]
            if uid not in written:
                self.written = {*written, uid}
                name = domain["spec"]["channel"]["resourceClaimTemplate"]["name"]
                patched = {"metadata": {"annotations": {"example.com/controller": str(id(self))}}}
                self._client.patch(RESOURCE_CLAIM_TEMPLATES, name, patched, meta["namespace"])

        return ensure

    patch.wrap(f"{CONTROLLER}.ensure_workload_template", make)


@mutant("removed-template-not-created-again", rule="NV-336")
def _(patch: Patch) -> None:
    """The workloads' template of a ComputeDomain is created once."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def ensure(self: Any, domain: Any) -> None:
            made: set[str] = getattr(self, "made", set())
            if domain["metadata"]["uid"] not in made:
                original(self, domain)
                self.made = {*made, domain["metadata"]["uid"]}

        return ensure

    patch.wrap(f"{CONTROLLER}.ensure_workload_template", make)


@mutant("no-sweep", rule="NV-347")
def _(patch: Patch) -> None:
    """Objects of former ComputeDomains are never removed."""
    patch.replace(f"{CONTROLLER}.sweep", lambda self: None)


@mutant("sweep-looks-at-objects-only", rule="NV-347")
def _(patch: Patch) -> None:
    """The sweep does not find a domain of which only the label of a node is left."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def remove_owned(self: Any, domain: str) -> None:
            owned = (DAEMON_SETS, RESOURCE_CLAIM_TEMPLATES)
            if any(self._client.list(resource, label_selector=f"{LABEL}={domain}").items for resource in owned):
                original(self, domain)

        return remove_owned

    patch.wrap(f"{CONTROLLER}.remove_owned", make)


@mutant("sweep-removes-node-labels-of-all-domains", rule="NV-347")
def _(patch: Patch) -> None:
    """The sweep removes the label of every ComputeDomain from all nodes."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def sweep(self: Any) -> None:
            original(self)
            for node in self._client.list(NODES, label_selector=LABEL).items:
                self._client.patch(NODES, node["metadata"]["name"], {"metadata": {"labels": {LABEL: None}}})

        return sweep

    patch.wrap(f"{CONTROLLER}.sweep", make)


@mutant(
    "sweep-at-start-only",
    rule="NV-347",
    scenario="imex/domains#a-controller-removes-what-domains-left-behind-every-ten-minutes",
)
def _(patch: Patch) -> None:
    """The sweep runs when the controller starts, and never again."""
    patch.replace("reference_impl.compute_domain.controller:_SWEEP_INTERVAL", 1e6)


@mutant("finalizers-of-others-removed", rule="NV-153")
def _(patch: Patch) -> None:
    """A deleted ComputeDomain loses all of its finalizers."""

    def release(self: Any, domain: Any) -> None:
        name, namespace = domain["metadata"]["name"], domain["metadata"]["namespace"]
        self._client.patch(COMPUTE_DOMAINS, name, {"metadata": {"finalizers": None}}, namespace)

    patch.replace(f"{CONTROLLER}.release_domain", release)


@mutant("finalizers-of-others-replaced", rule="NV-145")
def _(patch: Patch) -> None:
    """The finalizer of the controller replaces those of others."""

    def ensure(self: Any, domain: Any) -> Any:
        name, namespace = domain["metadata"]["name"], domain["metadata"]["namespace"]
        if LABEL in (domain["metadata"].get("finalizers") or ()):
            return domain
        return self._client.patch(COMPUTE_DOMAINS, name, {"metadata": {"finalizers": [LABEL]}}, namespace)

    patch.replace(f"{CONTROLLER}.ensure_finalizer", ensure)


def _nodes(patch: Patch, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    """Change the nodes in the status of a domain."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda cliques, pods: change([dict(node) for node in original(cliques, pods)])

    patch.wrap(f"{STATUS}:nodes_of", make)


@mutant("nodes-numbered-over-all-cliques", rule="NV-150")
def _(patch: Patch) -> None:
    """The index of a node in the status counts over all cliques."""
    _nodes(patch, lambda nodes: [{**node, "index": at} for at, node in enumerate(nodes)])


@mutant("nodes-without-their-clique", rule="NV-150")
def _(patch: Patch) -> None:
    """All nodes in the status have the clique of the first one."""
    _nodes(patch, lambda nodes: [{**node, "cliqueID": nodes[0]["cliqueID"]} for node in nodes])


@mutant("ready-nodes-counted-only", rule="NV-150")
def _(patch: Patch) -> None:
    """A ComputeDomain with enough ready nodes is Ready although a further node is not."""

    def global_status(domain: Any, nodes: Any) -> str:
        ready = sum(node["status"] == "Ready" for node in nodes)
        return "Ready" if ready >= domain["spec"]["numNodes"] else "NotReady"

    patch.replace(f"{STATUS}:global_status", global_status)


@mutant("pod-without-address-is-listed", rule="NV-152")
def _(patch: Patch) -> None:
    """A node without a fabric is listed before its daemon pod has an address."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def nodes_of(cliques: Any, pods: Any) -> Any:
            found = original(cliques, pods)
            listed = {node["name"] for node in found}
            more = [pod["spec"]["nodeName"] for pod in pods if pod["metadata"]["labels"].get(f"{LABEL}.cliqueID") == ""]
            empty = {"ipAddress": "", "cliqueID": "", "index": -1, "status": "NotReady"}
            return [*found, *({"name": name, **empty} for name in more if name not in listed)]

        return nodes_of

    patch.wrap(f"{STATUS}:nodes_of", make)


CLIQUES = "reference_impl.compute_domain.cliques"


@mutant("daemons-never-reuse-an-index", rule="NV-173")
def _(patch: Patch) -> None:
    """A new daemon gets an index above all others."""
    patch.replace(
        f"{CLIQUES}:lowest_free_index",
        lambda daemons, *, limit=18: max([daemon["index"] for daemon in daemons], default=-1) + 1,
    )


@mutant("daemons-numbered-by-name", rule="NV-173")
def _(patch: Patch) -> None:
    """The daemons of a clique are numbered again when one of them joins."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **named: [{**one, "index": at} for at, one in enumerate(original(*args, **named))]

    patch.wrap(f"{CLIQUES}:joined", make)


@mutant("clique-without-limit", rule="NV-174")
def _(patch: Patch) -> None:
    """A clique takes any number of nodes."""

    def free(daemons: Any, *, limit: int = 0) -> int:
        return next(index for index in range(len(daemons) + 1) if index not in {one.get("index") for one in daemons})

    patch.replace(f"{CLIQUES}:lowest_free_index", free)


@mutant(
    "pod-of-unknown-clique-is-listed",
    rule="NV-152",
    scenario="imex/domains#a-node-without-an-nvlink-fabric-is-listed-with-the-readiness-of-its-daemon-pod",
)
def _(patch: Patch) -> None:
    """A daemon that does not know its clique yet counts as one without a fabric."""
    patch.replace(f"{STATUS}:has_no_fabric", lambda pod: not (pod["metadata"].get("labels") or {}).get(CLIQUE_LABEL))


@mutant("domains-share-a-clique", rule="NV-359")
def _(patch: Patch) -> None:
    """The status lists the nodes of all ComputeDomains in a clique."""
    mix_domains(patch)


@mutant("first-daemon-owns-clique", rule="NV-387")
def _(patch: Patch) -> None:
    """Only the pod of the first daemon owns a clique."""
    patch.wrap(
        f"{CLIQUES}:_with_owner",
        lambda original: lambda owners, pod: owners or original(owners, pod),
    )


@mutant("owners-of-clique-are-no-pods", rule="NV-387")
def _(patch: Patch) -> None:
    """The owners of a clique have the uids of the pods, but another kind, so that the garbage collector finds none."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda owners, pod: [{**owner, "kind": "Job"} for owner in original(owners, pod)]

    patch.wrap(f"{CLIQUES}:_with_owner", make)


@mutant("pods-elsewhere-keep-entries", rule="NV-150b")
def _(patch: Patch) -> None:
    """An entry of a clique stays while a pod of any namespace has its node and the label of the ComputeDomain."""

    def remove(self: Any, domain: Obj) -> None:
        pods = self._client.list(PODS, label_selector=f"{LABEL}={uid_of(domain)}").items
        for clique in self._cliques_of(domain):
            if dead := dead_entries(clique, pods):
                self._cliques_writer.leave(uid_of(domain), meta(clique)["labels"][CLIQUE_LABEL], dead)

    patch.replace(f"{CONTROLLER}.remove_dead_entries", remove)


def _every_namespace(resource: Resource) -> Callable[[Patch], None]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def informer(self: Any, kind: Resource, *, namespace: str | None = None, label_selector: str = "") -> Any:
            return original(
                self, kind, namespace=None if kind == resource else namespace, label_selector=label_selector
            )

        return informer

    return lambda patch: patch.wrap(f"{CONTROLLER}._informer", make)


@mutant("cliques-of-every-namespace-count", rule="NV-150b")
def _(patch: Patch) -> None:
    """A clique in any namespace is one of the ComputeDomain that its label names."""
    _every_namespace(COMPUTE_DOMAIN_CLIQUES)(patch)


@mutant("daemon-pods-of-every-namespace-count", rule="NV-150b")
def _(patch: Patch) -> None:
    """A pod in any namespace is a daemon of the ComputeDomain that its label names."""
    _every_namespace(PODS)(patch)


@mutant("entries-compared-with-cached-pods", rule="NV-151c")
def _(patch: Patch) -> None:
    """Entries are compared with the pods that the controller has received."""

    def remove_dead_entries(self: Any, domain: Any) -> None:
        for clique in self._cliques_of(domain):
            if dead := dead_entries(clique, self._pods_of(domain)):
                self._cliques_writer.leave(uid_of(domain), str(clique["metadata"]["labels"][CLIQUE_LABEL]), dead)

    patch.replace(f"{CONTROLLER}.remove_dead_entries", remove_dead_entries)


def _settings(**changed: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a change of `daemon_set` in which these settings have fixed values."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def daemon_set(*args: Any, settings: Any) -> Any:
            return original(*args, settings=replace(settings, **changed))

        return daemon_set

    return make


@mutant("daemons-without-gates", rule="NV-321")
def _(patch: Patch) -> None:
    """The daemons get no gates."""
    patch.wrap("reference_impl.compute_domain.objects:daemon_set", _settings(gates=""))


@mutant("daemons-with-default-gates", rule="NV-321")
def _(patch: Patch) -> None:
    """The daemons get the defaults, and not what their controller has."""
    gates = "CrashOnNVLinkFabricErrors=true,HostManagedIMEXDaemon=false"
    patch.wrap("reference_impl.compute_domain.objects:daemon_set", _settings(gates=gates))


@mutant("daemons-without-log-level", rule="NV-437")
def _(patch: Patch) -> None:
    """The daemons get no log level."""
    patch.wrap("reference_impl.compute_domain.objects:daemon_set", _settings(verbosity=None))


@mutant("log-level-of-existing-daemons-changed", rule="NV-437")
def _(patch: Patch) -> None:
    """A DaemonSet that exists gets the present settings."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def ensure(self: Any, resource: Any, wanted: Any, domain: Any) -> None:
            original(self, resource, wanted, domain)
            found = self._client.find(resource, wanted["metadata"]["name"], wanted["metadata"]["namespace"])
            if resource == DAEMON_SETS and found is not None:
                self._client.update(resource, {**found, "spec": wanted["spec"]})

        return ensure

    patch.wrap(f"{CONTROLLER}._ensure", make)


@mutant("daemons-without-pull-secrets", rule="NV-467")
def _(patch: Patch) -> None:
    """The daemons get no imagePullSecrets."""
    patch.wrap("reference_impl.compute_domain.objects:daemon_set", _settings(pull_secrets=()))


@mutant("only-the-first-pull-secret", rule="NV-467")
def _(patch: Patch) -> None:
    """Of several imagePullSecrets the daemons get the first."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def daemon_set(*args: Any, settings: Any) -> Any:
            return original(*args, settings=replace(settings, pull_secrets=settings.pull_secrets[:1]))

        return daemon_set

    patch.wrap("reference_impl.compute_domain.objects:daemon_set", make)


@mutant("second-daemons-in-driver-namespace", rule="NV-333")
def _(patch: Patch) -> None:
    """A ComputeDomain whose DaemonSet is in another namespace gets a second one."""
    patch.replace(f"{CONTROLLER}._of_former", lambda self, resource, domain: [])


@mutant("daemons-of-former-installation-left", rule="NV-333")
def _(patch: Patch) -> None:
    """The deletion of a ComputeDomain leaves the DaemonSet in another namespace."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def owned(self: Any, uid: str) -> Any:
            return [pair for pair in original(self, uid) if pair[1]["metadata"]["namespace"] not in self._additional]

        return owned

    patch.wrap(f"{CONTROLLER}._owned", make)


@mutant("status-kept-without-a-clique", rule="NV-150")
def _(patch: Patch) -> None:
    """A ComputeDomain keeps its status while there is no clique of it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def update_status(self: Any, domain: Any) -> None:
            if self._cliques_of(domain) or not (domain.get("status") or {}).get("nodes"):
                original(self, domain)

        return update_status

    patch.wrap(f"{CONTROLLER}.update_status", make)


@mutant("nodes-of-a-former-installation-missed", rule="NV-500")
def _(patch: Patch) -> None:
    """Cliques and daemon pods in additional namespaces do not count."""

    def own(self: Any, resource: Resource, domain: Any) -> list[Obj]:
        return list(self._informers[resource].by_index("domain", uid_of(domain)))

    patch.replace(f"{CONTROLLER}._everywhere", own)


@mutant("entries-of-a-former-installation-stay", rule="NV-500")
def _(patch: Patch) -> None:
    """Entries without a daemon pod are removed in the namespace of the controller only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def remove(self: Any, domain: Any) -> None:
            found = self._cliques_of
            self._cliques_of = lambda one: [clique for clique in found(one) if namespace_of(clique) == self._namespace]
            try:
                original(self, domain)
            finally:
                del self._cliques_of

        return remove

    patch.wrap(f"{CONTROLLER}.remove_dead_entries", make)
