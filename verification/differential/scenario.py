"""A disagreement on paper: the case as JSON, and a scenario that can be pasted into a feature file."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
import yaml

from dra_api.objects import Obj
from verification.differential.compare import Disagreement

_KINDS = (("slices", "ResourceSlice"), ("classes", "DeviceClass"), ("claims", "ResourceClaim"))


def write(folder: Path, number: int, case: Obj, disagreement: Disagreement) -> Path:
    """Write `NN-….json` and `NN-….feature` into `folder`; `--replay` reads the JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{number:03}-{disagreement.upstream.outcome}-{disagreement.reference.outcome}"
    path = folder / f"{re.sub('[^a-z0-9-]', '', name)}.json"
    path.write_bytes(orjson.dumps(case, option=orjson.OPT_INDENT_2) + b"\n")
    path.with_suffix(".feature").write_text(gherkin(case, disagreement))
    return path


def gherkin(case: Obj, disagreement: Disagreement) -> str:
    """The case as a scenario in the words of `features/`."""
    lines = [
        "Feature: Allocation",
        "",
        f"  # upstream: {disagreement.upstream.outcome} {disagreement.upstream.message}".rstrip(),
        f"  # reference: {disagreement.reference.outcome} {disagreement.reference.message}".rstrip(),
        f"  # features: {', '.join(name for name, on in case['features'].items() if on) or 'none'}",
        f"  Scenario: One case, seen from node {disagreement.node}",
    ]
    word = "Given"
    for node in case["nodes"]:
        labels = ",".join(f"{key}={value}" for key, value in (node["metadata"].get("labels") or {}).items())
        lines.append(f'    {word} a node "{node["metadata"]["name"]}" with labels "{labels}"')
        word = "And"
    for key, kind in _KINDS:
        for obj in case[key]:
            lines += _document(f"{word} the {kind}", obj, kind)
            word = "And"
    if case["taken"]:
        lines += [f"    {word} these devices are in use:", *_block(case["taken"])]
    lines.append("    When a pod that uses the claims is created")
    outcome = disagreement.reference.outcome
    wanted = "is scheduled" if outcome == "allocated" else "stays pending"
    lines.append(f"    Then the pod {wanted}")
    return "\n".join(lines) + "\n"


def _document(step: str, obj: Obj, kind: str) -> list[str]:
    return [f"    {step}:", *_block({"apiVersion": "resource.k8s.io/v1", "kind": kind, **obj})]


def _block(content: object) -> list[str]:
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=False).rstrip()
    return ['      """', *(f"      {line}" for line in text.splitlines()), '      """']
