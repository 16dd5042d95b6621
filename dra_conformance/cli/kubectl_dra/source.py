"""Where `kubectl dra` reads objects: files from kubectl, or the cluster of a kubeconfig.

On a cluster it lists nodes, pods, events, quotas and everything of resource.k8s.io. A kind that the user may not list,
or that the cluster does not serve, is reported and missing from the answer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from dra_api import plain_yaml, regular_file
from dra_api.client import ApiError, Forbidden, KubeClient, NotFound
from dra_api.kubeconfig import KubeconfigError
from dra_api.objects import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    EVENTS,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_QUOTAS,
    RESOURCE_SLICES,
    Resource,
)
from dra_api.transport import HttpTransport, TransportError
from dra_conformance.cli import dump_files
from dra_conformance.cli.terminal import say
from dra_conformance.control_plane.kubeconfig import KubeconfigControlPlane
from dra_conformance.core.errors import TargetUnreachable, UsageError
from dra_conformance.oracle import dumps
from dra_conformance.oracle.dumps import Dump, Located

_NEEDED = (NODES, PODS, RESOURCE_SLICES, DEVICE_CLASSES, RESOURCE_CLAIMS)
_MORE = (RESOURCE_CLAIM_TEMPLATES, DEVICE_TAINT_RULES, RESOURCE_QUOTAS)
_OPTIONS = (
    (("-f", "--filename"), "FILE", "Read the output of kubectl in this file or folder instead of a cluster."),
    (("--kubeconfig",), "FILE", "Use this kubeconfig. [default: KUBECONFIG, then ~/.kube/config]"),
    (("--context",), "NAME", "Use this context of the kubeconfig."),
    (("-n", "--namespace"), "NS", "Look at this namespace."),
)
_PAGE = 500
_AGENT = "kubectl-dra"


@dataclass(frozen=True, slots=True)
class Source:
    """The options of a command that say where objects come from. `context` empty: the kubeconfig's current one."""

    files: tuple[str, ...]
    kubeconfig: str
    context: str
    namespace: str

    def read(self, *, events: bool = False) -> Dump:
        """Return all objects. `events`: also those of pods.

        Raises UsageError for unusable files and objects, TargetUnreachable for a cluster that does not answer.
        """
        if self.files:
            return dump_files.read(self.files)
        return dumps.of(self._listed([*_NEEDED, *_MORE, *([EVENTS] if events else [])]))

    @property
    def default_namespace(self) -> str:
        """The namespace of the command line, else of the kubeconfig's context, else `default`."""
        return self.namespace or (self._context_namespace() if not self.files else "") or "default"

    def _listed(self, resources: Sequence[Resource]) -> Iterator[Located]:
        try:
            transport = HttpTransport.from_kubeconfig(self.kubeconfig or None, context=self.context or None)
        except KubeconfigError as error:
            raise UsageError(str(error), hint="Or use -f FILE with the output of kubectl.") from None
        client = KubeClient(transport, user_agent=_AGENT)
        try:
            for resource in resources:
                for obj in _all(client, resource):
                    yield Located(obj, "the cluster")
        except (ApiError, TransportError) as error:
            raise TargetUnreachable(
                f"the cluster cannot be read: {error}", hint="`kubectl get pods` with the same options must work."
            ) from None
        finally:
            transport.close()

    def _context_namespace(self) -> str:
        path = KubeconfigControlPlane(self.kubeconfig).kubeconfig
        try:
            found: Any = plain_yaml.load(regular_file.read(path))
            chosen = self.context or found["current-context"]
            named = [entry["context"] for entry in found["contexts"] if entry["name"] == chosen]
            return str(named[0].get("namespace") or "")
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return ""  # several files, or none: `default`, as kubectl does without a context


def _all(client: KubeClient, resource: Resource) -> list[Any]:
    try:
        return client.list(resource, limit=_PAGE).items
    except Forbidden:
        problem = "this user may not list them"
    except (NotFound, LookupError):
        if resource not in _NEEDED:
            return []
        problem = "the cluster does not serve them"
    say(f"not read: {resource.plural} ({problem})", err=True)
    return []


def options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options of a source to a command, which gets them as `source`."""

    @functools.wraps(function)
    def command(filename: tuple[str, ...], kubeconfig: str, context: str, namespace: str, **others: Any) -> int:
        if filename and (kubeconfig or context):
            raise UsageError("-f excludes --kubeconfig and --context", hint="Remove one of them.")
        return function(source=Source(filename, kubeconfig, context, namespace), **others)

    decorated: Callable[..., int] = command
    for names, metavar, text in reversed(_OPTIONS):
        multiple = "--filename" in names
        option = click.option(*names, metavar=metavar, help=text, multiple=multiple, default=() if multiple else "")
        decorated = option(decorated)
    return decorated
