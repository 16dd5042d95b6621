"""The mutants of a component, kept on disk by the content of each file: the generation takes minutes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from verification.mutation_survey import mutants, operators
from verification.mutation_survey.components import ROOT, Component, files_of
from verification.mutation_survey.mutants import Mutant


def of_component(component: Component, folder: Path, root: Path = ROOT) -> list[Mutant]:
    """Return all mutants of a component, in the order of the source."""
    found: list[Mutant] = []
    for path in files_of(component, root):
        # A changed generator makes other mutants.
        parts = [path, Path(mutants.__file__), Path(operators.__file__)]
        text = b"\0".join([str(path.relative_to(root)).encode(), *(part.read_bytes() for part in parts)])
        file = folder / f"{hashlib.sha256(text).hexdigest()[:24]}.json"
        if file.exists():
            found += msgspec.json.decode(file.read_bytes(), type=list[Mutant])
            continue
        made = mutants.of_file(path, component.name, root)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(msgspec.json.encode(made))
        found += made
    return found
