"""The cache of parsed features: used, renewed, and nothing if it is damaged or cannot be written."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dra_conformance.core import assets, document_cache, features, gherkin_documents
from dra_conformance.core.document_cache import DocumentCache

TEXT = "Feature: one\n  Scenario: two\n    Given three\n"
DOCUMENT = {"feature": {"name": "one"}}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / "cache" / "gherkin.json"


def stored(path: Path) -> Path:
    """Return the path of a cache that knows the text."""
    cache = DocumentCache(path)
    cache.add(TEXT, DOCUMENT)
    cache.save()
    return path


def test_a_document_is_known_in_the_next_run(path: Path) -> None:
    assert DocumentCache(stored(path)).get(TEXT) == DOCUMENT


def test_a_changed_text_is_not_known(path: Path) -> None:
    assert DocumentCache(stored(path)).get(TEXT + "    When four\n") is None


def test_documents_that_are_not_used_any_more_are_dropped(path: Path) -> None:
    cache = DocumentCache(stored(path))
    cache.add("Feature: other", {})
    cache.save()
    assert DocumentCache(path).get(TEXT) is None


@pytest.mark.parametrize("content", [b"", b"[]", b"no JSON", b"\xff\xfe"])
def test_a_damaged_file_is_an_empty_cache_and_is_replaced(path: Path, content: bytes) -> None:
    stored(path).write_bytes(content)
    assert DocumentCache(path).get(TEXT) is None
    assert DocumentCache(stored(path)).get(TEXT) == DOCUMENT


def test_a_pipe_and_a_huge_file_are_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(path)
    monkeypatch.setattr(document_cache, "LARGEST", 10)
    assert DocumentCache(path).get(TEXT) is None
    path.unlink()
    os.mkfifo(path, 0o600)
    assert DocumentCache(path).get(TEXT) is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = DocumentCache(tmp_path / "file" / "gherkin.json")
    cache.add(TEXT, DOCUMENT)
    cache.save()
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_process_that_has_its_documents_already_leaves_the_file(path: Path) -> None:
    # A worker gets them from the process that started it, and a second reading of the features from the first.
    DocumentCache(stored(path)).save()
    assert DocumentCache(path).get(TEXT) == DOCUMENT


def test_nothing_is_left_beside_the_file(path: Path) -> None:
    assert list(stored(path).parent.iterdir()) == [path]


def test_the_file_is_beside_the_compiled_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", None)
    assert document_cache.path().parent.name == "__pycache__"
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    assert document_cache.path().is_relative_to(tmp_path)


def test_nothing_is_written_if_python_must_write_no_bytecode(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    cache = DocumentCache(path)
    cache.add(TEXT, DOCUMENT)
    cache.save()
    assert not path.parent.exists()


def test_scenarios_from_the_cache_are_those_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)

    def read_again(*, cached: bool) -> list[features.Scenario]:
        monkeypatch.setattr(gherkin_documents, "_documents", {})
        monkeypatch.setattr(features, "_read_before", {})
        return features.read_all([assets.features()], cached=cached)

    parsed = read_again(cached=False)
    assert not list(tmp_path.iterdir())
    assert read_again(cached=True) == parsed
    file = document_cache.path()
    written = file.stat().st_mtime_ns
    assert read_again(cached=True) == parsed
    assert file.stat().st_mtime_ns == written
