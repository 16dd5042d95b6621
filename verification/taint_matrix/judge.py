"""What becomes of the pods of a cell. Independent of the reference implementation; the rules are written once, here.

- A pod that is new waits if a NoSchedule or NoExecute taint of the device is not tolerated.
- A pod on the device is evicted for each NoExecute taint: when no toleration matches, at once; when one without
  tolerationSeconds matches, never; otherwise the shortest tolerationSeconds after the time of the taint.
- The API says that a toleration without an effect matches all effects. kube-controller-manager 1.36 and 1.37
  require that the effect is NoExecute (DRA-223). Where that matters, both ends are right.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import msgspec

from dra_conformance.core import manifests
from dra_conformance.oracle.device_requests import tolerates
from dra_conformance.oracle.schema import Taint, Toleration
from verification.taint_matrix.cells import EXTENDED, GROUP, NO_SELECTOR, SLICE, Cell


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the new and the running pods of a cell end, as the column of a step, each with the rule for it."""

    new: str
    running: str


def taints_of(cell: Cell) -> list[Taint]:
    """Return the taints of a cell's device: its own first, if it has it."""
    own = [cell.taint] if cell.source != NO_SELECTOR else []
    return [_taint(text) for text in (*own, cell.beside) if text]


@functools.cache
def _taint(text: str) -> Taint:
    named, _, effect = text.partition(":")
    key, _, value = named.partition("=")
    return Taint(key=key, value=value, effect=effect)


def tolerations_of(cell: Cell) -> tuple[Toleration, ...]:
    """Return the tolerations of a cell's claims."""
    return _tolerations(cell.tolerations)


@functools.cache
def _tolerations(text: str) -> tuple[Toleration, ...]:
    return msgspec.convert(manifests.parse_value(text or "[]"), tuple[Toleration, ...])


def blocking(cell: Cell) -> list[Taint]:
    """Return the taints that keep new pods away."""
    held = tolerations_of(cell)
    closing = [taint for taint in taints_of(cell) if taint.effect in ("NoSchedule", "NoExecute")]
    return [taint for taint in closing if not any(tolerates(one, taint) for one in held)]


def evicted_after(cell: Cell, *, effect_required: bool) -> int | None:
    """Return after how many seconds the pods on the device are evicted; None if never.

    `effect_required`: a toleration must name the effect NoExecute.
    """
    ends = []
    for number, taint in enumerate(taints_of(cell)):
        if taint.effect != "NoExecute":
            continue
        matching = [
            one
            for one in tolerations_of(cell)
            if tolerates(one, taint) and (one.effect == "NoExecute" or not effect_required)
        ]
        if any(one.toleration_seconds is None for one in matching):
            continue
        shortest = min((max(one.toleration_seconds or 0, 0) for one in matching), default=0)
        is_old = cell.since == "2020" and number == 0 and cell.source != NO_SELECTOR
        ends.append(0 if is_old else shortest)
    return min(ends, default=None)


def judge(cell: Cell) -> Verdict:
    """Return how the pods of a cell end."""
    ends = {_end(evicted_after(cell, effect_required=required)) for required in (True, False)}
    running = ends.pop() if len(ends) == 1 else "run or evicted"
    if running == "evicted after 3600 s":
        running = "run"
    kept = blocking(cell)
    new = "wait" if kept else running
    return Verdict(f"{new} [{_rule_of_new(cell, kept)}]", f"{running} [{_rule_of_running(cell, running)}]")


def _end(seconds: int | None) -> str:
    if seconds is None or seconds >= 3600:
        return "run"
    return f"evicted after {seconds} s" if seconds else "evicted"


def _rule_of_new(cell: Cell, kept: list[Taint]) -> str:
    if cell.source == NO_SELECTOR and not cell.beside:
        return "DRA-226d"
    if not kept:
        return _rule_of_tolerance(cell)
    if any(taint.key == "health" for taint in kept) and cell.source not in (SLICE, NO_SELECTOR) and not cell.beside:
        return "DRA-226b"
    if len(taints_of(cell)) > 1:
        return "DRA-216"
    any_value = [msgspec.structs.replace(one, operator="Exists") for one in tolerations_of(cell)]
    if any(tolerates(one, kept[0]) for one in any_value):
        return "DRA-218"  # the value alone differs
    return "DRA-214" if kept[0].effect == "NoExecute" else "DRA-213"


def _rule_of_tolerance(cell: Cell) -> str:
    if all(taint.effect == "None" for taint in taints_of(cell)):
        return "DRA-215"
    if len(taints_of(cell)) > 1:
        return "DRA-216"
    return "DRA-217" if cell.operator == "Exists" else "DRA-218"


def _rule_of_running(cell: Cell, end: str) -> str:
    if cell.source == NO_SELECTOR and not cell.beside:
        return "DRA-226"
    effects = {taint.effect for taint in taints_of(cell)}
    if "NoExecute" not in effects:
        return "DRA-213" if "NoSchedule" in effects else "DRA-215"
    if end == "evicted" and evicted_after(replace(cell, since="now"), effect_required=True):
        return "DRA-221"  # the time of the toleration is over
    if end == "evicted":
        if cell.users == EXTENDED:
            return "DRA-214c"
        if cell.users == GROUP:
            return "DRA-214d"
        return "DRA-214" if cell.source == SLICE or cell.beside else "DRA-226"
    if end == "run" and evicted_after(cell, effect_required=True) is None:
        return "DRA-222"
    return "DRA-221"
