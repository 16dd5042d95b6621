"""Label and field selectors: parsed once for a request, then a predicate over objects.

Grammar and error texts: k8s.io/apimachinery pkg/labels (set-based requirements) and pkg/fields (=, ==, !=). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from apiserver_emulator.metadata import LABEL_VALUE, VALUE_TEXT, qualified_name_problems, too_long_text
from dra_api.gotext import go_quote
from dra_api.status import StatusError, bad_request

Obj = dict[str, Any]
Predicate = Callable[[Obj], bool]
LabelPredicate = Callable[[Mapping[str, str]], bool]

_TOKEN = re.compile(r"\s*(?:(?P<op>==|!=|=|!|<|>|\(|\)|,)|(?P<word>[^\s=!<>(),]+))")
_VALUE_MAX = 63


def _unable(why: str) -> StatusError:
    return bad_request(f"unable to parse requirement: {why}")


def _check_key(key: str) -> None:
    if problems := qualified_name_problems(key):
        why = "; ".join(problems).replace("a qualified name must", "a valid label key must")
        raise _unable(f"<nil>: Invalid value: {go_quote(key)}: {why}")


def _check_value(key: str, value: str, at: int = 0) -> None:
    where = f"values[{at}][{key}]: Invalid value: {go_quote(value)}: "
    if len(value.encode()) > _VALUE_MAX:
        raise _unable(where + too_long_text(_VALUE_MAX))
    if not LABEL_VALUE.match(value):
        raise _unable(where + VALUE_TEXT)


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        stripped = text.rstrip()
        while at < len(stripped):
            found = _TOKEN.match(stripped, at)
            if found is None:
                raise _unable(f"found '{stripped[at]}', expected: identifier")
            at = found.end()
            self.tokens.append(("op", found["op"]) if found["op"] else ("word", found["word"]))
        self.tokens.append(("end", ""))
        self.at = 0

    def take(self) -> tuple[str, str]:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at]

    def parse(self) -> list[LabelPredicate]:
        found: list[LabelPredicate] = []
        if self.peek()[0] == "end":
            return found
        while True:
            found.append(self._requirement())
            kind, value = self.take()
            if kind == "end":
                return found
            if value != ",":
                raise bad_request(f"found '{value}', expected: ',' or 'end of string'")
            kind, value = self.peek()
            if kind != "word" and value != "!":
                raise bad_request(f"found '{value}', expected: identifier after ','")

    def _requirement(self) -> LabelPredicate:
        kind, value = self.take()
        if (kind, value) == ("op", "!"):
            key = self._word()
            _check_key(key)
            return lambda labels: key not in labels
        if kind != "word":
            raise bad_request(f"found '{value}', expected: !, identifier, or 'end of string'")
        key = value
        _check_key(key)
        kind, value = self.peek()
        if kind == "end" or value == ",":
            return lambda labels: key in labels
        self.take()
        if value in ("=", "==", "!="):
            # Nothing stands for the empty value.
            wanted = "" if self.peek()[1] in ("", ",") else self._word()
            _check_value(key, wanted)
            if value == "!=":
                # Like notin, != selects objects without the label.
                return lambda labels: labels.get(key) != wanted
            return lambda labels: labels.get(key) == wanted
        if value in ("in", "notin"):
            values = frozenset(self._values())
            for at, one in enumerate(sorted(values)):
                _check_value(key, one, at)
            if value == "notin":
                return lambda labels: labels.get(key) not in values
            return lambda labels: labels.get(key) in values
        if value in ("<", ">"):
            return self._compare(key, value)
        raise _unable(f"found '{value}', expected: in, notin, =, ==, !=, gt, lt")

    def _compare(self, key: str, operator: str) -> LabelPredicate:
        text = "" if self.peek()[1] in ("", ",") else self._word()
        if not re.fullmatch(r"-?\d+", text):
            why = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise _unable(f"values[0]: Invalid value: {go_quote(text)}: {why}")
        _check_value(key, text)
        bound = int(text)

        def compare(labels: Mapping[str, str]) -> bool:
            found = labels.get(key, "")
            if not re.fullmatch(r"-?\d+", found):
                return False
            return int(found) > bound if operator == ">" else int(found) < bound

        return compare

    def _word(self) -> str:
        kind, value = self.take()
        if kind != "word":
            raise _unable(f"found '{value}', expected: identifier")
        return value

    def _values(self) -> list[str]:
        if self.take() != ("op", "("):
            raise _unable(f"found '{self.tokens[self.at - 1][1]}' expected: '('")
        values: list[str] = []
        expecting = True
        while True:
            kind, value = self.take()
            if kind == "word" and expecting:
                values.append(value)
                expecting = False
            elif value == ",":
                # `(,a)` and `(a,)` contain the empty value, as in upstream's parser.
                if expecting:
                    values.append("")
                expecting = True
            elif value == ")":
                if expecting:
                    values.append("")
                return values
            else:
                wanted = "',', ')' or identifier" if expecting else "',' or ')'"
                raise _unable(f"found '{value}', expected: {wanted}")


def label_selector(text: str) -> LabelPredicate | None:
    """Parse a label selector; None selects everything. Raises a 400."""
    if not text.strip():
        return None
    requirements = _Parser(text).parse()
    return lambda labels: all(requirement(labels) for requirement in requirements)


def structured_selector(selector: Obj | None) -> LabelPredicate:
    """A metav1.LabelSelector object (matchLabels, matchExpressions). None selects nothing, {} everything."""
    if selector is None:
        return lambda labels: False
    checks: list[LabelPredicate] = []
    for key, value in (selector.get("matchLabels") or {}).items():
        # The defaults bind the values of this iteration.
        checks.append(lambda labels, k=key, v=value: labels.get(k) == v)  # type: ignore[misc]
    for expression in selector.get("matchExpressions") or ():
        checks.append(_expression(expression))
    return lambda labels: all(check(labels) for check in checks)


def _expression(expression: Obj) -> LabelPredicate:
    key, operator = expression["key"], expression["operator"]
    values = frozenset(expression.get("values") or ())
    if operator == "In":
        return lambda labels: labels.get(key) in values
    if operator == "NotIn":
        return lambda labels: labels.get(key) not in values
    if operator == "Exists":
        return lambda labels: key in labels
    if operator == "DoesNotExist":
        return lambda labels: key not in labels
    raise bad_request(f"{go_quote(operator)} is not a valid label selector operator")


def parse_fields(text: str) -> list[tuple[str, str, str]]:
    """A field selector as (field, operator, value); operators are = and !=. Raises a 400."""
    found: list[tuple[str, str, str]] = []
    for part in _split_escaped(text):
        if not part:
            continue
        match = re.match(r"^([^=!]*)(==|!=|=)(.*)$", part, re.DOTALL)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        name, operator, value = match.groups()
        found.append((name, "!=" if operator == "!=" else "=", _unescape(value)))
    return found


def _split_escaped(text: str) -> list[str]:
    parts, current, escaped = [], "", False
    for char in text:
        if escaped:
            current += char
            escaped = False
        elif char == "\\":
            current += char
            escaped = True
        elif char == ",":
            parts.append(current)
            current = ""
        else:
            current += char
    return [*parts, current]


def _unescape(value: str) -> str:
    """Return the value without escapes. Raises 400 for another escape, and for a character that needs one."""
    found, escaped = "", False
    for char in value:
        if escaped:
            if char not in "\\,=":
                raise bad_request(f"invalid field selector: invalid escape sequence: \\{char}")
            found, escaped = found + char, False
        elif char == "\\":
            escaped = True
        elif char == "=":
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            found += char
    if escaped:
        raise bad_request("invalid field selector: invalid escape sequence: \\")
    return found


def field_selector(
    text: str,
    *,
    values: Callable[[Obj], Mapping[str, str]],
    supported: frozenset[str],
    namespaced: bool,
    refusal: Callable[[str], str],
) -> Predicate | None:
    """Parse a field selector over `values(obj)` and the object's name and namespace; None selects everything.

    A field that is not in `supported` gets 400 with the text of `refusal`.
    """
    requirements = parse_fields(text)
    if not requirements:
        return None
    for name, _, _ in requirements:
        if name not in supported and name != "metadata.name" and not (namespaced and name == "metadata.namespace"):
            raise bad_request(refusal(name))

    def match(obj: Obj) -> bool:
        extra: Mapping[str, str] | None = None
        for name, operator, wanted in requirements:
            if name == "metadata.name":
                found = obj["metadata"].get("name", "")
            elif name == "metadata.namespace":
                found = obj["metadata"].get("namespace", "")
            else:
                if extra is None:
                    extra = values(obj)
                found = extra.get(name, "")
            if (found == wanted) != (operator == "="):
                return False
        return True

    return match


def both(labels: LabelPredicate | None, fields: Predicate | None) -> Predicate | None:
    """One predicate for a list or watch; None selects everything."""
    if labels is None:
        return fields
    on_labels = labels
    if fields is None:
        return lambda obj: on_labels(obj["metadata"].get("labels") or {})
    on_fields = fields
    return lambda obj: on_fields(obj) and on_labels(obj["metadata"].get("labels") or {})
