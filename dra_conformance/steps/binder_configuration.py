"""The binder's configuration: its feature gate."""

from __future__ import annotations

from dra_conformance.engine.vocabulary import given
from dra_conformance.engine.world import World


@given("the binder has dynamic resource allocation off")
def _(world: World) -> None:
    """Restart the binder with DynamicResourceAllocation off, for this scenario only; the API server keeps it on."""
    world.cleanup.callback(world.components.kill, "binder")
    world.components.restart(
        "binder",
        settings={"dynamic-resource-allocation": "false"},
        # In place of `{flags}`; the reference has a setting.
        flags=["--feature-gates=DynamicResourceAllocation=false"],
    )
