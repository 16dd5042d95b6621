"""`dra-conformance job`: prints the manifests of an Indexed Job that runs the suite in a cluster, in shards."""

from __future__ import annotations

import re
from typing import Any

import click
import msgspec
import yaml
from click.core import ParameterSource

from dra_api import __version__
from dra_conformance.cli.option_decorators import GroupedCommand, run_options
from dra_conformance.core.configuration import options_of
from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.core.options import RunOptions
from dra_conformance.core.shard import MOST
from dra_conformance.rbac import job, roles
from dra_conformance.rbac import sonobuoy as plugin
from dra_conformance.report import repeat
from dra_conformance.report.sonobuoy import RESULT_FILES

_SET_BY_THE_JOB = ("shard", "out", "progress")
_OF_THIS_MACHINE = ("features", "sign-key", "waivers", "companions", "dry-run")
"""Options that the pods cannot have: files of this machine, and what is in dra-conformance.toml only."""
_OF_THE_JOB = ("shards", "reader-image", "namespace", "claim", "attempts")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?", re.ASCII)


@click.command(cls=GroupedCommand, epilog="docs/how-to/shards.md describes how to fetch and merge the reports.")
@run_options(control_plane="kubeconfig")
@click.option("--shards", metavar="N", type=click.IntRange(1, MOST), default=4, show_default=True, help="Run N shards.")
@click.option(
    "--image",
    metavar="IMAGE",
    default=f"dra-conformance:{__version__}",
    show_default=True,
    help="Run this image, which has the suite and the programs of exec:.",
)
@click.option(
    "--reader-image",
    metavar="IMAGE",
    default=job.READER,
    show_default=True,
    help="Run this image, which has sh and tar, in the pod for kubectl cp.",
)
@click.option(
    "--namespace",
    metavar="NAME",
    default=None,
    help="Use this existing namespace. [default: dra-conformance, whose manifest is printed, too]",
)
@click.option(
    "--claim",
    metavar="NAME",
    default="",
    help="Write the reports to this existing PersistentVolumeClaim. [default: dra-conformance, whose manifest is "
    "printed, too]",
)
@click.option(
    "--attempts",
    metavar="N",
    type=click.IntRange(1, 10),
    default=3,
    show_default=True,
    help="Run a shard up to N times if its pod fails or the target cannot be reached.",
)
@click.option(
    "--sonobuoy",
    is_flag=True,
    help="Print a plugin of Sonobuoy instead, which runs the suite in one pod. Excludes --shards, --reader-image, "
    "--namespace, --claim and --attempts.",
)
def command(
    shards: int,
    image: str,
    reader_image: str,
    namespace: str | None,
    claim: str,
    attempts: int,
    sonobuoy: bool,
    workers: int | None,
    **given: Any,
) -> int:
    """Print the manifests of an Indexed Job that runs the suite in a cluster. Nothing is applied.

    The options of `run` select scenarios and components; each pod runs one shard with them. The default,
    --control-plane kubeconfig, tests the cluster of the Job. The printed service account then has the permissions that
    `rbac` prints. With --control-plane embedded the pods need no permissions.

    \b
    Examples:
      dra-conformance job --shards 4 --profile api | kubectl apply -f -
      dra-conformance job --sonobuoy --profile api > plugin.yaml
      dra-conformance job --shards 8 --control-plane embedded --image registry.example.com/dra-conformance:0.2.0
    """
    given["control_plane"] = given.get("control_plane") or "kubeconfig"
    options = options_of({name.replace("_", "-"): value for name, value in given.items()})
    _check(options, names={"--namespace": namespace or "", "--claim": claim})
    kind = options.component("control-plane").kind
    words = repeat.words(
        {name: value for name, value in msgspec.to_builtins(options).items() if name not in _SET_BY_THE_JOB},
        given={"control-plane": options.control_plane},
    )
    if kind == "kubeconfig":
        path = plugin.KUBECONFIG if sonobuoy else job.KUBECONFIG
        words[words.index("--control-plane") + 1] = f"kubeconfig:{path}"
    if workers is not None:
        words += ["-n", str(workers)]
    if sonobuoy:
        _check_plugin()
        found = plugin.manifest(image=image, words=words, result_files=RESULT_FILES, on_cluster=kind == "kubeconfig")
        click.echo(yaml.safe_dump(found, sort_keys=False, width=110), nl=False)
        return ExitCode.OK
    subject = roles.Subject("dra-conformance", namespace or "dra-conformance")
    wanted = job.Wanted(
        shards=shards,
        image=image,
        reader=reader_image,
        namespace=subject.namespace,
        account=subject.name,
        words=words,
        claim=claim,
        attempts=attempts,
    )
    objects = job.objects(options, wanted)
    if kind == "kubeconfig":
        account = {"name": subject.name, "namespace": subject.namespace}
        objects[:0] = [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
            *roles.objects(options, subject),
        ]
    if namespace is None:
        objects[:0] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": subject.namespace}}]
    if not job.parallel(options):
        click.echo("# One shard after the other: reference components of two shards would act on the same objects.")
    click.echo(yaml.safe_dump_all(objects, sort_keys=False, width=110), nl=False)
    return ExitCode.OK


def _check_plugin() -> None:
    """Raise UsageError for options about objects that a plugin of Sonobuoy does not have."""
    context = click.get_current_context()
    for name in _OF_THE_JOB:
        if context.get_parameter_source(name.replace("-", "_")) is not ParameterSource.DEFAULT:
            raise UsageError(
                f"--{name} is for a Job, and --sonobuoy prints a plugin",
                hint="A plugin is one pod in the namespace of Sonobuoy, which starts it once and fetches its results.",
            )


def _check(options: RunOptions, *, names: dict[str, str]) -> None:
    """Raise UsageError for options that the pods of the Job cannot have."""
    for option, name in names.items():
        if name and not _NAME.fullmatch(name):
            raise UsageError(f"{option} {name!r}: not the name of an object in Kubernetes")
    kind = options.component("control-plane").kind
    if kind not in ("kubeconfig", "embedded", "binaries"):
        raise UsageError(
            f"--control-plane {options.control_plane}: cannot run in a pod",
            hint="Use kubeconfig for the cluster of the Job, or embedded.",
        )
    if options.component("control-plane").argument:
        raise UsageError(
            f"--control-plane {options.control_plane}: the pods do not have this file",
            hint="Use --control-plane kubeconfig: the pods use their service account.",
        )
    for name in (*_SET_BY_THE_JOB, *_OF_THIS_MACHINE):
        value = getattr(options, name.replace("-", "_"))
        if value and value != getattr(RunOptions(), name.replace("-", "_")):
            reason = "is set by the Job" if name in _SET_BY_THE_JOB else "cannot be passed to the pods"
            raise UsageError(f"{name} {reason}", hint="Remove the option, or its key in dra-conformance.toml.")
