"""Draw a ComputeDomain that comes up over a rack: `python -m tools.gen_rack_picture [EVENTS.JSONL]`.

The log is that of one scenario, for example of
`dra-conformance run --focus 'imex/several_nodes#a-job-over-count-nodes-gets-a-channel-on-each-of-them.18'`.
The times that are drawn are in the picture as well, as JSON, so that a test can draw it again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

import orjson

from reference_impl.compute_domain.objects import DRIVER_NAMESPACE

PICTURE: Final = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "compute-domain-rack.svg"
_LABEL: Final = '"resource.nvidia.com/computeDomain"'
_LEFT, _TOP, _ROW, _WIDTH, _RIGHT = 90, 96, 22, 640, 30
_COLOURS: Final = {
    "wait": "#c9d4e3",
    "label": "#3b6fb6",
    "daemon": "#d98324",
    "prepared": "#2f855a",
    "ready": "#8b2f3f",
}


@dataclass(slots=True)
class Row:
    """Milliseconds of one node after the ComputeDomain was created; None for what the log does not have."""

    called: float | None = None
    label: float | None = None
    daemon: float | None = None
    prepared: float | None = None


@dataclass(slots=True)
class Timeline:
    """What is drawn: the milliseconds until the ComputeDomain was Ready, and a row for each node."""

    scenario: str = ""
    ready: float | None = None
    rows: dict[str, Row] = field(default_factory=dict)


def read_log(lines: Iterable[bytes]) -> Timeline:
    """Return the timeline in an event log. Raises ValueError if the log has no ComputeDomain that became Ready."""
    found, created = Timeline(), None
    for line in lines:
        event = orjson.loads(line)
        at = float(event.get("t", 0)) * 1000
        if created is None:
            if event["kind"] == "object" and (event["resource"], event["type"]) == ("computedomains", "ADDED"):
                created, found.scenario = at, str(event.get("scenario", ""))
            continue
        _read_event(found, event, at - created)
    if found.ready is None:
        raise ValueError("the log has no ComputeDomain that became Ready")
    return found


def _read_event(found: Timeline, event: Mapping[str, Any], at: float) -> None:
    summary = event.get("summary") or {}
    match event["kind"]:
        case "object" if event["resource"] == "computedomains" and summary.get("status") == "Ready":
            found.ready = round(at, 1) if found.ready is None else found.ready
        case "object" if event["resource"] == "pods" and event["name"].startswith(f"{DRIVER_NAMESPACE}/"):
            if summary.get("phase") == "Running" and "deleting" not in summary:
                _first(found, summary["node"], "daemon", at)
        case "api" if event["method"] in ("PATCH", "PUT") and _LABEL in str(event.get("body", "")):
            if event["path"].startswith("/api/v1/nodes/") and f"{_LABEL}:null" not in event["body"]:
                _first(found, event["path"].rpartition("/")[2], "label", at)
        case "kubelet-call" if event.get("method") == "NodePrepareResources" and event.get("code") == "OK":
            if not any(one.get("error") for one in event["response"]["claims"].values()):
                _first(found, event["node"], "called", at - event["seconds"] * 1000)
                _first(found, event["node"], "prepared", at)


def _first(found: Timeline, node: str, what: str, at: float) -> None:
    row = found.rows.setdefault(node, Row())
    if getattr(row, what) is None:
        setattr(row, what, round(max(at, 0.0), 1))


def read_picture(svg: str) -> Timeline:
    """Return the timeline that a picture was drawn from."""
    text = re.search(r"<metadata><!\[CDATA\[(.*?)\]\]></metadata>", svg)
    data = orjson.loads(text[1]) if text else {"rows": {}}
    rows = {node: Row(**row) for node, row in data.pop("rows").items()}
    return Timeline(**data, rows=rows)


def draw(timeline: Timeline) -> str:
    """Return the picture as SVG."""
    rows = sorted(timeline.rows.items(), key=lambda item: [int(one) for one in re.findall(r"\d+", item[0])][:1])
    times = [value for _, row in rows for value in asdict(row).values() if value is not None]
    last: float = max([*times, timeline.ready or 0.0, 1.0])
    height = _TOP + _ROW * len(rows) + 50
    width = _LEFT + _WIDTH + _RIGHT

    def x(at: float) -> float:
        return round(_LEFT + _WIDTH * at / last, 1)

    title = f"A ComputeDomain comes up over {len(rows)} nodes"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"',
        f"  aria-label={quoteattr(title)} font-family='sans-serif' font-size='12'>",
        f"<title>{escape(title)}</title>",
        f"<metadata><![CDATA[{orjson.dumps(asdict(timeline)).decode()}]]></metadata>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="24" font-size="15" font-weight="bold">{escape(title)}</text>',
        *_legend(),
        *_axis(x, last, bottom=_TOP + _ROW * len(rows)),
    ]
    for number, (node, row) in enumerate(rows):
        parts.extend(_row(x, node, row, top=_TOP + _ROW * number))
    if timeline.ready is not None:
        place, bottom = x(timeline.ready), _TOP + _ROW * len(rows)
        parts.append(
            f'<line x1="{place}" x2="{place}" y1="{_TOP - 8}" y2="{bottom}" stroke="{_COLOURS["ready"]}" '
            f'stroke-width="2"><title>ComputeDomain Ready after {timeline.ready:g} ms</title></line>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> list[str]:
    texts = {
        "wait": "Prepare waits",
        "label": "node has joined",
        "daemon": "IMEX daemon runs",
        "prepared": "channel prepared",
        "ready": "ComputeDomain Ready",
    }
    parts, place = [], _LEFT
    for name, text in texts.items():
        parts.append(f'<rect x="{place}" y="42" width="10" height="10" fill="{_COLOURS[name]}"/>')
        parts.append(f'<text x="{place + 15}" y="51">{text}</text>')
        place += 28 + 6 * len(text)
    return parts


def _axis(x: Any, last: float, *, bottom: int) -> list[str]:
    step = next(one for one in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10**9) if last / one <= 8)
    parts = []
    for at in range(0, int(last) + 1, step):
        parts.append(f'<line x1="{x(at)}" x2="{x(at)}" y1="{_TOP - 6}" y2="{bottom}" stroke="#e6e6e6"/>')
        parts.append(f'<text x="{x(at)}" y="{bottom + 18}" text-anchor="middle" fill="#555555">{at} ms</text>')
    parts.append(
        f'<text x="{_LEFT}" y="{bottom + 38}" fill="#555555">Time since the ComputeDomain was created. '
        "Nodes and GPUs are simulated.</text>"
    )
    return parts


def _row(x: Any, node: str, row: Row, *, top: int) -> list[str]:
    # Without the suffix that the run gives to cluster-wide names.
    shown = re.sub(r"^(node-\d+)-.*$", r"\1", node)
    parts = [f'<text x="{_LEFT - 10}" y="{top + 14}" text-anchor="end">{escape(shown)}</text>']
    if row.called is not None and row.prepared is not None:
        length = round(max(x(row.prepared) - x(row.called), 1.0), 1)
        parts.append(
            f'<rect x="{x(row.called)}" y="{top + 5}" width="{length}" height="12" fill="{_COLOURS["wait"]}"/>'
        )
    if row.label is not None:
        parts.append(_mark(x(row.label), top, "label", f"{shown} has joined after {row.label:g} ms"))
    if row.daemon is not None:
        parts.append(_mark(x(row.daemon), top, "daemon", f"daemon of {shown} runs after {row.daemon:g} ms"))
    if row.prepared is not None:
        parts.append(_mark(x(row.prepared), top, "prepared", f"channel on {shown} after {row.prepared:g} ms"))
    return parts


def _mark(place: float, top: int, name: str, text: str) -> str:
    return (
        f'<rect x="{round(place - 2, 1)}" y="{top + 3}" width="4" height="16" fill="{_COLOURS[name]}">'
        f"<title>{escape(text)}</title></rect>"
    )


def main() -> int:
    """Write the picture."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "dra-report/events.jsonl")
    with path.open("rb") as lines:
        PICTURE.write_text(draw(read_log(lines)), encoding="utf-8")
    print(f"wrote {PICTURE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
