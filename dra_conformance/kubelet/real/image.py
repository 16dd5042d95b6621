"""The only image of a scenario's containers: one static program, built locally and never pulled.

The archive is the input of `ctr images import`: an OCI image layout (image-spec v1.1) in a tar file. It has the name in
the pods of scenarios, so a real node needs no other manifests.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

POD_IMAGE = "registry.k8s.io/pause:3.10"
SANDBOX_IMAGE = "dra.test/sandbox:1"
_PROGRAM = "dra-node"


def write_archive(program: Path, target: Path, *, names: Sequence[str] = (POD_IMAGE, SANDBOX_IMAGE)) -> None:
    """Write an image with `program` as its only file and entry point, under `names`."""
    layer = _tar({_PROGRAM: program.read_bytes()}, mode=0o755)
    # Without a time, so that the same program always gives the same digest.
    packed = gzip.compress(layer, compresslevel=1, mtime=0)
    config = orjson.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": [f"/{_PROGRAM}"], "Env": ["PATH=/"]},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        }
    )
    manifest = orjson.dumps(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": _descriptor("application/vnd.oci.image.config.v1+json", config),
            "layers": [_descriptor("application/vnd.oci.image.layer.v1.tar+gzip", packed)],
        }
    )
    described = _descriptor("application/vnd.oci.image.manifest.v1+json", manifest)
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{**described, "annotations": {"io.containerd.image.name": name}} for name in names],
    }
    files = {"oci-layout": orjson.dumps({"imageLayoutVersion": "1.0.0"}), "index.json": orjson.dumps(index)}
    files |= {f"blobs/sha256/{_digest(blob)[7:]}": blob for blob in (packed, config, manifest)}
    target.write_bytes(_tar(files))


def _descriptor(media_type: str, blob: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": _digest(blob), "size": len(blob)}


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _tar(files: dict[str, bytes], *, mode: int = 0o644) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
