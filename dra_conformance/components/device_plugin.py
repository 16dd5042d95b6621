"""The device plugin of a node, and the kubelet's side of it: the folder with `kubelet.sock` and the device manager.

The reference runs in this process, unless a scenario needs a process that it can kill. A program is started for each
scenario. Both end with the scenario. The node needs no Node object and no running kubelet.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from dra_conformance.components.context import ScenarioContext
from dra_conformance.components.node import ScenarioNode
from dra_conformance.components.reference import starting
from dra_conformance.core.component_spec import fill, with_flags
from dra_conformance.core.errors import TargetUnreachable, Untestable
from dra_conformance.core.events import ComponentChanged
from dra_conformance.kubelet.device_plugins import DeviceManager
from dra_conformance.kubelet.record import recorder
from reference_impl.errors import ComponentError

COMPONENT = "device-plugin"
_REFERENCE = (
    *(sys.executable, "-m", "reference_impl", COMPONENT),
    *("--device-plugin-path", "{device_plugins}"),
    *("--cdi-root", "{cdi}"),
    *("--container-driver-root", "{driver_root}"),
)
_OPTIONS_FROM = 4
_START_SECONDS = 20.0
_ENDS_WELL = (0, -signal.SIGTERM, 128 + signal.SIGTERM)
"""Exit codes after SIGTERM: handled, not handled, and not handled below a shell."""
_GUIDE = "docs/how-to/device-plugin.md describes what a device plugin receives and must do."


class NodeDevicePlugin:
    """The device plugin under test on one node. `manager` plays the kubelet; `start_kubelet` starts it."""

    def __init__(self, world: ScenarioContext, node: ScenarioNode) -> None:
        self._world = world
        self.node = node
        self.flags: tuple[str, ...] = ()
        """Flags for later starts, in the spelling of NVIDIA's plugin."""
        self.error = ""
        """The error that ended the last start of the reference in this process."""
        self.manager = DeviceManager(
            node.device_plugins_dir,
            clock=world.clock,
            record=recorder(world.log.emit, node.name),
            give=world.run.isolation.give,
        )

    def make_folder(self) -> None:
        """Create the folder of device plugins without a kubelet."""
        self.node.device_plugins_dir.mkdir(exist_ok=True, mode=0o700)
        self._world.run.isolation.give(self.node.device_plugins_dir)

    def start(self, *, as_process: bool = False) -> None:
        """Start the plugin with `flags`. An error that ends the reference at its start is kept in `error`.

        Raises StartFailed for any other error of the reference.
        """
        self.error = ""
        spec = self._world.run.components.spec(COMPONENT)
        self._log("start", spec.kind)
        if spec.kind == "exec":
            self.node.start_program(COMPONENT, with_flags(spec.command, self.flags))
        elif as_process or spec.settings.get("process") == "yes":
            self.node.start_program(COMPONENT, [*_REFERENCE, *self.flags, "--until-stdin-closes"])
        else:
            self._start_reference()

    def stop(self, *, kill: bool = False) -> None:
        """Stop the plugin in good order, or kill its process."""
        self._log("kill" if kill else "stop", self._world.run.components.spec(COMPONENT).kind)
        self.node.end_program(COMPONENT, kill=kill)

    def terminate(self, seconds: float) -> str:
        """Let the plugin end within `seconds` after SIGTERM; return what is wrong with its end, empty if nothing is.

        A program may end by the signal itself. The reference in this process has no signal, and is stopped.
        """
        process = self.node.program(COMPONENT)
        self._log("stop", self._world.run.components.spec(COMPONENT).kind)
        if process is None:
            try:
                self.node.end_program(COMPONENT)
            except Exception as error:  # whatever a broken reference raises
                return f"an error: {error}"
            return ""
        process.terminate(seconds)
        if process.running:
            return f"it still runs after {seconds:g} s{process.quoted_output()}"
        if process.exit_code not in _ENDS_WELL:
            return f"exit code {process.exit_code}{process.quoted_output()}"
        return ""

    @property
    def is_process(self) -> bool:
        """Whether the plugin is a process, also of the reference."""
        return self.node.program(COMPONENT) is not None

    @property
    def has_ended(self) -> bool:
        """Whether the plugin has ended by itself."""
        process = self.node.program(COMPONENT)
        return bool(self.error) if process is None else not process.running

    def state(self) -> str:
        """Return the state of the plugin for a report."""
        process = self.node.program(COMPONENT)
        if process is None:
            return f"the plugin ended at its start: {self.error}" if self.error else "the plugin runs"
        state = "the plugin runs" if process.running else f"the plugin ended with exit code {process.exit_code}"
        return state + process.quoted_output()

    def wait_registered(self) -> None:
        """Wait until a plugin is registered and has sent a list of devices.

        Raises Untestable if it does not; TargetUnreachable for a program that none of this process has seen registered.
        """
        world = self._world

        def ready() -> bool:
            return self.has_ended or any(plugin.lists for plugin in self.manager.plugins())

        patience = world.run.patience
        is_program = self.node.program(COMPONENT) is not None
        world.log.wait_for(ready, max(patience, _START_SECONDS) if is_program else patience)
        if any(plugin.lists for plugin in self.manager.plugins()):
            world.run.components.came.add(COMPONENT)
            return
        attempts = self.manager.attempts
        seen = f"Register was called with {attempts[-1].registration}" if attempts else "Register was not called"
        refused = f" and refused: {attempts[-1].error}" if attempts and attempts[-1].error else ""
        message = f"the device plugin is not registered with a list of devices: {seen}{refused}; {self.state()}"
        components = world.run.components
        if COMPONENT in components.came or components.spec(COMPONENT).kind == "reference":
            raise Untestable(message)
        raise TargetUnreachable(message, hint=_GUIDE)

    def end(self) -> None:
        """Stop the plugin and the kubelet's side. Idempotent."""
        self.node.end_program(COMPONENT, kill=True)
        self.manager.stop()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _log(self, action: str, implementation: str) -> None:
        self._world.log.emit(ComponentChanged(component=COMPONENT, implementation=implementation, action=action))

    def _start_reference(self) -> None:
        # Deferred: only scenarios with the reference plugin load it.
        from reference_impl.device_plugin import GpuDevicePlugin, command

        with starting(COMPONENT):
            parser = argparse.ArgumentParser(exit_on_error=False)
            command.add_arguments(parser)
            try:
                options = command.plugin_options(parser.parse_args(self._filled([*_REFERENCE, *self.flags])))
                self.node.run_part(
                    COMPONENT, GpuDevicePlugin(clock=self._world.clock, nvml=self.node.nvml, options=options)
                )
            except (ComponentError, argparse.ArgumentError) as error:
                self.error = str(error)

    def _filled(self, command: Sequence[str]) -> list[str]:
        values = {
            "device_plugins": str(self.node.device_plugins_dir),
            "cdi": str(self.node.kubelet.cdi_roots[0]),
            "driver_root": str(self.node.driver_root),
        }
        return [fill(word, values) for word in command[_OPTIONS_FROM:]]
