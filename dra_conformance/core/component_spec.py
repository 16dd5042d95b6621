"""Parses the value of a component option such as `--driver` or `--scheduler`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dra_conformance.core.driver_presets import NVIDIA, Preset, nvidia
from dra_conformance.core.errors import UsageError, unknown
from dra_conformance.core.kai_presets import KAI, kai
from dra_conformance.core.option_table import BY_NAME, OPTIONS, kind_of

CHOICES: dict[str, tuple[str, ...]] = {
    option.name: tuple(kind_of(choice) for choice in option.choices) for option in OPTIONS if option.is_component
}
"""The kinds of implementation that each component option accepts."""

FLAGS = "{flags}"
"""The word of a driver's command that is replaced by the flags of a scenario."""

DRIVER_ROOT = "{driver_root}"
"""The placeholder for the driver root of the scenario's fake node: a driver whose command has it runs on fake GPUs."""

OWN_CLUSTER_COMPONENTS = ("claim-controller", "scheduler", "kubelet", "taint-eviction")
"""The components that a kind or k3s cluster has, so that `cluster` is accepted for them."""

OWN_CLUSTERS = ("kind", "k3s")
"""The control planes of the run that are clusters with these components."""

NAMESPACE = "{namespace}"
"""The placeholder for the namespace of the driver's own objects."""

NODE_PROGRAMS = ("driver", "compute-domain-plugin", "device-plugin")
"""The components that run on a node, of which each scenario has its own."""

MOUNTED = (*NODE_PROGRAMS, "compute-domain-controller")
"""The components that see the files of `--driver-mount`."""

WEBHOOK_PLACEHOLDERS = ("host", "port", "tls_cert", "tls_key", "feature_gates", "kubeconfig")
"""The placeholders of a webhook's command."""


_VERSION = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?")
_PRESETS = {NVIDIA: nvidia, KAI: kai}

NODE_FOLDERS = ("{plugins}", "{registrar}", "{device_plugins}", "{cdi}")
"""Sources of mounts that are folders of the driver's node, for a program that has the paths of a kubelet built in."""


@dataclass(frozen=True, slots=True)
class ComponentSpec:
    """The implementation of one component.

    Attributes:
        component: the name of the option, such as `claim-controller`.
        kind: one of CHOICES.
        argument: the text after the colon: a command line for `exec`, a path for `socket` and `kubeconfig`, a version
            such as v1.36.3 for `kubelet`.
        settings: the `key=value` pairs of `reference:key=value,...`.
        preset: the known program whose command this is; `kind` and `argument` are those of the command.
        mounts: what a command needs at paths of this machine, as pairs of a source and a target.
    """

    component: str
    kind: str
    argument: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    preset: Preset | None = None
    mounts: tuple[tuple[Path, Path], ...] = ()

    @classmethod
    def parse(cls, component: str, text: str) -> ComponentSpec:
        """Parse the value of an option. Raises UsageError that lists the choices."""
        kind, colon, argument = text.strip().partition(":")
        if kind not in CHOICES[component]:
            option = BY_NAME[component]
            if "/" in kind and "exec" in CHOICES[component]:
                raise UsageError(
                    f"unknown {option.noun} {kind!r} (choose from {', '.join(option.choices)})",
                    hint=f"A program is started with --{component} 'exec:{text.strip()}'.",
                )
            raise unknown(option.noun, kind, option.choices, spellings=CHOICES[component])
        if kind in _PRESETS:
            preset = _PRESETS[kind](component, argument)
            return cls(component, "exec", shlex.join(preset.command), preset=preset, mounts=preset.mounts)
        if kind == "exec":
            try:
                words = shlex.split(argument)
            except ValueError as error:
                raise UsageError(f"--{component} {text!r}: invalid command line: {error}") from None
            if not words:
                raise UsageError(
                    f"--{component} exec: requires a command", hint=f"For example --{component} 'exec:./my-program'"
                )
        elif kind == "socket":
            if not argument:
                raise UsageError(f"--{component} socket: requires the path of a Unix socket")
        elif kind == "reference" and argument:
            pairs = [pair.partition("=") for pair in argument.split(",")]
            if bad := [key for key, equals, _ in pairs if not equals]:
                raise UsageError(f"--{component} {text!r}: {bad[0]!r} is not key=value")
            return cls(component, kind, argument, {key: value for key, _, value in pairs})
        elif kind == "kubelet" and argument:
            if not _VERSION.fullmatch(argument):
                raise UsageError(
                    f"--{component} {text!r}: {argument!r} is no version of a kubelet",
                    hint="For example --kubelet kubelet:v1.36.3; without a version it has that of the API server.",
                )
            return cls(component, kind, f"v{argument.removeprefix('v')}")
        elif colon and argument and kind not in ("kubeconfig",):
            raise UsageError(f"--{component} {text!r}: {kind} takes no argument")
        return cls(component, kind, argument)

    @property
    def command(self) -> Sequence[str]:
        """The words of an `exec` command."""
        return shlex.split(self.argument)

    @property
    def takes_fake_gpus(self) -> bool:
        """Whether the driver runs on the GPUs of a fake node: the reference, or a command with their root."""
        return self.kind == "reference" or (self.kind == "exec" and DRIVER_ROOT in self.argument)

    @property
    def is_kubernetes(self) -> bool:
        """Whether the implementation is a Kubernetes program that the harness starts on its own control plane."""
        return self.kind in ("kube-scheduler", "kube-controller-manager", "kubelet")

    @property
    def in_process(self) -> bool:
        """Whether the reference component runs in this process, so that the scenario controls its clock."""
        return self.kind == "reference" and self.settings.get("process") != "yes"

    @property
    def is_reference_process(self) -> bool:
        """Whether the reference component runs as a process of its own, which starts a Python interpreter."""
        return self.kind == "reference" and not self.in_process

    def __str__(self) -> str:
        if self.preset:
            return self.preset.label
        return f"{self.kind}:{self.argument}" if self.argument else self.kind


def fill(word: str, values: Mapping[str, str]) -> str:
    """Replace the `{name}` placeholders of one word of a command line. Raises UsageError for an unknown one."""
    for key, value in values.items():
        word = word.replace("{" + key + "}", value)
    start = word.find("{")
    # Other braces, such as those of JSON or of a shell, stay as they are.
    if start >= 0 and word.find("}", start) > start and word[start + 1 : word.find("}", start)].isidentifier():
        name = word[start : word.find("}", start) + 1]
        known = ", ".join("{" + key + "}" for key in values)
        raise UsageError(f"unknown placeholder {name} in the command of a component (choose from {known})")
    return word


def with_flags(command: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Return a command with the flags in place of `{flags}`, as separate arguments."""
    return [word for given in command for word in (flags if given == FLAGS else (given,))]
