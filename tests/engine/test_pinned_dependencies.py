"""The files with hashes: every dependency of the package, of its tests, of its builds, and of the clients of NVML."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

_ROOT = Path(__file__).resolve().parents[2]
_RUN = _ROOT / "requirements.txt"
_DEV = _ROOT / "requirements/dev.txt"
_PINNED = [_RUN, *sorted((_ROOT / "requirements").iterdir())]
_CLIENTS = sorted((_ROOT / "tests/fake_nvml/clients").iterdir())
_NAME = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
_FILES = pytest.mark.parametrize("path", [*_PINNED, *_CLIENTS], ids=lambda path: path.name)


def _pins(path: Path) -> dict[str, str]:
    return {_normal(name): version for name, version in _NAME.findall(path.read_text())}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _needed(name: str, extra: str = "") -> set[str]:
    """All distributions that a distribution requires on this machine, itself left out."""
    found: set[str] = set()
    waiting = [(name, extra)]
    while waiting:
        one, wanted_extra = waiting.pop()
        for text in metadata.requires(one) or ():
            requirement = Requirement(text)
            wanted = requirement.marker is None or requirement.marker.evaluate({"extra": wanted_extra})
            if wanted and _normal(requirement.name) not in found:
                found.add(_normal(requirement.name))
                waiting.append((requirement.name, ""))
    return found


def test_the_versions_are_those_of_the_constraints() -> None:
    constraints = _pins(_ROOT / "constraints.txt")
    files = {path.name: _pins(path) for path in _PINNED}
    differ = {
        f"{name}: {pin} {version}"
        for name, pins in files.items()
        for pin, version in pins.items()
        if constraints.get(pin) != version
    }
    assert not differ
    assert constraints.keys() == {pin for pins in files.values() for pin in pins}, "make pins"


@pytest.mark.parametrize(("path", "extra"), [(_RUN, ""), (_DEV, "dev")])
def test_every_dependency_is_pinned(path: Path, extra: str) -> None:
    assert _needed("dra-conformance", extra) - _pins(path).keys() == set()


@_FILES
def test_every_pin_has_a_hash(path: Path) -> None:
    entries = re.split(r"\n(?=[A-Za-z0-9])", "\n" + path.read_text())[1:]
    assert len(entries) == len(_NAME.findall(path.read_text())) > 0
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []


@_FILES
def test_no_address_of_an_index_is_named(path: Path) -> None:
    assert "://" not in path.read_text()


def test_packages_with_compiled_parts_have_a_file_for_every_supported_machine() -> None:
    """A machine and a Python have a file each; a package with a stable ABI has fewer."""
    entries = re.split(r"\n(?=[A-Za-z0-9])", _RUN.read_text())
    (one,) = (entry for entry in entries if entry.startswith("msgspec=="))
    assert one.count("--hash=") > 4 * 2


def test_make_installs_only_packages_with_hashes() -> None:
    """Every other install is of this package itself, without dependencies."""
    text = (_ROOT / "Makefile").read_text().replace("\\\n", " ")
    installs = [line for line in text.splitlines() if re.search(r"(\$\(PIP\)|pip .*) install\b", line)]
    assert len(installs) >= 3
    assert [line for line in installs if "--require-hashes" not in line and "--no-deps" not in line] == []
