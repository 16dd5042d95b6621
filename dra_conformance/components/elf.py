"""Read the dynamic tables of a shared library from its file: name, dependencies and symbols.

The library is not loaded, so a broken one can be examined too. pyelftools parses the file; this module selects the few
facts that the NVML rules need.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection


@dataclass(frozen=True, slots=True)
class Elf:
    """Dynamic tables of a shared library.

    Attributes:
        name: its SONAME; empty if it has none.
        needed: the libraries that it depends on, in the order of the file.
        exported: global and weak symbols that it defines.
        undefined: symbols that another library must define.
        thread_storage: whether it has thread-local storage.
    """

    name: str
    needed: tuple[str, ...]
    exported: frozenset[str]
    undefined: frozenset[str]
    thread_storage: bool


def read(path: Path) -> Elf:
    """Return the dynamic tables of the library at `path`. Raises ValueError unless it is an ELF file."""
    with path.open("rb") as stream:
        try:
            file = ELFFile(stream)
            name, needed = "", []
            exported: set[str] = set()
            undefined: set[str] = set()
            for section in file.iter_sections():
                if isinstance(section, DynamicSection):
                    name = next(iter(_texts(section, "DT_SONAME", "soname")), name)
                    needed += _texts(section, "DT_NEEDED", "needed")
                elif isinstance(section, SymbolTableSection) and section["sh_type"] == "SHT_DYNSYM":
                    # Not .symtab, whose other symbols the dynamic linker does not see.
                    imports, exports = symbols(section)
                    undefined |= imports
                    exported |= exports
            storage = any(segment["p_type"] == "PT_TLS" for segment in file.iter_segments())
        except ELFError as error:
            raise ValueError(f"{path} is not a readable ELF file: {error}") from error
    return Elf(name, tuple(needed), frozenset(exported), frozenset(undefined), storage)


def _texts(section: DynamicSection, tag: str, attribute: str) -> list[str]:
    """Return the texts of one kind of tag; pyelftools sets an attribute that is named after the kind."""
    return [str(getattr(entry, attribute)) for entry in section.iter_tags(tag)]


def symbols(table: SymbolTableSection) -> tuple[set[str], set[str]]:
    """Return the undefined and the defined global names of a symbol table, of a library or an object file."""
    undefined: set[str] = set()
    exported: set[str] = set()
    for symbol in table.iter_symbols():
        if not symbol.name:
            continue
        if symbol["st_shndx"] == "SHN_UNDEF":
            undefined.add(symbol.name)
        elif symbol["st_info"]["bind"] in ("STB_GLOBAL", "STB_WEAK"):
            exported.add(symbol.name)
    return undefined, exported
