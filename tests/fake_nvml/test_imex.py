"""Tests of the simulated nvidia-imex: real processes on addresses of the loopback network."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from polling import wait_until

from fake_nvml import imex

_NEXT = itertools.count(1)


class Rack:
    """Daemons on addresses of their own, which share a nodes file and a hosts file."""

    def __init__(self, folder: Path, quorum: str) -> None:
        self.folder = folder
        self.network = f"127.{32 + (os.getpid() >> 8 & 31)}.{os.getpid() & 255}"
        self.addresses = [f"{self.network}.{next(_NEXT)}" for _ in range(3)]
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        (folder / "nodes").write_text("# all nodes\nnode-0\nnode-1\nnode-2\n")
        self.name()
        for number, address in enumerate(self.addresses):
            (folder / f"config-{number}").write_text(
                f"# comment=1\nIMEX_CMD_BIND_INTERFACE_IP={address}\nIMEX_WAIT_FOR_QUORUM={quorum}\n"
                f"IMEX_NODE_CONFIG_FILE={folder / 'nodes'}\nSERVER_PORT=50000\n"
            )

    def name(self, *numbers: int) -> None:
        """Write the hosts file with these nodes, and signal the daemons."""
        lines = [f"{self.addresses[number]} node-{number}\n" for number in numbers]
        (self.folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(lines))
        for process in self.processes.values():
            process.send_signal(signal.SIGUSR1)

    def command(self, number: int, *words: str) -> list[str]:
        return [
            sys.executable,
            "-I",
            "-S",
            imex.__file__,
            words[0],
            "-c",
            str(self.folder / f"config-{number}"),
            *words[1:],
        ]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, imex.HOSTS: str(self.folder / "hosts")}

    def start(self, number: int) -> None:
        self.processes[number] = subprocess.Popen(self.command(number, "daemon"), env=self.environment)
        wait_until(lambda: bool(self.state(number)))

    def state(self, number: int) -> dict[str, Any]:
        try:
            return imex.query(self.addresses[number], imex.CONTROL_PORT)
        except OSError:
            return {}

    def control(self, number: int, *words: str) -> tuple[int, str]:
        done = subprocess.run(self.command(number, "control", *words), capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    def nodes(self, number: int) -> Sequence[str]:
        return list(self.state(number).get("nodes", {}).values())


@pytest.fixture
def rack(tmp_path: Path) -> Iterator[Callable[[str], Rack]]:
    made: list[Rack] = []

    def make(quorum: str = "RECOVERY") -> Rack:
        made.append(Rack(tmp_path, quorum))
        return made[-1]

    yield make
    for one in made:
        for process in one.processes.values():
            process.kill()
            process.wait()


def test_daemons_connect_and_notice_a_lost_peer(rack: Callable[..., Rack]) -> None:
    found = rack()
    assert found.control(0, "-q")[0] == 1
    found.start(0)
    found.start(1)
    assert found.nodes(0) == ["unknown"] * 3
    found.name(0, 1)
    wait_until(lambda: found.nodes(0) == ["self", "connected", "unknown"])
    wait_until(lambda: found.nodes(1) == ["connected", "self", "unknown"])
    assert found.state(0)["updates"] == 1
    found.processes[1].kill()
    wait_until(lambda: found.nodes(0) == ["self", "lost", "unknown"])
    assert found.control(0, "-N")[1].splitlines()[2] == "node-1\tlost"
    found.start(1)
    wait_until(lambda: found.nodes(0) == ["self", "connected", "unknown"])
    found.name(0)
    wait_until(lambda: found.nodes(0) == ["self", "unknown", "unknown"])


def test_a_daemon_is_ready_alone_unless_it_waits_for_all_nodes(rack: Callable[..., Rack]) -> None:
    alone = rack("RECOVERY")
    alone.start(0)
    assert alone.control(0, "-q") == (0, "READY\n")
    full = rack("FULL")
    for number in (0, 1):
        full.start(number)
    full.name(0, 1)
    wait_until(lambda: full.nodes(0) == ["self", "connected", "unknown"])
    assert full.control(0, "-q") == (0, "NOT_READY\n")
    full.start(2)
    full.name(0, 1, 2)
    wait_until(lambda: full.control(0, "-q") == (0, "READY\n"))
    full.processes[2].kill()
    wait_until(lambda: full.nodes(0) == ["self", "connected", "lost"])
    assert full.control(0, "-q") == (0, "NOT_READY\n")


def test_a_daemon_ends_on_sigterm(rack: Callable[..., Rack]) -> None:
    found = rack()
    found.start(0)
    found.processes[0].terminate()
    assert found.processes[0].wait(60) == 0


def test_a_configuration_that_cannot_be_read_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert imex.main(["daemon", "-c", str(tmp_path / "none")]) == 1
    assert "simulated nvidia-imex: " in capsys.readouterr().err


def test_the_output_of_each_program_says_that_it_is_simulated(rack: Callable[..., Rack]) -> None:
    found = rack()
    process = subprocess.Popen(found.command(0, "daemon"), env=found.environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    first = process.stdout.readline()
    process.terminate()
    process.wait(60)
    assert first.startswith("simulated nvidia-imex: listens on ")


@pytest.mark.parametrize("words", [("-x",), ("-q", "more"), ("-c",)])
def test_the_control_command_refuses_other_options(rack: Callable[..., Rack], words: tuple[str, ...]) -> None:
    assert rack().control(0, *words) == (2, "")


@pytest.mark.parametrize("answer", [b"", b"READY", b'READY \n{"simulated": true}', b'{"simulated": true}'])
def test_another_program_on_the_port_is_no_daemon(rack: Callable[..., Rack], answer: bytes) -> None:
    found = rack()

    address = (found.addresses[0], imex.CONTROL_PORT)
    with serving(lambda connection: connection.sendall(answer), address=address, connections=2):
        with pytest.raises(ValueError, match="no simulated IMEX daemon"):
            imex.query(*address)
        said = found.control(0, "-q")
    assert said == (1, "")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"READY\n" + b"[" * 200_000, "nested|Expecting"),
        (b'READY\n{"simulated": true, "nodes": ["node-0"]}', "no simulated"),
        (b"READY\n[]", "no simulated"),
        (b"READY\n\xff", "decode"),
    ],
)
def test_an_answer_of_another_program_is_an_error(answer: bytes, message: str) -> None:
    with serving(lambda connection: connection.sendall(answer)) as port, pytest.raises(ValueError, match=message):
        imex.query("127.0.0.1", port)


def test_an_answer_that_does_not_end_has_a_time_limit() -> None:
    never = threading.Event()

    def drip(connection: socket.socket) -> None:
        while not never.wait(0.05):  # until the other end is closed
            connection.sendall(b" ")

    with serving(drip) as port, pytest.raises(TimeoutError):
        imex.query("127.0.0.1", port, timeout=0.5)


@contextlib.contextmanager
def serving(
    answer: Callable[[socket.socket], None], *, address: tuple[str, int] = ("127.0.0.1", 0), connections: int = 1
) -> Iterator[int]:
    """Yield the port of a program that answers so many connections."""

    def serve() -> None:
        for _ in range(connections):
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                answer(connection)

    with socket.create_server(address) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def test_names_are_resolved_by_the_hosts_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(name: str) -> str:
        raise AssertionError(f"the resolver of the system is asked for {name}, and can take 20 s for it")

    monkeypatch.setattr(socket, "gethostbyname", ask)
    hosts = tmp_path / "hosts"
    hosts.write_text("::1 a localhost # no IPv4\n\n10.0.0.1 a b\n10.0.0.2 b\n")
    found = imex.resolve(["a", "b", "other", "10.0.0.9"], {imex.HOSTS: str(hosts)})
    assert found == {"a": "10.0.0.1", "b": "10.0.0.1", "10.0.0.9": "10.0.0.9"}
    assert imex.resolve(["other.example.com"], {}) == {}
