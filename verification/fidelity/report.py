"""docs/explanation/fidelity.md: what was asked, how many answers agree, and every difference with its reason. No dates in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from verification.fidelity.compare import Difference
from verification.fidelity.known import Known, can_be_seen
from verification.fidelity.probe import Probe

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
    seen = {row.probe for row, why in found if can_be_seen(row, why)}
    lines = [
        "# How close the embedded control plane is to a real one",
        "",
        "Made by `python -m verification fidelity --write`; do not edit. The same requests go to the embedded",
        f"control plane and to etcd, kube-apiserver and kube-controller-manager {version}, with the feature gates",
        f"{', '.join(f'`{name}`' for name in gates)} on besides the defaults.",
        "Compared are status codes, `Status` bodies with their messages and causes, warnings, objects as stored with",
        "every default, who manages which field, and watch events; masked are uids, times, resource versions,",
        "generated suffixes and tokens. A difference that is not listed in `verification/fidelity/known.yaml` with a",
        "reason fails the command. Each row of `known.yaml` names the probes that it explains.",
        "",
        f"**{len(probes)} probes, {len(probes) - len(differing)} answered alike, {len(differing)} differ.**",
        f"Of these differences **{len(seen) or 'none'} can be seen by a driver, scheduler, binder or controller**",
        "built on client-go, which acts on codes, reasons, fields, objects and events. The others are words for",
        "people, and requests that no such program sends; each row says why. Not compared is how long things take:",
        "a real namespace terminates for five seconds or more, and an embedded one is empty and gone in a moment.",
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
        reason = " ".join(filter(None, (known.reason, known.nobody))) if known else "**not explained**"
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
