"""What the fake NVML answers to a request that it must refuse."""

from __future__ import annotations

from collections.abc import Callable

from fake_nvml.errors import FakeNvmlError


def refusal(act: Callable[[], object]) -> str:
    """Return the text of the error with which the fake refuses an act, or that it is accepted."""
    try:
        act()
    except FakeNvmlError as error:
        return str(error)
    return "accepted"
