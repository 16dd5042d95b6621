"""The response of the webhook to one AdmissionReview. Pure functions.

Decoding and validation are the kubelet plugin's own (`kubelet_plugin.configs`), so that every configuration
that is admitted can be prepared. Configurations of drivers other than the GPU driver and the ComputeDomain driver are
never checked (NV-136).

Source: kubernetes-sigs/dra-driver-nvidia-gpu cmd/webhook v0.5.0 (main.go, resource.go); rules NV-129 to NV-141, NV-317
and NV-318.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dra_api.objects import Obj
from reference_impl.kubelet_plugin import configs
from reference_impl.kubelet_plugin.configs import ConfigError, DecodeError, EnabledSharing
from reference_impl.webhook.document import repeated_fields

DRIVERS = ("gpu.nvidia.com", "compute-domain.nvidia.com")
"""The drivers whose configurations are checked."""
VERSIONS = ("v1", "v1beta2", "v1beta1")
REVIEW = ("admission.k8s.io/v1", "AdmissionReview")
_RECOGNIZED = (
    configs.GpuConfig,
    configs.MigDeviceConfig,
    configs.VfioDeviceConfig,
    configs.ComputeDomainChannelConfig,
    configs.ComputeDomainDaemonConfig,
)
CONFIG_PATHS = {"resourceclaims": ("spec", "devices"), "resourceclaimtemplates": ("spec", "spec", "devices")}


class MalformedReview(ValueError):
    """The body is no AdmissionReview v1 with a request (NV-130)."""


class UnreadableObject(ValueError):
    """The object of a request is no claim and no template (NV-132a)."""


def answer(review: object, *, gates: EnabledSharing) -> Obj:
    """Return the AdmissionReview with its response. Raises MalformedReview."""
    request = request_of(review)
    response = decide(request, gates=gates)
    api_version, kind = REVIEW
    return {"apiVersion": api_version, "kind": kind, "response": {"uid": request.get("uid"), **response}}


def request_of(review: object) -> Obj:
    """Return the request of a review. Raises MalformedReview."""
    if not isinstance(review, dict):
        raise MalformedReview("the body is not a JSON object")
    if (review.get("apiVersion"), review.get("kind")) != REVIEW:
        raise MalformedReview("the body is not an AdmissionReview of admission.k8s.io/v1")
    request = review.get("request")
    if not isinstance(request, dict):
        raise MalformedReview("the AdmissionReview has no request")
    return request


def decide(request: Obj, *, gates: EnabledSharing) -> Obj:
    """Return `allowed` and, if false, `status`. CREATE and UPDATE are checked by the new object alike (NV-133d)."""
    resource = request.get("resource")
    name = tuple(resource.get(key) for key in ("group", "version", "resource")) if isinstance(resource, dict) else ()
    if name not in [("resource.k8s.io", version, plural) for version in VERSIONS for plural in CONFIG_PATHS]:
        wanted = f"{' or '.join(CONFIG_PATHS)} of resource.k8s.io, {', '.join(VERSIONS)}"
        return _refuse("BadRequest", f"expected resource to be {wanted}; got {resource}")
    try:
        problems = list(problems_in(request.get("object"), CONFIG_PATHS[str(name[2])], gates=gates))
    except UnreadableObject as error:
        return _refuse("BadRequest", str(error))
    if problems:
        return _refuse("Invalid", f"{len(problems)} configs failed to validate: {'; '.join(problems)}")
    return {"allowed": True}


def problems_in(obj: object, where: tuple[str, ...], *, gates: EnabledSharing) -> Iterator[str]:
    """Return the problems of each configuration of these drivers, with its path (NV-134, NV-135). Raises
    UnreadableObject.
    """
    devices = _a(obj, dict, "the object of the request")
    for depth, step in enumerate(where, start=1):
        devices = _a(devices.get(step), dict, ".".join(where[:depth]))
    base = f"{'.'.join(where)}.config"
    for index, entry in enumerate(_a(devices.get("config"), list, base)):
        opaque = _a(_a(entry, dict, f"{base}[{index}]").get("opaque"), dict, f"{base}[{index}].opaque")
        if is_checked(opaque):
            try:
                check(opaque.get("parameters"), gates=gates)
            except DecodeError as error:
                yield f"error decoding object at {base}[{index}].opaque.parameters: {error}"
            except ConfigError as error:
                yield f"object at {base}[{index}].opaque.parameters is invalid: {error}"


def _a(value: object, kind: type, where: str) -> Any:
    """Return a value of a kind; null counts as empty. Raises UnreadableObject."""
    if value is None:
        # Go's decoder reads null as the zero value.
        return kind()
    if not isinstance(value, kind):
        raise UnreadableObject(f"the object cannot be read: {where} is a {type(value).__name__}")
    return value


def is_checked(opaque: Obj) -> bool:
    """Return whether this webhook checks the configuration: only those of its own drivers."""
    return opaque.get("driver") in DRIVERS


def check(parameters: object, *, gates: EnabledSharing) -> None:
    """Decode strictly and validate. Raises ConfigError."""
    config = configs.decode(parameters, strict=True)
    if repeated := repeated_fields(parameters):
        raise DecodeError("strict decoding error: " + ", ".join(f'duplicate field "{path}"' for path in repeated))
    if not isinstance(config, _RECOGNIZED):
        raise ConfigError(f"expected a recognized configuration type, got {type(config).__name__}")
    configs.validate(config, gates)


def _refuse(reason: str, message: str) -> Obj:
    return {"allowed": False, "status": {"reason": reason, "message": message}}
