"""Judges a mutant of the emulated API server by the fidelity probes, with recorded responses of a real kube-apiserver.

A probe that answers as the real server does without the mutant, and differently with it, detects the mutant. The table
lists these kills separately: the probes are tests of the emulator, not scenarios of a rule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from verification.fidelity import compare
from verification.mutation_survey.components import ROOT

Answers = Mapping[str, Mapping[str, list[Any]]]
"""Responses by target, `embedded` or `real`, and probe, as `python -m verification fidelity --answers FILE` writes."""


def file_of(folder: Path) -> Path:
    """Return the file of the responses to the present probes."""
    home = ROOT / "verification" / "fidelity"
    sources = [home / f"{name}.py" for name in ("compare", "dra_cases", "masks", "probe", "prober", "targets")]
    sources += sorted((home / "probes").glob("*.py"))
    digest = hashlib.sha256(b"\0".join(one.read_bytes() for one in sources)).hexdigest()[:16]
    return folder / f"fidelity-{digest}.json"


def differing(recorded: Answers, folder: Path) -> str:
    """Return a probe that only the emulator of this process answers differently, with the place, or an empty text.

    A probe that differs is repeated on a new emulator: a busy machine may answer late.
    """
    # Deferred: they import the emulator, which the process that forks the trials must not do.
    from verification.fidelity import prober, targets
    from verification.fidelity.probes import all_probes

    probes = all_probes()
    known = set(_places((one.id for one in probes), recorded["embedded"], recorded["real"]))

    def differs(name: str, responses: list[Any]) -> bool:
        return bool(_places([name], {name: responses}, recorded["real"]).keys() - known)

    for attempt in ("first", "second"):
        try:
            with targets.embedded(folder / attempt) as target:
                # Not all differing probes: with many mutants each of them waits in vain.
                found = prober.Prober(target).run_all(probes, stop=differs)
        except Exception as error:
            # The emulator does not start or failed internally; neither happens without the mutant.
            return f"the emulator: {type(error).__name__}: {error}"[:200]
        now = _places(found, found, recorded["real"])
        places = {place: text for place, text in now.items() if place not in known}
        names = {name for name, _ in places}
        probes = [one for one in probes if one.id in names]
        if not probes:
            return ""
    return next(f"{name} {where}: {text}"[:300] for (name, where), text in sorted(places.items()))


def _places(
    probes: Iterable[str], ours: Mapping[str, list[Any]], theirs: Mapping[str, list[Any]]
) -> dict[tuple[str, str], str]:
    rows = [row for name in probes for row in compare.differences(name, ours[name], theirs[name])]
    return {(row.probe, row.where): f"{row.embedded} instead of {row.real}" for row in rows}


def load(file: Path) -> Answers:
    """Return recorded responses."""
    found: Answers = orjson.loads(file.read_bytes())
    return found
