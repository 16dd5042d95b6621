"""The configuration file of nvidia-imex: the template that the kubelet plugin writes, and what the daemon fills in.

Source: templates/compute-domain-daemon-config.tmpl.cfg of kubernetes-sigs/dra-driver-nvidia-gpu at v0.5.0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from reference_impl.errors import ComponentError

IMEX_CONFIG: Final = """\
LOG_LEVEL=4
LOG_FILE_NAME=
DAEMONIZE=0
SERVER_PORT=50000
IMEX_NODE_CONFIG_FILE={{ .IMEXDaemonNodesConfigPath }}
IMEX_WAIT_FOR_QUORUM=RECOVERY
IMEX_CMD_ENABLED=1
IMEX_CMD_PORT=50005
IMEX_CMD_BIND_INTERFACE_IP={{ .IMEXCmdBindInterfaceIP }}
"""
"""The template with the daemon's own settings; each other setting has nvidia-imex' default."""

_FIELD = re.compile(r"\{\{\s*\.(\w+)\s*\}\}")


def render(template: str, *, nodes_file: str, address: str) -> str:
    """Return the configuration for the pod with this address. Raises ComponentError for an unknown field."""
    values: Mapping[str, str] = {"IMEXDaemonNodesConfigPath": nodes_file, "IMEXCmdBindInterfaceIP": address}

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise ComponentError(f"the template of nvidia-imex' configuration has an unknown field {match[1]}")
        return values[match[1]]

    return _FIELD.sub(value, template)
