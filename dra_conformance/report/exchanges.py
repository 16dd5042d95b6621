"""Reads from the events of a scenario which part of the system sent what to which other part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dra_conformance.core.events import (
    ApiWrite,
    CheckMade,
    ComponentChanged,
    DriverChanged,
    Event,
    FaultInjected,
    KubeletCall,
    KubeletCdi,
    KubeletEvent,
    KubeletHealth,
    KubeletLogCall,
    KubeletProblem,
    KubeletRegistration,
    ObjectChanged,
    StepStarted,
    WebhookCalled,
    timeline,
)
from dra_conformance.report.model import Exchange

TEST, SERVER, CONTROLLERS = "test", "API server", "controllers"
WEBHOOK, KUBELET, DRIVER = "webhook", "kubelet", "driver"
PARTS = (TEST, SERVER, CONTROLLERS, WEBHOOK, KUBELET, DRIVER)
"""All parts, in the order in which a picture shows them."""

_LIMIT = 24
_WATCHED = frozenset({"pods", "resourceclaims", "resourceslices", "bindrequests", "computedomains"})
# A plugin sends these to the kubelet, which asks for the rest.
_BY_DRIVER = ("found", "removed")


def exchanges(events: Iterable[Event]) -> tuple[Exchange, ...]:
    """Return the last exchanges of a scenario before its clean-up."""
    story = [event for event in timeline.story(events).events if event is not None]
    began = story[0].time if story else 0.0
    found = [
        Exchange(time=round(event.time - began, 3), source=source, target=target, text=text, failed=failed)
        for event in story
        for source, target, text, failed in _of(event)
    ]
    return tuple(found[-_LIMIT:])


def _of(event: Event) -> Iterator[tuple[str, str, str, bool]]:
    """Yield source, target, text and whether it failed; nothing for an event that a picture does not show."""
    match event:
        case StepStarted():
            yield TEST, TEST, f"{event.keyword.capitalize()} {event.text}", False
        case CheckMade():
            rules = ", ".join(event.rules)
            yield TEST, TEST, f"check {rules}: {'ok' if event.ok else event.message}", not event.ok
        case ApiWrite():
            yield _agent(event.agent), SERVER, timeline.write(event), event.status >= 400
        case ObjectChanged() if event.resource in _WATCHED:
            yield SERVER, SERVER, timeline.describe(event).removeprefix("WATCH  "), False
        case KubeletCall():
            answers = (event.response.get("claims") or {}).values()
            failed = event.code != "OK" or any(isinstance(answer, dict) and answer.get("error") for answer in answers)
            yield KUBELET, DRIVER, timeline.call(event), failed
        case KubeletLogCall():
            yield KUBELET, DRIVER, f"{event.method} {event.error}".rstrip(), bool(event.error)
        case KubeletRegistration():
            ends = (DRIVER, KUBELET) if event.step in _BY_DRIVER else (KUBELET, DRIVER)
            yield *ends, timeline.brief(event), bool(event.error or event.failed)
        case KubeletHealth():
            yield DRIVER, KUBELET, timeline.brief(event), False
        case KubeletProblem() | KubeletCdi():
            yield KUBELET, KUBELET, timeline.brief(event), True
        case KubeletEvent():
            yield KUBELET, KUBELET, timeline.brief(event), False
        case DriverChanged():
            yield TEST, DRIVER, f"{event.action} on {event.node}", False
        case ComponentChanged():
            ended = event.exit_code is not None
            yield TEST, _agent(event.component), f"{event.action} {event.component}", ended
        case WebhookCalled():
            yield TEST, WEBHOOK, event.request, False
        case FaultInjected():
            yield (
                SERVER,
                _agent(event.component),
                f"fault: {event.verb} {event.resource} {event.name}: {event.what}",
                True,
            )
        case _:
            return


def _agent(name: str) -> str:
    """Return the part that a user agent or a component belongs to."""
    if name.startswith("dra-conformance"):
        return TEST
    if "webhook" in name:
        return WEBHOOK
    if "plugin" in name or "driver" in name:
        return DRIVER
    return KUBELET if "kubelet" in name else CONTROLLERS
