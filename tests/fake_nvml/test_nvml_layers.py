"""The C sources are layered: neither their files nor their folders call each other in a cycle."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

import hatch_build
from dra_conformance.components import elf
from fake_nvml.build import SOURCE

Graph = dict[str, set[str]]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    """Return, for each C file, the files whose functions it calls, from the symbol tables of its object files."""
    folder = tmp_path_factory.mktemp("objects")
    compiler = hatch_build.find_compiler() or pytest.skip("no C compiler")
    tables: dict[str, tuple[set[str], set[str]]] = {}
    for path in sorted(SOURCE.rglob("*.c")):
        name = str(path.relative_to(SOURCE))
        target = folder / name.replace("/", "-")
        flags = ["-std=c11", "-O0", "-fPIC", "-w", f"-I{SOURCE}", "-c", "-o", str(target)]
        subprocess.run([*compiler, *flags, str(path)], check=True)
        tables[name] = _symbols(target)
    defined_in = {symbol: name for name, (_, defined) in tables.items() for symbol in defined}
    return {name: {defined_in[s] for s in undefined & defined_in.keys()} for name, (undefined, _) in tables.items()}


def _symbols(path: Path) -> tuple[set[str], set[str]]:
    with path.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        return elf.symbols(table)


def _cycle(graph: Graph) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_cycle_of_files(calls: Graph) -> None:
    assert "state/session.c" in calls["calls/enter.c"]
    assert _cycle(calls) == []


def test_no_cycle_of_folders(calls: Graph) -> None:
    folders: Graph = defaultdict(set)
    for name, called in calls.items():
        folder = name.partition("/")[0]
        folders[folder] |= {other.partition("/")[0] for other in called} - {folder}
    assert _cycle(folders) == []


def test_headers_are_included_by_path_from_the_source_folder() -> None:
    """Each include names its folder, so that a reader sees which layer a file uses."""
    for path in sorted([*SOURCE.rglob("*.c"), *SOURCE.rglob("*.h")]):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith('#include "'):
                assert (SOURCE / line.split('"')[1]).is_file(), f"{path}: {line}"
