"""The table of run options: the single definition of every option of `run`.

The command line, the `--dra-...` options of pytest, the JSON Schema of dra-conformance.toml and the reference pages are
generated from OPTIONS. Every pytest run of a user imports this module (pytest loads plugins by entry point), so it
imports nothing but a few modules of the standard library and `dra_api.releases`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dra_api.releases import DEFAULT_RELEASE, RELEASES

GROUPS: dict[str, str] = {
    "components": "Components",
    "driver": "Driver and devices",
    "control-plane": "Control plane",
    "selection": "Selection of scenarios",
    "execution": "Execution",
    "report": "Report",
}
"""Headings of the options in the help text and on the reference pages, in this order."""

CHECKED_RELEASES = RELEASES
"""Kubernetes releases that the catalogue and the emulated API server cover."""

NO_API = f"releases before {CHECKED_RELEASES[0]} have no resource.k8s.io/v1"
"""Why earlier releases are not covered."""

NVIDIA_RELEASES = ("v0.5.0", "v0.4.1")
"""The releases of NVIDIA's driver that the catalogue covers and verification/third_party pins, the default first."""


KAI_RELEASES = ("v0.12.0",)
"""The releases of KAI that verification/third_party pins, the default first."""

_KAI_BUILT = "`kai` is KAI's program, which a checkout of this project builds."
_NVIDIA_BUILT = "`nvidia` is NVIDIA's program, which a checkout of this project builds."


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One run option.

    Attributes:
        name: the name in dra-conformance.toml; `--NAME` on the command line, `--dra-NAME` in pytest.
        help: one sentence in the imperative mood. `description` adds the rest.
        note: further sentences, which follow the choices.
        group: a key of GROUPS.
        type: how the text of a command line is read. `yaml` is YAML text on a command line and a table in the file.
        default: the value of RunOptions when the option is not given.
        metavar: the placeholder in the help text.
        multiple: the option may be repeated and is a list in the file.
        separator: the character that separates several values in one text; empty when values may contain any character.
        choices: the accepted values. `exec:COMMAND` and `kubeconfig[:FILE]` stand for values with an argument.
        noun: what an error message calls the value, as in "unknown control plane 'x'".
        minimum: the smallest accepted number.
        maximum: the largest accepted number.
        example: a value for the reference page.
        completion: the list that shell completion offers: `profiles`, `rules`, `inventories`,
            `supported-features`, `files` or `directories`.
        short: the one-letter form on the command line.
        is_component: whether the option selects the implementation of a component.
        shared: whether `doctor` and `rbac` accept the option too.
        in_file: whether the option is part of RunOptions and of dra-conformance.toml.
        in_pytest: whether pytest has the option.
    """

    name: str
    help: str
    group: str
    note: str = ""
    type: Literal["text", "integer", "number", "flag", "yaml"] = "text"
    default: Any = ""
    metavar: str = "TEXT"
    multiple: bool = False
    separator: str = ""
    choices: tuple[str, ...] = ()
    noun: str = ""
    minimum: float | None = None
    maximum: float | None = None
    example: str = ""
    completion: str = ""
    short: str = ""
    is_component: bool = False
    shared: bool = False
    in_file: bool = True
    in_pytest: bool = True

    @property
    def attribute(self) -> str:
        """The name of the option's attribute in RunOptions."""
        return self.name.replace("-", "_")

    @property
    def description(self) -> str:
        """The help text with choices, note, repetition and default."""
        text = self.help
        if self.choices:
            text = f"{text.removesuffix('.')}: {', '.join(self.choices[:-1])} or {self.choices[-1]}."
        if self.note:
            text += f" {self.note}"
        if self.multiple:
            text += " May be repeated" + (" or comma-separated." if self.separator else ".")
        return f"{text} [default: {self.default}]" if self.default else text


def _component(
    name: str, *choices: str, text: str, note: str = "", example: str = "", default: str = "reference"
) -> Option:
    return Option(
        name=name,
        help=text,
        note=note,
        group="components",
        default=default,
        metavar="COMPONENT",
        choices=choices,
        noun=name.replace("-", " "),
        example=example,
        is_component=True,
        shared=True,
    )


OPTIONS: tuple[Option, ...] = (
    _component(
        "control-plane",
        *("embedded", "binaries", "kind", "k3s", "kubeconfig[:FILE]"),
        text="Use this control plane.",
        example="kubeconfig:./config",
        default="embedded",
    ),
    _component(
        "claim-controller",
        *("reference", "exec:COMMAND", "kube-controller-manager", "cluster", "none"),
        text="Use this ResourceClaim controller.",
        example="kube-controller-manager",
    ),
    _component(
        "scheduler",
        *("reference", "exec:COMMAND", "kai[:RELEASE]", "kube-scheduler", "cluster", "none"),
        text="Use this scheduler.",
        note=_KAI_BUILT,
        example="exec:./my-scheduler --kubeconfig={kubeconfig}",
    ),
    _component(
        "binder",
        *("reference", "exec:COMMAND", "kai[:RELEASE]", "cluster", "none"),
        text="Use this binder of BindRequests.",
        note=_KAI_BUILT,
        example="exec:./my-binder --kubeconfig={kubeconfig}",
    ),
    _component(
        "kubelet",
        *("reference", "kubelet[:VERSION]", "cluster", "none"),
        text="Use this kubelet.",
        note="`kubelet` is a real kubelet with containerd, of the API server's version if none is named.",
        example="kubelet",
    ),
    _component(
        "driver",
        *("reference", "exec:COMMAND", "nvidia[:RELEASE]", "socket:PATH", "cluster", "none"),
        text="Use this DRA driver.",
        note="`nvidia` is NVIDIA's driver, which a checkout of this project builds. `socket` is the registration "
        "socket of a running driver.",
        example="exec:./my-driver --kubeconfig={kubeconfig} --node-name={node}",
    ),
    _component(
        "compute-domain-controller",
        *("reference", "exec:COMMAND", "nvidia[:RELEASE]", "cluster", "none"),
        text="Use this ComputeDomain controller.",
        note=_NVIDIA_BUILT,
        example="none",
    ),
    _component(
        "compute-domain-plugin",
        *("reference", "exec:COMMAND", "nvidia[:RELEASE]", "none"),
        text="Use this ComputeDomain kubelet plugin on each node.",
        note=_NVIDIA_BUILT,
        example="exec:./my-plugin --kubeconfig={kubeconfig} --node-name={node}",
    ),
    _component(
        "compute-domain-daemon",
        *("reference", "exec:COMMAND", "nvidia[:RELEASE]", "none"),
        text="Use this ComputeDomain daemon in the pods of the DaemonSet of each ComputeDomain.",
        note=f"The command is started with the argument `run`, and for its probes with `check`. {_NVIDIA_BUILT}",
        example="exec:./my-daemon --kubeconfig={kubeconfig}",
    ),
    _component(
        "device-plugin",
        *("reference", "exec:COMMAND", "none"),
        text="Use this device plugin (API v1beta1) on each node.",
        note="{device_plugins} is the folder with kubelet.sock.",
        example="exec:./my-device-plugin --kubelet-socket={device_plugins}/kubelet.sock",
    ),
    _component(
        "taint-eviction",
        *("reference", "exec:COMMAND", "kube-controller-manager", "cluster", "none"),
        text="Use this controller, which evicts pods from tainted devices.",
        example="none",
    ),
    _component(
        "webhook",
        *("reference", "exec:COMMAND", "nvidia[:RELEASE]", "cluster", "none"),
        text="Use this admission webhook.",
        note=_NVIDIA_BUILT,
        example="exec:./webhook --port={port} --tls-cert-file={tls_cert} --tls-private-key-file={tls_key}",
    ),
    Option(
        name="webhook-path",
        help="Send admission reviews to this URL path.",
        group="components",
        default="/validate-resource-claim-parameters",
        metavar="PATH",
        example="/validate",
        shared=True,
    ),
    Option(
        name="revision",
        help="Expect this revision of the BindRequest protocol.",
        note="A scheduler or binder kai:RELEASE sets the revision of its release. Rules about a field do not apply to "
        "a revision without the field.",
        group="components",
        default="kai-0.17",
        metavar="NAME",
        choices=("kai-0.17", "kai-0.12", "documented"),
        noun="protocol revision",
        example="documented",
        shared=True,
    ),
    Option(
        name="scheduler-name",
        help="Set the schedulerName of pods for the scheduler under test.",
        note="The default is kai-scheduler for the scheduler kai, and Kubernetes' default for every other scheduler.",
        group="components",
        metavar="NAME",
        example="my-scheduler",
        shared=True,
    ),
    Option(
        name="pod-label",
        help="Add this label to pods for the scheduler under test.",
        group="components",
        default=(),
        metavar="KEY=VALUE",
        multiple=True,
        separator=",",
        example="kai.scheduler/queue=default-queue",
        shared=True,
    ),
    Option(
        name="pod-annotation",
        help="Add this annotation to pods for the scheduler under test.",
        group="components",
        default=(),
        metavar="KEY=VALUE",
        multiple=True,
        example="pod-group-name=one",
        shared=True,
    ),
    Option(
        name="driver-name",
        help="Set the name of the driver under test.",
        group="driver",
        default="gpu.nvidia.com",
        metavar="NAME",
        example="gpu.example.com",
        shared=True,
    ),
    Option(
        name="driver-release",
        help="Apply the rules of this release of NVIDIA's driver.",
        note="The default is the RELEASE of a component nvidia:RELEASE, and v0.5.0 for every other program.",
        group="driver",
        metavar="RELEASE",
        choices=NVIDIA_RELEASES,
        noun="release of NVIDIA's driver",
        example="v0.4.1",
        shared=True,
    ),
    Option(
        name="compute-domain-namespace",
        help="Set the namespace of NVIDIA's driver, in which the daemons of ComputeDomains run.",
        note="On a cluster, give the namespace in which the driver is installed. Commands of programs can use it as "
        "{namespace}.",
        group="driver",
        default="dra-driver-nvidia-gpu",
        metavar="NAME",
        example="gpu-operator",
        shared=True,
    ),
    Option(
        name="driver-mount",
        help="Mount a file or directory of this machine at a path that is compiled into the driver.",
        note="The driver, the device plugin and the ComputeDomain programs then run in a mount namespace. SOURCE can "
        "be {plugins}, {registrar}, {device_plugins} or {cdi}: a folder of the program's node.",
        group="driver",
        default=(),
        metavar="SOURCE:TARGET",
        multiple=True,
        example="./templates:/templates",
        shared=True,
    ),
    Option(
        name="device-class",
        help="Use this existing DeviceClass instead of creating one.",
        group="driver",
        metavar="NAME",
        example="gpu.example.com",
        shared=True,
    ),
    Option(
        name="node-name",
        help="Set the node of a running driver (--driver socket:PATH) instead of reading it from its ResourceSlices.",
        group="driver",
        metavar="NAME",
        example="n1",
        shared=True,
    ),
    Option(
        name="cdi-root",
        help="Read the CDI files of a running driver (--driver socket:PATH) from this directory.",
        group="driver",
        metavar="DIR",
        example="/var/run/cdi",
        completion="directories",
        shared=True,
    ),
    Option(
        name="supported-features",
        help="Declare the optional features and feature gates that the components under test support.",
        note="Features that are not in the list are not supported. Without the option, features are detected.",
        group="selection",
        default=None,
        metavar="NAME",
        multiple=True,
        separator=",",
        example="health",
        completion="supported-features",
        shared=True,
    ),
    Option(
        name="declaration",
        help="Declare sample configurations of the driver, as YAML.",
        group="driver",
        type="yaml",
        default=None,
        metavar="YAML",
        example="{valid: ['{kind: GpuConfig}']}",
        shared=True,
    ),
    Option(
        name="inventory",
        help="Simulate the GPUs of this inventory: a name or a YAML file.",
        group="driver",
        default="dgx-h100",
        metavar="NAME",
        example="dgx-b200",
        completion="inventories",
        shared=True,
    ),
    Option(
        name="nvml",
        help="Test this NVML library.",
        note="`real` is the library of this machine.",
        group="driver",
        default="fake",
        metavar="LIBRARY",
        choices=("fake", "real"),
        noun="NVML library",
        example="real",
        shared=True,
    ),
    Option(
        name="driver-root",
        help="Find this machine's NVIDIA driver below this directory (--nvml real).",
        note="NVIDIA's GPU operator installs it in /run/nvidia/driver.",
        group="driver",
        default="/",
        metavar="DIR",
        example="/run/nvidia/driver",
        shared=True,
    ),
    Option(
        name="kubernetes-version",
        help="Start or emulate this Kubernetes release (1.34 to 1.37).",
        group="control-plane",
        default=DEFAULT_RELEASE,
        metavar="X.Y",
        example="1.35",
        shared=True,
    ),
    Option(
        name="bin-dir",
        help="Look here first for the programs of --control-plane binaries.",
        group="control-plane",
        metavar="DIR",
        example="/opt/kubernetes/bin",
        completion="directories",
        shared=True,
    ),
    Option(
        name="kind-image",
        help="Start the nodes of --control-plane kind from this image instead of kind's own.",
        group="control-plane",
        metavar="IMAGE",
        example="dra-conformance/kind-node:v1.37.2",
        shared=True,
    ),
    Option(
        name="kind-workers",
        help="Create the cluster of --control-plane kind with N worker nodes.",
        group="control-plane",
        type="integer",
        default=2,
        metavar="N",
        minimum=1,
        maximum=50,
        example="3",
        shared=True,
    ),
    Option(
        name="kind-load",
        help="Load this image archive (docker save) into the nodes of --control-plane kind.",
        group="control-plane",
        default=(),
        metavar="FILE",
        multiple=True,
        example="my-driver.tar",
        completion="files",
    ),
    Option(
        name="kind-apply",
        help="Apply these manifests to the cluster of --control-plane kind, and wait until their workloads run.",
        note="A file or folder.",
        group="control-plane",
        default=(),
        metavar="PATH",
        multiple=True,
        example="deploy/kubernetes",
        completion="files",
    ),
    Option(
        name="k3s-image",
        help="Start this image with --control-plane k3s instead of the pinned one.",
        group="control-plane",
        metavar="IMAGE",
        example="rancher/k3s:v1.36.2-k3s1",
        shared=True,
    ),
    Option(
        name="feature-gates",
        help="Set feature gates of the control plane that the run starts.",
        group="control-plane",
        default=(),
        metavar="GATE=true|false",
        multiple=True,
        separator=",",
        example="DRAConsumableCapacity=true",
        shared=True,
    ),
    Option(
        name="runtime-config",
        help="Enable or disable versions of resource.k8s.io, as kube-apiserver's flag does.",
        group="control-plane",
        default=(),
        metavar="VERSION=true|false",
        multiple=True,
        separator=",",
        example="resource.k8s.io/v1=false",
        shared=True,
    ),
    Option(
        name="watch-lag",
        help="Delay events on half of the watches by up to S seconds, or on the watches of a resource by S seconds.",
        note="Watches of programs then pass through a proxy. Watches of a cluster's own components are not delayed.",
        group="control-plane",
        metavar="S|RESOURCE=S,...",
        example="resourceslices=0.05,pods=0",
    ),
    Option(
        name="profile",
        help="Run only the scenarios of this profile.",
        group="selection",
        default=(),
        metavar="NAME",
        multiple=True,
        separator=",",
        example="driver-core",
        completion="profiles",
        shared=True,
    ),
    Option(
        name="rule",
        help="Run only scenarios that test this rule.",
        group="selection",
        default=(),
        metavar="ID",
        multiple=True,
        separator=",",
        example="DRA-258",
        completion="rules",
    ),
    Option(
        name="focus",
        help="Run only scenarios whose id or name matches.",
        group="selection",
        default=(),
        metavar="REGEX",
        multiple=True,
        example="^driver/",
    ),
    Option(
        name="skip",
        help="Skip scenarios whose id or name matches.",
        group="selection",
        default=(),
        metavar="REGEX",
        multiple=True,
        example="restart",
    ),
    Option(
        name="shard",
        help="Run only shard I of N.",
        note="Each scenario is in one shard; the shards take about the same time. `auto/N` takes I from the completion "
        "index of an Indexed Job's pod. `dra-conformance merge` makes one report of all shards.",
        group="selection",
        metavar="I/N",
        example="2/3",
    ),
    Option(
        name="features",
        help="Also read the feature files of this directory.",
        group="selection",
        default=(),
        metavar="DIR",
        multiple=True,
        example="./my-features",
        completion="directories",
    ),
    Option(
        name="allow-disruptive",
        help="Also run disruptive scenarios (may break the cluster).",
        group="selection",
        type="flag",
        default=False,
    ),
    Option(
        name="dry-run",
        help="Print the plan without starting anything.",
        group="execution",
        type="flag",
        default=False,
    ),
    Option(
        name="fail-fast",
        help="Stop at the first failure.",
        group="execution",
        type="flag",
        default=False,
    ),
    Option(
        name="patience",
        help="Wait up to S seconds for an expected result.",
        note="The default depends on the control plane: 5 s embedded, 20 s binaries, 60 s otherwise.",
        group="execution",
        type="number",
        default=None,
        metavar="S",
        example="10",
    ),
    Option(
        name="retries",
        help="Retry failed scenarios up to N times.",
        note="A scenario that passes on retry is reported as flaky, not passed.",
        group="execution",
        type="integer",
        default=0,
        metavar="N",
        minimum=0,
        maximum=100,
        example="2",
    ),
    Option(
        name="isolation",
        help="Separate programs under test from the harness in this way.",
        note="`auto` starts them as another user if root started the run, else in a user namespace if the kernel "
        "permits it. Without isolation the verdict is at most partial.",
        group="execution",
        default="auto",
        metavar="KIND",
        choices=("auto", "user", "namespace", "off"),
        noun="isolation",
        example="off",
    ),
    Option(
        name="pass-env",
        help="Also give the programs that the run starts this variable of the environment.",
        note="By default they get PATH, HOME, TMPDIR, TZ, the locale, and what the run sets, such as KUBECONFIG. A "
        "variable that is not set is not passed.",
        group="execution",
        default=(),
        metavar="NAME",
        multiple=True,
        separator=",",
        example="HTTPS_PROXY",
    ),
    Option(
        name="seed",
        help="Seed the random number generator.",
        note="Every run prints its seed.",
        group="execution",
        type="integer",
        default=None,
        metavar="N",
        example="7",
    ),
    Option(
        name="workers",
        help="Run scenarios in N worker processes; 0 runs them in this process.",
        note="The longest scenarios run first, according to the previous report in the output directory.",
        group="execution",
        type="integer",
        default=None,
        metavar="N",
        minimum=0,
        maximum=64,
        example="2",
        short="n",
        in_file=False,
        in_pytest=False,  # pytest-xdist has -n already
    ),
    Option(
        name="out",
        help="Write the report to this directory.",
        group="report",
        default="dra-report",
        metavar="DIR",
        example="build/dra-report",
        completion="directories",
    ),
    Option(
        name="report",
        help="Write only this report format (default: all formats).",
        group="report",
        default=(),
        metavar="FORMAT",
        multiple=True,
        separator=",",
        choices=("json", "yaml", "junit", "html"),
        noun="report format",
        example="junit",
    ),
    Option(
        name="progress",
        help="Select the progress display.",
        group="report",
        default="auto",
        metavar="KIND",
        choices=("auto", "live", "plain", "none"),
        noun="progress display",
        example="plain",
    ),
    Option(
        name="require",
        help="Exit with code 12 when the verdict is lower.",
        group="report",
        metavar="VERDICT",
        choices=("conformant", "partial"),
        noun="verdict",
        example="conformant",
    ),
    Option(
        name="sign-key",
        help="Sign the report with this SSH key.",
        note="A public key is signed with the SSH agent.",
        group="report",
        metavar="FILE",
        example="~/.ssh/id_ed25519",
        completion="files",
    ),
    Option(
        name="durations",
        help="List the N slowest scenarios, rules and steps at the end.",
        group="report",
        type="integer",
        default=0,
        metavar="N",
        minimum=0,
        example="10",
    ),
    Option(
        name="config",
        help="Read this configuration file instead of dra-conformance.toml.",
        group="report",
        default=None,
        metavar="FILE",
        example="ci.toml",
        completion="files",
        shared=True,
        in_file=False,
    ),
)

BY_NAME: dict[str, Option] = {option.name: option for option in OPTIONS}


def default_of(name: str) -> Any:
    """Return the default of an option."""
    return BY_NAME[name].default


def kind_of(choice: str) -> str:
    """Return the part of a choice before its argument: `exec` for `exec:COMMAND`."""
    return choice.partition("[")[0].partition(":")[0]
