"""docs/fidelity.md: what was asked, how many answers agree, and every difference with its reason. No dates in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from peers.fidelity.compare import Difference
from peers.fidelity.known import Known
from peers.fidelity.probe import Probe

_LENGTH = 160


def page(
    probes: Sequence[Probe],
    found: Sequence[tuple[Difference, Known | None]],
    *,
    version: str,
    gates: Mapping[str, bool],
) -> str:
    """The page."""
    differing = {row.probe for row, _ in found}
    lines = [
        "# How close the embedded control plane is to a real one",
        "",
        "Made by `python -m peers fidelity --write`; do not edit. The same requests go to the embedded control plane",
        f"and to etcd, kube-apiserver and kube-controller-manager {version}, with the feature gates",
        f"{', '.join(f'`{name}`' for name in gates)} on besides the defaults.",
        "Compared are status codes, `Status` bodies with their messages and causes, warnings, objects as stored with",
        "every default, who manages which field, and watch events; masked are uids, times, resource versions,",
        "generated suffixes and tokens. A difference that is not listed in `peers/fidelity/known.yaml` with a reason",
        "fails the command. Each row of `known.yaml` names the probes that it explains.",
        "",
        f"**{len(probes)} probes, {len(probes) - len(differing)} answered alike, {len(differing)} differ.**",
        "",
        "| area | probes | alike | differ |",
        "|---|---:|---:|---:|",
    ]
    areas = Counter(probe.area for probe in probes)
    odd = Counter(name.partition("/")[0] for name in differing)
    lines += [f"| {area} | {count} | {count - odd[area]} | {odd[area]} |" for area, count in sorted(areas.items())]
    lines += ["", "## Differences", ""]
    if not found:
        lines.append("None.")
        return "\n".join(lines) + "\n"
    lines += ["| probe | where | embedded | real | why it is so |", "|---|---|---|---|---|"]
    for row, known in found:
        reason = known.reason if known else "**not explained**"
        cells = (f"`{row.probe}`", f"`{row.where}`", short(row.embedded), short(row.real), reason)
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def short(found: Any) -> str:
    """A value in one line of bounded length."""
    text = found if isinstance(found, str) else orjson.dumps(found, option=orjson.OPT_SORT_KEYS).decode()
    return text if len(text) <= _LENGTH else text[: _LENGTH - 1] + "…"


def _cell(text: str) -> str:
    printable = "".join(c if c.isprintable() or c.isspace() else f"\\x{ord(c):02x}" for c in text)
    return " ".join(printable.replace("|", "\\|").replace("<", "&lt;").split())
