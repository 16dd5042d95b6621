"""An exception in a background thread of the harness ends the scenario with an error."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from faulty_runs import report_of_faulty_run

from dra_api.threads import report_exception
from dra_conformance.core.errors import ExitCode
from dra_conformance.core.thread_failures import ThreadFailures

OBSERVER_FAILS = """
from dra_conformance.core.events.observer import Observer


def handler_of(self, resource):
    def fail(change):
        raise RuntimeError("a change was lost")

    return fail


Observer._on_change = handler_of
"""


@pytest.fixture
def failures() -> Iterator[ThreadFailures]:
    made = ThreadFailures()
    made.install()
    yield made
    made.uninstall()


def run_in_thread(target: object, name: str) -> None:
    thread = threading.Thread(target=target, name=name)  # type: ignore[arg-type]
    thread.start()
    thread.join()


def function_of(module: str, body: str) -> object:
    """A function whose code belongs to a module of that name."""
    scope: dict[str, object] = {"__name__": module, "report_exception": report_exception}
    exec(body, scope)  # noqa: S102
    return scope["work"]


FAILS = "def work():\n    raise ValueError('broken')\n"
SURVIVES = (
    "def work():\n    try:\n        1 / 0\n    except ZeroDivisionError as error:\n        report_exception(error)\n"
)


CLOSED = "def work():\n    raise ValueError('Cannot invoke RPC: Channel closed!')\n"


@pytest.mark.parametrize(("module", "kept"), [("grpc._channel", 0), ("dra_conformance.kubelet.plugins", 1)])
def test_a_thread_of_grpc_may_find_its_channel_closed(failures: ThreadFailures, module: str, kept: int) -> None:
    """gRPC starts a thread for each watched channel, which the harness may close before the thread runs."""
    run_in_thread(function_of(module, CLOSED), "Thread-24 (_run)")
    assert len(failures.take()) == kept


def test_an_exception_that_ends_a_thread_is_kept_once(failures: ThreadFailures) -> None:
    run_in_thread(function_of("dra_conformance.kubelet.pods", FAILS), "kubelet-n1-pods-0")
    (failure,) = failures.take()
    assert failure.message == "thread kubelet-n1-pods-0: ValueError: broken"
    assert "Traceback" in failure.traceback
    assert failures.take() == []


def test_an_exception_that_a_thread_survives_is_kept(failures: ThreadFailures) -> None:
    run_in_thread(function_of("dra_api.informer", SURVIVES), "informer")
    assert [failure.message for failure in failures.take()] == ["thread informer: ZeroDivisionError: division by zero"]


@pytest.mark.parametrize("module", ["reference_impl.binder.binder", "dra_conformance.mutants.binder"])
def test_an_exception_of_a_component_under_test_is_only_logged(
    failures: ThreadFailures, caplog: pytest.LogCaptureFixture, module: str
) -> None:
    run_in_thread(function_of(module, FAILS), "binder")
    assert failures.take() == []
    assert [record.message for record in caplog.records] == ["thread binder: ValueError: broken"]


def test_an_exception_of_the_judged_kubelet_is_only_logged(failures: ThreadFailures) -> None:
    failures.judged = "dra_conformance.kubelet"
    run_in_thread(function_of("dra_conformance.kubelet.pods", FAILS), "kubelet-n1-pods-0")
    assert failures.take() == []
    run_in_thread(function_of("dra_conformance.kubelets", FAILS), "another package")
    run_in_thread(function_of("dra_api.informer", SURVIVES), "no package of the harness")
    assert len(failures.take()) == 2


def test_an_exception_that_the_judged_kubelet_receives_from_the_harness_is_kept(failures: ThreadFailures) -> None:
    failures.judged = "dra_conformance.kubelet"
    scope = {"__name__": "dra_conformance.kubelet.pods", "log": function_of("dra_conformance.core.events", FAILS)}
    exec("def work():\n    log()\n", scope)  # noqa: S102
    run_in_thread(scope["work"], "kubelet-n1-pods-0")
    assert len(failures.take()) == 1


def test_the_previous_hook_returns(failures: ThreadFailures) -> None:
    ours = threading.excepthook
    failures.uninstall()
    assert threading.excepthook is not ours
    failures.uninstall()


def test_a_scenario_ends_in_an_error(tmp_path: Path) -> None:
    report = report_of_faulty_run(tmp_path, OBSERVER_FAILS, "--rule", "DRA-112", "--patience", "1")
    assert (report["exitCode"], report["verdict"]) == (ExitCode.HARNESS_ERROR, "invalid")
    reasons = {row["reason"] for row in report["scenarios"] if row["status"] == "error"}
    assert reasons
    assert all(reason.startswith("the harness failed: thread informer-") for reason in reasons)
    assert all("RuntimeError: a change was lost" in reason for reason in reasons)
