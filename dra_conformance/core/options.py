"""The options of a run: one frozen object, from the command line, `dra-conformance.toml` or pytest.

The same object travels to the processes of the run as JSON in the run's folder.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from dra_api import versions
from dra_conformance.core.component_spec import CHOICES, K3S_COMPONENTS, ComponentSpec
from dra_conformance.core.declaration import REFERENCE, Declaration
from dra_conformance.core.errors import UsageError

CONFIG_FILE = "dra-conformance.toml"


class Waiver(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A failure that somebody answers for until a date."""

    rule: str
    owner: str
    reason: str
    expires: date


class RunOptions(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """All that a user can choose about a run. Durations are in seconds.

    `patience` is how long a check waits for the target to do a thing; None lets the control plane decide (5 s
    embedded, 20 s on binaries, 60 s elsewhere). `retries` is how often a failed scenario is asked again: a pass then is
    flaky. `node_name` and `cdi_root` say where a driver behind `socket:` is,
    where that cannot be told. `bin_dir` is where `binaries` looks first, `k3s_image` the image of `k3s` (empty: the
    pinned one). `revision` is the revision of KAI's protocol that the components are held to. `webhook_path` is where the
    webhook takes reviews. `feature_gates` are NAME=true or NAME=false, for a control plane of the run's own and for
    Kubernetes' programs in components.
    `runtime_config` is kube-apiserver's flag for the versions of resource.k8s.io, such as resource.k8s.io/v1=false;
    a control plane of the run's own serves all of them without it. `declaration` is what the driver's vendor says
    of it. `nvml` is whom the chapter nvml asks: the fake one, or this machine's own. `watch_lag` lets half of the
    embedded control plane's watches run up to so many seconds behind, each by its own time.
    """

    control_plane: str = "embedded"
    claim_controller: str = "reference"
    scheduler: str = "reference"
    binder: str = "reference"
    kubelet: str = "reference"
    driver: str = "reference"
    compute_domain_controller: str = "reference"
    taint_eviction: str = "reference"
    webhook: str = "reference"
    webhook_path: str = "/validate-resource-claim-parameters"
    driver_name: str = "gpu.nvidia.com"
    device_class: str = ""
    kubernetes_version: str = "1.36"
    bin_dir: str = ""
    k3s_image: str = ""
    node_name: str = ""
    cdi_root: str = ""
    feature_gates: tuple[str, ...] = ()
    runtime_config: tuple[str, ...] = ()
    revision: str = "kai-0.17"
    inventory: str = "dgx-h100"
    nvml: str = "fake"
    profile: tuple[str, ...] = ()
    rule: tuple[str, ...] = ()
    focus: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    fail_fast: bool = False
    dry_run: bool = False
    allow_disruptive: bool = False
    seed: int | None = None
    out: str = "dra-report"
    patience: float | None = None
    retries: int = 0
    watch_lag: float = 0.0
    require: str = ""
    progress: str = "auto"
    report: tuple[str, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    declaration: Declaration | None = None

    @property
    def declared(self) -> Declaration:
        """What is declared of the driver: the user's words, else those of the reference driver where it sits there."""
        if self.declaration is not None:
            return self.declaration
        ours = self.driver_name == "gpu.nvidia.com" and self.component("driver").kind == "reference"
        return REFERENCE if ours else Declaration()

    def component(self, name: str) -> ComponentSpec:
        """What sits in the component with this option name, such as `claim-controller`."""
        return ComponentSpec.parse(name, getattr(self, name.replace("-", "_")))

    def components(self) -> dict[str, ComponentSpec]:
        """All components."""
        return {name: self.component(name) for name in CHOICES}

    def gates(self) -> dict[str, bool]:
        """The feature gates that were set. Raises UsageError for one that is not NAME=true or NAME=false."""
        found: dict[str, bool] = {}
        for word in (part for entry in self.feature_gates for part in entry.split(",") if part):
            name, _, value = word.partition("=")
            if not name or value not in ("true", "false"):
                raise UsageError(f"--feature-gates {word!r} is not NAME=true or NAME=false")
            found[name] = value == "true"
        return found

    def api_versions(self) -> dict[str, bool]:
        """The versions of resource.k8s.io that were switched, such as {"resource.k8s.io/v1": False}.

        Raises UsageError for anything else, and where no version with ResourceClaims is left.
        """
        found: dict[str, bool] = {}
        known = [f"{versions.GROUP}/{version}" for version in (*versions.VERSIONS, "v1alpha3")]
        for word in (part for entry in self.runtime_config for part in entry.split(",") if part):
            name, _, value = word.partition("=")
            if value not in ("true", "false"):
                raise UsageError(f"--runtime-config {word!r} is not VERSION=true or VERSION=false")
            if name not in known:
                raise UsageError(f"--runtime-config {word!r}: {name!r} cannot be switched", hint=f"{', '.join(known)}")
            found[name] = value == "true"
        if not any(found.get(name, True) for name in known[: len(versions.VERSIONS)]):
            raise UsageError("--runtime-config: no version of resource.k8s.io with ResourceClaims is left")
        return found

    def resource_versions(self) -> tuple[str, ...]:
        """Versions with ResourceClaims that a control plane of the run's own serves, best first."""
        switched = self.api_versions()
        return tuple(each for each in versions.VERSIONS if switched.get(f"{versions.GROUP}/{each}", True))

    def validated(self) -> RunOptions:
        """Self, or UsageError for a value that no run can have."""
        from dra_conformance.core.rules.window import Version
        from dra_conformance.core.tags import PROFILES

        if self.nvml not in ("fake", "real"):
            raise UsageError(f"--nvml {self.nvml!r} is neither fake nor real")
        components = self.components()
        for name, spec in components.items():
            if spec.is_kubernetes and components["control-plane"].kind != "binaries":
                raise UsageError(
                    f"--{name} {spec.kind}: the harness starts Kubernetes' programs on its own real control plane only",
                    hint="Add --control-plane binaries.",
                )
        if self.gates() and components["control-plane"].kind == "kubeconfig":
            raise UsageError("--feature-gates: a cluster that is not ours keeps its own", hint="Leave the option out.")
        if self.api_versions() and components["control-plane"].kind == "kubeconfig":
            raise UsageError("--runtime-config: a cluster that is not ours keeps its own", hint="Leave the option out.")
        if (self.node_name or self.cdi_root) and components["driver"].kind != "socket":
            raise UsageError("--node-name and --cdi-root are of a driver that runs already (--driver socket:PATH)")
        if self.k3s_image and components["control-plane"].kind != "k3s":
            raise UsageError("--k3s-image: only --control-plane k3s starts an image")
        if self.bin_dir and components["control-plane"].kind != "binaries":
            raise UsageError("--bin-dir: only --control-plane binaries starts programs from a folder")
        for name, spec in components.items():
            if spec.kind == "cluster" and components["control-plane"].kind == "k3s" and name not in K3S_COMPONENTS:
                others = " or ".join(choice for choice in CHOICES[name] if choice != "cluster")
                raise UsageError(
                    f"--{name} cluster: a k3s cluster of the run has no {name} in it",
                    hint=f"Here this component holds {others}.",
                )
            if spec.kind == "cluster" and components["control-plane"].kind in ("embedded", "binaries"):
                others = " or ".join(choice for choice in CHOICES[name] if choice != "cluster")
                raise UsageError(
                    f"--{name} cluster: a control plane of the run's own is not a cluster and has no {name} in it",
                    hint=f"A cluster is --control-plane kubeconfig; here this component holds {others}.",
                )
        if self.declaration is not None:
            self.declaration.check()
        for profile in self.profile:
            if profile not in PROFILES:
                near = get_close_matches(profile, PROFILES, n=1)
                hint = f"Did you mean {near[0]}?" if near else f"Profiles: {', '.join(PROFILES)}."
                raise UsageError(f"there is no profile {profile!r}", hint=hint)
        try:
            version = Version.parse(self.kubernetes_version)
        except ValueError as error:
            raise UsageError(f"--kubernetes-version: {error}") from None
        if not Version(1, 34) <= version <= Version(1, 37):
            raise UsageError(f"--kubernetes-version {version}: the suite knows 1.34, 1.35, 1.36 and 1.37")
        if self.revision not in ("kai-0.17", "documented"):
            raise UsageError(f"--revision {self.revision!r}: one of kai-0.17, documented")
        if not self.webhook_path.startswith("/") or set(self.webhook_path) & set(" ?#"):
            raise UsageError(
                f"--webhook-path {self.webhook_path!r}: must be the path of a URL",
                hint="For example /validate-resource-claim-parameters",
            )
        if not 0 <= self.retries <= 100:
            raise UsageError(f"--retries {self.retries}: must be a number from 0 to 100")
        if not 0 <= self.watch_lag <= 1:
            raise UsageError(f"--watch-lag {self.watch_lag}: must be from 0 to 1 second")
        if self.watch_lag and components["control-plane"].kind != "embedded":
            raise UsageError(
                f"--watch-lag {self.watch_lag}: only the embedded control plane can hold its watches back",
                hint="Leave it out, or leave --control-plane out.",
            )
        if self.patience is not None and not 0 < self.patience < 1e6:
            raise UsageError(f"--patience {self.patience}: must be more than 0 seconds")
        for form in self.report:
            if form not in ("json", "yaml", "junit", "html"):
                raise UsageError(f"--report {form!r}: one of json, yaml, junit, html")
        if self.require and self.require not in ("conformant", "partial"):
            raise UsageError(f"--require {self.require!r}: one of conformant, partial")
        for pattern, option in [(p, "--focus") for p in self.focus] + [(p, "--skip") for p in self.skip]:
            try:
                re.compile(pattern)
            except re.error as error:
                raise UsageError(f"{option} {pattern!r} is no regular expression: {error}") from None
        for waiver in self.waivers:
            if not (waiver.owner.strip() and waiver.reason.strip()):
                raise UsageError(f"waiver of {waiver.rule}: owner and reason must say something")
        return self


def from_mapping(values: Mapping[str, Any], *, where: str) -> RunOptions:
    """Options from parsed TOML or JSON; unknown keys raise UsageError with the nearest known one."""
    known = [item.encode_name for item in msgspec.structs.fields(RunOptions)]
    for key in values:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(known)}."
            raise UsageError(f"{where}: unknown key {key!r}", hint=hint)
    filled = dict(values)
    if str(filled.get("control-plane", "")).startswith("kubeconfig"):
        if str(filled.get("driver", "")).startswith("socket:"):
            filled.setdefault("kubelet", "reference")  # it calls the driver; the real one would not for us
        # A cluster has these parts already; a second one beside them would be judged together with the first.
        for component in CHOICES:
            if "cluster" in CHOICES[component]:
                filled.setdefault(component, "cluster")
    if filled.get("control-plane") == "k3s":
        for component in K3S_COMPONENTS:
            if component != "kubelet":  # nodes of scenarios have the harness's, beside the one of the cluster
                filled.setdefault(component, "cluster")
    try:
        return msgspec.convert(filled, RunOptions).validated()
    except msgspec.ValidationError as error:
        told, _, place = str(error).partition(" - at ")
        key = place.strip("`").removeprefix("$.").removeprefix("$")
        raise UsageError(f"{where}: {f'{key}: ' if key else ''}{told}") from None


def config_file(path: Path | None) -> dict[str, Any]:
    """The keys of `dra-conformance.toml`: the file that was named, or the one in the working folder if there is one."""
    found = path or Path(CONFIG_FILE)
    if path is None and not found.is_file():
        return {}
    try:
        values = tomllib.loads(found.read_text())
    except OSError as error:
        raise UsageError(f"cannot read {found}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{found}: does not parse as TOML: {error}") from None
    from_mapping(values, where=str(found))  # so that a mistake is told with the file's name
    return values


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was told: its options, and the command line as it was typed (without secrets)."""

    options: RunOptions
    command: str = ""


def to_json(order: Order) -> bytes:
    """An order as it travels to the process that runs it."""
    return msgspec.json.encode(order)


def from_json(data: bytes) -> Order:
    """An order from `to_json`."""
    return msgspec.json.decode(data, type=Order)


def plain(options: RunOptions) -> dict[str, Any]:
    """Options as the event log holds them: plain values, without secrets."""
    found: dict[str, Any] = msgspec.to_builtins(options)
    return {key: _without_secrets(value) for key, value in found.items()}


def _without_secrets(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _without_secrets(item) for key, item in value.items()}
    return [_without_secrets(item) for item in value] if isinstance(value, (list, tuple)) else value


_SECRET = re.compile(r"(?i)((?:token|password|passwd|secret|api-?key)[\w-]*[= ]\s*)(?:'[^']*'|\"[^\"]*\"|\S+)")


def redact(text: str) -> str:
    """Hide what looks like a secret in a command line: the value behind a name that says token, password or key."""
    text = _SECRET.sub(r"\1***", text)
    home = os.path.expanduser("~")
    return text.replace(home + "/", "~/") if home not in ("/", "") else text
