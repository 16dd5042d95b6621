"""Runs of the command with a fault in its own code, which Python executes first in every process, also in workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson


def report_of_faulty_run(folder: Path, fault: str, *options: str) -> dict[str, Any]:
    """Run `dra-conformance run` with Python code that is executed first; return the report, which is in `report/`."""
    (folder / "sitecustomize.py").write_text(fault)
    command = [sys.executable, "-m", "dra_conformance", "run", "--out", str(folder / "report"), "--progress", "none"]
    command += ["--report", "json"]
    subprocess.run(
        [*command, *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path[1:]])},
        capture_output=True,
        timeout=300,
        check=False,
    )
    report: dict[str, Any] = orjson.loads((folder / "report" / "report.json").read_bytes())
    return report
