"""The functions of the fake as its C sources declare them, for tests that call all of them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from fake_nvml.src import gen_layout

SOURCE = Path(gen_layout.__file__).parent


def prototypes() -> list[tuple[str, list[tuple[str, str]]]]:
    """Every implemented function with the kind and name of each parameter."""
    rows: list[tuple[str, list[tuple[str, str]]]] = []
    for path in sorted(SOURCE.rglob("*.c")):
        text = subprocess.run(
            ["cc", "-E", "-P", f"-I{SOURCE}", str(path)], capture_output=True, text=True, check=True, cwd=SOURCE
        ).stdout
        for name, arguments in re.findall(r"\bnvmlReturn_t\s+(nvml\w+)\(([^)]*)\)\s*\{", text):
            if name not in ("nvmlInit", "nvmlInit_v2", "nvmlInitWithFlags", "nvmlShutdown"):
                words = [word.strip() for word in arguments.split(",") if word.strip() not in ("", "void")]
                rows.append((name, [kind_of(name, word) for word in words]))
    return rows


def kind_of(function: str, parameter: str) -> tuple[str, str]:
    kind, _, name = parameter.rpartition(" ")
    if name.startswith("*"):
        kind, name = kind + " *", name.lstrip("*")
    if kind == "handle_t":
        return "handle", name
    if kind.replace(" ", "") == "constchar*":
        return "text", name
    if "*" in kind:
        return ("count" if name == "count" and "unsigned int" in kind else "pointer"), name
    if name in ("size", "length", "words", "count"):
        return "length", name
    return ("wait" if name == "timeout_ms" else "number"), name
