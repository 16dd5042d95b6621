"""Checks of run options, before anything starts: one function each, registered by `@_check`.

Each check looks at one property of the options and raises UsageError. These checks read nothing but the options; those
that look at the machine (programs, sockets, inventories) are in dra_conformance.engine.preflight.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dra_conformance.core import optional_features
from dra_conformance.core.companions import COMPONENTS as WITH_COMPANIONS
from dra_conformance.core.component_spec import CHOICES, OWN_CLUSTER_COMPONENTS, OWN_CLUSTERS
from dra_conformance.core.errors import UsageError, unknown
from dra_conformance.core.option_table import CHECKED_RELEASES, NO_API, OPTIONS, default_of
from dra_conformance.core.options import RunOptions
from dra_conformance.core.rules.window import Version
from dra_conformance.core.shard import Shard
from dra_conformance.core.tags import PROFILES

_FOR_ALL = ("claim-controller", "scheduler", "binder", "taint-eviction", "compute-domain-controller", "webhook")
"""Components that act on all objects of a cluster."""

Check = Callable[[RunOptions], None]
CHECKS: list[Check] = []
"""Every check, in the order in which they run."""


def validated(options: RunOptions) -> RunOptions:
    """Return the options. Raises UsageError for the first check that fails."""
    for check in CHECKS:
        check(options)
    return options


def _check(function: Check) -> Check:
    CHECKS.append(function)
    return function


def _control_plane(options: RunOptions) -> str:
    return options.component("control-plane").kind


def started_on_cluster(options: RunOptions) -> tuple[str, ...]:
    """Return the components that a run starts on an existing cluster and that act on all of its objects.

    Each worker and each shard starts its own, so two at the same time would do everything twice.
    """
    if _control_plane(options) != "kubeconfig":
        return ()
    return tuple(name for name in _FOR_ALL if options.component(name).kind not in ("cluster", "none"))


def check_workers(options: RunOptions, workers: int | None) -> None:
    """Raise UsageError if the components of several workers would act on the objects of each other."""
    if not workers or workers == 1:
        return
    if options.component("driver").kind == "socket":
        raise UsageError("-n: a running driver cannot serve several workers", hint="Remove -n.")
    if found := started_on_cluster(options):
        raise UsageError(
            f"-n: on an existing cluster the {', '.join(found)} of each worker would act on the objects of all workers",
            hint=f"Remove -n, or use those of the cluster (--{found[0]} cluster).",
        )


@_check
def component_values_parse(options: RunOptions) -> None:
    """Every component option has a value that exists."""
    options.components()


@_check
def values_are_choices(options: RunOptions) -> None:
    """An option with choices has one of them."""
    for option in OPTIONS:
        if option.choices and option.in_file and not option.is_component:
            found = getattr(options, option.attribute)
            for value in found if option.multiple else (found,):
                # An empty default means "not given" and is none of the choices.
                if value != option.default and value not in option.choices:
                    raise unknown(option.noun, value, option.choices)


@_check
def shard_is_one_of_its_number(options: RunOptions) -> None:
    """A shard is I of N."""
    if options.shard:
        Shard.parse(options.shard.replace("auto/", "1/", 1))  # `options_of` resolves it for a run


@_check
def profiles_exist(options: RunOptions) -> None:
    """Every profile exists."""
    for profile in options.profile:
        if profile not in PROFILES:
            raise unknown("profile", profile, PROFILES)


@_check
def numbers_are_in_range(options: RunOptions) -> None:
    """An option with a minimum and a maximum is between them."""
    for option in OPTIONS:
        if option.minimum is not None and option.maximum is not None and option.in_file:
            value = getattr(options, option.attribute)
            # The negation also refuses NaN.
            if not option.minimum <= value <= option.maximum:
                raise UsageError(f"--{option.name} {value}: must be from {option.minimum} to {option.maximum}")


@_check
def patience_is_positive(options: RunOptions) -> None:
    """The patience is a positive, finite number of seconds."""
    # The comparison refuses infinity and NaN too.
    if options.patience is not None and not 0 < options.patience < 1e6:
        raise UsageError(f"--patience {options.patience}: must be more than 0 seconds")


@_check
def release_is_covered(options: RunOptions) -> None:
    """The Kubernetes release is one that the catalogue covers."""
    try:
        version = Version.parse(options.kubernetes_version)
    except ValueError as error:
        raise UsageError(f"--kubernetes-version: {error}") from None
    if not Version.parse(CHECKED_RELEASES[0]) <= version <= Version.parse(CHECKED_RELEASES[-1]):
        why = f": {NO_API}" if version < Version.parse(CHECKED_RELEASES[0]) else ""
        raise UsageError(
            f"--kubernetes-version {version}: not supported{why} (supported releases: {', '.join(CHECKED_RELEASES)})"
        )


@_check
def kubernetes_programs_have_a_real_control_plane(options: RunOptions) -> None:
    """kube-scheduler, kube-controller-manager and the kubelet run with --control-plane binaries only."""
    for name, spec in options.components().items():
        if spec.is_kubernetes and _control_plane(options) != "binaries":
            raise UsageError(
                f"--{name} {spec.kind}: requires --control-plane binaries", hint="Add --control-plane binaries."
            )


@_check
def feature_gates_can_be_set(options: RunOptions) -> None:
    """Feature gates parse, and the control plane is one that the run starts."""
    if options.gates() and _control_plane(options) == "kubeconfig":
        raise UsageError("--feature-gates: an existing cluster keeps its own feature gates", hint="Remove the option.")


@_check
def api_versions_can_be_set(options: RunOptions) -> None:
    """API versions parse, and the control plane is one that the run starts."""
    if options.api_versions() and _control_plane(options) == "kubeconfig":
        raise UsageError("--runtime-config: an existing cluster keeps its own API versions", hint="Remove the option.")


@_check
def running_driver_options_have_a_running_driver(options: RunOptions) -> None:
    """--node-name and --cdi-root describe a driver that runs already."""
    for name, value in (("node-name", options.node_name), ("cdi-root", options.cdi_root)):
        if value and options.component("driver").kind != "socket":
            raise UsageError(f"--{name}: requires a running driver (--driver socket:PATH)")


@_check
def k3s_image_has_k3s(options: RunOptions) -> None:
    """--k3s-image belongs to --control-plane k3s."""
    if options.k3s_image and _control_plane(options) != "k3s":
        raise UsageError("--k3s-image: requires --control-plane k3s")


@_check
def kind_image_has_kind(options: RunOptions) -> None:
    """--kind-image belongs to --control-plane kind."""
    if options.kind_image and _control_plane(options) != "kind":
        raise UsageError("--kind-image: requires --control-plane kind")


@_check
def kind_workers_have_kind(options: RunOptions) -> None:
    """--kind-workers belongs to --control-plane kind."""
    if options.kind_workers != default_of("kind-workers") and _control_plane(options) != "kind":
        raise UsageError("--kind-workers: requires --control-plane kind")


@_check
def kind_contents_have_kind(options: RunOptions) -> None:
    """--kind-load and --kind-apply belong to --control-plane kind."""
    for name, given in (("kind-load", options.kind_load), ("kind-apply", options.kind_apply)):
        if given and _control_plane(options) != "kind":
            raise UsageError(f"--{name}: requires --control-plane kind")


@_check
def bin_dir_has_binaries(options: RunOptions) -> None:
    """--bin-dir belongs to --control-plane binaries."""
    if options.bin_dir and _control_plane(options) != "binaries":
        raise UsageError("--bin-dir: requires --control-plane binaries")


@_check
def cluster_components_are_in_the_cluster(options: RunOptions) -> None:
    """`cluster` needs a cluster that has the component, by itself or by manifests."""
    plane = _control_plane(options)
    for name, spec in options.components().items():
        if (
            spec.kind != "cluster"
            or plane == "kubeconfig"
            or (plane in OWN_CLUSTERS and name in OWN_CLUSTER_COMPONENTS)
            or options.kind_apply
        ):
            continue
        others = ", ".join(choice for choice in CHOICES[name] if choice != "cluster")
        if plane in OWN_CLUSTERS:
            apply = "Apply its manifests with --kind-apply, or choose" if plane == "kind" else "Choose"
            raise UsageError(f"--{name} cluster: the {plane} cluster has no {name}", hint=f"{apply} from {others}.")
        raise UsageError(
            f"--{name} cluster: --control-plane {plane} is not a cluster and has no {name}",
            hint=f"Use --control-plane kubeconfig, or choose from {others}.",
        )


@_check
def watch_lag_has_seconds(options: RunOptions) -> None:
    """The lag is a number of seconds, or seconds for each resource."""
    options.lag()


@_check
def webhook_path_is_a_path(options: RunOptions) -> None:
    """The webhook path is the path of a URL, without query and fragment."""
    if not options.webhook_path.startswith("/") or set(options.webhook_path) & set(" ?#"):
        raise UsageError(
            f"--webhook-path {options.webhook_path!r}: must be the path of a URL",
            hint="For example /validate-resource-claim-parameters",
        )


@_check
def patterns_compile(options: RunOptions) -> None:
    """--focus and --skip are regular expressions."""
    for name, patterns in (("focus", options.focus), ("skip", options.skip)):
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise UsageError(f"--{name} {pattern!r}: not a regular expression: {error}") from None


@_check
def passed_variables_are_names(options: RunOptions) -> None:
    """--pass-env has names of variables, without values: options are stored in the report."""
    for name in options.pass_env:
        if not name or "=" in name or "\0" in name:
            raise UsageError(
                f"--pass-env {name.partition('=')[0]!r}: must be the name of an environment variable, without a value",
                hint="Set the variable in the environment of dra-conformance.",
            )


@_check
def waivers_have_owner_and_reason(options: RunOptions) -> None:
    """A waiver names its owner and its reason."""
    for waiver in options.waivers:
        if not (waiver.owner.strip() and waiver.reason.strip()):
            raise UsageError(f"waiver of {waiver.rule}: owner and reason must not be empty")


@_check
def supported_features_exist(options: RunOptions) -> None:
    """Every declared feature is an optional feature or a feature gate."""
    for name in options.supported_features or ():
        if name not in optional_features.choices():
            raise unknown("feature", name, optional_features.choices())


@_check
def companions_have_a_program(options: RunOptions) -> None:
    """Companions belong to a program that the run starts, on a control plane that it starts too."""
    for name, companions in options.companions.items():
        if name not in WITH_COMPANIONS:
            raise unknown("component with companions", name, WITH_COMPANIONS)
        if options.component(name).kind != "exec":
            raise UsageError(f"companions.{name}: requires a program that the run starts (--{name} exec:COMMAND)")
        names = [program.name for program in companions.programs]
        for program in companions.programs:
            if not (program.name and program.command):
                raise UsageError(f"companions.{name}: a program must have a name and a command")
            if program.name in CHOICES or names.count(program.name) > 1:
                raise UsageError(f"companions.{name}: the name {program.name!r} is taken")
    for name in WITH_COMPANIONS:
        if options.companions_of(name).manifests and _control_plane(options) == "kubeconfig":
            raise UsageError(
                f"companions.{name}: manifests are created on a control plane of the run only",
                hint=f"Start the {name} in the cluster and use --{name} cluster.",
            )


@_check
def pods_of_the_scheduler_are_labelled(options: RunOptions) -> None:
    """Labels and annotations of pods are pairs."""
    _ = options.pod_labels, options.pod_annotations


@_check
def declaration_is_consistent(options: RunOptions) -> None:
    """Samples parse, and the feature that they belong to is declared if features are declared."""
    if options.declaration is None:
        return
    options.declaration.check()
    samples = options.declaration.valid or options.declaration.invalid
    if samples and options.supported_features is not None and "configuration" not in options.supported_features:
        raise UsageError(
            "declaration: samples require the feature configuration",
            hint="Add configuration to supported-features.",
        )
