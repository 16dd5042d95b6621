"""Image archives in the form of `docker save`, which `docker load` and `ctr images import` read.

An archive has a list of layers (tar files, lowest first) and a configuration. The same layers and configuration give
the same bytes: no time of the build is in it.

Source: the image specification of Docker, version 1.2 (manifest.json, layer.tar).
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_BLOCK = 1 << 20
_EPOCH = "1970-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What an image is called and how its containers start.

    Arguments:
        tags: names with a tag; an archive may have several for one image.
        entrypoint: the command of a container, with its fixed arguments.
        user: `uid:gid` of the process; empty means root.
        environment: variables of the process.
        stop_signal: the signal that ends a container; empty means SIGTERM.
    """

    tags: Sequence[str]
    entrypoint: Sequence[str] = ()
    user: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    stop_signal: str = ""

    def configuration(self, digests: Sequence[str]) -> bytes:
        """Return the configuration of the image with these layers (SHA-256 of their tar files)."""
        started: dict[str, object] = {
            "Env": [f"{name}={value}" for name, value in self.environment.items()],
            "Entrypoint": list(self.entrypoint),
        }
        if self.user:
            started["User"] = self.user
        if self.stop_signal:
            started["StopSignal"] = self.stop_signal
        document = {
            "architecture": "amd64",
            "os": "linux",
            "created": _EPOCH,
            "config": started,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
            "history": [{"created": _EPOCH} for _ in digests],
        }
        return json.dumps(document, sort_keys=True).encode()


def write(target: Path, image: Image, layers: Sequence[Path]) -> None:
    """Write an archive of `image` with these layers."""
    digests = [_digest(layer) for layer in layers]
    configuration = image.configuration(digests)
    name = f"{hashlib.sha256(configuration).hexdigest()}.json"
    members = [f"{digest}/layer.tar" for digest in digests]
    manifest = [{"Config": name, "RepoTags": list(image.tags), "Layers": members}]
    with tarfile.open(target, "w") as archive:
        for member, layer in zip(members, layers, strict=True):
            archive.addfile(_entry(member, layer.stat().st_size), layer.open("rb"))
        for member, content in ((name, configuration), ("manifest.json", json.dumps(manifest).encode())):
            archive.addfile(_entry(member, len(content)), io.BytesIO(content))


class Layer:
    """A layer that is being written: a context manager around its tar file."""

    def __init__(self, path: Path) -> None:
        self._tar = tarfile.open(path, "w")  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> Layer:
        return self

    def __exit__(self, *_: object) -> None:
        self._tar.close()

    def file(self, name: str, source: Path, *, mode: int = 0o755) -> None:
        """Add a file of this machine."""
        entry = _entry(name, source.stat().st_size, mode=mode)
        with source.open("rb") as content:
            self._tar.addfile(entry, content)

    def copy(self, name: str, source: Path) -> None:
        """Add a file of this machine; it can be executed if it can be here."""
        self.file(name, source, mode=0o755 if source.stat().st_mode & 0o100 else 0o644)

    def text(self, name: str, content: str | bytes, *, mode: int = 0o644) -> None:
        """Add a file with this content."""
        data = content.encode() if isinstance(content, str) else content
        self._tar.addfile(_entry(name, len(data), mode=mode), io.BytesIO(data))

    def link(self, name: str, target: str) -> None:
        """Add a symbolic link."""
        entry = _entry(name, 0, mode=0o777)
        entry.type, entry.linkname = tarfile.SYMTYPE, target
        self._tar.addfile(entry)

    def folder(self, name: str, *, mode: int = 0o755) -> None:
        """Add an empty folder."""
        entry = _entry(name, 0, mode=mode)
        entry.type = tarfile.DIRTYPE
        self._tar.addfile(entry)

    def tree(self, name: str, source: Path, *, besides: Collection[str] = ()) -> None:
        """Add a folder with everything in it, readable and owned by root, except the names in `besides`."""
        for path in sorted(source.rglob("*")):
            inside = f"{name}/{path.relative_to(source)}"
            if inside in besides:
                continue
            if path.is_symlink():
                self.link(inside, str(path.readlink()))
            elif path.is_dir():
                self.folder(inside)
            else:
                self.copy(inside, path)


def _entry(name: str, size: int, *, mode: int = 0o644) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, mode
    return entry


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()
