"""The declaration of a driver: its optional capabilities, and sample configurations that scenarios can use.

The vendor writes it as the table `[declaration]` of dra-conformance.toml. A declared capability must be shown: if a
sample that its scenarios need is missing, they are untestable. An undeclared capability is not supported.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dra_conformance.core import manifests
from dra_conformance.core.errors import UsageError, unknown

CAPABILITIES = {
    "configuration": "the driver reads opaque parameters: it prepares valid samples and rejects invalid ones",
    "health": "the driver streams the health of every device (DRAResourceHealth)",
}
"""Optional capabilities of a driver. Scenarios require NAME with the tag `@needs:declared-NAME`."""


class Declaration(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """The declaration of a driver. `valid` and `invalid` are samples of opaque parameters, each as YAML text."""

    capabilities: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise UsageError for an unknown capability and for a sample that is not a YAML mapping."""
        for name in self.capabilities:
            if name not in CAPABILITIES:
                raise unknown("capability", name, CAPABILITIES)
        for text in self.valid + self.invalid:
            if not isinstance(parameters(text), dict):
                raise UsageError(
                    f"declaration: {text!r} is not a YAML mapping", hint="For example {apiVersion: ..., kind: ...}."
                )
        if (self.valid or self.invalid) and "configuration" not in self.capabilities:
            raise UsageError(
                "declaration: samples require the capability configuration",
                hint='Add capabilities = ["configuration"].',
            )


def parameters(text: str) -> Any:
    """Return the opaque parameters of a sample. Raises UsageError if the text is not valid YAML."""
    try:
        return manifests.parse_value(text)
    except Exception as error:
        raise UsageError(f"declaration: {text!r} is not valid YAML: {error}") from None


REFERENCE = Declaration(
    capabilities=("configuration", "health"),
    valid=("{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}",),
    invalid=(
        "{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharin: {}}",
        "{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfiguration}",
        "{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: Magic}}",
    ),
)
"""The declaration of the reference driver gpu.nvidia.com."""
