"""`dra-conformance explain`: every place of a rule, with lines that are right."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dra_conformance.cli import call
from dra_conformance.core.errors import ExitCode, SpecificationError
from dra_conformance.engine.code_places import RecordingPatch, of_target

ROOT = Path(__file__).resolve().parents[2]


def line(place: dict[str, object]) -> str:
    return (ROOT / str(place["file"])).read_text().splitlines()[int(str(place["line"])) - 1]


def test_a_rule_with_its_places(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["explain", "nv-060"]) == ExitCode.OK
    out = capsys.readouterr().out
    for pattern in (
        r"^NV-060  SHOULD  driver$",
        r"^source     \S",
        r"^releases   \S",
        r"^catalogue  fixtures/rules/driver\.yaml:\d+$",
        r"^profiles   .*driver-core",
        r"^  features/driver/refusals\.feature:\d+  ",
        r"^      Then claim ",
        r"^  dra_conformance/steps/\w+\.py:\d+  Given ",
        r"^  dra_conformance/mutants/driver\.py:\d+  \S+: ",
        r"^  reference_impl/kubelet_plugin/prepare\.py:\d+  reference_impl\.kubelet_plugin\.prepare:\w+",
        r"^  dra-example-driver v\S+  failed: ",
        r"^run its scenarios: dra-conformance run --rule NV-060$",
    ):
        assert re.search(pattern, out, re.MULTILINE), pattern


def test_the_lines_of_the_json_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["explain", "NV-060", "--format", "json"]) == ExitCode.OK
    document = json.loads(capsys.readouterr().out)
    assert document["rule"]["id"] == "NV-060"
    places = document["places"]
    assert "id: NV-060" in line(places["catalogue"])
    assert all(re.search(r"Scenario|\|", line(each["place"])) for each in places["scenarios"])
    assert all(re.match(r"@(given|when|then)\(", line(each["place"])) for each in places["steps"])
    assert all(line(each["place"]).startswith("@mutant(") for each in places["mutants"])
    assert all("def " in line(each["place"]) for each in places["code"])
    assert {each["program"] for each in places["third_party"]} >= {"dra-example-driver"}
    assert all((ROOT / each["file"]).is_file() for each in places["third_party"])


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("dra_conformance.core.process:ManagedProcess.stop", "def stop("),
        ("dra_conformance.core.process:ManagedProcess.running", "@property"),
        ("dra_conformance.core.component_spec:ComponentSpec.parse", "@classmethod"),
        ("dra_conformance.core.component_spec:ComponentSpec", "class ComponentSpec"),
        ("dra_conformance.core.component_spec:FLAGS", "FLAGS = "),
        ("dra_conformance.core.status:Status.PASSED", "PASSED = "),
    ],
)
def test_the_place_of_a_target(target: str, expected: str) -> None:
    place = of_target(target)
    text = (ROOT / place.file).read_text().splitlines()[place.line - 1 :]
    assert any(expected in each for each in text[:2])


def test_a_target_that_does_not_exist() -> None:
    with pytest.raises(SpecificationError, match="does not exist"):
        of_target("dra_conformance.core.process:nothing")


def test_a_c_source_has_a_line() -> None:
    patch = RecordingPatch()
    patch.source("device/memory.c", "if (out->version != VERSION(nvmlMemory_v2_t, 2)) return E_FUNCTION_NOT_FOUND;", "")
    (target,) = patch.targets
    assert "nvmlMemory_v2_t" in (ROOT / target.place.file).read_text().splitlines()[target.place.line - 1]


EVERY = """
from pathlib import Path
from dra_conformance.engine import code_places, mutation

for mutant in mutation.load():
    found = code_places.targets(mutant)
    assert found, f"{mutant.id} has no target"
    for target in found:
        path = Path(target.place.file)
        assert path.is_file(), (mutant.id, target)
        assert 0 < target.place.line <= len(path.read_text().splitlines()), (mutant.id, target)
        if target.place.line == 1:
            print(mutant.id, target.name)
"""


def test_every_mutant_has_targets_with_a_line() -> None:
    """In a process of its own: it imports every module that a mutant changes."""
    done = subprocess.run(
        [sys.executable, "-c", EVERY], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "", "targets whose line was not found"
