"""What a shared library says of itself in its ELF tables: its name, what it needs, and its symbols.

Read from the file alone, so that a library need not be loaded to be judged. Only what NVML's rules ask; 64-bit,
little-endian, as on x86-64 and aarch64. Source: the ELF-64 object file format of the System V ABI.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_DYNAMIC_SYMBOLS: Final = 11  # SHT_DYNSYM
_DYNAMIC: Final = 6  # SHT_DYNAMIC
_THREAD_STORAGE: Final = 7  # PT_TLS
_NEEDED: Final = 1
_NAME: Final = 14  # DT_SONAME


@dataclass(frozen=True, slots=True)
class Elf:
    """The dynamic tables of a shared library."""

    name: str
    needed: tuple[str, ...]
    exported: frozenset[str]
    undefined: frozenset[str]
    thread_storage: bool


def read(path: Path) -> Elf:
    """Raises ValueError for what is no 64-bit little-endian ELF file."""
    data = path.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{path} is no 64-bit little-endian ELF file")
    head = struct.unpack_from("<HHIQQQIHHHHHH", data, 16)
    programs, sections = head[4], head[5]
    program_size, program_count, section_size, section_count = head[8], head[9], head[10], head[11]
    kinds = [struct.unpack_from("<I", data, programs + place * program_size)[0] for place in range(program_count)]
    name, needed = "", []
    exported: set[str] = set()
    undefined: set[str] = set()
    for place in range(section_count):
        kind, offset, size, link = _section(data, sections + place * section_size)
        if kind not in (_DYNAMIC_SYMBOLS, _DYNAMIC):
            continue
        texts = _section(data, sections + link * section_size)[1]
        if kind == _DYNAMIC:
            for at in range(offset, offset + size, 16):
                tag, value = struct.unpack_from("<qQ", data, at)
                if tag == _NEEDED:
                    needed.append(_text(data, texts + value))
                elif tag == _NAME:
                    name = _text(data, texts + value)
            continue
        for at in range(offset + 24, offset + size, 24):  # the first symbol is none
            text, info, _, section = struct.unpack_from("<IBBH", data, at)
            symbol = _text(data, texts + text)
            if section == 0:
                undefined.add(symbol)
            elif info >> 4 in (1, 2):  # global or weak
                exported.add(symbol)
    return Elf(name, tuple(needed), frozenset(exported), frozenset(undefined), _THREAD_STORAGE in kinds)


def _section(data: bytes, at: int) -> tuple[int, int, int, int]:
    """Kind, offset, size and the section that it is linked to."""
    row = struct.unpack_from("<IIQQQQIIQQ", data, at)
    return row[1], row[4], row[5], row[6]


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode("ascii", "replace")
