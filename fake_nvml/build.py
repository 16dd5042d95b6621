"""`python -m fake_nvml.build`: compile the library in a checkout, in place, or a checked variant of it elsewhere.

A wheel carries the compiled library; this is for a source tree whose editable install was made before a change to
`src/`, for builds with a sanitizer, and for deliberate faults in the C sources (`variant`).
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
from pathlib import Path
from types import ModuleType
from typing import Final

SOURCE: Final = Path(__file__).resolve().parent / "src"
SANITIZERS: Final = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g")


def _script() -> ModuleType:
    script = Path(__file__).resolve().parent.parent / "hatch_build.py"
    spec = importlib.util.spec_from_file_location("fake_nvml_hatch_build", script)
    if spec is None or spec.loader is None or not script.is_file():
        raise SystemExit(f"{script} is not there: only a source tree can be built this way")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def changed(file: str, old: str, new: str) -> str:
    """The text of a source file with one change, as of `variant`. Raises: ValueError like it."""
    text = (SOURCE / file).read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise ValueError(f"{file} has {text.count(old)} places that read {old!r}; a variant needs exactly one")
    return text.replace(old, new)


def variant(folder: Path, file: str, old: str, new: str) -> Path:
    """Build the library with one deliberate change to its sources.

    Args:
        folder: gets the changed sources and the libraries; the caller removes it.
        file: path of the source file, relative to `src`.
        old: text that occurs in it exactly once.
        new: its replacement.

    Returns: the folder of the libraries.
    Raises: ValueError if `old` does not occur exactly once; SystemExit if the result does not compile.
    """
    text = changed(file, old, new)
    source = folder / "src"
    # Without *.py: the variant differs in C sources only.
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    (source / file).write_text(text, encoding="utf-8")
    _script().build_library(source=source, out=folder / "lib", extra=("-O0", "-w"))
    return folder / "lib"


def main() -> None:
    """Compile and print what was written."""
    parser = argparse.ArgumentParser(prog="python -m fake_nvml.build", description=main.__doc__)
    parser.add_argument("--out", type=Path, help="folder for the libraries (default: where this package looks)")
    parser.add_argument("--sanitize", action="store_true", help="with AddressSanitizer and UBSan")
    options = parser.parse_args()
    if options.sanitize and options.out is None:
        parser.error("--sanitize needs --out: every user of the libraries would need the sanitizer's runtime")
    for path in _script().build_library(out=options.out, extra=SANITIZERS if options.sanitize else ()):
        print(path)


if __name__ == "__main__":
    main()
