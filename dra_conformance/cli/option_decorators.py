"""Generates click's options from the table of run options, with headings in the help text and shell completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import click
from click.shell_completion import CompletionItem

from dra_conformance.core.option_table import GROUPS, OPTIONS, Option, kind_of


class GroupedCommand(click.Command):
    """A command whose help text has one section for each group of run options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by group; options that are not in the table come last."""
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in [*GROUPS.values(), "Options"]}
        headings = {option.attribute: GROUPS[option.group] for option in OPTIONS}
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                sections[headings.get(parameter.name or "", "Options")].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def run_options(*, shared: bool = False, control_plane: str = "") -> Callable[[Any], Any]:
    """Return a decorator that adds the run options to a command.

    Args:
        shared: add only the options that `doctor` and `rbac` share with `run`.
        control_plane: the default of --control-plane that the help text shows, if the command has its own.
    """

    def decorate(function: Any) -> Any:
        # The decorator that is applied last is the first in the help text.
        for option in reversed(OPTIONS):
            if option.shared or not shared:
                own = option.name == "control-plane" and control_plane
                function = _click_option(replace(option, default=control_plane) if own else option)(function)
        return function

    return decorate


def _click_option(option: Option) -> Callable[[Any], Any]:
    names = [*([f"-{option.short}"] if option.short else []), f"--{option.name}", option.attribute]
    if option.type == "flag":
        # Without a default, so that the value of the configuration file counts if the option is not given.
        return click.option(*names, is_flag=True, default=None, help=option.description)
    return click.option(
        *names,
        type=_click_type(option),
        multiple=option.multiple,
        default=None,
        metavar=option.metavar,
        help=option.description,
        shell_complete=lambda _context, _parameter, incomplete: complete(option, incomplete),
    )


def _click_type(option: Option) -> type | click.IntRange:
    # RunOptions checks its own ranges, so that the file and pytest report the same error.
    if option.type == "integer" and not option.in_file and option.minimum is not None:
        return click.IntRange(int(option.minimum), int(option.maximum) if option.maximum is not None else None)
    return {"integer": int, "number": float}.get(option.type, str)


def complete(option: Option, incomplete: str) -> list[CompletionItem]:
    """Return the values that shell completion offers after `incomplete`."""
    match option.completion:
        case "directories":
            return [CompletionItem(incomplete, type="dir")]
        case "files":
            return [CompletionItem(incomplete, type="file")]
    items = [CompletionItem(value, help=text) for value, text in _values(option)]
    return [item for item in items if item.value.startswith(incomplete)]


def complete_names(names: Iterable[str]) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return the completion of an option that takes one of these names; the values of a mapping are descriptions."""
    described = names if isinstance(names, Mapping) else dict.fromkeys(names)

    def offered(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(name, help=text) for name, text in described.items() if name.startswith(incomplete)]

    return offered


def complete_rules(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete a rule id, in upper or lower case."""
    items = [CompletionItem(value, help=text) for value, text in _rules()]
    return [item for item in items if item.value.startswith(incomplete.upper())]


def _values(option: Option) -> list[tuple[str, str | None]]:
    if option.completion == "rules":
        return _rules()
    if option.completion == "profiles":
        # Deferred: reads the rule catalogue's modules, which --help does not need.
        from dra_conformance.core.tags import PROFILES

        return list(PROFILES.items())
    if option.completion == "supported-features":
        # Deferred, as above: --help does not need the features.
        from dra_conformance.core.optional_features import FEATURES, choices

        return [(name, FEATURES[name].summary if name in FEATURES else "feature gate") for name in choices()]
    if option.completion == "inventories":
        # Deferred: loads the fake NVML, which --help does not need.
        from fake_nvml.inventory import inventory_names

        return [(name, None) for name in inventory_names()]
    # kubeconfig[:FILE] is a complete value without its argument.
    takes_argument = {choice: f"{kind_of(choice)}:" for choice in option.choices if ":" in choice and "[" not in choice}
    return [(takes_argument.get(choice, kind_of(choice)), None) for choice in option.choices]


def _rules() -> list[tuple[str, str | None]]:
    # Deferred: parses the rule catalogue, which --help does not need.
    from dra_conformance.core.rules import Catalogue

    return [(rule.id, rule.text) for rule in Catalogue.load().values()]
