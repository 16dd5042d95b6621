"""The manifests of an Indexed Job that runs the suite in a cluster: one pod for each shard.

Pure functions. The pods read the API server's address and their token from a kubeconfig in a ConfigMap, so that
programs of `exec:` can use it too. Reports are in a PersistentVolumeClaim. One more pod shows it to `kubectl cp`, which
needs a running container with tar; the pods of the Job have ended then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dra_api.objects import Obj
from dra_conformance.core.option_checks import started_on_cluster
from dra_conformance.core.options import RunOptions
from dra_conformance.core.shard import INDEX

NAME = "dra-conformance"
KUBECONFIG = "/etc/dra-conformance/kubeconfig"
REPORTS = "/reports"
READER = "busybox:1.37"
"""The default image of the pod that shows the reports; it has a shell and tar."""
USER = 65532
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_LABELS = {"app.kubernetes.io/name": NAME}
LOCKED: Obj = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
_FINAL = (1, 4, 5, 11, 12, 13)
"""Exit codes of a shard that would end so again: a verdict, or a mistake in the options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the user chose about the Job.

    `words` are the options of the program in the pods. `claim` is an existing PersistentVolumeClaim for the reports;
    empty for one of `storage` bytes that is made. `reader` is an image with a shell and tar. An index runs `attempts`
    times at most.
    """

    shards: int
    image: str
    reader: str
    namespace: str
    account: str
    words: Sequence[str]
    claim: str = ""
    storage: str = "5Gi"
    attempts: int = 3


def parallel(options: RunOptions) -> bool:
    """Return whether shards can run at the same time.

    On one cluster the reference components of each shard would act on the objects of all shards.
    """
    return not started_on_cluster(options)


def objects(options: RunOptions, wanted: Wanted) -> list[Obj]:
    """Return the Job, the ConfigMap of its kubeconfig, the claim, and the pod that shows the reports."""
    on_cluster = options.component("control-plane").kind == "kubeconfig"
    arguments = ["dra_conformance", "run", *indexed(wanted, out="--out"), "--progress", "plain"]
    return of_arguments(wanted, arguments, at_once=parallel(options), on_cluster=on_cluster)


def indexed(wanted: Wanted, *, out: str) -> list[str]:
    """Return the options of a pod: those of the user, its shard, and the folder of its index as the option `out`."""
    # The kubelet replaces the name of the variable.
    return [*map(literal, wanted.words), "--shard", f"auto/{wanted.shards}", out, f"{REPORTS}/$({INDEX})"]


def of_arguments(wanted: Wanted, arguments: Sequence[str], *, at_once: bool, on_cluster: bool) -> list[Obj]:
    """Return the objects of a Job whose containers start with these arguments.

    Args:
        wanted: what the user chose; its words are in the arguments.
        arguments: those of the image's entry point.
        at_once: whether all pods may run at the same time.
        on_cluster: whether the pods get a kubeconfig and the token of their service account.
    """
    metadata = {"name": NAME, "namespace": wanted.namespace, "labels": dict(_LABELS)}
    found: list[Obj] = []
    if on_cluster:
        found.append(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"kubeconfig": KUBECONFIG_TEXT}}
        )
    if not wanted.claim:
        found.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": metadata,
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": wanted.storage}}},
            }
        )
    found.append(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata,
            "spec": {
                "completionMode": "Indexed",
                "completions": wanted.shards,
                "parallelism": wanted.shards if at_once else 1,
                "backoffLimitPerIndex": wanted.attempts - 1,
                "podFailurePolicy": {"rules": _failure_rules()},
                "template": {
                    "metadata": {"labels": dict(_LABELS)},
                    "spec": _pod(wanted, arguments, on_cluster=on_cluster),
                },
            },
        }
    )
    found.append(_reader(wanted))
    return found


def _failure_rules() -> list[Obj]:
    """Return which failed indexes are not run again. A pod that the cluster ended does not count as an attempt."""
    return [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {
            "action": "FailIndex",
            "onExitCodes": {"containerName": "suite", "operator": "In", "values": list(_FINAL)},
        },
    ]


def _pod(wanted: Wanted, arguments: Sequence[str], *, on_cluster: bool) -> Obj:
    mounts = [{"name": "reports", "mountPath": REPORTS}, {"name": "tmp", "mountPath": "/tmp"}]  # noqa: S108 - in the pod
    volumes: list[Obj] = [_reports(wanted), {"name": "tmp", "emptyDir": {}}]
    if on_cluster:
        mounts.append({"name": "kubeconfig", "mountPath": "/etc/dra-conformance"})
        volumes.append({"name": "kubeconfig", "configMap": {"name": NAME}})
    suite: Obj = {
        "name": "suite",
        "image": wanted.image,
        "args": list(arguments),
        "securityContext": LOCKED,
        "volumeMounts": mounts,
    }
    return {
        "restartPolicy": "Never",
        "serviceAccountName": wanted.account if on_cluster else "default",
        "automountServiceAccountToken": on_cluster,
        "securityContext": _security(),
        "containers": [suite],
        "volumes": volumes,
    }


def literal(word: str, *, besides: str = "") -> str:
    """Return a word in which the kubelet replaces nothing, except in the text `besides`."""
    if besides and word.endswith(besides):
        return literal(word.removesuffix(besides)) + besides
    return word.replace("$", "$$")


def _security() -> Obj:
    return {
        "runAsNonRoot": True,
        "runAsUser": USER,
        "runAsGroup": USER,
        "fsGroup": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def _reports(wanted: Wanted) -> Obj:
    return {"name": "reports", "persistentVolumeClaim": {"claimName": wanted.claim or NAME}}


def _reader(wanted: Wanted) -> Obj:
    """Return the pod that shows the reports until it is deleted."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{NAME}-reports",
            "namespace": wanted.namespace,
            "labels": {"app.kubernetes.io/name": f"{NAME}-reports"},
        },
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 1,
            "securityContext": _security(),
            "containers": [
                {
                    "name": "reports",
                    "image": wanted.reader,
                    "command": ["sh", "-c", "while true; do sleep 3600; done"],
                    "securityContext": LOCKED,
                    "volumeMounts": [{"name": "reports", "mountPath": REPORTS, "readOnly": True}],
                }
            ],
            "volumes": [_reports(wanted)],
        },
    }


KUBECONFIG_TEXT = f"""\
apiVersion: v1
kind: Config
current-context: pod
contexts:
- name: pod
  context: {{cluster: pod, user: pod}}
clusters:
- name: pod
  cluster:
    server: https://kubernetes.default.svc
    certificate-authority: {_ACCOUNT}/ca.crt
users:
- name: pod
  user:
    tokenFile: {_ACCOUNT}/token
"""
