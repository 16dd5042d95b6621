"""What repeats one scenario of a run with the options of that run: a command line, or the options themselves.

The command line is printed with a failure; `dra-conformance again` uses the options.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from dra_conformance.core.component_spec import CHOICES
from dra_conformance.core.configuration import with_cluster_defaults
from dra_conformance.core.errors import UsageError
from dra_conformance.core.events import PlannedScenario, RunStarted
from dra_conformance.core.option_table import OPTIONS
from dra_conformance.core.tags import ON_REQUEST

# Options that a repetition replaces or does not need.
_NOT_REPEATED = frozenset(
    {
        "focus",
        "skip",
        "rule",
        "shard",
        "profile",
        "seed",
        "out",
        "progress",
        "waivers",
        "require",
        "dry-run",
        "sign-key",
        "durations",
    }
)
_FILE_ONLY = frozenset({"companions"})
_DEFAULTS: Mapping[str, Any] = {option.name: option.default for option in OPTIONS}
_REMOVED = "***"


def command_line(scenario: PlannedScenario, started: RunStarted) -> str:
    """Return the command that repeats a scenario of a run. It has no option with its default value."""
    return shlex.join(["dra-conformance", "run", *words(options(scenario, started), given=started.options)])


def words(values: Mapping[str, Any], *, given: Mapping[str, Any]) -> list[str]:
    """Return options as words of a command line, without those with their default value.

    `given`: the options of the run; its control plane says which components have another default.
    """
    found: list[str] = []
    always = _always_named(given)
    for key, value in values.items():
        if key in _FILE_ONLY or value in (None, False, "", [], ()):
            continue
        if value == _DEFAULTS.get(key) and key not in always:
            continue
        if value is True:
            found.append(f"--{key}")
        elif isinstance(value, dict):  # from a file that may not exist when the command is repeated
            found += [f"--{key}", json.dumps({name: item for name, item in value.items() if item})]
        elif isinstance(value, (list, tuple)):
            found += [word for item in value for word in (f"--{key}", str(item))]
        else:
            found += [f"--{key}", str(value)]
    return found


def options(scenario: PlannedScenario, started: RunStarted) -> dict[str, Any]:
    """Return the options that repeat a scenario of a run, by name, as its log has them: without secrets."""
    kept = {key: value for key, value in started.options.items() if key not in _NOT_REPEATED}
    # Only a run that selects the profile has these scenarios.
    profile = {"profile": list(scenario.profiles)} if set(scenario.profiles) <= ON_REQUEST else {}
    # Less than re.escape, which also escapes `-`, `#` and spaces: the id remains readable.
    pattern = "^" + "".join("\\" + c if c in r"\.^$*+?{}[]|()" else c for c in scenario.id) + " "
    return {**kept, **profile, "focus": [pattern], "seed": started.seed}


def usable_options(scenario: PlannedScenario, started: RunStarted) -> dict[str, Any]:
    """Return the options that repeat a scenario, with the home directory that the log abbreviates.

    Raises UsageError if the log lacks a secret that an option had.
    """
    found = options(scenario, started)
    for key, value in found.items():
        if any(_REMOVED in text for text in _texts(value)):
            raise UsageError(
                f"the option {key} of the run had a secret, which its log does not have",
                hint=f"Repeat it with the secret: {command_line(scenario, started)}",
            )
    home = os.path.expanduser("~")
    return {key: _with_home(value, home) for key, value in found.items()}


def _always_named(given: Mapping[str, Any]) -> set[str]:
    """Return the components whose default on the run's control plane is the cluster's own implementation."""
    filled = with_cluster_defaults({"control-plane": given.get("control-plane")})
    return (set(filled) & set(CHOICES)) - {"control-plane"}


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _with_home(value: Any, home: str) -> Any:
    if isinstance(value, str):
        return value.replace("~/", home.rstrip("/") + "/")
    if isinstance(value, Mapping):
        return {key: _with_home(item, home) for key, item in value.items()}
    return [_with_home(item, home) for item in value] if isinstance(value, (list, tuple)) else value
