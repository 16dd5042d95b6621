"""The terminal of the command."""

from __future__ import annotations

import shutil


def width() -> int:
    """Return the width of the terminal or of COLUMNS: 80 if the output is no terminal, and at least 40."""
    return max(shutil.get_terminal_size().columns, 40)
