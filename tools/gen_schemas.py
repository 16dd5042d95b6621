"""Generate the reduced API definitions of the API server emulator.

Reads the published OpenAPI definitions out of the installed `kubernetes-validate` package (a development dependency)
and writes one gzipped JSON file for each Kubernetes minor into `apiserver_emulator/schemas/`. Kept: types,
formats, required fields, enums, group-version-kinds and the x-kubernetes list, map, patch and union extensions.
Dropped: descriptions, and every definition that the served groups do not reach. Output is byte-for-byte reproducible.

    python tools/gen_schemas.py [--check]
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

Obj = dict[str, Any]

MINORS = ("1.34", "1.35", "1.36", "1.37")
TARGET = Path(__file__).resolve().parent.parent / "apiserver_emulator/schemas"
PREFIX = "#/$defs/"
GROUPS = (
    "io.k8s.api.admissionregistration.v1.",
    "io.k8s.api.apps.v1.",
    "io.k8s.api.authentication.v1.",
    "io.k8s.api.authorization.v1.",
    "io.k8s.api.batch.v1.",
    "io.k8s.api.coordination.v1.",
    "io.k8s.api.core.v1.",
    "io.k8s.api.events.v1.",
    "io.k8s.api.node.v1.",
    "io.k8s.api.policy.v1.",
    "io.k8s.api.rbac.v1.",
    "io.k8s.api.resource.",
    "io.k8s.api.scheduling.",
    "io.k8s.api.storage.v1.",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.",
    "io.k8s.apimachinery.pkg.apis.meta.v1.",
)


def references(schema: object) -> set[str]:
    """Names of all definitions that a schema points at."""
    found: set[str] = set()
    if isinstance(schema, dict):
        ref = schema.get("$ref")
        if isinstance(ref, str):
            found.add(ref.removeprefix(PREFIX))
        for sub in schema.values():
            found |= references(sub)
    elif isinstance(schema, list):
        for sub in schema:
            found |= references(sub)
    return found


def strip(schema: Any, *, named: bool = False) -> Any:
    """Return a schema without descriptions and `null` types. `named`: the keys are field names, not keywords."""
    if isinstance(schema, list):
        return [strip(sub) for sub in schema]
    if not isinstance(schema, dict):
        return schema
    if named:
        return {name: strip(sub) for name, sub in sorted(schema.items())}
    out: Obj = {}
    for key, value in sorted(schema.items()):
        if key == "description":
            continue
        if key == "properties":
            out[key] = strip(value, named=True)
        elif key == "type" and isinstance(value, list):
            out[key] = next(name for name in value if name != "null")
        elif key == "enum":
            out[key] = [item for item in value if item is not None]
        else:
            out[key] = strip(value)
    return out


def definitions(minor: str) -> Obj:
    """The definitions of a minor that the served groups reach, stripped."""
    folder = files("kubernetes_validate").joinpath("kubernetes-json-schema", f"v{minor}.0-local")
    everything: Obj = json.loads(folder.joinpath("_definitions.json").read_text())["$defs"]
    wanted = {name for name in everything if name.startswith(GROUPS)}
    pending = set(wanted)
    while pending:
        reached = references(everything[pending.pop()]) - wanted
        wanted |= reached
        pending |= reached
    return {name: strip(everything[name]) for name in sorted(wanted)}


def encode(found: Obj) -> bytes:
    """Gzipped compact JSON without a timestamp."""
    text = json.dumps({"definitions": found}, separators=(",", ":"), sort_keys=True).replace(PREFIX, "#/definitions/")
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or with --check report the stale ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 when a file is out of date")
    options = parser.parse_args(arguments)
    TARGET.mkdir(parents=True, exist_ok=True)
    stale = 0
    for minor in MINORS:
        path = TARGET / f"v{minor}.json.gz"
        fresh = definitions(minor)
        if options.check:
            # By content: another version of zlib writes other bytes.
            same = path.exists() and json.loads(gzip.decompress(path.read_bytes())) == json.loads(
                gzip.decompress(encode(fresh))
            )
            stale += not same
            print(f"{path.name}: {'up to date' if same else 'STALE: run python tools/gen_schemas.py'}")
            continue
        path.write_bytes(encode(fresh))
        print(f"{path.name}: {len(fresh)} definitions, {path.stat().st_size} bytes")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
