"""The HTTP endpoint of a component's probes: `/healthz` while the process runs, `/readyz` once the component is ready.

Source: the names are those of controller-runtime (sigs.k8s.io/controller-runtime, pkg/healthz), as KAI's programs have
them; probes are those of kubelets (kubernetes.io/docs, Configure Liveness, Readiness and Startup Probes).
"""

from __future__ import annotations

import argparse
import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from reference_impl.errors import ComponentError

_READ_WITHIN = 5.0


def address(text: str) -> tuple[str, int]:
    """Parse HOST:PORT; an empty host is every address. Raises argparse.ArgumentTypeError."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or not 0 <= int(port) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r}: must be HOST:PORT or :PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


class HealthEndpoint:
    """Answers GET on /healthz and /readyz. Ready means that the component has started and is not stopping.

    Args:
        at: host and port; port 0 is a free one.
    """

    def __init__(self, at: tuple[str, int]) -> None:
        self._at = at
        self._ready = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port it listens on; 0 before `start`."""
        return int(self._server.server_address[1]) if self._server is not None else 0

    def start(self) -> None:
        """Listen. Raises ComponentError if the address cannot be used."""
        ready = self._ready

        class Handler(BaseHTTPRequestHandler):
            timeout = _READ_WITHIN

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                if path == "/healthz" or (path == "/readyz" and ready.is_set()):
                    self._answer(HTTPStatus.OK, b"ok")
                elif path == "/readyz":
                    self._answer(HTTPStatus.SERVICE_UNAVAILABLE, b"not ready")
                else:
                    self._answer(HTTPStatus.NOT_FOUND, b"not found")

            def _answer(self, status: HTTPStatus, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """A probe is no news."""

        host, port = self._at
        try:
            self._server = _server(host, port, Handler)
        except OSError as error:
            raise ComponentError(f"--health-probe-bind-address {host}:{port}: {error.strerror or error}") from None
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)
        self._thread.start()

    def set_ready(self, ready: bool) -> None:
        """Set what /readyz answers."""
        (self._ready.set if ready else self._ready.clear)()

    def stop(self) -> None:
        """End. Idempotent."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()
        if self._thread is not None:
            self._thread.join(timeout=_READ_WITHIN)


def _server(host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> ThreadingHTTPServer:
    """Return a listening server; without a host for IPv4 and IPv6, as a pod may have an address of either."""
    both = not host and socket.has_dualstack_ipv6()

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if both or ":" in host else socket.AF_INET
        daemon_threads = True

        def server_bind(self) -> None:
            if both:
                self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind(self.server_address)
            self.server_address = self.socket.getsockname()

    return Server((host, port), handler)
