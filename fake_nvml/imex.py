"""A simulated IMEX daemon and its control command, for machines without NVLink between nodes.

`imex.py daemon -c FILE` takes the place of nvidia-imex: it reads the configuration and the nodes file, listens,
connects to each node whose name it can resolve, connects again when a peer is lost, and resolves the names again on
SIGUSR1 and every half minute. `imex.py control -c FILE -q` takes the place of nvidia-imex-ctl: it prints READY once
the daemon of this node serves. With IMEX_WAIT_FOR_QUORUM=FULL that is when every node of the nodes file is connected;
with NONE and RECOVERY, when the daemon listens. `-N` prints the state of each node. No memory is shared: only names,
addresses, connections and signals are real.

Names are resolved by the hosts file of the variable SIMULATED_IMEX_HOSTS, by default /etc/hosts, and by nothing else: a
DNS server that does not answer would block the daemon for minutes. The daemon ends on SIGTERM, and within a second
after its parent. One thread; the module needs the standard library only, and can be run as a file. It imports no
dataclasses, argparse or pathlib, which take longer than all the rest: every daemon pod starts it.

A daemon sends one line to its control port, READY or NOT_READY, and then its state as JSON.

Source: NVIDIA IMEX service for NVLink networks (configuration file and nvidia-imex-ctl).
"""

from __future__ import annotations

import _socket
import os
import sys
import time

# Each probe of a pod starts the control command, and these modules take two thirds of its time.
if __name__ != "__main__" or sys.argv[1:2] != ["control"]:
    import contextlib
    import json
    import re
    import selectors
    import signal
    import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

HOSTS = "SIMULATED_IMEX_HOSTS"
"""Variable with the path of the hosts file that names are resolved by, in place of `/etc/hosts`."""
NAME = "simulated nvidia-imex"
SERVER_PORT, CONTROL_PORT = 50000, 50005

_GREETING = b"simulated-imex\n"
_RESOLVE_SECONDS = 30.0
_RETRY_SECONDS = 0.1
_TICK_SECONDS = 0.5
_CONTROL_TIMEOUT = 5.0
_LARGEST_ANSWER = 1 << 20
_READY, _NOT_READY = b"READY", b"NOT_READY"


class Settings:
    """What the simulation reads of a configuration file.

    Raises OSError, and ValueError for a port that is no number.
    """

    def __init__(self, path: str | Path) -> None:
        pairs = (line.partition("=") for line in _read(path).splitlines() if not line.lstrip().startswith("#"))
        values = {key.strip(): value.strip() for key, equals, value in pairs if equals}
        self.address = values.get("BIND_INTERFACE_IP") or values.get("IMEX_CMD_BIND_INTERFACE_IP") or ""
        self.server_port = int(values.get("SERVER_PORT") or SERVER_PORT)
        self.control_port = int(values.get("IMEX_CMD_PORT") or CONTROL_PORT)
        self.nodes_file = values.get("IMEX_NODE_CONFIG_FILE") or "/etc/nvidia-imex/nodes_config.cfg"
        self.quorum = values.get("IMEX_WAIT_FOR_QUORUM") or "RECOVERY"


def _read(path: str | Path) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def node_names(text: str) -> list[str]:
    """Return the names and addresses of a nodes file, one a line."""
    return [name for line in text.splitlines() if (name := line.partition("#")[0].strip())]


def resolve(names: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the IPv4 address of each name that has one. Raises OSError if there is no hosts file."""
    of_name: dict[str, str] = {}
    is_address = re.compile(r"\d+\.\d+\.\d+\.\d+").fullmatch
    for line in _read(environment.get(HOSTS) or "/etc/hosts").splitlines():
        address, *aliases = line.partition("#")[0].split() or [""]
        for name in aliases if is_address(address) else ():
            of_name.setdefault(name, address)  # the first line counts, as for the system's resolver
    return {name: of_name.get(name, name) for name in names if name in of_name or is_address(name)}


class _Peer:
    """A connection to another node; None between two attempts."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.connection: socket.socket | None = None
        self.connected = self.was_connected = False
        self.retry_at = 0.0

    @property
    def state(self) -> str:
        if self.connected:
            return "connected"
        return "lost" if self.was_connected else "connecting"


class Daemon:
    """The daemon of one node. `run` serves until SIGTERM."""

    def __init__(self, settings: Settings, environment: Mapping[str, str]) -> None:
        self.settings = settings
        self.environment = environment
        self.names: list[str] = []
        self.addresses: dict[str, str] = {}
        self.peers: dict[str, _Peer] = {}
        self.updates = 0
        self._selector = selectors.DefaultSelector()
        self._accepted: set[socket.socket] = set()
        self._ending = self._update = False
        self._resolve_at = 0.0

    def run(self) -> None:
        """Serve until SIGTERM. Raises OSError if an address is in use."""
        signal.signal(signal.SIGTERM, self._on_term)
        signal.signal(signal.SIGUSR1, self._on_update)
        wake, woken = socket.socketpair()
        for end in (wake, woken):
            end.setblocking(False)
        signal.set_wakeup_fd(wake.fileno())
        self._selector.register(woken, selectors.EVENT_READ, self._drain)
        parent = os.getppid()
        self.names = node_names(_read(self.settings.nodes_file))
        server = self._listen(self.settings.server_port, self._on_peer)
        control = self._listen(self.settings.control_port, self._on_control)
        self._say(f"listens on {self.settings.address or 'all addresses'}, {len(self.names)} nodes in its file")
        while not self._ending and os.getppid() == parent:
            now = time.monotonic()
            if self._update:
                self._update = False
                self.updates += 1
                self._say("resolves the names of its peers again: SIGUSR1")
                self._resolve_at = 0.0
            if now >= self._resolve_at:
                self._resolve()
                self._resolve_at = now + _RESOLVE_SECONDS
            self._connect(now)
            waiting = any(peer.connection is None for peer in self.peers.values())
            for key, _ in self._selector.select(_RETRY_SECONDS if waiting else _TICK_SECONDS):
                key.data(key.fileobj)
        server.close()
        control.close()
        self._say("ends")

    def state(self) -> dict[str, object]:
        """Return what the control command prints."""
        states = {}
        for name in self.names:
            address = self.addresses.get(name)
            if address is None:
                states[name] = "unknown"
            elif address == self.settings.address:
                states[name] = "self"
            else:
                states[name] = self.peers[address].state
        full = all(state in ("self", "connected") for state in states.values())
        ready = full if self.settings.quorum == "FULL" else True
        return {
            "simulated": True,
            "pid": os.getpid(),
            "ready": ready,
            "updates": self.updates,
            "nodes": states,
            "addresses": self.addresses,
        }

    # -- signals ---------------------------------------------------------------------------------------------------

    def _on_term(self, number: int, frame: object) -> None:
        self._ending = True

    def _on_update(self, number: int, frame: object) -> None:
        self._update = True

    @staticmethod
    def _drain(connection: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            while connection.recv(4096):
                continue

    # -- other nodes -----------------------------------------------------------------------------------------------

    def _resolve(self) -> None:
        self.addresses = resolve(self.names, self.environment)
        wanted = {address for address in self.addresses.values() if address != self.settings.address}
        for address in set(self.peers) - wanted:
            self._say(f"{address} is no peer any more")
            self._drop(self.peers.pop(address))
        for address in sorted(wanted - set(self.peers)):
            self.peers[address] = _Peer(address)

    def _connect(self, now: float) -> None:
        for peer in self.peers.values():
            if peer.connection is not None or now < peer.retry_at:
                continue
            peer.connection = socket.socket()
            peer.connection.setblocking(False)
            with contextlib.suppress(OSError):
                peer.connection.bind((self.settings.address, 0))
            peer.connection.connect_ex((peer.address, self.settings.server_port))
            self._selector.register(
                peer.connection,
                selectors.EVENT_READ | selectors.EVENT_WRITE,
                lambda _, peer=peer: self._on_connection(peer),
            )

    def _on_connection(self, peer: _Peer) -> None:
        connection = peer.connection
        if connection is None:
            return
        try:
            if error := connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError(error, os.strerror(error))
            if not peer.connected:
                # The connection exists; the peer's greeting shows that an IMEX daemon accepted it.
                self._selector.modify(connection, selectors.EVENT_READ, lambda _: self._on_connection(peer))
            received = connection.recv(4096)
            if not received:
                raise ConnectionResetError
            if not peer.connected:
                peer.connected = peer.was_connected = True
                self._say(f"connected to {peer.address}")
        except BlockingIOError:
            return
        except OSError:
            if peer.connected:
                self._say(f"lost {peer.address}")
            self._drop(peer)
            peer.retry_at = time.monotonic() + _RETRY_SECONDS

    def _drop(self, peer: _Peer) -> None:
        if peer.connection is not None:
            self._selector.unregister(peer.connection)
            peer.connection.close()
        peer.connection, peer.connected = None, False

    # -- server ----------------------------------------------------------------------------------------------------

    def _listen(self, port: int, accepted: object) -> socket.socket:
        server = socket.create_server((self.settings.address, port), backlog=64)
        server.setblocking(False)
        self._selector.register(server, selectors.EVENT_READ, accepted)
        return server

    def _on_peer(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection, _ = server.accept()
            connection.setblocking(False)
            connection.send(_GREETING)
            self._accepted.add(connection)
            self._selector.register(connection, selectors.EVENT_READ, self._on_accepted)

    def _on_accepted(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if connection.recv(4096):
                return
        self._selector.unregister(connection)
        self._accepted.discard(connection)
        connection.close()

    def _on_control(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection, _ = server.accept()
            with connection:
                connection.settimeout(_CONTROL_TIMEOUT)
                state = self.state()
                connection.sendall((_READY if state["ready"] else _NOT_READY) + b"\n" + json.dumps(state).encode())

    @staticmethod
    def _say(text: str) -> None:
        print(f"{NAME}: {text}", flush=True)


def query(address: str, port: int, *, timeout: float = _CONTROL_TIMEOUT) -> dict[str, object]:
    """Return the state of a simulated daemon. Raises OSError if none serves there, ValueError for another program.

    Another program may answer there: `timeout` is the time for the whole answer.
    """
    try:
        found = json.loads(_received(address, port, timeout)[1])
    except RecursionError:
        raise ValueError("the answer is nested too deeply") from None
    if not isinstance(found, dict) or not found.get("simulated") or not isinstance(found.get("nodes"), dict):
        raise ValueError("the program that answers is no simulated IMEX daemon")
    return found


def _received(address: str, port: int, timeout: float) -> tuple[bytes, bytes]:
    """Return the first line and the rest of what a daemon sends. Raises OSError, and ValueError for another program."""
    # Not `socket`, whose import takes longer than all of the control command.
    connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    end = time.monotonic() + timeout
    received = b""
    try:
        connection.settimeout(timeout)
        connection.connect((address or "127.0.0.1", port))
        while (part := connection.recv(65536)) and len(received) < _LARGEST_ANSWER:
            received += part
            if (left := end - time.monotonic()) <= 0:
                raise TimeoutError("the answer does not end")
            connection.settimeout(left)
    finally:
        connection.close()
    line, newline, rest = received.partition(b"\n")
    if not newline or line not in (_READY, _NOT_READY):
        raise ValueError("the program that answers is no simulated IMEX daemon")
    return line, rest


def control(settings: Settings, *, nodes: bool) -> int:
    """Print the state of the daemon, and of its nodes if `nodes`. Return the exit code."""
    try:
        line, rest = _received(settings.address, settings.control_port, _CONTROL_TIMEOUT)
    except (OSError, ValueError) as error:
        print(f"{NAME}-ctl: no daemon answers: {error}", file=sys.stderr)
        return 1
    if nodes:
        import json

        print(f"{NAME}: nodes of the domain")
        for name, found in sorted(json.loads(rest)["nodes"].items()):
            print(f"{name}\t{found}")
        return 0
    # Exactly this line: a daemon of ComputeDomains accepts no other.
    print(line.decode())
    return 0


def _options(words: Sequence[str]) -> dict[str, str]:
    """Return the options by name. Raises ValueError for others than -c FILE, -q and -N."""
    found: dict[str, str] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if word not in ("-c", "-q", "-N") or (word == "-c" and not left):
            raise ValueError(word)
        found[word] = left.pop(0) if word == "-c" else ""
    return found


def main(arguments: Sequence[str]) -> int:
    """Run the daemon or the control command. Return the exit code, 2 for wrong arguments."""
    program, *rest = arguments or [""]
    try:
        options = _options(rest)
    except ValueError:
        program, options = "", {}
    if program not in ("daemon", "control"):
        print(f"usage: {NAME} daemon [-c FILE] | control [-c FILE] [-q | -N]", file=sys.stderr)
        return 2
    try:
        settings = Settings(options.get("-c", "/etc/nvidia-imex/config.cfg"))
        if program == "control":
            return control(settings, nodes="-N" in options)
        Daemon(settings, dict(os.environ)).run()
    except (OSError, ValueError) as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
