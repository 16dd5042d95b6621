"""The Helm chart's templates, from the objects of `deploy/kubernetes`: each object with expressions for its values.

The defaults of `values.yaml` give the objects of `deploy/kubernetes` again; a test compares them. `values.yaml`,
`values.schema.json`, `_helpers.tpl` and `NOTES.txt` are written by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import dra_api
from deploy.manifests import node_plugins, render, webhook
from deploy.manifests.chart_suite import suite
from deploy.manifests.deployments import deployment
from deploy.manifests.parts import HEADER, IMAGE, NAMESPACE, PULL, text_of
from deploy.manifests.templating import Block, Each, Guarded, Hole, IfSet, Inline, Template
from dra_api.objects import Obj
from reference_impl.compute_domain.options import FabricGates
from reference_impl.kubelet_plugin.options import FeatureGates

NAME = "dra-reference"
GATES: Mapping[str, tuple[str, ...]] = {
    "driver": tuple(one.name for one in fields(FeatureGates)),
    "computeDomains": tuple(one.name for one in fields(FabricGates)),
    "webhook": ("TimeSlicingSettings", "MPSSupport"),
}
"""The gates in the value `featureGates` that each program knows: it refuses others."""

_COMMENT = "{{- /* " + HEADER.strip("#\n ") + " */ -}}\n"
_LABELS = {
    "helm.sh/chart": f"{NAME}-{dra_api.__version__}",
    "app.kubernetes.io/instance": Inline(".Release.Name | quote"),
    "app.kubernetes.io/managed-by": Inline(".Release.Service"),
}
_POD = ("spec", "template", "spec")
_CONTAINER = (*_POD, "containers", 0)


def files() -> Iterator[tuple[str, str]]:
    """Yield path and content of every generated file of the chart."""
    yield "Chart.yaml", HEADER + text_of([_chart()])
    yield "crds/bind-requests.yaml", HEADER + text_of(render.crds())
    yield "crds/compute-domains.yaml", HEADER + text_of(render.compute_domain_crds())
    for name, condition, text in (
        ("driver", ".Values.resources.gpus.enabled", _driver()),
        ("compute-domains", ".Values.resources.computeDomains.enabled", _compute_domains()),
        ("scheduler", ".Values.scheduler.enabled", _component(render.scheduler(), "scheduler")),
        ("binder", ".Values.binder.enabled", _component(deployment("binder"), "binder")),
        (
            "claim-controller",
            ".Values.claimController.enabled",
            _component(deployment("claim-controller"), "claimController"),
        ),
        (
            "taint-eviction",
            ".Values.taintEviction.enabled",
            _component(deployment("taint-eviction"), "taintEviction"),
        ),
        ("webhook", ".Values.webhook.enabled", _webhook()),
        ("network-policies", ".Values.networkPolicy.enabled", _text([render.closed_to_others()])),
        ("suite", ".Values.suite.enabled", _suite()),
    ):
        yield f"templates/{name}.yaml", f"{_COMMENT}{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n"


@dataclass(slots=True)
class Pods:
    """The expressions that the pods of all components have.

    `values` is the value with the settings of the pod. `resources` has those of its containers, by their index.
    """

    template: Template
    values: str
    resources: Mapping[tuple[str, int], str]
    annotations: str = ""

    def into(self, obj: Obj) -> Obj:
        """Return a Deployment or DaemonSet with the expressions."""
        annotations: Hole = IfSet(f"{self.values}.podAnnotations")
        if self.annotations:
            annotations = Block(f"mergeOverwrite {self.annotations} {self.values}.podAnnotations")
        made = self.template.put(obj, ("spec", "template", "metadata", "annotations"), annotations)
        for name in ("priorityClassName", "nodeSelector", "tolerations", "affinity"):
            made = self.template.put(made, (*_POD, name), IfSet(f"{self.values}.{name}"))
        made = self.template.put(made, (*_POD, "imagePullSecrets"), IfSet("$.Values.imagePullSecrets"))
        for (kind, index), value in self.resources.items():
            made = self.template.put(made, (*_POD, kind, index, "resources"), Block(value))
        verbose = _arguments(made).index("-v")
        return self.template.put(made, (*_CONTAINER, "args", verbose), IfSet('(include "dra-reference.verbosity" $)'))


def _text(objects: Sequence[Obj | Guarded], template: Template | None = None) -> str:
    """Return objects as the text of a template, with the names, images and labels of the release."""
    template = template or Template()
    return template.text([_released(template, one) for one in objects])


def _released(template: Template, one: Obj | Guarded) -> Obj | Guarded:
    if isinstance(one, Guarded):
        return Guarded(one.condition, _named(template, one.obj))
    return _named(template, one)


def _named(template: Template, obj: Obj) -> Obj:
    namespace = template.token(Inline('include "dra-reference.namespace" $'))
    alone = template.token(Inline('include "dra-reference.namespace" $ | quote'))
    image = template.token(Inline('include "dra-reference.image" $ | quote'))
    pull = template.token(Inline("$.Values.image.pullPolicy"))
    whole = {IMAGE: image, PULL: pull, NAMESPACE: alone}
    made: Obj = template.replaced(obj, lambda text: whole.get(text, text.replace(NAMESPACE, namespace)))
    labels = {key: template.token(value) if isinstance(value, Inline) else value for key, value in _LABELS.items()}
    made["metadata"]["labels"] = {**made["metadata"].get("labels", {}), **labels}
    return made


def _component(objects: Sequence[Obj], value: str) -> str:
    """Return the template of a component that runs once."""
    template, values = Template(), f".Values.{value}"
    *others, made = objects
    made = Pods(template, values, {("containers", 0): f"{values}.resources"}).into(made)
    made = template.put(made, (*_CONTAINER, "args", -1), Each(f"{values}.additionalArgs"))
    return _text([*others, made], template)


def _driver() -> str:
    template, values = Template(), ".Values.kubeletPlugin"
    *others, made = node_plugins.driver()
    containers = f"{values}.containers"
    made = Pods(
        template,
        values,
        {("initContainers", 0): f"{containers}.init.resources", ("containers", 0): f"{containers}.gpus.resources"},
        annotations='(dict "checksum/fake-gpus" (include "dra-reference.inventories" . | sha256sum))',
    ).into(made)
    made = _on_node(template, made, f"{containers}.gpus")
    made = template.put(made, (*_CONTAINER, "args", -1), IfSet(_gates("driver")))
    made = template.put(made, (*_CONTAINER, "args", -1), IfSet('(include "dra-reference.consumableShares" .)'))
    inventories = template.put(
        render.fake_gpus(""), ("data",), Block('include "dra-reference.inventories" . | fromYaml')
    )
    return _text([*render.device_classes(), inventories, *others, made], template)


def _compute_domains() -> str:
    template = Template()
    objects = render.compute_domains()
    made: list[Obj] = []
    for one in objects:
        if one["kind"] == "Deployment":
            resources = {("containers", 0): ".Values.controller.containers.computeDomain.resources"}
            one = _imex(template, Pods(template, ".Values.controller", resources).into(one))
            one = template.put(one, (*_CONTAINER, "args", -1), Each(".Values.controller.additionalArgs"))
        elif one["kind"] == "DaemonSet":
            container = ".Values.kubeletPlugin.containers.computeDomains"
            one = Pods(template, ".Values.kubeletPlugin", {("containers", 0): f"{container}.resources"}).into(one)
            one = _imex(template, _on_node(template, one, container))
            label = "--gpu-clique-label-enabled"
            one = template.put(
                one,
                (*_CONTAINER, "args", _arguments(one).index(label)),
                Inline(f'ternary "{label}" "--no-{label[2:]}" {container}.gpuCliqueLabelEnabled'),
            )
            one = template.put(one, (*_CONTAINER, "args", -1), IfSet('(include "dra-reference.imexHostSocketPath" .)'))
        made.append(one)
    refused = _refused(
        "not .Values.resources.gpus.enabled",
        "resources.computeDomains.enabled needs resources.gpus.enabled: the driver makes the fake GPUs of a node",
    ) + _refused(
        'and (eq .Values.resources.computeDomains.imex.mode "hostManaged") '
        "(not .Values.featureGates.HostManagedIMEXDaemon)",
        "resources.computeDomains.imex.mode=hostManaged needs featureGates.HostManagedIMEXDaemon=true",
    )
    return refused + _text([*render.compute_domain_classes(), *made], template)


def _refused(condition: str, message: str) -> str:
    return f'{{{{- if {condition} }}}}\n{{{{- fail "{message}" }}}}\n{{{{- end }}}}\n'


def _imex(template: Template, obj: Obj) -> Obj:
    """Return a workload with the options about IMEX daemons."""
    imex = ".Values.resources.computeDomains.imex"
    for option in ("mode", "isolation"):
        at = _arguments(obj).index(f"--imex-{option}") + 1
        obj = template.put(obj, (*_CONTAINER, "args", at), Inline(f"{imex}.{option} | quote"))
    return template.put(obj, (*_CONTAINER, "args", -1), IfSet(_gates("computeDomains")))


def _on_node(template: Template, obj: Obj, container: str) -> Obj:
    """Return a DaemonSet with the paths of its node and the port of its probes."""
    kubelet = ".Values.kubeletPlugin.kubelet"
    plugins = template.token(Inline(f"{kubelet}PluginsDirectoryPath | quote"))
    registry = template.token(Inline(f"{kubelet}RegistrarDirectoryPath | quote"))
    folder = template.token(Inline(".Values.fakeGpus.hostPath"))
    paths = {node_plugins.PLUGINS: plugins, node_plugins.REGISTRY: registry}
    made: Obj = template.replaced(obj, lambda text: paths.get(text, text.replace(node_plugins.FOLDER, folder)))
    made = _probed(template, made, f"{container}.healthcheckPort")
    return template.put(made, ("spec", "updateStrategy"), IfSet(".Values.kubeletPlugin.updateStrategy"))


def _probed(template: Template, obj: Obj, port: str) -> Obj:
    """Return a DaemonSet that has probes only if the port is not negative."""
    used = f"gt ({port} | int) 0"
    arguments = _arguments(obj)
    at = arguments.index("--healthcheck-port")
    del arguments[at]
    words = Each(f'ternary (list "--healthcheck-port" ({port} | toString)) list ({used})')
    made = template.put(obj, (*_CONTAINER, "args", at), words)
    container = made["spec"]["template"]["spec"]["containers"][0]
    for name in ("startupProbe", "livenessProbe"):
        probe = container[name]
        probe = json.dumps({**probe, "grpc": {**probe["grpc"], "port": "PORT"}}).replace('"PORT"', "%d")
        made = template.put(
            made, (*_CONTAINER, name), IfSet(f"ternary (printf `{probe}` ({port} | int) | fromJson) dict ({used})")
        )
    return made


def _webhook() -> str:
    template, values = Template(), ".Values.webhook"
    account, made, service, policy = webhook.objects()
    secret = webhook.secret(
        template.token(Inline("$certificate.certificate")), template.token(Inline("$certificate.key"))
    )
    secret["data"]["ca.crt"] = template.token(Inline("$certificate.authority"))
    registration = webhook.registration(template.token(Inline("$certificate.authority")))
    service_port = Inline(f"{values}.servicePort | int")
    port = Inline(f"{values}.containerPort | int")
    made = Pods(
        template,
        values,
        {("containers", 0): f"{values}.containers.webhook.resources"},
        # The program reads its certificate once.
        annotations='(dict "checksum/certificate" (sha256sum $certificate.certificate))',
    ).into(made)
    at = _arguments(made).index("--port") + 1
    made = template.put(made, (*_CONTAINER, "args", at), Inline(f"{values}.containerPort | quote"))
    made = template.put(made, (*_CONTAINER, "args", -1), IfSet(_gates("webhook")))
    made = template.put(made, ("spec", "replicas"), Inline(f"{values}.replicas | int"))
    made = template.put(made, (*_CONTAINER, "ports", 0, "containerPort"), port)
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        made = template.put(made, (*_CONTAINER, probe, "httpGet", "port"), port)
    made = template.put(made, (*_POD, "volumes", 1, "secret", "secretName"), Inline("$certificate.secret | quote"))
    service = template.put(service, ("spec", "ports", 0, "port"), service_port)
    service = template.put(service, ("spec", "ports", 0, "targetPort"), port)
    policy = template.put(policy, ("spec", "ingress", 0, "ports", 0, "port"), port)
    registration = template.put(registration, ("webhooks", 0, "clientConfig", "service", "port"), service_port)
    registration = template.put(registration, ("webhooks", 0, "failurePolicy"), Inline(f"{values}.failurePolicy"))
    objects: list[Obj | Guarded] = [
        account,
        Guarded(f'eq {values}.tls.mode "generated"', secret),
        made,
        service,
        Guarded(".Values.networkPolicy.enabled", policy),
        registration,
    ]
    certificate = '{{- $certificate := include "dra-reference.certificate" . | fromYaml }}\n'
    return certificate + _text(objects, template)


def _suite() -> str:
    template = Template()
    return _text(suite(template), template)


def _gates(program: str) -> str:
    known = " ".join(f'"{name}"' for name in GATES[program])
    return f'(include "dra-reference.gates" (dict "gates" .Values.featureGates "known" (list {known})))'


def _arguments(obj: Obj) -> list[Any]:
    found: list[Any] = obj["spec"]["template"]["spec"]["containers"][0]["args"]
    return found


def _chart() -> Obj:
    return {
        "apiVersion": "v2",
        "name": NAME,
        "type": "application",
        "version": dra_api.__version__,
        "appVersion": dra_api.__version__,
        "description": "A DRA system on fake GPUs: driver, scheduler, binder, controllers, and the conformance suite",
        "kubeVersion": ">=1.34.0-0",
    }
