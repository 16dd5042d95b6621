"""The proxy alone: identities of its endpoints, hidden credentials, and its end."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import ssl
import stat
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from polling import wait_until

from apiserver_emulator import ApiServerEmulator
from dra_api.certificate_authority import Authority
from dra_api.client import ApiError, KubeClient
from dra_api.kubeconfig import KubeconfigError
from dra_api.objects import NAMESPACES, NODES
from dra_api.request import User
from dra_api.transport import HttpTransport, TransportError
from dra_conformance.faults import Call, Fault, FaultPoints
from dra_conformance.faults.proxy import FaultProxy


def test_each_endpoint_uses_the_original_identity(plane: ApiServerEmulator, proxy: FaultProxy, tmp_path: Path) -> None:
    own = plane.write_kubeconfig(tmp_path / "root.kubeconfig", User("root", groups=("system:masters",)))
    for behind, name in ((plane.kubeconfig, "kubernetes-admin"), (own, "root")):
        path = proxy.open("driver", behind)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert yaml.safe_load(behind.read_text())["users"][0]["user"]["token"] not in path.read_text()
        transport = HttpTransport.from_kubeconfig(path)
        review = transport.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=b"{}")
        assert json.loads(review.body)["status"]["userInfo"]["username"] == name
        transport.close()


def test_a_token_of_ones_own_is_handed_on(plane: ApiServerEmulator, proxy: FaultProxy, tmp_path: Path) -> None:
    path = proxy.open("driver", plane.kubeconfig)
    config = yaml.safe_load(path.read_text())
    config["users"][0]["user"]["token"] = plane.server.authenticator.issue(User("somebody"))
    other = tmp_path / "other.kubeconfig"
    other.write_text(yaml.safe_dump(config))
    transport = HttpTransport.from_kubeconfig(other)
    with pytest.raises(ApiError, match="somebody"):
        KubeClient(transport).list(NODES)
    transport.close()


def test_is_idle_when_every_request_has_its_response(
    plane: ApiServerEmulator, proxy: FaultProxy, points: FaultPoints
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def hold(call: Call) -> Fault | None:
        reached.set()
        assert go_on.wait(30)
        return None

    points.add(hold)
    transport = HttpTransport.from_kubeconfig(proxy.open("busy", plane.kubeconfig))
    reader = threading.Thread(target=KubeClient(transport).list, args=(NODES,), daemon=True)
    assert proxy.is_idle()
    reader.start()
    assert reached.wait(30)
    assert not proxy.is_idle()
    go_on.set()
    reader.join(30)
    transport.close()
    wait_until(lambda: proxy.is_idle() and plane.server.is_idle())


def test_an_unknown_client_is_unauthenticated(plane: ApiServerEmulator, proxy: FaultProxy, tmp_path: Path) -> None:
    config = yaml.safe_load(proxy.open("driver", plane.kubeconfig).read_text())
    config["users"][0]["user"] = {}
    other = tmp_path / "nobody.kubeconfig"
    other.write_text(yaml.safe_dump(config))
    transport = HttpTransport.from_kubeconfig(other)
    with pytest.raises(ApiError) as error:
        KubeClient(transport).list(NODES)
    assert error.value.status in (401, 403)
    transport.close()


def test_an_unexpected_exception_is_reported(
    plane: ApiServerEmulator, proxy: FaultProxy, points: FaultPoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: reported.append(str(arguments.exc_value)))

    def broken(call: Call) -> Fault | None:
        raise RuntimeError("a bug of the harness")

    remove = points.add(broken)
    transport = HttpTransport.from_kubeconfig(proxy.open("driver", plane.kubeconfig))
    with pytest.raises(ApiError):
        KubeClient(transport).list(NODES)
    assert reported == ["a bug of the harness"]
    remove()
    KubeClient(transport).list(NODES)
    transport.close()


@pytest.mark.parametrize("target", ["http://example.com/api", "x://@example.com:1/"])
def test_a_target_that_is_no_path_does_not_change_the_server(
    plane: ApiServerEmulator, proxy: FaultProxy, target: str, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = exchanged(proxy.open("driver", plane.kubeconfig), f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert f"the request target is no path: '{target}'".encode() in answer
    assert capfd.readouterr().err == ""


def test_a_token_that_is_no_text_is_no_token(plane: ApiServerEmulator, proxy: FaultProxy) -> None:
    request = b"GET /api HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \xff\xfe\r\n\r\n"
    assert exchanged(proxy.open("driver", plane.kubeconfig), request).startswith(b"HTTP/1.1 401 ")


def test_a_header_with_a_control_character_is_refused(plane: ApiServerEmulator, proxy: FaultProxy) -> None:
    answer = exchanged(proxy.open("driver", plane.kubeconfig), b"GET /api HTTP/1.1\r\nHost: h\r\nX: a\x01b\r\n\r\n")
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 "))


def test_an_answer_with_a_control_character_breaks_the_connection(proxy: FaultProxy, tmp_path: Path) -> None:
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: a\x01b\r\nContent-Length: 2\r\n\r\n{}")

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    behind = tmp_path / "behind.kubeconfig"
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.getsockname()[1]}"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "c"}}
    parts = {"clusters": [cluster], "contexts": [context], "users": [{"name": "c", "user": {}}], "current-context": "c"}
    behind.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **parts}))
    endpoint = proxy.open("driver", behind)
    with server, contextlib.suppress(ConnectionError, ssl.SSLError):
        assert exchanged(endpoint, b"GET /api HTTP/1.1\r\nHost: h\r\n\r\n") == b""
    serving.join(30)


def test_what_is_no_http_leaves_no_trace_in_the_terminal(
    plane: ApiServerEmulator, proxy: FaultProxy, capfd: pytest.CaptureFixture[str]
) -> None:
    assert exchanged(proxy.open("driver", plane.kubeconfig), b"\x00\x01\r\n\r\n").startswith(b"HTTP/1.0 400 ")
    assert capfd.readouterr().err == ""


def exchanged(kubeconfig: Path, request: bytes) -> bytes:
    """Send bytes to an endpoint of the proxy, and return the first bytes of the answer."""
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    port = int(cluster["server"].rpartition(":")[2])
    tls = ssl.create_default_context(cadata=authority)
    plain = socket.create_connection(("127.0.0.1", port), 30)
    with tls.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
        connection.sendall(request)
        return connection.recv(65536)


class WhoAsks(BaseHTTPRequestHandler):
    """Answers with the name in the client's certificate and the token that came."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        peer = self.connection.getpeercert() or {}  # type: ignore[attr-defined]
        names = [value for part in peer.get("subject", ()) for key, value in part if key == "commonName"]
        body = json.dumps({"certificate": names, "token": self.headers.get("Authorization", "")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def by_certificate(tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of a user with a client certificate, and a server that tells who asks."""
    authority = Authority()
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    certificate, key = authority.server("server").write(tmp_path, "server")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    tls.load_verify_locations(tmp_path / "ca.crt")
    tls.verify_mode = ssl.CERT_OPTIONAL
    server = ThreadingHTTPServer(("127.0.0.1", 0), WhoAsks)
    server.daemon_threads = True
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    client_certificate, client_key = authority.client("system:kube-scheduler").write(tmp_path, "client")
    user = {"client-certificate": str(client_certificate), "client-key": str(client_key)}
    cluster = {
        "server": f"https://127.0.0.1:{server.server_address[1]}",
        "certificate-authority": str(tmp_path / "ca.crt"),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path = tmp_path / "certificate.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    yield path
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("user", "seen"),
    [
        (None, {"certificate": ["system:kube-scheduler"], "token": ""}),
        ({"token": "a-service-account"}, {"certificate": [], "token": "Bearer a-service-account"}),
        ({}, {"certificate": [], "token": ""}),
    ],
    ids=["the door's token", "another token", "no token"],
)
def test_a_certificate_speaks_for_its_owner_alone(
    by_certificate: Path, proxy: FaultProxy, tmp_path: Path, user: object, seen: object
) -> None:
    config = yaml.safe_load(proxy.open("scheduler", by_certificate).read_text())
    if user is not None:
        config["users"][0]["user"] = user
    path = tmp_path / "program.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    transport = HttpTransport.from_kubeconfig(path)
    assert json.loads(transport.request("GET", "/").body) == seen
    transport.close()


def test_when_the_server_dies_the_connection_breaks_and_later_works_again(
    plane: ApiServerEmulator, proxy: FaultProxy
) -> None:
    transport = HttpTransport.from_kubeconfig(proxy.open("driver", plane.kubeconfig))
    client = KubeClient(transport)
    client.list(NODES)
    plane.kill()
    with pytest.raises(TransportError):
        client.list(NODES)
    plane.restart()
    assert client.get(NAMESPACES, "default")
    transport.close()


def test_stop_ends_everything_and_is_idempotent(plane: ApiServerEmulator, tmp_path: Path) -> None:
    before = {thread.name for thread in threading.enumerate()}
    points = FaultPoints()
    proxy = FaultProxy(points, folder=tmp_path / "other-proxy")
    proxy.start()
    proxy.start()
    transport = HttpTransport.from_kubeconfig(proxy.open("driver", plane.kubeconfig))
    watch = KubeClient(transport).watch(NODES, resource_version="0")
    proxy.stop()
    proxy.stop()
    with pytest.raises(TransportError):
        list(watch)
    with pytest.raises(TransportError):
        KubeClient(transport).list(NODES)
    assert points.watches(lambda call: True) == []
    assert "fault-proxy" not in {thread.name for thread in threading.enumerate()} - before
    transport.close()


def test_a_kubeconfig_that_cannot_be_used_is_named(proxy: FaultProxy, tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="missing"):
        proxy.open("driver", tmp_path / "missing")
