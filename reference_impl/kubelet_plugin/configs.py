"""Opaque device configuration of `resource.nvidia.com/v1beta1`: strict decoding, validation, and precedence.

Pure functions over the parameters that users write into claims and classes. The webhook and both kubelet plugins share
them, so that they accept the same claims.

Source: api/nvidia.com/resource/v1beta1 and cmd/gpu-kubelet-plugin device_state.go at 95932046; rules NV-071 to NV-093.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dra_api.objects import Obj

API_VERSION = "resource.nvidia.com/v1beta1"
STRATEGIES = ("TimeSlicing", "MPS")
INTERVALS: Mapping[str, int] = {"Default": 0, "Short": 1, "Medium": 2, "Long": 3}
"""Time-slice intervals and the number that nvidia-smi takes for each."""


class ConfigError(Exception):
    """A configuration cannot be used; the text names the field."""


class DecodeError(ConfigError):
    """The parameters are no object of a known kind. Trying again cannot help."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """How the containers of a claim share a device. `interval` is None unless there is a timeSlicingConfig."""

    strategy: str
    interval: str | None
    mps: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class GpuConfig:
    """Configuration of full GPUs."""

    sharing: Sharing | None = None


@dataclass(frozen=True, slots=True)
class MigDeviceConfig:
    """Configuration of MIG devices."""

    sharing: Sharing | None = None


@dataclass(frozen=True, slots=True)
class VfioDeviceConfig:
    """Configuration of GPUs that are passed through to a virtual machine."""

    backend_policy: str = "LegacyOnly"
    enable_api_device: bool = False


@dataclass(frozen=True, slots=True)
class ComputeDomainChannelConfig:
    """The ComputeDomain that an IMEX channel joins. `allocation_mode` is Single unless it is `All`."""

    domain_id: str = ""
    allocation_mode: str = ""


@dataclass(frozen=True, slots=True)
class ComputeDomainDaemonConfig:
    """The ComputeDomain that an IMEX daemon serves."""

    domain_id: str = ""


@dataclass(frozen=True, slots=True)
class UnrecognizedConfig:
    """A kind that decodes but configures no device (ComputeDomain itself)."""

    kind: str


Config = (
    GpuConfig
    | MigDeviceConfig
    | VfioDeviceConfig
    | ComputeDomainChannelConfig
    | ComputeDomainDaemonConfig
    | UnrecognizedConfig
)

# -- decoding ----------------------------------------------------------------------------------------------------------

_LABEL_VALUE, _LABEL_LENGTH = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"), 63

# A schema maps a field to its check: a type, a nested schema, or None for anything.
_Schema = Mapping[str, object]
_MPS: _Schema = {
    "defaultActiveThreadPercentage": int,
    "defaultPinnedDeviceMemoryLimit": (str, int),
    "defaultPerDevicePinnedMemoryLimit": None,
    "multiUser": bool,
}
_KINDS: Mapping[str, _Schema] = {
    "GpuConfig": {"sharing": {"strategy": str, "timeSlicingConfig": {"interval": str}, "mpsConfig": _MPS}},
    "MigDeviceConfig": {"sharing": {"strategy": str, "mpsConfig": _MPS}},
    "VfioDeviceConfig": {"iommu": {"backendPolicy": str, "enableAPIDevice": bool}},
    "ComputeDomainChannelConfig": {"domainID": str, "allocationMode": str},
    "ComputeDomainDaemonConfig": {"domainID": str},
    "ComputeDomain": {"metadata": None, "spec": None, "status": None},
    "ComputeDomainClique": {"metadata": None, "daemons": None},
}


def decode(parameters: object, *, strict: bool = True) -> Config:
    """Return the typed config of opaque `parameters`. Raises DecodeError; unknown fields only matter when `strict`."""
    if not isinstance(parameters, dict):
        raise DecodeError(f"parameters must be an object, not {type(parameters).__name__}")
    kind, api_version = parameters.get("kind"), parameters.get("apiVersion")
    if not kind:
        raise DecodeError(f"Object 'Kind' is missing in {parameters!r:.200}")
    if not api_version:
        raise DecodeError(f"Object 'apiVersion' is missing in {parameters!r:.200}")
    for name, content in (("kind", kind), ("apiVersion", api_version)):
        if not isinstance(content, str):
            raise DecodeError(f"field {name} has a value of the wrong type: {content!r}")
    if api_version != API_VERSION or kind not in _KINDS:
        raise DecodeError(f'no kind "{kind}" is registered for version "{api_version}"')
    unknown = list(_unknown(parameters, {"kind": str, "apiVersion": str, **_KINDS[kind]}, ""))
    if strict and unknown:
        raise DecodeError("strict decoding error: " + ", ".join(f'unknown field "{path}"' for path in unknown))
    return _typed(str(kind), parameters)


def _unknown(value: Obj, schema: _Schema, where: str) -> list[str]:
    found: list[str] = []
    for name, content in value.items():
        path = f"{where}{name}"
        if name not in schema:
            found.append(path)
            continue
        check = schema[name]
        if content is None or check is None:
            continue
        if isinstance(check, Mapping):
            if not isinstance(content, dict):
                raise DecodeError(f"field {path} must be an object, not {type(content).__name__}")
            found += _unknown(content, check, f"{path}.")
        # A bool is an int in Python and no number in JSON.
        elif isinstance(content, bool) != (check is bool) or not isinstance(content, check):  # type: ignore[arg-type]
            raise DecodeError(f"field {path} has a value of the wrong type: {content!r}")
    return found


def _typed(kind: str, parameters: Obj) -> Config:
    match kind:
        case "GpuConfig":
            return GpuConfig(_sharing(parameters.get("sharing")))
        case "MigDeviceConfig":
            return MigDeviceConfig(_sharing(parameters.get("sharing")))
        case "VfioDeviceConfig":
            iommu = parameters.get("iommu") or {}
            return VfioDeviceConfig(iommu.get("backendPolicy") or "LegacyOnly", bool(iommu.get("enableAPIDevice")))
        case "ComputeDomainChannelConfig":
            return ComputeDomainChannelConfig(
                parameters.get("domainID") or "", str(parameters.get("allocationMode") or "")
            )
        case "ComputeDomainDaemonConfig":
            return ComputeDomainDaemonConfig(parameters.get("domainID") or "")
        case _:
            return UnrecognizedConfig(kind)


def _sharing(raw: Obj | None) -> Sharing | None:
    if raw is None:
        return None
    slicing = raw.get("timeSlicingConfig")
    return Sharing(
        strategy=raw.get("strategy") or "",
        # An empty timeSlicingConfig means the default interval; upstream crashed on it until #1384 (rule NV-088).
        interval=None if slicing is None else slicing.get("interval") or "Default",
        mps=raw.get("mpsConfig"),
    )


# -- validation --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EnabledSharing:
    """The sharing strategies that the feature gates allow."""

    time_slicing: bool
    mps: bool


def validate(config: Config, gates: EnabledSharing) -> None:
    """Check a decoded config. Raises ConfigError with upstream's words (rules NV-082 to NV-084, NV-091)."""
    match config:
        case GpuConfig(sharing=Sharing() as sharing) | MigDeviceConfig(sharing=Sharing() as sharing):
            _validate_sharing(sharing, gates)
        case VfioDeviceConfig(backend_policy=policy) if policy not in ("LegacyOnly", "PreferIommuFD"):
            raise ConfigError(f"unknown iommu backend policy: {policy}, supported: LegacyOnly, PreferIommuFD")
        case _:
            validate_domain(config)


def validate_domain(config: Config) -> None:
    """Check a decoded config of a ComputeDomain. Raises ConfigError.

    The id is the value of a node label and the name of a folder (rule NV-317).
    """
    if not isinstance(config, ComputeDomainChannelConfig | ComputeDomainDaemonConfig):
        return
    if not config.domain_id:
        raise ConfigError("domainID cannot be empty")
    if not _LABEL_VALUE.fullmatch(config.domain_id) or len(config.domain_id) > _LABEL_LENGTH:
        raise ConfigError(f"domainID must be a valid label value, not {config.domain_id!r}")


def _validate_sharing(sharing: Sharing, gates: EnabledSharing) -> None:
    if sharing.strategy not in STRATEGIES:
        raise ConfigError(
            f"unknown GPU sharing strategy: {sharing.strategy}, supported GPU sharing strategies: "
            + ", ".join(STRATEGIES)
        )
    gate, enabled = {
        "TimeSlicing": ("TimeSlicingSettings", gates.time_slicing),
        "MPS": ("MPSSupport", gates.mps),
    }[sharing.strategy]
    if not enabled:
        raise ConfigError(
            f'"{sharing.strategy}" is selected as the GPU sharing strategy, '
            f'but the "{gate}" feature gate is not enabled'
        )
    if sharing.strategy == "TimeSlicing" and sharing.interval not in (None, *INTERVALS):
        raise ConfigError(
            f"unknown time-slice interval: {sharing.interval}, supported time-slice intervals: " + ", ".join(INTERVALS)
        )
    if sharing.strategy == "MPS":
        percentage = (sharing.mps or {}).get("defaultActiveThreadPercentage")
        if isinstance(percentage, int) and percentage < 0:
            raise ConfigError("active thread percentage must not be negative")
        if isinstance(percentage, int) and percentage > 100:
            raise ConfigError("active thread percentage must not be greater than 100")


def requests_mps(config: Config) -> bool:
    """Return whether a config requests NVIDIA's Multi-Process Service."""
    return mps_settings(config) is not None


def mps_settings(config: Config) -> Mapping[str, object] | None:
    """Return the settings of NVIDIA's Multi-Process Service that a config requests; None if it does not request it."""
    match config:
        case (
            GpuConfig(sharing=Sharing(strategy="MPS", mps=settings))
            | MigDeviceConfig(sharing=Sharing(strategy="MPS", mps=settings))
        ):
            return settings or {}
        case _:
            return None


# -- precedence --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Candidate:
    """One configuration that may apply, in order of rising precedence. No `requests` means all of them."""

    config: Config
    requests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """A device type: the config class that it accepts, and the default config.

    `recognized` are the config classes of the type's whole driver; a config of another class is not even reported as
    one for the wrong device.
    """

    name: str
    fits: type
    default: Config
    recognized: tuple[type, ...]


def candidates(allocation: Obj, driver: str) -> list[Candidate]:
    """Return the claim's configs for `driver`: class configs first, then the claim's own, in list order (rule NV-078).

    Raises DecodeError for bad parameters.
    """
    # Configuration of other drivers is not even decoded (rule NV-057).
    mine = [
        entry for entry in (allocation.get("devices") or {}).get("config") or () if entry["opaque"]["driver"] == driver
    ]
    return [
        Candidate(decode(entry["opaque"].get("parameters")), tuple(entry.get("requests") or ()))
        for source in ("FromClass", "FromClaim")
        for entry in mine
        if entry["source"] == source
    ]


def select(offered: Sequence[Candidate], *, request: str, device: str, kind: DeviceKind) -> Config:
    """Return the config of one allocation result: the last that matches, whole; nothing is merged (rules NV-079,
    NV-080).

    A config that names the request must fit the device; one for all requests is passed over when it does not (rules
    NV-074 to NV-077). Names match exactly: a parent request's name does not reach its subrequests (rule NV-081).
    """
    for candidate in reversed(offered):
        if request in candidate.requests:
            check_fits(candidate.config, request=request, device=device, kind=kind)
            return candidate.config
        if not candidate.requests and isinstance(candidate.config, kind.fits):
            return candidate.config
    return kind.default


def check_fits(config: Config, *, request: str, device: str, kind: DeviceKind) -> None:
    """Raise ConfigError when a config that names the request is not for the device's type."""
    if isinstance(config, kind.fits):
        return
    if not isinstance(config, kind.recognized):
        raise ConfigError(f"runtime object is not a recognized configuration: {type(config).__name__}")
    raise ConfigError(
        f'cannot apply {type(config).__name__} to device "{device}" of type "{kind.name}" (request: {request})'
    )
