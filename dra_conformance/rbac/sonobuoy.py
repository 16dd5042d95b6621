"""The manifest of the suite as a plugin of Sonobuoy, which starts one pod for it. A pure function.

Sonobuoy adds to the pod: a worker that sends the results, the volume `results`, and the variables with the folders of
results and of configuration. Its worker runs as another user, so the plugin's user is that of its container only.
"""

from __future__ import annotations

from collections.abc import Sequence

from dra_api.objects import Obj
from dra_conformance.rbac import job

KUBECONFIG = "$(SONOBUOY_CONFIG_DIR)/kubeconfig"
"""The kubelet replaces the variable."""
ACCOUNT = "sonobuoy-serviceaccount"
"""The account of Sonobuoy's own pods."""
_RESULTS = "/tmp/sonobuoy/results"  # noqa: S108 - in the pod; Sonobuoy replaces it by its own setting


def manifest(*, image: str, words: Sequence[str], result_files: Sequence[str], on_cluster: bool) -> Obj:
    """Return the manifest.

    Args:
        image: has the suite, and the programs of exec:.
        words: the options of `run`.
        result_files: the names of the files with JUnit results.
        on_cluster: whether the target is the cluster of the plugin, which the pod reaches with its account.
    """
    made: Obj = {
        "sonobuoy-config": {
            "driver": "Job",
            "plugin-name": job.NAME,
            "result-format": "junit",
            "result-files": list(result_files),
            "description": "Conformance tests for Dynamic Resource Allocation",
        },
        "podSpec": {
            "containers": [],
            "restartPolicy": "Never",
            "serviceAccountName": ACCOUNT,
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        },
        "spec": {
            "name": "plugin",
            "image": image,
            "args": ["dra_conformance", "sonobuoy", *(job.literal(word, besides=KUBECONFIG) for word in words)],
            "securityContext": {
                **job.LOCKED,
                "runAsNonRoot": True,
                "runAsUser": job.USER,
                "runAsGroup": job.USER,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "volumeMounts": [
                {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - in the pod
                {"name": "results", "mountPath": _RESULTS},
            ],
        },
    }
    if on_cluster:
        made["config-map"] = {"kubeconfig": job.KUBECONFIG_TEXT}
    return made
