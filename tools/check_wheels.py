"""Check the wheels of a release: `python -m tools.check_wheels dist/*.whl`.

The compiled libraries must be for the machine that the tag of the wheel names, need no newer glibc than it promises and
no library outside glibc. A wrong wheel would be installed all the same, and fail where it is used.
"""

from __future__ import annotations

import io
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

_TAG = re.compile(r"-py3-none-manylinux_(\d+)_(\d+)_(x86_64|aarch64)\.whl$")
_MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
_LIBRARIES = ("fake_nvml/lib/libnvidia-ml.so.1", "fake_nvml/lib/libfakenvml-control.so")
# All of glibc; the loader is a library that aarch64 names.
_MAY_NEED = {"libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "ld-linux-aarch64.so.1"}


def problems(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel, in words."""
    tag = _TAG.search(wheel.name)
    if tag is None:
        return [f"{wheel.name}: no tag py3-none-manylinux_2_NN_MACHINE"]
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        found = [f"{wheel.name}: no {name}" for name in _LIBRARIES if name not in names]
        for name in sorted(names):
            if ".so" in Path(name).suffixes:
                newest = (int(tag[1]), int(tag[2]))
                with ELFFile(io.BytesIO(archive.read(name))) as library:
                    found += [f"{wheel.name}: {name} {what}" for what in _wrong(library, tag[3], newest)]
    return found


def _wrong(library: ELFFile, machine: str, newest: tuple[int, int]) -> Iterator[str]:
    if (actual := library["e_machine"]) != _MACHINES[machine]:
        yield f"is for {actual}"
    sections = list(library.iter_sections())
    tags = (tag for one in sections if isinstance(one, DynamicSection) for tag in one.iter_tags("DT_NEEDED"))
    needed = {str(vars(tag)["needed"]) for tag in tags}  # pyelftools sets the attribute for this kind of tag only
    if others := needed - _MAY_NEED:
        yield f"needs {', '.join(sorted(others))}"
    needs = [one for one in sections if isinstance(one, GNUVerNeedSection)]
    for _, symbols in (pair for one in needs for pair in one.iter_versions()):
        for symbol in symbols:
            version = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", symbol.name)
            if version is None or (int(version[1]), int(version[2])) > newest:
                yield f"needs {symbol.name}"


def main(words: Sequence[str]) -> int:
    """Check the named wheels; return the exit code."""
    if not words:
        print("usage: python -m tools.check_wheels WHEEL ...", file=sys.stderr)
        return 2
    found = [problem for word in words for problem in problems(Path(word))]
    print("\n".join(found) if found else f"{len(words)} wheels: machine and glibc as tagged")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
