"""What the webhook answers to one AdmissionReview. Pure: a review in, a review out.

Decoding and validation are the kubelet plugin's own (`kubelet_plugin.configs`), so that what is admitted here is what
can be prepared there. Where upstream is surprising the reference follows it, because users meet it: configurations of
other drivers are never looked at, the ComputeDomain driver's included (NV-136, NV-137), and VfioDeviceConfig is
refused (NV-138).

Source: NVIDIA/k8s-dra-driver-gpu cmd/webhook (25.12: main.go, resource.go); rules NV-129 to NV-141.
"""

from __future__ import annotations

from collections.abc import Iterator

from dra_api.objects import Obj
from reference_impl.kubelet_plugin import configs
from reference_impl.kubelet_plugin.configs import ConfigError, EnabledSharing

GPU_DRIVER = "gpu.nvidia.com"
VERSIONS = ("v1", "v1beta2", "v1beta1")
_RECOGNIZED = (
    configs.GpuConfig,
    configs.MigDeviceConfig,
    configs.ComputeDomainChannelConfig,
    configs.ComputeDomainDaemonConfig,
)
_CONFIG_PATHS = {"resourceclaims": ("spec",), "resourceclaimtemplates": ("spec", "spec")}


class MalformedReview(ValueError):
    """The body is no AdmissionReview v1 with a request (NV-130)."""


def answer(review: object, *, gates: EnabledSharing) -> Obj:
    """The AdmissionReview with its response. Raises MalformedReview."""
    request = request_of(review)
    response = decide(request, gates=gates)
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": request.get("uid", ""), **response},
    }


def request_of(review: object) -> Obj:
    """The request of a review. Raises MalformedReview."""
    if not isinstance(review, dict):
        raise MalformedReview("the body is not a JSON object")
    if (review.get("apiVersion"), review.get("kind")) != ("admission.k8s.io/v1", "AdmissionReview"):
        raise MalformedReview("the body is not an AdmissionReview of admission.k8s.io/v1")
    request = review.get("request")
    if not isinstance(request, dict):
        raise MalformedReview("the AdmissionReview has no request")
    return request


def decide(request: Obj, *, gates: EnabledSharing) -> Obj:
    """`allowed` and, where it is false, `status`."""
    resource = request.get("resource") or {}
    name = (resource.get("group"), resource.get("version"), resource.get("resource"))
    if name[0] != "resource.k8s.io" or name[1] not in VERSIONS or name[2] not in _CONFIG_PATHS:
        wanted = ", ".join(_CONFIG_PATHS)
        return _refuse("BadRequest", f"expected one of {wanted} in resource.k8s.io {'/'.join(VERSIONS)}, got {name}")
    problems = list(problems_in(request.get("object") or {}, _CONFIG_PATHS[str(name[2])], gates=gates))
    if problems:
        return _refuse("Invalid", f"{len(problems)} configs failed to validate: {'; '.join(problems)}")
    return {"allowed": True}


def problems_in(obj: Obj, where: tuple[str, ...], *, gates: EnabledSharing) -> Iterator[str]:
    """What is wrong with each configuration of this driver, with its path (NV-134, NV-135)."""
    spec = obj
    for step in where:
        spec = spec.get(step) or {}
    for index, entry in enumerate((spec.get("devices") or {}).get("config") or ()):
        opaque = entry.get("opaque") or {}
        if is_checked(opaque):
            try:
                check(opaque.get("parameters"), gates=gates)
            except ConfigError as error:
                yield f"object at {'.'.join(where)}.devices.config[{index}].opaque.parameters is invalid: {error}"


def is_checked(opaque: Obj) -> bool:
    """Whether a configuration is this webhook's business."""
    return opaque.get("driver") == GPU_DRIVER


def check(parameters: object, *, gates: EnabledSharing) -> None:
    """Decode strictly and validate. Raises ConfigError."""
    config = configs.decode(parameters, strict=True)
    if not isinstance(config, _RECOGNIZED):
        raise ConfigError(f"expected a recognized configuration type, got {type(config).__name__}")
    configs.validate(config, gates)


def _refuse(reason: str, message: str) -> Obj:
    return {"allowed": False, "status": {"reason": reason, "message": message}}
