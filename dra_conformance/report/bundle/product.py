"""The fragment of a PRODUCT.yaml: the requirements that the run judged, with status, evidence and notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dra_conformance.core import documents
from dra_conformance.core.status import Status
from dra_conformance.report.bundle.published_versions import PublishedVersion
from dra_conformance.report.bundle.requirements import REQUIREMENTS, Requirement
from dra_conformance.report.bundle.tree import (
    GoTest,
    Outcome,
    identity,
    is_evidence,
    verdict_line,
    why_not_real,
)
from dra_conformance.report.model import Report

_ARTIFACTS = ("junit.xml", "results.json", "e2e.log")
_HEAD = """\
# Fragment of a PRODUCT.yaml for cncf/k8s-ai-conformance. Copy these entries into the file of your product: description
# and level come from the checklist of the release. Paths are relative to the folder of that file.
"""


def fragment(tests: Sequence[GoTest], report: Report, versions: Sequence[PublishedVersion], *, folder: str) -> str:
    """Return the fragment as YAML.

    A status is set only if no part of the system was simulated: `Implemented` for a requirement whose test passed in a
    conformant run, else at most `Partially Implemented`. An empty status is refused by the validator of the programme
    until the vendor fills it in.
    """
    by_name = {test.name: test for test in tests}
    spec: dict[str, list[dict[str, Any]]] = {}
    for one in REQUIREMENTS:
        if _judged(one, report) or (one.versions and by_name[one.test].outcome is Outcome.PASS):
            row = _row(one, by_name[one.test], report, versions, folder=folder)
            spec.setdefault(one.category, []).append(row)
    document = {"metadata": {"kubernetesVersion": f"v{report.target.kubernetes_version.lstrip('v')}"}, "spec": spec}
    # Comments, because a reader of the file must see the verdict first.
    head = "".join(f"# {line}\n" for line in (f"verdict: {verdict_line(report)}", *identity(report)))
    return f"{_HEAD}#\n{head}{documents.dump(document)}"


def _judged(one: Requirement, report: Report) -> list[str]:
    """Return the rules of a requirement that were judged."""
    judged = (Status.PASSED, Status.FAILED, Status.FLAKY, Status.WAIVED)
    return [rule.id for rule in report.rules if rule.id in _rules(one) and rule.status in judged]


def _rules(one: Requirement) -> tuple[str, ...]:
    return (*one.rules, *one.if_judged)


def _row(
    one: Requirement, test: GoTest, report: Report, versions: Sequence[PublishedVersion], *, folder: str
) -> dict[str, Any]:
    status = _status(one, test, report)
    # Nothing is evidence of a run on a simulated system.
    evidence = [f"file://{folder}/{name}#{one.test}" for name in _ARTIFACTS] if status else []
    return {"id": one.id, "status": status, "evidence": evidence, "notes": " ".join(_notes(one, report, versions))}


def _status(one: Requirement, test: GoTest, report: Report) -> str:
    if why_not_real(report):
        return ""
    if test.outcome is Outcome.PASS and is_evidence(report):
        return "Implemented"
    passed = {rule.id for rule in report.rules if rule.status is Status.PASSED} & set(_rules(one))
    return "Partially Implemented" if passed or test.outcome is Outcome.PASS else "Not Implemented"


def _notes(one: Requirement, report: Report, versions: Sequence[PublishedVersion]) -> Iterator[str]:
    if reasons := why_not_real(report):
        yield f"No evidence: {', '.join(reasons)}."
    elif not is_evidence(report):
        yield "The run is not conformant, or judged only a part of the rules."
    yield f"dra-conformance {report.suite.version}: {verdict_line(report)}."
    statuses = {rule.id: rule.status.value for rule in report.rules}
    yield f"Rules: {', '.join(f'{name} {statuses[name]}' for name in _rules(one) if name in statuses) or 'none'}."
    if one.versions:
        yield f"Published in ResourceSlices: {', '.join(map(str, versions)) or 'no attribute of type version'}."
