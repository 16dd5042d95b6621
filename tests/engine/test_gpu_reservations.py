"""Tests of the flags with which the steps about shares of GPUs start KAI's binder."""

from __future__ import annotations

import json

import pytest

from dra_conformance.core.component_spec import fill
from dra_conformance.steps.gpu_reservations import cdi_flags


@pytest.mark.parametrize("revision", ["kai-0.12", "kai-0.14"])
def test_cdi_is_a_flag_of_the_older_binder(revision: str) -> None:
    assert cdi_flags(revision) == {"cdi-enabled": "true"}


@pytest.mark.parametrize("revision", ["kai-0.15", "kai-0.17", "documented"])
def test_cdi_is_an_argument_of_a_plugin_since_0_15(revision: str) -> None:
    flags = cdi_flags(revision)
    assert set(flags) == {"plugins"}
    assert json.loads(flags["plugins"]) == {"gpusharing": {"arguments": {"cdiEnabled": "true"}}}
    # The braces are no placeholders of a command.
    assert fill(flags["plugins"], {"port": "1"}) == flags["plugins"]
