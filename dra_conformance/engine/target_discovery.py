"""Finds out what the system under test is before the first scenario."""

from __future__ import annotations

from dra_api.bind_request_crd import lacking_fields
from dra_api.client import KubeClient
from dra_api.feature_gates import default_gates, known_gates
from dra_api.objects import RESOURCE_CLAIMS
from dra_api.versions import VERSIONS
from dra_conformance.components.registration import not_registered_for_claims
from dra_conformance.control_plane.base import ControlPlane
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.option_table import CHECKED_RELEASES, NO_API
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules import Release, Version
from dra_conformance.engine import supported_features, target_isolation
from dra_conformance.engine.observed import OPTIONAL, UNWATCHED
from dra_conformance.engine.preflight import inventory_gpus, machine_gpus
from dra_conformance.engine.target import Target


def discover(control_plane: ControlPlane, options: RunOptions) -> Target:
    """Return the facts that the plan depends on.

    Starts no control plane of the run, and connects to an existing cluster. Raises TargetUnreachable.
    """
    if control_plane.own:
        return _of_run(control_plane, options)
    control_plane.start()
    return _of_cluster(control_plane, options)


def _of_run(control_plane: ControlPlane, options: RunOptions) -> Target:
    # Programs and images know their version without being started; the embedded control plane emulates any.
    known = options.component("control-plane").kind in ("binaries", "kind", "k3s")
    return _target(
        options,
        version=Version.parse(control_plane.version() if known else options.kubernetes_version),
        gates=dict(control_plane.feature_gates),
        own=True,
        resource_versions=options.resource_versions(),
    )


def _of_cluster(control_plane: ControlPlane, options: RunOptions) -> Target:
    version = Version.parse(control_plane.version())
    if version < Version.parse(CHECKED_RELEASES[0]):
        raise TargetUnreachable(
            f"the cluster runs Kubernetes {version}, which is not supported: {NO_API}",
            hint=f"Use a cluster of {CHECKED_RELEASES[0]} or later.",
        )
    client = KubeClient(control_plane.transport(), user_agent="dra-conformance")
    served = client.served(RESOURCE_CLAIMS.group)
    tests_webhook = not options.profile or "webhook" in options.profile
    webhook_of_cluster = options.component("webhook").kind == "cluster"
    gates = dict(control_plane.feature_gates)
    return _target(
        options,
        version=version,
        gates=gates or default_gates(f"{version.major}.{version.minor}"),
        gates_assumed=not gates,
        own=False,
        missing=frozenset(resource.plural for resource in (*OPTIONAL, *UNWATCHED) if not client.serves(resource)),
        lacking=lacking_fields(client, options.protocol),
        no_claim_webhook=not_registered_for_claims(client) if tests_webhook and webhook_of_cluster else "",
        resource_versions=tuple(each for each in VERSIONS if each in served),
    )


def _target(
    options: RunOptions,
    *,
    version: Version,
    gates: dict[str, bool],
    own: bool,
    resource_versions: tuple[str, ...],
    gates_assumed: bool = False,
    missing: frozenset[str] = frozenset(),
    lacking: tuple[str, ...] = (),
    no_claim_webhook: str = "",
) -> Target:
    kubelet = _older_kubelet(options, version)
    return Target(
        kubernetes_version=version,
        components=options.components(),
        feature_gates=gates,
        gates_assumed=gates_assumed,
        driver_name=options.driver_name,
        driver_release=Release.parse(options.nvidia_release),
        own_control_plane=own,
        missing_apis=missing,
        lacking_fields=lacking,
        no_claim_webhook=no_claim_webhook,
        revision=options.protocol,
        resource_versions=resource_versions,
        nvml=options.nvml,
        gpus=machine_gpus() if options.nvml == "real" else inventory_gpus(options.inventory),
        no_driver_view=target_isolation.no_driver_view(options),
        features=supported_features.find(options),
        older_kubelet=kubelet,
        gates_off_in_kubelet=_off_in(kubelet, version, options) if kubelet else frozenset(),
    )


def _older_kubelet(options: RunOptions, version: Version) -> Version | None:
    """Return the release of the kubelet if it is older than that of the API server."""
    named = options.kubelet_version
    kubelet = Version.parse(named) if named else version
    return kubelet if kubelet < version else None


def _off_in(kubelet: Version, version: Version, options: RunOptions) -> frozenset[str]:
    """Return the gates of a release that are off in an older kubelet, or that it does not know."""
    on = {name: gate.default for name, gate in known_gates(str(kubelet)).items()}
    on |= options.kubelet_gates()
    return frozenset(name for name in known_gates(str(version)) if not on.get(name, False))
