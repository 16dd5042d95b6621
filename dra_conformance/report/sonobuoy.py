"""The results of a run for Sonobuoy: an archive in its results folder, and the file `done` that names it.

Sonobuoy's worker sends the file that `done` names to the aggregator, which reads `RESULT_FILES` in it as JUnit XML.
Without `done` it waits until its time limit is over, so every end of a run has to write it. `done` is written last, and
appears complete. The results of scenarios are in the report's own `junit.xml`. The verdict is a case of its own: a run
without a failed scenario can be not conformant, and a run that was ended has no report.
"""

from __future__ import annotations

import os
import signal
import tarfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec

from dra_conformance.core.errors import ExitCode, SuiteError
from dra_conformance.core.plain_text import one_line, printable
from dra_conformance.report import stored
from dra_conformance.report.files import FORMATS

DONE = "done"
REPORT = "dra-report"
"""The folder of the report in the results folder, and in the archive."""
VERDICT = "verdict.xml"
RESULT_FILES = (FORMATS["junit"], VERDICT)
_ARCHIVE = "dra-conformance.tar.gz"


class End(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended: its exit code (negative for a signal), and the last lines of its output."""

    code: int
    output: Sequence[str] = ()

    @property
    def reason(self) -> str:
        """The exit code in words."""
        if self.code < 0:
            return f"the run was ended by {signal.Signals(-self.code).name}"
        names = {int(one): one.name.lower().replace("_", " ") for one in ExitCode}
        return f"exit code {self.code}: {names.get(self.code, 'unknown')}"


def hand_over(results: Path, end: End) -> Path:
    """Write the archive of a run's results and `done`.

    Args:
        results: Sonobuoy's results folder, which has the report in `REPORT` if there is one.
        end: how the run ended.

    Returns: the file that `done` names. If the archive cannot be written, this is the verdict alone.
    Raises: OSError if nothing can be written.
    """
    verdict = results / VERDICT
    verdict.write_text(_verdict(end, _verdict_of(results / REPORT)), encoding="utf-8")
    archive = results / _ARCHIVE
    try:
        with tarfile.open(archive, "w:gz") as made:
            made.add(verdict, VERDICT, filter=_readable)
            if (results / REPORT).is_dir():
                made.add(results / REPORT, REPORT, filter=_readable)
    except OSError:
        archive.unlink(missing_ok=True)
        archive = verdict
    new = results / f".{DONE}.new"
    new.write_text(f"{archive}\n", encoding="utf-8")
    os.replace(new, results / DONE)
    return archive


def _readable(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Return a file for any user, or None for what is neither a file nor a folder: sockets, links."""
    if not (member.isreg() or member.isdir()):
        return None
    member.mode = 0o755 if member.isdir() else 0o644
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _verdict_of(report: Path) -> str:
    try:
        return str(stored.read(report).verdict)
    except SuiteError:
        return ""


def _verdict(end: End, verdict: str) -> str:
    """Return a document of one case, which passes only if the run ended with exit code 0."""
    passed = end.code == ExitCode.OK
    suite = ET.Element("testsuite", name="dra-conformance", tests="1", failures=str(int(not passed)), errors="0")
    case = ET.SubElement(suite, "testcase", classname="dra-conformance", name="Verdict of the run", time="0")
    if not passed:
        reason = end.reason + (f"; verdict: {verdict}" if verdict else "; there is no report")
        ET.SubElement(case, "failure", message=one_line(reason))
    if end.output:
        ET.SubElement(case, "system-out").text = printable("\n".join(end.output))
    root = ET.Element("testsuites", name="dra-conformance", tests="1")
    root.append(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
