"""Test the titles of upstream's tests and the rules that judge them: how they are read, and that they are complete."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from verification.upstream_tests import collect, extract
from verification.upstream_tests.table import REASONS, Entry, File, Judged, Reason, entries, join, load

GINKGO = """
package dra

// It("in a comment", func() {})
func shared(f *framework.Framework) {
	cases := []struct{ name string }{{name: "small"}, {name: "large"}}
	for _, tc := range cases {
		ginkgo.It(fmt.Sprintf("resizes %s pods", tc.name), func(ctx context.Context) {})
	}
}

func unused() { ginkgo.It("is never declared", func() {}) }

var _ = framework.SIGDescribe("node")(framework.WithLabel("DRA"), func() {
	framework.ConformanceIt("claims", func(ctx context.Context) { By("a step") })
	single := func(withKubelet bool) {
		f.It("is \\"quoted\\"", f.WithSlow(), func(ctx context.Context) { f.Context("inside a test", nil) })
	}
	versions := func(prefix string) {
		args := []any{prefix, func() { single(true) }}
		framework.Context(args...)
	}
	f.Context("one", func() { single(false) })
	f.Context("two", feature.X, "on nodes", single)
	versions("v1")
	ginkgo.DescribeTable("reconnects",
		func(name string) {},
		ginkgo.Entry("2 sockets", ""),
		ginkgo.Entry(
			`1 socket`, "x"),
	)
	f.Context("cgroups", func() { shared(f) })
})
"""

FUNCTIONS = """
package dra

func TestMain(m *testing.M) {}
func TestUpgrade(t *testing.T) { testUpgrade(ktesting.Init(t)) }
func testUpgrade(tCtx ktesting.TContext) {
	var subTests = map[string]struct {
		test map[string]bool
	}{
		"core": {test: map[string]bool{"no title": true}},
		"taints": {},
	}
}
func testConditions(tCtx ktesting.TContext) {
	tCtx.Run("Basic", func(tCtx ktesting.TContext) { testBasic(tCtx, true) })
	tCtx.Run("Other", testBasic)
}
func testBasic[T any](tCtx ktesting.TContext, enabled bool) (map[string]T, error) {
	objects := map[string]resourceapi.Counter{}
	brace := '{'
}
func testNested(tCtx ktesting.TContext) {
	tCtx.Run("outer", func(tCtx ktesting.TContext) {
		tCtx.Run("inner", func(tCtx ktesting.TContext) {})
	})
	testCases := map[string]sliceCase{
		"v1": {counters: map[string]resourceapi.Counter{"memory": {Value: q}}},
	}
	for name := range testCases {
		tCtx.Run(name, func(tCtx ktesting.TContext) {})
	}
}
func helper(tCtx ktesting.TContext) { tCtx.Run("no test", func() {}) }
"""


BATS = """
setup() { :; }
# @test "in a comment" {
@test "GPUs: 1 pod" {
  run true
}
@test "CDs: it's ${COUNT} nodes" {
}
"""


def test_titles_of_ginkgo_tests() -> None:
    assert extract.ginkgo(GINKGO) == [
        "claims [Conformance]",
        'one > is "quoted"',
        'two > on nodes > is "quoted"',
        'v1 > is "quoted"',
        "reconnects > 2 sockets",
        "reconnects > 1 socket",
        "cgroups > resizes small pods",
        "cgroups > resizes large pods",
    ]


def test_titles_of_test_functions() -> None:
    assert extract.functions(FUNCTIONS) == [
        "testUpgrade/core",
        "testUpgrade/taints",
        "testConditions",
        "testBasic",
        "testNested/outer",
        "testNested/outer/inner",
        "testNested/v1",
    ]


def test_titles_of_bats() -> None:
    assert extract.bats(BATS) == ["GPUs: 1 pod", "CDs: it's ${COUNT} nodes"]


def test_collect_reads_module_folders(tmp_path: Path) -> None:
    folders = {
        collect.KUBERNETES: tmp_path / "kubernetes@v1.37.2",
        collect.ALLOCATION: tmp_path / "dynamic-resource-allocation@v0.37.2",
        collect.NVIDIA: tmp_path / "dra-driver-nvidia-gpu@v0.5.0",
    }
    sources = {collect.KUBERNETES: GINKGO, collect.ALLOCATION: FUNCTIONS, collect.NVIDIA: BATS}
    for suite in collect.SUITES:
        for pattern in suite.patterns:
            path = folders[suite.module] / pattern.replace("*", "some")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(FUNCTIONS if suite.titles is extract.functions else sources[suite.module])
    rows = list(collect.collect(folders))
    assert [row["version"] for row in rows] == ["v1.37.2"] * 6 + ["v0.37.2", "v0.5.0"]
    assert rows[-1]["path"] == "tests/bats/some.bats"
    (folders[collect.KUBERNETES] / "test/e2e_node/dra_test.go").unlink()
    with pytest.raises(ValueError, match=r"no file test/e2e_node/dra_test\.go"):
        list(collect.collect(folders))


def test_a_title_that_is_not_unique_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "kubernetes@v1.37.2"
    path = folder / "test/e2e/dra/dra.go"
    path.parent.mkdir(parents=True)
    path.write_text('var _ = Describe("x", func() { It("same", nil); It("same", nil) })')
    with pytest.raises(ValueError, match="twice: x > same"):
        list(collect.collect({collect.KUBERNETES: folder}))


def test_the_data_are_complete() -> None:
    sections = load()
    assert sum(row.title.endswith("[Conformance]") for one in sections for row in one.rows) == 5
    assert {one.file.suite for one in sections} == {suite.name for suite in collect.SUITES}
    assert all(one.rows for one in sections)


def test_every_reason_has_a_meaning_and_a_test() -> None:
    assert set(REASONS) == set(get_args(Reason))
    assert {entry.reason for file in entries() for entry in file.tests if entry.reason} == set(REASONS)


def joined(*tests: Entry, path: str = "a.go") -> list[tuple[str, tuple[str, ...]]]:
    file = File(suite="e2e", module="m", version="v1.0.0", path="a.go", titles=("a > one", "a > two", "b > one"))
    rules = frozenset({"DRA-001", "DRA-002"})
    sections = join([file], [Judged(path=path, tests=tests)], rules=rules, known=rules | {"DRA-300"})
    return [(row.title, row.entry.rules) for row in sections[0].rows]


ALL = Entry(titles=("*",), rules=("DRA-001",))


def test_the_title_or_the_longest_pattern_wins() -> None:
    assert joined(
        ALL,
        Entry(titles=("a > *",), reason="not covered yet", text="t", gaps=("DRA-300",)),
        Entry(titles=("a > two",), rules=("DRA-002",)),
    ) == [("a > one", ()), ("a > two", ("DRA-002",)), ("b > one", ("DRA-001",))]


@pytest.mark.parametrize(
    ("tests", "problem"),
    [
        ([Entry(titles=("*",), rules=("DRA-300",))], "unknown rule DRA-300"),
        ([Entry(titles=("*",), reason="not covered yet", text="t", gaps=("DRA-999",))], "unknown rule DRA-999"),
        ([Entry(titles=("a > *",), rules=("DRA-001",))], "b > one: no entry"),
        ([ALL, Entry(titles=("c > *",), rules=("DRA-001",))], r"c > \*: no such test"),
        ([ALL, Entry(titles=("a > three",), rules=("DRA-001",))], "a > three: no such test"),
        ([ALL, ALL], r"\*: listed twice"),
        ([Entry(titles=("*",))], "either rules or a reason"),
        ([Entry(titles=("*",), rules=("DRA-001",), reason="not required", text="t")], "either rules or a reason"),
        ([Entry(titles=("*",), reason="not required")], "without a text"),
        ([Entry(titles=("*",), reason="not required", text="t", lacks="l")], "lacks without rules"),
        ([Entry(titles=("*",), rules=("DRA-001",), text="t")], "without a reason"),
    ],
)
def test_a_contradiction_is_an_error(tests: list[Entry], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        joined(*tests)


def test_entries_of_an_unknown_file_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"b\.go: no such file"):
        joined(ALL, path="b.go")
