"""The mutation survey on a tiny package, and one real mutant from generation to verdict."""

import contextlib
import multiprocessing
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec
import pytest

from dra_conformance.core.process_pool import each
from verification.fidelity.probe import Probe
from verification.fidelity.prober import Prober
from verification.mutation_survey import (
    components,
    faults,
    loader,
    mutants,
    preload,
    probing,
    reach,
    sample,
    survey,
    tables,
    trial,
    uses,
)
from verification.mutation_survey import unobservable as classification
from verification.mutation_survey.components import Component
from verification.mutation_survey.mutants import Mutant
from verification.mutation_survey.reach import Passed, Reach
from verification.mutation_survey.results import Result, Store
from verification.mutation_survey.trial import Outcome, Work
from verification.mutation_survey.unobservable import Class, Entry

TINY = '''"""A module."""

from __future__ import annotations

LIMIT = 3


def total(values: list[int] | None, *, limit: int = LIMIT) -> int:
    """Return the sum."""
    found = 0
    for value in values or []:
        if value:
            found += min(value, limit)
    return found
'''


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "__init__.py").write_text('"""A package."""\n')
    (folder / "sums.py").write_text(TINY)
    (folder / "user.py").write_text("from tiny.sums import total\n\n\ndef double():\n    return 2 * total([1])\n")
    (folder / "late.py").write_text("def late():\n    from tiny import sums\n\n    return sums\n")
    (folder / "other.py").write_text("import json\n")
    return tmp_path


def of_tiny(root: Path) -> list[Mutant]:
    return mutants.of_file(root / "tiny" / "sums.py", "tiny", root)


def changes(source: str, root: Path) -> dict[str, set[str]]:
    (root / "tiny" / "one.py").write_text(source)
    found: dict[str, set[str]] = {}
    for one in mutants.of_file(root / "tiny" / "one.py", "tiny", root):
        found.setdefault(one.operator, set()).add(one.after)
    return found


def mutant(
    number: int, *, line: int = 0, component: str = "binder", path: str = "a.py", in_function: bool = True
) -> Mutant:
    return Mutant(
        key=f"{component}:{number}",
        component=component,
        module="a",
        path=path,
        line=line or number,
        reached_at=(line or number,),
        in_function=in_function,
        function="f",
        operator="swap-op",
        number=number,
        before="a",
        after="b",
    )


@pytest.mark.parametrize(
    ("source", "operator", "after"),
    [
        ("def f(a):\n    if a:\n        g()\n", "negate-condition", "if not (a):"),
        ("def f(a):\n    return a + 1\n", "return-none", "return None"),
        ("def f(a):\n    for b in a:\n        g()\n", "empty-loop", "for b in ():"),
        ("def f(a):\n    return [b for b in a if b > 1]\n", "empty-loop", "for b in a"),
        ("def f(a):\n    g(a)\n", "remove-call", "pass"),
        ("def f(a):\n    return a == 1\n", "swap-op", "!= 1"),
        ("def f(a):\n    return g('x', a)\n", "string", "'XXxXX'"),
    ],
)
def test_operators_change(tiny: Path, source: str, operator: str, after: str) -> None:
    assert after in changes(source, tiny)[operator]


@pytest.mark.parametrize(
    "source",
    [
        "def f(a: int | None) -> str | None: ...\n",
        '"""A docstring."""\n',
        "__all__ = ['a', 'b']\n",
        "@decorated('x', 1)\ndef f(): ...\n",
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import json\n",
        "Seen = tuple[bool, object]\n",
        "Seen: TypeAlias = tuple[bool, object]\n",
    ],
)
def test_annotations_docstrings_and_declarations_are_left_out(tiny: Path, source: str) -> None:
    assert changes(source, tiny) == {}


def test_every_mutant_is_another_valid_program(tiny: Path) -> None:
    found = of_tiny(tiny)
    sources = [mutants.mutated_source(one, tiny) for one in found]
    assert len(found) > 8
    assert None not in sources
    assert TINY not in sources
    assert len(set(sources)) == len(sources)


def test_keys_survive_a_change_elsewhere_in_the_file(tiny: Path) -> None:
    before = {one.key: one.line for one in of_tiny(tiny)}
    (tiny / "tiny" / "sums.py").write_text(TINY.replace("LIMIT = 3", "# A comment.\nLIMIT = 3"))
    after = {one.key: one.line for one in of_tiny(tiny)}
    assert after.keys() == before.keys()
    assert all(after[key] == line + 1 for key, line in before.items())


def test_the_lines_that_can_detect_a_mutant(tiny: Path) -> None:
    found = {(one.operator, one.before): (one.line, one.reached_at, one.in_function) for one in of_tiny(tiny)}
    assert found["assignment", "LIMIT = 3"] == (5, (5, 5), False)
    assert found["assignment", "found = 0"] == (10, (10, 10), True)
    # The default of a parameter matters when the function is called.
    source = 'def f(\n    a=True,\n    b=1,\n):\n    """Return a."""\n    return (\n        a,\n        b + 1,\n    )\n'
    (tiny / "tiny" / "one.py").write_text(source)
    lines = {
        (one.operator, one.line): one.reached_at for one in mutants.of_file(tiny / "tiny" / "one.py", "tiny", tiny)
    }
    assert lines["name", 2] == (6,)
    assert lines["swap-op", 8] == (8, 6)


def test_the_choice_is_reproducible_and_a_larger_one_contains_it() -> None:
    all_of_them = [mutant(number, line=number // 3 + 1) for number in range(90)]
    first = sample.choose(all_of_them, 20, 7)
    assert first == sample.choose(list(all_of_them), 20, 7)
    assert first == sample.choose(all_of_them, 60, 7)[:20]
    assert first != sample.choose(all_of_them, 20, 8)
    assert len({one.line for one in first}) == 20
    assert len(sample.choose(all_of_them, 500, 7)) == 90


def test_every_component_has_its_floor() -> None:
    assert sample.shares({"a": 10_000, "b": 120, "c": 40}, 500) == {"a": 357, "b": 103, "c": 40}
    assert sum(sample.shares({"a": 10_000, "b": 120, "c": 4000}, 500).values()) == 500
    assert sample.shares({"a": 900, "b": 900}, 50) == {"a": 25, "b": 25}
    assert sample.shares({"a": 9}, 50) == {"a": 9}


def the_map() -> Reach:
    scenarios = {
        "x/a#slow": Passed(2.0, "x/a", ("DRA-001",)),
        "x/a#quick": Passed(0.1, "x/a", ("DRA-001",)),
        "x/b#one": Passed(0.5, "x/b", ("DRA-002",)),
    }
    lines = {"a.py": {1: [""], 5: ["x/a#slow", "x/a#quick"], 6: ["x/b#one"], 7: ["", "x/a#fails"]}}
    return Reach(scenarios, lines)


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uses, "of_line", lambda path, line: frozenset())
    monkeypatch.setattr(reach, "_function_lines", lambda file: frozenset(range(2, 9)) if file.name == "a.py" else set())


@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize(
    ("line", "in_function", "expected", "why"),
    [
        (5, True, ("x/a#quick", "x/a#slow"), "line"),
        (9, True, (), "none"),
        (1, False, ("x/a#quick", "x/b#one", "x/a#slow"), "module"),
        (1, True, ("x/a#quick", "x/b#one", "x/a#slow"), "module"),
        (7, True, (), "line"),  # only a scenario that does not pass without the mutant
    ],
)
def test_the_scenarios_of_a_mutant(line: int, in_function: bool, expected: tuple[str, ...], why: str) -> None:
    found = reach.scenarios_for(mutant(1, line=line, in_function=in_function), the_map())
    assert (found.scenarios, found.why) == (expected, why)


@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize(("line", "expected"), [(5, ("x/a#slow", "x/a#quick")), (9, ())])
def test_the_scenario_that_killed_a_mutant_before_comes_first(line: int, expected: tuple[str, ...]) -> None:
    found = reach.scenarios_for(mutant(1, line=line, in_function=True), the_map(), killer="x/a#slow")
    assert found.scenarios == expected


USING = {
    "limits.py": "FIRST = 1\nSECOND = {\n    'a': FIRST,\n}\n\n\ndef of(name):\n    return SECOND[name]\n",
    "other.py": "from tiny import limits\nfrom tiny.limits import FIRST as LIMIT\n\n\ndef both():\n"
    "    return (\n        limits.SECOND,\n        LIMIT,\n    )\n",
    "options.py": "class Options:\n    limit: int = 3\n\n\ndef read(options):\n    return options.limit\n",
}


@pytest.mark.parametrize(
    ("path", "line", "expected"),
    [
        ("limits.py", 2, {("limits.py", 8), ("other.py", 7)}),
        ("limits.py", 3, {("limits.py", 8), ("other.py", 7)}),
        ("limits.py", 1, {("limits.py", 8), ("other.py", 7), ("other.py", 8)}),  # also through SECOND
        ("options.py", 2, {("options.py", 6)}),
        ("other.py", 1, set()),
    ],
)
def test_the_uses_of_a_constant(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, path: str, line: int, expected: set[tuple[str, int]]
) -> None:
    monkeypatch.setattr(uses, "COMPONENTS", (Component("tiny", ("tiny",)),))
    for name, text in USING.items():
        (tiny / "tiny" / name).write_text(text)
    assert uses.of_line(f"tiny/{path}", line, tiny) == {(f"tiny/{name}", at) for name, at in expected}


def test_a_constant_has_the_scenarios_that_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uses, "of_line", lambda path, line: frozenset({("a.py", 5), ("b.py", 1)}))
    found = reach.scenarios_for(mutant(1, line=1, in_function=False), the_map())
    assert (found.scenarios, found.why) == (("x/a#quick", "x/a#slow"), "uses")


def test_a_constant_has_the_scenarios_that_judge_the_start_of_its_component(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = Component("binder", ("none",), starts=("x/b#",))
    monkeypatch.setattr(reach, "COMPONENTS", (starts,))
    monkeypatch.setattr(uses, "of_line", lambda path, line: frozenset({("a.py", 5)}))
    monkeypatch.setattr(reach, "_function_lines", lambda file: frozenset(range(2, 9)))
    found = reach.scenarios_for(mutant(1, line=1, in_function=False), the_map())
    assert (found.scenarios, found.why) == (("x/b#one", "x/a#quick", "x/a#slow"), "uses")


def test_a_map_is_brought_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    passing = ("kept", "changed", "gone", "newest|in b", "f", "g", "h")
    known = Reach(
        {name: Passed(1.0, "x/a", ()) for name in passing},
        {"a.py": {1: ["kept", "changed", "gone"]}, "b.py": {3: ["newest|in b"]}, "left.py": {1: ["kept"]}},
        ["one"],
        {"a.py": "old", "b.py": "old"},
        {reach.id_of(name): "text" for name in (*passing, "fails")},
        {"in b": "not-supported: off", "fails": "failed: no"},
    )
    texts = dict.fromkeys(("kept", "in b", "f", "g", "h", "fails", "new"), "text") | {"changed": "other"}
    monkeypatch.setattr(reach, "scenario_texts", lambda: texts)
    monkeypatch.setattr(reach, "file_texts", lambda: {"a.py": "old", "b.py": "other"})
    again = reach.outdated(known)
    assert again == {"changed", "new", "in b"}
    new = Reach(
        {name: Passed(2.0, "x/a", ()) for name in ("changed", "new", "newest|in b")},
        {"a.py": {2: ["changed"]}, "b.py": {4: ["newest|in b", "new"]}},
        ["two"],
        reach.file_texts(),
        texts,
        {"in b": "not-supported: still off"},
    )
    found = reach.merged(known, again, new)
    assert found.lines == {"a.py": {1: ["kept"], 2: ["changed"]}, "b.py": {4: ["new", "newest|in b"]}}
    assert set(found.scenarios) == {"kept", "changed", "newest|in b", "f", "g", "h", "new"}
    assert found.others == {"in b": "not-supported: still off", "fails": "failed: no"}
    assert found.modules == ["one", "two"]
    assert reach.outdated(found) == set()


def test_a_stored_map_is_the_same(tmp_path: Path) -> None:
    file = tmp_path / "new" / "reach.json"
    assert reach.stored(file) is None
    reach.store(the_map(), file)
    assert reach.stored(file) == the_map()
    assert [one.name for one in file.parent.iterdir()] == ["reach.json"]


def test_a_process_and_its_children_import_the_mutant(tiny: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "from pathlib import Path\n"
        "from verification.mutation_survey import loader\n"
        f"loader.install('tiny.sums', {TINY.replace('found = 0', 'found = 40')!r}, Path({str(tiny)!r}))\n"
        "from tiny.user import double\n"
        "print(double(), flush=True)\n"
        "subprocess.run([sys.executable, '-c', 'from tiny.user import double; print(double())'], check=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{tiny}:{components.ROOT}", "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["82", "82"]


def test_a_module_that_is_imported_already_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="imported already"):
        loader.install("json", "", tmp_path)


def test_what_imports_a_mutated_module_is_not_preloaded(tiny: Path) -> None:
    names = ["tiny", "tiny.sums", "tiny.user", "tiny.late", "tiny.other"]
    # `late` imports it only when it is called, and so in the trial.
    assert preload.downstream(names, {"tiny.sums"}, tiny) == {"tiny.sums", "tiny.user"}


def test_the_survey_itself_imports_no_mutated_module() -> None:
    code = "import sys; import verification.mutation_survey.__main__; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=components.ROOT, capture_output=True, text=True, check=True)
    mutated = {components.module_of(path) for one in components.COMPONENTS for path in components.files_of(one)}
    assert mutated & set(done.stdout.split()) == set()


def result(number: int, status: str, component: str = "binder") -> Result:
    return Result(digest="d", mutant=mutant(number, component=component), outcome=Outcome(status=status))


def test_an_interrupted_survey_goes_on(tmp_path: Path) -> None:
    store = Store(tmp_path / "results.jsonl")
    store.add(result(1, "killed"))
    with store.file.open("ab") as out:
        out.write(b'{"digest":"d","mut')
    assert list(store.of("d")) == ["binder:1"]
    assert store.of("other source") == {}


def test_the_excess_of_the_unobservable_counts_as_survivors() -> None:
    results = [*(result(n, "killed") for n in range(10)), *(result(n, "survived") for n in range(10, 20))]
    entry = Entry(Class.LOG_TEXT, "only a log line")
    (row,) = tables.rows(results, {f"binder:{number}": entry for number in range(10, 18)})
    assert (row.mutants, row.killed, row.survived, row.unobservable, row.observable) == (20, 10, 7, 3, 17)
    assert "| binder | 20 | 10 | 0 | 7 | 0 | 3 | 50 % | 59 % |" in tables.table(
        results, {"binder:12": entry, **{f"binder:{number}": entry for number in (13, 14)}}
    )


def test_texts_of_log_records_and_errors_need_no_entry(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "def f(x):\n    log.info('%s', x)\n    y = g(x)\n    raise KeyError(f'{x}')\n    raise Other(x, 'text')\n"
    )
    found = [mutant(line, path="a.py", line=line) for line in range(1, 6)]
    assert list(classification.of_texts(found, tmp_path)) == ["binder:2", "binder:4"]


def test_the_help_of_options_needs_no_entry(tmp_path: Path) -> None:
    lines = ["parser.add_argument(", "  '--port',", "  default=443,", "  help='text '", "  'and more',", ")"]
    (tmp_path / "a.py").write_text("\n".join([*lines, "parser.add_argument('--host', help='text')\n"]))
    found = [mutant(line, path="a.py", line=line) for line in range(1, 8)]
    assert list(classification.of_texts(found, tmp_path)) == ["binder:4", "binder:5"]


def test_changes_of_help_and_metavar_need_no_entry(tmp_path: Path) -> None:
    lines = [
        "def f(parser):",
        "    text = 'the port'",
        "    parser.add_argument('--port', metavar='N', type=int, help=text)",
    ]
    (tmp_path / "a.py").write_text("\n".join([*lines, "    other = 'N'", "    return g(other)", ""]))
    call = lines[2].strip()
    changes = [
        (2, "'the port'", "'XXthe portXX'"),
        (3, call, call.replace("metavar='N', ", "")),
        (3, call, call.replace("help=text", "help=None")),
        (3, call, call.replace("type=int", "type=None")),
        (3, "'N'", "'XXNXX'"),
        (3, "'--port'", "'XX--portXX'"),
        (4, "'N'", "'XXNXX'"),
    ]
    found = [
        msgspec.structs.replace(mutant(number, path="a.py", line=line), before=before, after=after)
        for number, (line, before, after) in enumerate(changes, 1)
    ]
    assert list(classification.of_texts(found, tmp_path)) == ["binder:1", "binder:2", "binder:3", "binder:5"]


def test_only_the_kubelet_records_texts(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class A:\n    def f(self):\n        self._record(State('started'))\n")
    found = mutant(1, path="a.py", line=3)
    assert not classification.of_texts([found], tmp_path)  # the binder records the status of a pod, which rules judge
    kubelet = msgspec.structs.replace(found, component="kubelet")
    assert list(classification.of_texts([kubelet], tmp_path)) == [kubelet.key]


def test_a_probe_counts_as_a_kill_of_its_own() -> None:
    seen = Result(digest="d", mutant=mutant(1), outcome=Outcome(status="survived", probe="lists/paged 2.code"))
    (row,) = tables.rows([seen, result(2, "killed"), result(3, "survived")], {})
    assert (row.killed, row.probed, row.survived) == (1, 1, 1)
    assert "| 1 | 1 | 1 | 0 | 0 | 67 % | 67 % |" in tables.table([seen, result(2, "killed"), result(3, "survived")], {})


def test_a_probe_that_differs_from_the_real_server_only_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probes = [Probe(f"area/{name}", "", ()) for name in ("same", "known", "new")]
    monkeypatch.setattr("verification.fidelity.probes.all_probes", lambda: probes)
    monkeypatch.setattr("verification.fidelity.targets.embedded", contextlib.nullcontext)
    real = {one.id: [{"request": "GET /", "code": 200}] for one in probes}
    recorded = {"real": real, "embedded": {**real, "area/known": [{"request": "GET /", "code": 404}]}}
    answered = dict(recorded["embedded"])
    monkeypatch.setattr(Prober, "run_all", lambda self, those, stop: {one.id: answered[one.id] for one in those})
    assert probing.differing(recorded, tmp_path) == ""
    answered["area/new"] = [{"request": "GET /", "code": 500}]
    assert probing.differing(recorded, tmp_path) == "area/new 0.code: 500 instead of 200"


def test_entries_without_a_mutant_are_reported() -> None:
    entry = Entry(Class.EQUIVALENT, "the same")
    assert classification.problems({"gone": entry, "kept": entry}, {"kept"}) == [
        "gone: there is no such mutant any more"
    ]


def test_the_committed_classification_can_be_read() -> None:
    assert all(entry.reason for entry in classification.load().values())


def test_a_check_that_failed_before_a_hang_counts(tmp_path: Path) -> None:
    work = Work(mutant=mutant(1), source="", scenarios=("x/a#slow",), scratch=str(tmp_path), limit=1.0)
    assert survey.judged(work, "took more than 1 s").status == "timeout"
    assert survey.judged(work, "its process ended with exit code -9 and no result").status == "error"
    (tmp_path / "killed.json").write_bytes(b'{"status":"killed","rules":["DRA-001"],"scenario":"x/a#slow"}')
    assert survey.judged(work, "took more than 1 s").rules == ("DRA-001",)


def fault(old: str, new: str, path: str = "tiny/sums.py") -> faults.Fault:
    return faults.Fault(fault="The first value is left out.", path=path, old=old, new=new)


def test_a_fault_has_the_scenarios_of_all_its_lines(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "COMPONENTS", (Component("tiny", ("tiny",)),))
    monkeypatch.setattr(reach, "COMPONENTS", faults.COMPONENTS)
    old = "    found = 0\n    for value in values or []:\n"
    new = "    found = 0\n    for value in (values or [])[1:]:\n"
    made = faults.edited(fault(old, new), tiny)
    assert "(values or [])[1:]" in made.source
    assert (made.mutant.component, made.mutant.module, made.mutant.line) == ("tiny", "tiny.sums", 10)
    assert made.mutant.reached_at == (10, 11)
    lines = {"tiny/sums.py": {10: ["a"], 11: ["a", "b"], 12: ["c"]}}
    seen = Reach({name: Passed(1.0, "f", ("R-1",)) for name in "abc"}, lines)
    assert reach.scenarios_for(made.mutant, seen).scenarios == ("a", "b")


def test_a_fault_in_a_constant_has_the_scenarios_of_its_users(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "COMPONENTS", (Component("tiny", ("tiny",)),))
    (tiny / "tiny/limits.py").write_text(
        "LIMITS = {\n    1: 2,\n}\n\n\ndef limit():\n    for one in (\n        1,\n    ):\n        return LIMITS[one]\n"
    )
    constant = faults.edited(fault("1: 2", "1: 3", "tiny/limits.py"), tiny).mutant
    assert (constant.in_function, constant.reached_at) == (False, (2, 1))
    inner = faults.edited(fault("        1,", "        2,", "tiny/limits.py"), tiny).mutant
    assert (inner.in_function, inner.reached_at) == (True, (8, 7))


@pytest.mark.parametrize(
    ("old", "new", "path", "message"),
    [
        ("nowhere", "", "tiny/sums.py", "occurs 0 times"),
        ("value", "x", "tiny/sums.py", "not once"),
        ("found = 0", "found = (", "tiny/sums.py", "never closed"),
        ("found = 0", "found = 1", "tiny/none.py", "occurs 0 times"),
        ("found = 0", "found = 1", "other.py", "belongs to no component"),
    ],
)
def test_a_fault_that_does_not_fit_the_source_is_refused(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, path: str, message: str
) -> None:
    monkeypatch.setattr(faults, "COMPONENTS", (Component("tiny", ("tiny",)),))
    (tiny / "other.py").write_text("found = 0\n")
    with pytest.raises(faults.FaultError, match=message):
        faults.edited(fault(old, new, path), tiny)


def test_every_committed_fault_fits_the_source() -> None:
    for one in faults.load(sorted(faults.FOLDER.glob("*.yaml"))):
        faults.edited(one)


def test_a_wrong_file_of_faults_is_named(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text("- {fault: x, path: y}\n")
    with pytest.raises(faults.FaultError, match=r"wrong\.yaml.*old"):
        faults.load([tmp_path / "wrong.yaml"])


_REVIEW = "webhook/protocol#what-is-refused-as-a-bad-request[a-claim-whose-devices-are-a-list]"


def run_for_real(work: Work) -> Outcome:
    # This process has imported the component for other tests.
    for name in list(sys.modules):
        if name.startswith(("reference_impl.webhook", "dra_conformance.components.webhook")):
            del sys.modules[name]
    return trial.run_mutant(work)


def run_both(works: Sequence[Work]) -> list[Outcome]:
    """Return the outcomes of mutants in their order."""
    found = {work.scratch: answer for work, answer in each(works, run_for_real, jobs=2, limit=300.0)}
    answers = [found[work.scratch] for work in works]
    assert all(isinstance(answer, Outcome) for answer in answers), answers
    return [answer for answer in answers if isinstance(answer, Outcome)]


def test_a_mutant_is_killed_by_a_check_of_a_rule_and_only_then(tmp_path: Path) -> None:
    webhook = Component("webhook", ("reference_impl/webhook/review.py",))
    file = components.files_of(webhook)[0]
    found = mutants.of_file(file, "webhook")
    bad = [one for one in found if one.after == '"XXBadRequestXX"'][-1]  # the reason of an object that cannot be read
    works = []
    for number, source in enumerate((mutants.mutated_source(bad), file.read_text())):
        scratch = tmp_path / str(number)
        scratch.mkdir()
        works.append(Work(mutant=bad, source=source or "", scenarios=(_REVIEW,), scratch=str(scratch), limit=300.0))
    # In a new interpreter: a trial must not have the modules and pytest state of the tests that ran before.
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        killed, survived = pool.submit(run_both, works).result()
    assert (killed.status, killed.rules, killed.scenario) == ("killed", ("NV-132a",), _REVIEW)
    assert (survived.status, survived.ran) == ("survived", 1)
