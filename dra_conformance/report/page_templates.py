"""The templates of pages: HTML, SVG and Markdown. Every value that a template prints is escaped for HTML."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from dra_conformance.core.plain_text import one_line, printable

_FOLDER = Path(__file__).parent / "templates"


@cache
def template(name: str) -> Template:
    """Return a template by its file name."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"code": _code, "line": _line, "lines": _lines}
    return environment.get_template(name)


@dataclass(frozen=True, slots=True)
class Script:
    """A script of a page, and its digest for a content security policy that permits this script only."""

    text: Markup
    digest: str


@cache
def script(name: str) -> Script:
    """Return a script by its file name."""
    text = (_FOLDER / name).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Script(Markup(text), f"sha256-{digest}")  # noqa: S704 - a file of this package


def _code(text: str) -> Markup:
    """Return the escaped text with `words in backticks` as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped just here


def _line(text: str, limit: int = 300) -> Markup:
    """Return the text as code in one line.

    GitHub finds mentions, issue numbers and links in all text of a page except code.
    """
    return Markup("<code>{}</code>").format(one_line(text, limit=limit))


def _lines(text: str, limit: int = 1500) -> Markup:
    """Return the text as code in its lines, without a line break of its own: a blank line would end the HTML."""
    shown = escape(printable(text, limit=limit)).replace("\n", Markup("&#10;"))
    return Markup("<pre><code>{}</code></pre>").format(shown)
