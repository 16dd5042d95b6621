"""The report as one self-contained HTML page, without access to the network.

The page has the output of programs under test, so it permits no script but its own, which searches, and works without
it: filters are radio buttons that style sheets read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from dra_conformance.core.rules import Catalogue, Rule
from dra_conformance.core.status import WORST_FIRST, Status
from dra_conformance.report import coverage, gpu_maps, pictures
from dra_conformance.report.exchanges import SERVER
from dra_conformance.report.model import Check, Exchange, Report, RuleResult, ScenarioResult
from dra_conformance.report.page_templates import script, template
from dra_conformance.report.priority import First, first_failure
from dra_conformance.report.profiles import JUDGED
from dra_conformance.report.scenarios import broken_check, cause_of, further_reason

_SHOWN = JUDGED | {Status.ERROR, Status.UNTESTABLE}
"""The statuses of the main table of rules; the others are folded."""
_LEVELS = ("MUST", "SHOULD", "MAY")
_MESSAGES, _LOG_LINES = 5, 5
"""How many of the last messages, and of the last lines of a log, a failure shows without a click."""


@dataclass(frozen=True, slots=True)
class Card:
    """A failure: its scenario, the rules to name first, the failed check, and what else is known about the cause.

    `messages` are the last ones between parts of the system. `same_as` is the scenario of an earlier card with the same
    cause, which has the rest.
    """

    scenario: ScenarioResult
    rules: tuple[RuleResult, ...]
    check: Check | None
    reason: str
    messages: tuple[Exchange, ...]
    picture: pictures.Picture | None
    same_as: str = ""

    @property
    def levels(self) -> list[str]:
        """The levels of the rules, the strongest first."""
        return [level for level in _LEVELS if any(rule.level == level for rule in self.rules)]


def render(report: Report) -> str:
    """Return the page."""
    judged = [rule for rule in report.rules if rule.status in _SHOWN]
    chapters: dict[str, list[ScenarioResult]] = {scenario.chapter: [] for scenario in report.scenarios}
    # A run of one rule leaves out thousands: the page has their number, the other reports have each.
    left_out: Counter[str] = Counter()
    for scenario in report.scenarios:
        if scenario.status is Status.FILTERED:
            left_out[scenario.chapter] += 1
        else:
            chapters[scenario.chapter].append(scenario)
    first = first_failure(report)
    cards = list(_grouped(sorted(_cards(report), key=lambda card: _rank(card, first))))
    components = coverage.rows(report)
    return template("report.html").render(
        report=report,
        cards=cards,
        card_of={card.scenario.id: number for number, card in enumerate(cards, start=1)},
        known=_known(report) if cards else {},
        chapters=chapters,
        left_out=left_out,
        components=components,
        covered=coverage.statuses(components),
        statuses=[status.value for status in Status],
        levels=[level for level in _LEVELS if any(rule.level == level for rule in report.rules)],
        filters=_filters(judged),
        judged=sorted(judged, key=lambda rule: (WORST_FIRST.index(rule.status), _LEVELS.index(rule.level))),
        unjudged=[rule for rule in report.rules if rule.status not in _SHOWN],
        maps=[(inventory, gpu_maps.draw(inventory)) for inventory in report.inventories],
        map_of={inventory.name: number for number, inventory in enumerate(report.inventories, start=1)},
        log_lines=_LOG_LINES,
        script=script("search.js"),
        link=quote,
    )


def _failures(report: Report) -> list[ScenarioResult]:
    """Return the scenarios to explain. One that is untestable is none if other scenarios judge all of its rules."""
    unjudged = {rule.id for rule in report.rules if rule.status is Status.UNTESTABLE}
    return [
        one
        for one in report.scenarios
        if one.status in (Status.FAILED, Status.ERROR, Status.FLAKY)
        or (one.status is Status.UNTESTABLE and not unjudged.isdisjoint(one.rules))
    ]


def _cards(report: Report) -> Iterator[Card]:
    by_id = {rule.id: rule for rule in report.rules}
    for scenario in _failures(report):
        check = broken_check(scenario)
        names = check.rules if check is not None and check.rules else scenario.rules
        rules = tuple(by_id[name] for name in names if name in by_id)
        messages = tuple(filter(_is_message, scenario.exchanges))[-_MESSAGES:]
        yield Card(scenario, rules, check, further_reason(scenario), messages, pictures.draw(scenario.exchanges))


def _grouped(cards: Iterable[Card]) -> Iterator[Card]:
    """Yield the cards; of those with the same cause, all but the first name the first."""
    first: dict[str, str] = {}
    for card in cards:
        cause = cause_of(card.scenario)
        found = first.setdefault(cause, card.scenario.id) if cause else card.scenario.id
        yield card if found == card.scenario.id else replace(card, same_as=found)


def _is_message(one: Exchange) -> bool:
    """Whether a failure shows an exchange without a click. Changes of slices are few, and made by the driver."""
    return one.source != one.target or (one.source == SERVER and " resourceslices " in one.text)


def _rank(card: Card, first: First | None) -> tuple[bool, bool, bool]:
    """The failure to look at first, then what makes the target not conformant."""
    leads = first is not None and card.scenario.id == first.scenario
    return not leads, card.scenario.status is not Status.FAILED, "MUST" not in card.levels


def _known(report: Report) -> Mapping[str, Rule]:
    """Return the rules of this suite's catalogue, which has more about them. Another version may have other rules."""
    catalogue = Catalogue.load()
    return {
        rule.id: catalogue[rule.id]
        for rule in report.rules
        if rule.id in catalogue and catalogue[rule.id].text == rule.text
    }


def _filters(rules: list[RuleResult]) -> list[tuple[str, int]]:
    """Return the statuses of rules and how many have them, the worst first."""
    counts = Counter(rule.status for rule in rules)
    return [(status.value, counts[status]) for status in WORST_FIRST if counts[status]]
