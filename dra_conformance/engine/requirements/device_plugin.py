"""Requirements on the device plugin."""

from __future__ import annotations

from dra_conformance.core.component_spec import FLAGS
from dra_conformance.core.features import Scenario
from dra_conformance.engine.requirements.registry import Unmet, requirement, untestable
from dra_conformance.engine.target import Target


@requirement
def device_plugin_flags(scenario: Scenario, target: Target) -> Unmet | None:
    """A device plugin whose flags the scenario can choose (the word {flags} in its command)."""
    plugin = target.components["device-plugin"]
    if plugin.kind == "exec" and FLAGS not in plugin.command:
        return untestable("starts the device plugin with other flags, and its command has no word {flags}")
    return None
