"""The armed fault rules of a node, and the names of return codes, as the command shows them."""

from __future__ import annotations

from fake_nvml.faults import ALWAYS, ERRORS
from fake_nvml.layout import State


def error_name(code: int) -> str:
    """The name of an NVML return code, or the number as text."""
    return next((name for name, number in ERRORS.items() if number == code), str(code))


def describe(state: State) -> list[str]:
    """One line for every armed rule."""
    lines = []
    for number, rule in enumerate(state.faults):
        if not rule.active:
            continue
        words = [f"{number} {rule.function.decode()}"]
        words += [f"returns {rule.rc} {error_name(rule.rc)}"] if rule.rc else []
        words += [f"after {rule.delay_ms} ms"] if rule.delay_ms else []
        words += ["hangs"] if rule.hang else []
        words += [f"GPU {rule.gpu}"] if rule.gpu >= 0 else []
        words += [f"pid {rule.pid}"] if rule.pid else []
        words += [f"program {rule.program.decode()}"] if rule.program else []
        words += [f"every {rule.every}"] if rule.every > 1 else []
        words += [f"probability {rule.probability / ALWAYS:.3g} seed {rule.seed}"] if rule.probability else []
        lines.append(" ".join([*words, f"hits {rule.hits}"]))
    return lines
