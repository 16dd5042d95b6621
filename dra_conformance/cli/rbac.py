"""`dra-conformance rbac`: prints the permissions that a run on a cluster requires, as YAML for `kubectl apply`."""

from __future__ import annotations

from typing import Any

import click
import yaml

from dra_conformance.cli.option_decorators import GroupedCommand, run_options
from dra_conformance.core.configuration import options_of
from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.rbac import roles


@click.command(cls=GroupedCommand, epilog="docs/how-to/your-cluster.md describes how these roles are verified.")
@run_options(shared=True, control_plane="kubeconfig")
@click.option("--user", metavar="NAME", default=None, help="Bind the roles to this user.")
@click.option(
    "--serviceaccount",
    metavar="NAME",
    default=None,
    help="Bind the roles to this service account. [default: dra-conformance]",
)
@click.option(
    "--namespace",
    metavar="NAME",
    default=None,
    help="Set the namespace of the service account. [default: dra-conformance]",
)
def command(user: str | None, serviceaccount: str | None, namespace: str | None, **given: Any) -> int:
    """Print minimal RBAC permissions for `run` with the same options.

    The harness, its cleanup and each reference component of the run have one ClusterRole each. If you test another
    scheduler, the permissions of the reference scheduler are not granted. Programs that are started with exec: need
    permissions of their own, which this command does not print.

    \b
    Examples:
      dra-conformance rbac --profile api | kubectl apply -f -
      dra-conformance rbac --user jane@example.com --profile driver-core --kubelet reference
      dra-conformance rbac --serviceaccount ci --namespace build
    """
    if user is not None and (serviceaccount is not None or namespace is not None):
        raise UsageError("--user excludes --serviceaccount and --namespace", hint="Remove one of them.")
    given["control_plane"] = given.get("control_plane") or "kubeconfig"
    options = options_of({name.replace("_", "-"): value for name, value in given.items()})
    if options.component("control-plane").kind != "kubeconfig":
        raise UsageError(
            f"--control-plane {options.control_plane}: requires no permissions",
            hint="Remove the option, or use kubeconfig.",
        )
    made = namespace or "dra-conformance"
    subject = roles.Subject(user) if user is not None else roles.Subject(serviceaccount or "dra-conformance", made)
    objects = roles.objects(options, subject)
    if user is None:
        account = {"name": subject.name, "namespace": subject.namespace}
        objects[:0] = [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}]
        if namespace is None:
            objects[:0] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": made}}]
    profiles = ", ".join(options.profile) or "all"
    click.echo(f"# dra-conformance: profiles {profiles}; permissions of {', '.join(roles.needed_roles(options))}")
    for name, spec in options.components().items():
        if spec.kind == "exec":
            click.echo(f"# --{name} exec: uses the same kubeconfig; add the permissions that the program requires")
    click.echo(yaml.safe_dump_all(objects, sort_keys=False, default_flow_style=None, width=110), nl=False)
    return ExitCode.OK
