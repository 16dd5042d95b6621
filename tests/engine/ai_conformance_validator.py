"""The rules by which cncf/k8s-ai-conformance validates a submission of release 1.37, as far as they need no network.

Source: cncf/k8s-ai-conformance, scripts/validate.go as of its pull request 141 (September 2026), and
docs/AIConformance-1.37.yaml. URLs and the list of members are not checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

LEVELS = {
    "accelerators": {"driver_runtime_management": "SHOULD", "gpu_sharing": "SHOULD"},
    "schedulingOrchestration": {"gang_scheduling": "MUST"},
    "security": {"secure_accelerator_access": "MUST"},
}
"""The requirements that bundles are about, by category."""
OF_THE_PROGRAMME = {
    "secure_accelerator_access": "TestSecureAcceleratorAccess",
    "gang_scheduling": "TestGangScheduling",
    "cluster_autoscaling": "TestAcceleratorClusterAutoscaling",
}
STATUSES = ("Implemented", "Not Implemented", "Partially Implemented", "N/A")
_RESULT = re.compile(r"\s*--- (PASS|FAIL|SKIP): (\S+)")
_LONGEST = 16 * 1024 * 1024  # the scanner's buffer


def errors(spec: Mapping[str, list[dict[str, Any]]], product: Path) -> list[str]:
    """Return what the validator reports for the requirements of a PRODUCT.yaml in a folder `vX.Y/product`."""
    return [
        error
        for category, rows in spec.items()
        for row in rows
        for error in _requirement(row, LEVELS[category][row["id"]], product)
    ]


def _requirement(row: Mapping[str, Any], level: str, product: Path) -> Iterator[str]:
    name, status, evidence = row["id"], row["status"], row["evidence"]
    if level == "SHOULD" and not status and not evidence:
        return
    if status not in STATUSES:
        yield f"{name}: invalid status {status!r}"
    if level == "MUST" and status != "Implemented":
        yield f"{name}: is MUST, its status is {status!r}"
    if status == "N/A" and not row["notes"].strip():
        yield f"{name}: notes are required"
    for link in evidence:
        yield from _evidence(link, name, status, product)


def _evidence(link: str, name: str, status: str, product: Path) -> Iterator[str]:
    path, _, test = link.removeprefix("file://").partition("#")
    own = f"{product.parent.name}/{product.name}/"
    file = (product / path.removeprefix("/").removeprefix(own)).resolve()
    if not file.is_relative_to(product.resolve()) or not file.is_file():
        yield f"{name}: {link} is not in {product}"
        return
    parse = {"junit.xml": junit, "results.json": go_test_json, "e2e.log": e2e_log}.get(file.name)
    if parse is None:
        return
    found = parse(file.read_bytes())
    if not found:
        yield f"{name}: {link} has no tests"
    if failed := sorted(test for test, outcome in found.items() if outcome == "fail"):
        yield f"{name}: {file.name} has failed tests: {', '.join(failed)}"
    test = test or OF_THE_PROGRAMME.get(name, "")
    if test and test not in found:
        yield f"{name}: {file.name} has no test {test}"
    elif test and found[test] == "skip" and status == "Implemented":
        yield f"{name}: implemented, but {test} was skipped"


def junit(content: bytes) -> dict[str, str]:
    """Return the outcome of each test in a JUnit file."""
    found = {}
    for case in ET.fromstring(content).iter("testcase"):  # noqa: S314 - written by this suite
        bad = case.find("failure") is not None or case.find("error") is not None
        found[case.get("name", "")] = "fail" if bad else "pass" if case.find("skipped") is None else "skip"
    return found


def go_test_json(content: bytes) -> dict[str, str]:
    """Return the outcome of each test in the output of `go test -json`."""
    found = {}
    for line in content.splitlines():
        assert len(line) < _LONGEST
        event = json.loads(line)
        if event["Action"] in ("pass", "fail", "skip") and event.get("Test"):
            found[event["Test"]] = event["Action"]
    return found


def e2e_log(content: bytes) -> dict[str, str]:
    """Return the outcome of each test in the output of `go test -v`."""
    lines = content.decode().splitlines()
    return {match[2]: match[1].lower() for line in lines if (match := _RESULT.match(line))}
