"""Clusters from files: what `kubectl get … -o yaml` (or json) writes, several documents or lists, any served version.

Reads the files once; nothing is kept open. Every complaint names the file, the document, the object and the field.
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
from dra_conformance.oracle.cluster import Cluster
from dra_conformance.oracle.decoding import decode
from dra_conformance.oracle.schema import Fact
from dra_conformance.oracle.well_formed import Malformed

SUFFIXES = (".yaml", ".yml", ".json")
KUBECTL = "kubectl get resourceslices,deviceclasses,resourceclaims,nodes,pods -A -o yaml --show-managed-fields"


@dataclass(frozen=True, slots=True)
class Found:
    """One object, and where it stands: `claims.yaml, document 2, item 3`."""

    obj: Obj
    where: str

    @property
    def title(self) -> str:
        """Kind, namespace and name, and where it stands."""
        name = "/".join(part for part in key_of(self.obj) if part)
        return f"{self.where}: {self.obj.get('kind')} {name}".rstrip()


@dataclass(frozen=True, slots=True)
class Dump:
    """The objects of all files: as they are, and as the judge's cluster."""

    objects: tuple[Found, ...]
    cluster: Cluster

    def of_kind(self, kind: str) -> list[Obj]:
        """The objects of one kind, in the order of the files."""
        return [found.obj for found in self.objects if found.obj.get("kind") == kind]


def read(paths: Sequence[str]) -> Dump:
    """Read files and folders; `-` is standard input. Raises UsageError for what cannot be read."""
    found = [item for path in paths for item in _objects_of(path)]
    found = list(_newest(found))
    facts: list[Fact] = []
    for item in found:
        try:
            fact = decode(item.obj)
        except Malformed as error:
            field = f", field {error.field}" if error.field else ""
            raise UsageError(f"{item.title}{field}: {error.problem}") from None
        if fact is not None:
            facts.append(fact)
    return Dump(tuple(found), Cluster.of_facts(facts))


def _newest(found: Iterable[Found]) -> Iterator[Found]:
    """Each object once: a later one of the same kind and key replaces an earlier one."""
    by_key: dict[tuple[str, str, str, str], Found] = {}
    for item in found:
        group = str(item.obj.get("apiVersion")).rpartition("/")[0]
        by_key[group, str(item.obj.get("kind")), *key_of(item.obj)] = item
    return iter(by_key.values())


def _objects_of(path: str) -> Iterator[Found]:
    if path == "-":
        try:
            text = sys.stdin.read()
        except UnicodeDecodeError as error:
            raise UsageError(f"standard input is no text: {error}") from None
        yield from _documents(text, "standard input")
        return
    place = Path(path)
    if place.is_dir():
        files = sorted(inner for inner in place.rglob("*") if inner.suffix in SUFFIXES)
        if not files:
            raise UsageError(f"the folder {path} holds no {', '.join(SUFFIXES)} file")
    else:
        files = [place]
    for file in files:
        try:
            text = file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read {file}: {error}") from None
        yield from _documents(text, str(file))


def _documents(text: str, file: str) -> Iterator[Found]:
    loaded = _json(text, file) if text.lstrip()[:1] in ("{", "[") else documents.load_all(text, where=file)
    for number, document in enumerate(loaded, start=1):
        where = f"{file}, document {number}" if len(loaded) > 1 else file
        yield from _unlisted(document, where)


def _json(text: str, file: str) -> list[Any]:
    """One JSON document after another, as `kubectl -o json` writes them to one file."""
    decoder, at = json.JSONDecoder(), 0
    found: list[Any] = []
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


def _unlisted(document: Any, where: str) -> Iterator[Found]:
    """The objects of a document: itself, or the items of a list."""
    if isinstance(document, list):
        for number, item in enumerate(document, start=1):
            yield from _unlisted(item, f"{where}, item {number}")
        return
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise UsageError(
            f"{where}: is no Kubernetes object: it has no kind",
            hint=f"Files are what kubectl writes, for example: {KUBECTL}",
        )
    kind = document["kind"]
    if not kind.endswith("List"):
        if not isinstance(document.get("apiVersion"), str):
            raise UsageError(f"{where}, field apiVersion: is missing from {kind}")
        yield Found(document, where)
        return
    items = document.get("items")
    if items is None:
        items = []
    if not isinstance(items, list):
        raise UsageError(f"{where}, field items: is no list in {kind}")
    for number, item in enumerate(items, start=1):
        if isinstance(item, dict) and kind != "List":
            # Items of a typed list need not repeat what the list says.
            item = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
        yield from _unlisted(item, f"{where}, item {number}")
