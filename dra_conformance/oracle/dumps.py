"""Reads clusters from files written by `kubectl get -o yaml` or `-o json`: documents or lists of any served version.

Errors name the file, the document, the object and the field.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dra_api.objects import Obj, key_of
from dra_conformance.core import documents
from dra_conformance.core.errors import UsageError
from dra_conformance.oracle import decoding
from dra_conformance.oracle.cluster import Cluster
from dra_conformance.oracle.schema import DecodedObject
from dra_conformance.oracle.well_formed import Malformed

SUFFIXES = (".yaml", ".yml", ".json")
KUBECTL = "kubectl get resourceslices,deviceclasses,resourceclaims,nodes,pods -A -o yaml --show-managed-fields"


@dataclass(frozen=True, slots=True)
class Located:
    """One object and its position, such as `claims.yaml, document 2, item 3`."""

    obj: Obj
    where: str

    @property
    def title(self) -> str:
        """Position, kind, namespace and name for messages."""
        name = "/".join(part for part in key_of(self.obj) if part)
        return f"{self.where}: {self.obj.get('kind')} {name}".rstrip()


@dataclass(frozen=True, slots=True)
class Dump:
    """The objects of all files, as dicts and as a decoded cluster.

    Dicts of the kinds that `decoding` reads are in v1 and valid. Others are as read, and their content is not checked.
    `foreign` are objects of these kinds in API groups of third parties.
    """

    objects: tuple[Located, ...]
    cluster: Cluster
    foreign: tuple[Located, ...] = ()

    def of_kind(self, kind: str) -> list[Obj]:
        """Return the objects of one kind, in the order of the files."""
        return [found.obj for found in self.objects if found.obj.get("kind") == kind]


def read(paths: Sequence[str]) -> Dump:
    """Read files and folders; `-` is standard input. Raises UsageError for unreadable files and invalid objects."""
    return of(item for path in paths for item in _objects_of(path))


def of(objects: Iterable[Located]) -> Dump:
    """Return the dump of these objects, each once. Raises UsageError for an invalid object."""
    found: list[Located] = []
    foreign: list[Located] = []
    decoded: list[DecodedObject] = []
    # Dumps of several commands may repeat objects.
    for item in _newest(objects):
        try:
            valid = decoding.validated(item.obj)
        except Malformed as error:
            field = f", field {error.field}" if error.field else ""
            raise UsageError(f"{item.title}{field}: {error.problem}") from None
        if valid is not None:
            found.append(Located(valid[0], item.where))
            decoded.append(valid[1])
        else:
            (foreign if item.obj.get("kind") in decoding.KINDS else found).append(item)
    return Dump(tuple(found), Cluster.of_decoded(decoded), tuple(foreign))


def _newest(found: Iterable[Located]) -> Iterator[Located]:
    """Return each object once: a later object of the same kind and key replaces an earlier one."""
    by_key: dict[tuple[str, str, str, str], Located] = {}
    for item in found:
        group = str(item.obj.get("apiVersion")).rpartition("/")[0]
        by_key[group, str(item.obj.get("kind")), *key_of(item.obj)] = item
    return iter(by_key.values())


def _objects_of(path: str) -> Iterator[Located]:
    if path == "-":
        try:
            text = sys.stdin.read()
        except UnicodeDecodeError as error:
            raise UsageError(f"standard input is not text: {error}") from None
        yield from _documents(text, "standard input")
        return
    folder = Path(path)
    if folder.is_dir():
        files = sorted(inner for inner in folder.rglob("*") if inner.suffix in SUFFIXES)
        if not files:
            raise UsageError(f"the folder {path} contains no {', '.join(SUFFIXES)} file")
    else:
        files = [folder]
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {file}: {error}") from None
        yield from _documents(text, str(file))


def _documents(text: str, file: str) -> Iterator[Located]:
    loaded = _json(text, file) if text.lstrip()[:1] in ("{", "[") else documents.load_all(text, where=file)
    for number, document in enumerate(loaded, start=1):
        where = f"{file}, document {number}" if len(loaded) > 1 else file
        yield from _objects_in(document, where)


def _json(text: str, file: str) -> list[Any]:
    """Return concatenated JSON documents, as repeated `kubectl -o json >> FILE` writes them."""
    decoder, at = json.JSONDecoder(), 0
    found: list[Any] = []
    # raw_decode does not skip white space.
    while (at := len(text) - len(text[at:].lstrip())) < len(text):
        try:
            document, at = decoder.raw_decode(text, at)
        except RecursionError:
            raise UsageError(f"{file}, document {len(found) + 1}: is nested too deeply") from None
        except json.JSONDecodeError as error:
            if not found:
                return documents.load_all(text, where=file)  # YAML may begin with a brace too
            raise UsageError(f"{file}, document {len(found) + 1}, line {error.lineno}: {error.msg}") from None
        found.append(document)
    return found


def _objects_in(document: Any, where: str) -> Iterator[Located]:
    """Yield the objects of a document: the document itself, or the items of a list."""
    if isinstance(document, list):
        for number, item in enumerate(document, start=1):
            yield from _objects_in(item, f"{where}, item {number}")
        return
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise UsageError(
            f"{where}: is not a Kubernetes object: it has no kind",
            hint=f"Write the files with kubectl, for example: {KUBECTL}",
        )
    kind = document["kind"]
    if not kind.endswith("List"):
        if not isinstance(document.get("apiVersion"), str):
            raise UsageError(f"{where}, field apiVersion: is missing from {kind}")
        yield Located(document, where)
        return
    items = document.get("items")
    # Go writes an empty list as null.
    if items is None:
        items = []
    if not isinstance(items, list):
        raise UsageError(f"{where}, field items: is not a list in {kind}")
    for number, item in enumerate(items, start=1):
        if isinstance(item, dict) and kind != "List":
            # Items of a typed list (ResourceClaimList) need not have apiVersion and kind.
            item = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        yield from _objects_in(item, f"{where}, item {number}")
