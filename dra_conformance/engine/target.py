"""Facts about the system under test that are known before the first scenario runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dra_api.versions import VERSIONS
from dra_conformance.core.component_spec import ComponentSpec
from dra_conformance.core.rules import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The system under test, as far as it is known before the first scenario.

    `gates_assumed`: the cluster does not report its feature gates, so the defaults of its release are used.
    `missing_apis`: plural names of optional resources that the control plane does not serve.
    `no_claim_webhook`: the reason why no webhook of an existing cluster validates claims; empty if one does.
    `resource_versions`: the versions of resource.k8s.io in which ResourceClaims are served, newest first.
    `nvml`: the library that the nvml scenarios test, `fake` or `real`.
    `gpus`: number of GPUs of this machine, None for the fake library.
    `capabilities`: the capabilities that are declared for the driver.
    """

    kubernetes_version: Version
    components: Mapping[str, ComponentSpec]
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    gates_assumed: bool = False
    driver_name: str = "gpu.nvidia.com"
    own_control_plane: bool = True
    missing_apis: frozenset[str] = frozenset()
    no_claim_webhook: str = ""
    revision: str = "kai-0.17"
    resource_versions: tuple[str, ...] = VERSIONS
    nvml: str = "fake"
    gpus: int | None = None
    capabilities: tuple[str, ...] = ("configuration", "health")
