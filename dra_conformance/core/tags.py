"""The closed vocabulary of tags. An unknown tag is an error, so that a typo never drops a scenario."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.rules.catalogue import COMPONENTS, RULE_ID
from dra_conformance.core.rules.window import Version

PROFILES: dict[str, str] = {
    "driver-core": "requirements on every DRA driver: register, publish, prepare, unprepare, restart",
    "driver-gpu": "the GPU driver gpu.nvidia.com on fake or real NVML",
    "driver-mig": "MIG devices of the GPU driver",
    "hami": "GPUs sliced by memory and cores as HAMi's driver does, for drivers with the feature memory-and-cores",
    "kep-5970": "the seven behaviours that KEP-5970 requires of every DRA driver, from claim to container",
    "imex": "IMEX channels of ComputeDomains",
    "claim-lifecycle": "ResourceClaims: creation from templates, reservedFor, deletion",
    "scheduler-core": "selection of nodes and devices for claims",
    "bind-requests": "KAI's BindRequest protocol between scheduler and binder",
    "device-taints": "tainted devices, tolerations, eviction",
    "device-health": "device health in the status of pods",
    "device-plugins": "device plugins by the API v1beta1: registration, lists, allocation, restarts",
    "api": "storage and validation of resource.k8s.io by the control plane",
    "api-enforcement": "permissions, quotas, custom resources, collections, taint rules; on a control plane of the run",
    "kubelet": "the kubelet's side of the DRA plugin API and of the device plugin API, PodResources",
    "nvml": "the NVIDIA management library: the fake one, or this machine's (--nvml real)",
    "webhook": "the admission webhook that validates opaque device configurations",
    "faults": "failed requests, lost responses, broken watches, killed API servers",
    "fault-sweep": "every write of every component, failed in every way",
    "gates-off": "fields of optional features on a control plane whose feature gates are off",
}
# These profiles take minutes. A run without --profile leaves them out.
ON_REQUEST = frozenset({"fault-sweep", "gates-off"})

# The `@needs:` tags. `dra_conformance.engine.requirements` has the check and the documentation of each.
NEEDS: tuple[str, ...] = (
    "fake-nvml",
    "chosen-gpus",
    "stand-in-nvml",
    "several-gpus",
    "seen-nvml",
    "virtual-clock",
    "restartable-eviction",
    "restartable-scheduler",
    "process-driver",
    "gpu-driver",
    "driver-flags",
    "driver-health",
    "simulated-mps",
    "compute-domain",
    "compute-domain-flags",
    "imex-daemons",
    "compute-domain-plugin-flags",
    "device-plugin-flags",
    "kai",
    "no-binder",
    "no-taint-eviction",
    "pod-groups",
    "queues",
    "direct-binding",
    "scheduler-gates",
    "scheduler-releases",
    "scheduler-flags",
    "claim-controller-gates",
    "claim-controller-releases",
    "binder-gates",
    "gpu-shares",
    "scheduler-arguments",
    "own-control-plane",
    "own-etcd",
    "faults",
    "own-kubelet",
    "run-kubelet",
    "v1-shapes",
    "served-version",
    "node-authorizer",
    "own-webhook",
    "harness-webhook",
    "webhook-admission",
    "webhook-gates",
    "pinned-revision",
)


@dataclass(frozen=True, slots=True)
class Tags:
    """The parsed tags of one scenario."""

    rules: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    gates_off: tuple[str, ...] = ()
    driver_gates: tuple[str, ...] = ()
    driver_gates_off: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    disruptive: bool = False
    all: tuple[str, ...] = field(default=())


def read(tags: Iterable[str], *, where: str) -> Tags:
    """Parse tags. Raises SpecificationError for an unknown one; `where` is the file and line for its message."""
    rules: list[str] = []
    sorted_in: dict[str, list[str]] = {
        "profile": [],
        "component": [],
        "needs": [],
        "gate": [],
        "gate-off": [],
        "driver-gate": [],
        "driver-gate-off": [],
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
            # Gates have no closed set here, and versions are parsed below.
            sorted_in[key].append(value)
        else:
            choices = [f"{k}:{v}" for k, values in known_values.items() for v in values]
            near = get_close_matches(tag, [*choices, "disruptive"], n=1)
            hint = f"Did you mean @{near[0]}?" if near else "docs/how-to/writing-a-scenario.md lists the tags."
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
        gates_off=tuple(sorted_in["gate-off"]),
        driver_gates=tuple(sorted_in["driver-gate"]),
        driver_gates_off=tuple(sorted_in["driver-gate-off"]),
        # Tags of feature, rule, scenario and examples add up; the narrowest window counts.
        since=max(sorted_in["since"], key=Version.parse, default=None),
        until=min(sorted_in["until"], key=Version.parse, default=None),
        disruptive=disruptive,
        all=everything,
    )


def in_profiles(tags: Tags, selected: Collection[str]) -> bool:
    """Whether a scenario with these tags belongs to the selected profiles; none selected means the usual ones."""
    if selected:
        return bool(set(selected) & set(tags.profiles))
    # A scenario that also belongs to a usual profile runs without --profile.
    return not set(tags.profiles) <= ON_REQUEST
