"""The suite in the chart: the objects of `dra-conformance job`, with expressions for its options."""

from __future__ import annotations

from deploy.manifests.parts import IMAGE, NAMESPACE
from deploy.manifests.templating import Each, Guarded, IfSet, Inline, Template
from dra_api.objects import Obj
from dra_conformance.core.configuration import from_mapping
from dra_conformance.rbac import job, roles

SHARDS, ATTEMPTS = 4, 3
_CONTAINER = ("spec", "template", "spec", "containers", 0)
_LITERAL = 'replace "$" "$$"'
"""The kubelet replaces nothing in such a word; `job.literal` does the same."""


def suite(template: Template) -> list[Obj | Guarded]:
    """Return the objects, in the order of the command's output."""
    options = from_mapping({"control-plane": "kubeconfig"}, where="the chart")
    subject = roles.Subject(job.NAME, NAMESPACE)
    wanted = job.Wanted(
        shards=SHARDS,
        image=IMAGE,
        reader=job.READER,
        namespace=NAMESPACE,
        account=subject.name,
        words=["--control-plane", f"kubeconfig:{job.KUBECONFIG}"],
        attempts=ATTEMPTS,
    )
    account: Obj = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": subject.name, "namespace": subject.namespace},
    }
    configuration, claim, indexed, reader = job.objects(options, wanted)
    claim = template.put(claim, ("spec", "resources", "requests", "storage"), Inline(".Values.suite.storage | quote"))
    kept = IfSet('ternary (dict "helm.sh/resource-policy" "keep") dict .Values.suite.keepClaim')
    claim = template.put(claim, ("metadata", "annotations"), kept)
    return [
        account,
        *roles.objects(options, subject),
        configuration,
        Guarded("not .Values.suite.claim", claim),
        _indexed(template, indexed),
        _reader(template, reader),
    ]


def _indexed(template: Template, obj: Obj) -> Obj:
    values = ".Values.suite"
    made = template.put(obj, ("spec", "completions"), Inline(f"{values}.shards | int"))
    made = template.put(made, ("spec", "parallelism"), Inline(f"{values}.parallelism | default {values}.shards | int"))
    made = template.put(made, ("spec", "backoffLimitPerIndex"), Inline(f"sub {values}.attempts 1"))
    words = made["spec"]["template"]["spec"]["containers"][0]["args"]
    words[words.index(f"auto/{SHARDS}")] = f"auto/{template.token(Inline(f'{values}.shards | int'))}"
    made = template.put(made, (*_CONTAINER, "args", -1), Each(f"{values}.args", filter_=_LITERAL))
    made = template.put(made, (*_CONTAINER, "imagePullPolicy"), Inline(".Values.image.pullPolicy"))
    made = template.put(made, (*_CONTAINER, "resources"), IfSet(f"{values}.resources"))
    return _placed(template, made, made["spec"]["template"]["spec"])


def _reader(template: Template, obj: Obj) -> Obj:
    made = template.put(obj, ("spec", "containers", 0, "image"), Inline(".Values.suite.readerImage | quote"))
    return _placed(template, made, made["spec"])


def _placed(template: Template, obj: Obj, pod: Obj) -> Obj:
    """Return an object whose pod has the claim and the place of the values.

    The pod that shows the reports needs the place, too: the claim may be mounted by the pods of one node only.
    """
    for name in ("nodeSelector", "tolerations", "affinity"):
        pod[name] = template.token(IfSet(f".Values.suite.{name}"))
    pod["imagePullSecrets"] = template.token(IfSet(".Values.imagePullSecrets"))
    for one in pod["volumes"]:
        if "persistentVolumeClaim" in one:
            claim = f'.Values.suite.claim | default "{job.NAME}" | quote'
            one["persistentVolumeClaim"] = {"claimName": template.token(Inline(claim))}
    return obj
