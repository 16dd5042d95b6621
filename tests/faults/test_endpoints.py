"""Both endpoints inject the same faults, for a component in process and for a program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import orjson
import pytest
from polling import wait_until

from apiserver_emulator import ApiServerEmulator
from apiserver_emulator.controllers.root_ca import ROOT_CA
from dra_api.client import ApiError, Conflict, Gone, KubeClient, NotFound, TooManyRequests, Watch, WatchEvent
from dra_api.objects import CONFIG_MAPS, NODES, PODS, Obj
from dra_api.transport import Transport, TransportError
from dra_conformance.core.errors import SpecificationError
from dra_conformance.faults import Aim, Call, Fault, FaultPoints, Silence, Volley

Enter = Callable[[str], Transport]
BODY: Obj = {"metadata": {"name": "a", "namespace": "default"}}
WAIT_S = 60.0


def creations(fault: Fault, *, count: int = 1, components: tuple[str, ...] = ("victim",)) -> Volley:
    return Volley(Aim.at("creations", CONFIG_MAPS, components=components, namespace="default"), fault, count=count)


def test_a_refused_request_is_not_carried_out(enter: Enter, points: FaultPoints, plane: ApiServerEmulator) -> None:
    told: list[str] = []
    points.on_fault = lambda call, what: told.append(f"{call}: {what}")
    volley = creations(Fault(code=409), count=2)
    remove = points.add(volley)
    victim, other = KubeClient(enter("victim")), KubeClient(enter("other"))
    for _ in range(2):
        with pytest.raises(Conflict, match="the scenario refuses"):
            victim.create(CONFIG_MAPS, BODY)
    assert other.find(CONFIG_MAPS, "a", "default") is None
    other.create(CONFIG_MAPS, {"metadata": {"name": "b", "namespace": "default"}})
    victim.create(CONFIG_MAPS, BODY)
    remove()
    assert volley.struck == 2
    assert told == ["victim create configmaps: answered 409"] * 2


def test_429_says_how_long_to_wait(enter: Enter, points: FaultPoints) -> None:
    points.add(creations(Fault(code=429, retry_after_s=3)))
    with pytest.raises(TooManyRequests) as error:
        KubeClient(enter("victim")).create(CONFIG_MAPS, BODY)
    assert error.value.retry_after == 3
    points.add(creations(Fault(code=429, retry_after_s=2)))
    answer = enter("victim").request("POST", "/api/v1/namespaces/default/configmaps", body=b"{}")
    assert (answer.status, answer.headers["retry-after"]) == (429, "2")


@pytest.mark.parametrize(("lost", "there"), [("request", False), ("answer", True)])
def test_a_connection_breaks_before_or_after(
    enter: Enter, points: FaultPoints, plane: ApiServerEmulator, lost: str, there: bool
) -> None:
    struck = threading.Event()
    points.add(creations(Fault(lost=lost, then=struck.set)))  # type: ignore[arg-type]
    with pytest.raises(TransportError):
        KubeClient(enter("victim")).create(CONFIG_MAPS, BODY)
    assert struck.is_set()
    assert (KubeClient(plane.transport()).find(CONFIG_MAPS, "a", "default") is not None) == there


def test_a_request_without_a_response_ends_with_its_timeout(
    enter: Enter, points: FaultPoints, plane: ApiServerEmulator
) -> None:
    silence, body, victim = Silence(), orjson.dumps(BODY), enter("victim")
    points.add(creations(Fault(silence=silence)))
    assert victim.request("GET", "/version").status == 200  # the timeout below is not that of the connection
    with pytest.raises(TransportError):
        victim.request("POST", "/api/v1/namespaces/default/configmaps", body=body, timeout=0.5)
    wait_until(lambda: silence.met == 1)
    assert KubeClient(plane.transport()).find(CONFIG_MAPS, "a", "default") is None


def test_a_request_without_a_response_ends_with_the_silence(
    enter: Enter, points: FaultPoints, plane: ApiServerEmulator
) -> None:
    silence, met, client = Silence(), threading.Event(), KubeClient(enter("victim"))
    points.on_fault = lambda call, what: met.set()
    remove = points.add(creations(Fault(silence=silence)))
    found: list[Exception] = []

    def create() -> None:
        try:
            client.create(CONFIG_MAPS, BODY)
        except TransportError as error:
            found.append(error)

    thread = threading.Thread(target=create)
    thread.start()
    assert met.wait(WAIT_S)
    remove()
    silence.end()
    thread.join(WAIT_S)
    assert len(found) == 1
    assert silence.waiting == 0
    assert KubeClient(plane.transport()).find(CONFIG_MAPS, "a", "default") is None
    client.create(CONFIG_MAPS, BODY)


def test_the_watch_may_report_a_change_before_its_response(
    enter: Enter, points: FaultPoints, plane: ApiServerEmulator
) -> None:
    seen = threading.Event()
    points.add(creations(Fault(then=lambda: seen.wait(WAIT_S))))  # what comes after the change delays its response
    client = KubeClient(enter("victim"))
    events = iter(KubeClient(plane.transport()).watch(CONFIG_MAPS, "default", resource_version="0"))
    answered = threading.Event()
    thread = threading.Thread(target=lambda: (client.create(CONFIG_MAPS, BODY), answered.set()))
    thread.start()
    # The bookmark that ends the initial events has no name.
    assert any(event.object["metadata"].get("name") == "a" for event in events)
    assert not answered.is_set()
    seen.set()
    thread.join(WAIT_S)
    assert answered.is_set()


def test_hooks_may_act_on_the_cluster_themselves(enter: Enter, points: FaultPoints, plane: ApiServerEmulator) -> None:
    own = KubeClient(plane.transport())

    def act(call: Call) -> Fault | None:
        if call.info.verb == "create":
            own.create(CONFIG_MAPS, BODY)
        return None

    points.add(act)
    with pytest.raises(ApiError, match="already exists"):
        KubeClient(enter("victim")).create(CONFIG_MAPS, BODY)


def read(watch: Watch, into: list[WatchEvent | Exception]) -> Iterator[WatchEvent]:
    try:
        for event in watch:
            into.append(event)
            yield event
    except (ApiError, TransportError) as error:
        into.append(error)


@pytest.mark.parametrize(("how", "error"), [("break", TransportError), ("gone", Gone)])
def test_a_watch_is_cut(
    enter: Enter, points: FaultPoints, plane: ApiServerEmulator, how: str, error: type[Exception]
) -> None:
    client = KubeClient(enter("victim"))
    client.create(CONFIG_MAPS, BODY)
    into: list[WatchEvent | Exception] = []
    events = read(client.watch(CONFIG_MAPS, "default", resource_version="0"), into)
    assert {next(events).object["metadata"]["name"] for _ in range(2)} == {"a", ROOT_CA}
    assert next(events).type == "BOOKMARK"
    spared = client.watch(PODS, "default", resource_version="0")
    assert points.cut_watches(lambda call: call.info.resource == "configmaps", how) == 1  # type: ignore[arg-type]
    assert list(events) == []
    assert isinstance(into[-1], error)
    assert points.watches(lambda call: call.info.resource == "configmaps") == []
    assert len(points.watches(lambda call: call.component == "victim")) == 1
    spared.close()


def test_a_watch_that_its_client_ends_is_removed(enter: Enter, points: FaultPoints) -> None:
    watch = KubeClient(enter("victim")).watch(NODES, resource_version="0")
    assert len(points.watches(lambda call: True)) == 1
    watch.close()
    wait_until(lambda: points.watches(lambda call: True) == [])


def test_a_watch_can_be_refused(enter: Enter, points: FaultPoints) -> None:
    points.add(lambda call: Fault(code=503) if call.is_watch else None)
    with pytest.raises(ApiError, match="503"):
        KubeClient(enter("victim")).watch(NODES)


def test_what_is_stored_comes_back_as_it_was(enter: Enter, plane: ApiServerEmulator) -> None:
    client = KubeClient(enter("victim"))
    sent = {"metadata": {"name": "large", "namespace": "default"}, "data": {"x": "ä" * 500_000}}
    stored = client.create(CONFIG_MAPS, sent)
    assert stored["data"] == sent["data"]
    assert client.get(CONFIG_MAPS, "large", "default") == stored
    client.delete(CONFIG_MAPS, "large", "default")
    with pytest.raises(NotFound):
        client.get(CONFIG_MAPS, "large", "default")


def test_a_sentence_that_names_no_requests_is_an_error() -> None:
    with pytest.raises(SpecificationError, match="known: readings"):
        Aim.at("sendings", PODS, components=["victim"], namespace="default")
