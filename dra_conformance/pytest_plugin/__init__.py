"""The pytest plugin (entry point `pytest11`): the `--dra-...` options, and the runner when the suite is selected.

`pytest --pyargs dra_conformance.scenarios --dra-driver 'exec:...'` does the same as `dra-conformance run`. Every pytest
run in an environment with dra-conformance imports this module, so it imports nothing but the table of options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_conformance.core.option_table import GROUPS, OPTIONS, Option

if TYPE_CHECKING:
    import pytest

SUITE = "dra_conformance.scenarios"


def destination(option: Option) -> str:
    """Return the name of an option in pytest's configuration."""
    return f"dra_{option.attribute}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the `--dra-...` options."""
    groups = {
        name: parser.getgroup(f"dra-{name}", f"DRA conformance suite (--pyargs {SUITE}): {heading.lower()}")
        for name, heading in GROUPS.items()
    }
    for option in OPTIONS:
        if option.in_pytest:
            # argparse formats help texts with %, so a literal percent sign is doubled.
            text = option.description.replace("%", "%%")
            groups[option.group].addoption(
                f"--dra-{option.name}", dest=destination(option), default=None, help=text, **_arguments(option)
            )
    groups["execution"].addoption(
        "--dra-options", dest="dra_options", metavar="FILE", default=None, help="Read all options from this JSON file."
    )


def _arguments(option: Option) -> dict[str, Any]:
    if option.type == "flag":
        return {"action": "store_true"}
    found: dict[str, Any] = {"metavar": option.metavar, "action": "append" if option.multiple else "store"}
    if option.type in ("integer", "number"):
        found["type"] = int if option.type == "integer" else float
    return found


def pytest_configure(config: pytest.Config) -> None:
    """Load the runner when the suite is among the arguments."""
    if any(is_suite(str(arg)) for arg in config.args):
        config.pluginmanager.import_plugin("dra_conformance.pytest_plugin.collection")
        config.pluginmanager.import_plugin("dra_conformance.pytest_plugin.runner")


def is_suite(argument: str) -> bool:
    """Whether an argument of pytest, or a path, is the module of the suite or a part of it."""
    path = argument.split("::")[0]
    return path == SUITE or path.endswith("/".join(SUITE.split(".")) + ".py")
