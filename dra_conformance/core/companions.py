"""Companions of a component: what a program under test needs beside itself.

A scheduler may need CustomResourceDefinitions, queues, and a second program that groups pods. Its user declares them in
the table `[companions.COMPONENT]` of dra-conformance.toml; a preset brings its own. They are there before the component
starts, and they stay when a scenario stops it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from dra_conformance.core.errors import UsageError

COMPONENTS = ("claim-controller", "scheduler", "binder", "taint-eviction", "compute-domain-controller")
"""The components that can have companions: those of which a run has one."""

PORT = "port"
"""The placeholder for a free TCP port of this machine, the same in all texts of one program."""

PLACEHOLDERS = ("kubeconfig", PORT)
"""The placeholders of a companion's command."""


class CompanionProgram(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """A program that runs beside a component.

    Attributes:
        name: its name in the log, and in the name of its API user.
        command: its words, with `{kubeconfig}` and `{port}`.
        environment: environment variables; KUBECONFIG is set already.
        ready: a URL with `{port}`; the program is ready when it answers with 200. Empty: at once.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = {}
    ready: str = ""


class Companions(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """What a component needs beside itself.

    Attributes:
        manifests: YAML files, or folders of them; created in this order before any program starts.
        programs: programs to start, in this order, before the component.
        environment: environment variables of the component itself.
        ready: the URL that shows that the component itself is ready, as in CompanionProgram.
    """

    manifests: tuple[str, ...] = ()
    programs: tuple[CompanionProgram, ...] = ()
    environment: Mapping[str, str] = {}
    ready: str = ""

    def files(self) -> Iterator[Path]:
        """Yield the manifests, those of a folder by name. Raises UsageError if one does not exist."""
        for text in self.manifests:
            path = Path(text)
            if path.is_dir():
                yield from sorted(path.glob("*.yaml"))
            elif path.is_file():
                yield path
            else:
                raise UsageError(f"companions: {text}: no such file or directory")


NONE = Companions()
"""A component without companions."""
