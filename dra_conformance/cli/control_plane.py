"""`dra-conformance control-plane`: the programs behind `--control-plane binaries`, and a served emulation."""

from __future__ import annotations

import click

from dra_conformance.core.errors import ExitCode


@click.group()
def command() -> None:
    """Find, fetch or build the programs of a real control plane, or serve the emulation.

    \b
    `run --control-plane binaries` looks for etcd, kube-apiserver, kube-controller-manager and kube-scheduler in
    --bin-dir, KUBEBUILDER_ASSETS, the store of setup-envtest, the project's own cache and verification/bin, in this
    order.
    """


@command.command("list")
@click.option("--bin-dir", default="", metavar="DIR", help="Look here first.")
def list_programs(bin_dir: str) -> int:
    """Show every control plane that is on this machine, in the order in which they are tried."""
    from dra_conformance.control_plane.binaries.programs import NEEDED, folders, installed

    found = installed(bin_dir)
    for source, folder, version, programs in found:
        missing = [name for name in NEEDED if name not in programs]
        told = f"without {', '.join(missing)}" if missing else "complete"
        click.echo(f"{version or 'no version':<12} {source:<20} {folder}  ({told})")
    if not found:
        click.echo("no kube-apiserver was found; looked in:")
        for source, folder in folders(bin_dir):
            click.echo(f"  {source:<20} {folder}")
        click.echo("`dra-conformance control-plane install` fetches one.")
        return ExitCode.TARGET_UNREACHABLE
    return ExitCode.OK


@command.command("install")
@click.argument("version", default="1.36")
@click.option("--build", "from_source", is_flag=True, help="Build from Go modules (a full release such as 1.36.2).")
@click.option("--containers", is_flag=True, help="Also build containerd, runc and the node program (needs Go).")
@click.option("--index-url", default=None, metavar="URL", help="Index of envtest archives, for mirrors.")
@click.option("--release-url", default=None, metavar="URL", help="Root of the Kubernetes releases, for mirrors.")
def install(version: str, from_source: bool, containers: bool, index_url: str | None, release_url: str | None) -> int:
    """Put the programs of a release into the cache: 1.36 is its newest patch release, 1.36.2 that very one.

    \b
    Examples:
      dra-conformance control-plane install 1.35
      dra-conformance control-plane install 1.36.2 --build --containers    # what --kubelet kubelet needs
    """
    if from_source:
        from dra_conformance.control_plane.binaries.build import build

        folder = build(version, tell=click.echo)
    else:
        from dra_conformance.control_plane.binaries.install import INDEX, RELEASES, Sources, download
        from dra_conformance.control_plane.binaries.programs import Wanted

        sources = Sources(index=index_url or INDEX, releases=(release_url or RELEASES).rstrip("/"))
        folder = download(Wanted(version), sources=sources, tell=click.echo)
    if containers:
        from dra_conformance.control_plane.binaries.build import build_containers

        folder = build_containers(folder.name, tell=click.echo)
    click.echo(f"installed in {folder}")
    return ExitCode.OK


@command.command("serve")
@click.option("--dir", "folder", default="", metavar="DIR", help="Where kubeconfig and sockets lie (default: new).")
@click.option("--node-name", default="n1", metavar="NAME", help="Name of the Node object (default n1).")
@click.option("--driver-name", default="", metavar="NAME", help="Your driver: its plugin folder is made.")
@click.option("--kubernetes-version", default="1.36", metavar="X.Y", help="Release to emulate (default 1.36).")
@click.option("--feature-gates", multiple=True, metavar="A=true,B=false", help="As of kube-apiserver.")
@click.option("--runtime-config", multiple=True, metavar="A=true,B=false", help="Such as resource.k8s.io/v1=false.")
def serve(
    folder: str,
    node_name: str,
    driver_name: str,
    kubernetes_version: str,
    feature_gates: tuple[str, ...],
    runtime_config: tuple[str, ...],
) -> int:
    """Serve the embedded control plane, a Node and a kubelet's folders until Ctrl-C, for a driver that you start.

    \b
    Example, in three terminals:
      dra-conformance control-plane serve --dir /tmp/dra --driver-name gpu.example.com
      my-driver --kubeconfig /tmp/dra/kubeconfig --node-name n1 …
      dra-conformance run --control-plane kubeconfig:/tmp/dra/kubeconfig --driver-name gpu.example.com \\
          --driver socket:/tmp/dra/plugins_registry/gpu.example.com-reg.sock --profile driver-core
    """
    from dra_conformance.components.served import Served, wait_for_signal
    from dra_conformance.core.option_checks import validated
    from dra_conformance.core.options import RunOptions

    options = validated(
        RunOptions(kubernetes_version=kubernetes_version, feature_gates=feature_gates, runtime_config=runtime_config)
    )
    with Served(options, folder=folder, node_name=node_name, driver_name=driver_name) as served:
        for line in served.told():
            click.echo(line)
        wait_for_signal()
    failures = served.take_failures()
    for failure in failures:
        click.echo(failure.traceback or failure.message, err=True)
        click.echo(f"error: the control plane failed: {failure.message}", err=True)
    return ExitCode.HARNESS_ERROR if failures else ExitCode.OK
