"""metadata.generation of kinds that count changes of spec. Pure function."""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra.canonical import same

Obj = dict[str, Any]


def follow(new: Obj, old: Obj) -> None:
    """One more than before when spec differs, else as before (DRA-041)."""
    generation = int(old["metadata"].get("generation", 0))
    if not same(new.get("spec"), old.get("spec")):
        generation += 1
    if generation:
        new["metadata"]["generation"] = generation
