"""The stored results of the whole verification."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from verification import results
from verification.jobs import Finished


def _write(folder: Path, *ended: Finished, known: tuple[str, ...] = ("kubelet", "rbac")) -> str:
    results.write(ended, known=known, store=folder / "results.json", page=folder / "page.md")
    return (folder / "page.md").read_text()


def test_one_job_replaces_its_row_and_keeps_the_others(tmp_path: Path) -> None:
    _write(tmp_path, Finished("kubelet", "40 passed", 900.4, 0), Finished("rbac", "60 of 60", 300.0, 0))
    page = _write(tmp_path, Finished("rbac", "59 of 60 | one missing", 310.0, 1))
    assert "| kubelet | 40 passed | 900 |" in page
    (row,) = (line for line in page.splitlines() if line.startswith("| rbac |"))
    assert row.startswith("| rbac | 59 of 60 / one missing | 310 |")
    assert row.endswith("| FAILED |")


def test_a_program_has_its_version_and_counts(tmp_path: Path) -> None:
    ended = Finished("kubelet", "2 passed", 1.0, 0, {"DRA-1": "passed", "DRA-2": "untestable", "DRA-3": "passed"})
    store = tmp_path / "results.json"
    results.write([ended], known=("kubelet",), versions={"kubelet": "v1"}, store=store, page=tmp_path / "page.md")
    (row,) = results.stored(store)
    assert (row.version, row.statuses, row.broken) == ("v1", {"passed": 2, "untestable": 1}, {"DRA-2": "untestable"})


def test_jobs_that_never_ran_are_named(tmp_path: Path) -> None:
    assert _write(tmp_path, Finished("rbac", "60 of 60", 1.0, 0)).endswith("\nNever run: kubelet.\n")


def test_rows_of_unknown_jobs_are_dropped(tmp_path: Path) -> None:
    _write(tmp_path, Finished("old", "1 passed", 1.0, 0), known=("old",))
    assert "| old |" not in _write(tmp_path, known=("rbac",))


def test_the_page_is_the_stored_one() -> None:
    assert results.PAGE.read_text().startswith(results.table(results.stored()))


def test_the_page_of_nvidias_programs_has_the_stored_figures() -> None:
    rows = results.stored()
    page = results.PAGE.with_name(results.NVIDIA).read_text()
    assert page == results.with_figures(page, rows)
    broken = {rule for row in rows if row.name.startswith("nvidia-driver-v") for rule in row.broken}
    broken |= {rule for row in rows if row.name.startswith("nvidia-compute-domain") for rule in row.broken}
    assert not {rule for rule in broken if not re.search(rf"\b{rule}\b", page)}


def test_a_job_that_ends_changes_the_figures(tmp_path: Path) -> None:
    begin, end = results._FIGURES
    page = tmp_path / results.NVIDIA
    page.write_text(f"before\n{begin}old\n{end}after\n")
    _write(tmp_path, Finished("nvidia-driver-v9", "", 7.0, 0, {"NV-1": "passed"}), known=("nvidia-driver-v9",))
    assert "| nvidia-driver-v9 | 1 | 0 | 0 | 0 | 0 | 7 |" in page.read_text()
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("after\n")
    assert "old" not in page.read_text()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for path in ("source.py", "verification/results.json", "docs/explanation/kubernetes-releases.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("old")
    words = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for more in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
        subprocess.run([*words, *more], cwd=tmp_path, check=True)
    return tmp_path


def test_stored_results_leave_the_commit_unmarked(checkout: Path) -> None:
    clean = results.commit(root=checkout)
    assert len(clean) == 12
    (checkout / "verification/results.json").write_text("new")
    (checkout / "docs/explanation/kubernetes-releases.md").write_text("new")
    assert results.commit(root=checkout) == clean


def test_a_changed_source_marks_the_commit(checkout: Path) -> None:
    clean = results.commit(root=checkout)
    (checkout / "source.py").write_text("new")
    assert results.commit(root=checkout) == f"{clean}-dirty"


def test_a_folder_without_a_commit_has_an_unknown_one(tmp_path: Path) -> None:
    assert results.commit(root=tmp_path) == "unknown"
