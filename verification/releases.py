"""The verdicts of one program in several releases, side by side: the page docs/explanation/kubernetes-releases.md.

`python -m verification verify NAME --write` stores the status of each rule for the programs whose description names
what it `compares`, and writes the page.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from dra_conformance.core.rules import Catalogue, Rule
from verification.jobs import Finished
from verification.third_party.catalogue import ThirdParty

STORE = Path(__file__).with_name("release_verdicts.json")
PAGE = Path(__file__).resolve().parents[1] / "docs/explanation/kubernetes-releases.md"
_JUDGED = {"passed": "kept", "failed": "broken", "error": "broken", "flaky": "unstable", "untestable": "untestable"}
_BROKEN = ("broken", "unstable")
_NONE = "–"
_COMPONENTS = {
    "kube-apiserver": {"control-plane"},
    "kube-controller-manager": {"claim-controller", "taint-eviction"},
    "kube-scheduler": {"scheduler", "binder"},
    "kubelet": {"kubelet"},
}
"""The components of the rules that count for a program. Its run also judges the components beside it."""

_HEAD = """# Kubernetes releases side by side

<!-- Written by `python -m verification verify --write` from verification/release_verdicts.json; do not edit. -->

Kubernetes' own programs of four releases, built from their Go modules and judged on etcd and the API server of their
release, the kubelet with containerd. The rules are the same ones; a rule whose feature a release lacks, or has off,
does not bind it. Reasons for what is broken are in `verification/third_party/expected/`, and for 1.36 and 1.37 also on
the page [third-party results](third-party-results.md).

```sh
make third-party-all
python -m verification verify kube-scheduler kube-scheduler-1.34 --write
```
"""


class Verdicts(msgspec.Struct, frozen=True, kw_only=True):
    """The status of each rule for a program in one release, by rule id; `commit` is that of the working tree."""

    name: str
    program: str
    version: str
    date: str
    commit: str
    statuses: dict[str, str]

    @property
    def release(self) -> str:
        """The minor release, for example 1.36."""
        return ".".join(self.version.removeprefix("v").split(".")[:2])


def stored(store: Path = STORE) -> list[Verdicts]:
    """Return the stored verdicts; none if there is no file. Raises msgspec.ValidationError for another format."""
    return msgspec.json.decode(store.read_bytes(), type=list[Verdicts]) if store.exists() else []


def write(
    ended: Iterable[Finished], *, programs: Iterable[ThirdParty], commit: str, store: Path = STORE, page: Path = PAGE
) -> None:
    """Replace the verdicts of the compared programs that ended with some, and write the page.

    Args:
        ended: the jobs that ended.
        programs: the descriptions of all programs. Verdicts of others are dropped.
        commit: the commit of the working tree.
        store: the file with all verdicts.
        page: the Markdown file with the tables.
    """
    catalogue = Catalogue.load()
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    compared = {one.name: one for one in programs if one.compares}
    rows = {row.name: row for row in stored(store) if row.name in compared}
    for job in ended:
        if job.name in compared and job.statuses:
            binding = _COMPONENTS[compared[job.name].compares]
            rows[job.name] = Verdicts(
                name=job.name,
                program=compared[job.name].compares,
                version=compared[job.name].version,
                date=today,
                commit=commit,
                statuses={
                    rule: status
                    for rule, status in sorted(job.statuses.items())
                    if status in _JUDGED and catalogue[rule].component in binding
                },
            )
    kept = [rows[name] for name in sorted(rows)]
    store.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
    page.write_text(render(kept, rules=catalogue))


def render(rows: Sequence[Verdicts], *, rules: Mapping[str, Rule]) -> str:
    """Return the page.

    Args:
        rows: the verdicts.
        rules: the rules by id, for their levels.
    """
    names = sorted({row.program for row in rows})
    # A stored verdict may be on a rule that no longer exists.
    levels = {rule.id: rule.level for rule in rules.values()}
    return _HEAD + "".join("\n" + "".join(_program(name, rows, levels)) for name in names)


def _program(name: str, rows: Sequence[Verdicts], levels: Mapping[str, str]) -> Iterator[str]:
    """Return the parts of the page about a program: what each release got, and the rules that any of them breaks."""
    columns = sorted((row for row in rows if row.program == name), key=lambda row: [*map(int, row.release.split("."))])
    yield f"## {name}\n\n| Release | Rules kept | MUST broken | SHOULD broken | Untestable | Date | Commit |\n"
    yield "|---|---:|---:|---:|---:|---|---|\n"
    for row in columns:
        count = Counter(_JUDGED[status] for status in row.statuses.values())
        must = sum(levels.get(rule) == "MUST" for rule, status in row.statuses.items() if _JUDGED[status] in _BROKEN)
        broken = sum(count[word] for word in _BROKEN)
        cells = (row.version.removeprefix("v"), count["kept"], must, broken - must, count["untestable"], row.date)
        yield "| " + " | ".join(map(str, cells)) + f" | `{row.commit}` |\n"
    shown = sorted({rule for row in columns for rule, status in row.statuses.items() if _JUDGED[status] != "kept"})
    if shown:
        yield f"\n| Rule | Level | {' | '.join(row.release for row in columns)} |\n|---|---|{'---|' * len(columns)}\n"
    for rule in shown:
        found = (_JUDGED.get(row.statuses.get(rule, ""), _NONE) for row in columns)
        yield f"| {rule} | {levels.get(rule, _NONE)} | {' | '.join(found)} |\n"
