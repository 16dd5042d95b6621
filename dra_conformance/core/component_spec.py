"""What a user may write behind `--driver`, `--scheduler` and their like."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from dra_conformance.core.errors import UsageError

# What each component can hold today, by the option's name.
CHOICES: dict[str, tuple[str, ...]] = {
    "control-plane": ("embedded", "binaries", "k3s", "kubeconfig"),
    "claim-controller": ("reference", "exec", "kube-controller-manager", "cluster", "none"),
    "scheduler": ("reference", "exec", "kube-scheduler", "cluster", "none"),
    "binder": ("reference", "exec", "cluster", "none"),
    "kubelet": ("reference", "kubelet", "cluster"),
    "driver": ("reference", "exec", "socket", "cluster"),
    "compute-domain-controller": ("reference", "exec", "cluster", "none"),
    "taint-eviction": ("reference", "exec", "kube-controller-manager", "cluster", "none"),
    "webhook": ("reference", "exec", "cluster", "none"),
}

FLAGS = "{flags}"
"""The word of a driver's command that stands for the flags of a scenario."""

# The components of which a k3s cluster has its own holder; `cluster` means it.
K3S_COMPONENTS = ("claim-controller", "scheduler", "kubelet", "taint-eviction")

# What the harness fills into the command of a webhook.
WEBHOOK_PLACEHOLDERS = ("host", "port", "tls_cert", "tls_key", "feature_gates", "kubeconfig")


@dataclass(frozen=True, slots=True)
class ComponentSpec:
    """What sits in one component.

    `kind` is one of CHOICES; `argument` is the text behind the colon: a command line for `exec`, a socket path for
    `socket`, a kubeconfig for `kubeconfig`; `settings` are the `key=value` pairs behind `reference:`.
    """

    component: str
    kind: str
    argument: str = ""
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, component: str, text: str) -> ComponentSpec:
        """Read an option's value. Raises UsageError that names the choices."""
        kind, colon, argument = text.strip().partition(":")
        choices = CHOICES[component]
        if kind not in choices:
            near = get_close_matches(kind, choices, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"It can hold: {', '.join(choices)}."
            raise UsageError(f"--{component} {text!r}: the component cannot hold {kind!r}", hint=hint)
        if kind == "exec":
            try:
                words = shlex.split(argument)
            except ValueError as error:
                raise UsageError(f"--{component} {text!r}: the command line does not parse: {error}") from None
            if not words:
                raise UsageError(
                    f"--{component} exec: needs a command", hint=f"For example --{component} 'exec:./my-program'"
                )
        elif kind == "socket":
            if not argument:
                raise UsageError(f"--{component} socket: needs the path of a Unix socket")
        elif kind == "reference" and argument:
            pairs = [pair.partition("=") for pair in argument.split(",")]
            if bad := [key for key, equals, _ in pairs if not equals]:
                raise UsageError(f"--{component} {text!r}: {bad[0]!r} is not key=value")
            return cls(component, kind, argument, {key: value for key, _, value in pairs})
        elif colon and argument and kind not in ("kubeconfig",):
            raise UsageError(f"--{component} {text!r}: {kind} takes nothing behind the colon")
        return cls(component, kind, argument)

    @property
    def command(self) -> Sequence[str]:
        """The words of an `exec` command."""
        return shlex.split(self.argument)

    @property
    def is_kubernetes(self) -> bool:
        """Whether one of Kubernetes' own programs sits here, which the harness starts on its own control plane."""
        return self.kind in ("kube-scheduler", "kube-controller-manager", "kubelet")

    @property
    def in_process(self) -> bool:
        """Whether the component is filled by our own part in this process, which the scenario's clock reaches."""
        return self.kind == "reference" and self.settings.get("process") != "yes"

    def __str__(self) -> str:
        return f"{self.kind}:{self.argument}" if self.argument else self.kind


def fill(word: str, values: Mapping[str, str]) -> str:
    """Fill `{name}` placeholders of one word of a command line. Raises UsageError for an unknown one."""
    for key, value in values.items():
        word = word.replace("{" + key + "}", value)
    start = word.find("{")
    if start >= 0 and word.find("}", start) > start and word[start + 1 : word.find("}", start)].isidentifier():
        unknown = word[start : word.find("}", start) + 1]
        known = ", ".join("{" + key + "}" for key in values)
        raise UsageError(f"unknown placeholder {unknown} in a component's command; known: {known}")
    return word
