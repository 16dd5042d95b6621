"""Fault rules: which NVML calls fail, are slow or hang, and when.

A rule lies in the node's state, so that it acts in every process of the node and counts over all of them; the C library
applies it (`fault` in src/calls/faults.c). Rules live until they are cleared or the node ends.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pynvml

from fake_nvml.documents import nearest
from fake_nvml.errors import FakeNvmlError
from fake_nvml.layout import MAX_FAULTS, State

#: NVML return codes by the name that `inject_fault` and the command take.
ERRORS: Final[Mapping[str, int]] = {"SUCCESS": 0} | {
    name.removeprefix("NVML_ERROR_"): code for name, code in vars(pynvml).items() if name.startswith("NVML_ERROR_")
}

ALWAYS: Final = 2**32  # a probability of one, in the unit of the state's field


def error_code(error: str | int) -> int:
    """The NVML return code for a name such as "GPU_IS_LOST" (with or without "NVML_ERROR_") or a number.

    Raises: FakeNvmlError for an unknown name.
    """
    if isinstance(error, int):
        return error
    name = error.upper().removeprefix("NVML_ERROR_").removeprefix("NVML_")
    if name not in ERRORS:
        raise FakeNvmlError(f"no NVML error is called {error!r}. {nearest(name, ERRORS)}")
    return ERRORS[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRule:
    """One rule; the fields are those of `Node.inject_fault`."""

    function: str
    code: int
    times: int = 0
    after: int = 0
    every: int = 1
    probability: float = 1.0
    seed: int = 0
    delay: float = 0.0
    hang: bool = False
    pid: int = 0
    program: str = ""


@functools.cache
def exported() -> frozenset[str]:
    """The names of all functions that the library exports."""
    rows = (Path(__file__).resolve().parent / "src" / "abi" / "exports.txt").read_text(encoding="ascii").splitlines()
    return frozenset(row.split()[0] for row in rows if row and not row.startswith("#"))


def check(rule: FaultRule) -> None:
    """Raises FakeNvmlError for a rule that could never act, or that the state cannot hold."""
    if not rule.function.startswith("nvml") or len(rule.function) > 79:
        raise FakeNvmlError(f"{rule.function!r} is no NVML function")
    names, stem = exported(), rule.function.removesuffix("*")
    if not (any(name.startswith(stem) for name in names) if stem != rule.function else stem in names):
        raise FakeNvmlError(f"the library has no function {rule.function!r}. {nearest(stem, names)}")
    if rule.code == 0 and not rule.delay and not rule.hang:
        raise FakeNvmlError("a fault needs an error other than SUCCESS, a delay, or to hang")
    if not 0 < rule.probability <= 1:
        raise FakeNvmlError(f"a probability is above 0 and at most 1; it is {rule.probability}")
    if rule.every < 1 or rule.times < 0 or rule.after < 0 or not 0 <= rule.delay < 10**6:
        raise FakeNvmlError("`every` is at least 1; `times`, `after` and `delay` are not negative")
    if len(rule.program.encode()) > 15:
        raise FakeNvmlError(f"the kernel cuts process names to 15 bytes; {rule.program!r} has more")


def arm(state: State, rule: FaultRule, gpu: int) -> int:
    """Write a rule into a free place; `gpu` is an index, -1 for all. Returns its number.

    Raises: FakeNvmlError when all places are taken.
    """
    for number in range(MAX_FAULTS):
        entry = state.faults[number]
        if entry.active:
            continue
        entry.active, entry.rc, entry.gpu, entry.pid = 1, rule.code, gpu, rule.pid
        entry.after, entry.times, entry.delay_ms = rule.after, rule.times, int(rule.delay * 1000)
        entry.every, entry.seed, entry.hang = rule.every, rule.seed % 2**32, int(rule.hang)
        # 2**32 does not fit into the field: 0 means always.
        entry.probability = 0 if rule.probability == 1 else max(1, int(rule.probability * ALWAYS))
        entry.seen, entry.hits = 0, 0
        entry.function, entry.program = rule.function.encode(), rule.program.encode()
        _count(state)
        return number
    raise FakeNvmlError(f"{MAX_FAULTS} faults are armed already: clear some first")


def clear(state: State, number: int | None) -> None:
    """Remove one rule, or all. Raises FakeNvmlError for a number that no rule has."""
    if number is not None and not 0 <= number < MAX_FAULTS:
        raise FakeNvmlError(f"rules have the numbers 0 to {MAX_FAULTS - 1}, not {number}")
    for index in range(MAX_FAULTS) if number is None else (number,):
        state.faults[index].active = 0
    _count(state)


def _count(state: State) -> None:
    state.fault_count = sum(1 for rule in state.faults if rule.active)
