"""Names of one scenario: short names in its steps, unique names in the cluster."""

from __future__ import annotations

from collections.abc import Callable

from dra_conformance.core import manifests
from dra_conformance.core.invented_names import invented


class Names:
    """Maps the names that a scenario uses to cluster-wide names, and fills in placeholders.

    `uid_of_pod` returns the uid of a pod of the scenario, empty if there is no such pod.
    """

    def __init__(self, *, suffix: str, namespace: str, driver: str, uid_of_pod: Callable[[str], str]) -> None:
        self._suffix = suffix
        self._aliases: dict[str, str] = {}
        self._uid_of_pod = uid_of_pod
        self._constants = {
            "namespace": namespace,
            "driver": driver,
            "suffix": suffix,
            "sim": invented(f"sim-{suffix}"),
        }

    def name(self, alias: str) -> str:
        """Return the cluster-wide name for a scenario's name of a node, class, slice or other cluster object."""
        return self._aliases.setdefault(alias, f"{alias}-{self._suffix}")

    def alias(self, alias: str, name: str) -> None:
        """Use `alias` for an existing cluster-wide name."""
        self._aliases[alias] = name

    def fill(self, kind: str, alias: str) -> str:
        """Return the value of a placeholder such as `$(node:n1)` or `$(namespace)`.

        `$(sim)` is the driver name of ResourceSlices that a scenario writes, `$(uid:train)` the uid of the pod `train`.
        """
        if kind in self._constants:
            return self._constants[kind]
        if kind == "uid":
            return self._uid_of_pod(alias)
        return self.name(alias) if alias else f"$({kind})"

    def text(self, raw: str) -> str:
        """Return a step's text with its placeholders filled in."""
        return manifests.fill_text(raw, self.fill)
