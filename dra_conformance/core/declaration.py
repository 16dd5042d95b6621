"""What a vendor says of its driver, so that scenarios can ask for it: sample configurations and capabilities.

Read from the table `[declaration]` of dra-conformance.toml. A capability that is declared must be shown: where a sample
that it needs is missing, its scenarios are untestable, not passed over. One that is not declared is not supported.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import msgspec

from dra_conformance.core import manifests
from dra_conformance.core.errors import UsageError

CAPABILITIES = {
    "configuration": "opaque parameters are read: valid samples are prepared, invalid ones refused",
    "health": "the health of every device is streamed (DRAResourceHealth)",
}
"""Capabilities that scenarios can ask for; the need `declared-<name>` stands for each."""


class Declaration(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """A vendor's words. `valid` and `invalid` are opaque parameters of the driver, each a text of YAML."""

    capabilities: tuple[str, ...] = ()
    valid: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise UsageError for a capability that nobody knows, and for samples that are no YAML mapping."""
        for name in self.capabilities:
            if name not in CAPABILITIES:
                near = get_close_matches(name, CAPABILITIES, n=1)
                hint = f"Did you mean {near[0]}?" if near else f"Capabilities: {', '.join(CAPABILITIES)}."
                raise UsageError(f"declaration: there is no capability {name!r}", hint=hint)
        for text in self.valid + self.invalid:
            if not isinstance(parameters(text), dict):
                raise UsageError(f"declaration: {text!r} is no mapping in YAML", hint="Write {apiVersion: …, kind: …}.")
        if (self.valid or self.invalid) and "configuration" not in self.capabilities:
            raise UsageError(
                "declaration: samples are given, and the capability configuration is not declared",
                hint='Add capabilities = ["configuration"].',
            )


def parameters(text: str) -> Any:
    """The opaque parameters of a sample. Raises UsageError where the text does not parse."""
    try:
        return manifests.parse_value(text)
    except Exception as error:
        raise UsageError(f"declaration: {text!r} does not parse as YAML: {error}") from None


REFERENCE = Declaration(
    capabilities=("configuration", "health"),
    valid=("{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}",),
    invalid=(
        "{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharin: {}}",
        "{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfiguration}",
        "{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: Magic}}",
    ),
)
"""What the reference driver gpu.nvidia.com declares."""
