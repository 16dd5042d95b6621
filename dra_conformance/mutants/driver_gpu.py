"""Mutants of the GPU driver on its node: configuration, checkpoint, lock, driver root."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import orjson

from dra_api.objects import RESOURCE_CLAIMS
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.driver import attributes
from reference_impl.kubelet_plugin import configs
from reference_impl.kubelet_plugin.checkpoint import CorruptCheckpointError, checksum
from reference_impl.kubelet_plugin.claims import own_results

PREPARER = "reference_impl.kubelet_plugin.prepare:ClaimPreparer"
CHECKPOINT = "reference_impl.kubelet_plugin.checkpoint"
CONFIGS = "reference_impl.kubelet_plugin.configs"
DEVICES = "reference_impl.kubelet_plugin.devices"
NUMA = "reference_impl.kubelet_plugin.numa"
DISCOVERY = "reference_impl.kubelet_plugin.discovery"
ROOT = "reference_impl.kubelet_plugin.driver_root:DriverRoot"
LOCK = "reference_impl.kubelet_plugin.nodelock:NodeLock"
CDI = "reference_impl.kubelet_plugin.cdi:CdiFolder"

Make = Callable[[Callable[..., Any]], Callable[..., Any]]


def in_the_process(patch: Patch, *lines: str) -> None:
    """Run the reference driver's process with these lines of Python before it begins."""
    program = "\n".join(
        ["import sys", *lines, "from reference_impl.__main__ import main", "sys.exit(main())"],
    )

    # In the place of the first three words: the interpreter, -m and reference_impl.
    def make(original: Any) -> Any:
        def command(self: Any) -> list[str]:
            words: list[str] = original(self)
            return [sys.executable, "-c", program, *words[3:]]

        return command

    patch.wrap("dra_conformance.components.node:ScenarioNode._driver_command", make)


# -- feature gates -----------------------------------------------------------------------------------------------------


@mutant("dynamic-mig-never-starts", rule="NV-004b")
def _(patch: Patch) -> None:
    """The driver ends with an error if it creates MIG devices on demand."""

    def sweep(self: Any, *args: Any) -> Any:
        raise TypeError("no such profile")

    patch.replace("reference_impl.kubelet_plugin.mig:MigInstances.sweep", sweep)


# -- missing values of NVML and sysfs --------------------------------------------------------------------------------


@mutant("gpu-without-sysfs-omitted", rule="NV-024")
def _(patch: Patch) -> None:
    """A GPU without an entry in sysfs is left out."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, handle, gpu: original(self, handle, gpu) if gpu.pcie_root else []

    patch.wrap(f"{DISCOVERY}:Nvml.publishable", make)


@mutant("numa-node-minus-one", rule="NV-025")
def _(patch: Patch) -> None:
    """The NUMA node of sysfs is published unchanged, even if it is -1."""

    def numa_node(sysfs: Any, address: str, *, as_list: bool = False) -> int | None:
        path = sysfs / "bus/pci/devices" / address / "numa_node"
        return int(path.read_text(encoding="utf-8")) if path.exists() else None

    patch.replace(f"{DISCOVERY}:numa_node", numa_node)


@mutant("numa-node-only-with-the-resources", rule="NV-304")
def _(patch: Patch) -> None:
    """The NUMA node is read only if the PCI device has the file resource."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def numa_node(sysfs: Any, address: str, *, as_list: bool = False) -> Any:
            whole = (sysfs / "bus/pci/devices" / address / "resource").exists()
            return original(sysfs, address, as_list=as_list) if whole else None

        return numa_node

    patch.wrap(f"{DISCOVERY}:numa_node", make)


@mutant("mig-device-without-numa-node", rule="NV-302")
def _(patch: Patch) -> None:
    """Only whole GPUs have the NUMA node."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def attributes_of(device: Any) -> Any:
            found = original(device)
            if device.type == "mig":
                found.pop("resource.kubernetes.io/numaNode", None)
            return found

        return attributes_of

    patch.wrap(f"{DEVICES}:attributes_of", make)


@mutant("pass-through-with-numa-node-minus-one", rule="NV-302")
def _(patch: Patch) -> None:
    """A device for pass-through has the NUMA node -1."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def numa_node(sysfs: Any, address: str, *, as_list: bool = False) -> Any:
            node = original(sysfs, address, as_list=as_list)
            return -1 if node is None else node

        return numa_node

    patch.wrap("reference_impl.kubelet_plugin.passthrough:numa_node", make)


LISTS: dict[str, Any] = {"feature_gates": ("DRAListTypeAttributes=true",)}


@mutant("numa-list-of-the-own-node-only", rule="NV-303", **LISTS)
def _(patch: Patch) -> None:
    """The list has the GPU's own node only."""
    patch.replace(f"{NUMA}:equally_near", lambda sysfs, node: [])


@mutant("numa-list-across-sockets", rule="NV-303", **LISTS)
def _(patch: Patch) -> None:
    """The list has nodes of other sockets that are as near."""
    patch.replace(f"{NUMA}:socket_of", lambda sysfs, node: None)


@mutant("numa-list-sorted", rule="NV-303", **LISTS)
def _(patch: Patch) -> None:
    """The list is sorted, so that it may begin with another node than the GPU's own."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda node: {"ints": sorted(node)} if isinstance(node, tuple) else original(node)

    patch.wrap(f"{NUMA}:attribute", make)


@mutant("unknown-memory-is-zero", rule="NV-027")
def _(patch: Patch) -> None:
    """A GPU whose memory is not reported has a capacity of zero."""
    patch.wrap(f"{DEVICES}:capacity_of", lambda original: lambda d: original(d) or {"memory": {"value": "0"}})


@mutant("query-unknown-to-the-library-ends-the-driver", rule="NV-028c")
def _(patch: Patch) -> None:
    """Only NOT_SUPPORTED means that NVML does not report a value; a function that it lacks is an error."""
    patch.wrap(
        f"{DISCOVERY}:Nvml._optional",
        lambda original: lambda self, call, *tolerated: original(self, call, "NOT_SUPPORTED"),
    )


@mutant("unknown-addressing-mode-is-none", rule="NV-028")
def _(patch: Patch) -> None:
    """A GPU that does not report its addressing mode is published with the mode None."""
    patch.wrap(f"{DISCOVERY}:Nvml._addressing_mode", lambda original: lambda self, h: original(self, h) or "None")


# -- Prepare -----------------------------------------------------------------------------------------------------------


def refusing(patch: Patch, wanted: Callable[[Any, Any], bool]) -> None:
    """Let an entry of another claim keep its devices if `wanted(entry, result)` is true."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check_overlap(self: Any, uid: str, results: Any, held: Any) -> None:
            mine = {result.device for result in results}
            for other, entry in held.items():
                # The claim's own entry is of an earlier attempt and no conflict.
                for result in own_results(entry.status, self.driver) if other != uid else ():
                    if result.device in mine and wanted(entry, result):
                        raise RuntimeError(f"{result.device} is held")
            original(self, uid, results, held)

        return check_overlap

    patch.wrap(f"{PREPARER}.check_overlap", make)


@mutant("admin-access-keeps-the-device", rule="NV-062")
def _(patch: Patch) -> None:
    """A claim with admin access holds its device against ordinary claims."""
    refusing(patch, lambda entry, result: bool(result.admin_access))


@mutant("failed-claims-keep-their-devices", rule="NV-063")
def _(patch: Patch) -> None:
    """A claim keeps its devices even if its Prepare did not succeed."""
    refusing(patch, lambda entry, result: entry.state == "PrepareStarted")


@mutant("node-lock-ignored", rule="NV-069")
def _(patch: Patch) -> None:
    """The lock that other processes have on the node is not checked."""
    patch.replace(f"{LOCK}._acquire", lambda self, descriptor, deadline: None)


@mutant("node-lock-tried-once", rule="NV-069")
def _(patch: Patch) -> None:
    """Prepare does not wait for the lock."""
    patch.wrap(f"{LOCK}._acquire", lambda original: lambda self, descriptor, deadline: original(self, descriptor, 0.0))


@mutant("node-lock-not-retried-after-timeout", rule="NV-069b")
def _(patch: Patch) -> None:
    """After a timeout the plugin never tries the lock again."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def acquire(self: Any, descriptor: int, deadline: float) -> None:
            if before := getattr(self, "gave_up", None):
                raise before
            try:
                original(self, descriptor, deadline)
            except Exception as error:
                # Every later call repeats this error.
                self.gave_up = error
                raise

        return acquire

    patch.wrap(f"{LOCK}._acquire", make)


@mutant("driver-libraries-not-checked", rule="NV-098")
def _(patch: Patch) -> None:
    """A claim is prepared although the driver root has no library of the kernel's version."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, version: original(self, version) if self.libraries(version) else []

    patch.wrap(f"{ROOT}.mounts", make)


@mutant("spec-that-cannot-be-written-is-logged", rule="NV-099b")
def _(patch: Patch) -> None:
    """A CDI specification that cannot be written does not fail the claim."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def write(self: Any, *args: Any) -> None:
            try:
                original(self, *args)
            except OSError:
                return

        return write

    patch.wrap(f"{CDI}.write", make)


@mutant("checkpoint-written-in-place", rule="NV-099c")
def _(patch: Patch) -> None:
    """The checkpoint is emptied first and then written."""
    in_the_process(
        patch,
        "from reference_impl.kubelet_plugin import checkpoint",
        "checkpoint.write_atomically = lambda path, data, **how: path.write_bytes(data)",
    )


@mutant("write-errors-ignored", rule="NV-099c")
def _(patch: Patch) -> None:
    """Files that cannot be written are skipped without an error."""
    in_the_process(
        patch,
        "from reference_impl.kubelet_plugin import cdi, checkpoint",
        "write = checkpoint.write_atomically",
        "def careless(path, data, **how):",
        "    try:",
        "        write(path, data, **how)",
        "    except OSError:",
        "        pass",
        # Both, because cdi imports the function by its name.
        "cdi.write_atomically = checkpoint.write_atomically = careless",
    )


# -- configuration -----------------------------------------------------------------------------------------------------


@mutant("configuration-of-other-kinds-ignored", rule="NV-077")
def _(patch: Patch) -> None:
    """Configuration of another kind of device that names the request is ignored."""
    patch.replace(f"{CONFIGS}:check_fits", lambda config, **about: None)


@mutant("configuration-in-list-order", rule="NV-078")
def _(patch: Patch) -> None:
    """Class and claim have the same priority; the later entry in the list wins."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def candidates(allocation: Any, driver: str) -> Any:
            entries = allocation["devices"].get("config") or ()
            # Entry by entry, because the original puts classes before claims.
            return [one for entry in entries for one in original({"devices": {"config": [entry]}}, driver)]

        return candidates

    patch.wrap(f"{CONFIGS}:candidates", make)


def ordering(patch: Patch, order: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
    """Bend the order of candidates before one is chosen."""
    patch.wrap(f"{CONFIGS}:select", lambda original: lambda offered, **about: original(order(offered), **about))


@mutant("configurations-that-are-not-used-must-fit", rule="NV-079")
def _(patch: Patch) -> None:
    """Each configuration that names the request must fit its device, also if a later one is used."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def select(offered: Any, *, request: str, device: str, kind: Any) -> Any:
            for one in offered:
                if request in one.requests:
                    configs.check_fits(one.config, request=request, device=device, kind=kind)
            return original(offered, request=request, device=device, kind=kind)

        return select

    patch.wrap(f"{CONFIGS}:select", make)


@mutant("first-configuration-of-the-claim-wins", rule="NV-079")
def _(patch: Patch) -> None:
    """Of several matching configurations of the claim the first is used."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def candidates(allocation: Any, driver: str) -> Any:
            entries = allocation["devices"].get("config") or ()
            of = {
                source: original({"devices": {"config": [e for e in entries if e["source"] == source]}}, driver)
                for source in ("FromClass", "FromClaim")
            }
            # The last matching candidate is used.
            return [*of["FromClass"], *reversed(of["FromClaim"])]

        return candidates

    patch.wrap(f"{CONFIGS}:candidates", make)


@mutant("named-configuration-wins", rule="NV-080")
def _(patch: Patch) -> None:
    """Configuration that names the request takes precedence over configuration for all requests."""
    ordering(patch, lambda offered: sorted(offered, key=lambda one: bool(one.requests)))


@mutant("parent-request-covers-subrequests", rule="NV-081")
def _(patch: Patch) -> None:
    """Configuration that names the parent request applies to its subrequests."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def select(offered: Any, *, request: str, **about: Any) -> Any:
            parent = request.partition("/")[0]
            wider = [
                replace(one, requests=(*one.requests, request)) if parent in one.requests else one for one in offered
            ]
            return original(wider, request=request, **about)

        return select

    patch.wrap(f"{CONFIGS}:select", make)


# -- the checkpoint ----------------------------------------------------------------------------------------------------


def decoding(patch: Patch, make: Make) -> None:
    """Bend how a checkpoint is read."""
    patch.wrap(f"{CHECKPOINT}:decode", make)


@mutant("unreadable-checkpoint-is-empty", rule="NV-101b")
def _(patch: Patch) -> None:
    """A checkpoint that cannot be read is treated as empty."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def decode(data: bytes) -> Any:
            try:
                return original(data)
            except Exception:
                return {}, ""

        return decode

    decoding(patch, make)


@mutant(
    "empty-checkpoint-is-new",
    rule="NV-101b",
    scenario="driver/gpu_checkpoint#the-driver-does-not-start-with-a-record-that-is-damage",
)
def _(patch: Patch) -> None:
    """A checkpoint of 0 bytes is treated as one that was never written."""
    decoding(patch, lambda original: lambda data: original(data) if data else ({}, ""))


def correcting(patch: Patch, correct: Callable[[Any], None]) -> None:
    """Correct a checksum of the document before it is checked."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def decode(data: bytes) -> Any:
            document = orjson.loads(data)
            correct(document)
            return original(orjson.dumps(document))

        return decode

    decoding(patch, make)


@mutant("only-the-checksum-of-v2-checked", rule="NV-101")
def _(patch: Patch) -> None:
    """The checksum of v1 is not compared."""
    correcting(patch, lambda document: document.update(checksum=checksum(document["v1"])))


@mutant("only-the-checksum-of-v1-checked", rule="NV-101")
def _(patch: Patch) -> None:
    """The checksum of v2 is not compared."""
    correcting(patch, lambda document: document["v2"].update(checksum=checksum({**document["v2"], "checksum": 0})))


@mutant("missing-checkpoint-refused", rule="NV-101c")
def _(patch: Patch) -> None:
    """The driver does not start without a checkpoint if it had one before."""
    written: set[object] = set()

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def opened(self: Any) -> None:
            if self.path in written and not self.path.exists():
                raise CorruptCheckpointError("no checkpoint")
            written.add(self.path)
            original(self)

        return opened

    patch.wrap(f"{CHECKPOINT}:Checkpoint.open", make)


@mutant("checkpoint-readable-by-all", rule="NV-100b")
def _(patch: Patch) -> None:
    """The checkpoint has the mode 0644."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda path, data, *, mode, sync=True: original(path, data, mode=0o644, sync=sync)

    patch.wrap(f"{CHECKPOINT}:write_atomically", make)


@mutant("reboot-not-detected", rule="NV-102")
def _(patch: Patch) -> None:
    """The boot id of the checkpoint is not compared."""
    decoding(patch, lambda original: lambda data: (original(data)[0], ""))
    patch.replace(f"{CHECKPOINT}:Checkpoint.last_boot", lambda self: "")


@mutant("first-boot-kept", rule="NV-106")
def _(patch: Patch) -> None:
    """The file of the boot keeps the boot in which the driver ran first, so that each later start is a reboot."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def open_(self: Any) -> None:
            first = self.last_boot()
            original(self)
            if first:
                self.boot_path.write_text(first)

        return open_

    patch.wrap(f"{CHECKPOINT}:Checkpoint.open", make)


@mutant("reboot-not-detected-after-an-upgrade", rule="NV-102c")
def _(patch: Patch) -> None:
    """A checkpoint without the driver's own file of the boot is one of this boot."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def open_(self: Any) -> None:
            if not self.last_boot():
                # Writes the present boot id.
                self.write(self._read()[0])
            original(self)

        return open_

    patch.wrap(f"{CHECKPOINT}:Checkpoint.open", make)


@mutant("missing-boot-id-is-a-reboot", rule="NV-103")
def _(patch: Patch) -> None:
    """A checkpoint without a boot ID is treated as one from before a reboot."""
    decoding(patch, lambda original: lambda data: ((found := original(data))[0], found[1] or "unknown"))


@mutant("boot-id-never-added", rule="NV-103")
def _(patch: Patch) -> None:
    """A checkpoint without a boot ID never gets one."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def encode(claims: Any, *, boot_id: str, **more: Any) -> bytes:
            return bytes(original(claims, boot_id="", **more))

        return encode

    patch.wrap(f"{CHECKPOINT}:encode", make)


@mutant("checkpoint-v1-not-read", rule="NV-103b")
def _(patch: Patch) -> None:
    """A checkpoint of version v1 is treated as empty."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda data: original(data) if b'"v2"' in data else ({}, "")

    decoding(patch, make)
    # Without the clean-up at start, which would remove the CDI files of the claims that were not read.
    patch.replace(f"{PREPARER}.repair", lambda self: self._checkpoint.open())


@mutant("allocation-of-recorded-claims-needed", rule="NV-421")
def _(patch: Patch) -> None:
    """Every claim of the checkpoint must have its allocation."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def own_results(claim_status: Any, driver: str) -> Any:
            return original({"allocation": claim_status["allocation"]}, driver)

        return own_results

    patch.wrap("reference_impl.kubelet_plugin.prepare:own_results", make)


@mutant("stale-claims-stay", rule="NV-104")
def _(patch: Patch) -> None:
    """Unfinished claims are kept without checking that they still exist."""
    patch.replace(f"{PREPARER}.clean_stale", lambda self: [])


@mutant("replaced-claims-not-detected", rule="NV-104")
def _(patch: Patch) -> None:
    """A claim of the same name is treated as the same claim."""

    def exists(self: Any, *, namespace: str, name: str, uid: str) -> bool:
        return self._client.find(RESOURCE_CLAIMS, name, namespace) is not None

    patch.replace("reference_impl.kubelet_plugin.claims:ClaimReader.exists", exists)


@mutant("clean-up-ends-at-the-first-failure", rule="NV-104")
def _(patch: Patch) -> None:
    """A deleted claim that cannot be unprepared keeps those after it in the checkpoint."""

    def clean_stale(self: Any) -> list[str]:
        for uid, entry in sorted(self._checkpoint.claims().items(), key=lambda one: one[1].name):
            if self.is_stale(uid, entry):
                self.unprepare(uid)
        return []

    patch.replace(f"{PREPARER}.clean_stale", clean_stale)


@mutant("clean-up-at-start-only", rule="NV-104b")
def _(patch: Patch) -> None:
    """Unfinished claims are looked up once, at start."""
    patch.replace(
        "reference_impl.kubelet_plugin.plugin:KubeletPlugin._clean_up", lambda self: self.preparer.clean_stale()
    )


@mutant("claim-that-cannot-be-read-counts-as-deleted", rule="NV-105")
def _(patch: Patch) -> None:
    """An unfinished claim is removed if the API server does not return it, for whatever reason."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, **claim: bool(original(self, **claim))

    patch.wrap("reference_impl.kubelet_plugin.claims:ClaimReader.exists", make)


@mutant("all-unfinished-claims-removed-at-start", rule="NV-105")
def _(patch: Patch) -> None:
    """Every unfinished claim is removed at start."""
    patch.replace(f"{PREPARER}.is_stale", lambda self, uid, entry: entry.state == "PrepareStarted")


@mutant("completed-claims-unprepared-without-a-call", rule="NV-106")
def _(patch: Patch) -> None:
    """A completed claim that was deleted is unprepared by the plugin itself."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def clean(self: Any) -> Any:
            for uid, entry in self._checkpoint.claims().items():
                if entry.state == "PrepareCompleted":
                    self.unprepare(uid)
            return original(self)

        return clean

    patch.wrap(f"{PREPARER}.clean_stale", make)


@mutant("repeated-unprepare-fails", rule="NV-107")
def _(patch: Patch) -> None:
    """A second Unprepare of a claim fails."""
    seen: set[str] = set()

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def unprepare(self: Any, uid: str) -> None:
            if uid in seen:
                raise RuntimeError("unprepared already")
            seen.add(uid)
            original(self, uid)

        return unprepare

    patch.wrap(f"{PREPARER}.unprepare", make)


@mutant("taint-times-renewed", rule="DRA-294")
def _(patch: Patch) -> None:
    """Devices that are published again get new values of timeAdded."""
    patch.replace("reference_impl.kubelet_plugin.slices:keep_times", lambda spec, stored: spec)


@mutant("time-of-the-taint-of-another-device", rule="DRA-294c")
def _(patch: Patch) -> None:
    """A device gets timeAdded of the same taint of any device of its slice."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def keep_times(spec: Any, stored: Any) -> Any:
            held = stored.get("devices") or ()
            taints = [taint for device in held for taint in device.get("taints") or ()]
            devices = [
                {**device, "taints": [*taints, *(device.get("taints") or ())] if "taints" in device else taints}
                for device in held
            ]
            return original(spec, {**stored, "devices": devices})

        return keep_times

    patch.wrap("reference_impl.kubelet_plugin.slices:keep_times", make)


@mutant("time-of-the-last-taint-kept", rule="DRA-294b")
def _(patch: Patch) -> None:
    """Of the taints of a device that is published again, only the last one keeps timeAdded."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def keep_times(spec: Any, stored: Any) -> Any:
            devices = [{**one, "taints": (one.get("taints") or [])[-1:]} for one in stored.get("devices") or ()]
            return original(spec, {**stored, "devices": devices})

        return keep_times

    patch.wrap("reference_impl.kubelet_plugin.slices:keep_times", make)


# -- repeated calls ----------------------------------------------------------------------------------------------------


@mutant("third-prepare-fails", rule="NV-051c")
def _(patch: Patch) -> None:
    """The third Prepare of a claim fails."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def repeat(self: Any, claim: Any, entry: Any) -> Any:
            self.again = getattr(self, "again", 0) + 1
            if self.again > 2:
                raise RuntimeError("prepared too often")
            return original(self, claim, entry)

        return repeat

    patch.wrap(f"{PREPARER}.repeat", make)


@mutant("unprepare-removes-all-cdi-specs", rule="NV-108c")
def _(patch: Patch) -> None:
    """Unprepare of a claim that is not prepared removes the CDI specifications of all claims."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def unprepare(self: Any, uid: str) -> None:
            if self._checkpoint.get(uid) is None:
                self._cdi.clean(())
            original(self, uid)

        return unprepare

    patch.wrap(f"{PREPARER}.unprepare", make)


# -- configurations and health -----------------------------------------------------------------------------------------


@mutant("every-configuration-refused", rule="NV-071b")
def _(patch: Patch) -> None:
    """Any configuration for the driver is an error."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def decode(parameters: Any, **how: Any) -> Any:
            raise RuntimeError("no configuration, please")

        return decode

    patch.wrap(f"{CONFIGS}:decode", make)


@mutant("unknown-configuration-fields-ignored", rule="NV-071c")
def _(patch: Patch) -> None:
    """Configuration is decoded leniently."""
    patch.wrap(f"{CONFIGS}:decode", lambda original: lambda parameters, **how: original(parameters, strict=False))


@mutant("one-bad-configuration-fails-the-call", rule="NV-071c")
def _(patch: Patch) -> None:
    """One claim's invalid configuration makes the whole call fail."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def prepare_one(self: Any, claim: Any) -> Any:
            result = original(self, claim)
            if result.error:
                raise RuntimeError(result.error)
            return result

        return prepare_one

    patch.wrap("reference_impl.kubelet_plugin.service:DriverService.prepare_one", make)


@mutant("health-of-the-first-device-only", rule="DRA-295b")
def _(patch: Patch) -> None:
    """The stream reports one device only."""
    patch.wrap(
        "reference_impl.kubelet_plugin.service:HealthyDriverService.watch_health",
        lambda original: lambda self: (list(devices)[:1] for devices in original(self)),
    )


@mutant("health-reported-once", rule="DRA-295c")
def _(patch: Patch) -> None:
    """The stream reports the health of a device again only if it changes."""
    patch.replace("reference_impl.kubelet_plugin.health:HealthMonitor._repeat", lambda self: None)


@mutant("health-report-without-time", rule="DRA-295d")
def _(patch: Patch) -> None:
    """The reports have no time."""
    patch.wrap(
        "reference_impl.kubelet_plugin.health:HealthMonitor.health_of",
        lambda original: lambda self, device, now: original(self, device, 0),
    )


# -- two instances -----------------------------------------------------------------------------------------------------


@mutant("older-instance-removes-all-sockets", rule="NV-070d")
def _(patch: Patch) -> None:
    """An instance that stops removes every socket of the driver."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def stop(self: Any) -> None:
            original(self)
            for folder in (self.options.data_dir, self.options.registrar_dir):
                for path in folder.glob("*.sock"):
                    # The instance has already removed its own sockets.
                    path.unlink(missing_ok=True)

        return stop

    patch.wrap("reference_impl.kubelet_plugin.plugin:KubeletPlugin.stop", make)


@mutant("new-instance-ignores-checkpoint", rule="NV-070d")
def _(patch: Patch) -> None:
    """A starting instance ignores claims that the older one prepared, and returns other devices."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def device_name(self: Any, uid: str, device: str) -> str:
            # Both instances exist at the same time, so that their ids differ.
            return f"{original(self, uid, device)}-{id(self)}"

        return device_name

    patch.wrap(f"{CDI}.device_name", make)
    patch.replace(f"{PREPARER}.is_done", lambda self, entry: False)


@mutant("in-use-devices-known-in-memory-only", rule="NV-070e")
def _(patch: Patch) -> None:
    """Only claims that the same instance prepared keep their devices from others."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check_overlap(self: Any, uid: str, results: Any, held: Any) -> None:
            mine = self.__dict__.setdefault("mine", set())
            original(self, uid, results, {other: entry for other, entry in held.items() if other in mine})
            # After the check, because a refused claim keeps no device.
            mine.add(uid)

        return check_overlap

    patch.wrap(f"{PREPARER}.check_overlap", make)


@mutant("health-of-any-service", rule="NV-013")
def _(patch: Patch) -> None:
    """A health check responds for unknown services."""
    patch.replace("dra_api.rpc.liveness:LivenessServer.knows", lambda self, service: True)


@mutant("health-without-liveness", rule="NV-013")
def _(patch: Patch) -> None:
    """A health check supports the server as a whole only."""
    patch.replace("dra_api.rpc.liveness:LivenessServer.knows", lambda self, service: not service)


@mutant("health-check-never-serving", rule="NV-013")
def _(patch: Patch) -> None:
    """A health check never finds the sockets."""
    patch.replace("reference_impl.kubelet_plugin.liveness:is_alive", lambda options, *, clock: False)


@mutant("registration-socket-not-checked", rule="NV-013b")
def _(patch: Patch) -> None:
    """A health check tests the service socket only."""
    patch.replace("reference_impl.kubelet_plugin.liveness:answers_registration", lambda options, *, clock: None)


@mutant("service-socket-not-checked", rule="NV-013b")
def _(patch: Patch) -> None:
    """A health check tests the registration socket only."""
    patch.replace("reference_impl.kubelet_plugin.liveness:answers_calls", lambda options, *, clock: None)


# -- values, files and configuration of each of several ----------------------------------------------------------------


@mutant("cuda-version-of-the-driver", rule="NV-021")
def _(patch: Patch) -> None:
    """cudaDriverVersion is the driver version."""
    attributes(patch, lambda made: made.update(cudaDriverVersion=made["driverVersion"]))


@mutant("pci-domain-in-decimal", rule="NV-021")
def _(patch: Patch) -> None:
    """The PCI domain that NVML reports is read as a decimal number."""

    def address(bus_id: str) -> str:
        domain, device = bus_id.lower().split(":", 1)
        number = int(domain) if domain.isdecimal() else int(domain, 16)
        return f"{number:04x}:{device}"

    patch.replace("reference_impl.kubelet_plugin.discovery:pci_address", address)


@mutant("every-brand-is-tesla", rule="NV-021b")
def _(patch: Patch) -> None:
    """Every GPU has the brand of the most frequent boards."""
    attributes(patch, lambda made: made.update(brand={"string": "Tesla"}))


@mutant("wrong-types-accepted", rule="NV-071d")
def _(patch: Patch) -> None:
    """Fields with values of a wrong type are dropped."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def decode(parameters: Any, *, strict: bool = True) -> Any:
            try:
                return original(parameters, strict=strict)
            except configs.DecodeError as error:
                if "wrong type" not in str(error) and "must be an object" not in str(error):
                    raise
                return configs.GpuConfig()

        return decode

    patch.wrap(f"{CONFIGS}:decode", make)


@mutant("configuration-for-other-requests-applied", rule="NV-081b")
def _(patch: Patch) -> None:
    """The configuration of any request of the claim applies to every device."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def select(offered: Any, **options: Any) -> Any:
            return original([replace(one, requests=()) for one in offered], **options)

        return select

    patch.wrap(f"{CONFIGS}:select", make)


@mutant("time-slice-of-every-gpu-of-the-claim", rule="NV-085b")
def _(patch: Patch) -> None:
    """The time slice of one configuration is set on all GPUs of the claim."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def plan(self: Any, claim_uid: str, configured: Any) -> Any:
            planned = original(self, claim_uid, configured)
            if not planned:
                return planned
            known = planned["timeSlices"]
            some = next(iter(known.values()))
            return {"timeSlices": {item.device.uuid: known.get(item.device.uuid, some) for item in configured}}

        return plan

    patch.wrap("reference_impl.kubelet_plugin.sharing:TimeSlicing.plan", make)


@mutant("control-nodes-without-numbers", rule="NV-095b")
def _(patch: Patch) -> None:
    """Device nodes of the control devices have no numbers."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def control_nodes(self: Any) -> Any:
            return [{"path": node["path"], "hostPath": node["hostPath"]} for node in original(self)]

        return control_nodes

    patch.wrap(f"{ROOT}.control_nodes", make)


@mutant("plain-files-without-numbers", rule="NV-095e")
def _(patch: Patch) -> None:
    """A device node has numbers only if its file is a device."""
    patch.wrap(f"{ROOT}.node", lambda original: lambda self, name, **numbers: original(self, name, file_mode=None))


@mutant("any-nvml-error-is-unsupported", rule="NV-028b")
def _(patch: Patch) -> None:
    """A property for which NVML reports any error is left out."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def optional(self: Any, call: Callable[[], Any], *accepted: str) -> Any:
            return original(self, call, *accepted, "UNKNOWN")

        return optional

    patch.wrap("reference_impl.kubelet_plugin.discovery:Nvml._optional", make)


@mutant("libraries-in-one-folder", rule="NV-095d")
def _(patch: Patch) -> None:
    """Files of the driver root are searched in the first three folders only."""
    patch.wrap(f"{ROOT}.find", lambda original: lambda self, folders, name: original(self, folders[:3], name))


@mutant("libraries-not-mounted-by-bind", rule="NV-095c")
def _(patch: Patch) -> None:
    """The mounts of the driver's files are no bind mounts: a container runtime cannot mount them."""
    patch.replace("reference_impl.kubelet_plugin.driver_root:_MOUNT_OPTIONS", ["ro", "nosuid", "nodev"])


@mutant("one-library-mounted", rule="NV-095c")
def _(patch: Patch) -> None:
    """Only the first library of the driver is mounted."""
    patch.wrap(f"{ROOT}.libraries", lambda original: lambda self, version: original(self, version)[:1])


@mutant("libraries-mounted-writable", rule="NV-095c")
def _(patch: Patch) -> None:
    """Files of the driver root are mounted writable."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def mounts(self: Any, version: str) -> Any:
            return [{**mount, "options": ["rw", "rbind"]} for mount in original(self, version)]

        return mounts

    patch.wrap(f"{ROOT}.mounts", make)


@mutant("specifications-of-former-boots-kept", rule="NV-102b")
def _(patch: Patch) -> None:
    """At start no CDI specification is removed."""
    patch.replace(f"{CDI}.clean", lambda self, keep: [])
