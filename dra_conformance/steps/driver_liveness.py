"""Liveness probes: the driver under test asked by grpc.health.v1 on a TCP port of this machine."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

from dra_api.rpc import RpcError, check_liveness
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.nodes import run_driver

FIRST_PORT, PORTS = 20_000, 10_000
"""Below the ports that Linux gives to connections, so that none of them takes one between choice and use."""


def free_port() -> int:
    """A port on which nobody listens. Raises Untestable where none is found in a hundred tries."""
    for _ in range(100):
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
    port = world.memory[f"health port {node}"] = free_port()
    run_driver(world, node, flags=f"--healthcheck-port={port}")


@when('the registration socket of the driver on "{node}" is removed')
def _(world: World, node: str) -> None:
    """Take the socket's file away, as a clean-up of the kubelet's folder does; the driver goes on."""
    world.node(node).plugin.instance.registration_socket.unlink()


@when('the service socket of the driver on "{node}" is removed')
def _(world: World, node: str) -> None:
    """Take the socket's file away; the driver goes on."""
    Path(world.node(node).plugin.instance.endpoint).unlink()


def port_of(world: World, node: str) -> int:
    """The port that the driver was started with. Raises SpecificationError where no step did."""
    port = world.memory.get(f"health port {node}")
    if not isinstance(port, int):
        raise SpecificationError(f"{world.scenario.where}: no step started the driver on {node} with a health port")
    return port


@then('a health check of the driver on "{node}" for "{service}" says {answer:word}')
def _(world: World, node: str, service: str, answer: str) -> None:
    """It comes to answer so: a status, or the code with which it fails. The port may come after the sockets."""
    port = port_of(world, node)

    def look() -> Seen:
        try:
            said = check_liveness(port, service)
        except RpcError as error:
            said = error.code
        return said == answer, said

    world.eventually(f"health check for {service!r}", look, expected=answer)
