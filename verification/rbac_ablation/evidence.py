"""What is known of each printed verb: which scenario does not pass without it, and what the user is told then.

`evidence.yaml` is made by `python -m verification rbac --write` on a real API server and read by `python -m
verification access`, which tries its rows again, and by `docs/reference/rbac.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import yaml

from dra_conformance.rbac.check import Need
from dra_conformance.rbac.table import HOLDERS, SOMETIMES, rights

FILE = Path(__file__).with_name("evidence.yaml")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "rbac.md"

_HEAD = """\
# Who misses which right: made by `python -m verification rbac --write` on a real API server; not to be edited.
"""
_SILENT = (
    "No scenario that may run on a cluster makes these parts ask each time; a run needs the right when it comes about.",
    "",
    "| holder | resource | verb | asked for when |",
    "|---|---|---|---|",
)


class Missed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One right that somebody misses. `scenario` is `cleanup` for what `dra-conformance cleanup` misses.

    `status` is how the scenario ends without the right, `says` its reason, without the words on the missing right
    itself, which every such reason ends in.
    """

    holder: str
    group: str = ""
    resource: str
    verb: str
    scenario: str
    status: str
    says: str

    @property
    def need(self) -> Need:
        """The right."""
        return self.holder, self.group, self.resource, self.verb


def load(path: Path = FILE) -> list[Missed]:
    """The rows. Raises ValueError for one that cannot be read."""
    return msgspec.convert(yaml.safe_load(path.read_text()) or [], list[Missed]) if path.exists() else []


def save(rows: Iterable[Missed]) -> None:
    """Write rows and page."""
    ordered = sorted(rows, key=lambda row: (HOLDERS.index(row.holder), row.group, row.resource, row.verb))
    lines = [yaml.safe_dump(msgspec.to_builtins(row), default_flow_style=True, width=10**6) for row in ordered]
    FILE.write_text(_HEAD + "".join(f"- {line}" for line in lines))
    PAGE.write_text(page(ordered))


def printed() -> set[Need]:
    """Every verb that `dra-conformance rbac` prints for somebody."""
    return {(row.holder, row.group, row.resource, verb) for row in rights() for verb in row.verbs}


def by_chance() -> dict[Need, str]:
    """The printed verbs that are asked for only where something comes about that no scenario on a cluster arranges."""
    return {
        (row.holder, row.group, row.resource, verb): row.only.removeprefix(SOMETIMES).lstrip(": ")
        for row in rights()
        for verb in row.verbs
        if row.only.startswith(SOMETIMES)
    }


def page(rows: Sequence[Missed]) -> str:
    """docs/reference/rbac.md; no dates in it."""
    share = f"{len(rows)} of {len(printed())}"
    lines = [
        "# Every right, and what fails without it",
        "",
        "Made by `python -m verification rbac --write`; do not edit. On a real kube-apiserver every verb that",
        "`dra-conformance rbac` prints is taken from its holder, one at a time, while all others keep theirs. The",
        "scenario in its row passes with all rights, and does not pass without this one; its reason then goes on with",
        "`missing rights: the … may not …` and names this right and no other. `python -m verification rbac` tries",
        "the rows again; `make test` fails where the roles and this page differ. How the roles are made, and what else is",
        "proven of them, is told in [your-cluster.md](../how-to/your-cluster.md).",
        "",
        f"**{share} rights are missed by a scenario.** Where the reason is that a part could not",
        "do its work, every check passed, but a part of the run was refused something meanwhile: on a cluster such a",
        "scenario is `untestable`.",
    ]
    for holder in HOLDERS:
        mine = [row for row in rows if row.holder == holder]
        lines += [
            "",
            f"## {holder}",
            "",
            "| resource | verb | does not pass without it | and says |",
            "|---|---|---|---|",
        ]
        for row in mine:
            where = _resource(row.group, row.resource)
            lines.append(f"| {where} | {row.verb} | `{row.scenario}` ({row.status}) | {_cell(row.says)} |")
    silent = {need: why for need, why in by_chance().items() if need not in {row.need for row in rows}}
    if silent:
        lines += ["", "## Not missed each time", "", *_SILENT]
        lines += [
            f"| {holder} | {_resource(group, name)} | {verb} | {why} |"
            for (holder, group, name, verb), why in sorted(silent.items())
        ]
    return "\n".join(lines) + "\n"


def _resource(group: str, name: str) -> str:
    return f"{name}.{group}" if group else name


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
