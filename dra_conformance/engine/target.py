"""Facts about the system under test that are known before the first scenario runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from dra_api.versions import VERSIONS
from dra_conformance.core.component_spec import ComponentSpec
from dra_conformance.core.option_table import NVIDIA_RELEASES
from dra_conformance.core.rules import Release, Version
from dra_conformance.core.rules.catalogue import COMPONENTS, Catalogue
from dra_conformance.engine.supported_features import SupportedFeatures


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The system under test, as far as it is known before the first scenario.

    `gates_assumed`: the cluster does not report its feature gates, so the defaults of its release are used.
    `driver_release`: the release of NVIDIA's driver whose rules apply.
    `missing_apis`: plural names of optional resources that the control plane does not serve.
    `lacking_fields`: fields of BindRequests that the CRD of an existing cluster does not have.
    `no_claim_webhook`: the reason why no webhook of an existing cluster validates claims; empty if one does.
    `resource_versions`: the versions of resource.k8s.io in which ResourceClaims are served, newest first.
    `nvml`: the library that the nvml scenarios test, `fake` or `real`.
    `gpus`: number of GPUs of this machine (`nvml` is `real`) or of the inventory; None if it is not known.
    `no_driver_view`: why this machine cannot show a program other files at paths that it has built in, or empty.
    `features`: the optional features that the target supports, and how each is known.
    `older_kubelet`: the release of a real kubelet that is older than the API server.
    `gates_off_in_kubelet`: the feature gates that are off in that kubelet, or that it does not know.
    """

    kubernetes_version: Version
    components: Mapping[str, ComponentSpec]
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    gates_assumed: bool = False
    driver_name: str = "gpu.nvidia.com"
    driver_release: Release = field(default_factory=lambda: Release.parse(NVIDIA_RELEASES[0]))
    own_control_plane: bool = True
    missing_apis: frozenset[str] = frozenset()
    lacking_fields: tuple[str, ...] = ()
    no_claim_webhook: str = ""
    revision: str = "kai-0.17"
    resource_versions: tuple[str, ...] = VERSIONS
    nvml: str = "fake"
    gpus: int | None = None
    no_driver_view: str = ""
    features: SupportedFeatures = field(default_factory=SupportedFeatures)
    older_kubelet: Version | None = None
    gates_off_in_kubelet: frozenset[str] = frozenset()

    @property
    def scheduler_binds_pods(self) -> bool:
        """Whether the scheduler under test binds pods itself: the user declares it with --binder none."""
        scheduler = self.components["scheduler"]
        return scheduler.kind != "reference" or scheduler.settings.get("publish") == "direct"

    @property
    def under_test(self) -> frozenset[str]:
        """The components that the run judges; rules of other components do not bind the target."""
        return under_test(self.components, nvml=self.nvml)


def outside_this_process(names: Iterable[str], components: Mapping[str, ComponentSpec]) -> list[str]:
    """Return those of the named components that run on real time: a scenario cannot advance their clock."""
    return [
        name
        for name in names
        if (spec := components.get(name)) and not (spec.in_process or spec.kind in ("embedded", "none"))
    ]


def judges_emulated_kubelet(
    rules: Iterable[str], catalogue: Catalogue, components: Mapping[str, ComponentSpec]
) -> bool:
    """Return whether the emulated kubelet is the target of a scenario, not the harness of another component.

    `rules` are those of the scenario: all of them are rules of the kubelet then.
    """
    return components["kubelet"].kind == "reference" and all(catalogue[one].component == "kubelet" for one in rules)


def under_test(components: Mapping[str, ComponentSpec], *, nvml: str) -> frozenset[str]:
    """Return the components that a run judges.

    If the user provides components, these are judged, and the suite's own ones only serve them. A run with the suite's
    own components only judges all of them. A control plane that is not the embedded one is always judged.
    """
    provided = {
        name for name, spec in components.items() if name != "control-plane" and spec.kind not in ("reference", "none")
    }
    if not provided:
        return frozenset(COMPONENTS)
    if components["control-plane"].kind != "embedded":
        provided.add("control-plane")
    if nvml == "real":
        provided.add("nvml")
    return frozenset(provided)
