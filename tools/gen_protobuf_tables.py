"""Write the table of protobuf field numbers that the embedded API server decodes Kubernetes' wire format with.

Reads module trees of k8s.io/api, k8s.io/apimachinery and k8s.io/apiextensions-apiserver (as the Go module cache holds
them): `generated.proto` gives numbers, names and wire types; the struct tags of the Go files beside it give what JSON
adds (inlined structs, names that differ, whether a zero value is written). Several releases may be given, newest
first: older ones only add what the newer no longer have, so that a client of any of them is understood.

    python tools/gen_protobuf_tables.py --release v0.37.2 API APIMACHINERY APIEXTENSIONS [--release v0.36.6 …]

Facts only: names and numbers. No text of those files is kept.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "apiserver_emulator/protobuf/messages.json.gz"
GROUPS = {
    "": "k8s.io.api.core",
    "admissionregistration.k8s.io": "k8s.io.api.admissionregistration",
    "apiextensions.k8s.io": "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions",
    "apps": "k8s.io.api.apps",
    "authentication.k8s.io": "k8s.io.api.authentication",
    "authorization.k8s.io": "k8s.io.api.authorization",
    "batch": "k8s.io.api.batch",
    "coordination.k8s.io": "k8s.io.api.coordination",
    "events.k8s.io": "k8s.io.api.events",
    "meta.k8s.io": "k8s.io.apimachinery.pkg.apis.meta",
    "node.k8s.io": "k8s.io.api.node",
    "policy": "k8s.io.api.policy",
    "rbac.authorization.k8s.io": "k8s.io.api.rbac",
    "resource.k8s.io": "k8s.io.api.resource",
    "scheduling.k8s.io": "k8s.io.api.scheduling",
    "storage.k8s.io": "k8s.io.api.storage",
}
ALWAYS = ("k8s.io.apimachinery.pkg.",)
SCALARS = frozenset({"string", "bytes", "bool", "int32", "int64", "uint32", "uint64", "double", "float"})

_COMMENT = re.compile(r"//[^\n]*")
_PACKAGE = re.compile(r"^package\s+([\w.]+);", re.MULTILINE)
_MESSAGE = re.compile(r"^message\s+(\w+)\s*\{(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(
    r"(optional|repeated|required)\s+([\w.]+)\s+(\w+)\s*=\s*(\d+)|map<\s*\w+,\s*([\w.]+)>\s+(\w+)\s*=\s*(\d+)"
)
_STRUCT = re.compile(r"^type\s+(\w+)\s+struct\s*\{(.*?)^\}", re.MULTILINE | re.DOTALL)
_TAGGED = re.compile(
    r'^\s*(?:\w+\s+)?(\*?)[\w.\[\]*]+\s+`(?=[^`]*protobuf:"\w+,(\d+),)[^`]*json:"([^"]*)"', re.MULTILINE
)

Field = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class JsonTag:
    """What a Go struct tag says about a field's JSON form."""

    name: str
    pointer: bool
    inline: bool
    omit: bool


def go_tags(folder: Path) -> dict[tuple[str, int], JsonTag]:
    """JSON tags by (struct, protobuf field number) of one Go package."""
    found: dict[tuple[str, int], JsonTag] = {}
    for path in sorted(folder.glob("*.go")):
        if path.name.endswith(("_test.go", ".pb.go")) or path.name.startswith("zz_"):
            continue
        for struct, body in _STRUCT.findall(path.read_text()):
            for star, number, tag in _TAGGED.findall(body):
                name, *options = tag.split(",")
                omit = "omitempty" in options or "omitzero" in options
                found[(struct, int(number))] = JsonTag(name, bool(star), "inline" in options or not name, omit)
    return found


def messages(root: Path) -> dict[str, dict[int, Field]]:
    """Every message under a module root: {full name: {number: (json name, type, flags)}}.

    Flags: `r` repeated, `m` map with string keys, `i` inlined into its parent, `z` zero value not written in JSON.
    """
    found: dict[str, dict[int, Field]] = {}
    for path in sorted(root.rglob("generated.proto")):
        text = _COMMENT.sub("", path.read_text())
        package = _PACKAGE.search(text)
        if package is None:
            continue
        tags = go_tags(path.parent)
        for name, body in _MESSAGE.findall(text):
            fields: dict[int, Field] = {}
            for _label, type_, field, number, map_type, map_field, map_number in _FIELD.findall(body):
                at = int(number or map_number)
                tag = tags.get((name, at))
                flags = "m" if map_type else "r" if _label == "repeated" else ""
                if tag is not None and tag.inline:
                    flags += "i"
                if tag is not None and tag.omit and not tag.pointer:
                    flags += "z"
                json_name = tag.name if tag is not None and tag.name else field or map_field
                fields[at] = (json_name, resolve(type_ or map_type, package.group(1)), flags)
            found[f"{package.group(1)}.{name}"] = fields
    return found


def resolve(type_: str, package: str) -> str:
    """The full name of a field's type."""
    if type_ in SCALARS:
        return type_
    return type_.lstrip(".") if "." in type_ else f"{package}.{type_}"


def reachable(everything: dict[str, dict[int, Field]]) -> dict[str, dict[int, Field]]:
    """The messages of the served groups and all that they need."""
    prefixes = tuple(f"{package}." for package in GROUPS.values()) + ALWAYS
    wanted = {name for name in everything if name.startswith(prefixes)}
    pending = set(wanted)
    while pending:
        types = {field[1] for field in everything[pending.pop()].values()} - SCALARS
        new = {name for name in types if name in everything} - wanted
        wanted |= new
        pending |= new
    return {name: everything[name] for name in sorted(wanted)}


def main(arguments: list[str] | None = None) -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--release",
        nargs="+",
        action="append",
        required=True,
        metavar=("VERSION", "ROOT"),
        help="a release and the module roots that it is read from; newest release first",
    )
    options = parser.parse_args(arguments)
    table: dict[str, dict[int, Field]] = {}
    for _version, *roots in options.release:
        for root in roots:
            if not Path(root).is_dir():
                parser.error(f"{root} is not a folder: give the root of an unpacked Go module")
            for name, fields in messages(Path(root)).items():
                known = table.setdefault(name, {})
                for number, field in fields.items():
                    known.setdefault(number, field)
    kept = reachable(table)
    document = {
        "source": "generated.proto and struct tags of k8s.io/api, k8s.io/apimachinery, k8s.io/apiextensions-apiserver",
        "releases": [version for version, *_ in options.release],
        "groups": GROUPS,
        "messages": {name: {str(at): field for at, field in sorted(fields.items())} for name, fields in kept.items()},
    }
    text = json.dumps(document, separators=(",", ":"), sort_keys=True)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))
    print(f"{TARGET.name}: {len(kept)} messages, {TARGET.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
