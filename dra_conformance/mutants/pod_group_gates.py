"""The release and feature gates that mutants of PodGroups run with."""

from __future__ import annotations

from typing import Any

GATES = ("GenericWorkload=true", "DRAWorkloadResourceClaims=true")
ON: dict[str, Any] = {"kubernetes_version": "1.37", "feature_gates": GATES}
