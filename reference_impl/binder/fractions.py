"""A pod's share of GPUs (`receivedResourceType: Fraction`): what a BindRequest and its pod say about it.

Pure functions over objects that the caller has read.

Source: KAI-Scheduler 0.12.0 pkg/binder/common/gpu_access.go, gpusharingconfigmap/config_map.go; rules KAI-203 to
KAI-208, KAI-214.
"""

from __future__ import annotations

from dataclasses import dataclass

from dra_api.objects import Obj, meta, name_of
from reference_impl.binder import attempts
from reference_impl.binder.checks import spec_of
from reference_impl.binder.failure import BindFailure
from reference_impl.gpu_groups import GROUP_LABEL, groups_of

INDEX_ANNOTATION = "run.ai/reserve_for_gpu_index"

_CONFIG_MAP = "runai/shared-gpu-configmap"
_CONTAINER = "gpu-fraction-container-name"
_DEVICES = "gpu-fraction-num-devices"
_VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_CDI_KIND = "k8s.device-plugin.nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class PodShare:
    """The share of GPUs that a pod gets.

    `labels` are the pod's labels by group. `config_map` has the settings of the container; its name with `-evar` is the
    map whose keys become environment variables. `is_referred`: the container refers to the visible devices by name.
    """

    groups: tuple[str, ...]
    portion: str
    labels: dict[str, str]
    config_map: str
    is_referred: bool

    def config_maps(self, gpus: tuple[str, ...]) -> dict[str, dict[str, str]]:
        """Return the data of the pod's ConfigMaps by name, for GPUs that the container runtime knows by these names."""
        visible = {_VISIBLE: ",".join(gpus)}
        settings = {"GPU_PORTION": self.portion, "RUNAI_NUM_OF_GPUS": self.portion}
        return {
            self.config_map: {**settings, **(visible if self.is_referred else {})},
            self.environment_map: {} if self.is_referred else visible,
        }

    @property
    def environment_map(self) -> str:
        """The name of the ConfigMap whose keys become environment variables."""
        return f"{self.config_map}-evar"


def cdi_devices(indices: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names that the CDI specification of the device plugin gives to GPUs (KAI-214)."""
    return tuple(f"{_CDI_KIND}={index}" for index in indices)


def may_reserve(request: Obj, group: str) -> bool:
    """Return whether an attempt for this BindRequest may still use the reservation of a group (KAI-210)."""
    phase = (request.get("status") or {}).get("phase")
    ended = phase == "Succeeded" or (
        phase == "Failed" and attempts.is_final(request, attempts.failed_attempts(request))
    )
    return not ended and group in groups_of(request)


def share_of(request: Obj, pod: Obj) -> PodShare | None:
    """Return the share that a BindRequest gives to its pod; None if it is not for a share of GPUs.

    Raises BindFailure if the request has no amount (KAI-181), or the pod lacks the name of its ConfigMaps (KAI-208).
    """
    groups = groups_of(request)
    if not groups:
        return None
    portion = (spec_of(request).get("receivedGPU") or {}).get("portion")
    if not portion:
        raise BindFailure("receivedResourceType is Fraction and receivedGPU has no portion")
    prefix = (meta(pod).get("annotations") or {}).get(_CONFIG_MAP)
    if not prefix:
        raise BindFailure(f"pod {name_of(pod)} has no annotation {_CONFIG_MAP}, which names its ConfigMaps")
    index, container = _container(pod)
    return PodShare(
        groups=groups,
        portion=str(portion),
        labels={_label(pod, groups, group): group for group in groups},
        config_map=f"{prefix}-{index}",
        is_referred=any(
            variable.get("name") == _VISIBLE and (variable.get("valueFrom") or {}).get("configMapKeyRef")
            for variable in container.get("env") or ()
        ),
    )


def _label(pod: Obj, groups: tuple[str, ...], group: str) -> str:
    """Return the label for a group; a pod with several devices has one label for each."""
    devices = str((meta(pod).get("annotations") or {}).get(_DEVICES) or "1")
    return f"{GROUP_LABEL}/{group}" if len(groups) > 1 or devices != "1" else GROUP_LABEL


def _container(pod: Obj) -> tuple[str, Obj]:
    """Return the container that gets the share and its index as ConfigMaps spell it, `i0` for an init container."""
    spec = pod["spec"]
    wanted = (meta(pod).get("annotations") or {}).get(_CONTAINER)
    if wanted is None:
        return "0", spec["containers"][0]
    for prefix, field in (("i", "initContainers"), ("", "containers")):
        for index, container in enumerate(spec.get(field) or ()):
            if container["name"] == wanted:
                return f"{prefix}{index}", container
    raise BindFailure(f"annotation {_CONTAINER} names the container {wanted!r}, which pod {name_of(pod)} lacks")
