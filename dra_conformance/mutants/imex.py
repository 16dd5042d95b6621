"""Mutants of the ComputeDomain API, its controller, and the channels of the driver on a node."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

from dra_api.objects import NODES, PODS
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.compute_domain.membership import NotYetError, PermanentError

CONTROLLER = "reference_impl.compute_domain.controller:ComputeDomainController"
MEMBERSHIP = "reference_impl.compute_domain.membership:Membership"
PREPARER = "reference_impl.compute_domain.channels:ChannelPreparer"
CHANNELS = "reference_impl.compute_domain.fabric:Channels"
OPTIONS = "reference_impl.compute_domain.options"
FABRIC = "reference_impl.compute_domain.fabric"


def _crd_without(*keys: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The CRDs are installed without these words of their schemas."""

    def strip(value: Any, parent: str = "") -> Any:
        if isinstance(value, dict):
            # A property may have the name of a schema keyword: those stay.
            dropped = () if parent == "properties" else keys
            return {key: strip(item, key) for key, item in value.items() if key not in dropped}
        return [strip(item) for item in value] if isinstance(value, list) else value

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def load_all(text: str, *, where: str) -> Any:
            found = original(text, where=where)
            return [strip(item) if item.get("kind") == "CustomResourceDefinition" else item for item in found]

        return load_all

    return make


def _schema(*keys: str) -> Callable[[Patch], None]:
    def apply(patch: Patch) -> None:
        make = _crd_without(*keys)

        # Only the CRDs of ComputeDomains: those of other kinds stay complete.
        def guarded(original: Callable[..., Any]) -> Callable[..., Any]:
            changed = make(original)
            return lambda text, *, where: (changed if "computedomain" in where else original)(text, where=where)

        patch.wrap("dra_conformance.core.documents:load_all", guarded)

    return apply


@mutant("domain-without-required-fields", rule="NV-142")
def _(patch: Patch) -> None:
    """The API accepts a ComputeDomain without a channel."""
    _schema("required")(patch)


@mutant("domain-with-unknown-mode", rule="NV-142")
def _(patch: Patch) -> None:
    """The API accepts unknown modes."""
    _schema("enum")(patch)


@mutant("domain-for-negative-nodes", rule="NV-142")
def _(patch: Patch) -> None:
    """The API accepts a negative numNodes."""
    _schema("minimum")(patch)


@mutant("domain-spec-changes", rule="NV-144")
def _(patch: Patch) -> None:
    """The API lets the spec of a ComputeDomain change."""
    _schema("x-kubernetes-validations")(patch)


@mutant("domain-without-finalizer", rule="NV-145")
def _(patch: Patch) -> None:
    """The controller adds no finalizer to ComputeDomains."""
    patch.replace(f"{CONTROLLER}.ensure_finalizer", lambda self, domain: domain)


@mutant("domain-without-daemons", rule="NV-146")
def _(patch: Patch) -> None:
    """The controller creates nothing for daemons."""
    patch.replace(f"{CONTROLLER}.ensure_daemons", lambda self, domain: None)


@mutant("daemons-on-every-node", rule="NV-146")
def _(patch: Patch) -> None:
    """The DaemonSet of a domain selects all nodes."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def daemon_set(*args: Any, **options: Any) -> Any:
            found = copy.deepcopy(original(*args, **options))
            found["spec"]["template"]["spec"]["nodeSelector"] = {}
            return found

        return daemon_set

    patch.wrap("reference_impl.compute_domain.objects:daemon_set", make)


def _template_parameters(change: Callable[[Any, Any], None]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def workload_template(domain: Any, **options: Any) -> Any:
            found = copy.deepcopy(original(domain, **options))
            for entry in found["spec"]["spec"]["devices"]["config"]:
                change(entry["opaque"]["parameters"], domain)
            return found

        return workload_template

    return make


def _patch_template(patch: Patch, change: Callable[[Any, Any], None]) -> None:
    patch.wrap("reference_impl.compute_domain.objects:workload_template", _template_parameters(change))


@mutant("template-with-name-of-domain", rule="NV-147")
def _(patch: Patch) -> None:
    """The claim template has the domain's name instead of its UID."""
    _patch_template(patch, lambda parameters, domain: parameters.update(domainID=domain["metadata"]["name"]))


@mutant("template-without-mode", rule="NV-147")
def _(patch: Patch) -> None:
    """The claim template always has the mode Single."""
    _patch_template(patch, lambda parameters, domain: parameters.update(allocationMode="Single"))


@mutant("domain-ready-without-nodes", rule="NV-149")
def _(patch: Patch) -> None:
    """A ComputeDomain without nodes is Ready."""

    def global_status(domain: Any, nodes: Any) -> str:
        return "Ready" if all(node["status"] == "Ready" for node in nodes) else "NotReady"

    patch.replace("reference_impl.compute_domain.status:global_status", global_status)


@mutant("domain-never-ready", rule="NV-150")
def _(patch: Patch) -> None:
    """The status of a ComputeDomain is always NotReady."""
    patch.replace("reference_impl.compute_domain.status:global_status", lambda domain, nodes: "NotReady")


@mutant("dead-daemons-stay-in-clique", rule="NV-151")
def _(patch: Patch) -> None:
    """Entries of a clique are kept without checking their daemons."""
    patch.replace(
        "reference_impl.compute_domain.controller:ComputeDomainController.remove_dead_entries",
        lambda self, domain: None,
    )


@mutant("domain-lists-no-nodes", rule="NV-150")
def _(patch: Patch) -> None:
    """The status does not list the nodes that joined."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: {key: value for key, value in original(*args).items() if key != "nodes"}

    patch.wrap("reference_impl.compute_domain.status:domain_status", make)


@mutant("domain-removed-before-its-objects", rule="NV-153")
def _(patch: Patch) -> None:
    """The controller removes its finalizer without deleting the objects of the domain."""
    patch.replace(f"{CONTROLLER}.remove_owned", lambda self, uid: None)


@mutant("domain-finalizer-never-removed", rule="NV-153")
def _(patch: Patch) -> None:
    """The controller keeps its finalizer."""
    patch.replace(f"{CONTROLLER}.release_domain", lambda self, domain: None)


@mutant("every-channel-published", rule="NV-046")
def _(patch: Patch) -> None:
    """Each node publishes more than one channel."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def published(**options: Any) -> Any:
            second = {"name": "channel-1", "attributes": {"type": {"string": "channel"}, "id": {"int": 1}}}
            return [*original(**options), second]

        return published

    patch.wrap("reference_impl.compute_domain.plugin:published_devices", make)


@mutant("other-namespace-accepted", rule="NV-158")
def _(patch: Patch) -> None:
    """A claim may join a domain of another namespace."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, uid: str, *, claim_namespace: str) -> Any:
            found = self.domain(uid)
            return found if found is not None else original(self, uid, claim_namespace=claim_namespace)

        return check

    patch.wrap(f"{MEMBERSHIP}.check_domain", make)


@mutant("namespace-that-begins-alike-accepted", rule="NV-158")
def _(patch: Patch) -> None:
    """A claim may join a domain if the name of its namespace begins with that of the domain's."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, uid: str, *, claim_namespace: str) -> Any:
            found = self.domain(uid)
            alike = found is not None and claim_namespace.startswith(found["metadata"]["namespace"])
            return found if alike else original(self, uid, claim_namespace=claim_namespace)

        return check

    patch.wrap(f"{MEMBERSHIP}.check_domain", make)


@mutant("unknown-domain-awaited", rule="NV-159")
def _(patch: Patch) -> None:
    """A claim for no domain waits for it to appear."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, uid: str, *, claim_namespace: str) -> Any:
            if self.domain(uid) is None:
                raise NotYetError(f"ComputeDomain not found: {uid}")
            return original(self, uid, claim_namespace=claim_namespace)

        return check

    patch.wrap(f"{MEMBERSHIP}.check_domain", make)


@mutant("unknown-field-ignored", rule="NV-160")
def _(patch: Patch) -> None:
    """Configurations are read leniently."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda parameters, *, strict=True: original(parameters, strict=False)

    patch.wrap("reference_impl.kubelet_plugin.configs:decode", make)


@mutant("node-does-not-join", rule="NV-161")
def _(patch: Patch) -> None:
    """A channel claim waits and does not label its node."""
    patch.replace(f"{MEMBERSHIP}.join", lambda self, uid: None)


@mutant("channel-before-daemon-is-ready", rule="NV-161")
def _(patch: Patch) -> None:
    """A channel is prepared as soon as its node is labelled."""
    patch.replace(f"{MEMBERSHIP}.check_ready", lambda self, domain: None)


@mutant("ready-node-not-observed", rule="NV-162")
def _(patch: Patch) -> None:
    """A waiting claim gets no channel when its node becomes ready."""
    patch.replace(f"{MEMBERSHIP}.is_ready", lambda self, domain: False)


@mutant("mode-all-gives-one-channel", rule="NV-163")
def _(patch: Patch) -> None:
    """allocationMode All is treated as Single."""
    patch.wrap(f"{CHANNELS}.nodes", lambda original: lambda self, mode: original(self, "Single"))


@mutant("mode-single-gives-all-channels", rule="NV-163")
def _(patch: Patch) -> None:
    """allocationMode Single is treated as All."""
    patch.wrap(f"{CHANNELS}.nodes", lambda original: lambda self, mode: original(self, "All"))


@mutant("channel-prepared-twice", rule="NV-164")
def _(patch: Patch) -> None:
    """A channel is prepared without checking that it is free."""
    patch.replace(f"{PREPARER}.check_overlap", lambda self, uid, results, held: None)


@mutant("unprepared-channel-stays-in-use", rule="NV-164")
def _(patch: Patch) -> None:
    """A channel stays in use after Unprepare."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        used: set[str] = set()

        def check(self: Any, uid: str, results: Any, held: Any) -> None:
            original(self, uid, results, held)
            # No uid is ever removed, not even by Unprepare.
            if used - {uid}:
                raise NotYetError("the channel is in use")
            used.add(uid)

        return check

    patch.wrap(f"{PREPARER}.check_overlap", make)


@mutant("node-moved-to-last-domain", rule="NV-165")
def _(patch: Patch) -> None:
    """A node moves to the domain of the latest claim."""
    patch.replace(f"{MEMBERSHIP}.check_free", lambda self, current, uid: None)


@mutant("domain-label-stays-on-node", rule="NV-166")
def _(patch: Patch) -> None:
    """The label of a domain stays on its node."""
    patch.replace(f"{MEMBERSHIP}.leave", lambda self, uid: None)


@mutant("channel-on-node-without-fabric", rule="NV-170")
def _(patch: Patch) -> None:
    """A node without NVLink fabric prepares a channel that is not connected."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(self: Any, **options: Any) -> None:
            real = options["clique_id"]
            # Any text counts as the ID of a clique.
            original(self, **{**options, "clique_id": lambda: real() or "none"})

        return init

    patch.wrap(f"{PREPARER}.__init__", make)


@mutant("claim-refused-without-fabric", rule="NV-170")
def _(patch: Patch) -> None:
    """A node without NVLink fabric refuses channel claims."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, claim: Any, config: Any) -> Any:
            if not self._clique_id():
                raise PermanentError("the node has no NVLink fabric")
            return original(self, claim, config)

        return edits

    patch.wrap(f"{PREPARER}.channel_edits", make)


@mutant("no-defaults-for-domains", rule="NV-143")
def _(patch: Patch) -> None:
    """The CRD has no defaults."""
    _schema("default")(patch)


@mutant("daemons-without-gpus", rule="NV-156")
def _(patch: Patch) -> None:
    """A daemon gets its own CDI device only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, *what: Any) -> Any:
            found = original(self, *what)
            return type(found)(found.container, found.cdi_ids[1:])

        return edits

    patch.wrap(f"{PREPARER}.daemon_edits", make)


@mutant("daemons-of-no-clique", rule="NV-157")
def _(patch: Patch) -> None:
    """A daemon gets no clique."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, *what: Any) -> Any:
            found = original(self, *what)
            kept = [word for word in found.container["env"] if not word.startswith("CLIQUE_ID")]
            return type(found)({**found.container, "env": kept}, found.cdi_ids)

        return edits

    patch.wrap(f"{PREPARER}.daemon_edits", make)


@mutant("aborted-prepare-not-recorded", rule="NV-167")
def _(patch: Patch) -> None:
    """An aborted Prepare is removed from the checkpoint instead of being recorded."""
    patch.replace(f"{PREPARER}.remember_aborted", lambda self, uid, entry: self._checkpoint.drop(uid))


@mutant("aborted-claim-prepared-again", rule="NV-168")
def _(patch: Patch) -> None:
    """An aborted claim can be prepared again."""
    patch.replace(f"{PREPARER}.check_not_aborted", lambda self, claim, entry: None)


@mutant("imex-channel-driver-not-checked", rule="NV-016")
def _(patch: Patch) -> None:
    """The kernel is not checked for IMEX channels at start."""
    patch.replace(f"{CHANNELS}.check", lambda self: None)


def _fabric_gate(*, strict: bool) -> Callable[[Patch], None]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def gpu_clique(nvml: Any, handle: Any, **_: Any) -> Any:
            return original(nvml, handle, strict=strict)

        return gpu_clique

    return lambda patch: patch.wrap(f"{FABRIC}:gpu_clique", make)


@mutant("fabric-in-progress-counts-as-none", rule="NV-017")
def _(patch: Patch) -> None:
    """A fabric that is not up counts as no fabric, even if the gate is on."""
    _fabric_gate(strict=False)(patch)


@mutant("fabric-in-progress-stops-driver", rule="NV-017b")
def _(patch: Patch) -> None:
    """A fabric that is not up stops the driver, even if the gate is off."""
    _fabric_gate(strict=True)(patch)


@mutant("fabric-in-progress-has-clique", rule="NV-017b")
def _(patch: Patch) -> None:
    """The clique of a GPU whose fabric is not up is used."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def gpu_clique(nvml: Any, handle: Any, *, strict: bool = True) -> Any:
            return original(nvml, handle, strict=strict) or "00000000-0000-0000-0000-000000000000.0"

        return gpu_clique

    patch.wrap(f"{FABRIC}:gpu_clique", make)


@mutant("host-managed-without-gate", rule="NV-018")
def _(patch: Patch) -> None:
    """The feature gate and the isolation are not checked."""
    patch.replace(f"{OPTIONS}:ImexOptions.check", lambda self, gates: None)


@mutant("unsupported-isolation-accepted", rule="NV-018")
def _(patch: Patch) -> None:
    """An unsupported isolation is treated as domain."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, gates: Any) -> None:
            original(dataclasses.replace(self, isolation="domain"), gates)

        return check

    patch.wrap(f"{OPTIONS}:ImexOptions.check", make)


@mutant("driver-host-managed-without-gate", rule="NV-018b")
def _(patch: Patch) -> None:
    """The feature gate and the isolation are not checked."""
    patch.replace(f"{OPTIONS}:ImexOptions.check", lambda self, gates: None)


@mutant("host-managed-daemon-published", rule="NV-047")
def _(patch: Patch) -> None:
    """A daemon is published although the driver runs none."""
    patch.wrap(
        "reference_impl.compute_domain.plugin:published_devices",
        lambda original: lambda **_: original(host_managed=False),
    )


@mutant("host-managed-daemon-prepared", rule="NV-171")
def _(patch: Patch) -> None:
    """A daemon claim is prepared beside the host's own daemon."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, *what: Any) -> Any:
            # Without the host's daemon the preparer handles daemon claims as in mode driverManaged.
            host, self._host_imex = self._host_imex, None
            try:
                return original(self, *what)
            finally:
                self._host_imex = host

        return edits

    patch.wrap(f"{PREPARER}.daemon_edits", make)


@mutant("host-managed-node-labelled", rule="NV-171b")
def _(patch: Patch) -> None:
    """A channel claim labels its node even in mode hostManaged."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, claim: Any, config: Any) -> Any:
            self._membership.join(config.domain_id)
            return original(self, claim, config)

        return edits

    patch.wrap(f"{PREPARER}.channel_edits", make)


@mutant("host-daemon-not-checked", rule="NV-171c")
def _(patch: Patch) -> None:
    """A channel is prepared even if the host's daemon is not running."""
    patch.replace("reference_impl.compute_domain.host_imex:HostImex.check_ready", lambda self: None)


@mutant("host-managed-domain-with-daemons", rule="NV-171d")
def _(patch: Patch) -> None:
    """The controller creates daemons for a host-managed domain, which needs none."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def reconcile(self: Any, domain: Any) -> None:
            # The original calls this in other modes only.
            self.ensure_daemons(domain)
            original(self, domain)

        return reconcile

    patch.wrap(f"{CONTROLLER}.reconcile", make)


@mutant("host-managed-domain-waits-for-nodes", rule="NV-171d")
def _(patch: Patch) -> None:
    """A domain waits for nodes that will never join."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def wanted(self: Any, domain: Any) -> Any:
            # For this computation only; the rest of the controller stays in mode hostManaged.
            host, self._host_managed = self._host_managed, False
            try:
                return original(self, domain)
            finally:
                self._host_managed = host

        return wanted

    patch.wrap(f"{CONTROLLER}.wanted_status", make)


@mutant("host-managed-template-keeps-mode", rule="NV-171d")
def _(patch: Patch) -> None:
    """The claim template keeps a mode that the host's daemon cannot serve."""

    def wrapped(original: Any) -> Any:
        return lambda domain, **_: original(domain, host_managed=False)

    patch.wrap("reference_impl.compute_domain.objects:workload_template", wrapped)


STATUS = "reference_impl.compute_domain.status"
OBJECTS = "reference_impl.compute_domain.objects"


def _count(domain: Any) -> int:
    return int(domain["spec"].get("numNodes") or 0)


@mutant("domain-ready-with-one-node-of-many", rule="NV-149")
def _(patch: Patch) -> None:
    """A ComputeDomain is Ready once one of its nodes is."""

    def global_status(domain: Any, nodes: Any) -> str:
        enough = bool(nodes) or not _count(domain)
        return "Ready" if enough and all(node["status"] == "Ready" for node in nodes) else "NotReady"

    patch.replace(f"{STATUS}:global_status", global_status)


@mutant("domain-ready-with-unready-nodes", rule="NV-150")
def _(patch: Patch) -> None:
    """A ComputeDomain is Ready once enough nodes are listed, ready or not."""
    patch.replace(
        f"{STATUS}:global_status",
        lambda domain, nodes: "Ready" if len(nodes) >= _count(domain) else "NotReady",
    )


@mutant("domain-stays-ready", rule="NV-150")
def _(patch: Patch) -> None:
    """A ComputeDomain that was Ready once never becomes NotReady."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def domain_status(domain: Any, *rest: Any) -> Any:
            before = (domain.get("status") or {}).get("status")
            found = original(domain, *rest)
            return {**found, "status": "Ready"} if before == "Ready" else found

        return domain_status

    patch.wrap(f"{STATUS}:domain_status", make)


def mix_domains(patch: Patch) -> None:
    """Let the status of a domain be computed from the cliques and daemon pods of all domains."""

    def cliques(self: Any, domain: Any) -> Any:
        return [c for i in self._informers.values() for c in i.list() if "daemons" in c]

    def pods(self: Any, domain: Any) -> Any:
        return [pod for i in self._informers.values() for pod in i.list() if "nodeName" in (pod.get("spec") or {})]

    patch.replace(f"{CONTROLLER}._cliques_of", cliques)
    patch.replace(f"{CONTROLLER}._pods_of", pods)


@mutant("domain-lists-nodes-of-all-domains", rule="NV-150")
def _(patch: Patch) -> None:
    """The status lists the nodes of all ComputeDomains."""
    mix_domains(patch)


@mutant("daemon-of-other-domain-keeps-entry", rule="NV-151b")
def _(patch: Patch) -> None:
    """The daemon pod of any ComputeDomain keeps the entry of its node."""

    def dead(self: Any, domain: Any) -> None:
        pods = self._informers[PODS].list()
        for clique in self._cliques_of(domain):
            living = {pod["spec"].get("nodeName") for pod in pods}
            lost = {entry["nodeName"] for entry in clique.get("daemons") or ()} - living
            if lost:
                number = clique["metadata"]["labels"]["resource.nvidia.com/computeDomain.cliqueID"]
                self._cliques_writer.leave(domain["metadata"]["uid"], number, lost)

    patch.replace(f"{CONTROLLER}.remove_dead_entries", dead)


@mutant("clique-loses-living-nodes", rule="NV-151")
def _(patch: Patch) -> None:
    """All entries of a clique are removed once one of its nodes has no daemon."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def dead_entries(clique: Any, pods: Any) -> set[str]:
            found = original(clique, pods)
            return {entry["nodeName"] for entry in clique.get("daemons") or ()} if found else found

        return dead_entries

    patch.wrap(f"{STATUS}:dead_entries", make)


@mutant("node-without-fabric-not-listed", rule="NV-152")
def _(patch: Patch) -> None:
    """Nodes without an NVLink fabric are not listed."""
    patch.replace(f"{STATUS}:has_no_fabric", lambda pod: False)


@mutant("any-condition-of-pod-makes-ready", rule="NV-152")
def _(patch: Patch) -> None:
    """A node without an NVLink fabric is Ready once any condition of its daemon pod is true."""

    def is_ready(pod: Any) -> bool:
        return any(one["status"] == "True" for one in pod["status"].get("conditions") or ())

    patch.replace(f"{STATUS}:is_ready", is_ready)


@mutant("node-without-fabric-always-ready", rule="NV-152")
def _(patch: Patch) -> None:
    """Nodes without an NVLink fabric are Ready before their daemon pod is."""
    patch.replace(f"{STATUS}:is_ready", lambda pod: True)


@mutant("node-labels-stay-after-domain", rule="NV-153")
def _(patch: Patch) -> None:
    """Nodes keep the label of a deleted ComputeDomain."""
    patch.replace(f"{CONTROLLER}.remove_node_labels", lambda self, uid: None)


@mutant("last-node-keeps-label-of-domain", rule="NV-153")
def _(patch: Patch) -> None:
    """The last node with the label of a deleted ComputeDomain keeps it."""

    def remove(self: Any, uid: str) -> None:
        # A repeated clean-up must not remove what the first one left.
        for node in self._client.list(NODES, label_selector=f"resource.nvidia.com/computeDomain={uid}").items[:-1]:
            labels = {"resource.nvidia.com/computeDomain": None}
            self._client.patch(NODES, node["metadata"]["name"], {"metadata": {"labels": labels}})

    patch.replace(f"{CONTROLLER}.remove_node_labels", remove)


@mutant("deleted-domain-takes-labels-of-others", rule="NV-153")
def _(patch: Patch) -> None:
    """The deletion of a ComputeDomain removes the label of every ComputeDomain from all nodes."""

    def remove(self: Any, uid: str) -> None:
        for node in self._client.list(NODES, label_selector="resource.nvidia.com/computeDomain").items:
            labels = {"resource.nvidia.com/computeDomain": None}
            self._client.patch(NODES, node["metadata"]["name"], {"metadata": {"labels": labels}})

    patch.replace(f"{CONTROLLER}.remove_node_labels", remove)


@mutant("deleted-domain-takes-objects-of-others", rule="NV-153")
def _(patch: Patch) -> None:
    """The deletion of a ComputeDomain deletes the objects of every ComputeDomain."""
    patch.replace(
        f"{CONTROLLER}._labelled",
        lambda self, resource, uid: (
            self._client.list(resource, label_selector="resource.nvidia.com/computeDomain").items
        ),
    )


def _by_name(function: str) -> Callable[[Patch], None]:
    """The first result of a function for the name of a domain is used for all later domains of that name."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        made: dict[tuple[str, str], Any] = {}

        def remembering(domain: Any, *rest: Any, **options: Any) -> Any:
            key = (domain["metadata"]["namespace"], domain["metadata"]["name"])
            return copy.deepcopy(made.setdefault(key, original(domain, *rest, **options)))

        return remembering

    return lambda patch: patch.wrap(f"{OBJECTS}:{function}", make)


@mutant("template-of-former-domain", rule="NV-147")
def _(patch: Patch) -> None:
    """A ComputeDomain that is created again gets the template of the former one of its name."""
    _by_name("workload_template")(patch)


@mutant("daemons-of-former-domain", rule="NV-146")
def _(patch: Patch) -> None:
    """A ComputeDomain that is created again gets the DaemonSet of the former one of its name."""
    _by_name("daemon_set")(patch)


@mutant("status-of-former-domain", rule="NV-149")
def _(patch: Patch) -> None:
    """A ComputeDomain that is created again lists the nodes of the former one of its name."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        uids: dict[str, set[str]] = {}

        def cliques(self: Any, domain: Any) -> Any:
            meta = domain["metadata"]
            former = uids.setdefault(f"{meta['namespace']}/{meta['name']}", set())
            former.add(meta["uid"])
            return [found for uid in sorted(former) for found in original(self, {"metadata": {**meta, "uid": uid}})]

        return cliques

    patch.wrap(f"{CONTROLLER}._cliques_of", make)
    patch.wrap(f"{CONTROLLER}._pods_of", make)


def _without_finalizer(function: str) -> Callable[[Patch], None]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def unprotected(*args: Any, **options: Any) -> Any:
            found = original(*args, **options)
            found["metadata"].pop("finalizers")
            return found

        return unprotected

    return lambda patch: patch.wrap(f"{OBJECTS}:{function}", make)


@mutant("daemon-set-without-finalizer", rule="NV-146")
def _(patch: Patch) -> None:
    """The DaemonSet of a ComputeDomain has no finalizer."""
    _without_finalizer("daemon_set")(patch)


@mutant("daemon-template-without-finalizer", rule="NV-146")
def _(patch: Patch) -> None:
    """The claim template of the daemons has no finalizer."""
    _without_finalizer("daemon_template")(patch)


@mutant("daemon-objects-named-otherwise", rule="NV-146")
def _(patch: Patch) -> None:
    """DaemonSet and claim template have another name than computedomain-daemon-<uid>."""
    patch.replace(f"{OBJECTS}:daemon_name", lambda uid: f"imex-daemon-{uid}")


@mutant("channel-when-any-node-is-ready", rule="NV-161")
def _(patch: Patch) -> None:
    """A channel is prepared once any node of the domain is ready."""

    def ready(self: Any, domain: Any) -> bool:
        uid = domain["metadata"]["uid"]
        return any(
            entry.get("status") == "Ready"
            for clique in self._cliques.list()
            if (clique["metadata"].get("labels") or {}).get("resource.nvidia.com/computeDomain") == uid
            for entry in clique.get("daemons") or ()
        )

    patch.replace(f"{MEMBERSHIP}.is_ready", ready)


@mutant("channel-when-ready-in-any-domain", rule="NV-161")
def _(patch: Patch) -> None:
    """A channel is prepared once the node is ready in any domain."""

    def ready(self: Any, domain: Any) -> bool:
        return any(
            entry["nodeName"] == self._node_name and entry.get("status") == "Ready"
            for clique in self._cliques.list()
            for entry in clique.get("daemons") or ()
        )

    patch.replace(f"{MEMBERSHIP}.is_ready", ready)


@mutant("channel-with-second-cdi-id", rule="NV-162")
def _(patch: Patch) -> None:
    """A channel claim is prepared with the CDI id of all GPUs as well."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, *what: Any) -> Any:
            found = original(self, *what)
            return type(found)(found.container, (f"{self._base_cdi.kind}=all", *found.cdi_ids))

        return edits

    patch.wrap(f"{PREPARER}.channel_edits", make)


def _numbers(change: Callable[[dict[str, Any]], object]) -> Callable[[Patch], None]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def node(*args: Any) -> Any:
            found = dict(original(*args))
            change(found)
            return found

        return node

    return lambda patch: patch.wrap(f"{CHANNELS}.node", make)


@mutant("channel-with-numbers-of-dev-null", rule="NV-163")
def _(patch: Patch) -> None:
    """The device node of a channel has the numbers of /dev/null."""
    _numbers(lambda node: node.update(major=1, minor=3))(patch)


@mutant("channels-with-one-minor-number", rule="NV-163")
def _(patch: Patch) -> None:
    """Every channel has the minor number 0."""
    _numbers(lambda node: node.update(minor=0))(patch)


@mutant("label-of-other-domain-removed", rule="NV-166")
def _(patch: Patch) -> None:
    """Unprepare of a channel removes the label of any ComputeDomain from the node."""

    def leave(self: Any, uid: str) -> None:
        labels = {"resource.nvidia.com/computeDomain": None}
        self._client.patch(NODES, self._node_name, {"metadata": {"labels": labels}})

    patch.replace(f"{MEMBERSHIP}.leave", leave)


@mutant("aborted-claims-by-name", rule="NV-168")
def _(patch: Patch) -> None:
    """A new claim under the name of an aborted one is refused."""

    def check(self: Any, claim: Any, entry: Any) -> None:
        for other in self._checkpoint.claims().values():
            if other.aborted_at and (other.namespace, other.name) == (claim.namespace, claim.name):
                raise PermanentError("claim prepare was already aborted")

    patch.replace(f"{PREPARER}.check_not_aborted", check)


@mutant("daemon-with-other-clique", rule="NV-157")
def _(patch: Patch) -> None:
    """CLIQUE_ID of a daemon has the right form, with another number."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, *what: Any) -> Any:
            found = original(self, *what)
            env = [f"{word}0" if word.startswith("CLIQUE_ID") else word for word in found.container["env"]]
            return type(found)({**found.container, "env": env}, found.cdi_ids)

        return edits

    patch.wrap(f"{PREPARER}.daemon_edits", make)
