"""One node of a scenario: its folders, its kubelet, its fake GPUs and the drivers on it.

All files are in one folder of the run with a short path, and are removed with the scenario. The kubelet is the
harness's own, unless the scenario has the component kubelet and the run uses Kubernetes' kubelet. `--driver` selects
the driver.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from dra_api.allocations import results_of
from dra_api.client import KubeClient
from dra_api.component import Component
from dra_api.feature_gates import gate_list
from dra_api.objects import RESOURCE_CLAIMS, RESOURCE_SLICES, Obj, name_of, namespace_of, uid_of
from dra_api.rpc import ClaimRef, RpcError
from dra_conformance.components import fake_root
from dra_conformance.components.container_programs import ContainerPrograms
from dra_conformance.components.context import ScenarioContext
from dra_conformance.components.deployments import Deployments
from dra_conformance.components.real_node import real_kubelet
from dra_conformance.components.reference import own_flags, starting
from dra_conformance.components.simulated_mps import daemons_ended
from dra_conformance.core.component_spec import (
    DRIVER_ROOT,
    FLAGS,
    NAMESPACE,
    ComponentSpec,
    fill,
    with_flags,
)
from dra_conformance.core.errors import StartFailed, TargetUnreachable, Untestable
from dra_conformance.core.events import DriverChanged, KubeletCall, KubeletEvent, LogRecord, NvmlChanged
from dra_conformance.core.isolation import NONE, Isolation
from dra_conformance.core.labels import SCENARIO_LABEL
from dra_conformance.core.process import ManagedProcess
from dra_conformance.core.processor_delay import Deadline, ProcessorDelay
from dra_conformance.core.rules.window import Version
from dra_conformance.kubelet import DriverNotRegistered, Kubelet, PluginHandle
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.kubelet.node_kubelet import NodeKubelet
from fake_nvml import bind_files, pci_kernel
from reference_impl.errors import ComponentError

GPU_DRIVER = "gpu.nvidia.com"
DOMAIN_DRIVER = "compute-domain.nvidia.com"
GPU_PLUGIN = "kubelet-plugin"
FABRIC_PLUGIN = "compute-domain-plugin"
_ENDING = 0.25  # seconds from the last closed socket of a program to its end


class DriverEnded(Untestable):
    """A driver ended with an error before it registered; the text is the error."""


class ScenarioNode:
    """A node called `alias` in the scenario. `inventory` names its GPUs; None: those of the run.

    `plain`: the node has the harness's own kubelet, and nothing of the scenario, such as gates or injected faults.
    """

    def __init__(
        self, world: ScenarioContext, alias: str, *, inventory: str | None = None, plain: bool = False
    ) -> None:
        self.world = world
        self.plain = plain
        self.alias = alias
        # An externally started driver serves the first node of a scenario.
        self.external_driver = None if plain else world.external_driver_for(alias)
        if self.external_driver is not None:
            world.alias(alias, self.external_driver.node)
        self.name = world.name(alias)
        self.inventory = inventory or world.run.options.inventory
        world.run.components.work.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A short name: paths of sockets below it have at most 107 bytes.
        # With a point: node-1 of scenario 31 is not node-13 of scenario 1.
        self.root = world.run.components.work / f"{alias}.{world.suffix.rpartition('-')[2]}"
        self.root.mkdir(mode=0o700)
        self.driver_error = ""
        """The error that ended the last start of the reference driver in this process."""
        self.flags: tuple[str, ...] = ()
        """Flags of the driver gpu.nvidia.com for later starts."""
        self.plugin_flags: tuple[str, ...] = ()
        """Flags of the last start of the ComputeDomain driver."""
        self._gpus: Any = None
        self._nvml: Any = None
        self._parts: dict[str, Component] = {}
        self._processes: dict[str, ManagedProcess] = {}
        self.driver_as_process = False
        self.plugin_as_process = False
        """Whether every start of the reference driver on this node is a process of its own."""
        self._prepared_refs: dict[str, ClaimRef] = {}
        self._bind_files: list[bind_files.BindFiles] = []
        self._deployments: Deployments | None = None
        self.kubelet: NodeKubelet
        if world.has_real_kubelet and not plain:
            self.kubelet = real_kubelet(world, self.name, self.root, log=self._record)
        else:
            self.kubelet = Kubelet(
                KubeClient(world.run.component_transport("kubelet"), user_agent="kubelet"),
                world.clock,
                self.name,
                self.root,
                log=self._record,
                registration_dir=self.external_driver.registrar if self.external_driver else None,
                cdi_roots=self.external_driver.cdi_roots if self.external_driver else None,
                # A driver that runs already has published its slices; deleting them would be the harness's fault.
                wipe_at_start=self.external_driver is None,
                # Beside the driver the node has pods of its users.
                serves=world.run.has_made_namespace if self._has_pods_of_others else None,
                programs=self._programs() if self._simulates_mps else None,
                shown_at=self._shown_at(),
                labels={SCENARIO_LABEL: world.suffix},
                negotiates_health=self._release() >= Version.parse("1.37"),
            )

    @property
    def _has_pods_of_others(self) -> bool:
        return self.external_driver is not None and self.world.run.on_existing_cluster

    def _release(self) -> Version:
        """Return the release that the harness's own kubelet emulates: that of the control plane."""
        plane = self.world.run.control_plane
        return Version.parse(plane.version() if plane is not None else self.world.run.options.kubernetes_version)

    # -- GPUs ------------------------------------------------------------------------------------------------------

    @property
    def gpus(self) -> Any:
        """The node's fake GPUs (a fake_nvml.Node), created at first use. Raises Untestable with `--nvml real`."""
        if self.real:
            raise Untestable("the GPUs of this machine cannot be changed like fake ones (--nvml fake)")
        if self._gpus is None:
            import fake_nvml  # deferred: only nodes with GPUs load the library

            self._gpus = fake_nvml.Node.create(
                self.world.run.inventory(self.inventory), self.root / "nvml", name=self.alias
            )
            self.world.log.emit(NvmlChanged(node=self.alias, action="create", inventory=self.inventory))
        return self._gpus

    @property
    def real(self) -> bool:
        """Whether the node uses this machine's GPUs (`--nvml real`)."""
        return self.world.run.options.nvml == "real"

    @property
    def driver_root(self) -> Path:
        """The directory of the NVIDIA driver's files: that of the fake node, or of this machine (`--driver-root`)."""
        return Path(self.world.run.options.driver_root if self.real else self.gpus.driver_root)

    @staticmethod
    def _machine_nvml() -> Any:
        import fake_nvml  # deferred: only nodes with GPUs load the library

        return fake_nvml.load_pynvml(None)

    @property
    def device_plugins_dir(self) -> Path:
        """The folder of device plugins, in which `kubelet.sock` is."""
        return self.root / "device-plugins"

    @property
    def observes_idle(self) -> bool:
        """Whether kubelet and drivers run in this process, so that the run observes when they are idle."""
        return isinstance(self.kubelet, Kubelet) and self.external_driver is None and not self._processes

    def processes(self) -> list[int]:
        """The ids of the drivers' processes that run."""
        return [process.pid for process in self._processes.values() if process.pid is not None and process.running]

    def _fake_node_environment(self) -> dict[str, str]:
        return {} if self.real else {**self._gpu_environment(), **fake_root.environment(Path(self.gpus.driver_root))}

    def _gpu_environment(self) -> dict[str, str]:
        return {} if self.real else dict(self.gpus.env())

    @property
    def nvml(self) -> Any:
        """Unmodified pynvml, bound to this node's library, or to this machine's with `--nvml real`."""
        if self._nvml is None:
            self._nvml = self._machine_nvml() if self.real else self.world.run.pynvml_pool.load(self.gpus)
        return self._nvml

    @contextmanager
    def nvml_session(self) -> Iterator[Any]:
        """Yield the node's pynvml between nvmlInit and nvmlShutdown."""
        nvml = self.nvml
        nvml.nvmlInit()
        try:
            yield nvml
        finally:
            nvml.nvmlShutdown()

    # -- the driver under test -------------------------------------------------------------------------------------

    @property
    def driver_name(self) -> str:
        """The driver under test."""
        return self.world.run.options.driver_name

    @property
    def domain_plugin(self) -> PluginHandle:
        """Calls to the node's ComputeDomain driver. Raises Untestable if it is not registered."""
        try:
            return self.kubelet.plugin(DOMAIN_DRIVER)
        except KubeletError as error:
            raise Untestable(str(error)) from error

    @property
    def harness_kubelet(self) -> Kubelet:
        """The harness's kubelet. Raises Untestable if the node has another one."""
        if not isinstance(self.kubelet, Kubelet):
            raise Untestable(f"the kubelet of {self.alias} is not the harness's own")
        return self.kubelet

    def start_kubelet(self) -> None:
        """Start the node's kubelet; its Node object appears."""
        try:
            self.kubelet.start()
        except KubeletError as error:
            raise Untestable(f"the kubelet of {self.alias} does not start: {error}") from error

    def start_driver(self, *, as_process: bool = False) -> None:
        """Start the driver under test with the node's `flags`; `wait_driver` waits until it is registered.

        `as_process` applies to this start only; `driver_as_process` to all. Raises DriverEnded if the reference driver
        in this process ends with an error.
        """
        self.driver_error = ""
        spec = self.world.run.components.spec("driver")
        self.world.log.emit(DriverChanged(node=self.alias, implementation=spec.kind, action="start"))
        match spec.kind:
            case "reference" if as_process or self.driver_as_process or spec.settings.get("process") == "yes":
                # Its standard input closes when this process is killed, and the driver ends with the run.
                command = [*self._driver_command(), "--until-stdin-closes"]
                self._start_process(self.driver_name, command, self._gpu_environment())
            case "reference":
                self._start_reference()
            case "exec":
                self._start_deployments()
                self._start_process(
                    self.driver_name,
                    with_flags(spec.command, self.started_flags()),
                    {**(self._fake_node_environment() if spec.takes_fake_gpus else {}), **self._gate_environment(spec)},
                    target="driver",
                )
            case "socket" if self.external_driver is None:
                raise Untestable(f"the driver runs on one node only, and that is not {self.alias}")
            case _:
                return  # it runs already; the user starts and stops it

    def started_flags(self) -> tuple[str, ...]:
        """Return the driver's flags with the gates that the scenario's tags state; gates of a step's flags win."""
        return with_gates(self.flags, self._stated_gates())

    def _stated_gates(self) -> dict[str, bool]:
        tags = self.world.scenario.tags
        if self.plain:
            return {}
        return {**dict.fromkeys(tags.driver_gates, True), **dict.fromkeys(tags.driver_gates_off, False)}

    def _gate_environment(self, spec: ComponentSpec) -> dict[str, str]:
        """Return the variable with the scenario's gates, for a command that takes no flags."""
        gates = self._stated_gates()
        return {"FEATURE_GATES": gate_list(gates)} if gates and FLAGS not in spec.command else {}

    def wait_driver(self) -> PluginHandle:
        """Wait until the driver is registered with the kubelet.

        Raises Untestable with the contents of the registration folder, or the exit of the driver's process. For a
        driver that this process has never seen registered it raises TargetUnreachable, because other scenarios would
        fail too (components/start_check.py).
        """
        seconds = self._registration_seconds
        process = self._processes.get(self.driver_name)
        try:
            handle = (
                self._wait_process(process, seconds)
                if process is not None
                else self.kubelet.wait_registered(self.driver_name, seconds)
            )
        except DriverNotRegistered as error:
            raise self._never_came(f"{error}{_last_output(process)}") from error
        except DriverEnded as error:
            raise self._never_came(str(error)) from None
        self.world.run.components.came.add("driver")
        return handle

    @property
    def _registration_seconds(self) -> float:
        return max(self.world.run.patience, 20.0)

    def _never_came(self, message: str, component: str = "driver") -> Exception:
        components = self.world.run.components
        if component in components.came or components.spec(component).kind == "reference":
            return Untestable(message)
        hint = _GUIDES[component]
        if component == "driver" and (others := self.kubelet.plugins.drivers()):
            hint = f"A driver registered as {', '.join(sorted(others))}: is --driver-name right? {hint}"
        if self.world.run.isolation.mode == "user" and "permission denied" in message.lower():
            hint = f"The driver runs as another user, who cannot access root's files; see --isolation. {hint}"
        return TargetUnreachable(message, hint=hint)

    def _wait_process(self, process: ManagedProcess, seconds: float, driver: str = "") -> PluginHandle:
        """Wait in short intervals, to distinguish a program that has exited from one that is slow.

        Raises DriverEnded for one that has exited, and DriverNotRegistered for one that is too slow.
        """
        driver = driver or self.driver_name
        deadline = Deadline(self.world.log.clock, seconds, ProcessorDelay())
        while True:
            try:
                return self.kubelet.wait_registered(driver, 0.25)
            except DriverNotRegistered:
                if not process.running:
                    raise DriverEnded(
                        f"the {process.name.partition(' on ')[0]} ended with exit code {process.exit_code} before it "
                        f"registered{_last_output(process) or ', without output'}"
                    ) from None
                if deadline.is_over():
                    explanation = self.kubelet.plugins.explain(driver)
                    raise DriverNotRegistered(f"{seconds:g} s after its start {explanation}") from None

    def slices(self) -> list[Obj]:
        """The driver's ResourceSlices for this node, as last observed."""
        return [
            obj
            for obj in self.world.observer.list(RESOURCE_SLICES)
            if obj["spec"].get("driver") == self.driver_name and obj["spec"].get("nodeName") == self.name
        ]

    def devices(self) -> list[Obj]:
        """The devices of those slices, in order."""
        return [device for obj in self.slices() for device in obj["spec"].get("devices") or ()]

    @property
    def plugin(self) -> PluginHandle:
        """Calls to the driver under test. Raises Untestable when it is not registered."""
        try:
            return self.kubelet.plugin(self.driver_name)
        except KubeletError as error:
            raise Untestable(str(error)) from error

    def stop_driver(self) -> None:
        """Stop the driver in good order."""
        self._end(self.driver_name, kill=False)

    def roll_driver(self, flags: Sequence[str]) -> None:
        """Start another instance of the driver beside the one that runs.

        `retire_driver` stops the older, `take_back_driver` the newer.
        """
        # Under another name, so that a new instance can start and `end` still finds this one.
        self._rename(self.driver_name, self._older)
        self.flags = (*self.flags, *flags)
        self.start_driver()

    def retire_driver(self) -> None:
        """Stop the older of two instances in good order."""
        self._end(self._older, kill=False)

    def take_back_driver(self) -> None:
        """Stop the newer of two instances in good order; the older one is the node's driver again."""
        self._end(self.driver_name, kill=False)
        self._rename(self._older, self.driver_name)

    @property
    def _older(self) -> str:
        return f"{self.driver_name} retiring"

    def _rename(self, old: str, new: str) -> None:
        if old in self._parts:
            self._parts[new] = self._parts.pop(old)
        if old in self._processes:
            self._processes[new] = self._processes.pop(old)

    def kill_driver(self) -> None:
        """End the driver at once: SIGKILL for a process. Raises Untestable for one that is not ours."""
        if self.driver_name not in self._processes and self.driver_name not in self._parts:
            raise Untestable("the driver is not ours to kill")
        self._end(self.driver_name, kill=True)

    @property
    def driver_process(self) -> ManagedProcess:
        """The driver's process. Raises Untestable if it runs in process or the run has not started it."""
        process = self._processes.get(self.driver_name)
        if process is None:
            raise Untestable("the driver is no process of the harness")
        return process

    @property
    def ended_by_itself(self) -> bool:
        """Whether the last start of the driver ended with an error, and not by a signal."""
        process = self._processes.get(self.driver_name)
        if process is None:
            return bool(self.driver_error)
        return not process.running and (process.exit_code or 0) > 0

    @property
    def programs(self) -> list[ManagedProcess]:
        """The programs under test on the node."""
        return [process for process in self._processes.values() if process.isolation is not NONE]

    def crash(self) -> str:
        """Describe a driver's process that has ended and that the scenario did not stop; empty if there is none.

        A program closes its sockets before its end can be seen, so this waits for a moment.
        """
        for process in self._processes.values():
            process.wait(_ENDING)
        ended = [process for process in self._processes.values() if process.exit_code is not None]
        return "; ".join(f"the {one.name} ended with exit code {one.exit_code}: {one.last_words()}" for one in ended)

    def process_state(self) -> str:
        """The state of the driver's process, or the error that ended its start; empty if there is neither."""
        process = self._processes.get(self.driver_name)
        if process is None:
            return f"the driver ended at its start: {self.driver_error}" if self.driver_error else ""
        said = _last_output(process)
        if process.running:
            return f"the driver's process runs{said}"
        return f"the driver's process ended with exit code {process.exit_code}{said}"

    def start_beside(self, driver_name: str, inventory: str, *, metadata: bool = False) -> None:
        """Start another driver with a list of devices (`nic`, `fpga`), and wait until it is registered.

        `metadata`: it describes the devices to containers.
        """
        # Deferred: a run loads only the drivers that it starts.
        from reference_impl.inventory_plugin.inventory import Inventory
        from reference_impl.inventory_plugin.plugin import InventoryPlugin
        from reference_impl.kubelet_plugin.options import FeatureGates

        options = self._plugin_options(driver_name, driver_root=Path("/"))
        # Its errors are those of the driver under test only if that is the reference as well.
        judged = self.world.run.components.spec("driver").kind == "reference"
        with starting("driver") if judged else nullcontext():
            plugin = InventoryPlugin(
                KubeClient(self.world.run.component_transport("driver")),
                clock=self.world.clock,
                inventory=Inventory.load(inventory),
                options=replace(options, gates=FeatureGates(DeviceMetadata=metadata)),
            )
            plugin.start()
        self._parts[driver_name] = plugin
        try:
            self.kubelet.wait_registered(driver_name, 20.0)
        except DriverNotRegistered as error:
            raise Untestable(str(error)) from error

    # -- the kubelet plugin of ComputeDomains ----------------------------------------------------------------------

    def start_fabric_plugin(self, flags: Sequence[str] = ()) -> None:
        """Start the ComputeDomain driver of this node and wait until it is registered.

        The GPUs report the NVLink clique of the node. `flags` are in the spelling of NVIDIA's driver.

        Raises DriverEnded for a program that ends, and reference_impl.errors.ComponentError for the reference;
        TargetUnreachable for a program that neither ends nor registers, if none has in this run, else Untestable;
        StartFailed for the reference.
        """
        self.plugin_flags = tuple(flags)
        spec = self.world.run.components.spec(FABRIC_PLUGIN)
        self.world.log.emit(
            DriverChanged(node=self.alias, driver=DOMAIN_DRIVER, implementation=spec.kind, action="start")
        )
        if spec.kind == "exec":
            env = self._fake_node_environment() if spec.takes_fake_gpus else {}
            self._start_plugin_process(with_flags(spec.command, flags), env, target=FABRIC_PLUGIN)
            return
        if self.plugin_as_process:
            # Its standard input closes when this process is killed, and the driver ends with the run.
            command = [*self._reference_command(FABRIC_PLUGIN, DOMAIN_DRIVER, flags), "--until-stdin-closes"]
            self._start_plugin_process(command, self._gpu_environment())
            return
        # Deferred: a run loads only the drivers that it starts.
        from reference_impl.compute_domain import plugin_command
        from reference_impl.compute_domain.plugin import ComputeDomainPlugin

        with starting(FABRIC_PLUGIN):
            plugin = ComputeDomainPlugin(
                KubeClient(self.world.run.component_transport(FABRIC_PLUGIN), user_agent=f"reference-{FABRIC_PLUGIN}"),
                clock=self.world.clock,
                nvml=self.nvml,
                options=self._options_of(plugin_command, self._reference_command(FABRIC_PLUGIN, DOMAIN_DRIVER, flags)),
            )
            plugin.start()
        self._parts[DOMAIN_DRIVER] = plugin
        try:
            self.kubelet.wait_registered(DOMAIN_DRIVER, 10.0)
        except DriverNotRegistered as error:
            raise StartFailed(FABRIC_PLUGIN, error) from error

    def _start_plugin_process(self, command: Sequence[str], env: Mapping[str, str], *, target: str = "") -> None:
        process = self._start_process(DOMAIN_DRIVER, command, env, target=target)
        try:
            self._wait_process(process, self._registration_seconds, DOMAIN_DRIVER)
        except DriverEnded:
            # Expected or not, this end is reported; it is no crash of a driver that was there.
            del self._processes[DOMAIN_DRIVER]
            raise
        except DriverNotRegistered as error:
            raise self._never_came(f"{error}{_last_output(process)}", FABRIC_PLUGIN) from error
        self.world.run.components.came.add(FABRIC_PLUGIN)

    def plugin_never_came(self, error: DriverEnded) -> Exception:
        """Return the error for a ComputeDomain driver that had to start: the run's, if none has started in it."""
        return self._never_came(str(error), FABRIC_PLUGIN)

    def stop_fabric_plugin(self) -> None:
        """Stop the ComputeDomain driver of this node; prepared claims and slices stay."""
        self._end(DOMAIN_DRIVER, kill=False)

    def kill_fabric_plugin(self) -> None:
        """End the ComputeDomain driver of this node at once. Raises Untestable if it is no process of the harness."""
        if DOMAIN_DRIVER not in self._processes:
            raise Untestable("the ComputeDomain driver is no process of the harness")
        self._end(DOMAIN_DRIVER, kill=True)

    # -- programs of other components ------------------------------------------------------------------------------

    def start_program(self, component: str, command: Sequence[str]) -> ManagedProcess:
        """Start the program of a component on this node, the reference's or the user's. It ends with the node.

        It sees the fake GPUs of the node if its command has their root.
        """
        spec = self.world.run.components.spec(component)
        if spec.kind == "reference":
            return self._start_process(component, command, self._gpu_environment())
        for folder in (self.kubelet.plugins_dir, self.kubelet.registration_dir, *self.kubelet.cdi_roots):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # a kubelet that has not started has made none
        env = self._fake_node_environment() if spec.takes_fake_gpus else {}
        return self._start_process(component, command, env, target=component)

    def run_part(self, component: str, part: Component) -> None:
        """Start a reference component in this process. It ends with the node."""
        part.start()
        self._parts[component] = part

    def program(self, component: str) -> ManagedProcess | None:
        """Return the process of a component's program, if it is one."""
        return self._processes.get(component)

    def end_program(self, component: str, *, kill: bool = False) -> None:
        """Stop or kill the program of a component."""
        self._end(component, kill=kill)

    # -- end -------------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Stop drivers and kubelet, and release the GPUs."""
        for name in [*self._parts, *self._processes]:
            self._end(name, kill=True)
        # While the kubelet still has its connection to the driver.
        if self.external_driver is not None:
            self._take_leave()
        if self._deployments is not None:
            self._deployments.stop()
        self.kubelet.end()
        while self._bind_files:
            self._bind_files.pop().close()
        if self._gpus is not None:
            self._gpus.close()
            self._gpus = None
        if self._nvml is not None and not self.real:
            self.world.run.pynvml_pool.give_back(self._nvml)
            self._nvml = None
        # Drivers leave their slices when they stop, and the node has no kubelet any more to delete them.
        for obj in self.slices() if self.external_driver is None else ():
            self.world.client.delete_if_there(RESOURCE_SLICES, obj["metadata"]["name"])

    # -- inside ----------------------------------------------------------------------------------------------------

    def _record(self, event: KubeletEvent) -> None:
        """Record an event in the run's log, and remember the claims of a driver for the end of the scenario."""
        if isinstance(event, KubeletCall) and event.method == "NodePrepareResources":
            for claim in event.request["claims"] if event.driver == self.driver_name else ():
                self._prepared_refs[claim["uid"]] = ClaimRef(**claim)
        self.world.log.emit(event)

    def _take_leave(self) -> None:
        """Unprepare the scenario's claims, so that an externally started driver gets its devices back."""
        for claim in self.world.all_seen(RESOURCE_CLAIMS):  # also claims that a step prepared without the kubelet
            if any(result.get("driver") == self.driver_name for result in results_of(claim)):
                self._prepared_refs[uid_of(claim)] = ClaimRef(namespace_of(claim), uid_of(claim), name_of(claim))
        if not self._prepared_refs:
            return
        try:
            self.kubelet.plugin(self.driver_name).unprepare(list(self._prepared_refs.values()))
        except (KubeletError, RpcError) as error:
            self.world.log.emit(
                LogRecord(level="WARNING", logger=__name__, text=f"claims stay prepared on {self.name}: {error}")
            )

    def _start_reference(self) -> None:
        # Deferred: a run loads only the drivers that it starts.
        from reference_impl.kubelet_plugin import command
        from reference_impl.kubelet_plugin.plugin import KubeletPlugin

        try:
            plugin = KubeletPlugin(
                KubeClient(self.world.run.component_transport("driver")),
                clock=self.world.clock,
                nvml=self.nvml,
                options=self._options_of(command, self._driver_command()),
            )
            plugin.start()
        except Exception as error:
            # A process would end with a traceback: a fault of the driver, not of the scenario.
            expected = isinstance(error, ComponentError)
            self.driver_error = str(error) if expected else f"{type(error).__name__}: {error}"
            raise DriverEnded(f"the driver ended at its start: {self.driver_error}") from error
        self._parts[self.driver_name] = plugin

    def _options_of(self, module: Any, command: Sequence[str]) -> Any:
        """Return the options that the reference's command line would have for this node and flags."""
        parser = argparse.ArgumentParser()
        module.add_arguments(parser)
        # Without `PYTHON -m reference_impl PART --kubeconfig FILE`.
        words = command[6:]
        return module.plugin_options(parser.parse_args([fill(word, self._values(words)) for word in words]))

    def _plugin_options(self, driver: str, *, driver_root: Path | None = None) -> Any:
        # Deferred: a run loads only the drivers that it starts.
        from reference_impl.kubelet_plugin.options import KubeletPluginOptions

        return KubeletPluginOptions(
            node_name=self.name,
            plugins_dir=self.kubelet.plugins_dir,
            registrar_dir=self.kubelet.registration_dir,
            cdi_root=self.kubelet.cdi_roots[0],
            driver_root=driver_root or self.driver_root,
            driver_name=driver,
        )

    def _driver_command(self) -> list[str]:
        return self._reference_command(GPU_PLUGIN, self.driver_name, self.started_flags())

    def _reference_command(self, part: str, driver: str, flags: Sequence[str]) -> list[str]:
        return [
            *(sys.executable, "-m", "reference_impl", part),
            *("--kubeconfig", "{kubeconfig}"),
            *("--node-name", "{node}"),
            *("--kubelet-plugins-directory-path", "{plugins}"),
            *("--kubelet-registrar-directory-path", "{registrar}"),
            *("--cdi-root", "{cdi}"),
            *("--container-driver-root", "{driver_root}"),
            # The reference's own default is the same name.
            *(("--driver-name", driver) if driver not in (GPU_DRIVER, DOMAIN_DRIVER) else ()),
            *(("--namespace", self._namespace(FABRIC_PLUGIN)) if driver == DOMAIN_DRIVER else ()),
            *own_flags(flags),
        ]

    def _values(self, command: Sequence[str], *, target: str = "") -> dict[str, str]:
        domains = target == FABRIC_PLUGIN
        values = {
            "node": self.name,
            "plugins": str(self.kubelet.plugins_dir),
            "registrar": str(self.kubelet.registration_dir),
            "device_plugins": str(self.device_plugins_dir),
            "cdi": str(self.kubelet.cdi_roots[0]),
            "driver": DOMAIN_DRIVER if domains else self.driver_name,
        }
        if any(NAMESPACE in word for word in command):
            values["namespace"] = self._namespace(target)
        # Only on demand: a kubeconfig may start the fault proxy, and GPUs load a library.
        if any("{kubeconfig}" in word for word in command):
            values["kubeconfig"] = self._kubeconfig(target)
        if any(DRIVER_ROOT in word for word in command):
            values["driver_root"] = str(self.driver_root)
        return values

    def _namespace(self, target: str) -> str:
        """Return the namespace of a program's own objects."""
        return self.world.run.options.compute_domain_namespace if target == FABRIC_PLUGIN else self.world.namespace

    def _kubeconfig(self, target: str) -> str:
        """Return the kubeconfig for a driver's process, through the proxy if the scenario injects faults or lag."""
        run = self.world.run
        disturbed = not self.plain and ("faults" in self.world.scenario.tags.needs or bool(run.options.lag()))
        if target:
            return str(run.target_kubeconfig(target, through_proxy=disturbed))
        return str(run.component_kubeconfig("driver") if disturbed else run.kubeconfig)

    def _start_process(
        self, name: str, command: Sequence[str], env: Mapping[str, str], *, target: str = ""
    ) -> ManagedProcess:
        """Start a driver's program; `target` is its component if it is under test."""
        values = self._values(command, target=target)
        driver = values["driver"]
        scratch = self.root / "tmp"
        scratch.mkdir(exist_ok=True, mode=0o700)
        environment = {
            "KUBECONFIG": self._kubeconfig(target),
            "NODE_NAME": self.name,
            "CDI_ROOT": values["cdi"],
            "DRIVER_NAME": driver,
            "KUBELET_PLUGINS_DIRECTORY_PATH": values["plugins"],
            "KUBELET_REGISTRAR_DIRECTORY_PATH": values["registrar"],
            "NAMESPACE": self._namespace(target),
            "TMPDIR": str(scratch),  # files of a killed program are removed with the run
            **env,
        }
        # The helper library of most drivers expects that the folder of the plugin's socket exists.
        (self.kubelet.plugins_dir / driver).mkdir(parents=True, exist_ok=True, mode=0o700)
        component = target or "driver"
        process = ManagedProcess(
            f"{component} on {self.alias}",
            [fill(word, values) for word in command],
            log_path=self.world.run.folder / "logs" / f"{component}-{self.name}.log",
            env=environment,
            isolation=self._isolation(scratch, values, target) if target else NONE,
        )
        process.start()
        self._processes[name] = process
        return process

    # -- Deployments of the driver ---------------------------------------------------------------------------------

    @property
    def _simulates_mps(self) -> bool:
        """Whether the node runs the Deployments of a driver that starts its MPS control daemons as such."""
        driver = self.world.run.components.spec("driver")
        return driver.kind == "exec" and "simulated-mps" in self.world.scenario.tags.needs

    def _programs(self) -> ContainerPrograms:
        return ContainerPrograms(
            root=self.root,
            logs=self.world.run.folder / "logs",
            clock=self.world.clock,
            prepare=self._container_isolation,
            ended=lambda volumes: daemons_ended(Path(self.gpus.driver_root), volumes),
        )

    def _container_isolation(self, mounts: Mapping[Path, Path], uid: str) -> Isolation:
        """Return the isolation of a container of the driver: as the driver's, with the volumes of its pod."""
        run = self.world.run
        view = self.root / f"view-{uid}"
        view.mkdir(exist_ok=True, mode=0o700)
        isolation = run.isolation.with_folders(self.root, run.target_folder("driver"), self.gpus.directory)
        return isolation.with_mounts([(host, path) for path, host in mounts.items()], view=view)

    def _start_deployments(self) -> None:
        if not self._simulates_mps or self._deployments is not None:
            return
        client = KubeClient(self.world.run.component_transport("kubelet"))
        self._deployments = Deployments(client, clock=self.world.clock, namespace=self.world.namespace, node=self.name)
        self._deployments.start()

    def _isolation(self, scratch: Path, values: Mapping[str, str], target: str) -> Isolation:
        """Return the isolation of a driver under test, with the directories that it owns on this node."""
        run = self.world.run
        own = [scratch, self.kubelet.plugins_dir, self.kubelet.registration_dir, self.kubelet.cdi_roots[0]]
        own.append(self.kubelet.plugins_dir / values["driver"])
        if self.device_plugins_dir.exists():
            own.append(self.device_plugins_dir)
        isolation = run.isolation
        isolation.give(*own)
        gpus = [] if self._gpus is None or "driver_root" not in values else [self._gpus.directory]
        for path in (*own, *gpus):
            isolation.reach(*(parent for parent in path.parents if parent.is_relative_to(self.root)))
        isolation = isolation.with_folders(self.root, run.target_folder(target), *gpus)
        mounts = self._mounts(target, values)
        if gpus:
            root = Path(self._gpus.driver_root)
            fake_root.complete(root)
            fake_root.give(isolation, self._gpus.directory)
            mounts += fake_root.shown_mounts(root)
        if not mounts:
            return isolation
        view = self.root / "view"
        view.mkdir(exist_ok=True, mode=0o700)
        shown = isolation.with_mounts(mounts, view=view, root=bool(gpus))
        return self._with_bind_files(shown) if gpus else shown

    def _shown_at(self) -> dict[Path, Path]:
        """Return the kubelet's folders by the path at which the driver's program sees them."""
        folders = {"{plugins}": self.root / "plugins", "{registrar}": self.root / "plugins_registry"}
        mounts = self.world.run.components.spec("driver").mounts
        return {target: folders[str(source)] for source, target in mounts if str(source) in folders}

    def on_machine(self, path: Path) -> Path:
        """Return where a file that the driver names lies on this machine: the driver sees what its mounts show it."""
        spec = self.world.run.components.spec("driver")
        shown = self._shown_at()
        for source, target in spec.mounts:
            if path.is_relative_to(target):
                return shown.get(target, source) / path.relative_to(target)
        return path

    def _mounts(self, target: str, values: Mapping[str, str]) -> list[tuple[Path, Path]]:
        """Return the mounts of a program, with the node's folders in place of their placeholders."""
        mounts = self.world.run.components.spec(target).mounts
        return [(Path(fill(str(source), values)), target) for source, target in mounts]

    def _with_bind_files(self, isolation: Isolation) -> Isolation:
        """Let writes to `bind` and `unbind` take effect for the driver, if its node has a simulated kernel for them."""
        sys = Path(self._gpus.driver_root) / "sys"
        if not pci_kernel.is_simulated(sys) or isolation.mode == "namespace" or not bind_files.available():
            return isolation
        served = bind_files.BindFiles(sys)
        self._bind_files.append(served)
        files = [(one, Path("/sys") / path.relative_to(sys)) for one, path in served.connections.items()]
        return isolation.with_fuse(files, bind_files.OPTIONS)

    def _end(self, name: str, *, kill: bool) -> None:
        process = self._processes.pop(name, None)
        part = self._parts.pop(name, None)
        if process is None and part is None:
            return
        self.world.log.emit(DriverChanged(node=self.alias, driver=name, action="kill" if kill else "stop"))
        if process is not None:
            if kill:
                process.kill()
            else:
                process.stop()
        if part is not None:
            part.stop()


def _last_output(process: ManagedProcess | None) -> str:
    return process.quoted_output() if process is not None else ""


_GUIDES = {
    "driver": "docs/tutorials/driver.md describes what a driver receives and must do.",
    FABRIC_PLUGIN: "docs/how-to/compute-domains.md describes what a kubelet plugin of ComputeDomains receives.",
}

GATES_FLAG = "--feature-gates="


def with_gates(flags: Sequence[str], gates: Mapping[str, bool]) -> tuple[str, ...]:
    """Return flags with these gates added; a gate that the flags name keeps its value there."""
    named = {pair.partition("=")[0] for flag in flags for pair in flag.removeprefix(GATES_FLAG).split(",")}
    more = gate_list({name: on for name, on in gates.items() if name not in named})
    if not more:
        return tuple(flags)
    if not any(flag.startswith(GATES_FLAG) for flag in flags):
        return (f"{GATES_FLAG}{more}", *flags)
    return tuple(f"{flag},{more}" if flag.startswith(GATES_FLAG) else flag for flag in flags)
