"""The program that fuzzes one target: `python -m verification.fuzz.child NAME [libFuzzer's options] CORPUS ...`.

libFuzzer ends the process at the first finding and saves its input, so a target is one process.
"""

from __future__ import annotations

import os
import sys

import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

from verification.fuzz import trees
from verification.fuzz.targets import PROGRAM, TARGETS


def main() -> None:
    """Fuzz until libFuzzer's options end the run. Does not return."""
    target = TARGETS[sys.argv[1]]
    with atheris.instrument_imports(include=list(target.packages)):
        read = target.prepare()

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        # Changes of bytes stay half of all: they find what a correct JSON writer never writes.
        found = trees.mutate(data, longest=longest, seed=seed) if seed % 2 else None
        return atheris.Mutate(data, longest) if found is None else found

    more = {"custom_mutator": mutate} if target.trees else {}
    atheris.Setup([os.environ.get(PROGRAM, sys.argv[0]), *sys.argv[2:]], read, **more)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
