"""How long a run waits, and what it can observe of the components' activity."""

from __future__ import annotations

from dra_conformance.core.options import RunOptions


class Waits:
    """The waits of a run in seconds, by its options."""

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._control_plane = options.component("control-plane").kind

    @property
    def patience(self) -> float:
        """The time that a check waits for the target."""
        if self._options.patience is not None:
            return self._options.patience
        return {"embedded": 5.0, "binaries": 20.0}.get(self._control_plane, 60.0)

    @property
    def quiet(self) -> float:
        """The time without an event after which no more are expected."""
        if not self._all_in_process:
            return 2.0
        # On a cluster, more than a second would move its clock too far from the one that scenarios advance.
        return {"embedded": 0.08, "binaries": 0.5, "kubeconfig": 1.0}.get(self._control_plane, 2.0)

    @property
    def observes_idle(self) -> bool:
        """Whether all clients of the control plane run in this process, on the run's clock."""
        return self._all_in_process and self._control_plane == "embedded"

    @property
    def _all_in_process(self) -> bool:
        components = self._options.components()
        return all(spec.in_process for name, spec in components.items() if name != "control-plane")
