"""Generate dra_api/feature_gate_table.py from the source of Kubernetes: `python -m tools.gen_feature_gates`.

Needs Go, which downloads the modules; the file kube_features.go of each is parsed, nothing of it is built or run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.version import Version

from dra_api.gate import DRA_PREFIXES

_ROOT = Path(__file__).parents[1]
TABLE = _ROOT / "dra_api" / "feature_gate_table.py"
RELEASES = ("1.34.4", "1.35.4", "1.36.3", "1.37.2")
_HEAD = '''"""The feature gates of DRA in each release. Written by `python -m tools.gen_feature_gates`; do not edit.

Source: pkg/features/kube_features.go of k8s.io/kubernetes {releases}.
The entries are those for the default minimum compatibility version of a server, which is the release before its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from dra_api.gate import Gate

'''


class GenerationError(Exception):
    """A module that cannot be downloaded or read."""


def main() -> int:
    """Write the table; return the exit code."""
    try:
        found = {release: read(release) for release in RELEASES}
    except GenerationError as error:
        print(error, file=sys.stderr)
        return 1
    text = "".join(lines(found))
    shown = subprocess.run(
        ["ruff", "format", "-q", "--stdin-filename", str(TABLE), "-"],
        input=text,
        text=True,
        capture_output=True,
        check=True,
    ).stdout
    TABLE.write_text(shown)
    return 0


def read(release: str) -> Mapping[str, Any]:
    """Return `{"gates": {name: entries}, "dependencies": {name: names}}` of a release. Raises GenerationError."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@v{release}"]
        answer = subprocess.run(words, check=False, cwd=folder, capture_output=True, text=True)
    if answer.returncode:
        raise GenerationError(f"{' '.join(words)}: {answer.stderr.strip() or answer.stdout.strip()}")
    file = Path(json.loads(answer.stdout)["Dir"]) / "pkg" / "features" / "kube_features.go"
    words = ["go", "run", str(_ROOT / "tools" / "feature_gates" / "main.go")]
    with file.open() as source:
        answer = subprocess.run(words, check=False, stdin=source, capture_output=True, text=True)
    if answer.returncode:
        raise GenerationError(f"kube_features.go of {release}: {answer.stderr.strip()}")
    found: Mapping[str, Any] = json.loads(answer.stdout)
    return found


def entry_for(entries: Sequence[Mapping[str, Any]], release: str) -> Mapping[str, Any] | None:
    """Return the entry that holds in a release with the minimum compatibility version of the release before it."""
    version = Version(".".join(release.split(".")[:2]))
    compatible = Version(f"{version.major}.{version.minor - 1}")
    holds = [
        one
        for one in entries
        if Version(one["version"]) <= version
        and (not one["min_compatibility"] or Version(one["min_compatibility"]) <= compatible)
    ]
    return max(holds, key=lambda one: Version(one["version"]), default=None)


def lines(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the module: the gates of DRA by release, then the gates of other features that they need."""
    yield _HEAD.replace("{releases}", ", ".join(found))
    ours = sorted({name for one in found.values() for name in one["gates"] if name.startswith(DRA_PREFIXES)})
    needed: set[str] = set()
    todo = set(ours)
    while todo:
        needed |= todo
        todo = {name for one in found.values() for gate in todo for name in one["dependencies"].get(gate, ())} - needed
    tables = (
        ("DRA_GATES", ours, "The gates of DRA by release (major and minor version)."),
        (
            "PREREQUISITES",
            sorted(needed - set(ours)),
            "The gates of other features that those of DRA need, by release.",
        ),
    )
    for name, gates, text in tables:
        yield f"{name}: Mapping[str, Mapping[str, Gate]] = {{\n"
        for release, one in found.items():
            yield f'"{release.rpartition(".")[0]}": {{\n'
            for gate in gates:
                if entry := entry_for(one["gates"].get(gate, ()), release):
                    yield f'"{gate}": {_gate(entry, one["dependencies"].get(gate, ()))},\n'
            yield "},\n"
        yield f'}}\n"""{text}"""\n\n'


def _gate(entry: Mapping[str, Any], needs: Sequence[str]) -> str:
    words = [str(entry["default"]), f'"{entry["stage"]}"']
    words += ["locked=True"] if entry["locked"] else []
    words += [f"needs={tuple(needs)!r}"] if needs else []
    return f"Gate({', '.join(words)})"


if __name__ == "__main__":
    sys.exit(main())
