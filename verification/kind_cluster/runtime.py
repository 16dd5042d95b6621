"""An OCI runtime for a Docker engine on a machine without CAP_SYS_RESOURCE: runc, without that capability.

Docker gives privileged containers every capability of the kernel, and runc fails to apply one that its own process does
not have. The engine calls this program as it would call runc.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_LACKING = "CAP_SYS_RESOURCE"


def rewrite(words: Sequence[str]) -> None:
    """Remove the capability from the file that a `create` or an `exec` of runc reads."""
    if "create" in words:
        path = Path(words[words.index("--bundle") + 1], "config.json")
        document = json.loads(path.read_bytes())
        _without(document["process"])
    elif "exec" in words and "--process" in words:
        path = Path(words[words.index("--process") + 1])
        document = json.loads(path.read_bytes())
        _without(document)
    else:
        return
    path.write_text(json.dumps(document), encoding="utf-8")


def _without(process: dict[str, Any]) -> None:
    held = process.get("capabilities") or {}
    for kind, names in held.items():
        held[kind] = [name for name in names or () if name != _LACKING]


if __name__ == "__main__":
    rewrite(sys.argv[1:])
    os.execvp("runc", ["runc", *sys.argv[1:]])  # noqa: S606 - in place of this process, as the engine expects
