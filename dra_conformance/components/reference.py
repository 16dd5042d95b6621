"""Builds reference components that run in process. Each is imported only when it is started."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.component import Component
from dra_conformance.core.errors import StartFailed, SuiteError, Untestable, UsageError
from reference_impl.errors import ComponentError

# Components with one instance per scenario, in start order.
CLUSTER_COMPONENTS = ("claim-controller", "scheduler", "binder", "taint-eviction", "compute-domain-controller")

_KNOWN_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "scheduler": ("publish", "dynamic-resource-allocation", "revision", "binding-timeout", "bug-compatible"),
    "binder": (
        "dynamic-resource-allocation",
        "reservation-namespace",
        "reservation-service-account",
        "reservation-timeout",
        "scale-adjust-namespace",
        "cdi-enabled",
    ),
    "driver": ("process",),
    "webhook": ("process",),
    "device-plugin": ("process",),
    "compute-domain-daemon": ("process",),
}


def check_settings(component: str, settings: Mapping[str, str]) -> None:
    """Raise UsageError for a setting that the reference component does not have."""
    known = _KNOWN_SETTINGS.get(component, ())
    for key in settings:
        if key not in known:
            hint = f"It has: {', '.join(known)}." if known else "It has none."
            raise UsageError(f"--{component} reference:{key}=…: the reference has no setting {key!r}", hint=hint)
    if "bug-compatible" in settings:
        # Deferred: only this setting needs the scheduler.
        from reference_impl.scheduler.bug_compatible import UnknownRelease, release

        try:
            release(settings["bug-compatible"])
        except UnknownRelease as error:
            raise UsageError(f"--{component} reference:{error}") from error


def own_flags(flags: Sequence[str]) -> list[str]:
    """Convert flags of NVIDIA's driver to those of the reference, whose --feature-gates are Kubernetes' gates."""
    return [re.sub("^--feature-gates=", "--driver-feature-gates=", flag) for flag in flags]


def _seconds(text: str | None) -> float | None:
    """Return the seconds of a duration (`50ms`, `-1s`) or of a plain number."""
    if text is None:
        return None
    found = re.fullmatch(r"(-?\d+(?:\.\d+)?)(ms|s)?", text)
    if found is None:
        raise UsageError(f"{text!r} is not a duration such as 50ms or 10s")
    return float(found[1]) / (1000 if found[2] == "ms" else 1)


def build(
    component: str,
    client: KubeClient,
    clock: Clock,
    *,
    revision: str,
    settings: Mapping[str, str],
    gates: Mapping[str, bool] | None = None,
    flags: Sequence[str] = (),
    arguments: Mapping[str, str] | None = None,
    driver_namespace: str,
) -> Component:
    """Return one reference component, not started.

    `settings` are the `key=value` pairs of the component's option; `gates` are feature gates; `flags` are flags of
    NVIDIA's driver (for the ComputeDomain controller); `arguments` are fields of kube-scheduler's DynamicResourcesArgs;
    `driver_namespace` is the namespace of the daemons of ComputeDomains.
    Raises reference_impl.errors.ComponentError for invalid flags and arguments.
    """
    arguments = arguments or {}
    check_settings(component, settings)
    gate = settings.get("dynamic-resource-allocation")
    enabled = None if gate is None else gate == "true"
    revision = settings.get("revision", revision)
    match component:
        # Deferred imports: a run loads only the components that it starts.
        case "claim-controller":
            from reference_impl.claim_controller import ClaimController, ClaimControllerOptions

            on = dict(gates or {})
            switches = ClaimControllerOptions(
                group_claims=on.get("DRAWorkloadResourceClaims", True), workloads=on.get("GenericWorkload", True)
            )
            return ClaimController(client, clock=clock, options=switches)
        case "scheduler":
            from reference_impl.scheduler import Scheduler, SchedulerOptions
            from reference_impl.scheduler.bug_compatible import release
            from reference_impl.scheduler.options import features_of

            return Scheduler(
                client,
                clock=clock,
                options=SchedulerOptions(
                    publish="direct" if settings.get("publish") == "direct" else "bind-request",
                    revision="documented" if revision == "documented" else "kai-0.17",
                    # The documented revision has the gate off by default; its instructions turn it on.
                    dynamic_resource_allocation=True if gate is None and revision == "documented" else enabled,
                    binding_timeout=_seconds(settings.get("binding-timeout") or arguments.get("bindingTimeout")),
                    filter_timeout=10.0 if (limit := _seconds(arguments.get("filterTimeout"))) is None else limit,
                    features=features_of(gates or {}),
                    bug_compatible=release(settings["bug-compatible"]) if "bug-compatible" in settings else None,
                ),
            )
        case "binder":
            from reference_impl.binder import Binder, BinderOptions

            defaults = BinderOptions()
            timeout = _seconds(settings.get("reservation-timeout"))
            return Binder(
                client,
                clock=clock,
                options=BinderOptions(
                    dynamic_resource_allocation=enabled,
                    reservation_namespace=settings.get("reservation-namespace", defaults.reservation_namespace),
                    reservation_service_account=settings.get(
                        "reservation-service-account", defaults.reservation_service_account
                    ),
                    reservation_timeout=defaults.reservation_timeout if timeout is None else timeout,
                    scale_adjust_namespace=settings.get("scale-adjust-namespace", defaults.scale_adjust_namespace),
                    cdi_enabled=settings.get("cdi-enabled", "false") == "true",
                ),
            )
        case "taint-eviction":
            from reference_impl.taint_eviction import TaintEviction

            return TaintEviction(client, clock=clock)
        case "compute-domain-controller":
            from reference_impl.compute_domain import command

            parser = argparse.ArgumentParser()
            command.add_arguments(parser)
            return command.build(parser.parse_args(["--namespace", driver_namespace, *own_flags(flags)]), client, clock)
        case "imex-daemons":
            from reference_impl.compute_domain import daemon_command

            parser = argparse.ArgumentParser()
            daemon_command.add_arguments(parser)
            return daemon_command.build(parser.parse_args(["--namespace", driver_namespace, *flags]), client, clock)
        case _:
            raise UsageError(f"there is no reference implementation of the component {component!r}")


@contextlib.contextmanager
def starting(component: str) -> Iterator[None]:
    """Turn an error of a reference component's start into StartFailed, unless it is one for the user to fix."""
    try:
        yield
    except (SuiteError, StartFailed, ComponentError, Untestable):
        raise
    # argparse exits at a flag that the component does not know.
    except (Exception, SystemExit) as error:
        raise StartFailed(component, error) from error
