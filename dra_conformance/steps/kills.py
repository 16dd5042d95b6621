"""Rounds in which pods are created, bound and deleted, and in which a component is killed at one of its writes.

Round n kills it at its n-th write and starts it again; the first round in which it makes fewer writes ends the sweep. A
round ends with pods that need all devices. There are more devices than the first pods of a round need, so that a
scheduler that keeps some in use is not blamed for it twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import PODS
from dra_conformance.core.errors import SpecificationError, StartFailed, TargetUnreachable, Untestable
from dra_conformance.core.events import KillsFinished
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.faults.kills import Death, moment_called
from dra_conformance.steps.components import require_own
from dra_conformance.steps.outcomes import catch_up, look_all_bound, problems_of_round
from dra_conformance.steps.pods import add_pod, by_template, pod_object, scheduler_of
from dra_conformance.steps.sweeps import Sweep, look_empty

MOST = 100
"""Rounds. A component that makes so many writes for two pods writes without end."""
Look = Callable[[World], Seen[Any]]

_LAST = ("left when", "does not start again")
"""Problems after which the next round would show nothing new."""


@dataclass
class Lost:
    """What kept the last pods of each round from all devices, by the write at which the component was killed."""

    problems: dict[str, str] = field(default_factory=dict)


class Round:
    """One round of a sweep: two pods, the death of a component, and two pods that need all devices."""

    def __init__(self, world: World, death: Death, *, number: int) -> None:
        self._world = world
        self._death = death
        self._name = f"round-{number}"
        self._restarted = False
        self._remove = world.run.fault_points.add(death)

    def play(self, template: str) -> list[str]:
        """Create two pods with two claims each, wait until they are bound, delete them; return the problems."""
        world = self._world
        try:
            pods = self._create("a", "b", claims=[by_template(name, template) for name in ("gpu", "other")])
            wrong = problems_of_round(world, self._wait)
            self._delete(pods)
            gone, left = self._wait(look_empty)
            # Events and conditions may be written last.
            world.settle()
            self._revive()
            return wrong if gone else [*wrong, f"left when the pods are gone: {left}"]
        except (TargetUnreachable, StartFailed) as error:
            return [f"does not start again: {error}"]
        finally:
            self._remove()

    def use_all(self, template: str) -> str:
        """Create two pods with a claim each, wait until they are bound, delete them; return the problem, or ""."""
        pods = self._create("c", "d", claims=[by_template("gpu", template)])
        bound, seen = self._wait(look_all_bound)
        self._delete(pods)
        gone, left = self._wait(look_empty)
        return "" if bound and gone else str(seen) if gone else f"left: {left}"

    def _create(self, *names: str, claims: list[Any]) -> list[str]:
        pods = [f"{self._name}-{name}" for name in names]
        for pod in pods:
            add_pod(self._world, pod_object(self._world, pod, claims, scheduler=scheduler_of(self._world)))
        return pods

    def _delete(self, pods: list[str]) -> None:
        for pod in pods:
            self._world.client.delete(PODS, pod, self._world.namespace, grace_period_seconds=0)

    def _wait(self, look: Look) -> Seen[Any]:
        """Wait for an outcome; if the component dies meanwhile, start it again and go on waiting."""
        world, death = self._world, self._death
        catch_up(world)
        if not self._restarted:
            seen = world.wait(lambda: (True, None) if death.dead else look(world))
            if not death.dead:
                return seen
            self._revive()
            catch_up(world)
        return world.wait(lambda: look(world))

    def _revive(self) -> None:
        if not self._death.dead or self._restarted:
            return
        components = self._world.components
        # The hook stays until the component is dead: it may still be running and send requests.
        components.kill(self._death.component)
        self._remove()
        self._restarted = True
        components.start(self._death.component)


@when(
    'two pods using template "{template}", then two using template "{every}", are created and deleted once for each '
    "write of the {component:word}, which is killed {moment:word} it"
)
def _(world: World, template: str, every: str, component: str, moment: str) -> None:
    """Play one round for each write of the component during the first two pods; it is killed and started again.

    The first pods have two claims each; the other two have one, and need all devices together.
    """
    when_killed = moment_called(moment)
    if component not in world.scenario.tags.components:
        raise SpecificationError(f"{world.scenario.where}: the scenario has no {component}")
    require_own(world, component)
    world.settle()
    problems, lost = world.state(Sweep).problems, world.state(Lost).problems
    writes: list[str] = []
    for number in range(1, MOST + 1):
        death = Death(component, world.namespace, number, when_killed, on_death=world.log.poke)
        one = Round(world, death, number=number)
        wrong = one.play(template)
        if not death.dead:
            if wrong and not writes:
                raise Untestable(f"a round in which nothing is killed does not end well: {'; '.join(wrong)}")
            break
        what = f"{number}: {moment} {death.write}"
        problems[what] = wrong
        writes.append(death.write)
        if any(text.startswith(_LAST) for text in wrong):
            break
        if problem := one.use_all(every):
            lost[what] = problem
    if not writes:
        raise Untestable(f"the {component} makes no write at which it could be killed")
    world.log.emit(KillsFinished(component=component, moment=moment, writes=tuple(writes)))


@then("after every round all devices can be allocated")
def _(world: World) -> None:
    """The pods that needed all devices were bound and are gone, in each round."""
    found = world.state(Lost).problems
    world.check(not found, "rounds after which a device is still in use", expected={}, observed=found)
