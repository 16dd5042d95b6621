"""Downloads the programs of one release into the project's cache.

etcd and kube-apiserver come from setup-envtest's archive, the other two from the release itself. The SHA-512 of every
file is compared with the published one before the file is unpacked or run. A release is prepared in a separate folder
and moved into the cache when complete.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import urllib3
import yaml

from dra_api import plain_yaml
from dra_conformance.control_plane.binaries.programs import (
    API_SERVER,
    CONTROLLERS,
    ETCD,
    NEEDED,
    SCHEDULER,
    Wanted,
    cache_folder,
)
from dra_conformance.core.errors import TargetUnreachable, UsageError

# controller-tools' index of envtest archives, and the Kubernetes release downloads.
INDEX = "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml"
RELEASES = "https://dl.k8s.io"
_FROM_ARCHIVE = (ETCD, API_SERVER)
_FROM_RELEASE = (CONTROLLERS, SCHEDULER)
_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_CHUNK = 1 << 20
_LIMIT = 1 << 30  # larger than any program; bounds an endless response


@dataclass(frozen=True, slots=True)
class Sources:
    """Where to download from: the index of envtest archives and the root of the Kubernetes releases."""

    index: str = INDEX
    releases: str = RELEASES


def platform_name() -> str:
    """Return the published name of this platform, such as linux-amd64. Raises UsageError for others."""
    machine = _MACHINES.get(platform.machine().lower())
    if machine is None or not sys.platform.startswith("linux"):
        raise UsageError(
            f"no control plane is published for {sys.platform} on {platform.machine()}",
            hint="`dra-conformance control-plane install --build` builds one where Go is installed.",
        )
    return f"linux-{machine}"


def download(
    wanted: Wanted,
    *,
    sources: Sources,
    environ: Mapping[str, str] | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> Path:
    """Download a release into the cache, unless it is there, and return its folder.

    Raises TargetUnreachable for a failed download or a wrong checksum, UsageError for a release that is not published.
    """
    http = urllib3.PoolManager(timeout=urllib3.Timeout(connect=10.0, read=60.0), retries=urllib3.Retry(3, redirect=5))
    try:
        version, archive = _archive(http, wanted, sources.index)
        target = cache_folder(environ) / version
        if all((target / name).exists() for name in NEEDED):
            report(f"{version} is there already")
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        # In the folder of the cache, so that the result can be renamed into place.
        with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as folder:
            made = Path(folder) / version
            made.mkdir(mode=0o755)
            report(f"fetching {archive['selfLink']}")
            packed = Path(folder) / "archive"
            _fetch(http, str(archive["selfLink"]), packed, sha512=str(archive["hash"]))
            _unpack(packed, made)
            for name in _FROM_RELEASE:
                url = f"{sources.releases}/{version}/bin/{platform_name().replace('-', '/')}/{name}"
                report(f"fetching {url}")
                _fetch(http, url, made / name, sha512=_text(http, f"{url}.sha512").split()[0])
                (made / name).chmod(0o755)
            put(made, target)
        return target
    finally:
        http.clear()


def put(made: Path, target: Path) -> None:
    """Move a complete folder into the cache and replace the old one."""
    if target.is_dir():
        shutil.rmtree(target)
    made.rename(target)


def _archive(http: urllib3.PoolManager, wanted: Wanted, index: str) -> tuple[str, Mapping[str, Any]]:
    """Return the newest matching release of the index for this platform."""
    try:
        content = plain_yaml.load(_text(http, index))
    except yaml.YAMLError:
        content = None
    releases = content.get("releases") if isinstance(content, dict) else None
    if not isinstance(releases, dict):
        raise TargetUnreachable(f"{index} is no index of envtest releases")
    suffix = f"-{platform_name()}.tar.gz"
    found: list[tuple[tuple[int, ...], str, Mapping[str, Any]]] = []
    for version, archives in releases.items():
        digits = version.removeprefix("v").split(".")
        if not wanted.matches(version) or not all(part.isdecimal() for part in digits):
            continue  # a minor does not include alpha, beta and rc releases
        found += [
            (tuple(map(int, digits)), version, archive) for name, archive in archives.items() if name.endswith(suffix)
        ]
    if not found:
        raise UsageError(
            f"no envtest archive of Kubernetes {wanted.text or '(any)'} for {platform_name()} is published",
            hint="`dra-conformance control-plane install --build` builds any release from its Go modules.",
        )
    _, version, archive = max(found, key=lambda entry: entry[0])
    return version, archive


def _fetch(http: urllib3.PoolManager, url: str, target: Path, *, sha512: str) -> None:
    digest = hashlib.sha512()
    size = 0
    try:
        with http.request("GET", url, preload_content=False) as answer, target.open("wb") as file:
            if answer.status != 200:
                raise TargetUnreachable(f"{url}: the server answered {answer.status}")
            for chunk in answer.stream(_CHUNK):
                size += len(chunk)
                if size > _LIMIT:
                    raise TargetUnreachable(f"{url}: larger than {_LIMIT >> 20} MiB, which no program of this kind is")
                digest.update(chunk)
                file.write(chunk)
    except urllib3.exceptions.HTTPError as error:
        raise TargetUnreachable(f"{url}: {error}", hint=_PROXY) from error
    if digest.hexdigest() != sha512.lower():
        target.unlink()
        raise TargetUnreachable(
            f"{url}: the SHA-512 is {digest.hexdigest()[:16]}…, its publisher says {sha512[:16]}…",
            hint="The file was damaged or replaced on the way; nothing of it was used.",
        )


_PROXY = "Without access to the network, `--build` with a Go module proxy, or --bin-dir with a folder, does as well."


def _text(http: urllib3.PoolManager, url: str) -> str:
    if urlsplit(url).scheme not in ("http", "https"):
        raise UsageError(f"{url!r} is no http or https address")
    try:
        answer = http.request("GET", url)
    except urllib3.exceptions.HTTPError as error:
        raise TargetUnreachable(f"{url}: {error}", hint=_PROXY) from error
    if answer.status != 200:
        raise TargetUnreachable(f"{url}: the server answered {answer.status}", hint=_PROXY)
    return answer.data.decode(errors="replace")


def _unpack(packed: Path, folder: Path) -> None:
    """Extract only the programs from an envtest archive (controller-tools/envtest/NAME)."""
    try:
        with tarfile.open(packed, "r:gz") as archive:
            for member in archive:
                # Only the last part, so that no path in the archive leads out of the folder.
                name = Path(member.name).name
                source = archive.extractfile(member) if name in _FROM_ARCHIVE and member.isfile() else None
                if source is not None:
                    with source, (folder / name).open("wb") as file:
                        shutil.copyfileobj(source, file)
                    (folder / name).chmod(0o755)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise TargetUnreachable(f"the envtest archive does not unpack: {error}") from error
    if missing := [name for name in _FROM_ARCHIVE if not (folder / name).exists()]:
        raise TargetUnreachable(f"the envtest archive has no {' and no '.join(missing)}")
