"""Tests of the event log: writing, reading, waiting, and timelines."""

from __future__ import annotations

import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dra_conformance.core import events
from dra_conformance.core.errors import UsageError
from dra_conformance.core.events import (
    KINDS,
    ApiWrite,
    CheckMade,
    CleanupStarted,
    Event,
    EventLog,
    KubeletCall,
    KubeletPod,
    KubeletRegistration,
    LogRecord,
    NvmlChanged,
    ObjectChanged,
    RunFinished,
    RunPlanned,
    ScenarioStarted,
    StepStarted,
    Traceback,
    read,
)
from dra_conformance.core.events.timeline import LIMIT, describe, lines
from tools import gen_events


def step(text: str, keyword: str = "when") -> StepStarted:
    return StepStarted(keyword=keyword, text=text, line=3)


def check(*, ok: bool = True) -> CheckMade:
    return CheckMade(rules=("DRA-001",), ok=ok, message="it holds", expected="1", observed="2", step="Then x")


def test_events_are_numbered_and_read_back_as_they_were_emitted(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "e.jsonl")
    log.emit(RunPlanned())
    log.begin_scenario("a/b#c")
    log.emit(step("one"))
    log.end_scenario()
    log.emit(RunFinished())
    log.close()
    found = list(read(tmp_path / "e.jsonl"))
    assert [(type(each), each.seq, each.scenario) for each in found] == [
        (RunPlanned, 1, ""),
        (StepStarted, 2, "a/b#c"),
        (RunFinished, 3, ""),
    ]
    assert msgspec.structs.replace(found[1], seq=0, prev="", time=0.0, scenario="") == step("one")
    assert stat.S_IMODE((tmp_path / "e.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "value", ["\ud800", 2**80, b"\xff\x00", {1: {2}}, float("nan"), object, ["\udfff", {"a": -(2**70)}]]
)
def test_any_output_of_a_target_can_be_written_and_read(tmp_path: Path, value: object) -> None:
    log = EventLog(tmp_path / "e.jsonl")
    log.emit(ObjectChanged(type="ADDED", resource="pods", name="a/b", summary={"said": value}))
    log.close()
    assert isinstance(next(read(tmp_path / "e.jsonl")), ObjectChanged)


@pytest.mark.parametrize("value", ["check", {"kind": "check"}, None])
def test_the_log_takes_events_only(value: Any) -> None:
    with pytest.raises(TypeError, match="not an event"):
        EventLog().emit(value)


def test_an_event_with_an_unknown_field_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="color"):
        StepStarted(keyword="when", text="x", line=1, color="red")  # type: ignore[call-arg]


def test_the_incomplete_last_line_of_a_killed_run_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    log = EventLog(path)
    log.emit(RunPlanned())
    log.emit(check())
    log.close()
    for cut in (path.read_bytes()[:-1], path.read_bytes()[:-5], path.read_bytes()[:-1] + b"}\n"):
        (tmp_path / "torn.jsonl").write_bytes(cut)
        assert [type(each) for each in read(tmp_path / "torn.jsonl")][:1] == [RunPlanned]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"!!", "malformed"),
        (b'{"kind":"a-quantum-leap","seq":2}', "Invalid value 'a-quantum-leap'"),
        (b'{"kind":"teardown","color":"red"}', "unknown field `color`"),
        (b'{"kind":"control-plane","name":"x"}', "missing required field `ready`"),
        (b'{"seq":1,"t":0,"scenario":""}', "missing required field `kind`"),
    ],
)
def test_a_malformed_line_is_reported_with_its_number(tmp_path: Path, line: bytes, message: str) -> None:
    (tmp_path / "e.jsonl").write_bytes(b'{"kind":"teardown"}\n' + line + b'\n{"kind":"teardown"}\n')
    with pytest.raises(UsageError, match=rf"e\.jsonl, line 2: not an event of a run: .*{message}"):
        list(read(tmp_path / "e.jsonl"))


def test_a_line_of_an_unknown_kind_is_refused_at_the_end_of_a_log_too(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_bytes(b'{"kind":"a-quantum-leap"}\n')
    with pytest.raises(UsageError, match="line 1"):
        list(read(tmp_path / "e.jsonl"))


def test_checks_are_on_disk_before_the_log_is_closed(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "e.jsonl")
    log.emit(check())
    assert len(list(read(tmp_path / "e.jsonl"))) == 1
    log.close()
    log.emit(check())  # a late event does not fail
    assert len(list(read(tmp_path / "e.jsonl"))) == 1


def test_waiters_wake_on_events_and_pokes() -> None:
    log = EventLog()
    seen: list[str] = []
    timer = threading.Timer(0.02, lambda: (seen.append("x"), log.poke()))
    timer.start()
    assert log.wait_for(lambda: list(seen), 60) == ["x"]
    assert not log.wait_for(lambda: False, 0.01)


def test_only_events_of_the_current_scenario_are_kept_in_memory() -> None:
    log = EventLog()
    log.begin_scenario("one")
    log.emit(step("a"))
    log.begin_scenario("two")
    log.emit(step("b"))
    log.emit(check())
    assert [each.text for each in log.kept(StepStarted)] == ["b"]


# -- kinds -------------------------------------------------------------------------------------------------------------


def leaves(kind: type[Event]) -> Iterator[type[Event]]:
    below = kind.__subclasses__()
    if not below:
        yield kind
    for each in below:
        yield from leaves(each)


def test_every_kind_is_in_the_union_and_exported() -> None:
    assert set(leaves(Event)) == set(KINDS.values())
    assert {kind.__name__ for kind in KINDS.values()} <= set(events.__all__)


def test_every_kind_is_documented_and_immutable() -> None:
    for name, kind in KINDS.items():
        assert (kind.__doc__ or "").split("\n")[0].endswith("."), name
        assert kind.__struct_config__.frozen, name
        assert kind.__struct_config__.forbid_unknown_fields, name


def test_the_pages_of_events_are_current() -> None:
    for path, content in gen_events.pages().items():
        assert path.read_text() == content, "run python -m tools.gen_events"


# -- timelines ---------------------------------------------------------------------------------------------------------


def numbered(*kinds: Event) -> list[Event]:
    return [msgspec.structs.replace(each, seq=n, time=n / 1000, scenario="s") for n, each in enumerate(kinds, start=1)]


def test_a_timeline_has_the_events_up_to_the_clean_up() -> None:
    found = numbered(
        ScenarioStarted(name="A name", where="x.feature:1", rules=()),
        step('node "n1"', "given"),
        ApiWrite(agent="binder", method="POST", path="/x", status=409, reason="Conflict"),
        ObjectChanged(type="ADDED", resource="pods", name="a/b", summary={"phase": "Running", "node": None}),
        check(ok=False),
        LogRecord(level="WARNING", logger="reference_impl.binder", text="first\nlast line"),
        CleanupStarted(),
        step("after the clean-up", "then"),
    )
    assert list(lines(found)) == [
        "+   0.000  BEGIN  A name",
        '+   0.001  GIVEN  node "n1"',
        "+   0.002  API    POST /x -> 409 Conflict  by binder",
        "+   0.003  WATCH  ADDED pods a/b  phase=Running",
        "+   0.004  CHECK  DRA-001 FAILED: it holds",
        "+   0.005  LOG    WARNING reference_impl.binder: last line",
    ]


def test_a_long_timeline_keeps_beginning_and_end() -> None:
    found = list(lines(numbered(*(step(str(n)) for n in range(500)))))
    assert len(found) == LIMIT + 1
    assert found[0].endswith("  0")
    assert found[-1].endswith("499")
    assert any(f"{500 - LIMIT} events left out" in line for line in found)


def test_a_timeline_shows_the_fields_of_other_kinds() -> None:
    assert describe(NvmlChanged(action="create", inventory="", node="n1")) == "NVML   action=create node=n1"
    pod = KubeletPod(step="status", uid="u", pod="a/b", phase="Pending", node="n1")
    assert describe(pod) == "POD    status a/b  phase=Pending on n1"
    found = KubeletRegistration(step="GetInfo", socket="/long/path.sock", driver="d", versions=("v1.DRAPlugin",))
    assert describe(found) == 'REGISTRATION GetInfo d  versions=["v1.DRAPlugin"]'


def kubelet_call(response: dict[str, Any], *, code: str = "OK", error: str = "") -> str:
    """The line of a call for the claim `train`, whose answer is `response`."""
    return describe(
        KubeletCall(
            driver="d",
            endpoint="/very/long/path/dra.sock",
            service="v1.DRAPlugin",
            node="n1",
            method="NodePrepareResources",
            code=code,
            seconds=0.25,
            error=error,
            response={"claims": response},
            request={"claims": [{"namespace": "ns", "name": "train", "uid": "1"}]},
        )
    )


def test_the_line_of_a_call_leads_with_method_claim_devices_answer_and_duration() -> None:
    device = {"device_name": "gpu-0", "cdi_device_ids": ["d/gpu=0", "d/gpu=1"]}
    assert kubelet_call({"1": {"devices": [device], "error": ""}}) == (
        'CALL   NodePrepareResources claim train: gpu-0 ["d/gpu=0","d/gpu=1"] -> OK in 0.250 s  d on n1, v1.DRAPlugin'
    )
    assert kubelet_call({"1": {"devices": [], "error": "no\nGPU"}}).startswith(
        "CALL   NodePrepareResources claim train: error no GPU -> OK in"
    )
    assert "claim train -> OK" in kubelet_call({})
    # A driver may answer for claims that it was not asked for.
    assert 'claim train; unknown claim 2: {"devices":[]} -> OK' in kubelet_call({"2": {"devices": []}})
    failed = kubelet_call({}, code="UNAVAILABLE", error="Socket closed")
    assert "claim train -> UNAVAILABLE Socket closed in" in failed


def test_json_is_never_cut() -> None:
    def ids(count: int) -> str:
        device = {"device_name": "gpu-0", "cdi_device_ids": [f"d/gpu={n}" for n in range(count)]}
        return kubelet_call({"1": {"devices": [device]}})

    assert ids(100).count("d/gpu=") == 100
    assert "gpu-0 (128891 characters; events.jsonl has them) -> OK" in ids(10000)


@pytest.mark.parametrize(
    ("method", "path", "text"),
    [
        ("PATCH", "/api/v1/namespaces/ns/pods/p/status", "PATCH pods/status ns/p -> 200"),
        ("POST", "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims", "POST resourceclaims ns -> 200"),
        ("DELETE", "/api/v1/nodes/n1", "DELETE nodes n1 -> 200"),
    ],
)
def test_the_line_of_a_write_leads_with_method_and_object(method: str, path: str, text: str) -> None:
    assert describe(ApiWrite(agent="driver", method=method, path=path, status=200)) == f"API    {text}  by driver"


def test_the_line_of_a_refused_write_has_its_message() -> None:
    refused = ApiWrite(agent="a", method="PUT", path="/x", status=422, reason="Invalid", message="spec: wrong")
    assert describe(refused) == "API    PUT /x -> 422 Invalid: spec: wrong  by a"


def test_empty_text_has_an_empty_last_line() -> None:
    assert describe(Traceback(text="\n")) == "ERROR  "
