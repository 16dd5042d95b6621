"""An HTTPS server with admission webhooks for the probes. The path of a request selects the response.

`/echo` denies every request with the admission request as message, so that the response of the API server shows what it
sent to the webhook.
"""

from __future__ import annotations

import base64
import ssl
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson

from dra_api import certificates
from dra_api.clock import RealClock

_SLOW_S = 4.0
_UID = "0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"
_DENIALS: dict[str, Any] = {
    "/deny": {},
    "/deny-message": {"message": "not today"},
    "/deny-reason": {"reason": "Conflict"},
    "/deny-both": {"message": "not today", "reason": "Conflict"},
    "/deny-code": {"message": "not today", "code": 409, "reason": "Conflict"},
    "/deny-low-code": {"message": "not today", "code": 200},
    "/deny-details": {"message": "not today", "code": 422, "details": {"causes": [{"field": "spec", "message": "x"}]}},
}
_BODIES = {"/text": b"this is no JSON", "/list": b"[]", "/nothing": b'{"kind":"AdmissionReview"}'}


class Responder:
    """The server, on a loopback port of its own. Started by the constructor; `close` ends it."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory(prefix="dra-responder-") as folder:
            made = certificates.make(Path(folder))
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(made.certificate, made.key)
            self.authority = base64.b64encode(made.authority.read_bytes()).decode()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="fidelity-responder", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Print nothing: API servers close connections of requests that take too long."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer an admission review."""
        body = orjson.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        path, _, query = self.path.partition("?")
        data = orjson.dumps(_review(path, query, body))
        if path == "/slow":
            RealClock().wait(threading.Event(), _SLOW_S)
        data = _BODIES.get(path, data)
        self.send_response(500 if path == "/error" else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def _review(path: str, query: str, body: dict[str, Any]) -> dict[str, Any]:
    request = body.get("request") or {}
    response: dict[str, Any] = {"uid": request.get("uid"), "allowed": True}
    if path == "/echo":
        response = {**response, "allowed": False, "status": {"message": _shown(body, query)}}
    elif path in _DENIALS:
        response = {**response, "allowed": False, "status": _DENIALS[path]}
    elif path == "/warn":
        response["warnings"] = ["first warning", "second warning"]
    elif path == "/deny-warn":
        response = {**response, "allowed": False, "warnings": ["a warning"]}
    elif path == "/uid":
        response["uid"] = _UID
    elif path == "/no-uid":
        response.pop("uid")
    review = {"apiVersion": body.get("apiVersion"), "kind": "AdmissionReview", "response": response}
    if path == "/kind":
        review["kind"] = "Review"
    if path == "/version":
        review["apiVersion"] = "admission.k8s.io/v1beta1"
    return review


def _shown(body: dict[str, Any], query: str) -> str:
    """Return the admission review as text, without managed fields and the attributes of the user's credential."""
    request = {**(body.get("request") or {})}
    request["userInfo"] = {"username": (request.get("userInfo") or {}).get("username")}
    for side in ("object", "oldObject"):
        if isinstance(request.get(side), dict):
            request[side].get("metadata", {}).pop("managedFields", None)
    return orjson.dumps({**body, "request": request, "query": query}, option=orjson.OPT_SORT_KEYS).decode()
