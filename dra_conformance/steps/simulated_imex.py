"""The simulated nvidia-imex by itself: daemons on addresses of the loopback network, and the control command."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from dra_conformance.core.process import ManagedProcess
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
from fake_nvml import imex

_NUMBERS: Final = itertools.count(1)
_PROGRAM: Final = "import sys; from fake_nvml import imex; sys.exit(imex.main(sys.argv[1:]))"
_WITHIN: Final = 20.0
"""Least seconds to wait for processes: each daemon starts a Python interpreter."""
_QUERY: Final = 2.0


@dataclass(slots=True)
class ImexNodes:
    """The nodes of the scenario by number: an address each, and the process of those whose daemon was started."""

    folder: Path = Path()
    addresses: dict[int, str] = field(default_factory=dict)
    daemons: dict[int, ManagedProcess] = field(default_factory=dict)

    def named(self, text: str) -> str:
        """Return a text with the addresses of the nodes and the folder in place of `<address N>` and `<folder>`."""
        for number, address in self.addresses.items():
            text = text.replace(f"<address {number}>", address)
        return text.replace("<folder>", str(self.folder))

    def configuration(self, number: int) -> str:
        """The path of a node's configuration file."""
        return str(self.folder / f"config-{number}")


@given("{count:d} nodes with this configuration of the simulated nvidia-imex")
def _(world: World, count: int, docstring: str) -> None:
    """Write the configuration of each node; `<address>` stands for its own address, `<folder>` for the folder."""
    nodes = world.state(ImexNodes)
    nodes.folder = world.run.components.work / f"imex{world.suffix}"
    world.run.components.work.mkdir(parents=True, exist_ok=True, mode=0o700)
    nodes.folder.mkdir(mode=0o700)
    process = os.getpid() & 0x3FFF  # addresses that no other run and no daemon pod has
    for number in range(1, count + 1):
        nodes.addresses[number] = f"127.{128 + (process >> 8)}.{process & 0xFF}.{next(_NUMBERS) % 254 + 1}"
        text = nodes.named(docstring.replace("<address>", f"<address {number}>"))
        Path(nodes.configuration(number)).write_text(text + "\n", encoding="utf-8")


@given("the nodes file of the simulated nvidia-imex is")
def _(world: World, docstring: str) -> None:
    """Write the file `nodes` of the folder, which all nodes share."""
    nodes = world.state(ImexNodes)
    (nodes.folder / "nodes").write_text(nodes.named(docstring) + "\n", encoding="utf-8")


@given("the hosts file of the simulated nvidia-imex is")
def _(world: World, docstring: str) -> None:
    """Write the file that names are resolved by; `<address N>` stands for the address of node N."""
    nodes = world.state(ImexNodes)
    (nodes.folder / "hosts").write_text(nodes.named(docstring) + "\n", encoding="utf-8")


@when("the hosts file of the simulated nvidia-imex becomes")
def _(world: World, docstring: str) -> None:
    """Write the file and send SIGUSR1 to each daemon that runs."""
    nodes = world.state(ImexNodes)
    (nodes.folder / "hosts").write_text(nodes.named(docstring) + "\n", encoding="utf-8")
    for daemon in nodes.daemons.values():
        if daemon.running and daemon.pid is not None:
            os.kill(daemon.pid, signal.SIGUSR1)


@when("the simulated nvidia-imex of nodes {numbers} starts")
def _(world: World, numbers: str) -> None:
    """Start daemons, and wait until each serves its control port or has ended."""
    nodes = world.state(ImexNodes)
    for number in map(int, numbers.split(", ")):
        daemon = ManagedProcess(
            f"simulated nvidia-imex {number}",
            [sys.executable, "-c", _PROGRAM, "daemon", "-c", nodes.configuration(number)],
            log_path=nodes.folder / f"log-{number}",
            env={imex.HOSTS: str(nodes.folder / "hosts")},
        )
        world.cleanup.callback(daemon.stop)
        daemon.start()
        nodes.daemons[number] = daemon
        world.poll(partial(_serves_or_ended, nodes, number), _within(world))


@then("the simulated nvidia-imex of node {number:d} ends in order on SIGTERM")
def _(world: World, number: int) -> None:
    """Send SIGTERM; the exit code is 0, and its control port answers no longer."""
    nodes = world.state(ImexNodes)
    daemon = nodes.daemons[number]
    daemon.terminate(_within(world))
    code = daemon.exit_code
    world.check(code == 0, f"exit code of the IMEX daemon of node {number}", expected=0, observed=code)
    state = _state(nodes, number)
    world.check(not state, f"state of the IMEX daemon of node {number}", expected={}, observed=state)


@then("the simulated nvidia-imex of node {number:d} has ended with exit code {code:d}")
def _(world: World, number: int, code: int) -> None:
    """The process has ended by itself."""
    daemon = world.state(ImexNodes).daemons[number]
    daemon.wait(_within(world))
    observed = daemon.exit_code
    world.check(observed == code, f"exit code of the IMEX daemon of node {number}", expected=code, observed=observed)


@then("the simulated nvidia-imex-ctl of node {number:d} comes to print for {words}")
def _(world: World, number: int, words: str, docstring: str) -> None:
    """Call the control command until it prints the lines; words: its options after the configuration file.

    The first line of `-N` is a heading and is left out; the others may have any order. Columns have one blank between.
    """
    nodes = world.state(ImexNodes)
    wanted = sorted(nodes.named(docstring).splitlines())

    def look() -> Seen[list[str]]:
        _, text = _control(nodes.configuration(number), words.split())
        lines = [" ".join(line.split()) for line in text.splitlines()]
        found = sorted(lines[1:] if "-N" in words else lines)
        return found == wanted, found

    world.eventually(f"nvidia-imex-ctl {words} of node {number}", look, expected=wanted, within=_within(world))


@then("the simulated nvidia-imex of node {number:d} has resolved its names again {count:d} times")
def _(world: World, number: int, count: int) -> None:
    """Compare the number of SIGUSR1 that it has handled, and its process id."""
    nodes = world.state(ImexNodes)
    wanted = [nodes.daemons[number].pid, count]

    def look() -> Seen[list[Any]]:
        state = _state(nodes, number)
        found = [state.get("pid"), state.get("updates")]
        return found == wanted, found

    world.eventually(f"process and updates of node {number}", look, expected=wanted, within=_within(world))


@then("the simulated nvidia-imex of node {number:d} comes to have these addresses")
def _(world: World, number: int, datatable: list[list[str]]) -> None:
    """Compare the addresses of the names that it has resolved; columns: name, address."""
    nodes = world.state(ImexNodes)
    wanted = {name: nodes.named(address) for name, address in datatable[1:]}

    def look() -> Seen[dict[str, str]]:
        found = _state(nodes, number).get("addresses", {})
        return found == wanted, found

    world.eventually(f"addresses that node {number} has resolved", look, expected=wanted, within=_within(world))


@then("these calls of the simulated nvidia-imex end as the table shows")
def _(world: World, datatable: list[list[str]]) -> None:
    """Columns: words, exit code, output (`none`, `READY`, or a text of the error). `<folder>` is the folder."""
    nodes = world.state(ImexNodes)
    for words, wanted_code, text in datatable[1:]:
        wanted = nodes.named(text)
        arguments = [nodes.named(word) for word in words.split()]
        said, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(errors):
            code = imex.main(arguments)
        world.check(code == int(wanted_code), f"exit code of {words}", expected=int(wanted_code), observed=code)
        if code == 0:
            world.check(
                said.getvalue() == f"{wanted}\n", f"output of {words}", expected=wanted, observed=said.getvalue()
            )
        else:
            quiet = not said.getvalue() and wanted in errors.getvalue()
            world.check(quiet, f"error of {words}", expected=wanted, observed=said.getvalue() + errors.getvalue())


@then("the simulated nvidia-imex reads these settings of its configuration")
def _(world: World, datatable: list[list[str]]) -> None:
    r"""Columns: configuration (lines separated by `\n`), address, server port, control port, nodes file, quorum."""
    nodes = world.state(ImexNodes)
    file = nodes.folder / "read"
    for text, *wanted in datatable[1:]:
        file.write_text(text.replace(r"\n", "\n") + "\n", encoding="utf-8")
        read = imex.Settings(file)
        found = [read.address, str(read.server_port), str(read.control_port), read.nodes_file, read.quorum]
        world.check(found == wanted, f"settings of {text}", expected=wanted, observed=found)


@then("the simulated nvidia-imex resolves these names")
def _(world: World, datatable: list[list[str]]) -> None:
    """Columns: name in the nodes file, address by the hosts file of the scenario or `none`."""
    nodes = world.state(ImexNodes)
    names = imex.node_names("\n".join(name for name, _ in datatable[1:]))
    wanted = {name: nodes.named(address) for name, address in datatable[1:] if address != "none"}
    found = imex.resolve(names, {imex.HOSTS: str(nodes.folder / "hosts")})
    world.check(found == wanted, "resolved names", expected=wanted, observed=found)


@then("another program on the control port of node {number:d} is no simulated nvidia-imex")
def _(world: World, number: int, datatable: list[list[str]]) -> None:
    r"""Answer a query and the control command with each text; columns: answer (with `\n`), query, nvidia-imex-ctl.

    The query returns a state (`a state`) or refuses the answer (`an error`). The control command prints a line and ends
    with 0, or prints nothing and ends with 1.
    """
    nodes = world.state(ImexNodes)
    address = nodes.addresses[number]
    for text, wanted_query, wanted_control in datatable[1:]:
        answer = text.replace(r"\n", "\n").replace("<deep>", "[" * 200_000).encode()
        with _serving((address, imex.CONTROL_PORT), answer, connections=2):
            try:
                query = "a state" if imex.query(address, imex.CONTROL_PORT, timeout=_QUERY) else "nothing"
            except ValueError:
                query = "an error"
            code, said = _control(nodes.configuration(number), ["-q"])
        control = said.strip() if code == 0 else f"nothing, exit code {code}" if not said else f"{said}{code}"
        world.check(query == wanted_query, f"query of {text}", expected=wanted_query, observed=query)
        world.check(control == wanted_control, f"control of {text}", expected=wanted_control, observed=control)


@contextlib.contextmanager
def _serving(address: tuple[str, int], answer: bytes, *, connections: int) -> Iterator[None]:
    def serve() -> None:
        for _ in range(connections):
            with contextlib.suppress(OSError):  # the other end closes early, or none came in time
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(answer)

    with socket.create_server(address) as listener:
        listener.settimeout(_QUERY)
        thread = threading.Thread(target=serve, name="another program on a control port")
        thread.start()
        try:
            yield
        finally:
            thread.join()


def _control(configuration: str, options: Sequence[str]) -> tuple[int, str]:
    """Run the control command in this process, which starts no interpreter; return exit code and output."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        code = imex.main(["control", "-c", configuration, *options])
    return code, said.getvalue()


def _state(nodes: ImexNodes, number: int) -> dict[str, Any]:
    settings = imex.Settings(nodes.configuration(number))
    try:
        return imex.query(settings.address, settings.control_port, timeout=_QUERY)
    except (OSError, ValueError):
        return {}


def _serves_or_ended(nodes: ImexNodes, number: int) -> bool:
    return bool(_state(nodes, number)) or not nodes.daemons[number].running


def _within(world: World) -> float:
    return max(_WITHIN, world.run.patience)
