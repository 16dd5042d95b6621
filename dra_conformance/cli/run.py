"""`dra-conformance run`: runs scenarios against a target."""

from __future__ import annotations

import shlex
from typing import Any

import click

from dra_conformance.cli.option_decorators import GroupedCommand, run_options
from dra_conformance.core.configuration import options_of
from dra_conformance.core.options import redact


@click.command(
    cls=GroupedCommand,
    epilog="Every option can also be set in dra-conformance.toml, by the same name. A command after exec: can use the "
    "placeholders {node} {kubeconfig} {registrar} {plugins} {cdi} {driver_root} {flags} (see "
    "docs/tutorials/driver.md); the command of a device plugin {device_plugins} {cdi} {driver_root} {flags} (see "
    "docs/how-to/device-plugin.md); the command of a webhook {host} {port} {tls_cert} {tls_key} {feature_gates} "
    "{kubeconfig} (see docs/how-to/webhook.md).",
)
@run_options()
@click.pass_context
def command(ctx: click.Context, /, workers: int | None, **given: Any) -> int:
    """Run scenarios against a target and write the report.

    Without options, the run tests the reference components on the embedded control plane.

    \b
    Examples:
      dra-conformance run --profile driver-core --driver-name gpu.example.com \\
          --driver 'exec:./plugin --node-name={node}'
      dra-conformance run --rule DRA-258 --rule DRA-263
      dra-conformance run --runtime-config resource.k8s.io/v1=false     # serves v1beta2 and v1beta1
      dra-conformance run --profile bind-requests \\
          --binder 'exec:./my-binder --kubeconfig={kubeconfig}'
      dra-conformance run --profile device-plugins \\
          --device-plugin 'exec:./plugin --kubelet-socket={device_plugins}/kubelet.sock'
      dra-conformance run --profile webhook \\
          --webhook 'exec:./webhook --port={port} --tls-cert-file={tls_cert} --tls-private-key-file={tls_key}'
    """
    options = options_of({name.replace("_", "-"): value for name, value in given.items()})
    if options.dry_run:
        # Deferred, as below: pytest and the step modules are slow to import, and wrong options need neither.
        from dra_conformance.pytest_plugin.dry_run import dry_run

        lines, code = dry_run(options)
        for line in lines:
            click.echo(line)
        return code
    from dra_conformance.pytest_plugin.launch import execute

    words = ["dra-conformance", *(ctx.obj or ())]
    return execute(options, workers=workers, command=redact(shlex.join(words)))
