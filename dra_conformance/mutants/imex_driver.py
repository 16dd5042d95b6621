"""Mutants of the ComputeDomain driver on a node: attempts, restarts, cliques, daemons and daemons of the host."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from dra_api.objects import NODES, RESOURCE_CLAIMS
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.imex import CHANNELS, MEMBERSHIP, PREPARER
from reference_impl.compute_domain import status as domain_status
from reference_impl.compute_domain.channels import _Edits
from reference_impl.compute_domain.fabric import FabricError, gpu_clique
from reference_impl.compute_domain.membership import NotYetError, PermanentError
from reference_impl.kubelet_plugin.checkpoint import ClaimState
from reference_impl.kubelet_plugin.discovery import Nvml

MODULE = "reference_impl.compute_domain.channels"
HOST = "reference_impl.compute_domain.host_imex:HostImex"
PLUGIN = "reference_impl.compute_domain.plugin:ComputeDomainPlugin"
SERVICE = "reference_impl.compute_domain.plugin:WaitingService"


@mutant(
    "waiting-call-never-returns",
    rule="NV-161",
    scenario="imex/channels#a-claim-that-is-not-ready-in-time-fails-and-a-later-call-prepares-it",
)
def _(patch: Patch) -> None:
    """Prepare of a claim waits until its node is ready, however long that takes."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, **options: original(self, **{**options, "patience": 1e6})

    patch.wrap(f"{SERVICE}.__init__", make)


@mutant("waiting-call-returns-early", rule="NV-161")
def _(patch: Patch) -> None:
    """Prepare of a claim waits for a second only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, **options: original(self, **{**options, "patience": 1.0})

    patch.wrap(f"{SERVICE}.__init__", make)


@mutant("results-of-other-drivers-prepared", rule="NV-162")
def _(patch: Patch) -> None:
    """Every result of a claim counts as one of this driver."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def results(status: Any, driver: str) -> Any:
            listed = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
            drivers = dict.fromkeys(result["driver"] for result in listed)
            return [result for name in drivers for result in original(status, name)]

        return results

    patch.wrap(f"{MODULE}:own_results", make)


@mutant("channels-without-mode", rule="NV-163")
def _(patch: Patch) -> None:
    """The device node of a channel has no mode, so that it is that of a new file."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, *what: {key: value for key, value in original(self, *what).items() if key != "fileMode"}

    patch.wrap(f"{CHANNELS}.node", make)


def _refuse_unprepare(patch: Patch, refused: Callable[[Any], bool]) -> None:
    """Let Unprepare fail for a claim if `refused` is true for its entry in the checkpoint, None if it has none."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def unprepare(self: Any, uid: str) -> None:
            if refused(self._checkpoint.get(uid)):
                raise PermanentError("the claim is not prepared")
            original(self, uid)

        return unprepare

    patch.wrap(f"{PREPARER}.unprepare", make)


@mutant("unknown-claims-not-unprepared", rule="NV-167b")
def _(patch: Patch) -> None:
    """Unprepare of a claim that the driver does not know fails."""
    _refuse_unprepare(patch, lambda entry: entry is None)


@mutant("aborted-claims-not-unprepared", rule="NV-167b")
def _(patch: Patch) -> None:
    """Unprepare of a claim that was aborted already fails."""
    _refuse_unprepare(patch, lambda entry: entry is not None and entry.aborted_at)


@mutant("claim-without-configuration-gets-channel", rule="NV-172")
def _(patch: Patch) -> None:
    """A claim that names no ComputeDomain gets channel 0."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, claim: Any, result: Any, config: Any) -> Any:
            if config.domain_id:
                return original(self, claim, result, config)
            device = (self._cdi.device_id(claim.uid, "channel-0"),)
            return _Edits({"deviceNodes": self._channels.nodes("Single")}, device)

        return edits

    patch.replace("reference_impl.kubelet_plugin.configs:validate_domain", lambda config, *gates: None)
    patch.wrap(f"{PREPARER}.edits", make)


def _drop_at_start(patch: Patch, dropped: Callable[[Any], bool]) -> None:
    """Let a driver that starts remove claims from its checkpoint: those with an entry for which `dropped` is true."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def repair(self: Any) -> None:
            original(self)
            for uid, entry in list(self._checkpoint.claims().items()):
                if dropped(entry):
                    self._checkpoint.drop(uid)

        return repair

    patch.wrap(f"{PREPARER}.repair", make)


@mutant("driver-forgets-its-claims", rule="NV-376")
def _(patch: Patch) -> None:
    """A driver that starts begins with an empty checkpoint."""
    _drop_at_start(patch, lambda entry: True)


@mutant("specification-of-channel-stays", rule="NV-376")
def _(patch: Patch) -> None:
    """The CDI specification of a channel is not removed when it is unprepared."""
    patch.replace("reference_impl.kubelet_plugin.cdi:CdiFolder.remove", lambda self, uid: None)


@mutant("label-removed-with-first-claim", rule="NV-375")
def _(patch: Patch) -> None:
    """The node loses the label with each claim that is unprepared."""

    def leave(self: Any, uid: str, entry: Any) -> None:
        for domain in self.domains_of(entry):
            self._membership.leave(domain)

    patch.replace(f"{PREPARER}.leave_domains", leave)


@mutant("node-without-clique-label", rule="NV-382")
def _(patch: Patch) -> None:
    """The clique of a node is not shown."""
    patch.replace(f"{MEMBERSHIP}.show_clique", lambda self, clique_id: None)


@mutant("former-clique-label-stays", rule="NV-382")
def _(patch: Patch) -> None:
    """A node that is in no clique keeps the label of its former one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, clique_id: original(self, clique_id) if clique_id else None

    patch.wrap(f"{MEMBERSHIP}.show_clique", make)


@mutant("daemon-without-management-device", rule="NV-157")
def _(patch: Patch) -> None:
    """A daemon does not get the device of fabric-imex-mgmt."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, *what: Any) -> Any:
            found = original(self, *what)
            container = {key: value for key, value in found.container.items() if key != "deviceNodes"}
            return replace(found, container=container)

        return edits

    patch.wrap(f"{PREPARER}.daemon_edits", make)


@mutant("major-number-of-another-driver", rule="NV-157")
def _(patch: Patch) -> None:
    """The major number is that of the first driver whose name begins as the requested one."""

    def major(self: Any, name: str) -> int | None:
        lines = (self.procfs / "devices").read_text().splitlines()
        return next((int(line.split()[0]) for line in lines if f" {name}" in line), None)

    patch.replace("reference_impl.kubelet_plugin.driver_root:DriverRoot.major", major)


@mutant("daemon-configuration-without-node-list", rule="NV-157")
def _(patch: Patch) -> None:
    """The configuration of a daemon does not have the path of the list of its nodes."""
    line = "IMEX_NODE_CONFIG_FILE={{ .IMEXDaemonNodesConfigPath }}\n"
    patch.wrap(f"{MODULE}:IMEX_CONFIG", lambda text: text.replace(line, ""))


@mutant("daemon-configuration-written-once", rule="NV-379")
def _(patch: Patch) -> None:
    """The configuration of a daemon is written only if the folder of its ComputeDomain has none."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda path, *what, **more: None if path.exists() else original(path, *what, **more)

    patch.wrap(f"{MODULE}:write_atomically", make)


@mutant("base-device-without-gpus", rule="NV-156")
def _(patch: Patch) -> None:
    """The CDI device `all` has the control devices only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def repair(self: Any) -> None:
            original(self)
            edits = {"env": ["NVIDIA_VISIBLE_DEVICES=void"], "deviceNodes": self._root.control_nodes()}
            self._base_cdi.write("base", [{"name": "all", "containerEdits": edits}], {})

        return repair

    patch.wrap(f"{PREPARER}.repair", make)


@mutant("daemon-prepared-twice", rule="NV-372")
def _(patch: Patch) -> None:
    """A daemon is prepared for several claims; only channels are exclusive."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, uid: str, results: Any, held: Any) -> None:
            original(self, uid, [result for result in results if result.device == "channel-0"], held)

        return check

    patch.wrap(f"{PREPARER}.check_overlap", make)


@mutant("deleted-claims-never-cleaned", rule="NV-381")
def _(patch: Patch) -> None:
    """A claim that is deleted while it waits keeps its entry and the label of its node."""
    patch.replace(f"{PREPARER}.is_gone", lambda self, uid, entry: False)


@mutant("clean-up-ends-at-a-claim-that-fails", rule="NV-381c")
def _(patch: Patch) -> None:
    """A clean-up ends at the first claim that cannot be unprepared."""

    def clean_stale(self: Any) -> None:
        # By name: the scenario's first claim is the one that fails.
        for uid, entry in sorted(self._checkpoint.claims().items(), key=lambda item: item[1].name):
            self.clean(uid, entry)

    patch.replace(f"{PREPARER}.clean_stale", clean_stale)


@mutant("waiting-claim-that-cannot-be-read-counts-as-deleted", rule="NV-381d")
def _(patch: Patch) -> None:
    """A claim that waits is unprepared if the API server does not return it, for whatever reason."""

    def is_gone(self: Any, uid: str, entry: Any) -> bool:
        return not self._claims.exists(namespace=entry.namespace, name=entry.name, uid=uid)

    patch.replace(f"{PREPARER}.is_gone", is_gone)


@mutant("waiting-claims-aborted-at-start", rule="NV-381b")
def _(patch: Patch) -> None:
    """A driver that starts takes the claims that waited before for aborted ones."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def repair(self: Any) -> None:
            original(self)
            for uid, entry in list(self._checkpoint.claims().items()):
                if entry.state is ClaimState.STARTED:
                    self.remember_aborted(uid, entry)

        return repair

    patch.wrap(f"{PREPARER}.repair", make)


@mutant("waiting-claims-unprepared-at-start", rule="NV-381b")
def _(patch: Patch) -> None:
    """A driver that starts takes its node out of the domains whose claims waited before."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def repair(self: Any) -> None:
            original(self)
            for uid, entry in list(self._checkpoint.claims().items()):
                if entry.state is ClaimState.STARTED:
                    self.leave_domains(uid, entry)
                    self._checkpoint.drop(uid)

        return repair

    patch.wrap(f"{PREPARER}.repair", make)


@mutant("claims-cleaned-by-name", rule="NV-381")
def _(patch: Patch) -> None:
    """A claim is taken for the one that waited if it has the same name."""

    def is_gone(self: Any, uid: str, entry: Any) -> bool:
        return self._claims._client.find(RESOURCE_CLAIMS, entry.name, entry.namespace) is None

    patch.replace(f"{PREPARER}.is_gone", is_gone)


@mutant("waiting-claims-cleaned", rule="NV-381")
def _(patch: Patch) -> None:
    """Every claim that waits for long is unprepared, although it exists."""
    patch.replace(f"{PREPARER}.is_gone", lambda self, uid, entry: True)


@mutant("aborted-claims-by-uid", rule="NV-168")
def _(patch: Patch) -> None:
    """An aborted claim is refused with any allocation."""

    def check(self: Any, claim: Any, entry: Any) -> None:
        if entry is not None and entry.state is ClaimState.ABORTED:
            raise PermanentError("claim prepare was already aborted")

    patch.replace(f"{PREPARER}.check_not_aborted", check)


@mutant("aborted-claims-refused-for-ever", rule="NV-169")
def _(patch: Patch) -> None:
    """An aborted claim stays in the checkpoint."""
    patch.replace(f"{PREPARER}.is_expired", lambda self, entry: False)


@mutant(
    "aborted-claims-forgotten-at-start",
    rule="NV-168",
    scenario="imex/attempts#an-aborted-claim-is-refused-for-90-seconds",
)
def _(patch: Patch) -> None:
    """A driver that starts removes aborted claims from its checkpoint."""
    _drop_at_start(patch, lambda entry: entry.state is ClaimState.ABORTED)


@mutant("fabric-of-first-gpu-counts", rule="NV-017")
def _(patch: Patch) -> None:
    """Only the first GPU of a node is checked."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        class First:
            def __init__(self, nvml: Any) -> None:
                self.module = nvml.module
                self.handles = lambda: nvml.handles()[:1]

        return lambda nvml, **options: original(First(nvml), **options)

    patch.wrap("reference_impl.compute_domain.plugin:clique_id", make)


@mutant("several-cliques-on-a-node", rule="NV-385")
def _(patch: Patch) -> None:
    """If the GPUs of a node are in several cliques, one of them is used."""

    def clique_id(nvml: Any, *, strict: bool = True) -> str:
        return next((found for handle in nvml.handles() if (found := gpu_clique(nvml, handle, strict=strict))), "")

    patch.replace("reference_impl.compute_domain.plugin:clique_id", clique_id)


@mutant("fabric-not-started-counts-as-none", rule="NV-017")
def _(patch: Patch) -> None:
    """A GPU whose registration has not begun counts as one without a fabric."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def gpu_clique(nvml: Any, handle: Any, *, strict: bool) -> Any:
            started = fabric_state(nvml, handle) != nvml.module.NVML_GPU_FABRIC_STATE_NOT_STARTED
            return original(nvml, handle, strict=strict) if started else ""

        return gpu_clique

    patch.wrap("reference_impl.compute_domain.fabric:gpu_clique", make)


def fabric_state(nvml: Any, handle: Any) -> int | None:
    """Return the state of a GPU's fabric; None if NVML cannot report it."""
    module = nvml.module
    info = module.c_nvmlGpuFabricInfo_t()
    try:
        module.nvmlDeviceGetGpuFabricInfo(handle, ctypes.byref(info))
    except module.NVMLError:
        return None
    return int(info.state)


@mutant("gpu-without-fabric-is-another-clique", rule="NV-385b")
def _(patch: Patch) -> None:
    """The clique of a GPU without a fabric is compared with that of the others."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def clique_id(nvml: Any, *, strict: bool) -> Any:
            found = {gpu_clique(nvml, handle, strict=strict) for handle in nvml.handles()}
            if len(found) > 1:
                raise FabricError(f"several cliques: {sorted(found)}")
            return original(nvml, strict=strict)

        return clique_id

    patch.wrap("reference_impl.compute_domain.plugin:clique_id", make)


@mutant("gpu-without-fabric-ends-the-clique", rule="NV-385b")
def _(patch: Patch) -> None:
    """A node with a GPU without a fabric is in no clique."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def clique_id(nvml: Any, *, strict: bool) -> Any:
            every = all(gpu_clique(nvml, handle, strict=strict) for handle in nvml.handles())
            return original(nvml, strict=strict) if every else ""

        return clique_id

    patch.wrap("reference_impl.compute_domain.plugin:clique_id", make)


@mutant("clique-read-for-each-claim", rule="NV-017d")
def _(patch: Patch) -> None:
    """The clique is read again for each claim, which is not prepared while a GPU's fabric is not up."""
    patch.wrap(f"{PLUGIN}.__init__", _reading(lambda plugin: plugin.find_clique()))


@mutant("clique-lost-when-the-fabric-fails", rule="NV-017d")
def _(patch: Patch) -> None:
    """The clique is read again for each claim; the node is in none while a GPU's fabric is not up."""

    def read(plugin: Any) -> str:
        try:
            return str(plugin.find_clique())
        except FabricError:
            return ""

    patch.wrap(f"{PLUGIN}.__init__", _reading(read))


@mutant("clique-from-gpus-with-links", rule="NV-017d")
def _(patch: Patch) -> None:
    """The clique is read again for each claim; a GPU without an active NVLink ends it."""

    def read(plugin: Any) -> str:
        nvml = Nvml(plugin._nvml)
        nvml.open()
        try:
            module = nvml.module
            up = all(module.nvmlDeviceGetNvLinkState(handle, 0) for handle in nvml.handles())
        finally:
            nvml.close()
        return str(plugin._clique_id) if up else ""

    patch.wrap(f"{PLUGIN}.__init__", _reading(read))


@mutant("clique-read-at-start-only", rule="NV-383")
def _(patch: Patch) -> None:
    """The clique is not read again after the start."""
    patch.replace(f"{PLUGIN}._read_clique", lambda self: None)


@mutant("clique-lost-with-the-fabric", rule="NV-383")
def _(patch: Patch) -> None:
    """When the GPUs have no fabric any more, the node is in no clique."""

    def read(self: Any) -> None:
        self._clique_id = self.find_clique()

    patch.replace(f"{PLUGIN}._read_clique", read)


@mutant("running-daemon-gets-the-new-clique", rule="NV-383")
def _(patch: Patch) -> None:
    """When the clique changes, the daemons that run get the new one as well."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def read(self: Any) -> None:
            before = self._clique_id
            original(self)
            for path in Path(self.options.node.cdi_root).glob("*"):
                if before != self._clique_id and path.is_file():
                    path.write_text(path.read_text().replace(before, self._clique_id))

        return read

    patch.wrap(f"{PLUGIN}._read_clique", make)


def _reading(read: Callable[[Any], str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Claims are prepared for the clique that this function returns for the plugin."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def init(self: Any, *args: Any, **options: Any) -> None:
            original(self, *args, **options)
            self.preparer._clique_id = lambda: read(self)

        return init

    return make


@mutant("host-daemon-ready-by-output", rule="NV-171c")
def _(patch: Patch) -> None:
    """The exit code of nvidia-imex-ctl is ignored."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any) -> None:
            try:
                original(self)
            except NotYetError as error:
                if "exits with 1" not in str(error):
                    raise

        return check

    patch.wrap(f"{HOST}.check_ready", make)


@mutant("host-daemon-at-default-socket", rule="NV-171c")
def _(patch: Patch) -> None:
    """The configured socket of the host's daemon is ignored."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, root, *, socket: original(self, root, socket="/etc/nvidia-imex/imex_ctrl.sock")

    patch.wrap(f"{HOST}.__init__", make)


@mutant("host-daemon-needed-without-fabric", rule="NV-171c")
def _(patch: Patch) -> None:
    """A node without a fabric waits for the daemon of its host, too."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, claim: Any, host_imex: Any) -> Any:
            host_imex.check_ready()
            return original(self, claim, host_imex)

        return edits

    patch.wrap(f"{PREPARER}.host_managed_edits", make)


@mutant("host-managed-mode-all", rule="NV-171b")
def _(patch: Patch) -> None:
    """In mode hostManaged a claim gets every channel."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def edits(self: Any, claim: Any, host_imex: Any) -> Any:
            found = original(self, claim, host_imex)
            if found.container is None:
                return found
            return replace(found, container={"deviceNodes": self._channels.nodes("All")})

        return edits

    patch.wrap(f"{PREPARER}.host_managed_edits", make)


@mutant("imex-mode-has-another-name", rule="NV-018")
def _(patch: Patch) -> None:
    """The mode by default has another name, so that driverManaged is refused."""
    patch.wrap("reference_impl.compute_domain.options:DRIVER_MANAGED", lambda name: f"{name}Imex")


@mutant("unknown-imex-mode-accepted", rule="NV-018")
def _(patch: Patch) -> None:
    """An unknown mode counts as driverManaged."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(self: Any, gates: Any) -> None:
            known = self.mode in ("driverManaged", "hostManaged")
            original(self if known else replace(self, mode="driverManaged"), gates)

        return check

    patch.wrap("reference_impl.compute_domain.options:ImexOptions.check", make)


@mutant("call-ends-at-the-first-refusal", rule="NV-391")
def _(patch: Patch) -> None:
    """If the first claim of a call is refused, the others are refused as well."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def prepare(self: Any, claims: Any) -> Any:
            first = original(self, claims[:1])
            if any(result.error for result in first.values()):
                return {claim.uid: next(iter(first.values())) for claim in claims}
            return first | original(self, claims[1:])

        return prepare

    patch.wrap(f"{SERVICE}.prepare", make)


@mutant("last-waiting-claim-of-a-call-dropped", rule="NV-391")
def _(patch: Patch) -> None:
    """The last claim of a call with several is not tried."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, claims: original(self, claims[:-1] if len(claims) > 1 else claims)

    patch.wrap(f"{SERVICE}.prepare", make)


@mutant("channels-stay-taken-over-a-reboot", rule="NV-164b")
def _(patch: Patch) -> None:
    """The claims of an earlier boot stay in the checkpoint."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def repair(self: Any) -> None:
            self._checkpoint.open = lambda: None
            original(self)

        return repair

    patch.wrap(f"{PREPARER}.repair", make)


@mutant("readiness-from-status-only", rule="NV-162b")
def _(patch: Patch) -> None:
    """A claim waits until the controller has written the status."""
    patch.replace(f"{MEMBERSHIP}.is_ready", lambda self, domain: domain_status.is_node_ready(domain, self._node_name))


@mutant("readiness-of-any-node-of-the-clique", rule="NV-162b")
def _(patch: Patch) -> None:
    """A claim is prepared as soon as any node of its clique is ready."""

    def is_node_ready(cliques: Any, node: str) -> bool:
        return any(daemon.get("status") == "Ready" for clique in cliques for daemon in clique.get("daemons") or ())

    patch.replace("reference_impl.compute_domain.cliques:is_node_ready", is_node_ready)


@mutant("daemon-of-unknown-domain", rule="NV-157b")
def _(patch: Patch) -> None:
    """A daemon is prepared although its ComputeDomain does not exist."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def domain(self: Any, uid: str) -> Any:
            return original(self, uid) or {"metadata": {"name": "unknown", "namespace": "default", "uid": uid}}

        return domain

    patch.wrap(f"{MEMBERSHIP}.domain", make)


@mutant("fabric-function-required", rule="NV-017c")
def _(patch: Patch) -> None:
    """The driver does not start if NVML does not support the function for the fabric."""

    def strict(nvml: Any, handle: Any, *, strict: bool) -> str:
        module = nvml.module
        info = module.c_nvmlGpuFabricInfo_t()
        try:
            module.nvmlDeviceGetGpuFabricInfo(handle, ctypes.byref(info))
        except module.NVMLError as error:
            raise FabricError(str(error)) from error
        return gpu_clique(nvml, handle, strict=strict)

    patch.replace("reference_impl.compute_domain.fabric:gpu_clique", strict)


@mutant(
    "node-of-other-domain-taken",
    rule="NV-165",
    scenario="imex/channels#a-node-that-another-computedomain-takes-meanwhile-keeps-its-label",
)
def _(patch: Patch) -> None:
    """The driver overwrites a label that another writer set after the driver had read the node."""

    def label(self: Any, node: Any, labels: Any) -> None:
        self._client.patch(NODES, self._node_name, {"metadata": {"labels": labels}})

    patch.replace(f"{MEMBERSHIP}._label", label)


@mutant(
    "daemons-keep-node-in-domain",
    rule="NV-166",
    scenario="imex/channels#the-daemon-of-a-node-does-not-keep-the-node-in-its-computedomain",
)
def _(patch: Patch) -> None:
    """A prepared daemon counts as a claim that needs the label of its node."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def domains_of(self: Any, entry: Any) -> Any:
            config = ((entry.status.get("allocation") or {}).get("devices") or {}).get("config") or ()
            return original(self, entry) | {item["opaque"]["parameters"].get("domainID") for item in config}

        return domains_of

    patch.wrap(f"{PREPARER}.domains_of", make)


@mutant(
    "aborted-claims-keep-node-in-domain",
    rule="NV-166",
    scenario="imex/attempts#a-claim-that-was-unprepared-while-it-waited-does-not-keep-the-node-in-its-computedomain",
)
def _(patch: Patch) -> None:
    """The record of an aborted claim counts as a claim that needs the label of its node."""

    def leave(self: Any, uid: str, entry: Any) -> None:
        held = [other for key, other in self._checkpoint.claims().items() if key != uid]
        for domain in self.domains_of(entry) - {one for other in held for one in self.domains_of(other)}:
            self._membership.leave(domain)

    patch.replace(f"{PREPARER}.leave_domains", leave)


@mutant("response-names-other-pool", rule="NV-162")
def _(patch: Patch) -> None:
    """The response names the driver in place of the pool of the device."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def prepare(self: Any, claim: Any) -> Any:
            return tuple(replace(device, pool_name=self.driver) for device in original(self, claim))

        return prepare

    patch.wrap(f"{PREPARER}.prepare", make)


@mutant("configuration-of-daemons-for-a-channel", rule="NV-160b")
def _(patch: Patch) -> None:
    """Whatever its kind is, a configuration counts as one of the device."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def select(offered: Any, *, request: str, device: str, kind: Any) -> Any:
            found = [
                replace(one, config=replace(kind.default, domain_id=one.config.domain_id))
                for one in offered
                if hasattr(one.config, "domain_id")
            ]
            return original(found, request=request, device=device, kind=kind)

        return select

    patch.wrap("reference_impl.kubelet_plugin.configs:select", make)


@mutant("channels-without-numbers", rule="NV-163")
def _(patch: Patch) -> None:
    """A channel has no device numbers, although the host has no device file of it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, number, major: original(self, number, None)

    patch.wrap(f"{CHANNELS}.node", make)


@mutant("unprepared-claims-are-aborted", rule="NV-166b")
def _(patch: Patch) -> None:
    """Every claim that is unprepared is recorded as aborted, prepared or not."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def unprepare(self: Any, uid: str) -> None:
            entry = self._checkpoint.get(uid)
            original(self, uid)
            if entry is not None:
                self.remember_aborted(uid, entry)

        return unprepare

    patch.wrap(f"{PREPARER}.unprepare", make)
