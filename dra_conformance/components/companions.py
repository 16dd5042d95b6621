"""Starts the companions of components: manifests first, then programs, each once in a run.

A companion is neither judged nor stopped by a scenario. Its API user reads everything; a manifest grants it what it
writes. One that ends by itself ends the run: at the failure of a scenario with its component, or when its component is
needed the next time. Nothing starts it again, because its component would be judged by what it did alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dra_api.client import AlreadyExists, ApiError, KubeClient
from dra_api.objects import CRDS, KNOWN, Obj, Resource, name_of
from dra_conformance.components import crds, readiness
from dra_conformance.components.context import RunContext
from dra_conformance.core import documents
from dra_conformance.core.companions import PORT, CompanionProgram, Companions
from dra_conformance.core.component_spec import fill
from dra_conformance.core.errors import TargetUnreachable, UsageError
from dra_conformance.core.events import ComponentChanged
from dra_conformance.core.process import ManagedProcess


class CompanionPrograms:
    """The companions of all components of a run."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._made: set[str] = set()
        self._processes: dict[str, ManagedProcess] = {}

    def start(self, component: str, companions: Companions) -> None:
        """Create the manifests and start the programs of a component, unless that has been done.

        Raises TargetUnreachable if a program ends or does not become ready, or the API server refuses a manifest.
        """
        if component not in self._made:
            self._made.add(component)
            client = KubeClient(self._run.component_transport("companion"), user_agent="dra-conformance-companion")
            create_manifests(client, companions, run=self._run)
        if (problem := self.ended(component, companions)) is not None:
            raise problem
        for program in companions.programs:
            if program.name not in self._processes:
                self._processes[program.name] = self._start(program)

    def ended(self, component: str, companions: Companions) -> TargetUnreachable | None:
        """Return the error for a program of a component that ran and has ended by itself; None if there is none."""
        for program in companions.programs:
            held = self._processes.get(program.name)
            if held is not None and not held.running:
                return TargetUnreachable(
                    f"{program.name}, a companion of the {component}, ended with exit code {held.exit_code}",
                    hint=f"Last output: {held.last_output()}",
                )
        return None

    def stop(self) -> None:
        """Stop all programs; objects of manifests stay, because the control plane ends with the run."""
        for process in self._processes.values():
            process.stop()
        self._processes.clear()

    def _start(self, program: CompanionProgram) -> ManagedProcess:
        run = self._run
        run.log.emit(ComponentChanged(component=program.name, implementation="companion", action="start"))
        folder = run.target_folder(program.name)
        kubeconfig = str(run.target_kubeconfig(program.name))
        values = {"kubeconfig": kubeconfig, PORT: str(readiness.free_port())}
        process = ManagedProcess(
            program.name,
            [fill(word, values) for word in program.command],
            log_path=run.log_of(program.name),
            env={"TMPDIR": str(folder), "KUBECONFIG": kubeconfig, **program.environment},
            isolation=run.isolation.with_folders(folder),
        )
        process.start()
        try:
            readiness.wait_ready(process, fill(program.ready, values), clock=run.log.clock, patience=run.patience)
        except TargetUnreachable:
            process.stop()
            raise
        return process


def read_manifests(companions: Companions) -> Iterator[tuple[Resource, Obj, Path]]:
    """Yield the objects of manifests with their kinds and files. Raises UsageError for one that cannot be used."""
    kinds = {(one.group, one.kind): one for one in KNOWN}
    for path in companions.files():
        for obj in documents.load_all(path.read_text(encoding="utf-8"), where=str(path)):
            if not (isinstance(obj, dict) and isinstance(obj.get("metadata"), dict)):
                raise UsageError(f"companions: {path}: expected an object with metadata")
            resource = _resource(obj, kinds, path)
            if resource == CRDS:
                defined = crds.kind_of(obj)
                kinds[defined.group, defined.kind] = defined
            yield resource, obj, path


def create_manifests(client: KubeClient, companions: Companions, *, run: RunContext) -> None:
    """Create the objects of manifests; those that exist already are kept. Raises TargetUnreachable."""
    for resource, obj, path in read_manifests(companions):
        try:
            client.create(resource, obj)
        except AlreadyExists:
            pass
        except ApiError as error:
            problem = f"{obj.get('kind')} {name_of(obj)} was refused: {error.message}"
            raise TargetUnreachable(f"companions: {path}: {problem}") from None
        if resource == CRDS:
            crds.wait_served(client, obj, run.log.clock)


def _resource(obj: Obj, kinds: dict[tuple[str, str], Resource], path: Path) -> Resource:
    api_version, kind = str(obj.get("apiVersion") or ""), str(obj.get("kind") or "")
    group, _, version = api_version.rpartition("/")
    known = kinds.get((group, kind))
    if known is None:
        raise UsageError(
            f"companions: {path}: unknown kind {kind!r} in apiVersion {api_version!r}",
            hint="Its CustomResourceDefinition must come in an earlier manifest.",
        )
    return known.at(version)
