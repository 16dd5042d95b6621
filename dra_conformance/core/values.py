"""Values in the sentences of features: those that steps write, and expectations of those that they read.

A value is YAML, or generated: `a list of 33 {name: r$n}`, `a map of 33 "c$n" to {value: 1}`, `the text "x" 64 times`;
`$n` counts from 0. An expectation is a value, or one of the forms that `Expectation` lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from dra_conformance.core.manifests import parse_value

_LIST = re.compile(r"a list of (\d+) (.+)", re.DOTALL)
_MAP = re.compile(r'a map of (\d+) "([^"]*)" to (.+)', re.DOTALL)
_TEXT = re.compile(r'the text "([^"]*)" (\d+) times')
_CLOCK_SLACK = timedelta(minutes=1)
_ANY_ORDER = "in any order "


def read_value(text: str) -> Any:
    """Return the value that a sentence gives as YAML or in one of the generated forms."""
    if found := _LIST.fullmatch(text):
        return [parse_value(found[2].replace("$n", str(n))) for n in range(int(found[1]))]
    if found := _MAP.fullmatch(text):
        numbers = [str(n) for n in range(int(found[1]))]
        return {found[2].replace("$n", n): parse_value(found[3].replace("$n", n)) for n in numbers}
    if found := _TEXT.fullmatch(text):
        return found[1] * int(found[2])
    return parse_value(text)


def covers(observed: object, wanted: object) -> bool:
    """Return whether `observed` has every field of `wanted`, in lists item by item."""
    if isinstance(wanted, dict):
        return isinstance(observed, dict) and all(covers(observed.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return (
            isinstance(observed, list)
            and len(observed) == len(wanted)
            and all(covers(one, two) for one, two in zip(observed, wanted, strict=True))
        )
    return observed == wanted


def without_order(value: object) -> object:
    """Return a value with all of its lists sorted, the inner ones first."""
    if isinstance(value, dict):
        return {key: without_order(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((without_order(item) for item in value), key=lambda item: orjson.dumps(item, option=_SORTED))
    return value


_SORTED = orjson.OPT_SORT_KEYS


def contains(observed: object, wanted: object) -> bool:
    """Return whether a text has a part, a list all of the wanted items, or a mapping all of the wanted fields."""
    if isinstance(observed, str):
        return str(wanted) in observed
    if isinstance(observed, list):
        items = wanted if isinstance(wanted, list) else [wanted]
        return all(any(covers(one, item) for one in observed) for item in items)
    return isinstance(wanted, dict) and covers(observed, wanted)


@dataclass(frozen=True, slots=True)
class Expectation:
    """An expectation of a field: its `text` in the feature file, its predicate, and how reports show it.

    `shown` is the value that is expected, or the text of a condition; `show` returns an observed value in that form.
    """

    text: str
    is_met: Callable[[object], bool]
    shown: Any
    show: Callable[[object], Any]


def as_text(observed: object) -> str | None:
    """Return an observed value as text, JSON if it is none, for a condition; None if it is absent."""
    if observed is None or isinstance(observed, str):
        return observed
    try:
        return orjson.dumps(observed, default=str).decode()
    except TypeError:  # such as an integer of more than 64 bits
        return str(observed)


def condition(text: str, is_met: Callable[[object], bool]) -> Expectation:
    """Return an expectation that is shown as its text, because many values meet it."""
    return Expectation(text, is_met, shown=text, show=as_text)


def expectation(text: str, now: datetime | None = None) -> Expectation:
    """Read an expectation.

    - `set`: neither null nor empty; `empty`: null, or without items
    - `like "regex"`: a text that matches the whole regular expression
    - `containing V`: a part of a text, items of a list, fields of a mapping; `without V`: none of it
    - `with the keys V`: a mapping that has exactly these keys
    - `other than V`; `in any order V`: lists as multisets; `as JSON V`: a text that is JSON
    - `the present time`, `an earlier time`: an RFC 3339 time within a minute of `now`, or before that
    - anything else: a value, compared for equality
    """
    form, _, rest = text.partition(" ")
    if text == "set":
        return condition(text, lambda seen: seen not in (None, [], {}, ""))
    if text == "empty":
        return condition(text, lambda seen: seen in (None, [], {}, ""))
    if text == "the present time":
        return condition(text, lambda seen: now is not None and _near(seen, now))
    if text == "an earlier time":
        return condition(text, lambda seen: now is not None and _before(seen, now))
    if form == "like":
        pattern = re.compile(str(parse_value(rest)))
        return condition(text, lambda seen: isinstance(seen, str) and pattern.fullmatch(seen) is not None)
    if text.startswith(_ANY_ORDER):
        several = without_order(parse_value(text.removeprefix(_ANY_ORDER)))
        return Expectation(text, lambda seen: without_order(seen) == several, shown=several, show=without_order)
    for prefix, meets in _FORMS.items():
        if text.startswith(f"{prefix} "):
            wanted = parse_value(text.removeprefix(f"{prefix} "))
            return condition(text, _bound(meets, wanted))
    value = parse_value(text)
    return Expectation(text, _bound(lambda seen, wanted: seen == wanted, value), shown=value, show=lambda seen: seen)


def _bound(meets: Callable[[object, object], bool], wanted: object) -> Callable[[object], bool]:
    return lambda seen: meets(seen, wanted)


def _near(seen: object, now: datetime) -> bool:
    return isinstance(seen, str) and abs(datetime.fromisoformat(seen) - now) <= _CLOCK_SLACK


def _before(seen: object, now: datetime) -> bool:
    return isinstance(seen, str) and now - datetime.fromisoformat(seen) > _CLOCK_SLACK


def _as_json(seen: object, wanted: object) -> bool:
    try:
        return isinstance(seen, str) and orjson.loads(seen) == wanted
    except orjson.JSONDecodeError:
        return False


_FORMS: dict[str, Callable[[object, object], bool]] = {
    "containing": contains,
    # A field that is absent has none of it.
    "without": lambda seen, wanted: seen is None or not contains(seen, wanted),
    "with the keys": lambda seen, wanted: isinstance(seen, dict) and sorted(seen) == wanted,
    "other than": lambda seen, wanted: seen != wanted,
    "as JSON": _as_json,
}
