"""Faults of a scheduler's limits that search_limits.feature must catch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.scheduler.allocator.search import SearchLimit
from reference_impl.scheduler.cycle import Refusal
from reference_impl.scheduler.options import SchedulerOptions

_SCHEDULER = "reference_impl.scheduler"


@mutant("timeout-reported-as-no-match", rule="DRA-136")
def _(patch: Patch) -> None:
    """A search that timed out is reported as if no device matched."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def on(*args: Any, **named: Any) -> Any:
            try:
                return original(*args, **named)
            except SearchLimit as error:
                # Only the message changes: the error still ends the search.
                error.args = ("cannot allocate all claims",)
                raise

        return on

    patch.wrap(f"{_SCHEDULER}.allocator.allocate:Allocator.on", make)


@mutant("timed-out-pod-not-retried", rule="DRA-136b")
def _(patch: Patch) -> None:
    """A pod whose search timed out is retried only when the pod changes."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def decide(*args: Any) -> Any:
            found = original(*args)
            given_up = isinstance(found, Refusal) and "timed out" in found.message
            # Such a refusal is retried after changes of the pod or its claims, not of devices.
            return replace(found, for_own_claims=True) if given_up else found

        return decide

    patch.wrap(f"{_SCHEDULER}.cycle:Cycle.decide", make)


@mutant("zero-timeout-expires-at-once", rule="DRA-137")
def _(patch: Patch) -> None:
    """A limit of 0 means one step instead of no limit."""
    patch.wrap(f"{_SCHEDULER}.options:SchedulerOptions.max_steps", lambda original: lambda self: 1)


def _unchecked(patch: Patch, **harmless: float | None) -> None:
    """Change options before they are validated."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def check(options: SchedulerOptions) -> None:
            # The check gets values that it accepts; the scheduler runs with the ones that it should refuse.
            original(replace(options, **harmless))  # type: ignore[arg-type]

        return check

    patch.wrap(f"{_SCHEDULER}.options:SchedulerOptions.check", make)


_REFUSES = "allocation/search_limits#a-scheduler-refuses-a-argument-of-value"


@mutant("negative-search-time", rule="DRA-138", scenario=f"{_REFUSES}[filtertimeout-1s]")
def _(patch: Patch) -> None:
    """A negative filterTimeout is accepted."""
    _unchecked(patch, filter_timeout=10.0)


@mutant("binding-timeout-below-minimum", rule="DRA-138", scenario=f"{_REFUSES}[bindingtimeout-999ms]")
def _(patch: Patch) -> None:
    """A bindingTimeout below one second is accepted."""
    _unchecked(patch, binding_timeout=None)


@mutant("binding-timeout-without-gate", rule="DRA-138b")
def _(patch: Patch) -> None:
    """A bindingTimeout is accepted with the gate off."""
    _unchecked(patch, binding_timeout=None)
