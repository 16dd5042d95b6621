"""`dra-conformance run`: one option a component, then which scenarios, then how and where."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import Any

import click

from dra_conformance.core import declaration
from dra_conformance.core.errors import ExitCode
from dra_conformance.core.options import RunOptions, config_file, from_mapping, redact

_COMPONENT_HELP = {
    "control-plane": "embedded, binaries, k3s or kubeconfig[:FILE].",
    "claim-controller": "reference, exec:COMMAND, kube-controller-manager, cluster or none.",
    "scheduler": "reference[:publish=direct,bug-compatible=1.36], exec:COMMAND, kube-scheduler, cluster or none.",
    "binder": "reference, exec:COMMAND, cluster or none.",
    "kubelet": "reference, kubelet (a real one, with containers) or cluster.",
    "driver": "reference, exec:COMMAND, socket:PATH or cluster.",
    "compute-domain-controller": "reference, exec:COMMAND (a controller), cluster or none.",
    "taint-eviction": "reference, exec:COMMAND, kube-controller-manager, cluster or none.",
    "webhook": "reference, exec:COMMAND, cluster or none.",
}


def run_options(function: Any) -> Any:
    """The options that say what a run judges and what of it: for every command that speaks of a run to come."""
    decorators: list[Any] = [
        click.option(f"--{component}", metavar="COMPONENT", default=None, help=text)
        for component, text in _COMPONENT_HELP.items()
    ]
    decorators += [
        click.option("--webhook-path", metavar="PATH", default=None, help="Where the webhook takes reviews."),
        click.option("--driver-name", metavar="NAME", default=None, help="Name of the driver under test."),
        click.option("--device-class", metavar="NAME", default=None, help="Existing DeviceClass to use."),
        click.option("--node-name", metavar="NAME", default=None, help="Node of a driver behind socket:."),
        click.option("--cdi-root", metavar="DIR", default=None, help="CDI folder of a driver behind socket:."),
        click.option("--kubernetes-version", metavar="X.Y", default=None, help="Release of our own control plane."),
        click.option("--bin-dir", metavar="DIR", default=None, help="Where --control-plane binaries looks first."),
        click.option("--k3s-image", metavar="IMAGE", default=None, help="Image of --control-plane k3s."),
        click.option("--feature-gates", multiple=True, metavar="A=true,B=false", help="Of a control plane of our own."),
        click.option(
            "--runtime-config", multiple=True, metavar="A=true,B=false", help="API versions; resource.k8s.io/v1=false."
        ),
        click.option("--revision", metavar="NAME", default=None, help="KAI's protocol: kai-0.17 or documented."),
        click.option("--declaration", metavar="YAML", default=None, help="What the driver's vendor declares of it."),
        click.option("--inventory", metavar="NAME", default=None, help="GPUs of the fake NVML."),
        click.option("--nvml", metavar="fake|real", default=None, help="Whose GPUs: the fake's, or this machine's."),
        click.option("--profile", multiple=True, metavar="NAME", help="Only this profile; may be given again."),
        click.option("--config", "config_path", type=click.Path(path_type=Path), default=None, metavar="FILE"),
    ]
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


def _options(function: Any) -> Any:
    decorators: list[Any] = [
        click.option("--rule", multiple=True, metavar="ID", help="Only scenarios that judge this rule."),
        click.option("--focus", multiple=True, metavar="REGEX", help="Only scenarios whose id or name matches."),
        click.option("--skip", multiple=True, metavar="REGEX", help="Not scenarios whose id or name matches."),
        click.option("--features", multiple=True, metavar="DIR", help="More features, beside the suite's own."),
        click.option("--fail-fast", is_flag=True, default=None, help="Stop at the first failure."),
        click.option("--dry-run", is_flag=True, default=None, help="Show the plan; start nothing."),
        click.option("--allow-disruptive", is_flag=True, default=None, help="Also what can break a cluster."),
        click.option("--seed", type=int, default=None, help="Seed of all choices (printed by every run)."),
        click.option("--patience", type=float, metavar="S", default=None, help="Seconds that a check waits."),
        click.option(
            "--watch-lag",
            type=float,
            metavar="S",
            default=None,
            help="Embedded control plane: half of its watches tell up to S seconds late.",
        ),
        click.option(
            "--retries",
            type=click.IntRange(0, 100),
            metavar="N",
            default=None,
            help="Ask a failed scenario again, N times at most; a pass then is flaky, never a pass.",
        ),
        click.option("--require", metavar="VERDICT", default=None, help="Exit 12 below conformant or partial."),
        click.option("--out", metavar="DIR", default=None, help="Folder of the report (default dra-report)."),
        click.option("--report", multiple=True, metavar="FORM", help="Only json, yaml, junit or html (default all)."),
        click.option("--progress", type=click.Choice(["auto", "live", "plain", "none"]), default=None),
        click.option(
            "-n", "--workers", type=click.IntRange(1, 64), default=None, help="Worker processes (needs pytest-xdist)."
        ),
    ]
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


@click.command(
    epilog="Options may also stand in dra-conformance.toml, by the same names. A command behind exec: may use the "
    "placeholders {node} {kubeconfig} {registrar} {plugins} {cdi} {driver_root} {flags}; "
    "docs/driver-first-run.md tells more. "
    "A webhook gets {host} {port} {tls_cert} {tls_key} {feature_gates} {kubeconfig}; docs/webhook.md tells more."
)
@run_options
@_options
@click.pass_context
def command(ctx: click.Context, /, config_path: Path | None, workers: int | None, **given: Any) -> int:
    """Run scenarios against a target and write the report.

    Without options the reference system is judged on the embedded control plane.

    \b
    Examples:
      dra-conformance run --profile driver-core --driver-name gpu.example.com \\
          --driver 'exec:./plugin --node-name={node}'
      dra-conformance run --rule DRA-258 --rule DRA-263
      dra-conformance run --runtime-config resource.k8s.io/v1=false     what is served is v1beta2 and v1beta1
      dra-conformance run --scheduler none --binder 'exec:./my-binder --kubeconfig={kubeconfig}' --profile bind-requests
      dra-conformance run --profile webhook \\
          --webhook 'exec:./webhook --port={port} --tls-cert-file={tls_cert} --tls-private-key-file={tls_key}'
    """
    options = options_of(config_path, given)
    if options.dry_run:
        return _dry_run(options)
    from dra_conformance.pytest_plugin.launch import execute  # slow to import; --dry-run and --help need none of it

    words = ["dra-conformance", *(ctx.obj or ())]
    return execute(options, workers=workers, command=redact(shlex.join(words)))


def options_of(config_path: Path | None, given: dict[str, Any]) -> RunOptions:
    """The options of a run, from its file and over it the command line. Raises UsageError."""
    values = config_file(config_path)
    for name, value in given.items():
        if value is None or value == ():
            continue
        values[name.replace("_", "-")] = list(value) if isinstance(value, tuple) else value
    if isinstance(values.get("declaration"), str):
        values["declaration"] = declaration.parameters(values["declaration"])
    return from_mapping(values, where="options")


def _dry_run(options: RunOptions) -> int:
    from dra_conformance.core import assets, features
    from dra_conformance.engine import plan, preflight, vocabulary
    from dra_conformance.engine.run import Run
    from dra_conformance.steps.catalogue import catalogue

    preflight.check(options)
    with tempfile.TemporaryDirectory(prefix="dra-dry-") as folder:
        run = Run(options, folder=Path(folder))
        try:
            scenarios = features.read_all([assets.features(), *(Path(extra) for extra in options.features)])
            vocabulary.check(scenarios, catalogue())
            made = plan.make(scenarios, run.catalogue, options, run.target())
        finally:
            run.stop()
            run.log.close()
    for decision in made.decisions:
        status = decision.status.value if decision.status else "run"
        click.echo(f"{status:<15} {decision.scenario.id}" + (f"  ({decision.reason})" if decision.reason else ""))
    click.echo(f"{len(made)} scenarios planned, {len(made.to_run)} to run; nothing was started")
    return ExitCode.OK if made.to_run else ExitCode.NOTHING_SELECTED
