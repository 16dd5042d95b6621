"""The options of a run as one frozen object.

RunOptions is built by dra_conformance.core.configuration from the command line, dra-conformance.toml or pytest's
options. Worker processes receive it as JSON in a file of the report directory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from dra_api import versions
from dra_api.feature_gates import FeatureGateError, known_gates, parse_gates
from dra_conformance.core.companions import NONE, Companions
from dra_conformance.core.component_spec import CHOICES, MOUNTED, NODE_FOLDERS, ComponentSpec
from dra_conformance.core.declaration import REFERENCE, Declaration
from dra_conformance.core.driver_presets import VOLUME_LIMIT
from dra_conformance.core.errors import UsageError, unknown
from dra_conformance.core.option_table import NVIDIA_RELEASES, default_of
from dra_conformance.core.watch_lag import WatchLag


class Waiver(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A known failure that its owner accepts until a date."""

    rule: str
    owner: str
    reason: str
    expires: date


class RunOptions(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """Everything that a user can choose about a run; dra_conformance.core.option_table describes each option.

    Durations are in seconds. `waivers` and `companions` (by component) exist in dra-conformance.toml only.
    """

    control_plane: str = default_of("control-plane")
    claim_controller: str = default_of("claim-controller")
    scheduler: str = default_of("scheduler")
    binder: str = default_of("binder")
    kubelet: str = default_of("kubelet")
    driver: str = default_of("driver")
    compute_domain_controller: str = default_of("compute-domain-controller")
    compute_domain_plugin: str = default_of("compute-domain-plugin")
    compute_domain_daemon: str = default_of("compute-domain-daemon")
    device_plugin: str = default_of("device-plugin")
    taint_eviction: str = default_of("taint-eviction")
    webhook: str = default_of("webhook")
    webhook_path: str = default_of("webhook-path")
    scheduler_name: str = default_of("scheduler-name")
    pod_label: tuple[str, ...] = default_of("pod-label")
    pod_annotation: tuple[str, ...] = default_of("pod-annotation")
    driver_name: str = default_of("driver-name")
    driver_release: str = default_of("driver-release")
    compute_domain_namespace: str = default_of("compute-domain-namespace")
    driver_mount: tuple[str, ...] = default_of("driver-mount")
    device_class: str = default_of("device-class")
    kubernetes_version: str = default_of("kubernetes-version")
    bin_dir: str = default_of("bin-dir")
    kind_image: str = default_of("kind-image")
    kind_workers: int = default_of("kind-workers")
    kind_load: tuple[str, ...] = default_of("kind-load")
    kind_apply: tuple[str, ...] = default_of("kind-apply")
    k3s_image: str = default_of("k3s-image")
    node_name: str = default_of("node-name")
    cdi_root: str = default_of("cdi-root")
    feature_gates: tuple[str, ...] = default_of("feature-gates")
    runtime_config: tuple[str, ...] = default_of("runtime-config")
    revision: str = default_of("revision")
    inventory: str = default_of("inventory")
    nvml: str = default_of("nvml")
    driver_root: str = default_of("driver-root")
    profile: tuple[str, ...] = default_of("profile")
    rule: tuple[str, ...] = default_of("rule")
    focus: tuple[str, ...] = default_of("focus")
    skip: tuple[str, ...] = default_of("skip")
    shard: str = default_of("shard")
    features: tuple[str, ...] = default_of("features")
    supported_features: tuple[str, ...] | None = default_of("supported-features")
    fail_fast: bool = default_of("fail-fast")
    dry_run: bool = default_of("dry-run")
    allow_disruptive: bool = default_of("allow-disruptive")
    isolation: str = default_of("isolation")
    pass_env: tuple[str, ...] = default_of("pass-env")
    seed: int | None = default_of("seed")
    out: str = default_of("out")
    patience: float | None = default_of("patience")
    retries: int = default_of("retries")
    watch_lag: str = default_of("watch-lag")
    require: str = default_of("require")
    progress: str = default_of("progress")
    report: tuple[str, ...] = default_of("report")
    sign_key: str = default_of("sign-key")
    durations: int = default_of("durations")
    waivers: tuple[Waiver, ...] = ()
    companions: dict[str, Companions] = {}
    declaration: Declaration | None = default_of("declaration")

    @property
    def declared(self) -> Declaration:
        """The declaration of the driver: the user's, or the reference driver's if that is the one under test."""
        if self.declaration is not None:
            return self.declaration
        is_reference = self.driver_name == "gpu.nvidia.com" and self.component("driver").kind == "reference"
        return REFERENCE if is_reference else Declaration()

    @property
    def nvidia_release(self) -> str:
        """The release of NVIDIA's driver whose rules apply: the user's, that of the first preset, or the newest."""
        releases = (spec.preset.release for spec in self.components().values() if spec.preset)
        return self.driver_release or next(filter(None, releases), NVIDIA_RELEASES[0])

    @property
    def protocol(self) -> str:
        """The revision of the BindRequest protocol: that of the first preset that has one, or the user's."""
        revisions = (spec.preset.revision for spec in self.components().values() if spec.preset)
        return next(filter(None, revisions), self.revision)

    def component(self, name: str) -> ComponentSpec:
        """Return the implementation of the component with this option name, such as `claim-controller`."""
        spec = ComponentSpec.parse(name, getattr(self, name.replace("-", "_")))
        return replace(spec, mounts=(*spec.mounts, *self._mounts())) if name in MOUNTED else spec

    @property
    def kubelet_version(self) -> str:
        """The version of a real kubelet, such as v1.36.3; empty for that of the API server, or another kubelet."""
        spec = self.component("kubelet")
        return spec.argument if spec.kind == "kubelet" else ""

    def _mounts(self) -> Iterator[tuple[Path, Path]]:
        for text in self.driver_mount:
            source, _, target = text.partition(":")
            if not source or not target.startswith("/"):
                raise UsageError(f"--driver-mount {text!r}: must be SOURCE:TARGET, with an absolute path as TARGET")
            yield Path(source) if source in NODE_FOLDERS else Path(source).absolute(), Path(target)

    def companions_of(self, name: str) -> Companions:
        """Return the companions of a component: the user's, or those of its preset."""
        preset = self.component(name).preset
        return self.companions.get(name) or (preset.companions if preset else NONE)

    @property
    def scheduler_name_of_pods(self) -> str:
        """The schedulerName of pods for the scheduler under test; empty if it is Kubernetes' default."""
        preset = self.component("scheduler").preset
        return self.scheduler_name or (preset.scheduler_name if preset else "")

    @property
    def volume_limit(self) -> float:
        """The seconds that the binder under test waits for volumes: those of its preset, or the default."""
        preset = self.component("binder").preset
        return preset.volume_limit if preset else VOLUME_LIMIT

    @property
    def pod_labels(self) -> dict[str, str]:
        """The labels of pods for the scheduler under test: those of its preset and the user's."""
        preset = self.component("scheduler").preset
        return {**dict(preset.pod_labels if preset else ()), **_pairs("pod-label", self.pod_label)}

    @property
    def pod_annotations(self) -> dict[str, str]:
        """The annotations of pods for the scheduler under test."""
        return _pairs("pod-annotation", self.pod_annotation)

    def components(self) -> dict[str, ComponentSpec]:
        """Return the implementations of all components by option name."""
        return {name: self.component(name) for name in CHOICES}

    def gates(self) -> dict[str, bool]:
        """Return the feature gates that the user set. Raises UsageError if one is not NAME=true or NAME=false."""
        try:
            return parse_gates(",".join(self.feature_gates))
        except FeatureGateError as error:
            raise UsageError(f"--feature-gates {error}") from None

    def kubelet_gates(self) -> dict[str, bool]:
        """Return those of `gates` that the kubelet of a named version knows: others end it. Without a version, all."""
        gates, version = self.gates(), self.kubelet_version
        return {name: on for name, on in gates.items() if not version or name in known_gates(version)}

    def lag(self) -> WatchLag:
        """Return the delay of watch events. Raises UsageError if it cannot be read."""
        return WatchLag.parse(self.watch_lag)

    def api_versions(self) -> dict[str, bool]:
        """Return the versions of resource.k8s.io that the user enabled or disabled, by group and version.

        Raises UsageError for other API groups, and if every version with ResourceClaims is disabled.
        """
        found: dict[str, bool] = {}
        known = [f"{versions.GROUP}/{version}" for version in (*versions.VERSIONS, "v1alpha3")]
        for word in (part for entry in self.runtime_config for part in entry.split(",") if part):
            name, _, value = word.partition("=")
            if value not in ("true", "false"):
                raise UsageError(f"--runtime-config {word!r}: must be VERSION=true or VERSION=false")
            if name not in known:
                raise unknown("API version", name, known)
            found[name] = value == "true"
        # v1alpha3, the last of `known`, has no ResourceClaims.
        if not any(found.get(name, True) for name in known[: len(versions.VERSIONS)]):
            raise UsageError("--runtime-config: every version of resource.k8s.io with ResourceClaims is disabled")
        return found

    def resource_versions(self) -> tuple[str, ...]:
        """Return the served versions with ResourceClaims, preferred first, of a control plane that the run starts."""
        switched = self.api_versions()
        return tuple(each for each in versions.VERSIONS if switched.get(f"{versions.GROUP}/{each}", True))


def _pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    for text in texts:
        if not text.partition("=")[0] or "=" not in text:
            raise UsageError(f"--{option} {text!r}: must be KEY=VALUE")
    return {key: value for key, _, value in (text.partition("=") for text in texts)}


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a run: its options, and the command line that the user typed, without secrets."""

    options: RunOptions
    command: str = ""


def to_json(order: Order) -> bytes:
    """Encode an order for the process that runs it."""
    return msgspec.json.encode(order)


def from_json(data: bytes) -> Order:
    """Decode an order that `to_json` encoded."""
    return msgspec.json.decode(data, type=Order)


def plain(options: RunOptions) -> dict[str, Any]:
    """Return the options for the event log: plain values, without secrets."""
    found: dict[str, Any] = msgspec.to_builtins(options)
    return {key: _without_secrets(value) for key, value in found.items()}


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _without_secrets(item) for key, item in value.items()}
    return [_without_secrets(item) for item in value] if isinstance(value, (list, tuple)) else value


_VALUE = r"(?:'[^']*'|\"[^\"]*\"|[^\s'\"]+)"
_END = r"(?:['\"\s]|$)"
_SECRETS = (
    # Before the rest: the word after Authorization is the scheme.
    re.compile(rf"(?i)(\b(?:bearer|authorization[=: ]\s*['\"]?(?:basic|bearer))\s+){_VALUE}"),
    re.compile(rf"(?i)(\bx-[\w-]*(?:token|key|secret|auth)[\w-]*:\s*){_VALUE}"),
    re.compile(r"(?i)((?:token|password|passwd|passphrase|secret|api-?key)[\w-]*[= ]\s*)(?:'[^']*'|\"[^\"]*\"|\S+)"),
    re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)"),
    # A number is a port or a process.
    re.compile(rf"((?<![\w-])-p[= ])(?!\d+\b|no:){_VALUE}"),
    # MySQL has -pPASSWORD: if it has a digit or a sign, since -pretty, -plugin-v1 and -p80:80 are other options.
    re.compile(
        rf"((?<![\w-])-p)(?!no:|[a-z]+(?:-[a-z0-9]+)+{_END}|\d[\d:.,-]*{_END})"
        rf"(?=[^\s'\"=/]*[\d!@#$%^&*+?])[^\s'\"=]{{4,}}(?={_END})"
    ),
    # The user of curl. A number after the colon is a group or a port, system:... a user of Kubernetes.
    re.compile(
        r"((?<![\w-])(?:-u[= ]?|--(?:[\w-]+-)?(?:user|basic-auth)[= ])(['\"])?(?!system:)[^\s'\":/]+:)"
        rf"(?!\d+{_END}|/)(?(2)[^'\"]+|[^\s'\"]+)"
    ),
)


def redact(text: str) -> str:
    """Replace secrets in a command line.

    These are the values of names that contain token, password, passphrase, secret or API key, of `-p`, of
    Authorization and `X-...-Key` headers, and the passwords of URLs and of `-u USER:PASSWORD`.
    """
    for secret in _SECRETS:
        text = secret.sub(r"\1***", text)
    home = os.path.expanduser("~")
    # With the home directory / every path would become one below ~.
    return text.replace(home + "/", "~/") if home not in ("/", "") else text
