"""Builds RunOptions from the values of a command line, of dra-conformance.toml or of pytest's options."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from dra_conformance.core import declaration, shard
from dra_conformance.core.component_spec import CHOICES, OWN_CLUSTER_COMPONENTS, OWN_CLUSTERS
from dra_conformance.core.errors import UsageError
from dra_conformance.core.option_checks import validated
from dra_conformance.core.option_table import OPTIONS, Option
from dra_conformance.core.options import RunOptions

CONFIG_FILE = "dra-conformance.toml"


def options_of(given: Mapping[str, Any]) -> RunOptions:
    """Return the options of a run: the command line over the configuration file.

    Args:
        given: values by option name, as click or pytest parsed them; None and an empty sequence mean "not given".
            `config` names the configuration file.

    Raises:
        UsageError: a value is wrong, or the configuration file cannot be read.
    """
    named = given.get("config")
    values = config_file(Path(named) if named else None)
    for option in OPTIONS:
        value = given.get(option.name)
        if option.in_file and value is not None and value != () and value != []:
            values[option.name] = _value(option, value)
    if isinstance(values.get("shard"), str):
        values["shard"] = shard.resolved(values["shard"], os.environ)
    return from_mapping(values, where="options")


def _value(option: Option, value: Any) -> Any:
    if option.multiple:
        texts = [text.split(option.separator) if option.separator else [text] for text in value]
        return [part for parts in texts for part in parts if part]
    return declaration.parameters(value) if option.type == "yaml" else value


def from_mapping(values: Mapping[str, Any], *, where: str) -> RunOptions:
    """Return the options for parsed TOML or JSON.

    Args:
        values: values by option name.
        where: the source of the values, for error messages.

    Raises:
        UsageError: a key is unknown, or a value has the wrong type or fails a check.
    """
    known = [item.encode_name for item in msgspec.structs.fields(RunOptions)]
    for key in values:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(known)}."
            raise UsageError(f"{where}: unknown key {key!r}", hint=hint)
    try:
        return validated(msgspec.convert(with_cluster_defaults(values), RunOptions))
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at ")
        key = place.strip("`").removeprefix("$.").removeprefix("$")
        raise UsageError(f"{where}: {f'{key}: ' if key else ''}{problem}") from None


def with_cluster_defaults(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with `cluster` as the default of every component that the cluster has already.

    A second scheduler or controller beside the cluster's would be judged together with the first.
    """
    filled = dict(values)
    if str(filled.get("control-plane", "")).startswith("kubeconfig"):
        if str(filled.get("driver", "")).startswith("socket:"):
            # The cluster's kubelet calls the driver only for pods; the emulated kubelet calls it for a scenario.
            filled.setdefault("kubelet", "reference")
        # The cluster runs the pods of its DaemonSets; the harness's own ones would be a second set.
        filled.setdefault("compute-domain-daemon", "none")
        for component in CHOICES:
            if "cluster" in CHOICES[component]:
                filled.setdefault(component, "cluster")
    if filled.get("control-plane") in OWN_CLUSTERS:
        for component in OWN_CLUSTER_COMPONENTS:
            if component != "kubelet":  # scenarios add nodes of their own, which the emulated kubelet serves
                filled.setdefault(component, "cluster")
    return filled


def config_file(path: Path | None) -> dict[str, Any]:
    """Return the keys of a configuration file.

    Args:
        path: the file; None means dra-conformance.toml in the working directory, which may be missing.

    Raises:
        UsageError: the file cannot be read or parsed, or a key or value is wrong.
    """
    found = path or Path(CONFIG_FILE)
    if path is None and not found.is_file():
        return {}
    try:
        values = tomllib.loads(found.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {found}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{found}: not valid TOML: {error}") from None
    from_mapping(values, where=str(found))  # so that the error message names the file
    return values
