"""requirements.txt: every dependency of the installed package, with its hashes."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

_ROOT = Path(__file__).resolve().parents[2]
_NAME = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


def _pins(path: Path) -> dict[str, str]:
    return {_normal(name): version for name, version in _NAME.findall(path.read_text())}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _needed(name: str) -> set[str]:
    """All distributions that a distribution requires on this machine, itself left out."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for text in metadata.requires(waiting.pop()) or ():
            one = Requirement(text)
            wanted = one.marker is None or one.marker.evaluate({"extra": ""})
            if wanted and _normal(one.name) not in found:
                found.add(_normal(one.name))
                waiting.append(one.name)
    return found


def test_the_versions_are_those_of_the_tests() -> None:
    pins, tested = _pins(_ROOT / "requirements.txt"), _pins(_ROOT / "constraints.txt")
    assert {name: tested.get(name) for name in pins} == pins


def test_every_dependency_is_pinned() -> None:
    assert _needed("dra-conformance") - _pins(_ROOT / "requirements.txt").keys() == set()


def test_every_pin_has_a_hash() -> None:
    entries = re.split(r"\n(?=[A-Za-z0-9])", (_ROOT / "requirements.txt").read_text())[1:]
    assert len(entries) > 40
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


def test_no_address_of_an_index_is_named() -> None:
    assert "://" not in (_ROOT / "requirements.txt").read_text()
