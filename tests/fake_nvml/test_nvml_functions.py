"""The page of what is implemented is in step with the sources, and with what one H200 answered."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import fake_nvml
from tools import gen_nvml_functions as generator


def test_the_page_is_in_step() -> None:
    assert generator.PAGE.read_text(encoding="utf-8") == generator.page(), "run python tools/gen_nvml_functions.py"


def test_the_recording_agrees_with_every_answer() -> None:
    rows = generator.missing()
    assert [row.name for row in rows if row.recorded not in ("", row.answer)] == []
    assert sum(row.recorded != "" for row in rows) > 20


def test_the_groups_are_of_the_modelled_branch() -> None:
    """The last group takes what is left: only what that branch does not have may be left."""
    beyond = generator.GROUPS[-1][1]
    assert [row.name for row in generator.missing() if row.reason == beyond and row.answer == "3"] == []


def test_they_answer_so(make_node: Callable[..., fake_nvml.Node], nvml: Callable[[fake_nvml.Node], Any]) -> None:
    module = nvml(make_node("h200"))
    room = [ctypes.create_string_buffer(4096) for _ in range(4)]
    handle = module.nvmlDeviceGetHandleByIndex(0)
    wrong = {
        row.name: code
        for row in generator.missing()
        if (code := getattr(module.nvmlLib, row.name)(handle, *room)) != int(row.answer)
    }
    assert wrong == {}
