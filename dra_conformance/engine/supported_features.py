"""Finds out which optional features the target supports, and how this is known.

With `--supported-features` the list decides, as in Gateway API's conformance suite: a feature that is not listed is not
supported. Without the list a feature is detected from the options of the run if that is possible, and is otherwise not
supported: most features of an external program are only known to its vendor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dra_conformance.core.component_spec import ComponentSpec
from dra_conformance.core.optional_features import FEATURES
from dra_conformance.core.options import RunOptions

_NOT_DECLARED = "not declared (--supported-features)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportedFeatures:
    """The optional features of the target by name, each with how it is known.

    `declared` has the names of `--supported-features`, or None if the option was not given.
    """

    supported: Mapping[str, str] = field(default_factory=dict)
    unsupported: Mapping[str, str] = field(default_factory=dict)
    declared: tuple[str, ...] | None = None


def find(options: RunOptions) -> SupportedFeatures:
    """Return the features of the target, from the options of the run."""
    declared = options.supported_features
    supported: dict[str, str] = {}
    unsupported: dict[str, str] = {}
    for name in FEATURES:
        if declared is not None:
            how = "declared (--supported-features)" if name in declared else ""
        else:
            how = _detected(name, options)
        if how:
            supported[name] = how
        else:
            unsupported[name] = _NOT_DECLARED
    return SupportedFeatures(supported=supported, unsupported=unsupported, declared=declared)


def _has_its_checkpoint(plugin: ComponentSpec) -> bool:
    """Whether a kubelet plugin of ComputeDomains has the checkpoint of NVIDIA's: the feature is of both plugins."""
    known = plugin.preset is not None and "nvidia-checkpoint" in plugin.preset.features
    return known or plugin.kind in ("reference", "none")


def _detected(name: str, options: RunOptions) -> str:
    """Return how a feature is known to be supported, or an empty text."""
    component = FEATURES[name].component
    if name == "nvidia-checkpoint" and not _has_its_checkpoint(options.component("compute-domain-plugin")):
        return ""
    if name == "domain-conditions" and options.component("control-plane").kind == "kubeconfig":
        return ""  # the cluster's CRD may be NVIDIA's, which has no conditions
    kind = options.component(component).kind
    if kind == "reference" and not FEATURES[name].in_reference:
        return ""
    if kind == "reference" and (component != "driver" or options.driver_name == "gpu.nvidia.com"):
        return f"detected: the reference {component} has it"
    preset = options.component(component).preset
    if preset is not None and name in preset.features:
        return f"detected: {preset.name} has it"
    if name == "filter-timeout" and kind == "kube-scheduler":
        return "detected: kube-scheduler has it"
    if name == "configuration" and (options.declared.valid or options.declared.invalid):
        return "detected: [declaration] has samples"
    return ""
