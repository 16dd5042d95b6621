"""Generate dra_conformance/pytest_plugin/durations.json from a report: `python -m tools.gen_durations [REPORT.JSON]`.

Use a run of the reference on a quiet machine (`make run`). With the report of a driver or binder that is a program,
such as NVIDIA's driver or KAI's binder, it generates durations_driver.json or durations_binder.json.
"""

from __future__ import annotations

import sys
from pathlib import Path

import orjson

from dra_conformance.pytest_plugin.longest_first import FAST, RECORDED, RECORDED_FOR


def durations(report: bytes) -> bytes:
    """Return the seconds of the slow scenarios of a report by id, slowest first, as JSON."""
    rows = [(round(row["duration"], 1), row["id"]) for row in orjson.loads(report)["scenarios"]]
    slow = sorted((row for row in rows if row[0] >= FAST), key=lambda row: (-row[0], row[1]))
    return orjson.dumps({ident: seconds for seconds, ident in slow}, option=orjson.OPT_INDENT_2) + b"\n"


def main() -> int:
    """Write the file."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "dra-report/report.json")
    report = path.read_bytes()
    target = orjson.loads(report)["target"]["components"]
    programs = [path for name, path in RECORDED_FOR.items() if target[name] != "reference"]
    recorded = programs[0] if programs else RECORDED
    recorded.write_bytes(durations(report))
    print(f"wrote {recorded}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
