"""A validating webhook of the harness: it answers each review as a scenario prescribes.

It serves HTTPS on loopback, with a certificate of its own, until `stop`. Source: admission.k8s.io/v1.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import orjson

from dra_api.certificates import make
from dra_api.objects import Obj

HOST = "127.0.0.1"
Answers = Callable[[str, Obj], Obj]
"""Returns the response to a request (without the uid), given the path of the URL."""


class AnsweringWebhook:
    """The server. `folder` is private to it; `authority` is the CA of its certificate."""

    def __init__(self, folder: Path, answers: Answers) -> None:
        made = make(folder)
        self.authority = made.authority
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made.certificate, made.key)

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # the name is that of http.server
                review = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
                request = review["request"]
                response = {"uid": request["uid"], **answers(self.path.partition("?")[0].strip("/"), request)}
                body = orjson.dumps({"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response})
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Write nothing."""

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, name="answering-webhook", daemon=True)
        self._thread.start()

    def url(self, path: str) -> str:
        """Return the URL for reviews on a path."""
        return f"https://{HOST}:{self._server.server_address[1]}/{path}"

    def stop(self) -> None:
        """Close the socket and join the thread."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=10)
