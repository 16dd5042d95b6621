"""ComputeDomains on nodes whose administrator runs nvidia-imex: hostManaged.

The daemon itself is simulated: a script in the place of nvidia-imex-ctl says whether it is ready.
"""

from __future__ import annotations

from dra_api.objects import NODES, meta, uid_of
from dra_conformance.components.fake_executable import StandIn
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import World
from dra_conformance.steps.compute_domains import LABEL, daemon_objects, domain
from dra_conformance.steps.imex import published, refused_at_once, run_domain_driver

_SCRIPT = """#!/bin/sh
# nvidia-imex-ctl, simulated: there is no daemon that it could ask.
echo "$*" >> "$0.log"
if [ -e "$0.fails" ]; then echo NOT_READY; else echo READY; fi
"""


def imex_control(world: World, node: str) -> StandIn:
    """The node's nvidia-imex-ctl."""
    return StandIn(world.node(node).gpus.driver_root / "usr/bin/nvidia-imex-ctl")


@given('node "{node}" running the ComputeDomain driver on the GPUs of "{inventory}" with "{flags}"')
def _(world: World, node: str, inventory: str, flags: str) -> None:
    """A kubelet and the ComputeDomain driver, started with flags of its own."""
    run_domain_driver(world, node, inventory, flags=flags)


@given('the ComputeDomain controller runs with "{flags}"')
def _(world: World, flags: str) -> None:
    """Start the controller anew with flags of its own, for this scenario."""
    world.components.restart("compute-domain-controller", flags=flags.split())


@given('nvidia-imex of the host "{node}" is simulated, and not ready')
def _(world: World, node: str) -> None:
    """Put a script into the driver root in the place of nvidia-imex-ctl; it says NOT_READY."""
    control = imex_control(world, node)
    control.install(_SCRIPT)
    control.fail()


@when('nvidia-imex of the host "{node}" becomes ready')
def _(world: World, node: str) -> None:
    """Let the script say READY."""
    imex_control(world, node).work()


@then('the ComputeDomain driver on "{node}" publishes channel 0 only')
def _(world: World, node: str) -> None:
    """Its slices hold exactly channel-0 of type channel, with id 0."""
    wanted = [("channel-0", "channel", 0)]
    world.eventually(
        f"devices of the ComputeDomain driver on {node}",
        lambda: (published(world, node) == wanted, published(world, node)),
        expected=wanted,
    )


@then('the daemon of claim "{claim}" is refused at once')
def _(world: World, claim: str) -> None:
    """Prepare comes to answer with an error of the claim, without waiting for anything."""
    refused_at_once(world, claim)


@then('node "{node}" has joined no ComputeDomain')
def _(world: World, node: str) -> None:
    """The Node has no label of a domain, now that Prepare has answered."""
    labels = meta(world.client.get(NODES, world.name(node))).get("labels") or {}
    world.check(LABEL not in labels, f"label of {node}", expected="no label", observed=labels.get(LABEL, "no label"))


@then('the ComputeDomain "{name}" has nothing for daemons')
def _(world: World, name: str) -> None:
    """No DaemonSet and no claim template in the driver's namespace has its label, now that its status is written."""
    found = sorted(daemon_objects(world, uid_of(domain(world, name))))
    world.check(not found, f"daemons of ComputeDomain {name}", expected="none", observed=found or "none")
