"""`dra-conformance control-plane`: lists and installs the programs of a control plane, and serves the embedded one."""

from __future__ import annotations

import click

from dra_api.releases import DEFAULT_RELEASE
from dra_conformance.control_plane.binaries.build import build, build_containers
from dra_conformance.control_plane.binaries.install import INDEX, RELEASES, Sources, download
from dra_conformance.control_plane.binaries.programs import NEEDED, Wanted, folders, installed
from dra_conformance.core.errors import ExitCode
from dra_conformance.core.option_checks import validated
from dra_conformance.core.options import RunOptions


@click.group()
def command() -> None:
    """Find, install or serve control planes.

    `run --control-plane binaries` looks for etcd, kube-apiserver, kube-controller-manager and kube-scheduler in
    --bin-dir, KUBEBUILDER_ASSETS, the store of setup-envtest, the cache of this command and verification/bin, in this
    order.
    """


@command.command("list", short_help="List the control planes on this machine.")
@click.option("--bin-dir", default="", metavar="DIR", help="Look in this directory first.")
def list_programs(bin_dir: str) -> int:
    """List the control planes on this machine, in the order of the search."""
    found = installed(bin_dir)
    for source, folder, version, programs in found:
        missing = [name for name in NEEDED if name not in programs]
        state = f"without {', '.join(missing)}" if missing else "complete"
        click.echo(f"{version or 'no version':<12} {source:<20} {folder}  ({state})")
    if not found:
        click.echo("no kube-apiserver found in:")
        for source, folder in folders(bin_dir):
            click.echo(f"  {source:<20} {folder}")
        click.echo("Run `dra-conformance control-plane install` to download one.")
        return ExitCode.TARGET_UNREACHABLE
    return ExitCode.OK


@command.command("install")
@click.argument("version", default=DEFAULT_RELEASE)
@click.option("--build", "from_source", is_flag=True, help="Build from Go modules instead of downloading (needs Go).")
@click.option("--containers", is_flag=True, help="Also build containerd, runc and the node program (needs Go).")
@click.option("--index-url", default=None, metavar="URL", help="Use this index of envtest archives (a mirror).")
@click.option("--release-url", default=None, metavar="URL", help="Use this root of the Kubernetes releases (a mirror).")
def install(version: str, from_source: bool, containers: bool, index_url: str | None, release_url: str | None) -> int:
    """Install the programs of a release into the cache.

    VERSION is a minor release such as 1.37, which selects its newest patch release, or a full release such as 1.37.2.

    \b
    Examples:
      dra-conformance control-plane install 1.35
      dra-conformance control-plane install 1.37.2 --build --containers    # what --kubelet kubelet needs
    """
    if from_source:
        folder = build(version, report=click.echo)
    else:
        sources = Sources(index=index_url or INDEX, releases=(release_url or RELEASES).rstrip("/"))
        folder = download(Wanted(version), sources=sources, report=click.echo)
    if containers:
        folder = build_containers(folder.name, report=click.echo)
    click.echo(f"installed in {folder}")
    return ExitCode.OK


@command.command("serve", short_help="Serve the embedded control plane for a driver that you start.")
@click.option(
    "--dir",
    "folder",
    default="",
    metavar="DIR",
    help="Write kubeconfigs and sockets to this directory. [default: a new one]",
)
@click.option("--node-name", default="n1", metavar="NAME", show_default=True, help="Set the name of the Node object.")
@click.option("--driver-name", default="", metavar="NAME", help="Create the plugin directory of this driver.")
@click.option(
    "--kubernetes-version", default=DEFAULT_RELEASE, metavar="X.Y", show_default=True, help="Emulate this release."
)
@click.option(
    "--feature-gates", multiple=True, metavar="A=true,B=false", help="Set feature gates, as kube-apiserver's flag does."
)
@click.option(
    "--runtime-config",
    multiple=True,
    metavar="A=true,B=false",
    help="Enable or disable API versions, such as resource.k8s.io/v1=false.",
)
def serve(
    folder: str,
    node_name: str,
    driver_name: str,
    kubernetes_version: str,
    feature_gates: tuple[str, ...],
    runtime_config: tuple[str, ...],
) -> int:
    """Serve the embedded control plane, a Node and a kubelet's directories until Ctrl-C, for a driver that you start.

    \b
    Example, in three terminals:
      dra-conformance control-plane serve --dir /tmp/dra --driver-name gpu.example.com
      my-driver --kubeconfig /tmp/dra/driver.kubeconfig --node-name n1 …
      dra-conformance run --control-plane kubeconfig:/tmp/dra/kubeconfig --driver-name gpu.example.com \\
          --driver socket:/tmp/dra/plugins_registry/gpu.example.com-reg.sock --profile driver-core
    """
    # Deferred: the emulated API server and gRPC are slow to import, and `list` and `install` need neither.
    from dra_conformance.components.served import Served, wait_for_signal

    options = validated(
        RunOptions(kubernetes_version=kubernetes_version, feature_gates=feature_gates, runtime_config=runtime_config)
    )
    with Served(options, folder=folder, node_name=node_name, driver_name=driver_name) as served:
        for line in served.instructions():
            click.echo(line)
        wait_for_signal()
    failures = served.take_failures()
    for failure in failures:
        click.echo(failure.traceback or failure.message, err=True)
        click.echo(f"error: the control plane failed: {failure.message}", err=True)
    return ExitCode.HARNESS_ERROR if failures else ExitCode.OK
