"""The dated results of `make verify-all`: a row for each program and check, and the page that shows them.

Some jobs run for half an hour, so each row has its own date and commit: a single program can be verified again without
the others.
"""

from __future__ import annotations

import datetime
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from verification.jobs import Finished
from verification.third_party.verify import BROKEN

STORE = Path(__file__).with_name("results.json")
_ROOT = Path(__file__).resolve().parents[1]
PAGE = _ROOT / "docs/explanation/verification-results.md"
_WRITTEN = (
    "verification/results.json",
    "verification/release_verdicts.json",
    "docs/explanation/verification-results.md",
    "docs/explanation/nvidia-driver-results.md",
    "docs/explanation/kubernetes-releases.md",
    "reports",
)
"""What `verify --write` writes: a second result must not make the tree look changed."""

NVIDIA = "nvidia-driver-results.md"
"""The page beside `PAGE` that has the figures of NVIDIA's programs between two marks."""
_FIGURES = "<!-- Written by `verify --write` from verification/results.json. -->\n", "<!-- End of the figures. -->\n"

_HEAD = """# Results of the whole verification

<!-- Written by `make verify-all` from verification/results.json. -->

The suite against every third-party program, the checks of the harness against real Kubernetes programs, and all
hand-written mutants: `make verify-all`. CI runs a fixed subset of it (`.ci/README.md`). `python -m verification verify
kubelet --write` runs one job again and replaces its row.

A program is *ok* if it breaks exactly the rules listed in `verification/third_party/expected/`, each with its reason
([third-party results](third-party-results.md)); what it breaks is a finding about the program, not a failed job.

| Program or check | Result | Seconds | Date | Commit | |
|---|---|---:|---|---|---|
"""


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last result of a program or check: `seconds` is its duration, `commit` that of the working tree.

    A program also has the version that was judged, the number of its rules by status, the statuses of those that it
    broke, and the ids of all rules of the run: rules that are newer than the run are not among them. Runs before
    2026-12 have no ids.
    """

    name: str
    summary: str
    seconds: int
    date: str
    commit: str
    exit_code: int
    version: str = ""
    statuses: dict[str, int] = {}
    broken: dict[str, str] = {}
    judged: list[str] = []


def stored(store: Path = STORE) -> list[Row]:
    """Return the rows of a store; none if there is no file. Raises msgspec.ValidationError for another format."""
    return msgspec.json.decode(store.read_bytes(), type=list[Row]) if store.exists() else []


def write(
    ended: Iterable[Finished],
    *,
    known: Iterable[str],
    versions: Mapping[str, str] | None = None,
    store: Path = STORE,
    page: Path = PAGE,
) -> None:
    """Replace the rows of the jobs that ended, with today's date and commit, and write the page.

    Args:
        ended: the jobs that ended.
        known: the names of all jobs. Rows of others are dropped.
        versions: the versions of the programs by name.
        store: the file with all rows.
        page: the Markdown file with the table.
    """
    today, at = datetime.datetime.now(tz=datetime.UTC).date().isoformat(), commit()
    rows = {row.name: row for row in stored(store)}
    for one in ended:
        rows[one.name] = Row(
            name=one.name,
            summary=one.summary.strip(),
            seconds=round(one.seconds),
            date=today,
            commit=at,
            exit_code=one.exit_code,
            version=(versions or {}).get(one.name, ""),
            statuses=dict(sorted(Counter(one.statuses.values()).items())),
            broken={rule: status for rule, status in sorted(one.statuses.items()) if status in BROKEN},
            judged=sorted(one.statuses),
        )
    names = sorted(known)
    kept = [rows[name] for name in names if name in rows]
    store.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n")
    page.write_text(table(kept, missing=[name for name in names if name not in rows]))
    if (nvidia := page.with_name(NVIDIA)).exists():
        nvidia.write_text(with_figures(nvidia.read_text(), kept))


def table(rows: Sequence[Row], *, missing: Sequence[str] = ()) -> str:
    """Return the page for the rows; `missing` are the jobs that were never run."""
    lines = []
    for row in rows:
        state = "FAILED" if row.exit_code else "ok"
        cells = (
            row.name,
            " ".join(row.summary.replace("|", "/").split()),
            str(row.seconds),
            row.date,
            f"`{row.commit}`",
            state,
        )
        lines.append(f"| {' | '.join(cells)} |\n")
    never = f"\nNever run: {'; '.join(missing)}.\n" if missing else ""
    return _HEAD + "".join(lines) + never


def with_figures(page: str, rows: Sequence[Row]) -> str:
    """Return the text of a page with the present figures of NVIDIA's programs between its marks."""
    columns = ("passed", "failed", "untestable", "not-supported", "not-applicable")
    lines = [
        "| Verification | Passed | Failed | Untestable | Not supported | Not applicable | Seconds | Date |\n",
        "|---|---:|---:|---:|---:|---:|---:|---|\n",
    ]
    for row in rows:
        if row.name.startswith("nvidia-") and row.name != "nvidia-device-plugin":
            counts = " | ".join(str(row.statuses.get(column, 0)) for column in columns)
            lines.append(f"| {row.name} | {counts} | {row.seconds} | {row.date} |\n")
    begin, end = _FIGURES
    head, _, rest = page.partition(begin)
    return head + begin + "\n" + "".join(lines) + "\n" + end + rest.partition(end)[2]


def commit(*, root: Path = _ROOT) -> str:
    """Return the commit of the working tree `root`, marked if files differ from it other than stored results."""
    at = _git(root, "rev-parse", "--short=12", "HEAD")
    changed = _git(root, "diff", "--name-only", "HEAD", "--", ".", *(f":!{path}" for path in _WRITTEN))
    return f"{at}-dirty" if changed else at or "unknown"


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, check=False, capture_output=True, text=True).stdout.strip()
