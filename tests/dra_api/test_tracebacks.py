"""Tracebacks are formatted without parsing source code, which two threads must not do at the same time."""

from __future__ import annotations

import ast
import logging

import pytest

from dra_api.tracebacks import PlainFormatter, format_traceback


def _fail(depth: int) -> None:
    if depth:
        _fail(depth - 1)
    raise ValueError("no such device") from KeyError("gpu-0")


@pytest.fixture
def error(monkeypatch: pytest.MonkeyPatch) -> ValueError:
    """An exception with a cause, where parsing source code fails."""

    def parse(*arguments: object, **options: object) -> None:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(ast, "parse", parse)
    with pytest.raises(ValueError, match="no such device") as caught:
        _fail(2)
    return caught.value


def test_a_traceback_has_each_frame_and_the_cause(error: ValueError) -> None:
    text = format_traceback(error)
    assert text.endswith("ValueError: no such device\n")
    assert text.startswith("KeyError: 'gpu-0'\n")
    assert text.count("in _fail") == 3
    assert 'raise ValueError("no such device")' in text


def test_a_group_has_the_tracebacks_of_its_members(error: ValueError) -> None:
    text = format_traceback(ExceptionGroup("two", [error, OSError("closed")]))
    assert "ValueError: no such device" in text
    assert "OSError: closed" in text


def test_a_log_record_ends_with_the_traceback(error: ValueError) -> None:
    record = logging.LogRecord("binder", logging.ERROR, __file__, 1, "failed", None, (ValueError, error, None))
    text = PlainFormatter("%(message)s").format(record)
    assert text.startswith("failed\nKeyError")
    assert text.endswith("ValueError: no such device")
