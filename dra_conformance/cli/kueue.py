"""What `dra-conformance check --kueue` reports: the quota that Kueue charges for each pod with claims of templates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dra_api.objects import Obj, key_of, name_of, namespace_of
from dra_conformance.cli.node_groups import identified
from dra_conformance.core import documents
from dra_conformance.core.errors import UsageError
from dra_conformance.oracle.cluster import read_claim
from dra_conformance.oracle.dumps import Dump
from dra_conformance.oracle.kueue_quota import Mappings, Refused, charges
from dra_conformance.oracle.schema import Claim


@dataclass(frozen=True, slots=True)
class PodQuota:
    """The quota of one pod: what is charged by resource, or why Kueue does not admit it."""

    pod: str
    charged: dict[str, int] = field(default_factory=dict)
    refused: str = ""
    retried: bool = False

    def __str__(self) -> str:
        if self.refused:
            return f"pod {self.pod}: not admitted{' for now' if self.retried else ''}: {self.refused}"
        shown = ", ".join(f"{name} {amount}" for name, amount in sorted(self.charged.items()))
        return f"pod {self.pod}: {shown or 'nothing'}"


def read_mappings(path: str) -> Mappings:
    """Read `resources.deviceClassMappings` of Kueue's Configuration. Raises UsageError."""
    try:
        found = documents.load_all(Path(path).read_text(encoding="utf-8"), where=path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--kueue: cannot read {path}: {error}") from None
    for document in found:
        if isinstance(document, dict) and document.get("kind") == "Configuration":
            try:
                return Mappings.of(_entries(document))
            except (AttributeError, KeyError, TypeError) as error:
                raise UsageError(
                    f"--kueue {path}: resources.deviceClassMappings is malformed: {type(error).__name__} {error}"
                ) from None
    raise UsageError(f"--kueue {path}: there is no Configuration of Kueue (config.kueue.x-k8s.io)")


def _entries(document: dict[str, Any]) -> list[Obj]:
    return list((document.get("resources") or {}).get("deviceClassMappings") or ())


def quotas(dump: Dump, mappings: Mappings) -> Iterator[PodQuota]:
    """Yield the quota of each pod that has a claim of a template or an extended resource of a class."""
    templates: dict[str, dict[str, Claim]] = {}
    for obj in map(identified, dump.of_kind("ResourceClaimTemplate")):
        claim = {"apiVersion": obj["apiVersion"], "kind": "ResourceClaim", "metadata": obj["metadata"]}
        claim["spec"] = (obj.get("spec") or {}).get("spec") or {}
        templates.setdefault(namespace_of(obj), {})[name_of(obj)] = read_claim(claim)
    for pod in map(identified, dump.of_kind("Pod")):
        name, spec = "/".join(key_of(pod)), pod.get("spec") or {}
        try:
            charged = charges(dump.cluster, templates.get(namespace_of(pod), {}), spec, mappings)
        except Refused as refused:
            yield PodQuota(name, refused=str(refused), retried=refused.retried)
            continue
        if charged or any(entry.get("resourceClaimTemplateName") for entry in spec.get("resourceClaims") or ()):
            yield PodQuota(name, charged)
