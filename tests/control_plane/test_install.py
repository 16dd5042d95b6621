"""Downloading a release: from a server of our own that speaks as the publishers do."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from dra_conformance.cli import call
from dra_conformance.control_plane.binaries import install
from dra_conformance.control_plane.binaries.install import Sources, download
from dra_conformance.control_plane.binaries.programs import NEEDED, Wanted
from dra_conformance.core.errors import ExitCode, TargetUnreachable, UsageError


class Publisher:
    """A web server with an index of archives and the programs of releases; its `files` are what it serves."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                publisher.asked.append(self.path)
                body = publisher.files.get(self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_: object) -> None:
                """Nothing on the terminal."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.index: dict[str, dict[str, dict[str, str]]] = {}

    @property
    def sources(self) -> Sources:
        self.files["/index.yaml"] = yaml.safe_dump({"releases": self.index}).encode()
        return Sources(index=f"{self.url}/index.yaml", releases=self.url)

    def publish(self, version: str, *, names: tuple[str, ...] = ("etcd", "kube-apiserver", "kubectl")) -> None:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name in names:
                entry = tarfile.TarInfo(f"controller-tools/envtest/{name}")
                content = f"{name} {version}".encode()
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        name = f"envtest-{version}-{install.platform_name()}.tar.gz"
        self.files[f"/{name}"] = packed.getvalue()
        digest = hashlib.sha512(packed.getvalue()).hexdigest()
        self.index[version] = {name: {"hash": digest, "selfLink": f"{self.url}/{name}"}}
        for program in ("kube-controller-manager", "kube-scheduler"):
            path = f"/{version}/bin/{install.platform_name().replace('-', '/')}/{program}"
            self.files[path] = f"{program} {version}".encode()
            self.files[f"{path}.sha512"] = hashlib.sha512(self.files[path]).hexdigest().encode()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    made = Publisher()
    made.publish("v1.36.2")
    yield made
    made.stop()


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def cache(home: dict[str, str]) -> Path:
    return Path(home["HOME"]) / ".cache/dra-conformance/control-plane"


def test_a_release_is_fetched_whole(publisher: Publisher, home: dict[str, str]) -> None:
    folder = download(Wanted("1.36"), sources=publisher.sources, environ=home)
    assert folder == cache(home) / "v1.36.2"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {name: f"{name} v1.36.2" for name in NEEDED}
    assert all(path.stat().st_mode & 0o111 for path in folder.iterdir())
    assert [path.name for path in cache(home).iterdir()] == ["v1.36.2"]


def test_a_release_that_is_there_is_not_fetched_again(publisher: Publisher, home: dict[str, str]) -> None:
    download(Wanted("1.36"), sources=publisher.sources, environ=home)
    publisher.asked.clear()
    said: list[str] = []
    download(Wanted("1.36"), sources=publisher.sources, environ=home, report=said.append)
    assert publisher.asked == ["/index.yaml"]
    assert said == ["v1.36.2 is there already"]


def test_a_minor_is_its_newest_release_and_never_a_candidate(publisher: Publisher, home: dict[str, str]) -> None:
    for version in ("v1.36.9", "v1.36.10", "v1.36.11-rc.0", "v1.37.0"):
        publisher.publish(version)
    assert download(Wanted("1.36"), sources=publisher.sources, environ=home).name == "v1.36.10"
    assert download(Wanted("v1.36.2"), sources=publisher.sources, environ=home).name == "v1.36.2"


@pytest.mark.parametrize("which", ["archive", "program"])
def test_a_file_that_was_changed_on_the_way_is_not_used(publisher: Publisher, home: dict[str, str], which: str) -> None:
    ending = ".tar.gz" if which == "archive" else "/kube-scheduler"
    path = next(name for name in publisher.files if name.endswith(ending))
    publisher.files[path] = b"something else"
    with pytest.raises(TargetUnreachable, match="SHA-512"):
        download(Wanted("1.36"), sources=publisher.sources, environ=home)
    assert list(cache(home).iterdir()) == []


def test_an_archive_without_a_program_is_refused(publisher: Publisher, home: dict[str, str]) -> None:
    publisher.publish("v1.36.3", names=("etcd",))
    with pytest.raises(TargetUnreachable, match="has no kube-apiserver"):
        download(Wanted("1.36.3"), sources=publisher.sources, environ=home)
    assert list(cache(home).iterdir()) == []


def test_a_path_that_leads_out_of_the_archive_leads_nowhere(publisher: Publisher, home: dict[str, str]) -> None:
    publisher.publish("v1.36.4", names=("etcd", "../../../../escaped", "kube-apiserver"))
    folder = download(Wanted("1.36.4"), sources=publisher.sources, environ=home)
    assert sorted(path.name for path in folder.iterdir()) == sorted(NEEDED)
    assert not list(Path(home["HOME"]).rglob("escaped"))


def test_an_unpublished_release_is_reported(publisher: Publisher, home: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"Kubernetes 1\.20 for") as caught:
        download(Wanted("1.20"), sources=publisher.sources, environ=home)
    assert "--build" in caught.value.hint
    del publisher.files[next(name for name in publisher.files if name.endswith("/kube-controller-manager"))]
    with pytest.raises(TargetUnreachable, match="answered 404"):
        download(Wanted("1.36"), sources=publisher.sources, environ=home)


def test_a_page_that_is_no_index_is_reported(publisher: Publisher, home: dict[str, str]) -> None:
    sources = publisher.sources
    publisher.files["/index.yaml"] = b"<html>log in first</html>"
    with pytest.raises(TargetUnreachable, match="no index"):
        download(Wanted("1.36"), sources=sources, environ=home)


def test_the_command_installs_from_mirrors(
    publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sources = publisher.sources
    words = ["control-plane", "install", "1.36", "--index-url", sources.index, "--release-url", sources.releases]
    assert call(words) == ExitCode.OK
    assert str(tmp_path / "dra-conformance/control-plane/v1.36.2") in capsys.readouterr().out
    publisher.files.clear()
    assert call(words) == ExitCode.TARGET_UNREACHABLE
    assert "answered 404" in capsys.readouterr().err
