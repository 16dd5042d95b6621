"""An admission webhook that is broken in one named way: `broken_webhook.py FAULT PORT CERT KEY`."""

from __future__ import annotations

import json
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NEVER = threading.Event()


class Handler(BaseHTTPRequestHandler):
    fault = ""

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.fault == "hangs":
            NEVER.wait()
        if self.fault == "drips":
            while not NEVER.wait(0.2):
                self.wfile.write(b"H")
        self.answer(body)

    def answer(self, body: bytes) -> None:
        answers = {
            "garbage": b"\x00\xff no JSON",
            "list": b"[]",
            "null": b'{"response": null}',
            "texts": b'{"response": {"uid": 3, "allowed": "yes", "status": "no"}}',
        }
        answer = answers.get(self.fault) or json.dumps(self.admitted(body)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    @staticmethod
    def admitted(body: bytes) -> dict[str, object]:
        try:
            uid = json.loads(body)["request"]["uid"]
        except (ValueError, KeyError, TypeError):
            uid = ""
        return {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": {"uid": uid, "allowed": True},
        }

    def log_message(self, *_: object) -> None:
        return


def main(fault: str, port: str, certificate: str, key: str) -> int:
    if fault == "exits":
        print("cannot read /etc/webhook/tls.crt", flush=True)
        return 3
    if fault == "silent":
        print("waiting for a leader", flush=True)
        NEVER.wait()
    Handler.fault = fault
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), Handler)
    if fault != "plain":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
