"""The titles of the tests in a Go file, or in one of bats.

Two styles of Go are known. Ginkgo's tests are named by the texts of their containers and of the test; a function that
declares tests counts once for each call. Functions of Go's `testing` are named like their subtests,
`testX/name of the subtest`; a subtest is a call of Run with a name, or a key of a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from verification.upstream_tests.go_source import Source, Span

SEPARATOR = " > "
"""Between the containers of a Ginkgo test, and its own text."""
_CONTAINERS = frozenset({"Context", "Describe", "SIGDescribe", "DescribeTable"})
_TESTS = frozenset({"It", "ConformanceIt", "Entry"})
_BATS = re.compile(r'^@test (["\'])(.+)\1 \{', re.MULTILINE)
_TEST_FUNCTION = re.compile(r"[tT]est[A-Z]\w*")


def ginkgo(text: str) -> list[str]:
    """Return the titles of the Ginkgo tests in the source of a file."""
    return _Ginkgo(Source(text)).titles()


def functions(text: str) -> list[str]:
    """Return the test functions in the source of a file, and their subtests."""
    return _Functions(Source(text)).titles()


def bats(text: str) -> list[str]:
    """Return the titles of the tests in a file of bats, the test system for shells; variables are not expanded."""
    return [found[2] for found in _BATS.finditer(text)]


class _Ginkgo:
    """Walks through the containers of a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.bodies: dict[str, Span] = {}
        self.definitions: dict[int, int] = {}
        """Where the definition of a function starts, and the last token of its body."""
        for at in range(len(source.tokens)):
            self._define(at)

    def _define(self, at: int) -> None:
        """Store a function with a name: `func name(...) {...}` or `name := func(...) {...}`."""
        source = self.source
        if source.name(at) != "func":
            return
        name, opening, start = source.name(at + 1), at + 2, at
        if not name and source.mark(at + 1, "(") and source.mark(at - 1, "=") and source.mark(at - 2, ":"):
            name, opening, start = source.name(at - 3), at + 1, at - 3
        if name and source.mark(opening, "(") and (body := source.body(opening)) is not None:
            self.bodies[name] = source.inside(body)
            self.definitions[start] = source.closing[body]

    def titles(self) -> list[str]:
        whole = Span(0, len(self.source.tokens))
        return [SEPARATOR.join(path) for path in self._walk(whole, (), whole, frozenset())]

    def _walk(
        self, span: Span, path: tuple[str, ...], scope: Span, active: frozenset[str]
    ) -> Iterator[tuple[str, ...]]:
        """Yield the titles in a span. `scope` is the function around it, `active` the functions that are entered."""
        source, at = self.source, span.start
        while at < span.end:
            if at in self.definitions:  # not executed before it is called
                at = self.definitions[at] + 1
                continue
            name = source.name(at)
            called = source.mark(at + 1, "(")
            if called and name in _TESTS:
                for title in self._texts(at + 1, scope)[:1] or [[]]:
                    for one in title:
                        yield (*path, f"{one} [Conformance]" if name == "ConformanceIt" else one)
                at = source.closing[at + 1]
            elif called and name in _CONTAINERS:
                opening, parts = at + 1, [one[0] for one in self._texts(at + 1, scope) if one]
                if source.mark(source.closing[opening] + 1, "("):  # SIGDescribe("node")(...): the group owns all tests
                    opening, parts = source.closing[opening] + 1, []
                yield from self._walk(source.inside(opening), (*path, *parts), scope, active)
                at = source.closing[opening]
            elif name in self.bodies and name not in active and not source.mark(at - 1, "."):
                parts = [one[0] for one in self._texts(at + 1, scope) if one] if called else []
                body = self.bodies[name]
                yield from self._walk(body, (*path, *parts), body, active | {name})
                at = source.closing[at + 1] if called else at
            at += 1

    def _texts(self, opening: int, scope: Span) -> list[list[str]]:
        """Return the literals among the arguments of a call. A format with a field of a table has one for each row."""
        found: list[list[str]] = []
        source = self.source
        for span in source.arguments(opening):
            tokens = source.tokens[span.start : span.end]
            if len(tokens) == 1 and tokens[0].kind == "text":
                found.append([tokens[0].value])
            elif [one.value for one in tokens[:3]] == ["fmt", ".", "Sprintf"]:
                form, field = tokens[4].value, tokens[-2].value
                found.append([form.replace("%s", one) for one in self._fields(field, scope)] or [form])
        return found

    def _fields(self, field: str, scope: Span) -> list[str]:
        """Return the literals that the rows of a table have in a field."""
        tokens = self.source.tokens
        return [
            tokens[at + 2].value
            for at in range(scope.start, scope.end - 2)
            if self.source.name(at) == field and self.source.mark(at + 1, ":") and tokens[at + 2].kind == "text"
        ]


class _Functions:
    """Walks through the test functions of a file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: dict[str, Span] = {}
        for at in range(len(source.tokens)):
            name = source.name(at + 1)
            if source.name(at) == "func" and _TEST_FUNCTION.fullmatch(name) and name != "TestMain":
                body = source.body(at + 2)
                if body is not None:
                    self.found[name] = source.inside(body)

    def titles(self) -> list[str]:
        titles: list[str] = []
        for name, body in self.found.items():
            if not self._only_calls(body):
                titles += [f"{name}/{one}" for one in self._subtests(body)] or [name]
        return titles

    def _only_calls(self, body: Span) -> bool:
        """Report whether a function only calls another test function of the file."""
        source = self.source
        called = source.name(body.start) in self.found and source.mark(body.start + 1, "(")
        return called and source.closing[body.start + 1] + 1 == body.end

    def _subtests(self, scope: Span) -> Iterator[str]:
        source, at = self.source, scope.start
        while at < scope.end:
            if source.mark(at, ".") and source.name(at + 1) == "Run" and source.mark(at + 2, "("):
                arguments = source.arguments(at + 2)
                token = source.tokens[arguments[0].start]
                if token.kind == "text" and not any(self._names(one) for one in arguments[1:]):
                    yield token.value
                    inner = Span(arguments[-1].start, arguments[-1].end)
                    yield from (f"{token.value}/{one}" for one in self._subtests(inner))
                    at = source.closing[at + 2]
            elif self._is_key(at, scope):
                yield source.tokens[at].value
                at = source.closing[at + 2]
            at += 1

    def _names(self, span: Span) -> bool:
        """Report whether an argument is another test function of the file, or a function that calls one."""
        return any(self.source.name(at) in self.found for at in range(span.start, span.end))

    def _is_key(self, at: int, scope: Span) -> bool:
        """Report whether a token is the key of a table that is a literal in this function."""
        source = self.source
        if source.tokens[at].kind != "text" or not (source.mark(at + 1, ":") and source.mark(at + 2, "{")):
            return False
        table = source.around[at]
        return source.around[table] == source.around[scope.start] and self._is_map(table)

    def _is_map(self, opening: int) -> bool:
        """Report whether the bracket at an index opens a literal of a map from text to rows."""
        source, at = self.source, opening - 1
        if source.mark(at, "}"):  # map[string]struct{...}{
            at = next(start for start, end in source.closing.items() if end == at) - 1
        while source.name(at) or source.mark(at, "."):
            if source.mark(at - 1, "]") and source.name(at - 2) == "string":
                return source.name(at - 4) == "map"
            at -= 1
        return False
