"""The command lines of the documentation: the commands, options and component values that they name exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from dra_conformance.cli import cli
from dra_conformance.core.component_spec import CHOICES, ComponentSpec

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^ *```(?:sh|console|bash)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"^\s*(?:\$ )?(?:\S+/)?dra-conformance (?=[a-z])")
END_OF_COMMAND = {"|", ">", "&&", "||", ";", "&"}


def calls(text: str) -> Iterator[list[str]]:
    """Yield the words of each call of the program in the shell blocks of a page."""
    for block in BLOCK.findall(text):
        lines = iter(block.replace("\\\n", " ").splitlines())
        for line in lines:
            if not CALL.match(line):
                continue
            command = CALL.sub("", line)
            # A quoted value can go on in the next line.
            while (words := split(command)) is None:
                command += " " + next(lines)
            end = next((at for at, word in enumerate(words) if word in END_OF_COMMAND), len(words))
            yield words[:end]


def split(command: str) -> list[str] | None:
    """Return the words of a command line, or None if a quotation is open."""
    try:
        return shlex.split(command, comments=True)
    except ValueError:
        return None


def problems(words: list[str]) -> Iterator[str]:
    """Yield what is wrong with a call."""
    command: click.Command | None = cli
    rest = list(words)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        command = command.get_command(click.Context(command), rest.pop(0))
    if command is None:
        yield f"there is no such command: {shlex.join(words)}"
        return
    options = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if not name.startswith("--"):
            continue
        option = options.get(name)
        if option is None:
            yield f"there is no option {name}: {shlex.join(words)}"
        elif not (isinstance(option, click.Option) and option.is_flag) and not equals and rest:
            value = rest.pop(0)
        component = name.removeprefix("--")
        if component in CHOICES and value:
            try:
                ComponentSpec.parse(component, value)
            except Exception as error:
                yield f"{name} {value}: {error}"


PAGES = sorted(page for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")] if any(calls(page.read_text())))


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_documented_commands_exist(page: Path) -> None:
    assert [problem for words in calls(page.read_text()) for problem in problems(words)] == []


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("run --control-plane cluster", ["--control-plane cluster: unknown control plane 'cluster'"]),
        ("run --drivr reference", ["there is no option --drivr: run"]),
        ("rn --driver reference", ["there is no such command"]),
        ("control-plane install --buid", ["there is no option --buid: control-plane install"]),
        ("run --driver 'exec:./mine \\\n  --kubeconfig {kubeconfig}' -n 2 --out out", []),
    ],
)
def test_what_is_wrong_is_found(command: str, wrong: list[str]) -> None:
    text = f"```sh\n$ dra-conformance {command}\n```\n"
    found = [problem for words in calls(text) for problem in problems(words)]
    assert len(found) == len(wrong)
    assert all(part in problem for part, problem in zip(wrong, found, strict=True))
