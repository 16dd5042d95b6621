"""Generate the protobuf descriptors with which the API server emulator reads and writes Kubernetes' wire format.

Reads module trees of k8s.io/api, k8s.io/apimachinery and k8s.io/apiextensions-apiserver (as the Go module cache has
them). `generated.proto` has numbers, names and types of the fields; the struct tags of the Go files beside it have what
JSON needs: inlined structs, names that differ, zero values that are omitted. The result is a FileDescriptorSet with one
file for each package and custom field options for JSON. Several releases may be given, newest first: older ones only
add fields that the newer ones lack, so that clients of all of them are understood.

    python tools/gen_protobuf_descriptors.py --release v0.37.2 API APIMACHINERY APIEXTENSIONS [--release v0.36.6 …]

Names and numbers only: no text of those files is kept. The same input gives the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from google.protobuf import descriptor_pb2

from apiserver_emulator.protobuf.descriptors import GROUPS, INLINE, MAP, OMIT_ZERO, OPTIONS_FILE, OPTIONS_PACKAGE

TARGET = Path(__file__).resolve().parent.parent / "apiserver_emulator/protobuf/descriptors.binpb.gz"
_Proto = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "string": _Proto.TYPE_STRING,
    "bytes": _Proto.TYPE_BYTES,
    "bool": _Proto.TYPE_BOOL,
    "int32": _Proto.TYPE_INT32,
    "int64": _Proto.TYPE_INT64,
    "uint32": _Proto.TYPE_UINT32,
    "uint64": _Proto.TYPE_UINT64,
    "double": _Proto.TYPE_DOUBLE,
    "float": _Proto.TYPE_FLOAT,
}
# Types of metadata, which all groups refer to.
ALWAYS = ("k8s.io.apimachinery.pkg.",)

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

Messages = dict[str, dict[int, "Field"]]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message. `type` is a scalar's name or a message's full name; `form` has the JSON options."""

    name: str
    json_name: str
    type: str
    repeated: bool
    form: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JsonTag:
    """The JSON form of a field, from its Go struct tag."""

    name: str
    pointer: bool
    inline: bool
    omit: bool


def go_tags(folder: Path) -> dict[tuple[str, int], JsonTag]:
    """JSON tags by (struct, protobuf field number) of one Go package."""
    found: dict[tuple[str, int], JsonTag] = {}
    for path in sorted(folder.glob("*.go")):
        # Generated Go files repeat the structs without JSON tags.
        if path.name.endswith(("_test.go", ".pb.go")) or path.name.startswith("zz_"):
            continue
        for struct, body in _STRUCT.findall(path.read_text()):
            for star, number, tag in _TAGGED.findall(body):
                name, *options = tag.split(",")
                omit = "omitempty" in options or "omitzero" in options
                found[(struct, int(number))] = JsonTag(name, bool(star), "inline" in options or not name, omit)
    return found


def messages(root: Path) -> Messages:
    """Return every message under a module root: {full name: {number: field}}."""
    found: Messages = {}
    for path in sorted(root.rglob("generated.proto")):
        text = _COMMENT.sub("", path.read_text())
        package = _PACKAGE.search(text)
        if package is None:
            continue
        tags = go_tags(path.parent)
        for name, body in _MESSAGE.findall(text):
            fields: dict[int, Field] = {}
            for label, type_, field, number, map_type, map_field, map_number in _FIELD.findall(body):
                at = int(number or map_number)
                tag = tags.get((name, at))
                form = [MAP] if map_type else []
                if tag is not None and tag.inline:
                    form.append(INLINE)
                # omitempty looks at a pointer, not at the zero that it points to.
                if tag is not None and tag.omit and not tag.pointer:
                    form.append(OMIT_ZERO)
                proto_name = field or map_field
                json_name = tag.name if tag is not None and tag.name else proto_name
                type_name = resolve(type_ or map_type, package.group(1))
                repeated = bool(map_type) or label == "repeated"
                fields[at] = Field(proto_name, json_name, type_name, repeated, tuple(form))
            found[f"{package.group(1)}.{name}"] = fields
    return found


def resolve(type_: str, package: str) -> str:
    """Return the full name of a field's type."""
    if type_ in _SCALARS:
        return type_
    return type_.lstrip(".") if "." in type_ else f"{package}.{type_}"


def reachable(everything: Messages) -> Messages:
    """Return the messages of the served groups, and all messages that they refer to."""
    prefixes = tuple(f"{package}." for package in GROUPS.values()) + ALWAYS
    wanted = {name for name in everything if name.startswith(prefixes)}
    pending = set(wanted)
    while pending:
        types = {field.type for field in everything[pending.pop()].values()} - _SCALARS.keys()
        new = {name for name in types if name in everything} - wanted
        wanted |= new
        pending |= new
    return {name: everything[name] for name in sorted(wanted)}


def descriptors(kept: Messages) -> descriptor_pb2.FileDescriptorSet:
    """Return the messages as a FileDescriptorSet, every file after those that it depends on."""
    packages: dict[str, list[str]] = defaultdict(list)
    for name in kept:
        packages[name.rpartition(".")[0]].append(name)
    found = descriptor_pb2.FileDescriptorSet()
    found.file.append(_options_file())
    done: set[str] = set()

    def add(package: str) -> None:
        if package in done:
            return
        done.add(package)
        types = {field.type for name in packages[package] for field in kept[name].values()} - _SCALARS.keys()
        needed = sorted({type_.rpartition(".")[0] for type_ in types} - {package})
        for other in needed:
            add(other)
        file = found.file.add(name=f"{package}.proto", package=package, syntax="editions", edition="EDITION_2023")
        # Edition 2023 refuses strings that are not UTF-8, which proto2 does not; its lists are packed, Go's are not.
        file.options.features.repeated_field_encoding = descriptor_pb2.FeatureSet.EXPANDED
        file.dependency.extend([OPTIONS_FILE, *(f"{other}.proto" for other in needed)])
        for name in packages[package]:
            _add_message(file, name, kept[name])

    for package in sorted(packages):
        add(package)
    return found


def _options_file() -> descriptor_pb2.FileDescriptorProto:
    """The custom options of fields: how JSON has them."""
    file = descriptor_pb2.FileDescriptorProto(name=OPTIONS_FILE, package=OPTIONS_PACKAGE, syntax="proto2")
    file.dependency.append("google/protobuf/descriptor.proto")
    for name, number in (("inline", INLINE), ("omit_zero", OMIT_ZERO), ("map", MAP)):
        file.extension.add(
            name=name,
            number=number,
            type=_Proto.TYPE_BOOL,
            label=_Proto.LABEL_OPTIONAL,
            extendee=".google.protobuf.FieldOptions",
        )
    return file


def _add_message(file: descriptor_pb2.FileDescriptorProto, name: str, fields: dict[int, Field]) -> None:
    message = file.message_type.add(name=name.rpartition(".")[2])
    for number, field in sorted(fields.items()):
        label = _Proto.LABEL_REPEATED if field.repeated else _Proto.LABEL_OPTIONAL
        made = message.field.add(name=field.name, json_name=field.json_name, number=number, label=label)
        # An option is a varint field of the options message; the class of the extension does not exist here.
        made.options.MergeFromString(b"".join(_varint(option << 3) + b"\x01" for option in sorted(field.form)))
        if MAP in field.form:
            # Not declared as a protobuf map: parsers drop unknown fields of map entries without an error.
            entry = message.nested_type.add(name=f"{field.name[:1].upper()}{field.name[1:]}Entry")
            entry.field.add(name="key", number=1, label=_Proto.LABEL_OPTIONAL, type=_Proto.TYPE_STRING)
            _set_type(entry.field.add(name="value", number=2, label=_Proto.LABEL_OPTIONAL), field.type)
            _set_type(made, f"{name}.{entry.name}")
        else:
            _set_type(made, field.type)


def _set_type(field: descriptor_pb2.FieldDescriptorProto, type_: str) -> None:
    if type_ in _SCALARS:
        field.type = _SCALARS[type_]
    else:
        field.type = _Proto.TYPE_MESSAGE
        field.type_name = f".{type_}"


# Written by hand: the protobuf package has no public function for it.
def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def main(arguments: list[str] | None = None) -> int:
    """Write the descriptors."""
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
    merged: Messages = {}
    for _version, *roots in options.release:
        for root in roots:
            if not Path(root).is_dir():
                parser.error(f"{root} is not a folder: give the root of an unpacked Go module")
            for name, fields in messages(Path(root)).items():
                known = merged.setdefault(name, {})
                for number, field in fields.items():
                    # The newest release is read first and takes precedence.
                    known.setdefault(number, field)
    kept = reachable(merged)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    # mtime=0: the same input must give the same bytes.
    TARGET.write_bytes(gzip.compress(descriptors(kept).SerializeToString(deterministic=True), compresslevel=9, mtime=0))
    print(f"{TARGET.name}: {len(kept)} messages, {TARGET.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
