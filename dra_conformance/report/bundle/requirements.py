"""The requirements of Kubernetes AI conformance that rules of the suite are evidence for.

Source: cncf/k8s-ai-conformance, docs/AIConformance-1.37.yaml. The other requirements (inference, autoscaling, metrics,
operators) are not about DRA.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One requirement: category and id as in the checklist, and the test that stands for it.

    `rules`: each of them must have passed. `if_judged`: rules of one driver, which must not have failed.
    `versions`: it also needs versions in ResourceSlices.
    """

    category: str
    id: str
    test: str
    rules: tuple[str, ...] = ()
    if_judged: tuple[str, ...] = ()
    versions: bool = False


# The prefix keeps them apart from the tests of the programme, such as TestSecureAcceleratorAccess, which these are not.
REQUIREMENTS = (
    Requirement(
        category="accelerators",
        id="driver_runtime_management",
        test="TestDRADriverRuntimeManagement",
        if_judged=("NV-021", "NV-022"),
        versions=True,
    ),
    Requirement(
        category="accelerators",
        id="gpu_sharing",
        test="TestDRAGPUSharing",
        rules=("DRA-189", "DRA-190", "DRA-191", "DRA-201", "DRA-212"),
        if_judged=("NV-029",),
    ),
    Requirement(
        category="schedulingOrchestration",
        id="gang_scheduling",
        test="TestDRAGangScheduling",
        rules=("KAI-029", "KAI-030", "KAI-360"),
    ),
    Requirement(
        category="security",
        id="secure_accelerator_access",
        test="TestDRASecureAcceleratorAccess",
        rules=("DRA-271b", "DRA-271c", "NV-064"),
    ),
)
