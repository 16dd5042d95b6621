"""The closed vocabulary of tags. A tag that is none of these is an error: a typo must never drop a scenario."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.rules.catalogue import COMPONENTS, RULE_ID
from dra_conformance.core.rules.window import Version

PROFILES: dict[str, str] = {
    "driver-core": "what every DRA driver must do: register, publish, prepare, unprepare, survive",
    "driver-gpu": "the GPU driver gpu.nvidia.com on (fake or real) NVML",
    "driver-mig": "MIG devices of the GPU driver",
    "kep-5970": "the seven behaviours that KEP-5970 asks of every DRA driver, by its names, from claim to container",
    "imex": "IMEX channels behind ComputeDomains",
    "claim-lifecycle": "template to claim, reservedFor, deletion",
    "scheduler-core": "pick a node and devices for claims",
    "bind-requests": "KAI's BindRequest protocol between scheduler and binder",
    "device-taints": "tainted devices, tolerations, eviction",
    "device-health": "health of devices in the status of pods",
    "api": "storage and validation of resource.k8s.io by the control plane",
    "kubelet": "the kubelet's side of the plugin contract",
    "nvml": "NVIDIA's management library as its callers need it: the fake one, or a machine's own (--nvml real)",
    "webhook": "the admission webhook that validates opaque device configurations",
    "faults": "requests that fail, answers that get lost, watches that break, API servers that die",
    "fault-sweep": "every write of every component, failed in every way; runs only when it is named",
}
# What takes minutes is judged only on request: a run without --profile leaves these out.
ON_REQUEST = frozenset({"fault-sweep"})

# What a scenario may need beside its components; `plan` knows how each is decided.
NEEDS: dict[str, str] = {
    "fake-nvml": "GPUs of the fake NVML that the scenario can change",
    "several-gpus": "at least four GPUs, where they are this machine's (--nvml real)",
    "seen-nvml": "the NVML that the driver sees: that of the reference driver, or this machine's (--nvml real)",
    "declared-configuration": "a driver that is declared to read opaque parameters",
    "declared-health": "a driver that is declared to stream the health of its devices",
    "virtual-clock": "time that the scenario can advance, in every component that it uses",
    "process-driver": "a driver that runs as a process of the harness and can be killed",
    "gpu-driver": "the driver gpu.nvidia.com",
    "driver-flags": "a driver whose flags the scenario can choose (the word {flags} in its command)",
    "compute-domain": "the ComputeDomain API and its driver",
    "compute-domain-plugin": "a node's ComputeDomain driver, which the harness has as the reference only",
    "compute-domain-flags": "a ComputeDomain controller whose flags the scenario can choose: the reference",
    "kai": "the BindRequest API and components that speak it",
    "direct-binding": "a scheduler that binds pods itself",
    "scheduler-gates": "a scheduler whose feature gates the run can choose",
    "scheduler-arguments": "a scheduler whose DynamicResourcesArgs the run can choose",
    "own-control-plane": "a control plane that belongs to the run",
    "own-etcd": "a control plane of the run with an etcd that can be killed",
    "faults": "components whose requests pass through the harness",
    "own-kubelet": "the harness's kubelet",
    "run-kubelet": "a kubelet that the run starts: the harness's, or Kubernetes' own with containers",
    "v1-shapes": "what resource.k8s.io/v1 can say and v1beta1 cannot",
    "served-version": "the older version of resource.k8s.io that its manifest is written in",
    "own-webhook": "a webhook that the harness starts and can ask itself",
    "webhook-admission": "an API server that asks the webhook",
    "webhook-gates": "a webhook whose feature gates the harness can set",
    "pinned-revision": "one documented revision of the BindRequest protocol",
}


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags of one scenario, read."""

    rules: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    disruptive: bool = False
    all: tuple[str, ...] = field(default=())


def read(tags: Iterable[str], *, where: str) -> Tags:
    """Sort tags into their meanings. Raises SpecificationError naming `where` on an unknown one."""
    rules: list[str] = []
    sorted_in: dict[str, list[str]] = {
        "profile": [],
        "component": [],
        "needs": [],
        "gate": [],
        "since": [],
        "until": [],
    }
    known_values = {"profile": list(PROFILES), "component": list(COMPONENTS), "needs": list(NEEDS)}
    disruptive = False
    everything = tuple(dict.fromkeys(tag.removeprefix("@") for tag in tags))
    for tag in everything:
        key, colon, value = tag.partition(":")
        if RULE_ID.fullmatch(tag):
            rules.append(tag)
        elif tag == "disruptive":
            disruptive = True
        elif colon and key in sorted_in and value and value in known_values.get(key, [value]):
            sorted_in[key].append(value)
        else:
            choices = [f"{k}:{v}" for k, values in known_values.items() for v in values]
            near = get_close_matches(tag, [*choices, "disruptive"], n=1)
            hint = f"Did you mean @{near[0]}?" if near else "docs/writing-a-scenario.md lists the tags."
            raise SpecificationError(f"{where}: unknown tag @{tag}", hint=hint)
    for version in [*sorted_in["since"], *sorted_in["until"]]:
        try:
            Version.parse(version)
        except ValueError as error:
            raise SpecificationError(f"{where}: {error}") from None
    return Tags(
        rules=tuple(rules),
        profiles=tuple(sorted_in["profile"]),
        components=tuple(sorted_in["component"]),
        needs=tuple(sorted_in["needs"]),
        gates=tuple(sorted_in["gate"]),
        since=max(sorted_in["since"], key=Version.parse, default=None),
        until=min(sorted_in["until"], key=Version.parse, default=None),
        disruptive=disruptive,
        all=everything,
    )
