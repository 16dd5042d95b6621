"""The declaration of a driver: sample configurations that scenarios can use.

The vendor writes it as the table `[declaration]` of dra-conformance.toml. Samples belong to the optional feature
`configuration`; if it is declared (`supported-features`) without samples, its scenarios are untestable.
"""

from __future__ import annotations

from typing import Any

import msgspec

from dra_conformance.core import manifests
from dra_conformance.core.errors import UsageError


class Declaration(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """The declaration of a driver. `valid` and `invalid` are samples of opaque parameters, each as YAML text."""

    valid: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise UsageError for a sample that is not a YAML mapping."""
        for text in self.valid + self.invalid:
            if not isinstance(parameters(text), dict):
                raise UsageError(
                    f"declaration: {text!r} is not a YAML mapping", hint="For example {apiVersion: ..., kind: ...}."
                )


def parameters(text: str) -> Any:
    """Return the opaque parameters of a sample. Raises UsageError if the text is not valid YAML."""
    try:
        return manifests.parse_value(text)
    except Exception as error:
        raise UsageError(f"declaration: {text!r} is not valid YAML: {error}") from None


REFERENCE = Declaration(
    valid=("{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}",),
    invalid=(
        "{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharin: {}}",
        "{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfiguration}",
        "{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: Magic}}",
    ),
)
"""The declaration of the reference driver gpu.nvidia.com."""
