"""The table /proc/devices of a node."""

from __future__ import annotations


def character_devices(table: str) -> dict[str, int]:
    """Return the major numbers of the character devices in the table's text, by name."""
    rows = (line.split() for line in table.partition("Block devices:")[0].splitlines())
    return {row[1]: int(row[0]) for row in rows if len(row) == 2 and row[0].isdigit()}
