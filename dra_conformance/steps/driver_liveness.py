"""Liveness probes of the driver under test: grpc.health.v1 on a TCP port of this machine."""

from __future__ import annotations

import secrets
import socket
from dataclasses import dataclass, field
from pathlib import Path

from dra_api.rpc import RpcError, check_liveness
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.nodes import run_driver

FIRST_PORT, PORTS = 20_000, 10_000
"""Below the ports that Linux gives to connections, so that no connection takes one between choice and use."""


@dataclass(slots=True)
class HealthPorts:
    """The health ports of the drivers that the scenario started, by node."""

    of_node: dict[str, int] = field(default_factory=dict)


def free_port() -> int:
    """Return a port on which no program listens. Raises Untestable if none is found in a hundred attempts."""
    for _ in range(100):
        # Not from the run's seed: runs at the same time with one seed would choose the same ports.
        port = FIRST_PORT + secrets.randbelow(PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise Untestable(f"no free port from {FIRST_PORT} to {FIRST_PORT + PORTS}")


@given('node "{node}" running the driver with a port for health checks')
def _(world: World, node: str) -> None:
    """A node with a kubelet and the driver under test, started with --healthcheck-port and a free port."""
    port = world.state(HealthPorts).of_node[node] = free_port()
    run_driver(world, node, flags=f"--healthcheck-port={port}")


@when('the {which:word} socket of the driver on "{node}" is removed')
def _(world: World, which: str, node: str) -> None:
    """Remove the file of the `registration` or the `service` socket, as a clean-up of its folder does."""
    instance = world.node(node).plugin.instance
    match which:
        case "registration":
            instance.registration_socket.unlink()
        case "service":
            Path(instance.endpoint).unlink()
        case _:
            raise SpecificationError(f"a driver has a registration and a service socket, no {which} socket")


def port_of(world: World, node: str) -> int:
    """Return the health port of the driver. Raises SpecificationError if no step started it with one."""
    port = world.state(HealthPorts).of_node.get(node)
    if port is None:
        raise SpecificationError(f"{world.scenario.where}: no step started the driver on {node} with a health port")
    return port


@then('a health check of the driver on "{node}" for "{service}" returns {answer:word}')
def _(world: World, node: str, service: str, answer: str) -> None:
    """It comes to return this status, or to fail with this code. The port may be served later than the sockets."""
    port = port_of(world, node)

    def look() -> Seen[str]:
        try:
            found = check_liveness(port, service)
        except RpcError as error:
            found = error.code
        return found == answer, found

    world.eventually(f"health check for {service!r}", look, expected=answer)
