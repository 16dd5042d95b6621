"""Helm templates from objects: expressions are put into an object at a path, and the object becomes a template's text.

An object with an expression is like any other. Its strings have tokens, which `Template.text` replaces after the object
has become YAML; the indentation of a line is known only then.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from deploy.manifests.parts import text_of
from dra_api.objects import Obj

Path = Sequence[str | int]
_TOKEN = re.compile(r"hole-(\d+)-")
_LINE = re.compile(r"^(?P<indent> *)(?P<item>(?:- )*)(?:(?P<key>[^ :]+): )?hole-(?P<number>\d+)-$")


@dataclass(frozen=True, slots=True)
class Inline:
    """An expression that is a scalar, or a part of one."""

    expression: str


@dataclass(frozen=True, slots=True)
class Block:
    """An expression that is a mapping or a list."""

    expression: str


@dataclass(frozen=True, slots=True)
class IfSet:
    """A field, or an item of a list, that is there only if the expression is not empty.

    The value of a field is a mapping, a list or a scalar; an item is a string.
    """

    expression: str


@dataclass(frozen=True, slots=True)
class Each:
    """The items of a list of strings, in the place of one item. `filter_` changes each of them."""

    expression: str
    filter_: str = ""


@dataclass(frozen=True, slots=True)
class Guarded:
    """Mark an object that is there only under a condition."""

    condition: str
    obj: Obj


Hole = Inline | Block | IfSet | Each


@dataclass(slots=True)
class Template:
    """A template file that grows object by object."""

    _holes: list[Hole] = field(default_factory=list)

    def token(self, hole: Hole) -> str:
        """Return the string that stands for an expression; that of `Inline` may be a part of a string."""
        self._holes.append(hole)
        return f"hole-{len(self._holes) - 1}-"

    def put(self, obj: Obj, path: Path, hole: Hole) -> Obj:
        """Return the object with an expression at a path. The last key may be new; `-1` appends to a list.

        Raises: KeyError, IndexError for a path that the object does not have.
        """
        made = copy.deepcopy(obj)
        place: Any = made
        for step in path[:-1]:
            place = place[step]
        last = path[-1]
        if isinstance(place, list) and last == -1:
            place.append(self.token(hole))
        else:
            place[last] = self.token(hole)
        return made

    def replaced(self, value: Any, change: Callable[[str], str]) -> Any:
        """Return a value of JSON with every string of it changed."""
        if isinstance(value, dict):
            return {key: self.replaced(one, change) for key, one in value.items()}
        if isinstance(value, list):
            return [self.replaced(one, change) for one in value]
        return change(value) if isinstance(value, str) else value

    def text(self, objects: Sequence[Obj | Guarded]) -> str:
        """Return the objects as documents with expressions. Raises ValueError for an expression in a wrong place."""
        parts = []
        for one in objects:
            plain = text_of([one.obj if isinstance(one, Guarded) else one])
            document = "---\n" + "".join(f"{self._line(line)}\n" for line in plain.splitlines())
            if isinstance(one, Guarded):
                document = f"{{{{- if {one.condition} }}}}\n{document}{{{{- end }}}}\n"
            parts.append(document)
        return "".join(parts)

    def _line(self, line: str) -> str:
        found = _LINE.match(line)
        if found is None or isinstance(self._holes[int(found["number"])], Inline):
            return _TOKEN.sub(self._inline, line)
        hole, key = self._holes[int(found["number"])], found["key"]
        if found["item"] and key is not None:
            raise ValueError(f"{line}: the first field of an item has to be a value")
        if key is None:
            return _item(hole, found["indent"])
        value = f"{key}: {{{{- toYaml {{}} | nindent {len(found['indent']) + 2} }}}}"
        if isinstance(hole, Block):
            return found["indent"] + value.replace("{}", f"({hole.expression})")
        if isinstance(hole, IfSet):
            return f"{{{{- with {hole.expression} }}}}\n{found['indent']}{value.replace('{}', '.')}\n{{{{- end }}}}"
        raise ValueError(f"{line}: {hole} is no item")

    def _inline(self, found: re.Match[str]) -> str:
        hole = self._holes[int(found[1])]
        if not isinstance(hole, Inline):
            raise ValueError(f"{hole} is a part of a string")
        return f"{{{{ {hole.expression} }}}}"


def _item(hole: Hole, indent: str) -> str:
    match hole:
        case Each():
            item = f". | {hole.filter_} | quote" if hole.filter_ else ". | quote"
            return f"{{{{- range {hole.expression} }}}}\n{indent}- {{{{ {item} }}}}\n{{{{- end }}}}"
        case IfSet():
            return f"{{{{- with {hole.expression} }}}}\n{indent}- {{{{ . | quote }}}}\n{{{{- end }}}}"
        case _:
            raise ValueError(f"{hole} is a field")
