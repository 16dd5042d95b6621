"""Events of one scenario: its steps, its checks, and the actions of its steps."""

from __future__ import annotations

from dra_conformance.core.events.kinds.event import Event
from dra_conformance.core.status import Status


class ScenarioStarted(Event, tag="scenario-started", frozen=True, kw_only=True):
    """A scenario begins."""

    name: str
    where: str
    rules: tuple[str, ...]


class StepStarted(Event, tag="step", frozen=True, kw_only=True):
    """A step begins. `keyword` is given, when or then; `line` is its line in the feature file."""

    keyword: str
    text: str
    line: int


class CheckMade(Event, tag="check", frozen=True, kw_only=True):
    """A Then step checked `rules`; `expected` and `observed` are shortened to one line."""

    rules: tuple[str, ...]
    ok: bool
    message: str
    expected: str
    observed: str
    step: str


class Traceback(Event, tag="traceback", frozen=True, kw_only=True):
    """The harness failed with this traceback."""

    text: str


class ScenarioRetried(Event, tag="retry", frozen=True, kw_only=True):
    """An attempt did not pass and is repeated; `left` attempts remain."""

    status: Status
    reason: str
    left: int


class CleanupStarted(Event, tag="teardown", frozen=True, kw_only=True):
    """The steps are over; the events that follow belong to the clean-up."""


class ScenarioFinished(Event, tag="scenario-finished", frozen=True, kw_only=True):
    """A scenario ends. `step` is the step that failed; `duration` and `cpu` are in seconds.

    `crash`: the program under test that ended by itself in a scenario that did not pass, with its last words.
    `objects`: the file in the report directory with the objects of a scenario that did not pass.

    `cpu` is the CPU time of the process that ran the scenario (the harness, the embedded control plane and the
    reference components in it) and of the programs that ended with the scenario, such as a driver.
    """

    status: Status
    reason: str = ""
    duration: float = 0.0
    cpu: float = 0.0
    step: str = ""
    crash: str = ""
    objects: str = ""


class ProgramOutput(Event, tag="program-output", frozen=True, kw_only=True):
    """The last lines of the log of a program under test when its scenario failed, without secrets.

    `file` is the log in the report directory.
    """

    program: str
    file: str
    lines: tuple[str, ...] = ()


class ClockAdvanced(Event, tag="clock", frozen=True, kw_only=True):
    """A step advanced the clock of the components by so many seconds."""

    advanced: float


class WebhookCalled(Event, tag="webhook", frozen=True, kw_only=True):
    """A step called the admission webhook directly."""

    request: str
    body: str
    answer: str


class PrepareReturned(Event, tag="prepare-returned", frozen=True, kw_only=True):
    """A Prepare call that a step made in the background returned."""

    claim: str
    error: str


class SweepFinished(Event, tag="sweep", frozen=True, kw_only=True):
    """A sweep failed each write once: `rounds` rounds, of which those in `missed` met no such write."""

    fault: str
    rounds: int
    missed: tuple[str, ...]


class KillsFinished(Event, tag="kills", frozen=True, kw_only=True):
    """A sweep killed a component once `moment` (before, after) each of these writes, and started it again."""

    component: str
    moment: str
    writes: tuple[str, ...]
