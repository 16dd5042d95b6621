"""A stand-in for a Docker daemon: the part of its API that testcontainers uses for one k3s container.

It speaks the Engine API (1.44) over a Unix socket and starts no container. What the container would serve at port 6443
is the embedded control plane: its port is what the stand-in publishes, and its kubeconfig is what `cat` of k3s'
kubeconfig answers. Every request is kept for the test to look at.
"""

from __future__ import annotations

import re
import socketserver
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import orjson

_ID = "c0ffee" * 10 + "c0ff"
_TOOL = "f00d" * 16
_BRIDGE = {
    "Name": "bridge",
    "Id": "b1",
    "Driver": "bridge",
    "Scope": "local",
    "IPAM": {"Config": [{"Subnet": "127.0.0.0/8", "Gateway": "127.0.0.1"}]},
}
READY = b'level=info msg="Node controller sync successful"\n'


@dataclass
class FakeDocker:
    """`kubeconfig` is the text that the container holds, `port` what its 6443 is published as.

    `says` is what the container prints; `images` are those that can be pulled. `exit_code` is that of a container that
    ended; `refuses` is what is said in place of starting one. A container with an entry point of its own is a tool: it
    is noted in `tools`, `on_tool` is called, and it has ended well.
    """

    socket: Path
    kubeconfig: str = ""
    port: int = 0
    says: bytes = READY
    images: tuple[str, ...] = ("rancher/k3s:v1.36.2-k3s1",)
    requests: list[tuple[str, str, Any]] = field(default_factory=list)
    removed: bool = False
    exit_code: int | None = None
    refuses: str = ""
    tools: list[dict[str, Any]] = field(default_factory=list)
    on_tool: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        docker = self

        class Handler(_Handler):
            fake = docker

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True

        self._server = Server(str(self.socket), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> FakeDocker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def created(self) -> dict[str, Any]:
        """The body of the only request for a container that is no tool."""
        asked = [body for method, path, body in self.requests if (method, path) == ("POST", "/containers/create")]
        (body,) = [body for body in asked if not body.get("Entrypoint")]
        assert isinstance(body, dict)
        return body


class _Handler(BaseHTTPRequestHandler):
    fake: FakeDocker
    protocol_version = "HTTP/1.1"

    def address_string(self) -> str:
        return "socket"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        return

    def do_GET(self) -> None:
        self._take("GET")

    def do_POST(self) -> None:
        self._take("POST")

    def do_DELETE(self) -> None:
        self._take("DELETE")

    def _take(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        path, _, query = re.sub(r"^/v[\d.]+", "", self.path).partition("?")
        body = orjson.loads(raw) if raw else None
        self.fake.requests.append((method, path, body))
        match method, path:
            case "GET", "/version":
                self._json(200, {"ApiVersion": "1.44", "MinAPIVersion": "1.24", "Version": "25.0.0"})
            case "GET", "/_ping":
                self._send(200, b"OK", "text/plain")
            case "GET", "/info":
                self._json(200, {"ServerVersion": "25.0.0", "OSType": "linux"})
            case "GET", _ if path.startswith("/images/") and path.endswith("/json"):
                name = path.removeprefix("/images/").removesuffix("/json")
                known = name in self.fake.images
                self._json(200 if known else 404, {"Id": f"sha256:{_ID}"} if known else _missing(name))
            case "POST", "/images/create":
                self._json(404, _missing(query))
            case "POST", "/containers/create" if body.get("Entrypoint"):
                self.fake.tools.append(body)
                self._json(201, {"Id": _TOOL, "Warnings": []})
            case "POST", _ if path == f"/containers/{_TOOL}/start":
                self.fake.on_tool()
                self._send(204, b"")
            case "GET", _ if path == f"/containers/{_TOOL}/json":
                self._json(200, {**self._inspected(), "Id": _TOOL, "HostConfig": {"LogConfig": {"Type": "json-file"}}})
            case "POST", _ if path == f"/containers/{_TOOL}/wait":
                self._json(200, {"StatusCode": 0})
            case "GET", _ if path == f"/containers/{_TOOL}/logs":
                self._send(200, b"", "application/octet-stream")
            case "DELETE", _ if path == f"/containers/{_TOOL}":
                self._send(204, b"")
            case "POST", "/containers/create":
                known = str(body["Image"]) in self.fake.images
                self._json(201 if known else 404, {"Id": _ID, "Warnings": []} if known else _missing(body["Image"]))
            case "GET", "/networks":
                self._json(200, [_BRIDGE])
            case "GET", "/networks/bridge":
                self._json(200, _BRIDGE)
            case "GET", "/containers/json":
                self._json(200, [{**self._inspected(), "Names": ["/k3s"], "State": "running"}])
            case "GET", _ if path == f"/containers/{_ID}/json":
                self._json(200, self._inspected())
            case "POST", _ if path == f"/containers/{_ID}/start":
                if self.fake.refuses:
                    self._json(500, {"message": self.fake.refuses})
                else:
                    self._send(204, b"")
            case "GET", _ if path == f"/containers/{_ID}/logs":
                self._send(200, _frame(self.fake.says), "application/octet-stream")
            case "POST", _ if path == f"/containers/{_ID}/exec":
                self._json(201, {"Id": "exec1"})
            case "POST", "/exec/exec1/start":
                self._send(200, _frame(self.fake.kubeconfig.encode()), "application/octet-stream")
                self.close_connection = True  # the output of a command ends with the connection
            case "GET", "/exec/exec1/json":
                self._json(200, {"ID": "exec1", "ExitCode": 0, "Running": False})
            case "DELETE", _ if path == f"/containers/{_ID}" and self.fake.removed:
                self._json(404, {"message": f"No such container: {_ID}"})
            case "DELETE", _ if path == f"/containers/{_ID}":
                self.fake.removed = True
                self._send(204, b"")
            case _:
                self._json(501, {"message": f"the stand-in knows no {method} {path}"})

    def _inspected(self) -> dict[str, Any]:
        ports = {"6443/tcp": [{"HostIp": "0.0.0.0", "HostPort": str(self.fake.port)}]}  # noqa: S104 - as Docker says it
        return {
            "Id": _ID,
            "Name": "/k3s",
            "Config": {"Tty": False, "Image": self.fake.images[0], "Labels": {}},
            "HostConfig": {"NetworkMode": "bridge"},
            "State": {"Status": "running", "Running": True, "ExitCode": 0}
            if self.fake.exit_code is None
            else {"Status": "exited", "Running": False, "ExitCode": self.fake.exit_code},
            "NetworkSettings": {"Ports": ports, "Networks": {"bridge": {"Gateway": "127.0.0.1", "IPAddress": ""}}},
            "Image": f"sha256:{_ID}",
        }

    def _json(self, status: int, value: object) -> None:
        self._send(status, orjson.dumps(value))

    def _send(self, status: int, content: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.path.endswith("/exec/exec1/start"):
            # A daemon switches to the raw stream first; docker-py loses what comes together with the headers.
            self.wfile.flush()
            threading.Event().wait(0.1)
        self.wfile.write(content)


def _missing(image: str) -> dict[str, str]:
    return {"message": f"pull access denied for {image}, repository does not exist"}


def _frame(text: bytes) -> bytes:
    """Output as Docker multiplexes it: one frame of stdout."""
    return struct.pack(">BxxxL", 1, len(text)) + text
