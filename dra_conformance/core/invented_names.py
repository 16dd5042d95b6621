"""Names of drivers and API groups that scenarios invent. They end with one domain, which no real driver has."""

from __future__ import annotations

_DOMAIN = "dra.test"


def invented(name: str) -> str:
    """Return a name in the domain: `nic` is `nic.dra.test`."""
    return f"{name}.{_DOMAIN}"


def is_invented(name: str) -> bool:
    """Return whether a name is in the domain."""
    return name.endswith(f".{_DOMAIN}")
