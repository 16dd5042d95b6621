"""The pytest plugin (entry point `pytest11`): options, and nothing else until the suite is asked for.

`pytest --pyargs dra_conformance.scenarios --dra-driver 'exec:…'` does the same as `dra-conformance run`.
In any other pytest run this module only adds options, and imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

SUITE = "dra_conformance.scenarios"

# pytest option, help. Each is the option of `dra-conformance run` of the same name.
OPTIONS: tuple[tuple[str, str], ...] = (
    ("control-plane", "embedded (default), binaries or kubeconfig[:FILE]"),
    ("claim-controller", "what sits in this component: reference, exec:COMMAND, cluster, none"),
    ("scheduler", "what sits in this component"),
    ("binder", "what sits in this component"),
    ("kubelet", "what sits in this component: reference, kubelet, cluster"),
    ("driver", "what sits in this component: reference, exec:COMMAND, socket:PATH, cluster"),
    ("compute-domain-controller", "what sits in this component"),
    ("taint-eviction", "what sits in this component"),
    ("webhook", "what sits in this component: reference, exec:COMMAND, cluster, none"),
    ("webhook-path", "where the webhook takes reviews"),
    ("driver-name", "name of the driver under test"),
    ("device-class", "existing DeviceClass to use instead of one made for the run"),
    ("kubernetes-version", "release of a control plane of our own: 1.34, 1.35, 1.36 or 1.37"),
    ("bin-dir", "folder where binaries looks for its programs first"),
    ("k3s-image", "image of the control plane k3s"),
    ("feature-gates", "gates of a control plane of our own, comma-separated"),
    ("runtime-config", "versions of resource.k8s.io that a control plane of our own serves, as kube-apiserver's flag"),
    ("node-name", "node of a driver behind socket:"),
    ("cdi-root", "CDI folder of a driver behind socket:"),
    ("revision", "revision of KAI's protocol: kai-0.17 or documented"),
    ("inventory", "inventory of the fake NVML"),
    ("profile", "profiles, comma-separated"),
    ("rule", "rule ids, comma-separated"),
    ("features", "more features, comma-separated folders"),
    ("require", "verdict that must be reached: conformant or partial"),
    ("config", "file to read instead of dra-conformance.toml"),
    ("out", "folder of the report"),
    ("seed", "seed of all choices"),
    ("patience", "seconds that a check waits"),
    ("watch-lag", "seconds by which watches of the embedded control plane run behind"),
    ("retries", "how often a failed scenario is asked again; a pass then is flaky"),
)


def _split(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


# How an option's text becomes its value; the others stay text.
CONVERT: Mapping[str, Callable[[str], object]] = {
    **dict.fromkeys(("profile", "rule", "features", "feature-gates", "runtime-config"), _split),
    "seed": int,
    "patience": float,
    "retries": int,
    "watch-lag": float,
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the `--dra-…` options."""
    group = parser.getgroup("dra-conformance", "DRA conformance suite (with --pyargs dra_conformance.scenarios)")
    for name, text in OPTIONS:
        group.addoption(f"--dra-{name}", dest=f"dra_{name.replace('-', '_')}", metavar="…", default=None, help=text)
    group.addoption("--dra-options", dest="dra_options", metavar="FILE", default=None, help="all options, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Load the runner when the suite itself is asked for."""
    if any(_asks_for_suite(str(arg)) for arg in config.args):
        config.pluginmanager.import_plugin("dra_conformance.pytest_plugin.runner")


def _asks_for_suite(argument: str) -> bool:
    path = argument.split("::")[0]
    return path == SUITE or path.endswith("/".join(SUITE.split(".")) + ".py")
